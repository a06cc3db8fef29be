/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the BPF program (impair.bpf.c) and its loader (gamma-impair.c) share:
 * the shape of the two maps. Plain kernel types, as both sides include it.
 */
#ifndef LAB_IMPAIR_H
#define LAB_IMPAIR_H

#include <linux/types.h>

/* A chance is a threshold for a 32-bit random number: this one is always below it. */
#define IMPAIR_ALWAYS (1ull << 32)

/*
 * A copy made by the program enters the same hook again; its mark records how far along the
 * hook's programs it has come: IMPAIR_MARK + level.
 */
#define IMPAIR_MARK       0x6c616200u
#define IMPAIR_LEVEL_MASK 0x3u

/* A run of losses is over when no frame has come for so long: an idle cable loses nothing. */
#define IMPAIR_RUN_NS 1000000ull

/* The bytes that may be corrupted, all of them behind the Ethernet header. */
enum impair_where {
	IMPAIR_ANYWHERE,
	IMPAIR_HEADER,  /* of GAMMA, with its extensions */
	IMPAIR_PAYLOAD, /* frames without one are left alone */
};

struct impair_config {
	__u64 loss;      /* chance that a frame is dropped, or that a run of losses begins */
	__u64 loss_end;  /* chance that a dropped frame is the last one of its run */
	__u64 dup;       /* chance that a copy is sent before it */
	__u64 corrupt;   /* chance that one byte of it is changed */
	__u32 level;     /* position of this program on its hook: 1 or 2 */
	__u32 last;      /* 1: nothing behind it on this device needs the mark */
	__u32 ingress;   /* 1: attached at ingress, 0: at egress */
	__u16 ethertype; /* frames to impair, host byte order; others pass */
	__u16 where;     /* enum impair_where */
};

enum impair_counter {
	IMPAIR_PASSED,     /* frames let through, changed ones included, copies not */
	IMPAIR_LOST,       /* frames dropped */
	IMPAIR_DUPLICATED, /* copies made */
	IMPAIR_CORRUPTED,  /* frames with a changed byte */
	IMPAIR_FAILED,     /* copies or changes that the kernel refused (no memory) */
	IMPAIR_COUNTERS
};

#endif
