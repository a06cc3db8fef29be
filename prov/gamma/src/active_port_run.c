// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Running the handlers of active ports, one at a time for each endpoint and without the domain's
 * lock. A message that arrives while a call may run handlers is handled where it stands: the
 * engine lends its slot. One that arrives otherwise is kept, as unexpected ones are, and so are
 * those behind it. One whose bytes are still with its sender is fetched, or, if it is long,
 * announced to its handler.
 */
#include "ep.h"
#include "report.h"

#include <stdlib.h>

enum { BLOCKED = 8 /* senders of messages that are arriving while others are handled */ };

/* A demoted message on its way from its sender. */
struct fetch {
	struct gamma_list entry;        /* in ports->fetches */
	struct gamma_recv recv;         /* of bytes */
	struct gamma_envelope envelope; /* of the message */
	struct gamma_flow *flow;        /* its sender's */
	bool done;                      /* all of it is here, unless error */
	int error;                      /* negative errno */
	uint8_t bytes[];
};

/* Data that a handler has kept; the program knows the address of bytes. */
struct kept_data {
	struct gamma_list entry; /* in ports->kept */
	uint8_t bytes[] __attribute__((aligned(16)));
};

/* A datagram that waits for its handler. */
struct waiting_datagram {
	struct gamma_list entry;        /* in ports->datagrams */
	struct gamma_addr source;       /* its sender */
	struct gamma_envelope envelope; /* as it came */
	uint8_t bytes[];
};

/* ---- the engine's side ---- */

/* source: of a datagram, or NULL. */
static bool lend(struct gamma_fi_ep *ep, struct gamma_flow *flow, const struct gamma_addr *source,
		 const struct gamma_envelope *envelope, const uint8_t *bytes)
{
	struct gamma_active_ports *ports = &ep->ports;
	struct gamma_active_port_lent *lent;

	/* Nothing may overtake what waits; of the lists the engine knows. */
	if (ports->lent_count >= ports->lent_most || !gamma_list_empty(&ports->fetches) ||
	    !gamma_active_port_find(ports, gamma_envelope_port(envelope)) ||
	    !gamma_lending_lend(ep->endpoint, bytes, envelope->length))
		return false;
	lent = &ports->lent[ports->lent_count++];
	*lent = (struct gamma_active_port_lent){
		.flow = flow, .envelope = *envelope, .bytes = bytes};
	if (source)
		lent->source = *source;
	return true;
}

bool gamma_active_port_run_lend(struct gamma_fi_ep *ep, struct gamma_flow *flow,
				const struct gamma_envelope *envelope, const uint8_t *bytes)
{
	return lend(ep, flow, NULL, envelope, bytes);
}

/* The thread that has received a message may be one that runs no handlers. */
static void wake_sleepers(struct gamma_fi_ep *ep)
{
	if (gamma_unlikely(ep->ports.waiter.sleepers))
		gamma_sleep_signal(&ep->ports.waiter);
	if (ep->rx_cq)
		gamma_sleep_signal(&ep->rx_cq->waiter);
}

/* next: in the list of those that wait, in front of which it goes. False: there is no memory. */
static bool keep_datagram(struct gamma_active_ports *ports, const struct gamma_addr *source,
			  const struct gamma_envelope *envelope, const uint8_t *bytes,
			  struct gamma_list *next)
{
	struct waiting_datagram *datagram = malloc(sizeof(*datagram) + envelope->length);

	if (!datagram)
		return false;
	datagram->source = *source;
	datagram->envelope = *envelope;
	if (envelope->length)
		memcpy(datagram->bytes, bytes, envelope->length);
	gamma_list_append(next, &datagram->entry);
	ports->datagram_count++;
	return true;
}

void gamma_active_port_run_datagram(struct gamma_fi_ep *ep, const struct gamma_addr *source,
				    const struct gamma_envelope *envelope, const uint8_t *bytes)
{
	struct gamma_active_ports *ports = &ep->ports;

	if (lend(ep, NULL, source, envelope, bytes) ||
	    ports->datagram_count >= GAMMA_ACTIVE_PORT_DATAGRAMS)
		return;
	if (keep_datagram(ports, source, envelope, bytes, &ports->datagrams))
		wake_sleepers(ep);
}

