// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What the kernel holds endpoints to. `egress` (tc, on each slot) lets out only frames that bear
 * their endpoint's own MAC, EtherType, port and user id. `freeze` (a security module) lets nobody
 * change an endpoint's socket any more, which could lead frames past that check. A kernel that
 * takes no such modules has `freeze_calls` instead (for sockets of a control group), which does not
 * see system calls in their 32-bit form, as any program can make them; then `guard` (tc, on the
 * NIC) checks what has come past `egress_guarded`, which stands for `egress`: no option leads past
 * both.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "endpoint.h"

#define AF_PACKET 17
#define EPERM 1
#define CHECKSUM_PARTIAL 3

/* Of the kernel's own structures what is looked at; libbpf finds it in the one that runs. */
struct ns_common {
	unsigned int inum;
} __attribute__((preserve_access_index));

struct net {
	struct ns_common ns;
} __attribute__((preserve_access_index));

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	unsigned short skc_family;
	possible_net_t skc_net;
} __attribute__((preserve_access_index));

struct sock {
	struct sock_common __sk_common;
	__u32 sk_mark;
} __attribute__((preserve_access_index));

struct socket {
	struct sock *sk;
} __attribute__((preserve_access_index));

struct sk_buff {
	__u8 ip_summed : 2;
} __attribute__((preserve_access_index));

/* Since Linux 6.2. */
extern void *bpf_cast_to_kern_ctx(void *context) __ksym __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GAMMAD_ENDPOINTS_MAX);
	__type(key, __u32);
	__type(value, struct gammad_endpoint);
} endpoints SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GAMMAD_MEMBERS_MAX);
	__type(key, struct gammad_member_key);
	__type(value, struct gammad_member);
} members SEC(".maps");

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

/* gammad's network namespace, where no socket is but what gammad has made: its inode. */
const volatile __u32 gammad_namespace;

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

/* What lets the endpoint send to that group; 0: nothing. */
static __always_inline const struct gammad_member *membership(__u32 handle, const struct head *head)
{
	struct gammad_member_key key = {.handle = handle, .port = head->dst_port};
	const struct gammad_member *member;

	__builtin_memcpy(key.mac, head->dst, sizeof(key.mac));
	member = bpf_map_lookup_elem(&members, &key);
	return member && !member->left ? member : 0;
}

/* A copy, from memory that its sender cannot change any more: of a frame in a send ring the kernel
 * has not copied as much. */
static __always_inline int read_head(struct __sk_buff *skb, struct head *head)
{
	if ((void *) (long) skb->data + sizeof(*head) > (void *) (long) skb->data_end &&
	    bpf_skb_pull_data(skb, sizeof(*head)))
		return -1;
	if ((void *) (long) skb->data + sizeof(*head) > (void *) (long) skb->data_end)
		return -1;
	*head = *(struct head *) (long) skb->data;
	return 0;
}

/* To one host, or a group that it is in; untagged; no segments that the kernel would make frames of
 * later. */
static __always_inline int allowed(struct __sk_buff *skb, __u32 handle,
				   const struct gammad_endpoint *endpoint, struct head *head)
{
	if (skb->gso_segs > 1 || skb->gso_size || skb->vlan_present)
		return 0;
	if (read_head(skb, head))
		return 0;
	return !endpoint->revoked && head->ethertype == endpoint->ethertype &&
	       head->src_port == endpoint->port && head->tenant == endpoint->tenant &&
	       same_mac(head->src, endpoint->mac) &&
	       (!(head->dst[0] & 1) || membership(handle, head));
}

static __always_inline int drop(void)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&dropped, &zero);

	if (count)
		*count += 1;
	return TC_ACT_SHOT;
}

static __always_inline int is_endpoint(int family, __u32 mark)
{
	return family == AF_PACKET && mark >= GAMMAD_HANDLE_FIRST && mark <= GAMMAD_HANDLE_LAST;
}

/* A group's members on this host get a copy, at the slot: slots do not reach each other. */
static __always_inline int check(struct __sk_buff *skb, __u32 handle, int at_slot)
{
	const struct gammad_endpoint *endpoint = bpf_map_lookup_elem(&endpoints, &handle);
	const struct gammad_member *member;
	struct head head;

	if (!endpoint || !allowed(skb, handle, endpoint, &head))
		return drop();
	member = at_slot && head.dst[0] & 1 ? membership(handle, &head) : 0;
	if (member)
		bpf_clone_redirect(skb, member->ifindex, BPF_F_INGRESS);
	return TC_ACT_OK;
}

SEC("tc")
int egress(struct __sk_buff *skb)
{
	return check(skb, skb->mark, 1);
}

/* ---- where the freeze is not complete ---- */

/* Nobody is to fill a checksum in later, wherever the sender wanted it to be. */
static __always_inline int is_final(struct __sk_buff *skb)
{
	struct sk_buff *inside = bpf_cast_to_kern_ctx(skb);

	return BPF_CORE_READ_BITFIELD(inside, ip_summed) != CHECKSUM_PARTIAL;
}

/* Without its mark, which no user can change, a frame has been here. */
SEC("tc")
int egress_guarded(struct __sk_buff *skb)
{
	__u32 handle = skb->mark;

	skb->mark = 0;
	return is_final(skb) ? check(skb, handle, 1) : drop();
}

/* What others send through the NIC passes. */
SEC("tc")
int guard(struct __sk_buff *skb)
{
	__u32 handle = skb->mark;
	struct bpf_sock *sk;

	if (!is_endpoint(AF_PACKET, handle))
		return TC_ACT_UNSPEC;
	sk = skb->sk;
	if (sk)
		sk = bpf_sk_fullsock(sk);
	if (!sk || sk->family != AF_PACKET)
		return TC_ACT_UNSPEC;
	if (!is_final(skb))
		return drop();
	return check(skb, handle, 0) == TC_ACT_OK ? TC_ACT_UNSPEC : TC_ACT_SHOT;
}

/* ---- sockets ---- */

/* Of all sockets there are, whoever's: a program for those of a control group (lsm_cgroup) would be
 * asked by the group of the process that calls, not of the socket. 0: go on. */
SEC("lsm/socket_setsockopt")
int freeze(unsigned long long *arguments)
{
	const struct socket *socket = (const struct socket *) arguments[0];
	const struct sock *sk = socket->sk;

	if (!sk || sk->__sk_common.skc_family != AF_PACKET || sk->sk_mark < GAMMAD_HANDLE_TRIAL ||
	    sk->sk_mark > GAMMAD_HANDLE_LAST)
		return 0;
	return sk->__sk_common.skc_net.net->ns.inum == gammad_namespace ? -EPERM : 0;
}

SEC("cgroup/setsockopt")
int freeze_calls(struct bpf_sockopt *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	/* 0 lets the option through as it came, however long it is. */
	ctx->optlen = 0;
	return !sk || !is_endpoint((int) sk->family, sk->mark);
}

char gammad_license[] SEC("license") = "Dual BSD/GPL";
