// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Keepalive probes: an empty message to every peer at intervals, so that a process that only
 * receives notices a dead host. Also at once after the provider has declared a peer dead:
 * injected messages have no completion that would report it. And a farewell to peers of other
 * jobs, which would otherwise probe a process that has left. Called by progress.c and peers.c.
 */
#include "collective.h"

#include <rdma/fi_errno.h>
#include <time.h>

enum { CALLS = 1024 }; /* calls of progress between two checks of the clock and the event queue */

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec;
}

static void probe_done(struct btl_gamma_op *op, int status)
{
	(void) status; /* reported by the caller */
	__atomic_store_n(&op->peer->probing, false, __ATOMIC_RELEASE);
}

/*
 * Whether a failed probe is no error. A spawned job may end at any time once it has disconnected,
 * which Open MPI does not report: it sends a farewell, or its host reports that it is gone. And
 * the first process to leave MPI_Finalize is gone while others still wait there, but not for a
 * whole interval.
 */
bool btl_gamma_keepalive_may_have_ended(const struct btl_gamma_op *op, int error)
{
	struct mca_btl_base_endpoint_t *peer = op->peer;
	const bool gone = error == FI_ECONNRESET || error == FI_ECONNREFUSED;
	bool known;

	if (op != &peer->probe)
		return false;
	known = __atomic_load_n(&peer->ended, __ATOMIC_RELAXED);
	if (gone)
		__atomic_store_n(&peer->ended, true, __ATOMIC_RELAXED);
	return peer->own_job ? gone && !known : gone || known;
}

/* Only to other jobs, which may continue without us. */
void btl_gamma_keepalive_leave(struct mca_btl_base_endpoint_t *peer)
{
	const struct btl_gamma_header farewell = {.sender = opal_proc_local_get()->proc_name,
						  .kind = BTL_GAMMA_KIND_LEAVING};

	if (peer->module->first && !peer->own_job &&
	    !__atomic_load_n(&peer->ended, __ATOMIC_RELAXED))
		fi_inject(peer->module->port->ep, &farewell, sizeof(farewell), peer->address);
}

/* Complete when the peer's provider has it: the program there need not do anything. */
static int send_probe(struct mca_btl_base_endpoint_t *peer)
{
	struct iovec iov = {.iov_base = &peer->probe_header, .iov_len = sizeof(peer->probe_header)};
	struct fi_msg message = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = peer->address,
		.context = &peer->probe,
	};

	peer->probe =
		(struct btl_gamma_op){.module = peer->module, .peer = peer, .done = probe_done};
	peer->probe_header = (struct btl_gamma_header){.sender = opal_proc_local_get()->proc_name,
						       .kind = BTL_GAMMA_KIND_KEEPALIVE};
	return (int) fi_sendmsg(peer->module->port->ep, &message,
				FI_COMPLETION | FI_DELIVERY_COMPLETE);
}

static void probe_peer(struct mca_btl_base_endpoint_t *peer)
{
	const int rc = send_probe(peer);

	if (!rc)
		return;
	/* without room: probed again at the next check */
	if (rc != -FI_EAGAIN && !btl_gamma_keepalive_may_have_ended(&peer->probe, -rc))
		btl_gamma_report_peer_failed(peer, -rc, NULL);
	probe_done(&peer->probe, OPAL_SUCCESS);
}

void btl_gamma_keepalive_leave_all(struct btl_gamma_module *module)
{
	uint64_t key;
	void *peer;

	btl_gamma_lock(&module->lock);
	OPAL_HASH_TABLE_FOREACH(key, uint64, peer, &module->peers)
	btl_gamma_keepalive_leave(peer);
	btl_gamma_unlock(&module->lock);
}

/* If true, the probe of this peer is the caller's to send. */
static bool claim_probe(struct mca_btl_base_endpoint_t *peer, bool regular)
{
	if (__atomic_load_n(&peer->ended, __ATOMIC_RELAXED) && (!regular || !peer->own_job))
		return false;
	return !__atomic_exchange_n(&peer->probing, true, __ATOMIC_ACQUIRE);
}

/* The peers to probe, collected under the lock and probed without it. regular: not because a
 * peer was declared dead. */
static struct mca_btl_base_endpoint_t *list_to_probe(struct btl_gamma_module *module, bool regular)
{
	struct mca_btl_base_endpoint_t *peer, *first = NULL;
	uint64_t key;
	void *found;

	btl_gamma_lock(&module->lock);
	OPAL_HASH_TABLE_FOREACH(key, uint64, found, &module->peers)
	{
		peer = found;
		if (!claim_probe(peer, regular))
			continue;
		peer->next_probed = first;
		first = peer;
	}
	btl_gamma_unlock(&module->lock);
	return first;
}

static bool is_due(struct btl_gamma_module *module)
{
	const time_t interval = mca_btl_gamma_component.keepalive, now = now_s();
	bool due;

	if (!interval)
		return false;
	btl_gamma_lock(&module->lock);
	due = module->next_keepalive && now >= module->next_keepalive;
	if (due || !module->next_keepalive)
		module->next_keepalive = now + interval;
	btl_gamma_unlock(&module->lock);
	return due;
}

void btl_gamma_keepalive_poll(struct btl_gamma_module *module)
{
	const unsigned int calls = __atomic_load_n(&module->calls, __ATOMIC_RELAXED) + 1;
	struct mca_btl_base_endpoint_t *peer, *next;
	bool regular;

	/* Calls of several threads at once may count as one: the number need not be exact. */
	__atomic_store_n(&module->calls, calls, __ATOMIC_RELAXED);
	if (calls % CALLS)
		return;
	regular = is_due(module);
	/* The event of a dead peer does not name it in terms of Open MPI: probes find out. */
	if (!btl_gamma_collective_read_events(module) && !regular)
		return;
	for (peer = list_to_probe(module, regular); peer; peer = next) {
		next = peer->next_probed;
		probe_peer(peer);
	}
}
