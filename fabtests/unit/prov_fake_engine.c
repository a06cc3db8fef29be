// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The engine and the fixtures of prov_fake_engine.h. */
#include "prov_fake_engine.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "flow/transmit.h"
#include "message/local.h"
#include "message/send.h"

enum { EPOCH = 5, SLOTS = 4096 };

int fake_create_error;

/* ---- the engine's interface ---- */

int gamma_endpoint_create(const struct gamma_endpoint_attr *attr,
			  const struct gamma_endpoint_handlers *handlers, void *context,
			  struct gamma_endpoint **endpoint)
{
	struct gamma_limits limits = attr->limits;
	struct gamma_addr addr = {
		.port = htons(attr->port ? attr->port : 4242),
		.epoch = htonl(EPOCH),
		.version = GAMMA_ADDR_VERSION,
		.mtu = htons((uint16_t) attr->mtu),
	};
	int error = fake_create_error;

	fake_create_error = 0;
	if (error)
		return error;
	*endpoint = calloc(1, sizeof(**endpoint));
	if (!*endpoint)
		return -ENOMEM;
	(*endpoint)->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	memcpy(addr.mac, attr->mac, GAMMA_MAC_LEN);
	limits.mtu = limits.local_mtu = attr->mtu;
	gamma_message_local_init(&(*endpoint)->messages, &addr, attr->tenant, &limits, SLOTS);
	(*endpoint)->attr = *attr;
	(*endpoint)->handlers = *handlers;
	(*endpoint)->context = context;
	(*endpoint)->messages.handlers = &(*endpoint)->handlers.messages;
	(*endpoint)->messages.context = context;
	return 0;
}

void gamma_endpoint_linger(struct gamma_endpoint *endpoint, gamma_endpoint_asleep *asleep)
{
	endpoint->lingered++;
	if (!asleep)
		return;
	asleep(endpoint->context, true);
	asleep(endpoint->context, false);
}

void gamma_endpoint_destroy(struct gamma_endpoint *endpoint)
{
	gamma_message_local_fini(&endpoint->messages);
	close(endpoint->fd);
	free(endpoint);
}

int gamma_endpoint_random_epoch(uint32_t *epoch)
{
	*epoch = EPOCH;
	return 0;
}

void gamma_endpoint_show_addr(struct gamma_endpoint *endpoint, struct gamma_addr *addr)
{
	(void) endpoint, (void) addr;
}

const struct gamma_addr *gamma_endpoint_addr(const struct gamma_endpoint *endpoint)
{
	return &endpoint->messages.local.addr;
}

struct gamma_flow *gamma_endpoint_flow(struct gamma_endpoint *endpoint,
				       const struct gamma_addr *peer)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &endpoint->messages.local.flows) {
		struct gamma_flow *flow = gamma_list_entry(pos, struct gamma_flow, all_entry);

		if (!memcmp(&flow->addr, peer, sizeof(*peer)))
			return flow;
	}
	return gamma_flow_new(&endpoint->messages.local, peer, false, gamma_now());
}

int gamma_endpoint_send(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
			struct gamma_send *send)
{
	int ret = endpoint->send_error ? endpoint->send_error : gamma_send_message(flow, send);

	if (ret)
		return ret;
	endpoint->send = send;
	endpoint->sends++;
	return 0;
}

static void note_message(struct gamma_endpoint *endpoint, const struct iovec *iov,
			 unsigned iov_count, const struct gamma_envelope *envelope)
{
	endpoint->envelope = *envelope;
	gamma_iov_read(iov, iov_count, 0, endpoint->bytes,
		       gamma_min(envelope->length, sizeof(endpoint->bytes)));
}

enum gamma_endpoint_copied gamma_endpoint_send_copy(struct gamma_endpoint *endpoint,
						    struct gamma_flow *flow,
						    const struct iovec *iov, unsigned iov_count,
						    const struct gamma_envelope *envelope,
						    bool may_delay, bool more)
{
	(void) flow;
	endpoint->more = more;
	if (endpoint->copied == GAMMA_COPIED_NOT)
		return GAMMA_COPIED_NOT;
	note_message(endpoint, iov, iov_count, envelope);
	endpoint->may_delay = may_delay;
	endpoint->copies++;
	return endpoint->copied;
}

bool gamma_endpoint_send_shm(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
			     const struct iovec *iov, unsigned iov_count,
			     const struct gamma_envelope *envelope)
{
	(void) flow;
	if (!endpoint->shm)
		return false;
	note_message(endpoint, iov, iov_count, envelope);
	endpoint->shm_sends++;
	return true;
}

