/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A UDP link's second socket, which has the same address and port and is connected to the peer that
 * gets most of the calls to send: the kernel then looks up neither a route nor a socket for each
 * datagram. All other peers use the first socket. Without a second one everything works, slower.
 *
 * A peer is named by a key: its pseudo MAC address and its port, as frames have them.
 */
#ifndef GAMMA_LINK_UDP_CONNECTED_H
#define GAMMA_LINK_UDP_CONNECTED_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/base.h"
#include "wire/wire.h"

enum {
	GAMMA_UDP_CONNECTED_VOTES = 128,     /* make a peer the chosen one */
	GAMMA_UDP_CONNECTED_VOTES_MAX = 256, /* are remembered */
	GAMMA_UDP_CONNECTED_QUIET = 64, /* empty polls, after which a socket is polled rarely: */
	GAMMA_UDP_CONNECTED_RARELY = 8, /* once in so many polls of the other one */
};

struct gamma_udp_connected {
	int fd;        /* -1: there is none */
	uint64_t peer; /* that it is connected to; 0: the link itself, which sends itself nothing */
	uint64_t candidate; /* the peer that may get most of the calls */
	uint32_t votes;     /* calls to the candidate, less those to others; not below 0 */
	uint64_t wanted;    /* the peer to connect to next; 0: none */
	int drain;          /* descriptor of the socket to empty before the other; -1: none */
	bool ahead;         /* it gave the last datagram, not the first socket */
	uint32_t skipped;   /* polls since the one that is not ahead was polled */
	uint32_t quiet;     /* empty polls of that one */
};

static inline uint64_t gamma_udp_connected_key(const uint8_t mac[GAMMA_MAC_LEN],
					       const uint8_t port[sizeof(uint16_t)])
{
	uint64_t key;

	memcpy(&key, mac, GAMMA_MAC_LEN);
	memcpy((uint8_t *) &key + GAMMA_MAC_LEN, port, sizeof(uint16_t));
	return key;
}

/* Counts a call to send to that peer; true: send by the connected socket. */
static inline bool gamma_udp_connected_vote(struct gamma_udp_connected *connected, uint64_t key)
{
	if (gamma_likely(key == connected->candidate)) {
		if (connected->votes < GAMMA_UDP_CONNECTED_VOTES_MAX &&
		    ++connected->votes == GAMMA_UDP_CONNECTED_VOTES)
			connected->wanted = key == connected->peer ? 0 : key;
	} else if (connected->votes) {
		connected->votes--;
	} else {
		connected->candidate = key;
		connected->votes = 1;
	}
	return key == connected->peer;
}

/* Is it time to poll the socket that is not ahead, before the other one? Both are polled each time
 * while both give datagrams, so neither keeps the other one waiting. */
static inline bool gamma_udp_connected_both(struct gamma_udp_connected *connected)
{
	if (connected->fd < 0 || (++connected->skipped < GAMMA_UDP_CONNECTED_RARELY &&
				  connected->quiet >= GAMMA_UDP_CONNECTED_QUIET))
		return false;
	connected->skipped = 0;
	return true;
}

/* Datagrams of the socket that was not ahead, when it was polled. */
static inline void gamma_udp_connected_polled(struct gamma_udp_connected *connected, bool found)
{
	connected->ahead ^= found;
	connected->quiet = found ? 0 : connected->quiet + 1;
	if (connected->quiet > GAMMA_UDP_CONNECTED_QUIET)
		connected->quiet = GAMMA_UDP_CONNECTED_QUIET;
}

/* The next poll is of both sockets. */
static inline void gamma_udp_connected_look(struct gamma_udp_connected *connected)
{
	connected->skipped = GAMMA_UDP_CONNECTED_RARELY;
}

/* Binds fd to the address that `first` has been bound to alone, and connects it to that address
 * itself. Sockets of the same user could bind it, too, during this call only. 0 or a negative
 * errno.
 */
int gamma_udp_connected_bind(int fd, int first, const struct sockaddr *own, socklen_t len);

#endif /* GAMMA_LINK_UDP_CONNECTED_H */