void gamma_active_port_run_later(struct gamma_fi_ep *ep, struct gamma_inbound *inbound)
{
	gamma_list_append(&ep->ports.arrived, &inbound->entry);
	wake_sleepers(ep);
}

bool gamma_active_port_run_received(struct gamma_fi_ep *ep, struct gamma_recv *recv, int error)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &ep->ports.fetches) {
		struct fetch *fetch = gamma_list_entry(pos, struct fetch, entry);

		if (recv != &fetch->recv)
			continue;
		fetch->done = true;
		fetch->error = error;
		return true;
	}
	return false;
}

uint64_t gamma_active_port_run_strip_head(struct gamma_recv *recv, struct gamma_envelope *envelope,
					  uint64_t placed)
{
	uint8_t head_len = gamma_envelope_announced_len(envelope);

	if (!head_len)
		return placed;
	envelope->length -= head_len;
	recv->iov_count--;
	for (unsigned i = 0; i < recv->iov_count; i++)
		recv->iov[i] = recv->iov[i + 1];
	return placed - gamma_min(placed, head_len);
}

void gamma_active_port_run_replace(struct gamma_fi_ep *ep, const struct gamma_flow *flow,
				   struct gamma_flow *other)
{
	struct gamma_active_ports *ports = &ep->ports;
	struct gamma_list *pos;

	if (ports->sender == flow)
		ports->sender = other;
	for (unsigned i = ports->lent_next; i < ports->lent_count; i++)
		if (ports->lent[i].flow == flow)
			ports->lent[i].flow = other;
	if (!other && ports->announced && ports->announced->flow == flow)
		ports->announced = NULL;
	gamma_list_for_each (pos, &ports->fetches) {
		struct fetch *fetch = gamma_list_entry(pos, struct fetch, entry);

		if (fetch->flow != flow)
			continue;
		fetch->flow = other;
		if (!other && !fetch->done)
			fetch->error = -FI_ECONNRESET;
	}
}

bool gamma_active_port_run_stop(struct gamma_fi_ep *ep)
{
	bool stopped;

	gamma_domain_lock(ep->domain);
	stopped = ep->ports.closing = !ep->ports.current;
	gamma_domain_unlock(ep->domain);
	return stopped;
}

/* ---- running handlers ---- */

/* The arguments of a handler, while it runs. */
struct delivery {
	struct fi_gamma_arrival arrival;
	uint8_t head[FI_GAMMA_HEAD_MAX] __attribute__((aligned(16)));
};

static fi_addr_t source_of(struct gamma_fi_ep *ep, struct gamma_flow *flow)
{
	if (ep->type == FI_EP_DGRAM)
		return gamma_av_find(ep->av, &ep->ports.datagram_sender);
	return flow ? gamma_source_of(ep, flow) : FI_ADDR_NOTAVAIL;
}

/* flow: the sender's; at best effort it is ports->datagram_sender. bytes: the message, or the head
 * of an announced one. */
static void call_handler(struct gamma_fi_ep *ep, struct gamma_flow *flow,
			 const struct gamma_envelope *envelope, const uint8_t *bytes,
			 uint64_t flags)
{
	struct gamma_active_ports *ports = &ep->ports;
	/* A copy, as another thread may set it meanwhile. */
	struct fi_gamma_port_attr port =
		*gamma_active_port_find(ports, gamma_envelope_port(envelope));
	uint8_t head_len = gamma_envelope_head_len(envelope);
	struct delivery delivery;

	if (head_len)
		memcpy(delivery.head, bytes, head_len);
	delivery.arrival = (struct fi_gamma_arrival){
		.size = sizeof(delivery.arrival),
		.port = gamma_envelope_port(envelope),
		.head_len = head_len,
		.arg = (uint32_t) envelope->tag,
		.head = delivery.head,
		.data = flags & FI_GAMMA_ANNOUNCED ? NULL : bytes + head_len,
		.len = envelope->length - head_len,
		.source = source_of(ep, flow),
		.flags = flags | (envelope->flags & GAMMA_TO_GROUP ? FI_MULTICAST : 0),
	};
	ports->sender = flow;
	ports->thread = pthread_self();
	__atomic_store_n(&ports->current, &delivery.arrival, __ATOMIC_RELAXED);
	ports->handled++;
	gamma_endpoint_count_port(ep->endpoint, flags & FI_GAMMA_IN_PLACE);
	gamma_domain_unlock(ep->domain);
	port.handler(&ep->handle.fid, &delivery.arrival, port.context);
	gamma_domain_lock(ep->domain);
	__atomic_store_n(&ports->current, NULL, __ATOMIC_RELAXED);
	ports->sender = NULL;
	if (gamma_unlikely(ports->waiter.sleepers))
		gamma_sleep_signal(&ports->waiter);
}

