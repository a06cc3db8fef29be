/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The messages on gammad's socket: one structure each, in host byte order, after a common header.
 * The provider (link/broker.c) and gammactl send requests, gammad answers. Everything that gammad
 * reads passes gamma_broker_message_parse. doc/protocol-gammad.md, section 10, is the
 * specification.
 */
#ifndef GAMMA_BROKER_MESSAGE_H
#define GAMMA_BROKER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/address.h"

#define GAMMA_BROKER_PATH  "/run/gammad/socket"
#define GAMMA_BROKER_MAGIC 0x676d6264u

enum {
	GAMMA_BROKER_VERSION = 2,
	GAMMA_BROKER_MAX = 128, /* bytes of the longest message */
	GAMMA_BROKER_FDS = 2,   /* with OPENED: the packet socket, then the port's AF_UNIX socket;
				 * with JOINED: the packet socket, if the group's frames are wanted */
	GAMMA_BROKER_NICS_MAX = 16, /* that gammad can serve */
};

enum gamma_broker_type {
	GAMMA_BROKER_OPEN = 1,   /* asks for an endpoint */
	GAMMA_BROKER_OPENED = 2, /* answers OPEN */
	GAMMA_BROKER_STATUS = 3,
	GAMMA_BROKER_STATE = 4, /* answers STATUS */
	GAMMA_BROKER_LIST = 5,
	GAMMA_BROKER_ENTRY = 6,   /* answers LIST: one for each endpoint, then DONE */
	GAMMA_BROKER_REVOKE = 7,  /* revokes all endpoints of a user, who gets no others */
	GAMMA_BROKER_RELOAD = 8,  /* reads the configuration again */
	GAMMA_BROKER_DONE = 9,    /* answers REVOKE, ALLOW, RELOAD, LEAVE, and malformed requests */
	GAMMA_BROKER_NICS = 10,   /* asks on which NICs the user may have endpoints */
	GAMMA_BROKER_SERVED = 11, /* answers NICS */
	GAMMA_BROKER_JOIN = 12,   /* an endpoint joins a multicast group */
	GAMMA_BROKER_JOINED = 13, /* answers JOIN */
	GAMMA_BROKER_LEAVE = 14,  /* it leaves the group */
	GAMMA_BROKER_ALLOW = 15,  /* ends what REVOKE began; its form is REVOKE's */
	GAMMA_BROKER_DETAILS = 16, /* asks for what STATE does not have */
	GAMMA_BROKER_BOUNDS = 17,  /* answers DETAILS, then an INTERFACE for each NIC, then DONE */
	GAMMA_BROKER_INTERFACE = 18,
};

/* Why something was refused. */
enum gamma_broker_reason {
	GAMMA_BROKER_OK = 0,
	GAMMA_BROKER_MALFORMED = 1,
	GAMMA_BROKER_OTHER_VERSION = 2,
	GAMMA_BROKER_NOT_ROOT = 3,
	GAMMA_BROKER_NO_GROUP = 4,
	GAMMA_BROKER_NO_NIC = 5,
	GAMMA_BROKER_ETHERTYPE = 6,
	GAMMA_BROKER_LIMIT = 7,
	GAMMA_BROKER_NO_SLOT = 8,
	GAMMA_BROKER_PORT_TAKEN = 9,
	GAMMA_BROKER_TWICE = 10,
	GAMMA_BROKER_NO_HANDLE = 11,
	GAMMA_BROKER_SYSTEM = 12,
	GAMMA_BROKER_BAD_CONF = 13,
	GAMMA_BROKER_NO_ENDPOINT = 14,
	GAMMA_BROKER_BAD_GROUP = 15,
	GAMMA_BROKER_MEMBERSHIPS = 16,
	GAMMA_BROKER_MEMBER = 17,
	GAMMA_BROKER_NO_USER = 18,
	GAMMA_BROKER_REVOKED = 19,
	GAMMA_BROKER_REASONS
};

struct gamma_broker_header {
	uint32_t magic;   /* GAMMA_BROKER_MAGIC */
	uint16_t version; /* GAMMA_BROKER_VERSION */
	uint16_t type;    /* enum gamma_broker_type */
	uint32_t length;  /* bytes of the message, this header included */
	uint32_t reason;  /* in answers: enum gamma_broker_reason; in requests 0 */
};

struct gamma_broker_open {
	struct gamma_broker_header header;
	uint8_t mac[GAMMA_MAC_LEN];    /* of the NIC */
	uint16_t port;                 /* host order; 0: a random free one */
	uint32_t epoch;                /* host order, not 0 */
	uint16_t ethertype;            /* that the endpoint will use */
	uint8_t beside[GAMMA_MAC_LEN]; /* MAC of an endpoint of the same user, whose interface it
					  shares; zero: it gets its own */
	uint32_t ring_bytes; /* of the receive ring, approximately; gammad.conf sets the limit */
};

/* JOIN and LEAVE */
struct gamma_broker_group {
	struct gamma_broker_header header;
	uint8_t mac[GAMMA_MAC_LEN]; /* of the endpoint, which must belong to the requesting user */
	uint16_t port;              /* ditto, host order */
	uint8_t group[GAMMA_MAC_LEN];
	uint16_t group_port; /* host order */
	uint32_t receives;   /* 1: it receives the group's frames; 0: it only sends to the group */
	uint32_t reserved;   /* 0 */
};

