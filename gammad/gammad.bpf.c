// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The checks that the kernel enforces on endpoints. `egress` (tc, on each slot) passes only
 * frames with their endpoint's own MAC, EtherType, port and user id. `freeze` (a security module)
 * refuses changes to an endpoint's socket, which could lead frames past that check. A kernel
 * without BPF security modules gets `freeze_calls` instead (for sockets of a control group). It
 * does not see system calls in their 32-bit form, which any program can make; then `guard` (tc,
 * on the NIC) also checks frames after `egress_guarded`, which replaces `egress`: no socket
 * option bypasses both.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "endpoint.h"

#define AF_PACKET        17
#define PACKET_HOST      0
#define EPERM            1
#define CHECKSUM_PARTIAL 3

/* The fields used of the kernel's own structures; libbpf finds their offsets in the running
 * kernel. */
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
	__uint(type, BPF_MAP_TYPE_ARRAY);
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

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, GAMMAD_LOOKUPS_BYTES);
} lookups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * GAMMAD_ENDPOINTS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct gammad_translation_key);
	__type(value, struct gammad_translation);
} translations SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GAMMAD_GROUP_USERS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct gammad_group_user_key);
	__type(value, __u32);
} group_users SEC(".maps");

const volatile struct gammad_constants gammad_constants;

/*
 * Offsets in a frame, in the bytes themselves: metadata from the sender is not trusted. Fields
 * are read so that none crosses a word of the kernel's (words begin two bytes before the frame):
 * every architecture's kernel accepts that.
 */
enum {
	AT_SRC = 6, /* MAC, followed by the EtherType, as in struct gammad_endpoint */
	AT_DST_PORT = 14,
	AT_SRC_PORT = 16,
	AT_TENANT = 18,
	AT_KIND = 22,
	AT_OP = 23,
	HEAD = 24,
};

typedef __u16 __attribute__((may_alias)) any16;
typedef __u32 __attribute__((may_alias)) any32;
typedef __u64 __attribute__((may_alias)) any64;

static __always_inline int is_group(const __u8 *head)
{
	return head[0] & 1;
}

/* The group's entry that permits the endpoint to send to it; NULL: none. */
static __always_inline const struct gammad_member *membership(__u32 handle, const __u8 *head)
{
	struct gammad_member_key key = {.handle = handle,
					.port = *(const any16 *) (head + AT_DST_PORT)};
	const struct gammad_member *member;

	__builtin_memcpy(key.mac, head, sizeof(key.mac));
	member = bpf_map_lookup_elem(&members, &key);
	return member && !member->left ? member : 0;
}

/* In memory that its sender cannot change any more: the kernel has not copied that much of a
 * frame in a send ring. NULL: too short. */
static __always_inline const __u8 *read_head(struct __sk_buff *skb)
{
	if ((void *) (long) skb->data + HEAD > (void *) (long) skb->data_end &&
	    bpf_skb_pull_data(skb, HEAD))
		return 0;
	if ((void *) (long) skb->data + HEAD > (void *) (long) skb->data_end)
		return 0;
	return (const __u8 *) (long) skb->data;
}

/* To one host, or to a group that it is in; untagged; not to be segmented by the kernel later. The
 * sender also chooses the protocol in the kernel's own notes, which bridges and bonds believe: it
 * must be that of the bytes. */
