/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the parts of gamma-hostile share: hostile.c is the program and its commands,
 * hostile_frames.c what it sends, hostile_socket.c how it tries to change the socket that it was
 * given.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "link/broker.h"
#include "wire/wire.h"

enum { FRAME = 80, IFINDEX_MAX = 40, ETHERTYPE = 0x88B5 };

struct frame {
	uint8_t bytes[FRAME];
	size_t len;
};

/* One line: whether what should hold does. */
void judge(bool good, const char *what, const char *detail);
extern int failures;
/* As gamma_broker_open, for the whole of an endpoint on that NIC. */
int ask_for_endpoint(const char *path, const uint8_t nic[GAMMA_MAC_LEN],
		     struct gamma_brokered *mine);

/* ---- hostile_frames.c ---- */
struct frame frame_of(const uint8_t *dst, const uint8_t *src, uint16_t dst_port, uint16_t src_port,
		      uint32_t tenant, const char *mark);
struct frame own_frame(const struct gamma_brokered *mine, const uint8_t *peer, const char *mark);
void put16(uint8_t *at, uint16_t value);
/* Sends several times, in case one gets lost. */
void emit(int fd, const struct frame *frame);
/* Tries everything that an endpoint may not send, by send(). */
void forge(const struct gamma_brokered *mine, const uint8_t *peer);
/* The same with other protocols and interfaces in the address. */
void forge_by_address(const struct gamma_brokered *mine, const uint8_t *peer, bool past_queue);
/* While another thread turns the own header into a forged one and back. */
void forge_meanwhile(const struct gamma_brokered *mine, const uint8_t *peer);
/* After options that lead past checks, set by 32-bit calls, whether or not that works. */
void forge_past_queue(const struct gamma_brokered *mine, const uint8_t *peer);
void forge_in_ring(const struct gamma_brokered *mine, const uint8_t *peer);
void forge_checksum(const struct gamma_brokered *mine, const uint8_t *peer);
void forge_by_uring(const struct gamma_brokered *mine, const uint8_t *peer);

/* ---- hostile_socket.c ---- */
/* Every option, in the ways that a program of this machine can set one. weak: the kernel is known
 * not to refuse them to 32-bit calls. */
void try_options(int fd, bool weak);
/* Sets an option by such a call: 0 or a negative errno. A kernel without them kills the caller. */
int set_option32(int fd, int level, int option, const void *value, socklen_t len);
void try_ioctls(int fd);
void try_mark_message(int fd, const struct frame *frame);
/* As root of a user namespace that is made now. */
void try_namespace(int fd);
/* While another thread opens endpoints: no socket is open to changes at any moment. */
void try_race(const uint8_t *nic);

struct io_uring_sqe;
/* What came of one operation; 1: there is no io_uring here. */
int uring_do(const struct io_uring_sqe *ask);

#endif