/* A message that was about to be handled waits as unexpected ones do. next: in ports->arrived, in
 * front of which it goes. False: there is no memory. */
static bool keep_message(struct gamma_flow *flow, const struct gamma_envelope *envelope,
			 const uint8_t *bytes, struct gamma_list *next)
{
	struct gamma_inbound *inbound;

	if (!flow)
		return true; /* its sender is gone, and what waited of it, too */
	inbound = gamma_receive_keep(flow, envelope, bytes);
	if (inbound)
		gamma_list_append(next, &inbound->entry);
	return inbound;
}

/* The messages that are lent and whose turn has not come wait, so that their slot is free. Nothing
 * waited when they came. False: there is no memory, and some are lent as before. */
static bool end_lent(struct gamma_fi_ep *ep)
{
	struct gamma_active_ports *ports = &ep->ports;
	bool datagrams = ep->type == FI_EP_DGRAM;
	struct gamma_list *next = datagrams ? ports->datagrams.next : ports->arrived.next;

	for (; ports->lent_next < ports->lent_count; ports->lent_next++) {
		const struct gamma_active_port_lent *lent = &ports->lent[ports->lent_next];

		if (datagrams ? !keep_datagram(ports, &lent->source, &lent->envelope, lent->bytes,
					       next)
			      : !keep_message(lent->flow, &lent->envelope, lent->bytes, next))
			return false;
	}
	ports->lent_count = ports->lent_next = 0;
	gamma_lending_return(ep->endpoint);
	return true;
}

/* The messages that the last progress call has lent. If an earlier one's handler has unset that of
 * another, this one waits for the next, and those behind it in their order. False: some are still
 * lent. */
static bool run_lent(struct gamma_fi_ep *ep)
{
	struct gamma_active_ports *ports = &ep->ports;

	while (ports->lent_next < ports->lent_count) {
		const struct gamma_active_port_lent *lent = &ports->lent[ports->lent_next];

		if (!gamma_active_port_find(ports, gamma_envelope_port(&lent->envelope)))
			break;
		ports->lent_next++;
		ports->datagram_sender = lent->source;
		call_handler(ep, lent->flow, &lent->envelope, lent->bytes, FI_GAMMA_IN_PLACE);
	}
	return end_lent(ep);
}

/* Its handler may post a receive for it; else it is dropped, and its send completes. */
static void run_announced(struct gamma_fi_ep *ep, struct gamma_inbound *inbound)
{
	uint8_t head[FI_GAMMA_HEAD_MAX];

	gamma_list_remove(&inbound->entry);
	ep->ports.announced = inbound;
	ep->ports.received = false;
	gamma_receive_read_head(inbound, head);
	call_handler(ep, inbound->flow, &inbound->envelope, head, FI_GAMMA_ANNOUNCED);
	if (ep->ports.announced)
		gamma_receive_discard(inbound);
	ep->ports.announced = NULL;
	gamma_progress_poll(ep->domain);
}

/* Its peer may fail while the handler runs, so the bytes must not be the message's. */
static void run_whole(struct gamma_fi_ep *ep, struct gamma_inbound *inbound)
{
	struct gamma_envelope envelope = inbound->envelope;
	struct gamma_flow *flow = inbound->flow;
	static const uint8_t none[1];
	uint8_t *bytes;

	gamma_list_remove(&inbound->entry);
	bytes = gamma_receive_take(inbound);
	call_handler(ep, flow, &envelope, bytes ? bytes : none, 0);
	free(bytes);
}

