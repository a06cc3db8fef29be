// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Now and then an empty message to every peer: who only waits for messages would otherwise never
 * hear that the host they are to come from is dead. And a farewell to who would ask in vain. Called
 * by progress.c, and where peers are given up.
 */
#include "btl_gamma.h"

#include <rdma/fi_errno.h>
#include <time.h>

enum { CALLS = 1024 }; /* of progress between two looks at the clock */

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec;
}

static void answered(struct gamma_btl_op *op, int status)
{
	(void) status; /* who calls this has told it */
	__atomic_store_n(&op->peer->asked, false, __ATOMIC_RELEASE);
}

static bool of_own_job(const struct mca_btl_base_endpoint_t *peer)
{
	return peer->proc->proc_name.jobid == opal_proc_local_get()->proc_name.jobid;
}

/*
 * Whether a question without an answer is no error. A job that was spawned ends when it likes once
 * it has disconnected, of which Open MPI does not tell us: it says itself that it leaves, or its
 * host says that it is gone. And who was first to leave MPI_Finalize is gone while we still wait
 * there, but not for a whole interval.
 */
bool gamma_btl_may_have_ended(const struct gamma_btl_op *op, int error)
{
	struct mca_btl_base_endpoint_t *peer = op->peer;
	const bool gone = error == FI_ECONNRESET || error == FI_ECONNREFUSED;
	bool known;

	if (op != &peer->alive)
		return false;
	known = __atomic_load_n(&peer->ended, __ATOMIC_RELAXED);
	if (gone)
		__atomic_store_n(&peer->ended, true, __ATOMIC_RELAXED);
	return of_own_job(peer) ? gone && !known : gone || known;
}

/* To those of another job, who may go on without us. */
void gamma_btl_leave(struct mca_btl_base_endpoint_t *peer)
{
	const struct gamma_btl_header farewell = {.sender = opal_proc_local_get()->proc_name,
						  .kind = GAMMA_BTL_LEAVING};

	if (peer->module->first && !of_own_job(peer) &&
	    !__atomic_load_n(&peer->ended, __ATOMIC_RELAXED))
		fi_inject(peer->module->port->ep, &farewell, sizeof(farewell), peer->address);
}

/* Over when the peer's provider has it, so it needs no help of the program there. */
static void ask(struct mca_btl_base_endpoint_t *peer)
{
	struct iovec iov = {.iov_base = &peer->question, .iov_len = sizeof(peer->question)};
	struct fi_msg message = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = peer->address,
		.context = &peer->alive,
	};

	if (__atomic_load_n(&peer->ended, __ATOMIC_RELAXED) && !of_own_job(peer))
		return;
	if (__atomic_exchange_n(&peer->asked, true, __ATOMIC_ACQUIRE))
		return;
	peer->alive = (struct gamma_btl_op){.module = peer->module, .peer = peer, .done = answered};
	peer->question = (struct gamma_btl_header){.sender = opal_proc_local_get()->proc_name,
						   .kind = GAMMA_BTL_ALIVE};
	if (fi_sendmsg(peer->module->port->ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE))
		answered(&peer->alive, OPAL_SUCCESS); /* no room: next time */
}

static void for_all(struct gamma_btl_module *module,
		    void (*action)(struct mca_btl_base_endpoint_t *peer))
{
	void *peer, *place, *next;
	uint64_t key;
	int rc = opal_hash_table_get_first_key_uint64(&module->peers, &key, &peer, &place);

	for (; !rc; place = next) {
		action(peer);
		rc = opal_hash_table_get_next_key_uint64(&module->peers, &key, &peer, place, &next);
	}
}

void gamma_btl_leave_all(struct gamma_btl_module *module)
{
	gamma_btl_lock(&module->lock);
	for_all(module, gamma_btl_leave);
	gamma_btl_unlock(&module->lock);
}

void gamma_btl_keep_alive(struct gamma_btl_module *module)
{
	const time_t interval = mca_btl_gamma_component.keepalive;
	const unsigned int calls = __atomic_load_n(&module->calls, __ATOMIC_RELAXED) + 1;
	time_t now;

	/* Calls of several threads at once may count as one: it is no exact number. */
	__atomic_store_n(&module->calls, calls, __ATOMIC_RELAXED);
	if (!interval || calls % CALLS)
		return;
	now = now_s();
	gamma_btl_lock(&module->lock);
	if (!module->next_alive)
		module->next_alive = now + interval;
	if (now >= module->next_alive) {
		module->next_alive = now + interval;
		for_all(module, ask);
	}
	gamma_btl_unlock(&module->lock);
}
