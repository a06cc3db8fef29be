// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Progress: completions, errors, and operations that libfabric had no room for. Open MPI calls it
 * very often, from all threads and recursively: no lock is held while an upper layer is called.
 */
#include "collective.h"

#include <rdma/fi_errno.h>
#include <string.h>

enum {
	BATCH = 16,   /* completions read at once */
	RETRIES = 64, /* queued operations tried again in one call */
};

/* ---- operations that wait for room ---- */

static void queue_op(struct btl_gamma_op *op)
{
	struct btl_gamma_queue *waiting = &op->module->waiting;

	op->next = NULL;
	btl_gamma_lock(&op->module->lock);
	*waiting->last = op;
	waiting->last = &op->next;
	__atomic_add_fetch(&waiting->count, 1, __ATOMIC_RELAXED);
	btl_gamma_unlock(&op->module->lock);
}

static struct btl_gamma_op *dequeue_op(struct btl_gamma_module *module)
{
	struct btl_gamma_queue *waiting = &module->waiting;
	struct btl_gamma_op *op;

	btl_gamma_lock(&module->lock);
	op = waiting->first;
	if (op) {
		waiting->first = op->next;
		if (!op->next)
			waiting->last = &waiting->first;
		__atomic_sub_fetch(&waiting->count, 1, __ATOMIC_RELAXED);
	}
	btl_gamma_unlock(&module->lock);
	return op;
}

/* STARTED, FINISHED or -FI_*. Never -FI_EAGAIN: then the operation is queued and counts as
 * started. */
int btl_gamma_progress_start(struct btl_gamma_op *op)
{
	int rc = btl_gamma_any_waiting(op->module) ? -FI_EAGAIN : op->start(op);

	if (rc != -FI_EAGAIN)
		return rc;
	queue_op(op);
	return BTL_GAMMA_STARTED;
}

/* ULFM reports a failed peer to the program only by this status. */
static void end_op(struct btl_gamma_op *op, int error, const char *text)
{
	struct mca_btl_base_endpoint_t *peer = op->peer;

	if (error && peer && !btl_gamma_keepalive_may_have_ended(op, error))
		btl_gamma_report_peer_failed(peer, error, text);
	op->done(op, error ? OPAL_ERR_UNREACH : OPAL_SUCCESS);
}

