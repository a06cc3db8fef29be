// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A module's life, and the table of functions that Open MPI calls. Each NIC has one module for
 * messages and one for remote memory.
 */
#include "collective.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_MAX = 1 << 30 }; /* bytes: lengths do not overflow */

void btl_gamma_module_close(struct btl_gamma_module *module)
{
	btl_gamma_port_put(module->port);
	btl_gamma_receive_drop_undelivered(module);
	btl_gamma_peers_drop(module);
	btl_gamma_fragments_drop(module);
	btl_gamma_remote_drop(module);
	OBJ_DESTRUCT(&module->peers);
	pthread_mutex_destroy(&module->lock);
	free(module);
}

/* All processes have passed a barrier of Open MPI: only acknowledgements are in flight. */
static int module_finalize(mca_btl_base_module_t *btl)
{
	struct btl_gamma_component *component = &mca_btl_gamma_component;
	struct btl_gamma_module *module = btl_gamma_module(btl);
	size_t i;

	btl_gamma_thread_stop();
	btl_gamma_collective_close();
	for (i = 0; i < component->module_count; i++)
		if (component->modules[i] == module) {
			component->modules[i] = component->modules[--component->module_count];
			break;
		}
	btl_gamma_keepalive_leave_all(module);
	btl_gamma_module_close(module);
	return OPAL_SUCCESS;
}

static int register_error(mca_btl_base_module_t *btl, mca_btl_base_module_error_cb_fn_t callback)
{
	btl_gamma_module(btl)->error_cb = callback;
	return OPAL_SUCCESS;
}

static void set_functions(mca_btl_base_module_t *btl)
{
	btl->btl_add_procs = btl_gamma_peers_add_procs;
	btl->btl_del_procs = btl_gamma_peers_del_procs;
	btl->btl_finalize = module_finalize;
	btl->btl_alloc = btl_gamma_fragments_alloc;
	btl->btl_free = btl_gamma_fragments_free;
	btl->btl_prepare_src = btl_gamma_fragments_prepare;
	btl->btl_send = btl_gamma_send;
	btl->btl_sendi = btl_gamma_send_immediate;
	btl->btl_dump = mca_btl_base_dump;
	btl->btl_register_error = register_error;
}

static void set_weights(mca_btl_base_module_t *btl, const struct btl_gamma_port *port,
			unsigned int distance)
{
	btl->btl_bandwidth = port->bandwidth;
	/* Short messages use the BTL with the least latency: NICs farther away carry only long
	 * ones. */
	btl->btl_latency += distance;
}

/* One of the port's users. */
static struct btl_gamma_module *new_module(struct btl_gamma_port *port, bool first,
					   unsigned int distance)
{
	struct btl_gamma_module *module = calloc(1, sizeof(*module));

	if (!module)
		return NULL;
	module->super = mca_btl_gamma_component.template;
	module->port = port;
	module->first = first;
	set_functions(&module->super);
	set_weights(&module->super, port, distance);
	module->pools[BTL_GAMMA_POOL_SHORT].room = BTL_GAMMA_HEADER_ROOM;
	module->pools[BTL_GAMMA_POOL_EAGER].room = module->super.btl_eager_limit;
	module->pools[BTL_GAMMA_POOL_LARGE].room = module->super.btl_max_send_size;
	module->waiting.last = &module->waiting.first;
	pthread_mutex_init(&module->lock, NULL);
	OBJ_CONSTRUCT(&module->peers, opal_hash_table_t);
	opal_hash_table_init(&module->peers, 64);
	return module;
}

static const uint32_t remote_flags = MCA_BTL_FLAGS_RDMA | MCA_BTL_FLAGS_ATOMIC_OPS |
				     MCA_BTL_FLAGS_ATOMIC_FOPS | BTL_GAMMA_FLAGS_REMOTE_COMPLETION;

static void enlist(struct btl_gamma_module *module)
{
	struct btl_gamma_component *component = &mca_btl_gamma_component;

	component->modules[component->module_count++] = module;
}

static struct btl_gamma_module *open_messages(struct btl_gamma_port *port, unsigned int distance)
{
	const struct btl_gamma_component *component = &mca_btl_gamma_component;
	struct btl_gamma_module *module = new_module(port, true, distance);
	mca_btl_base_module_t *btl;
	int rc;

	if (!module) {
		btl_gamma_port_put(port);
		return NULL;
	}
	btl = &module->super;
	btl->btl_flags &= MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_SEND_INPLACE | MCA_BTL_FLAGS_RDMA;
	btl->btl_atomic_flags = 0;
	if (component->progress_thread)
		btl->btl_flags |= MCA_BTL_FLAGS_BTL_PROGRESS_THREAD_ENABLED;
	rc = btl_gamma_receive_open_buffers(module);
	if (!rc) {
		btl_gamma_active_port_open(module);
		btl_gamma_counters_open(port);
		return module;
	}
	btl_gamma_report_unused("%u receive buffers of %zu bytes cannot be had on %s: %s.",
				"Lower btl_gamma_receive_buffers, btl_gamma_receive_buffer_size or "
				"btl_gamma_max_send_size.",
				component->receive_buffers, component->receive_buffer_size,
				port->nic, fi_strerror(-rc));
	btl_gamma_module_close(module);
	return NULL;
}

static void open_remote(struct btl_gamma_port *port, unsigned int distance)
{
	struct btl_gamma_module *module = new_module(port, false, distance);

	if (!module)
		return;
	port->users++;
	module->super.btl_flags = remote_flags;
	enlist(module);
}

/* Makes the user's sizes consistent. Returns the bytes of the longest message; 0: too long, or
 * no messages at all, which was reported. */
size_t btl_gamma_module_fit_sizes(void)
{
	struct btl_gamma_component *component = &mca_btl_gamma_component;
	mca_btl_base_module_t *btl = &component->template;
	size_t max_message;

	/* Open MPI would find no BTL to send with, at the first message. */
	if (!(btl->btl_flags & MCA_BTL_FLAGS_SEND)) {
		btl_gamma_report_unused("btl_gamma_flags is without send.",
					"Set it to send,inplace; put and get may be added.");
		return 0;
	}
	if (btl->btl_max_send_size < btl->btl_eager_limit)
		btl->btl_max_send_size = btl->btl_eager_limit;
	if (btl->btl_max_send_size > MESSAGE_MAX) {
		btl_gamma_report_unused(
			"btl_gamma_max_send_size, or btl_gamma_eager_limit, is %zu.",
			"It is the size of a fragment: set it to 1 GiB at most.",
			btl->btl_max_send_size);
		return 0;
	}
	max_message = sizeof(struct btl_gamma_header) + btl->btl_max_send_size;
	if (component->receive_buffer_size < 2 * max_message)
		component->receive_buffer_size = 2 * max_message;
	return max_message;
}

void btl_gamma_module_open(const struct btl_gamma_nic *nic, size_t max_message)
{
	struct btl_gamma_port *port = btl_gamma_port_open(nic->name, max_message);
	struct btl_gamma_module *module = port ? open_messages(port, nic->distance) : NULL;

	if (!module)
		return;
	enlist(module);
	open_remote(port, nic->distance);
}
