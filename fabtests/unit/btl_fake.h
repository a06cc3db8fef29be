/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the tests of Open MPI's component stand on: a libfabric that records what it is asked for,
 * answers as the test says, and completes when the test says. The component's own objects run on
 * it, with Open MPI's library beside them; neither MPI nor a network is started.
 */
#ifndef GAMMA_TEST_BTL_FAKE_H
#define GAMMA_TEST_BTL_FAKE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "btl_gamma.h"

enum {
	BTL_FAKE_CALLS = 32,
	BTL_FAKE_BYTES = 64,
	BTL_FAKE_INJECT = 128, /* bytes that can be injected, the component's header included */
	BTL_FAKE_EAGER = 1024, /* bytes: btl_eager_limit */
	BTL_FAKE_SEND = 4096,  /* bytes: btl_max_send_size */
	BTL_FAKE_FRAME = 1000, /* bytes of a frame to the active port */
	BTL_FAKE_TAG = 65,     /* of the layer above that the tests play */
	BTL_FAKE_CID_TAG = 74, /* of its messages that may be written behind */
};

enum btl_fake_kind {
	BTL_FAKE_INJECTED,
	BTL_FAKE_SENT,
	BTL_FAKE_TO_PORT, /* to the active port */
	BTL_FAKE_POSTED,  /* a receive buffer */
	BTL_FAKE_READ,
	BTL_FAKE_WRITTEN,
	BTL_FAKE_ATOMIC,
	BTL_FAKE_FETCH,
	BTL_FAKE_COMPARE,
	BTL_FAKE_KINDS
};

/* An operation that libfabric was asked for, whatever it answered. */
struct btl_fake_call {
	enum btl_fake_kind kind;
	int result;    /* what it answered */
	void *context; /* of the completion */
	uint64_t flags;
	size_t len; /* bytes, of all iovecs */
	size_t iovecs;
	uint32_t arg;          /* of a message to the active port */
	uint64_t address, key; /* remote memory */
	enum fi_op op;
	enum fi_datatype type;
	unsigned char bytes[BTL_FAKE_BYTES]; /* the first ones of the first iovec */
};

/* One fake at a time; cleared by btl_fake_setup. */
extern struct btl_fake {
	struct btl_fake_call calls[BTL_FAKE_CALLS];
	size_t call_count;           /* all calls, those beyond the array included */
	int results[BTL_FAKE_KINDS]; /* answers by kind: 0 or -FI_* */
	struct fi_cq_data_entry completions[BTL_FAKE_CALLS];
	size_t completion_count;           /* not yet read */
	struct fi_cq_err_entry error;      /* behind the completions, if it has a context */
	const char *error_text;            /* the provider's words for it */
	bool dead_peer;                    /* the event queue reports one */
	void *joined;                      /* context of a join that it reports, or NULL */
	void *join_failed;                 /* ditto of one that has failed */
	bool no_collective;                /* fi_getinfo has no FI_COLLECTIVE */
	int open_result;                   /* fi_getinfo's answer */
	int enable_result;                 /* fi_enable's */
	int ports_result;                  /* fi_open_ops's */
	struct fi_gamma_port_attr port;    /* the active port's handler, if set */
	int open_objects;                  /* of libfabric, not closed yet */
	int pack_result;                   /* of opal_convertor_pack; negative: an error */
	bool pack_in_place;                /* it gives the data's own place */
	unsigned char data[BTL_FAKE_SEND]; /* that the convertor stands for */
	char output[2048];                 /* what users have been shown */
	unsigned int errors;               /* calls of the error callback */
	int32_t error_flags;
	char callback_order[8]; /* what tests note; zero at the end */
} btl_fake;

/* cmocka's setup and teardown: a NIC "fake0" with both of its modules; *state is that for messages.
 * The teardown checks that every object of libfabric is closed. */
int btl_fake_setup(void **state);
/* The same with active ports. */
int btl_fake_setup_ports(void **state);
int btl_fake_teardown(void **state);
/* The same without a module, for tests that open one. */
int btl_fake_setup_closed(void **state);

struct btl_gamma_module *btl_fake_open(void);
struct btl_gamma_module *btl_fake_remote_module(void);
/* A process that can be sent to; of our own job, or of another one. */
struct mca_btl_base_endpoint_t *btl_fake_peer(struct btl_gamma_module *module, bool own_job,
					      uint32_t vpid);
/* The latest call of that kind, and how many there were. */
const struct btl_fake_call *btl_fake_last(enum btl_fake_kind kind);
size_t btl_fake_count(enum btl_fake_kind kind);

/* The next read of the completion queue finds it. */
void btl_fake_complete(void *context);
/* A message in the first buffer that was posted; last: the buffer is given back with it. */
void btl_fake_arrive(uint8_t kind, uint8_t tag, const void *bytes, size_t len, bool last);
/* A message to the active port, which the next read of the completion queue handles. */
void btl_fake_arrive_at_port(uint8_t kind, uint8_t tag, const void *bytes, size_t len);
void btl_fake_fail(void *context, uint64_t flags, int error, const char *text);

/* The layer above, for its two tags: what it was given last, and how often. */
struct btl_fake_layer {
	unsigned int messages;
	size_t len;
	unsigned char bytes[BTL_FAKE_BYTES];
	size_t posted_meanwhile; /* receive buffers posted as it was called */
	const void *at;          /* where its bytes were */
	int polled;              /* its own progress calls returned, if it polls */
	size_t writes_behind;    /* bytes that it writes behind a message */
	bool polls;              /* it calls progress itself */
};
extern struct btl_fake_layer btl_fake_layer;
void btl_fake_register_layer(void);

/* A buffer of the application's data, which btl_fake.data stands for. */
struct opal_convertor_t *btl_fake_convertor(size_t len, bool contiguous);

#endif /* GAMMA_TEST_BTL_FAKE_H */
