// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The door for the component coll/gamma: which port carries collective operations, which processes
 * take part, and the event queue, where joins and dead peers are reported.
 */
#include "collective.h"

#include <rdma/fi_errno.h>
#include <string.h>

enum {
	EVENTS = 16, /* read at once */
	TEXT = 256,  /* bytes of the provider's words */
};

static void (*closing)(void);

static bool is_wanted(void)
{
	return btl_gamma_component_is_named() || mca_btl_gamma_component.by_default;
}

/* All processes must choose the same NIC: the first one by name, not by distance. */
static struct btl_gamma_module *collective_module(void)
{
	const struct btl_gamma_component *component = &mca_btl_gamma_component;
	struct btl_gamma_module *module, *found = NULL;
	size_t i;

	for (i = 0; i < component->module_count; i++) {
		module = component->modules[i];
		if (module->first && (!found || strcmp(module->port->nic, found->port->nic) < 0))
			found = module;
	}
	return found && found->port->collective ? found : NULL;
}

static const struct btl_gamma_port *collective_port(void)
{
	const struct btl_gamma_module *module = collective_module();

	return module ? module->port : NULL;
}

static const struct mca_btl_base_endpoint_t *collective_peer(opal_process_name_t name)
{
	struct btl_gamma_module *module = collective_module();

	return module ? btl_gamma_peers_find(module, name) : NULL;
}

static void prepare(struct btl_gamma_op *op, void (*done)(struct btl_gamma_op *op, int status))
{
	*op = (struct btl_gamma_op){.module = collective_module(), .done = done};
}

/* ---- the event queue ---- */

/* cause: the provider's words, which name the member. */
static void report(const struct btl_gamma_module *module, const char *what, const char *cause)
{
	opal_output(0, "btl_gamma: %s: %s: %s", module->port->nic, what, cause);
}

/* Whether an error was there. A dead peer has no group. */
static bool read_error(struct btl_gamma_module *module)
{
	struct fi_eq_err_entry entry = {0};
	struct btl_gamma_op *op;
	char text[TEXT];

	if (fi_eq_readerr(module->port->eq, &entry, 0) <= 0)
		return false;
	op = entry.context;
	if (entry.fid && entry.fid->fclass == FI_CLASS_MC && op) {
		report(module, "processes do not form a group, and exchange messages instead",
		       fi_eq_strerror(module->port->eq, entry.prov_errno, entry.err_data, text,
				      sizeof(text)));
		op->done(op, OPAL_ERR_UNREACH);
	} else
		__atomic_store_n(&module->port->dead_peer, true, __ATOMIC_RELAXED);
	return true;
}

/* Returns, once, whether the provider has declared a peer dead. */
bool btl_gamma_collective_read_events(struct btl_gamma_module *module)
{
	struct btl_gamma_port *port = module->port;
	struct fi_eq_entry entry;
	uint32_t event;
	ssize_t rc;
	int i;

	for (i = 0; i < EVENTS; i++) {
		rc = fi_eq_read(port->eq, &event, &entry, sizeof(entry), 0);
		if (rc > 0 && event == FI_JOIN_COMPLETE && entry.context) {
			struct btl_gamma_op *op = entry.context;

			op->done(op, OPAL_SUCCESS);
		} else if (rc <= 0 && !read_error(module))
			break;
	}
	return __atomic_load_n(&port->dead_peer, __ATOMIC_RELAXED) &&
	       __atomic_exchange_n(&port->dead_peer, false, __ATOMIC_RELAXED);
}

/* Whether a peer is dead is keepalive.c's to ask: the mark stays. */
static void poll_events(void)
{
	struct btl_gamma_module *module = collective_module();

	if (module && btl_gamma_collective_read_events(module))
		__atomic_store_n(&module->port->dead_peer, true, __ATOMIC_RELAXED);
}

/* ---- failure, and the end ---- */

void btl_gamma_collective_report_failure(const struct btl_gamma_module *module, const char *cause)
{
	report(module, "a collective operation failed", cause);
}

static void on_close(void (*function)(void))
{
	closing = function;
}

void btl_gamma_collective_close(void)
{
	if (closing)
		closing();
}

const struct btl_gamma_collective mca_btl_gamma_collective = {
	.magic = BTL_GAMMA_COLLECTIVE_MAGIC,
	.size = sizeof(struct btl_gamma_collective),
	.op_size = sizeof(struct btl_gamma_op),
	.is_wanted = is_wanted,
	.carries = btl_gamma_peers_carries,
	.port = collective_port,
	.peer = collective_peer,
	.prepare = prepare,
	.progress = btl_gamma_progress_poll,
	.poll = poll_events,
	.on_close = on_close,
};
