// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Loses, duplicates and corrupts frames of one EtherType at a tc hook.
 * gamma-impair loads it, fills in its config and reads its counters.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include "impair.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct impair_config);
} config SEC(".maps");

/* When the run's last frame was lost, 0: not in a run. Two CPUs may disagree for a frame, which is
 * tolerable. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} losing SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IMPAIR_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

static __always_inline void count(__u32 which)
{
	__u64 *value = bpf_map_lookup_elem(&counters, &which);

	if (value)
		*value += 1;
}

static __always_inline int happens(__u64 chance)
{
	return chance && bpf_get_prandom_u32() < chance;
}

/* The header's bytes decide, not skb->protocol, which the sender may choose freely. */
static __always_inline int concerns(struct __sk_buff *skb, const struct impair_config *conf)
{
	__be16 ethertype;

	if (bpf_skb_load_bytes(skb, 2 * ETH_ALEN, &ethertype, sizeof(ethertype)))
		return 0;
	return bpf_ntohs(ethertype) == conf->ethertype;
}

static __always_inline int is_own_copy(const struct __sk_buff *skb,
				       const struct impair_config *conf)
{
	return (skb->mark & ~IMPAIR_LEVEL_MASK) == IMPAIR_MARK &&
	       (skb->mark & IMPAIR_LEVEL_MASK) >= conf->level;
}

static __always_inline void duplicate(struct __sk_buff *skb, const struct impair_config *conf)
{
	__u32 mark = skb->mark;
	long failed;

	skb->mark = IMPAIR_MARK + conf->level;
	failed = bpf_clone_redirect(skb, skb->ifindex, conf->ingress ? BPF_F_INGRESS : 0);
	skb->mark = mark;
	count(failed ? IMPAIR_FAILED : IMPAIR_DUPLICATED);
}

/* Losses come in runs whose length is geometrically distributed. */
static __always_inline int is_lost(const struct impair_config *conf)
{
	__u32 zero = 0;
	__u64 *run = bpf_map_lookup_elem(&losing, &zero);
	__u64 now = bpf_ktime_get_ns();

	if (!run || !conf->loss)
		return 0;
	if ((!*run || now - *run > IMPAIR_RUN_NS) && !happens(conf->loss)) {
		*run = 0;
		return 0;
	}
	*run = happens(conf->loss_end) ? 0 : now;
	return 1;
}

/* The bytes from *begin on that may be corrupted; 0: none. GAMMA's header contains its own
 * length. */
static __always_inline __u32 find_target(struct __sk_buff *skb, const struct impair_config *conf,
					 __u32 *begin)
{
	__u8 header_len;
	__be16 payload_len;

	*begin = ETH_HLEN;
	if (conf->where == IMPAIR_ANYWHERE)
		return skb->len > ETH_HLEN ? skb->len - ETH_HLEN : 0;
	if (bpf_skb_load_bytes(skb, ETH_HLEN + 10, &header_len, sizeof(header_len)) ||
	    bpf_skb_load_bytes(skb, ETH_HLEN + 14, &payload_len, sizeof(payload_len)))
		return 0;
	if (conf->where == IMPAIR_HEADER)
		return header_len;
	*begin += header_len;
	return bpf_ntohs(payload_len);
}

/* Adds 1 to 255 to a byte, so that it surely differs. */
static __always_inline void corrupt(struct __sk_buff *skb, const struct impair_config *conf)
{
	__u32 offset, length = find_target(skb, conf, &offset);
	__u8 byte;

	if (!length)
		return;
	offset += bpf_get_prandom_u32() % length;
	if (bpf_skb_load_bytes(skb, offset, &byte, sizeof(byte)))
		goto failed;
	byte += 1 + bpf_get_prandom_u32() % 255;
	if (bpf_skb_store_bytes(skb, offset, &byte, sizeof(byte), 0))
		goto failed;
	count(IMPAIR_CORRUPTED);
	return;
failed:
	count(IMPAIR_FAILED);
}

SEC("tc")
int impair(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct impair_config *conf = bpf_map_lookup_elem(&config, &zero);

	/* UNSPEC lets the next program on the hook have the frame as well. */
	if (!conf || !concerns(skb, conf))
		return TC_ACT_UNSPEC;
	if (is_own_copy(skb, conf)) {
		if (conf->last)
			skb->mark = 0;
		return TC_ACT_UNSPEC;
	}
	if (is_lost(conf)) {
		count(IMPAIR_LOST);
		return TC_ACT_SHOT;
	}
	if (happens(conf->dup))
		duplicate(skb, conf);
	if (happens(conf->corrupt))
		corrupt(skb, conf);
	count(IMPAIR_PASSED);
	return TC_ACT_UNSPEC;
}

char impair_license[] SEC("license") = "Dual BSD/GPL";
