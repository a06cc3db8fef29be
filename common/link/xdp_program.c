// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The BPF program that an AF_XDP link attaches to its NIC: the endpoint's frames go to the link's
 * socket, all others continue unchanged to the kernel's network stack. It is written as BPF
 * instructions because it is short and depends on the endpoint. It is detached with the link.
 */
#ifdef GAMMA_XDP
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "link/xdp_program.h"

/* One instruction each. PASS_IF jumps to the program's end, which passes the frame on. */
#define LOAD(width, to, from, offset)                                                    \
	{                                                                                \
		.code = BPF_LDX | BPF_MEM | (width), .dst_reg = (to), .src_reg = (from), \
		.off = (offset)                                                          \
	}
#define MOVE(to, from)                                                                  \
	{                                                                               \
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (to), .src_reg = (from) \
	}
#define SET(to, value)                                                               \
	{                                                                            \
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (to), .imm = (value) \
	}
#define ADD(to, value)                                                               \
	{                                                                            \
		.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = (to), .imm = (value) \
	}
#define AND(to, value)                                                               \
	{                                                                            \
		.code = BPF_ALU64 | BPF_AND | BPF_K, .dst_reg = (to), .imm = (value) \
	}
#define PASS_IF_GREATER(a, b)                                                     \
	{                                                                         \
		.code = BPF_JMP | BPF_JGT | BPF_X, .dst_reg = (a), .src_reg = (b) \
	}
#define PASS_IF_NOT(a, value)                                                                 \
	{                                                                                     \
		.code = BPF_JMP32 | BPF_JNE | BPF_K, .dst_reg = (a), .imm = (int32_t) (value) \
	}
#define SKIP_IF(a, value, count)                                                               \
	{                                                                                      \
		.code = BPF_JMP32 | BPF_JEQ | BPF_K, .dst_reg = (a), .imm = (int32_t) (value), \
		.off = (count)                                                                 \
	}
#define CALL(function)                                        \
	{                                                     \
		.code = BPF_JMP | BPF_CALL, .imm = (function) \
	}
#define EXIT                               \
	{                                  \
		.code = BPF_JMP | BPF_EXIT \
	}

/* Offsets in the frame. */
enum {
	AT_ETHERTYPE = 12,
	AT_PORT = GAMMA_ETH_LEN + offsetof(struct gamma_header, dst_port),
	AT_TENANT = GAMMA_ETH_LEN + offsetof(struct gamma_header, tenant),
	AT_KIND = GAMMA_ETH_LEN + offsetof(struct gamma_header, version_kind),
	LEAST = GAMMA_ETH_LEN + GAMMA_HEADER_LEN,
	PASSING = 2, /* instructions at the end that pass the frame on */
	QUEUES = 1,  /* of the map */
};

static int bpf(int command, union bpf_attr *attr)
{
	long ret = syscall(SYS_bpf, command, attr, sizeof(*attr));

	return ret < 0 ? -errno : (int) ret;
}

static int make_map(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_XSKMAP;
	attr.key_size = sizeof(uint32_t);
	attr.value_size = sizeof(int);
	attr.max_entries = QUEUES;
	return bpf(BPF_MAP_CREATE, &attr);
}

static int map_queue(int map_fd, uint32_t queue, int socket)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t) map_fd;
	attr.key = (uintptr_t) &queue;
	attr.value = (uintptr_t) &socket;
	return bpf(BPF_MAP_UPDATE_ELEM, &attr);
}

static int load_program(struct bpf_insn *code, unsigned count)
{
	union bpf_attr attr;

	for (unsigned i = 0; i < count; i++)
		if (code[i].code == (BPF_JMP | BPF_JGT | BPF_X) ||
		    code[i].code == (BPF_JMP32 | BPF_JNE | BPF_K))
			code[i].off = (int16_t) (count - PASSING - (i + 1));
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_XDP;
	attr.expected_attach_type = BPF_XDP;
	attr.insns = (uintptr_t) code;
	attr.insn_cnt = count;
	attr.license = (uintptr_t) "Dual BSD/GPL";
	return bpf(BPF_PROG_LOAD, &attr);
}

