/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the tests of coll/gamma stand on: a door to btl/gamma, libfabric's objects, a communicator
 * of four processes on four hosts, and the component before, all of which record and answer as the
 * test says. Neither MPI nor a network is started.
 */
#ifndef GAMMA_TEST_COLL_FAKE_H
#define GAMMA_TEST_COLL_FAKE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "coll_gamma.h"

enum {
	COLL_FAKE_RANKS = 4,
	COLL_FAKE_RANK = 1,  /* ours */
	COLL_FAKE_AFTER = 3, /* calls before the agreement */
};

/* One fake at a time; cleared by coll_fake_setup. */
extern struct coll_fake {
	/* the others */
	bool without[COLL_FAKE_RANKS]; /* coll/gamma, or joins later */
	bool cannot[COLL_FAKE_RANKS];  /* its endpoint carries no collective operations */
	bool unreachable[COLL_FAKE_RANKS];
	int hosts;            /* that they are on */
	int others_veto;      /* the agreement that they do not join; 0: none, 1: the first, 2: the
				 second */
	bool no_port;         /* btl/gamma has none */
	long others_times[2]; /* of a trial, 10 ns, in sum: gamma's and the component before's */
	int agreement_error;  /* of the next one */
	/* the clock, ns */
	uint64_t now, gamma_ns, previous_ns; /* what an operation takes */
	/* libfabric */
	int join_result;                           /* of the call */
	bool join_fails;                           /* its event is an error */
	bool op_fails;                             /* the completion of an operation is an error */
	bool op_stays;                             /* no completion comes */
	int again;                                 /* operations that find no room first */
	int op_result;                             /* of the call of an operation */
	int open_objects;                          /* not closed yet */
	unsigned int offered;                      /* elements; 0: no reduction is offered */
	mca_coll_base_module_barrier_fn_t instead; /* of the barrier before, which then removes
						    * itself */
	/* seen */
	enum fi_collective_op last; /* that was called */
	unsigned int ops;           /* calls that were taken */
	size_t count;
	const void *from;
	void *to;
	fi_addr_t root;
	enum fi_datatype type;
	enum fi_op op;
	unsigned int previous; /* calls of the component before */
	unsigned int
		agreements; /* among them allreduces of MPI_INT, MPI_MIN or of MPI_LONG, MPI_SUM */
	mca_coll_base_module_barrier_fn_t
		in_table;             /* the communicator's barrier, by the one before */
	struct btl_gamma_op *pending; /* the operation in progress */
} coll_fake;

extern struct ompi_communicator_t coll_fake_comm;

/* cmocka's setup and teardown: *state is a module that is enabled on the communicator. The
 * teardown checks that every object of libfabric is closed. */
int coll_fake_setup(void **state);
int coll_fake_teardown(void **state);

/* Calls MPI_Barrier until the agreement has been. */
void coll_fake_join(struct coll_gamma_module *module);
/* Ends the operation in progress. */
void coll_fake_complete(int status);

/* Stand-ins for MPI's. */
extern struct ompi_datatype_t coll_fake_byte, coll_fake_long, coll_fake_pair;
extern struct ompi_op_t coll_fake_sum, coll_fake_user;

#endif /* GAMMA_TEST_COLL_FAKE_H */
