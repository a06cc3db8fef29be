/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the tests of gammad's objects stand on: one NIC with slots, and a kernel that does as the
 * test says. clients.c, groups.c, lookup.c, open.c and slots.c run on it; BPF, threads, namespaces
 * and the system calls that need rights are played. No root and no network is needed.
 */
#ifndef GAMMA_TEST_GAMMAD_FAKE_H
#define GAMMA_TEST_GAMMAD_FAKE_H

#include "unit.h"

#include "gammad/gammad.h"
#include "wire/codec.h"

enum {
	GAMMAD_FAKE_SLOTS = 3,
	GAMMAD_FAKE_IFINDEX = 7,    /* of the NIC */
	GAMMAD_FAKE_USER = 1000,    /* who connects, unless the test says otherwise */
	GAMMAD_FAKE_OTHER = 1001,   /* another user */
	GAMMAD_FAKE_GROUP = 500,    /* the user's */
	GAMMAD_FAKE_SOCKETS = 1024, /* packet sockets in the kernel's list */
	GAMMAD_FAKE_GROUPS = 150,   /* ifindex of the NIC's interface for groups */
	GAMMAD_FAKE_PAIRS = 200, /* ditto of the first interface that a worker makes for a user */
	GAMMAD_FAKE_LOG = 2048,  /* bytes */
	GAMMAD_FAKE_FRAME = 512, /* bytes */
};

/* One at a time; cleared by gammad_fake_setup. */
extern struct gammad_fake {
	struct gammad gammad;
	struct gammad_slot slots[GAMMAD_FAKE_SLOTS];
	char log[GAMMAD_FAKE_LOG]; /* all lines */
	/* who connects */
	uid_t uid;
	gid_t gid, group; /* the latter by SO_PEERGROUPS */
	int accept_fd;    /* what accept4 returns; -1: accept_errno */
	int accept_errno;
	/* the kernel's packet sockets */
	uint64_t inodes[GAMMAD_FAKE_SOCKETS];
	size_t inode_count;
	bool list_fails;
	unsigned lists_read;         /* how often the list was opened */
	unsigned rtnetlink_requests; /* to change an interface */
	/* answers: 0 or a positive errno */
	int claim_errno, bind_errno, mark_errno, sendto_errno;
	bool host_owns;      /* every port is a program's of the host */
	unsigned host_taken; /* ports asked for next that are */
	bool no_handles;
	/* the NIC's wire and the ports' sockets: the other ends */
	int nic_wire, nics_wire, port_wire;
	int arrival_ifindex;    /* of what arrives at nics_fd */
	uint8_t arrival_type;   /* ditto: PACKET_HOST unless set */
	uid_t sender;           /* of what arrives at a port */
	unsigned drivers_asked; /* for a NIC's speed: none says */
	size_t most_control;    /* bytes that recvmsg had room for, at most, for control messages */
	/* the latest frame sent by sendto, and how many */
	uint8_t frame[GAMMAD_FAKE_FRAME];
	size_t frame_len;
	unsigned int frames;
	/* kernel.c: the latest port (network order) whose frames are led to a slot, and which */
	uint16_t translated;
	uint8_t translated_to[GAMMA_MAC_LEN];
	/* multicast: where the latest group's socket is, and where the NIC takes its frames */
	int bound_ifindex, member_ifindex;
	unsigned led;   /* entries of the map of users' interfaces */
	int led_to;     /* the latest one's */
	unsigned made;  /* interfaces made for users */
	int make_errno; /* none can be made */
	int removed;    /* the latest one that was removed */
	/* workers.c */
	struct gamma_list jobs;                                    /* submitted */
	unsigned int closed;                                       /* sockets given back */
	int (*on_slot_frame)(void *data, void *bytes, size_t len); /* lookup.c's */
} gammad_fake;

/* cmocka's setup and teardown; *state is a struct gammad. */
int gammad_fake_setup(void **state);
int gammad_fake_teardown(void **state);

/* The NIC's MAC, and that of a slot. */
extern const uint8_t gammad_fake_nic[GAMMA_MAC_LEN];
const uint8_t *gammad_fake_slot(unsigned int number);

/* Does all jobs that were submitted. */
void gammad_fake_work(void);
/* A packet socket as a worker would make it, in the kernel's list. */
int gammad_fake_socket(void);
/* Takes an endpoint's socket out of that list. */
void gammad_fake_close_socket(const struct gammad_open *open);
/* A connected client, without the connection's other end; the fixture frees it. */
struct gammad_client *gammad_fake_client(uid_t uid);
/* OPEN for the NIC, with that port. */
struct gamma_broker_open gammad_fake_request(uint16_t port);
/* Opens an endpoint for a new client of that user; NULL: refused. */
struct gammad_open *gammad_fake_open(uid_t uid, uint16_t port);
/* What the kernel's map has of the endpoint. */
struct gammad_endpoint gammad_fake_record(uint32_t handle);
/* Puts one in, as an earlier gammad would have left it. */
void gammad_fake_restore(const struct gammad_endpoint *record);

#endif /* GAMMA_TEST_GAMMAD_FAKE_H */