/* The packet socket's filter, except for LOOKUP to any port: all endpoints of the host must see
 * these frames, so they go on to the packet sockets. So do frames on a queue that is not in the
 * map. */
static int make_program(int map_fd, const struct gamma_packet_attr *attr)
{
	uint32_t mac_first;
	uint16_t mac_last;

	memcpy(&mac_first, attr->mac, sizeof(mac_first));
	memcpy(&mac_last, attr->mac + sizeof(mac_first), sizeof(mac_last));
	struct bpf_insn code[] = {
		MOVE(BPF_REG_6, BPF_REG_1),
		LOAD(BPF_W, BPF_REG_2, BPF_REG_1, offsetof(struct xdp_md, data)),
		LOAD(BPF_W, BPF_REG_3, BPF_REG_1, offsetof(struct xdp_md, data_end)),
		MOVE(BPF_REG_4, BPF_REG_2),
		ADD(BPF_REG_4, LEAST),
		PASS_IF_GREATER(BPF_REG_4, BPF_REG_3),
		LOAD(BPF_W, BPF_REG_4, BPF_REG_2, 0),
		PASS_IF_NOT(BPF_REG_4, mac_first),
		LOAD(BPF_H, BPF_REG_4, BPF_REG_2, sizeof(mac_first)),
		PASS_IF_NOT(BPF_REG_4, mac_last),
		LOAD(BPF_H, BPF_REG_4, BPF_REG_2, AT_ETHERTYPE),
		PASS_IF_NOT(BPF_REG_4, htons(attr->ethertype)),
		LOAD(BPF_H, BPF_REG_4, BPF_REG_2, AT_PORT),
		PASS_IF_NOT(BPF_REG_4, htons(attr->port)),
		LOAD(BPF_B, BPF_REG_4, BPF_REG_2, AT_KIND),
		AND(BPF_REG_4, 0x0f),
		SKIP_IF(BPF_REG_4, GAMMA_KIND_LOOKUP, 2),
		LOAD(BPF_W, BPF_REG_4, BPF_REG_2, AT_TENANT),
		PASS_IF_NOT(BPF_REG_4, htonl(attr->tenant)),
		{.code = BPF_LD | BPF_DW | BPF_IMM, /* two instructions long */
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_MAP_FD,
		 .imm = map_fd},
		{.code = 0},
		LOAD(BPF_W, BPF_REG_2, BPF_REG_6, offsetof(struct xdp_md, rx_queue_index)),
		SET(BPF_REG_3, XDP_PASS),
		CALL(BPF_FUNC_redirect_map),
		EXIT,
		/* PASSING: */
		SET(BPF_REG_0, XDP_PASS),
		EXIT,
	};

	return load_program(code, gamma_array_size(code));
}

/* In the driver if it supports that, else after the kernel has allocated a packet. */
static int attach_program(int program_fd, int ifindex)
{
	union bpf_attr attr;
	int ret;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (uint32_t) program_fd;
	attr.link_create.target_ifindex = (uint32_t) ifindex;
	attr.link_create.attach_type = BPF_XDP;
	attr.link_create.flags = XDP_FLAGS_DRV_MODE;
	ret = bpf(BPF_LINK_CREATE, &attr);
	if (ret != -EOPNOTSUPP)
		return ret;
	attr.link_create.flags = XDP_FLAGS_SKB_MODE;
	return bpf(BPF_LINK_CREATE, &attr);
}

int gamma_xdp_program_attach(struct gamma_xdp_program *program,
			     const struct gamma_packet_attr *attr, int socket, uint32_t queue)
{
	int ret = program->map_fd = make_map();

	if (ret >= 0)
		ret = map_queue(program->map_fd, queue, socket);
	if (ret >= 0)
		ret = program->fd = make_program(program->map_fd, attr);
	if (ret >= 0)
		ret = program->link_fd = attach_program(program->fd, attr->ifindex);
	return ret < 0 ? ret : 0;
}

void gamma_xdp_program_detach(struct gamma_xdp_program *program)
{
	if (program->link_fd >= 0)
		close(program->link_fd);
	if (program->fd >= 0)
		close(program->fd);
	if (program->map_fd >= 0)
		close(program->map_fd);
}
#endif