static __always_inline int allowed(const struct __sk_buff *skb,
				   const struct gammad_endpoint *endpoint, const __u8 *head)
{
	return !skb->gso_size && skb->gso_segs <= 1 && !skb->vlan_present && !endpoint->revoked &&
	       skb->protocol == endpoint->ethertype &&
	       *(const any64 *) (head + AT_SRC) == *(const any64 *) endpoint->mac &&
	       *(const any16 *) (head + AT_SRC_PORT) == endpoint->port &&
	       *(const any32 *) (head + AT_TENANT) == endpoint->tenant &&
	       (!is_group(head) || membership(endpoint->handle, head));
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

/* A socket may send through any interface of its namespace: only through its slot, and on to the
 * NIC below, is permitted. */
static __always_inline int is_own_interface(const struct __sk_buff *skb,
					    const struct gammad_endpoint *endpoint, int at_slot)
{
	if (at_slot)
		return !endpoint->slot_ifindex || skb->ifindex == endpoint->slot_ifindex;
	return skb->ifindex == endpoint->nic_ifindex;
}

/* Members of a group on this host get a copy at the slot: slots do not reach each other. */
static __always_inline int check(struct __sk_buff *skb, __u32 handle, int at_slot)
{
	__u32 index = handle % GAMMAD_ENDPOINTS_MAX;
	const struct gammad_endpoint *endpoint = bpf_map_lookup_elem(&endpoints, &index);
	const __u8 *head = read_head(skb);
	const struct gammad_member *member;

	if (!endpoint || endpoint->handle != handle || !head || !allowed(skb, endpoint, head) ||
	    !is_own_interface(skb, endpoint, at_slot))
		return drop();
	member = at_slot && is_group(head) ? membership(handle, head) : 0;
	if (member)
		bpf_clone_redirect(skb, member->ifindex, BPF_F_INGRESS);
	return TC_ACT_OK;
}

SEC("tc")
int egress(struct __sk_buff *skb)
{
	return check(skb, skb->mark, 1);
}

/* A LOOKUP request: gammad gets a copy. Here, because one more socket on each slot would
 * triple a frame's cost. */
static __always_inline void note_lookup(struct __sk_buff *skb)
{
	struct gammad_lookup_frame *question;
	__u64 len = skb->len;

	if (skb->vlan_present || len < HEAD)
		return;
	/* Compilers like to merge the two bounds into one test, which the kernel's verifier
	 * does not accept. */
	barrier_var(len);
	if (len > sizeof(question->frame))
		return;
	question = bpf_ringbuf_reserve(&lookups, sizeof(*question), 0);
	if (!question)
		return;
	question->len = (__u32) len;
	if (bpf_skb_load_bytes(skb, 0, question->frame, len))
		bpf_ringbuf_discard(question, 0);
	else
		bpf_ringbuf_submit(question, 0);
}

static __always_inline int is_question(const __u8 *head)
{
	return (head[AT_KIND] & 0x0f) == GAMMAD_KIND_LOOKUP && head[AT_OP] == GAMMAD_OP_ASK;
}

SEC("tc")
int ingress(struct __sk_buff *skb)
{
	const __u8 *head = read_head(skb);

	if (head && is_question(head) && !is_group(head))
		note_lookup(skb);
	return TC_ACT_OK;
}

/* At the NIC's interface for groups. Each user's sockets are on an interface of that user: no
 * filter of one user's sees another's frames. A user without one gets nothing, or has memberships
 * of an older gammad, which are on this interface. */
SEC("tc")
int group_ingress(struct __sk_buff *skb)
{
	const __u8 *head = read_head(skb);
	struct gammad_group_user_key key = {.ifindex = skb->ifindex};
	const __u32 *to;

	if (!head || skb->protocol != gammad_constants.ethertype || skb->vlan_present)
		return TC_ACT_OK;
	if (!is_group(head)) {
		if (is_question(head))
			note_lookup(skb);
		return TC_ACT_OK;
	}
	key.tenant = *(const any32 *) (head + AT_TENANT);
	to = bpf_map_lookup_elem(&group_users, &key);
	return to ? bpf_redirect(*to, BPF_F_INGRESS) : TC_ACT_OK;
}

/* ---- endpoints that have the NIC's own MAC ---- */

/* Writes the destination that the frame has from here on, if its port is an endpoint's. */
static __always_inline void translate(struct __sk_buff *skb, const __u8 *head, __u16 at_slot)
{
	struct gammad_translation_key key = {.ifindex = skb->ifindex,
					     .port = *(const any16 *) (head + AT_DST_PORT),
					     .at_slot = at_slot};
	const struct gammad_translation *to = bpf_map_lookup_elem(&translations, &key);

	if (to)
		bpf_skb_store_bytes(skb, 0, to->mac, sizeof(to->mac), 0);
}

/* Frames for this host alone; of other protocols only what the kernel notes of them is looked at.
 * LOOKUP requests stay: gammad answers those to the NIC. */
SEC("tc")
int nic_ingress(struct __sk_buff *skb)
{
	const __u8 *head;

	if (skb->protocol != gammad_constants.ethertype || skb->pkt_type != PACKET_HOST ||
	    skb->vlan_present)
		return TC_ACT_UNSPEC;
	head = read_head(skb);
	if (head && !is_question(head))
		translate(skb, head, 0);
	return TC_ACT_UNSPEC;
}

/* Endpoints from before gammad.conf said so have their slot's MAC, and are asked for by it. */
SEC("tc")
int slot_ingress(struct __sk_buff *skb)
{
	const __u8 *head = read_head(skb);

	if (!head || is_group(head))
		return TC_ACT_OK;
	if (is_question(head))
		note_lookup(skb);
	else
		translate(skb, head, 1);
	return TC_ACT_OK;
}

/* ---- where the freeze is not complete ---- */

/* No checksum may be filled in later at an offset that the sender chose. */
static __always_inline int is_final(struct __sk_buff *skb)
{
	struct sk_buff *inside = bpf_cast_to_kern_ctx(skb);

	return BPF_CORE_READ_BITFIELD(inside, ip_summed) != CHECKSUM_PARTIAL;
}

/* A frame without the mark, which users cannot change, has passed the check. */
SEC("tc")
int egress_guarded(struct __sk_buff *skb)
{
	__u32 handle = skb->mark;

	skb->mark = 0;
	return is_final(skb) ? check(skb, handle, 1) : drop();
}

/* Frames that others send through the NIC pass. */
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

/* Applies to all sockets: a program for those of one control group (lsm_cgroup) would run for
 * the group of the calling process, not of the socket. 0: permit. */
SEC("lsm/socket_setsockopt")
int freeze(unsigned long long *arguments)
{
	const struct socket *socket = (const struct socket *) arguments[0];
	const struct sock *sk = socket->sk;

	if (!sk || sk->__sk_common.skc_family != AF_PACKET || sk->sk_mark < GAMMAD_HANDLE_TEST ||
	    sk->sk_mark > GAMMAD_HANDLE_LAST)
		return 0;
	return sk->__sk_common.skc_net.net->ns.inum == gammad_constants.namespace ? -EPERM : 0;
}

SEC("cgroup/setsockopt")
int freeze_calls(struct bpf_sockopt *ctx)
{
	struct bpf_sock *sk = ctx->sk;

	/* 0 passes the option on unchanged, whatever its length. */
	ctx->optlen = 0;
	return !sk || !is_endpoint((int) sk->family, sk->mark);
}

char gammad_license[] SEC("license") = "Dual BSD/GPL";