/* One that has come, or will not come; or NULL. */
static struct fetch *next_fetched(const struct gamma_active_ports *ports)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &ports->fetches) {
		struct fetch *fetch = gamma_list_entry(pos, struct fetch, entry);

		if (fetch->done)
			return fetch;
	}
	return NULL;
}

/* Its handler may have been unset meanwhile: then it waits for the next one, in front of all that
 * its sender has sent behind it. False: there is no memory. */
static bool run_fetched(struct gamma_fi_ep *ep, struct fetch *fetch)
{
	struct gamma_active_ports *ports = &ep->ports;
	bool has_handler = gamma_active_port_find(ports, gamma_envelope_port(&fetch->envelope));

	if (!fetch->error && !has_handler &&
	    !keep_message(fetch->flow, &fetch->envelope, fetch->bytes, ports->arrived.next))
		return false;
	/* While its handler runs its sender may fail, but the bytes are here. */
	gamma_list_remove(&fetch->entry);
	if (!fetch->error && has_handler)
		call_handler(ep, fetch->flow, &fetch->envelope, fetch->bytes, 0);
	free(fetch);
	return true;
}

static void drop_message(struct gamma_inbound *inbound)
{
	gamma_list_remove(&inbound->entry);
	gamma_receive_discard(inbound);
}

/* Its bytes have stayed with its sender, for lack of memory or because that is this endpoint: now
 * they have a place. False: there is no memory; the next call tries again. */
static bool begin_fetch(struct gamma_fi_ep *ep, struct gamma_inbound *inbound)
{
	struct fetch *fetch;
	uint64_t length = inbound->envelope.length;

	fetch = calloc(1, sizeof(*fetch) + length);
	if (!fetch)
		return false;
	fetch->envelope = inbound->envelope;
	fetch->flow = inbound->flow;
	fetch->recv = (struct gamma_recv){
		.iov = {{.iov_base = fetch->bytes, .iov_len = length}},
		.iov_count = 1,
		.capacity = length,
	};
	gamma_list_append(&ep->ports.fetches, &fetch->entry);
	gamma_list_remove(&inbound->entry);
	gamma_receive_accept(inbound, &fetch->recv);
	gamma_progress_poll(ep->domain);
	return true;
}

/* The oldest datagram with a handler, or NULL. */
static struct waiting_datagram *next_datagram(const struct gamma_active_ports *ports)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &ports->datagrams) {
		struct waiting_datagram *datagram =
			gamma_list_entry(pos, struct waiting_datagram, entry);

		if (gamma_active_port_find(ports, gamma_envelope_port(&datagram->envelope)))
			return datagram;
	}
	return NULL;
}

/* False: there is none. */
static bool run_datagram(struct gamma_fi_ep *ep)
{
	struct gamma_active_ports *ports = &ep->ports;
	struct waiting_datagram *found = next_datagram(ports);

	if (!found)
		return false;
	gamma_list_remove(&found->entry);
	ports->datagram_count--;
	ports->datagram_sender = found->source;
	call_handler(ep, NULL, &found->envelope, found->bytes, 0);
	free(found);
	return true;
}

/* Senders of messages that are arriving. */
struct blocked {
	const struct gamma_flow *flows[BLOCKED];
	unsigned count; /* BLOCKED: others may be, too */
};

static bool is_blocked(const struct blocked *blocked, const struct gamma_flow *flow)
{
	for (unsigned i = 0; i < blocked->count; i++)
		if (blocked->flows[i] == flow)
			return true;
	return false;
}

static void block(struct blocked *blocked, const struct gamma_flow *flow)
{
	if (!is_blocked(blocked, flow) && blocked->count < BLOCKED)
		blocked->flows[blocked->count++] = flow;
}

/* The oldest message with a handler that can be handled, or NULL. Others of its sender wait for one
 * that is not all here. */
static struct gamma_inbound *next_message(const struct gamma_active_ports *ports)
{
	struct blocked blocked = {.count = 0};
	struct gamma_list *pos;

