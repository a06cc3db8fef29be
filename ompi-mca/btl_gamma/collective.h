/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of this component that coll/gamma uses: its endpoint, address vector and queues. That
 * component finds the structure below by its name with dlsym, and checks magic and size: the two
 * are installed separately and may be of different releases.
 */
#ifndef BTL_GAMMA_COLLECTIVE_H
#define BTL_GAMMA_COLLECTIVE_H

#include "btl_gamma.h"

#include <rdma/fi_collective.h>

#define BTL_GAMMA_COLLECTIVE_SYMBOL "mca_btl_gamma_collective"
#define BTL_GAMMA_COLLECTIVE_MAGIC  UINT64_C(0x31306c6c6f63672e)

struct btl_gamma_collective {
	uint64_t magic;
	uint64_t size;    /* bytes of this structure */
	uint64_t op_size; /* bytes of struct btl_gamma_op */
	/* The parameter btl names gamma, or the administrator made it the default. */
	bool (*is_wanted)(void);
	/* Whether that process's endpoint carries collective operations, as it has published: the
	 * same answer on all processes. */
	bool (*carries)(opal_process_name_t name);
	/* The port that carries collective operations; NULL: none. */
	const struct btl_gamma_port *(*port)(void);
	/* The process as that port reaches it; NULL: it does not. */
	const struct mca_btl_base_endpoint_t *(*peer)(opal_process_name_t name);
	/* Fills in an operation whose address is the context of a collective call, or of a join.
	 * Its function done is called once, by progress or by poll. */
	void (*prepare)(struct btl_gamma_op *op, void (*done)(struct btl_gamma_op *op, int status));
	/* Reads the completion queues, and calls the functions done. */
	int (*progress)(void);
	/* Reads the port's event queue, which reports joins. */
	void (*poll)(void);
	/* Called before a port is closed; NULL: no more. */
	void (*on_close)(void (*closing)(void));
};

extern const struct btl_gamma_collective mca_btl_gamma_collective
	__attribute__((visibility("default")));

/* For this component's own files. */
bool btl_gamma_collective_read_events(struct btl_gamma_module *module);
void btl_gamma_collective_report_failure(const struct btl_gamma_module *module, const char *cause);
void btl_gamma_collective_close(void);

#endif