int gamma_endpoint_rma(struct gamma_endpoint *endpoint, struct gamma_flow *flow,
		       struct gamma_send *send, struct gamma_rma *remote)
{
	(void) flow, (void) send;
	if (endpoint->send_error)
		return endpoint->send_error;
	endpoint->send = send;
	endpoint->rma = remote;
	endpoint->sends++;
	return 0;
}

void gamma_endpoint_withdraw(struct gamma_endpoint *endpoint, const void *region)
{
	endpoint->withdrawn = region;
}

int gamma_endpoint_send_datagram(struct gamma_endpoint *endpoint, const struct gamma_addr *peer,
				 const struct iovec *iov, unsigned iov_count,
				 const struct gamma_envelope *envelope)
{
	(void) peer;
	if (endpoint->send_error)
		return endpoint->send_error;
	note_message(endpoint, iov, iov_count, envelope);
	endpoint->datagrams++;
	return 0;
}

size_t gamma_endpoint_datagram_max(const struct gamma_endpoint *endpoint)
{
	return endpoint->messages.local.limits.mtu - GAMMA_DGRAM_HEADER_MAX;
}

size_t gamma_endpoint_message_max(const struct gamma_endpoint *endpoint)
{
	return endpoint->messages.local.limits.mtu - GAMMA_HEADER_LEN;
}

int gamma_groups_join(struct gamma_endpoint *endpoint, const struct gamma_addr *addr, bool receives,
		      struct gamma_group **group)
{
	(void) addr, (void) receives;
	*group = (struct gamma_group *) endpoint;
	endpoint->joined++;
	return 0;
}

void gamma_groups_leave(struct gamma_endpoint *endpoint, struct gamma_group *group)
{
	(void) group;
	endpoint->joined--;
}

int gamma_endpoint_send_group(struct gamma_endpoint *endpoint, const struct gamma_group *group,
			      const struct iovec *iov, unsigned iov_count,
			      const struct gamma_envelope *envelope)
{
	(void) group;
	return gamma_endpoint_send_datagram(endpoint, NULL, iov, iov_count, envelope);
}

bool gamma_endpoint_progress(struct gamma_endpoint *endpoint)
{
	endpoint->progressed++;
	endpoint->polling = true;
	if (endpoint->on_progress)
		endpoint->on_progress(endpoint->arg);
	endpoint->polling = false;
	return endpoint->idle;
}

bool gamma_endpoint_has_host_peers(const struct gamma_endpoint *endpoint)
{
	return endpoint->host_peers;
}

void gamma_lending_allow(struct gamma_endpoint *endpoint, const struct gamma_list *earlier)
{
	endpoint->lends = earlier;
}

bool gamma_lending_lend(struct gamma_endpoint *endpoint, const uint8_t *bytes, size_t len)
{
	bool lends = endpoint->lends && gamma_list_empty(endpoint->lends);

	(void) bytes, (void) len;
	endpoint->lent |= lends;
	return lends;
}

void gamma_lending_return(struct gamma_endpoint *endpoint)
{
	endpoint->returned += endpoint->lent;
	endpoint->lent = false;
}

struct gamma_stats *gamma_endpoint_counters(struct gamma_endpoint *endpoint)
{
	return (struct gamma_stats *) gamma_endpoint_stats(endpoint);
}

unsigned gamma_endpoint_send_to_group(struct gamma_endpoint *endpoint,
				      const struct gamma_group *group,
				      const struct gamma_group_datagram *datagrams, unsigned count)
{
	(void) endpoint, (void) group, (void) datagrams;
	return count;
}

int gamma_groups_open(struct gamma_endpoint *endpoint, const struct gamma_addr *addr, bool receives,
		      bool beside, struct gamma_group **group)
{
	(void) endpoint, (void) addr, (void) receives, (void) beside, (void) group;
	return -FI_ENOSYS;
}

size_t gamma_groups_beside_max(const struct gamma_endpoint *endpoint)
{
	(void) endpoint;
	return 0;
}

bool gamma_groups_ask(struct gamma_endpoint *endpoint, const struct gamma_addr *member)
{
	(void) endpoint, (void) member;
	return false;
}

uint32_t gamma_groups_slots(const struct gamma_group *group)
{
	(void) group;
	return 0;
}

bool gamma_groups_next(struct gamma_endpoint *endpoint, struct gamma_group *group,
		       struct gamma_group_frame *frame)
{
	(void) endpoint, (void) group, (void) frame;
	return false;
}