	gamma_list_for_each (pos, &ports->fetches)
		block(&blocked, gamma_list_entry(pos, struct fetch, entry)->flow);
	gamma_list_for_each (pos, &ports->arrived) {
		struct gamma_inbound *inbound = gamma_list_entry(pos, struct gamma_inbound, entry);

		if (blocked.count == BLOCKED)
			return NULL;
		if (!gamma_active_port_find(ports, gamma_envelope_port(&inbound->envelope)) ||
		    is_blocked(&blocked, inbound->flow))
			continue;
		if (inbound->error || inbound->state != GAMMA_INBOUND_ARRIVING)
			return inbound;
		block(&blocked, inbound->flow);
	}
	return NULL;
}

/* Its handler learns of it before its bytes come. */
static bool is_long(const struct gamma_fi_ep *ep, const struct gamma_inbound *inbound)
{
	return inbound->envelope.length > gamma_ep_eager_size(ep) && !inbound->demoted;
}

/* False: there is nothing to do. */
static bool run_next(struct gamma_fi_ep *ep)
{
	struct fetch *fetched = next_fetched(&ep->ports);
	struct gamma_inbound *inbound;

	if (ep->type == FI_EP_DGRAM)
		return run_datagram(ep);
	if (fetched)
		return run_fetched(ep, fetched);
	inbound = next_message(&ep->ports);
	if (!inbound)
		return false;
	if (inbound->error) {
		drop_message(inbound);
		return true;
	}
	if (inbound->state != GAMMA_INBOUND_ANNOUNCED && !inbound->own)
		run_whole(ep, inbound);
	else if (is_long(ep, inbound))
		run_announced(ep, inbound);
	else if (inbound->envelope.length > GAMMA_EAGER_MAX)
		drop_message(inbound); /* no honest sender */
	else
		return begin_fetch(ep, inbound);
	return true;
}

/* Meanwhile it is the same handler if no other one has begun. */
static void watch_handler(struct gamma_fi_ep *ep, uint64_t now)
{
	struct gamma_active_ports *ports = &ep->ports;

	if (ports->seen_handled != ports->handled) {
		ports->seen_handled = ports->handled;
		ports->seen_at = now;
		ports->reported = false;
	}
	if (ports->reported || now - ports->seen_at < GAMMA_ACTIVE_PORT_STUCK_S * GAMMA_NS_PER_S)
		return;
	ports->reported = true;
	gamma_report("%s: the handler of active port %u has not returned for %u s: meanwhile its "
		     "endpoint receives nothing, and after FI_GAMMA_PEER_TIMEOUT its peers take it "
		     "for dead",
		     ep->domain->nic.name, ports->current->port, GAMMA_ACTIVE_PORT_STUCK_S);
}

bool gamma_active_port_run_watch(struct gamma_domain *domain)
{
	struct gamma_list *pos;
	bool runs = false;

	if (gamma_likely(!domain->active_ports))
		return false;
	gamma_list_for_each (pos, &domain->eps) {
		struct gamma_fi_ep *ep = gamma_ep_of_domain_entry(pos);

		if (!ep->ports.current)
			continue;
		runs = true;
		watch_handler(ep, gamma_now());
	}
	return runs;
}

/* Whether something could be done for the endpoint's messages. */
static bool is_pending(const struct gamma_active_ports *ports)
{
	return !ports->current &&
	       (next_fetched(ports) || next_message(ports) || next_datagram(ports));
}

void gamma_active_port_run_set(struct gamma_fi_ep *ep)
{
	if (is_pending(&ep->ports))
		wake_sleepers(ep);
}

bool gamma_active_port_run_pending(const struct gamma_domain *domain)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &domain->eps)
		if (is_pending(&gamma_ep_of_domain_entry(pos)->ports))
			return true;
	return false;
}

/* Handlers for at most so many messages; returns their number. */
static size_t run_some(struct gamma_fi_ep *ep, size_t most)
{
	struct gamma_active_ports *ports = &ep->ports;
	uint64_t before = ports->handled;

	if (ports->current) /* called from the handler, or by another thread */
		return 0;
	if (!run_lent(ep))
		return ports->handled - before;
	while (ports->handled - before < most && !ports->closing && run_next(ep))
		;
	return ports->handled - before;
}

