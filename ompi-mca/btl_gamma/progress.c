// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What has happened since the last look: completions, errors, and operations that libfabric had no
 * room for. Open MPI calls it all the time, from all threads, and from within itself: no lock is
 * held while anything of the layers above is called.
 */
#include "btl_gamma.h"

#include <rdma/fi_errno.h>

enum {
	BATCH = 16,   /* completions taken at once */
	RETRIES = 64, /* waiting operations tried again in one call */
};

/* ---- operations that wait for room ---- */

static void wait_turn(struct gamma_btl_op *op)
{
	struct gamma_btl_queue *waiting = &op->module->waiting;

	op->next = NULL;
	gamma_btl_lock(&op->module->lock);
	*waiting->last = op;
	waiting->last = &op->next;
	__atomic_add_fetch(&waiting->count, 1, __ATOMIC_RELAXED);
	gamma_btl_unlock(&op->module->lock);
}

static struct gamma_btl_op *take_waiting(struct gamma_btl_module *module)
{
	struct gamma_btl_queue *waiting = &module->waiting;
	struct gamma_btl_op *op;

	gamma_btl_lock(&module->lock);
	op = waiting->first;
	if (op) {
		waiting->first = op->next;
		if (!op->next)
			waiting->last = &waiting->first;
		__atomic_sub_fetch(&waiting->count, 1, __ATOMIC_RELAXED);
	}
	gamma_btl_unlock(&module->lock);
	return op;
}

/* STARTED, FINISHED or -FI_*; never -FI_EAGAIN: then it waits here and counts as started. */
int gamma_btl_start(struct gamma_btl_op *op)
{
	int rc = gamma_btl_any_waiting(op->module) ? -FI_EAGAIN : op->start(op);

	if (rc != -FI_EAGAIN)
		return rc;
	wait_turn(op);
	return GAMMA_BTL_STARTED;
}

/* Under ULFM a program is told that its peer has failed by this status, and by no other. */
static void end_op(struct gamma_btl_op *op, int error, const char *text)
{
	struct mca_btl_base_endpoint_t *peer = op->peer;

	if (error && peer && !gamma_btl_may_have_ended(op, error))
		gamma_btl_failed(peer, error, text);
	op->done(op, error ? OPAL_ERR_UNREACH : OPAL_SUCCESS);
}

__attribute__((noinline)) static int retry_waiting(struct gamma_btl_module *module)
{
	struct gamma_btl_op *op;
	int tries, rc, count = 0;

	for (tries = 0; tries < RETRIES && (op = take_waiting(module)); tries++) {
		rc = op->start(op);
		if (rc == -FI_EAGAIN) {
			wait_turn(op);
			break;
		}
		if (rc != GAMMA_BTL_STARTED)
			end_op(op, rc < 0 ? -rc : 0, NULL);
		count++;
	}
	return count;
}

/* ---- completions ---- */

static bool is_receive(const struct fi_cq_data_entry *entry)
{
	return entry->flags & (FI_RECV | FI_MULTI_RECV);
}

static struct gamma_btl_buffer *buffer_of(void *context)
{
	return gamma_btl_container(context, struct gamma_btl_buffer, op);
}

/* Each message keeps its buffer; what the last entry of a buffer gives back is the provider's. */
static void keep_buffers(const struct fi_cq_data_entry *entries, ssize_t count)
{
	ssize_t i;

	for (i = 0; i < count; i++)
		if (is_receive(&entries[i]))
			__atomic_add_fetch(&buffer_of(entries[i].op_context)->users, 1,
					   __ATOMIC_RELAXED);
}

static void handle_receive(const struct fi_cq_data_entry *entry)
{
	struct gamma_btl_buffer *buffer = buffer_of(entry->op_context);

	if (entry->flags & FI_RECV && entry->len)
		gamma_btl_received(buffer, entry->buf, entry->len);
	if (entry->flags & FI_MULTI_RECV)
		gamma_btl_put_buffer(buffer);
	gamma_btl_put_buffer(buffer);
}

static void handle(const struct fi_cq_data_entry *entry)
{
	if (is_receive(entry))
		handle_receive(entry);
	else
		end_op(entry->op_context, 0, NULL);
}

/* An injected message that fails is not told here: keepalive.c. */
__attribute__((noinline)) static int handle_error(struct gamma_btl_module *module)
{
	struct fi_cq_err_entry entry = {0};
	char text[256];

	if (fi_cq_readerr(module->port->cq, &entry, 0) != 1 || !entry.op_context)
		return 0;
	if (entry.flags & (FI_RECV | FI_MULTI_RECV)) {
		gamma_btl_broken(module, "a message could not be received", entry.err);
		if (entry.flags & FI_MULTI_RECV)
			gamma_btl_put_buffer(buffer_of(entry.op_context));
		return 1;
	}
	end_op(entry.op_context, entry.err,
	       fi_cq_strerror(module->port->cq, entry.prov_errno, entry.err_data, text,
			      sizeof(text)));
	return 1;
}

static int poll_module(struct gamma_btl_module *module)
{
	struct fi_cq_data_entry entries[BATCH];
	ssize_t i, count;

	if (!gamma_btl_trylock(&module->port->polling))
		return 0;
	count = fi_cq_read(module->port->cq, entries, BATCH);
	if (count > 0)
		keep_buffers(entries, count);
	gamma_btl_unlock(&module->port->polling);
	for (i = 0; i < count; i++)
		handle(&entries[i]);
	if (count == -FI_EAVAIL)
		return handle_error(module);
	return count > 0 ? (int) count : 0;
}

/* Called so often that what it calls is compiled into it, but for what is rarely needed. */
__attribute__((flatten)) int gamma_btl_move(void)
{
	const struct gamma_btl_component *component = &mca_btl_gamma_component;
	int events = 0;
	size_t i;

	for (i = 0; i < component->module_count; i++) {
		struct gamma_btl_module *module = component->modules[i];

		if (module->first) {
			events += poll_module(module);
			gamma_btl_keep_alive(module);
			if (__builtin_expect(module->held != NULL, 0))
				events += gamma_btl_deliver_held(module);
		}
		if (__builtin_expect(gamma_btl_any_waiting(module), 0))
			events += retry_waiting(module);
	}
	return events;
}

/* Called by the program, whatever it waits for in MPI. */
int gamma_btl_progress(void)
{
	if (__builtin_expect(mca_btl_gamma_component.progress_thread, 0)) {
		gamma_btl_thread_polled();
		gamma_btl_thread_begin();
	}
	return gamma_btl_move();
}