void gamma_groups_release(struct gamma_endpoint *endpoint, struct gamma_group *group)
{
	(void) endpoint, (void) group;
}

void gamma_endpoint_count_port(struct gamma_endpoint *endpoint, bool in_place)
{
	endpoint->messages.local.stats.ports_in++;
	endpoint->messages.local.stats.ports_in_place += in_place;
}

uint64_t gamma_endpoint_deadline(struct gamma_endpoint *endpoint)
{
	(void) endpoint;
	return GAMMA_NEVER;
}

bool gamma_endpoint_ready(struct gamma_endpoint *endpoint)
{
	(void) endpoint;
	return false;
}

void gamma_endpoint_watch(struct gamma_endpoint *endpoint, bool asleep)
{
	(void) endpoint, (void) asleep;
}

bool gamma_endpoint_armed(const struct gamma_endpoint *endpoint)
{
	(void) endpoint;
	return true;
}

unsigned gamma_endpoint_fds(const struct gamma_endpoint *endpoint, int fds[GAMMA_ENDPOINT_FDS])
{
	fds[0] = fds[1] = endpoint->fd;
	return 2;
}

unsigned gamma_endpoint_rails(const struct gamma_endpoint *endpoint,
			      struct gamma_endpoint_rail rails[GAMMA_RAILS_MAX])
{
	(void) endpoint, (void) rails;
	return 0;
}

const struct gamma_stats *gamma_endpoint_stats(struct gamma_endpoint *endpoint)
{
	return &endpoint->messages.local.stats;
}

/* ---- fixtures ---- */

struct fi_info *fake_info(enum fi_ep_type type, uint64_t caps)
{
	struct fi_info *info = fi_allocinfo();
	struct fi_info hints = {.caps = FI_MSG | caps | (type == FI_EP_RDM ? FI_TAGGED : 0)};

	assert_non_null(info);
	gamma_attr_fill_info(info, FI_VERSION(1, 17), type, 1500, &hints);
	return info;
}

struct gamma_endpoint *fake_engine_of(struct fid_ep *ep)
{
	return gamma_ep_handle_of(ep)->ep->endpoint;
}

struct fake_ep *fake_ep_open(struct fake *fake, enum fi_ep_type type, uint64_t caps,
			     uint64_t cq_flags)
{
	struct fake_ep *fep = calloc(1, sizeof(*fep));
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fi_info *info = fake_info(type, caps);

	assert_non_null(fep);
	fep->fake = fake;
	fep->peer = fake_addr(1, 100, 7);
	assert_int_equal(fi_cq_open(fake->domain, &cq_attr, &fep->cq, NULL), 0);
	assert_int_equal(fi_av_open(fake->domain, &av_attr, &fep->av, NULL), 0);
	assert_int_equal(fi_av_insert(fep->av, &fep->peer, 1, NULL, 0, NULL), 1);
	assert_int_equal(fi_endpoint(fake->domain, info, &fep->ep, NULL), 0);
	fi_freeinfo(info);
	assert_int_equal(fi_ep_bind(fep->ep, &fep->av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(fep->ep, &fep->cq->fid, FI_TRANSMIT | FI_RECV | cq_flags), 0);
	assert_int_equal(fi_enable(fep->ep), 0);
	fep->engine = fake_engine_of(fep->ep);
	fep->flow = fake_flow(fep, &fep->peer);
	return fep;
}

void fake_ep_close(struct fake_ep *fep)
{
	assert_int_equal(fi_close(&fep->ep->fid), 0);
	assert_int_equal(fi_close(&fep->av->fid), 0);
	assert_int_equal(fi_close(&fep->cq->fid), 0);
	free(fep);
}

static int setup(void **state, enum fi_ep_type type, uint64_t caps)
{
	struct fake *fake = fake_open(FI_VERSION(1, 17), FI_THREAD_SAFE, FI_PROGRESS_MANUAL);

	*state = fake_ep_open(fake, type, caps, 0);
	return 0;
}

int fake_ep_setup(void **state)
{
	return setup(state, FI_EP_RDM, FI_DIRECTED_RECV | FI_SOURCE);
}

int fake_ep_setup_dgram(void **state)
{
	return setup(state, FI_EP_DGRAM, FI_SOURCE);
}

int fake_ep_teardown(void **state)
{
	struct fake_ep *fep = *state;
	struct fake *fake = fep->fake;

	fake_ep_close(fep);
	fake_close(fake);
	return 0;
}

struct gamma_flow *fake_flow(struct fake_ep *fep, const struct gamma_addr *addr)
{
	struct gamma_flow *flow = gamma_endpoint_flow(fep->engine, addr);

	assert_non_null(flow);
	return flow;
}

unsigned fake_expected(const struct gamma_flow *flow)
{
	return flow->expected;
}

/* ---- the peers ---- */

static void receive(struct gamma_flow *flow, struct gamma_fields *fields, const void *payload)
{
	struct gamma_fi_ep *ep = gamma_message_local(flow->local)->context;
	uint64_t now = gamma_now();

	fields->src_port = flow->port;
	fields->dst_port = flow->local->port;
	fields->src_epoch = flow->epoch;
	fields->dst_epoch = flow->local->epoch;
	if (!ep->endpoint->polling)
		gamma_domain_lock(ep->domain);
	if (fields->kind == GAMMA_KIND_DATA)
		fields->seq = flow->rx.next;
	gamma_flow_receive(flow, fields, payload, now, now);
	if (!ep->endpoint->polling)
		gamma_domain_unlock(ep->domain);
}

void fake_arrive_fields(struct gamma_flow *flow, struct gamma_fields *fields, const void *payload)
{
	fields->kind = GAMMA_KIND_DATA;
	receive(flow, fields, payload);
}

void fake_arrive(struct gamma_flow *flow, uint64_t tag, const char *text)
{
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_DATA,
		.op = GAMMA_OP_SEND,
		.extensions = tag == UINT64_MAX ? 0 : GAMMA_EXT_TAG,
		.payload_len = (uint16_t) strlen(text),
		.tag = tag,
	};

	receive(flow, &fields, text);
}

