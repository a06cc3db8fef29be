// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Setting up an endpoint's packet socket: filter, receive ring, send buffer. */
#include "link/packet_socket.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"

#ifndef SO_LOCK_FILTER
#define SO_LOCK_FILTER 44
#endif

enum {
	SEND_BUFFER = 8 << 20, /* bytes of the socket's send buffer */
	BLOCK = 64 << 10,      /* bytes of a ring block, if a slot fits */
	SLOT_ALIGN = 128,      /* bytes: of TPACKET_ALIGNMENT too */
};

/* Offsets in the frame of the fields that the filter checks. */
enum {
	AT_ETHERTYPE = 12,
	AT_PORT = GAMMA_ETH_LEN + offsetof(struct gamma_header, dst_port),
	AT_TENANT = GAMMA_ETH_LEN + offsetof(struct gamma_header, tenant),
	AT_KIND = GAMMA_ETH_LEN + offsetof(struct gamma_header, version_kind),
};

int gamma_packet_socket_try(void)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno == EACCES ? -EPERM : -errno;
	close(fd);
	return 0;
}

/* The filter is locked: it cannot be removed or replaced. */
static int set_filter(int fd, struct sock_filter *code, size_t count)
{
	struct sock_fprog program = {.len = (uint16_t) count, .filter = code};
	int one = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ||
	    setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &one, sizeof(one)))
		return -errno;
	return 0;
}

/* Passes frames to this host that are untagged, of the ethertype, long enough, for the port and
 * from the tenant. The kernel runs it on every frame, so these fields come first. LOOKUP passes
 * from any tenant, because a refusal must be answered, and for any port. */
static int attach_filter(int fd, const struct gamma_packet_attr *attr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t) (SKF_AD_OFF + SKF_AD_PKTTYPE)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_HOST, 0, 14),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t) (SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 12),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, AT_ETHERTYPE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, attr->ethertype, 0, 10),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, AT_PORT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, attr->port, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT_TENANT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, attr->tenant, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
		/* for another port, or from another tenant: LOOKUP */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GAMMA_PORT_ANY, 0, 4),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AT_KIND),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x0f),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GAMMA_KIND_LOOKUP, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0x40000), /* pass, whole */
		BPF_STMT(BPF_RET | BPF_K, 0),       /* drop */
	};

	return set_filter(fd, code, gamma_array_size(code));
}

/* Passes frames of one group, incoming or outgoing, for the port and from the tenant. */
static int attach_group_filter(int fd, const struct gamma_packet_attr *attr)
{
	const uint8_t *mac = attr->group;
	uint32_t first = (uint32_t) mac[0] << 24 | mac[1] << 16 | mac[2] << 8 | mac[3];
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, AT_ETHERTYPE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, attr->ethertype, 0, 11),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 0, 9),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t) (mac[4] << 8 | mac[5]), 0, 7),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, AT_PORT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, attr->port, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT_TENANT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, attr->tenant, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t) (SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0x40000), /* pass, whole */
		BPF_STMT(BPF_RET | BPF_K, 0),       /* drop */
	};

	return set_filter(fd, code, gamma_array_size(code));
}

int gamma_packet_socket_set_filter(int fd, const struct gamma_packet_attr *attr)
{
	return attr->group ? attach_group_filter(fd, attr) : attach_filter(fd, attr);
}

/* The kernel puts a frame's network header at offset TPACKET_ALIGN(header + 16) of its slot. Slots
 * are aligned to pairs of cache lines: a processor that fetches the first, whose status it polls,
 * prefetches the second as well, which has the frame's header. */
static uint32_t slot_bytes(uint32_t mtu)
{
	uint32_t needed = (uint32_t) TPACKET_ALIGN(TPACKET2_HDRLEN + 16) + mtu;

	return (needed + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
}

void gamma_packet_socket_plan_ring(uint32_t mtu, size_t ring_bytes, struct tpacket_req *req)
{
	uint32_t page = (uint32_t) sysconf(_SC_PAGESIZE);
	uint32_t slot = slot_bytes(mtu);
	uint32_t block = slot > BLOCK ? (slot + page - 1) / page * page : BLOCK;
	uint32_t per_block = block / slot;
	uint32_t needed = (GAMMA_RING_SLOTS_MIN + per_block - 1) / per_block;
	uint32_t blocks = (uint32_t) gamma_max(gamma_max(1, ring_bytes / block), needed);

	*req = (struct tpacket_req){
		.tp_block_size = block,
		.tp_block_nr = blocks,
		.tp_frame_size = slot,
		.tp_frame_nr = blocks * per_block,
	};
}

int gamma_packet_socket_set_ring(int fd, struct tpacket_req *req)
{
	int version = TPACKET_V2;

	if (setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_RX_RING, req, sizeof(*req)))
		return -errno;
	return 0;
}

void gamma_packet_socket_set_send_buffer(int fd)
{
	int bytes = SEND_BUFFER;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

/* A member of a fanout group cannot be bound again. The group has no other member: its number is
 * the kernel's choice. Of the kinds this one looks at no frame. */
int gamma_packet_socket_fix_binding(int fd)
{
	uint32_t alone = (PACKET_FANOUT_CPU | PACKET_FANOUT_FLAG_UNIQUEID) << 16;

	return setsockopt(fd, SOL_PACKET, PACKET_FANOUT, &alone, sizeof(alone));
}
