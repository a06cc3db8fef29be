// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What the kernel holds endpoints to. `egress` (tc, on each slot) lets out only frames that bear
 * their endpoint's own MAC, EtherType, port and user id; `freeze` (cgroup) lets nobody change an
 * endpoint's socket any more, which could lead frames past that check.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include "endpoint.h"

#define AF_PACKET 17

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GAMMAD_ENDPOINTS_MAX);
	__type(key, __u32);
	__type(value, struct gammad_endpoint);
} endpoints SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gammad_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} dropped SEC(".maps");

/* What of a frame is looked at: the bytes themselves, not what the sender says of them. */
struct head {
	__u8 dst[6], src[6];
	__u16 ethertype;
	__u16 dst_port, src_port;
	__u32 tenant;
} __attribute__((packed));

static __always_inline int same_mac(const __u8 *a, const __u8 *b)
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3] && a[4] == b[4] &&
	       a[5] == b[5];
}

/* To one host; untagged; no segments that the kernel would make frames of later. */
static __always_inline int allowed(struct __sk_buff *skb, const struct gammad_endpoint *endpoint)
{
	struct head head;

	if (skb->gso_segs > 1 || skb->gso_size || skb->vlan_present)
		return 0;
	if (bpf_skb_load_bytes(skb, 0, &head, sizeof(head)))
		return 0;
	return !(head.dst[0] & 1) && !endpoint->revoked && head.ethertype == endpoint->ethertype &&
	       head.src_port == endpoint->port && head.tenant == endpoint->tenant &&
	       same_mac(head.src, endpoint->mac);
}

SEC("tc")
int egress(struct __sk_buff *skb)
{
	__u32 handle = skb->mark, zero = 0;
	const struct gammad_endpoint *endpoint = bpf_map_lookup_elem(&endpoints, &handle);
	__u64 *count;

	if (endpoint && allowed(skb, endpoint))
		return TC_ACT_OK;
	count = bpf_map_lookup_elem(&dropped, &zero);
	if (count)
		*count += 1;
	return TC_ACT_SHOT;
}

SEC("cgroup/setsockopt")
int freeze(struct bpf_sockopt *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	/* 0 lets the option through as it came, however long it is. */
	ctx->optlen = 0;
	if (!sk || sk->family != AF_PACKET)
		return 1;
	return sk->mark < GAMMAD_HANDLE_FIRST || sk->mark > GAMMAD_HANDLE_LAST;
}

char gammad_license[] SEC("license") = "Dual BSD/GPL";