void fake_arrive_data(struct gamma_flow *flow, const char *text, uint64_t data)
{
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_DATA,
		.op = GAMMA_OP_SEND,
		.extensions = GAMMA_EXT_CQ_DATA,
		.payload_len = (uint16_t) strlen(text),
		.data = data,
	};

	receive(flow, &fields, text);
}

void fake_arrive_port(struct gamma_flow *flow, uint8_t op, uint32_t id, uint64_t tag,
		      const char *text)
{
	static const uint16_t extensions[] = {
		[GAMMA_OP_SEND] = GAMMA_EXT_TAG | GAMMA_EXT_NAMES_PORT,
		[GAMMA_OP_ANNOUNCE] = GAMMA_EXT_MESSAGE | GAMMA_EXT_TAG | GAMMA_EXT_NAMES_PORT,
		[GAMMA_OP_BULK] = GAMMA_EXT_FRAGMENT,
	};
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_DATA,
		.op = op,
		.extensions = extensions[op],
		/* An announcement has its head. */
		.payload_len = (uint16_t) (op == GAMMA_OP_ANNOUNCE
						   ? (uint8_t) (tag >> GAMMA_PORT_TAG_HEAD_SHIFT)
						   : strlen(text)),
		.tag = tag,
		.id = 1u << 20,
		.length = strlen(text),
		.fragment = (uint64_t) id << GAMMA_FRAGMENT_OFFSET_BITS,
	};

	receive(flow, &fields, text);
}

void fake_announce(struct gamma_flow *flow, uint64_t tag, uint64_t length)
{
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_DATA,
		.op = GAMMA_OP_ANNOUNCE,
		.extensions = GAMMA_EXT_MESSAGE | (tag == UINT64_MAX ? 0 : GAMMA_EXT_TAG),
		.tag = tag,
		.id = 1u << 20,
		.length = length,
	};

	receive(flow, &fields, NULL);
}

unsigned fake_transmit(struct gamma_flow *flow)
{
	struct gamma_frame frame;
	unsigned count = 0;

	while (gamma_transmit_poll(flow, gamma_now(), &frame))
		count += frame.kind == GAMMA_KIND_DATA;
	return count;
}

void fake_acknowledge(struct gamma_flow *flow)
{
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_ACK,
		.extensions = GAMMA_EXT_ACK,
		.ack = flow->tx.next,
		.limit = flow->tx.limit,
	};

	receive(flow, &fields, NULL);
}

void fake_fail(struct gamma_flow *flow, int error)
{
	struct gamma_fi_ep *ep = gamma_message_local(flow->local)->context;

	gamma_domain_lock(ep->domain);
	gamma_flow_fail(flow, error, "declared dead by the test");
	gamma_domain_unlock(ep->domain);
}