__attribute__((noinline)) static int retry_waiting(struct btl_gamma_module *module)
{
	struct btl_gamma_op *op;
	int tries, rc, count = 0;

	for (tries = 0; tries < RETRIES && (op = dequeue_op(module)); tries++) {
		rc = op->start(op);
		if (rc == -FI_EAGAIN) {
			queue_op(op);
			break;
		}
		if (rc != BTL_GAMMA_STARTED)
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

static struct btl_gamma_buffer *buffer_of(void *context)
{
	return btl_gamma_container(context, struct btl_gamma_buffer, op);
}

/* Each message keeps its buffer in use; the buffer's last entry returns the provider's own use
 * of it. */
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
	struct btl_gamma_buffer *buffer = buffer_of(entry->op_context);
	struct btl_gamma_header header;

	if (entry->flags & FI_RECV && entry->len >= sizeof(header)) {
		memcpy(&header, entry->buf, sizeof(header));
		btl_gamma_receive_message(buffer->op.module, &header,
					  (unsigned char *) entry->buf + sizeof(header),
					  entry->len - sizeof(header));
	}
	if (entry->flags & FI_MULTI_RECV)
		btl_gamma_receive_put_buffer(buffer);
	btl_gamma_receive_put_buffer(buffer);
}

static void handle_completion(const struct fi_cq_data_entry *entry)
{
	if (is_receive(entry))
		handle_receive(entry);
	else
		end_op(entry->op_context, 0, NULL);
}

/* ---- who polls ---- */

static void note_poller(struct btl_gamma_port *port)
{
	__atomic_store_n(&port->poller, pthread_self(), __ATOMIC_RELAXED);
	__atomic_store_n(&port->poller_known, true, __ATOMIC_RELAXED);
}

/* Only a threaded program takes the lock, and then it releases it, whatever it is meanwhile. */
static bool begin_polling(struct btl_gamma_port *port)
{
	if (!opal_using_threads())
		return true;
	if (pthread_mutex_trylock(&port->polling))
		return false;
	note_poller(port);
	return true;
}

/* Only the poller itself can compare equal. */
static bool is_polling(const struct btl_gamma_port *port)
{
	return __atomic_load_n(&port->poller_known, __ATOMIC_RELAXED) &&
	       pthread_equal(__atomic_load_n(&port->poller, __ATOMIC_RELAXED), pthread_self());
}

static void end_polling(struct btl_gamma_port *port)
{
	if (!is_polling(port))
		return;
	__atomic_store_n(&port->poller_known, false, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&port->polling);
}

static unsigned int handled_so_far(const struct btl_gamma_port *port)
{
	return __atomic_load_n(&port->handled, __ATOMIC_RELAXED);
}

/* An injected message that fails is not reported here: keepalive.c. */
__attribute__((noinline)) static int handle_error(struct btl_gamma_module *module)
{
	struct fi_cq_err_entry entry = {0};
	const char *cause;
	char text[256];

	if (fi_cq_readerr(module->port->cq, &entry, 0) != 1 || !entry.op_context)
		return 0;
	if (entry.flags & (FI_RECV | FI_MULTI_RECV)) {
		btl_gamma_report_broken(module, "a message could not be received", entry.err);
		if (entry.flags & FI_MULTI_RECV)
			btl_gamma_receive_put_buffer(buffer_of(entry.op_context));
		return 1;
	}
	cause = fi_cq_strerror(module->port->cq, entry.prov_errno, entry.err_data, text,
			       sizeof(text));
	/* This process has left the group itself if it is cancelled. */
	if (entry.flags & FI_COLLECTIVE && entry.err != FI_ECANCELED &&
	    !((struct btl_gamma_op *) entry.op_context)->unreported)
		btl_gamma_collective_report_failure(module, cause);
	end_op(entry.op_context, entry.err, cause);
	return 1;
}

/* If true, this thread polls, and reenter must follow: a message's callback may take long, wait
 * for completions, or poll itself, so it runs without the right to poll. */
bool btl_gamma_progress_leave(struct btl_gamma_port *port)
{
	if (!is_polling(port))
		return false;
	end_polling(port);
	return true;
}

void btl_gamma_progress_reenter(struct btl_gamma_port *port)
{
	pthread_mutex_lock(&port->polling);
	note_poller(port);
}

/* Messages to the active port are handled within fi_cq_read. */
static int poll_module(struct btl_gamma_module *module)
{
	struct btl_gamma_port *port = module->port;
	struct fi_cq_data_entry entries[BATCH];
	const unsigned int handled = handled_so_far(port);
	ssize_t i, count;
	int events;

	if (!begin_polling(port))
		return 0;
	count = fi_cq_read(port->cq, entries, BATCH);
	if (count > 0)
		keep_buffers(entries, count);
	end_polling(port);
	for (i = 0; i < count; i++)
		handle_completion(&entries[i]);
	events = (int) (handled_so_far(port) - handled);
	if (count == -FI_EAVAIL)
		return events + handle_error(module);
	return count > 0 ? events + (int) count : events;
}

/* On the path of every message: what it calls is inlined, except for rare cases. */
__attribute__((flatten)) int btl_gamma_progress_poll(void)
{
	const struct btl_gamma_component *component = &mca_btl_gamma_component;
	int events = 0;
	size_t i;

	for (i = 0; i < component->module_count; i++) {
		struct btl_gamma_module *module = component->modules[i];

		if (module->first) {
			events += poll_module(module);
			btl_gamma_keepalive_poll(module);
			if (__builtin_expect(module->undelivered != NULL, 0))
				events += btl_gamma_receive_retry_undelivered(module);
		}
		if (__builtin_expect(btl_gamma_any_waiting(module), 0))
			events += retry_waiting(module);
	}
	return events;
}

/* Called while the program is in any MPI function. */
int btl_gamma_progress(void)
{
	if (__builtin_expect(mca_btl_gamma_component.progress_thread, 0)) {
		btl_gamma_thread_note_poll();
		btl_gamma_thread_start();
	}
	return btl_gamma_progress_poll();
}
