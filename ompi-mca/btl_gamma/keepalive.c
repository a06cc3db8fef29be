// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Now and then an empty message to every peer: who only waits for messages would otherwise never
 * hear that the host they are to come from is dead. Called by progress.c.
 */
#include "btl_gamma.h"

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

	if (__atomic_exchange_n(&peer->asked, true, __ATOMIC_ACQUIRE))
		return;
	peer->alive = (struct gamma_btl_op){.module = peer->module, .peer = peer, .done = answered};
	peer->question = (struct gamma_btl_header){.sender = opal_proc_local_get()->proc_name,
						   .kind = GAMMA_BTL_ALIVE};
	if (fi_sendmsg(peer->module->port->ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE))
		answered(&peer->alive, OPAL_SUCCESS); /* no room: next time */
}

static void ask_all(struct gamma_btl_module *module)
{
	void *peer, *place, *next;
	uint64_t key;
	int rc = opal_hash_table_get_first_key_uint64(&module->peers, &key, &peer, &place);

	for (; !rc; place = next) {
		ask(peer);
		rc = opal_hash_table_get_next_key_uint64(&module->peers, &key, &peer, place, &next);
	}
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
		ask_all(module);
	}
	gamma_btl_unlock(&module->lock);
}