struct gamma_broker_joined {
	struct gamma_broker_header header;
	uint32_t mtu;         /* bytes; this and the following fields are 0 if it only sends */
	uint32_t block_bytes; /* of the socket's receive ring, as in OPENED */
	uint32_t blocks;
	uint32_t slot_bytes;
};

struct gamma_broker_served {
	struct gamma_broker_header header; /* its reason: why the user may have no endpoints */
	uint32_t count;                    /* of macs */
	uint16_t ethertype;                /* that endpoints must use */
	uint16_t wire_version;             /* of its frames; 0: a gammad that did not say, of 1 */
	uint8_t macs[GAMMA_BROKER_NICS_MAX][GAMMA_MAC_LEN];
};

struct gamma_broker_opened {
	struct gamma_broker_header header;
	uint8_t mac[GAMMA_MAC_LEN]; /* the endpoint's own */
	uint16_t port;              /* host order */
	uint32_t tenant;            /* user id */
	uint32_t ifindex;           /* of its slot, in gammad's network namespace */
	uint32_t mtu;               /* bytes */
	uint32_t block_bytes;       /* the receive ring: bytes of a block, ... */
	uint32_t blocks;            /* ... how many, ... */
	uint32_t slot_bytes;        /* ... and bytes of a frame's slot */
	uint64_t host;              /* host identity of all endpoints from gammad */
};

struct gamma_broker_state {
	struct gamma_broker_header header;
	uint32_t pid;       /* of gammad */
	uint32_t nics;      /* configured */
	uint32_t slots;     /* of all NICs */
	uint32_t endpoints; /* open now */
	uint64_t opened;    /* since the host booted */
	uint64_t dropped;   /* frames that the kernel refused to send, ditto */
};

/* Limits of one user at a time. */
struct gamma_broker_bounds {
	struct gamma_broker_header header;
	uint32_t endpoints;   /* unless a user has a limit of its own */
	uint32_t memberships; /* in multicast groups */
	uint32_t ring_bytes;  /* of an endpoint's receive ring */
	uint32_t revoked;     /* users who may have no endpoints until they are allowed again */
};

enum gamma_broker_nic_state {
	GAMMA_BROKER_NIC_MISSING = 0, /* gammad waits for it */
	GAMMA_BROKER_NIC_DOWN = 1,
	GAMMA_BROKER_NIC_NO_CARRIER = 2,
	GAMMA_BROKER_NIC_UP = 3,
};

/* A NIC of gammad.conf. */
struct gamma_broker_interface {
	struct gamma_broker_header header;
	char name[16];  /* with a final 0 */
	uint32_t state; /* enum gamma_broker_nic_state */
	uint32_t mtu;   /* bytes; this and the following are 0 if it is missing */
	uint32_t slots;
	uint32_t endpoints;   /* open now */
	uint32_t memberships; /* of these endpoints in multicast groups */
	uint32_t group_users; /* who have an interface for such groups */
	uint64_t ring_bytes;  /* kernel memory of all their receive rings */
};

struct gamma_broker_entry {
	struct gamma_broker_header header;
	uint8_t mac[GAMMA_MAC_LEN]; /* the endpoint's own */
	uint16_t port;              /* host order */
	uint32_t tenant;            /* user id */
	uint32_t pid; /* of the process that requested it, in gammad's pid namespace; 0: unknown */
	uint32_t handle;
	uint32_t revoked; /* 1: it is revoked and cannot send */
	char nic[16];     /* name, with a final 0 */
};

/* REVOKE and ALLOW */
struct gamma_broker_revoke {
	struct gamma_broker_header header;
	uint32_t uid;
	uint32_t reserved; /* 0 */
};

struct gamma_broker_done {
	struct gamma_broker_header header;
	uint32_t count; /* endpoints revoked, users allowed again (0 or 1), or entries listed */
	uint32_t reserved;
};

/* Any request. */
union gamma_broker_request {
	struct gamma_broker_header header;
	struct gamma_broker_open open;
	struct gamma_broker_revoke revoke;
	struct gamma_broker_group group;
};

/* Checks a received request and copies it: OK, MALFORMED or OTHER_VERSION. */
enum gamma_broker_reason gamma_broker_message_parse(const void *bytes, size_t len,
						    union gamma_broker_request *request);
/* Whether only root may send that request. */
bool gamma_broker_message_needs_root(uint16_t type);
/* Fills in a header: type and length (bytes) of the message. */
void gamma_broker_message_init_header(struct gamma_broker_header *header,
				      enum gamma_broker_type type, size_t length,
				      enum gamma_broker_reason reason);
/* Whether an answer is one of that type and length. */
bool gamma_broker_message_is(const void *bytes, size_t len, enum gamma_broker_type type,
			     size_t length);
/* Checks an answer that should be of that type and length: OK, the reason of a refusal (also
 * by DONE), OTHER_VERSION, or MALFORMED. */
enum gamma_broker_reason gamma_broker_message_check_answer(const void *bytes, size_t len,
							   enum gamma_broker_type type,
							   size_t length);
/* Cause and cure for people, and the negative errno that a program returns. */
const char *gamma_broker_message_text(uint32_t reason);
int gamma_broker_message_error(uint32_t reason);

#endif /* GAMMA_BROKER_MESSAGE_H */