/* Whether messages that arrive now may be handled where they are, and how many. */
static void allow_lending(struct gamma_fi_ep *ep, size_t most)
{
	struct gamma_active_ports *ports = &ep->ports;

	if (!ports->lent || !most || ports->current || ports->closing || !ep->enabled)
		return;
	ports->lent_most = (unsigned) gamma_min(most, GAMMA_ACTIVE_PORT_TURN);
	gamma_lending_allow(ep->endpoint,
			    ep->type == FI_EP_DGRAM ? &ports->datagrams : &ports->arrived);
}

static void end_lending(struct gamma_fi_ep *ep)
{
	if (!ep->ports.lent_most)
		return;
	ep->ports.lent_most = 0;
	gamma_lending_allow(ep->endpoint, NULL);
}

/* The next endpoint with something to handle. Handlers may open and close endpoints, so the search
 * begins again after each. */
static struct gamma_fi_ep *next_with_messages(struct gamma_domain *domain)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &domain->eps) {
		struct gamma_fi_ep *ep = gamma_ep_of_domain_entry(pos);
		const struct gamma_active_ports *ports = &ep->ports;

		if (ports->turn != domain->ports_turn && !ports->current &&
		    (ports->lent_count || !gamma_list_empty(&ports->fetches) ||
		     !gamma_list_empty(&ports->arrived) || !gamma_list_empty(&ports->datagrams)))
			return ep;
	}
	return NULL;
}

void gamma_active_port_run_all(struct gamma_domain *domain)
{
	struct gamma_fi_ep *ep;
	struct gamma_list *pos;

	gamma_list_for_each (pos, &domain->eps)
		allow_lending(gamma_ep_of_domain_entry(pos), GAMMA_ACTIVE_PORT_TURN);
	gamma_progress_poll(domain);
	gamma_list_for_each (pos, &domain->eps)
		end_lending(gamma_ep_of_domain_entry(pos));
	domain->ports_turn++;
	while ((ep = next_with_messages(domain))) {
		ep->ports.turn = domain->ports_turn;
		run_some(ep, GAMMA_ACTIVE_PORT_TURN);
	}
}

static size_t poll_locked(struct gamma_fi_ep *ep, size_t most)
{
	allow_lending(ep, most);
	gamma_progress_poll(ep->domain);
	end_lending(ep);
	return run_some(ep, most);
}

ssize_t gamma_active_port_run_poll(struct fid_ep *fid, size_t most)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;
	size_t handled;

	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	gamma_domain_lock(ep->domain);
	handled = poll_locked(ep, most);
	gamma_domain_unlock(ep->domain);
	return (ssize_t) handled;
}

int gamma_active_port_run_wait(struct fid_ep *fid, int timeout)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;
	struct gamma_active_ports *ports = &ep->ports;
	struct gamma_sleep_spin spin;
	uint64_t before;
	int ret = 0;

	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	gamma_sleep_spin_init(&spin, timeout);
	gamma_domain_lock(ep->domain);
	before = ports->handled;
	poll_locked(ep, GAMMA_ACTIVE_PORT_TURN);
	while (ports->handled == before && !ret) {
		ret = gamma_sleep_spin_wait(&spin, &ports->waiter, true);
		poll_locked(ep, GAMMA_ACTIVE_PORT_TURN);
	}
	if (ports->handled != before)
		ret = 0;
	gamma_domain_unlock(ep->domain);
	return ret;
}

/* ---- what handlers call ---- */

/* Only the handler's own thread can compare equal. */
bool gamma_active_port_run_is_current(const struct gamma_fi_ep *ep,
				      const struct fi_gamma_arrival *arrival)
{
	return arrival && __atomic_load_n(&ep->ports.current, __ATOMIC_RELAXED) == arrival;
}

bool gamma_active_port_run_is_handler(const struct gamma_fi_ep *ep)
{
	return ep->ports.current && pthread_equal(ep->ports.thread, pthread_self());
}

int gamma_active_port_run_keep(struct fid_ep *fid, const struct fi_gamma_arrival *arrival,
			       void **data)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;
	struct gamma_active_ports *ports = &ep->ports;
	struct kept_data *kept;
	bool free_slot;

	if (!data || !gamma_active_port_run_is_current(ep, arrival))
		return gamma_active_port_refuse(ep, "keep outside of the handler");
	if (arrival->flags & FI_GAMMA_ANNOUNCED)
		return gamma_active_port_refuse(ep, "keep of an announced message: receive it");
	kept = malloc(sizeof(*kept) + arrival->len);
	if (!kept)
		return -FI_ENOMEM;
	memcpy(kept->bytes, arrival->data, arrival->len);
	gamma_domain_lock(ep->domain);
	free_slot = !(arrival->flags & FI_GAMMA_IN_PLACE) || end_lent(ep);
	if (free_slot)
		gamma_list_append(&ports->kept, &kept->entry);
	gamma_domain_unlock(ep->domain);
	if (!free_slot) {
		free(kept);
		return -FI_ENOMEM;
	}
	*data = kept->bytes;
	return 0;
}

int gamma_active_port_run_release(struct fid_ep *fid, void *data)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;
	struct kept_data *found = NULL;
	struct gamma_list *pos;

	gamma_domain_lock(ep->domain);
	gamma_list_for_each (pos, &ep->ports.kept) {
		struct kept_data *kept = gamma_list_entry(pos, struct kept_data, entry);

		if (kept->bytes == data)
			found = kept;
	}
	if (found)
		gamma_list_remove(&found->entry);
	gamma_domain_unlock(ep->domain);
	free(found);
	return found ? 0 : gamma_active_port_refuse(ep, "release of what was not kept");
}

void gamma_active_port_run_free_kept(struct gamma_active_ports *ports)
{
	struct gamma_list *pos, *tmp;

	gamma_list_for_each_safe (pos, tmp, &ports->kept)
		free(gamma_list_entry(pos, struct kept_data, entry));
	gamma_list_for_each_safe (pos, tmp, &ports->datagrams)
		free(gamma_list_entry(pos, struct waiting_datagram, entry));
	gamma_list_for_each_safe (pos, tmp, &ports->fetches)
		free(gamma_list_entry(pos, struct fetch, entry));
}

static ssize_t receive_locked(struct gamma_fi_ep *ep, const struct gamma_post *post,
			      uint64_t capacity)
{
	struct gamma_inbound *inbound = ep->ports.announced;
	struct gamma_rx *rx;

	if (ep->ports.received)
		return gamma_active_port_refuse(ep, "receive of what has been received");
	if (!inbound)
		return -FI_ECONNRESET; /* its sender has failed meanwhile */
	rx = gamma_submit_get_rx(ep->rx, NULL);
	if (!rx)
		return -FI_ENOMEM;
	gamma_submit_fill_rx(ep->rx, rx, post, capacity);
	ep->ports.announced = NULL;
	ep->ports.received = true;
	gamma_receive_accept(inbound, &rx->recv);
	return 0;
}

ssize_t gamma_active_port_run_receive(struct fid_ep *fid, const struct fi_gamma_arrival *arrival,
				      const struct iovec *iov, size_t count, void *context,
				      uint64_t flags)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;
	struct iovec all[GAMMA_IOV_LIMIT];
	struct gamma_post post = {
		.iov = all,
		.addr = FI_ADDR_UNSPEC,
		.context = context,
		.flags = flags | FI_MSG,
	};
	int64_t capacity;
	ssize_t ret;

	if (!gamma_active_port_run_is_current(ep, arrival) ||
	    !(arrival->flags & FI_GAMMA_ANNOUNCED))
		return gamma_active_port_refuse(ep, "receive of what is not announced");
	if (flags & ~FI_COMPLETION)
		return -FI_EBADFLAGS;
	/* The head comes once more, in front of the data. */
	if (arrival->head_len)
		all[post.count++] = (struct iovec){ep->ports.head_again, arrival->head_len};
	if (count > GAMMA_IOV_LIMIT - post.count)
		return gamma_active_port_refuse(ep, "more entries than iov_limit; the head is one");
	for (size_t i = 0; i < count; i++)
		all[post.count++] = iov[i];
	capacity = gamma_submit_len(&post);
	if (capacity < 0)
		return -FI_EINVAL;
	gamma_domain_lock(ep->domain);
	ret = receive_locked(ep, &post, (uint64_t) capacity);
	gamma_domain_unlock(ep->domain);
	return ret;
}
