// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of prov/gamma/src/ep.c, options.c, mc.c and sep.c: an endpoint's life. */
#include "prov_fake_engine.h"
#include "../deprecated.h"

#include <arpa/inet.h>
#include <rdma/fi_ext_gamma.h>
#include <stdlib.h>

static struct fid_ep *open_ep(struct fake *fake, uint64_t caps)
{
	struct fi_info *info = fake_info(FI_EP_RDM, caps);
	struct fid_ep *ep;

	assert_int_equal(fi_endpoint(fake->domain, info, &ep, NULL), 0);
	fi_freeinfo(info);
	return ep;
}

static struct fid_cq *open_cq(struct fake *fake)
{
	struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fid_cq *cq;

	assert_int_equal(fi_cq_open(fake->domain, &attr, &cq, NULL), 0);
	return cq;
}

static struct fid_av *open_av(struct fake *fake)
{
	struct fi_av_attr attr = {.type = FI_AV_TABLE};
	struct fid_av *av;

	assert_int_equal(fi_av_open(fake->domain, &attr, &av, NULL), 0);
	return av;
}

static struct fid_cntr *open_cntr(struct fake *fake)
{
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
	struct fid_cntr *cntr;

	assert_int_equal(fi_cntr_open(fake->domain, &attr, &cntr, NULL), 0);
	return cntr;
}

static void close_all(struct fid *a, struct fid *b, struct fid *c)
{
	assert_int_equal(fi_close(a), 0);
	if (b)
		assert_int_equal(fi_close(b), 0);
	if (c)
		assert_int_equal(fi_close(c), 0);
}

/* ---- counters ---- */

/* Before it is enabled an endpoint has counted nothing; names are those of FI_GAMMA_STATS. */
static void counters__are_shown(void **state)
{
	struct fake *fake = *state;
	struct fid_ep *ep = open_ep(fake, FI_MSG);
	struct fi_gamma_counter_ops *ops;
	const char *name, *meaning;
	uint64_t values[256];
	size_t count;

	assert_int_equal(fi_gamma_open_counters(ep, &ops), 0);
	count = ops->count(ep);
	assert_in_range(count, 10, 255);
	assert_int_equal(ops->describe(ep, 0, &name, &meaning), 0);
	assert_string_equal(name, "frames_out");
	assert_int_equal(ops->describe(ep, count, &name, &meaning), -FI_EINVAL);
	memset(values, 0xff, sizeof(values));
	assert_int_equal(ops->read(ep, values, count + 1), 0);
	for (size_t i = 0; i <= count; i++)
		assert_int_equal(values[i], 0);
	assert_int_equal(ops->read(ep, NULL, 1), -FI_EINVAL);
	assert_int_equal(fi_open_ops(&ep->fid, FI_GAMMA_COUNTER_OPS_1, 1, (void **) &ops, NULL),
			 -FI_EINVAL);
	assert_int_equal(fi_open_ops(&ep->fid, "gamma_counter_ops_0", 0, (void **) &ops, NULL),
			 -FI_ENOSYS);
	close_all(&ep->fid, NULL, NULL);
}

/* ---- opening ---- */

static void open__bad_info(void **state)
{
	struct fake *fake = *state;
	struct fi_info *info = fake_info(FI_EP_RDM, 0);
	struct fid_ep *ep;

	assert_int_equal(fi_endpoint(fake->domain, NULL, &ep, NULL), -FI_EINVAL);
	info->ep_attr->tx_ctx_cnt = 2;
	assert_int_equal(fi_endpoint(fake->domain, info, &ep, NULL), -FI_EINVAL);
	info->ep_attr->tx_ctx_cnt = 1;
	info->ep_attr->type = FI_EP_MSG;
	assert_int_equal(fi_endpoint(fake->domain, info, &ep, NULL), -FI_EINVAL);
	fi_freeinfo(info);
}

/* ---- binding ---- */

static void bind__cq_rules(void **state)
{
	struct fid_ep *ep = open_ep(*state, 0);
	struct fid_cq *cq = open_cq(*state);

	assert_int_equal(fi_ep_bind(ep, &cq->fid, 0), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_PEEK), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT), 0);
	assert_int_equal(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(ep, &cq->fid, FI_RECV), 0);
	assert_int_equal(fi_close(&cq->fid), -FI_EBUSY);
	close_all(&ep->fid, &cq->fid, NULL);
}

static void bind__cntr_rules(void **state)
{
	struct fid_ep *ep = open_ep(*state, 0);
	struct fid_cntr *cntr = open_cntr(*state);

	assert_int_equal(fi_ep_bind(ep, &cntr->fid, 0), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(ep, &cntr->fid, FI_PEEK), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(ep, &cntr->fid, FI_SEND | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(ep, &cntr->fid, FI_RECV), -FI_EINVAL);
	assert_int_equal(fi_close(&cntr->fid), -FI_EBUSY);
	close_all(&ep->fid, &cntr->fid, NULL);
}

static void bind__one_av_and_one_eq(void **state)
{
	struct fake *fake = *state;
	struct fid_ep *ep = open_ep(fake, 0);
	struct fid_av *av = open_av(fake);
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};
	struct fid_eq *eq;

	assert_int_equal(fi_eq_open(fake->fabric, &attr, &eq, NULL), 0);
	assert_int_equal(fi_ep_bind(ep, &av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &av->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(ep, &eq->fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &eq->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(ep, &fake->domain->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_close(&av->fid), -FI_EBUSY);
	close_all(&ep->fid, &av->fid, &eq->fid);
}

static void bind__shared_contexts_only_if_announced(void **state)
{
	struct fake *fake = *state;
	struct fi_info *info = fake_info(FI_EP_RDM, 0);
	struct fid_ep *ep = open_ep(fake, 0), *srx, *shares;
	struct fid_stx *stx;

	assert_int_equal(fi_srx_context(fake->domain, info->rx_attr, &srx, NULL), 0);
	assert_int_equal(fi_stx_context(fake->domain, info->tx_attr, &stx, NULL), 0);
	assert_int_equal(fi_ep_bind(ep, &srx->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(ep, &stx->fid, 0), 0);
	assert_int_equal(fi_close(&stx->fid), 0);
	assert_int_equal(fi_stx_context(fake->domain, info->tx_attr, &stx, NULL), 0);
	info->ep_attr->tx_ctx_cnt = info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	assert_int_equal(fi_endpoint(fake->domain, info, &shares, NULL), 0);
	assert_int_equal(fi_ep_bind(shares, &srx->fid, 0), 0);
	assert_int_equal(fi_ep_bind(shares, &srx->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(shares, &stx->fid, 0), 0);
	assert_int_equal(fi_ep_bind(shares, &stx->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_close(&stx->fid), -FI_EBUSY);
	close_all(&shares->fid, &ep->fid, &srx->fid);
	close_all(&stx->fid, NULL, NULL);
	fi_freeinfo(info);
}

static void refuse_tx(struct fake *fake, const struct fi_tx_attr *attr)
{
	struct fi_tx_attr copy = *attr;
	struct fid_stx *stx;

	assert_int_equal(fi_stx_context(fake->domain, &copy, &stx, NULL), -FI_EINVAL);
}

static void refuse_rx(struct fake *fake, const struct fi_rx_attr *attr)
{
	struct fi_rx_attr copy = *attr;
	struct fid_ep *srx;

	assert_int_equal(fi_srx_context(fake->domain, &copy, &srx, NULL), -FI_EINVAL);
}

static void shared_contexts__ask_for_too_much(void **state)
{
	struct fi_tx_attr groups = {.op_flags = FI_MULTICAST, .caps = FI_MULTICAST | FI_SEND};
	struct fake *fake = *state;
	struct fid_stx *stx;

	refuse_tx(fake, &(struct fi_tx_attr){.op_flags = FI_COMMIT_COMPLETE});
	refuse_tx(fake, &(struct fi_tx_attr){.caps = FI_HMEM});
	refuse_tx(fake, &(struct fi_tx_attr){.rma_iov_limit = GAMMA_IOV_LIMIT + 1});
	refuse_tx(fake, &(struct fi_tx_attr){.comp_order = FI_ORDER_STRICT});
	refuse_tx(fake, &(struct fi_tx_attr){.size = GAMMA_TX_SIZE + 1});
	refuse_tx(fake, &(struct fi_tx_attr){.inject_size = 1 << 30});
	refuse_rx(fake, &(struct fi_rx_attr){.op_flags = FI_PEEK});
	refuse_rx(fake, &(struct fi_rx_attr){.caps = FI_HMEM});
	refuse_rx(fake, &(struct fi_rx_attr){.comp_order = FI_ORDER_STRICT});
	refuse_rx(fake, &(struct fi_rx_attr){.msg_order = FI_ORDER_DATA});
	refuse_rx(fake, &(struct fi_rx_attr){.size = GAMMA_RX_SIZE + 1});
	/* Either type of endpoint may use it. */
	assert_int_equal(fi_stx_context(fake->domain, &groups, &stx, NULL), 0);
	assert_int_equal(fi_close(&stx->fid), 0);
}

static void bind__after_enabling_only_counters(void **state)
{
	struct fake *fake = *state;
	struct fake_ep *fep = fake_ep_open(fake, FI_EP_RDM, 0, 0);
	struct fid_cntr *cntr = open_cntr(fake);

	assert_int_equal(fi_ep_bind(fep->ep, &fep->cq->fid, FI_TRANSMIT), -FI_EOPBADSTATE);
	assert_int_equal(fi_ep_bind(fep->ep, &fep->av->fid, 0), -FI_EOPBADSTATE);
	/* The second message to a shm peer takes the path that counts nothing. */
	fep->engine->shm = true;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(fi_inject(fep->ep, "a", 1, 0), 0);
	assert_int_equal(fep->engine->shm_sends, 1);
	assert_int_equal(fi_ep_bind(fep->ep, &cntr->fid, FI_SEND), 0);
	assert_int_equal(fi_inject(fep->ep, "a", 1, 0), 0);
	assert_int_equal(fep->engine->shm_sends, 1);
	assert_int_equal(fi_close(&cntr->fid), -FI_EBUSY);
	fake_ep_close(fep);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

/* ---- enabling ---- */

static void enable__needs_av_and_queues(void **state)
{
	struct fid_ep *ep = open_ep(*state, 0);
	struct fid_av *av = open_av(*state);
	struct fid_cq *cq = open_cq(*state);

	assert_int_equal(fi_enable(ep), -FI_ENOAV);
	assert_int_equal(fi_ep_bind(ep, &av->fid, 0), 0);
	assert_int_equal(fi_enable(ep), -FI_ENOCQ);
	assert_int_equal(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT), 0);
	assert_int_equal(fi_enable(ep), -FI_ENOCQ);
	assert_int_equal(fi_ep_bind(ep, &cq->fid, FI_RECV), 0);
	assert_int_equal(fi_enable(ep), 0);
	assert_int_equal(fi_enable(ep), 0);
	close_all(&ep->fid, &av->fid, &cq->fid);
}

/* Operations of peers on memory complete without a queue of their target. */
static void enable__memory_alone_needs_no_receive_queue(void **state)
{
	static const struct {
		uint64_t caps;
		int without_queues;
	} cases[] = {
		{FI_RMA, -FI_ENOCQ},
		{FI_ATOMIC, -FI_ENOCQ},
		{FI_RMA | FI_ATOMIC | FI_REMOTE_READ | FI_REMOTE_WRITE, 0},
	};
	struct fake *fake = *state;
	struct fi_info *info = fake_info(FI_EP_RDM, FI_RMA | FI_ATOMIC);
	struct fid_av *av = open_av(fake);
	struct fid_cq *cq = open_cq(fake);

	for (size_t i = 0; i < gamma_array_size(cases); i++) {
		struct fid_ep *ep;

		info->caps = cases[i].caps;
		assert_int_equal(fi_endpoint(fake->domain, info, &ep, NULL), 0);
		assert_int_equal(fi_ep_bind(ep, &av->fid, 0), 0);
		assert_int_equal(fi_enable(ep), cases[i].without_queues);
		if (cases[i].without_queues)
			assert_int_equal(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT), 0);
		assert_int_equal(fi_enable(ep), 0);
		close_all(&ep->fid, NULL, NULL);
	}
	close_all(&av->fid, &cq->fid, NULL);
	fi_freeinfo(info);
}

static void enable__engine_refuses(void **state)
{
	static const int errors[] = {-EADDRINUSE, -EPERM, -ENODEV};
	struct fid_ep *ep = open_ep(*state, 0);
	struct fid_av *av = open_av(*state);
	struct fid_cq *cq = open_cq(*state);

	assert_int_equal(fi_ep_bind(ep, &av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), 0);
	for (unsigned i = 0; i < 3; i++) {
		fake_create_error = errors[i];
		assert_int_equal(fi_enable(ep), errors[i]);
		assert_int_equal(fi_send(ep, "", 0, NULL, 0, NULL), -FI_EOPBADSTATE);
	}
	assert_int_equal(fi_enable(ep), 0);
	close_all(&ep->fid, &av->fid, &cq->fid);
}

static void enable__shared_context_is_missing(void **state)
{
	struct fake *fake = *state;
	struct fi_info *info = fake_info(FI_EP_RDM, 0);
	struct fid_av *av = open_av(fake);
	struct fid_cq *cq = open_cq(fake);
	struct fid_ep *ep;

	info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	assert_int_equal(fi_endpoint(fake->domain, info, &ep, NULL), 0);
	assert_int_equal(fi_ep_bind(ep, &av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_enable(ep), -FI_EINVAL);
	close_all(&ep->fid, &av->fid, &cq->fid);
	fi_freeinfo(info);
}

static void enable__asks_the_engine_for_the_settings(void **state)
{
	struct fake_ep *fep = *state;
	const struct gamma_endpoint_attr *attr = &fep->engine->attr;

	assert_int_equal(attr->mtu, 1500);
	assert_int_equal(attr->host, 42);
	assert_int_equal(attr->ethertype, gamma_settings.ethertype);
	assert_int_equal(attr->limits.inject_size, gamma_settings.inject_size);
	assert_int_equal(attr->limits.eager_size, gamma_settings.eager_size);
	assert_false(attr->datagram);
}

/* ---- names ---- */

static void name__is_known_once_enabled(void **state)
{
	struct fake_ep *fep = *state;
	struct fid_ep *other = open_ep(fep->fake, 0);
	struct gamma_addr addr;
	size_t len = sizeof(addr);

	assert_int_equal(fi_getname(&other->fid, &addr, &len), -FI_EOPBADSTATE);
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(fi_getname(&fep->ep->fid, &addr, &len), 0);
	assert_int_equal(ntohs(addr.port), 4242);
	len = 4;
	assert_int_equal(fi_getname(&fep->ep->fid, &addr, &len), -FI_ETOOSMALL);
	assert_int_equal(len, sizeof(addr));
	assert_int_equal(fi_getname(&fep->ep->fid, NULL, NULL), -FI_EINVAL);
}

static void setname__port_of_the_own_nic(void **state)
{
	struct fake_ep *fep = *state;
	struct fid_ep *ep = open_ep(fep->fake, 0);
	struct gamma_addr addr = fake_addr(1, 777, 0);

	assert_int_equal(fi_setname(&ep->fid, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_setname(&ep->fid, &addr, sizeof(addr)), -FI_EINVAL);
	memcpy(addr.mac, fep->fake->gamma_domain->nic.mac, GAMMA_MAC_LEN);
	assert_int_equal(fi_setname(&ep->fid, &addr, sizeof(addr) - 1), -FI_EINVAL);
	assert_int_equal(fi_setname(&ep->fid, &addr, sizeof(addr)), 0);
	assert_int_equal(fi_setname(&fep->ep->fid, &addr, sizeof(addr)), -FI_EOPBADSTATE);
	assert_int_equal(fi_ep_bind(ep, &fep->av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &fep->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_enable(ep), 0);
	assert_int_equal(fake_engine_of(ep)->attr.port, 777);
	assert_int_equal(fi_close(&ep->fid), 0);
}

/* ---- options, flags, aliases ---- */

static void option__min_multi_recv(void **state)
{
	struct fake_ep *fep = *state;
	size_t value = 0, len = sizeof(value);

	assert_int_equal(
		fi_getopt(&fep->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, &len), 0);
	assert_int_equal(value, GAMMA_MIN_MULTI_RECV);
	value = 100;
	assert_int_equal(fi_setopt(&fep->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value,
				   sizeof(value)),
			 0);
	assert_int_equal(fi_setopt(&fep->ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &value,
				   sizeof(value)),
			 -FI_ENOPROTOOPT);
}

static void size_left__counts_what_is_posted(void **state)
{
	struct fake_ep *fep = *state;
	struct fid_ep *other = open_ep(fep->fake, 0);
	char buf[8];

	assert_int_equal(fi_rx_size_left(other), -FI_EOPBADSTATE);
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(fi_recv(fep->ep, buf, 8, NULL, FI_ADDR_UNSPEC, NULL), 0);
	assert_int_equal(fi_rx_size_left(fep->ep), GAMMA_RX_SIZE - 1);
	assert_int_equal(fi_tx_size_left(fep->ep), GAMMA_TX_SIZE);
}

static void alias__has_flags_of_its_own(void **state)
{
	struct fake_ep *fep = *state;
	struct fi_cq_tagged_entry entry;
	uint64_t flags = FI_TRANSMIT;
	struct fid_ep *alias = NULL;

	assert_int_equal(fi_ep_alias(fep->ep, &alias, FI_TRANSMIT | FI_RECV | FI_COMPLETION),
			 -FI_EINVAL);
	assert_int_equal(fi_ep_alias(fep->ep, &alias, FI_TRANSMIT | FI_DELIVERY_COMPLETE), 0);
	assert_int_equal(fi_close(&fep->ep->fid), -FI_EBUSY);
	assert_int_equal(fi_control(&alias->fid, FI_GETOPSFLAG, &flags), 0);
	assert_int_equal(flags, FI_DELIVERY_COMPLETE);
	assert_int_equal(fi_send(alias, "x", 1, NULL, 0, NULL), 0);
	assert_int_equal(fep->engine->send->level, GAMMA_WHEN_ARRIVED);
	fake_transmit(fep->flow);
	fake_acknowledge(fep->flow);
	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), 1);
	assert_int_equal(fi_close(&alias->fid), 0);
}

static void control__unknown_commands(void **state)
{
	struct fake_ep *fep = *state;

	assert_int_equal(fi_control(&fep->ep->fid, FI_GETWAIT, NULL), -FI_ENOSYS);
	assert_int_equal(fi_control(&fep->ep->fid, FI_ALIAS, NULL), -FI_EINVAL);
}

static void unsupported__calls_say_so(void **state)
{
	struct fake_ep *fep = *state;
	struct fid_ep *context;
	char buf[8] = {0};

	assert_int_equal(fi_tx_context(fep->ep, 0, NULL, &context, NULL), -FI_ENOSYS);
	assert_int_equal(fi_rx_context(fep->ep, 0, NULL, &context, NULL), -FI_ENOSYS);
	assert_int_equal(fi_connect(fep->ep, &fep->peer, NULL, 0), -FI_ENOSYS);
	assert_int_equal(fi_read(fep->ep, buf, 8, NULL, 0, 0, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_write(fep->ep, buf, 8, NULL, 0, 0, 0, NULL), -FI_ENOSYS);
}

/* ---- closing ---- */

static void close__with_operations_outstanding(void **state)
{
	struct fake_ep *fep = *state;
	struct iovec iov = {.iov_base = "x", .iov_len = 1};
	struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1};
	struct fi_cq_tagged_entry entry;
	char buf[8];

	assert_int_equal(fi_sendmsg(fep->ep, &msg, FI_DELIVERY_COMPLETE), 0);
	assert_int_equal(fi_recv(fep->ep, buf, 8, NULL, 0, NULL), 0);
	assert_int_equal(fi_trecv(fep->ep, buf, 8, NULL, FI_ADDR_UNSPEC, 1, 0, NULL), 0);
	fake_arrive(fep->flow, 77, "unexpected");
	fake_announce(fep->flow, 78, 1u << 20);
	assert_int_equal(fi_close(&fep->ep->fid), 0);
	/* None of them is reported. */
	assert_int_equal(fi_cq_read(fep->cq, &entry, 1), -FI_EAGAIN);
	fep->ep = open_ep(fep->fake, 0);
}

static void close__objects_in_use_stay(void **state)
{
	struct fake_ep *fep = *state;

	assert_int_equal(fi_close(&fep->cq->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&fep->av->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&fep->fake->domain->fid), -FI_EBUSY);
}

static void close__region_is_withdrawn(void **state)
{
	struct fake *fake = *state;
	struct fake_ep *fep = fake_ep_open(fake, FI_EP_RDM, FI_RMA, 0);
	struct fid_mr *mr;
	char buf[64];

	assert_int_equal(fi_mr_reg(fake->domain, buf, 64, FI_REMOTE_READ, 0, 5, 0, &mr, NULL), 0);
	assert_int_equal(fi_close(&mr->fid), 0);
	assert_ptr_equal(fep->engine->withdrawn, gamma_container_of(mr, struct gamma_mr, mr_fid));
	fake_ep_close(fep);
}

/* What an endpoint with `caps` answers a peer that wants `wanted` of a region for `access`. */
static enum gamma_refusal reach(struct fake *fake, uint64_t caps, uint64_t access, uint64_t wanted)
{
	const struct gamma_rma_access area = {.key = 5, .length = 64};
	struct gamma_rma_region reached;
	enum gamma_refusal refusal;
	struct fid_mr *mr;
	struct fid_ep *ep = open_ep(fake, caps);
	char buf[64];

	assert_int_equal(fi_mr_reg(fake->domain, buf, 64, access, 0, 5, 0, &mr, NULL), 0);
	refusal = gamma_remote_reach(gamma_ep_handle_of(ep)->ep, &area, wanted, &reached);
	close_all(&ep->fid, &mr->fid, NULL);
	return refusal;
}

/* A program may name one direction and use both: Charm++ names FI_REMOTE_READ alone. */
static void reach__region_decides_not_direction_of_endpoint(void **state)
{
	static const uint64_t caps = FI_TAGGED | FI_RMA | FI_REMOTE_READ;
	static const uint64_t both = FI_REMOTE_READ | FI_REMOTE_WRITE;

	assert_int_equal(reach(*state, caps, both, FI_REMOTE_READ), 0);
	assert_int_equal(reach(*state, caps, both, FI_REMOTE_WRITE), 0);
	assert_int_equal(reach(*state, caps, both, both), 0);
	assert_int_equal(reach(*state, FI_RMA | FI_REMOTE_WRITE, both, FI_REMOTE_READ), 0);
	assert_int_equal(reach(*state, caps, FI_REMOTE_READ, FI_REMOTE_WRITE),
			 GAMMA_REFUSED_ACCESS);
	assert_int_equal(reach(*state, caps, FI_REMOTE_WRITE, FI_REMOTE_READ),
			 GAMMA_REFUSED_ACCESS);
	assert_int_equal(reach(*state, caps, FI_READ | FI_WRITE, FI_REMOTE_WRITE),
			 GAMMA_REFUSED_ACCESS);
}

static void reach__no_target_without_a_direction(void **state)
{
	static const uint64_t both = FI_REMOTE_READ | FI_REMOTE_WRITE;

	assert_int_equal(reach(*state, FI_RMA | FI_READ | FI_WRITE, both, FI_REMOTE_READ),
			 GAMMA_REFUSED_UNSUPPORTED);
	assert_int_equal(reach(*state, FI_TAGGED, both, FI_REMOTE_WRITE),
			 GAMMA_REFUSED_UNSUPPORTED);
}

/* ---- groups ---- */

static void group__joined_and_left(void **state)
{
	struct fake *fake = fake_open(FI_VERSION(1, 17), FI_THREAD_SAFE, FI_PROGRESS_MANUAL);
	struct fake_ep *fep = fake_ep_open(fake, FI_EP_DGRAM, FI_MULTICAST, 0);
	struct gamma_addr group = fake_addr(1, 50, 0);
	struct iovec iov = {.iov_base = "x", .iov_len = 1};
	struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1};
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};
	struct fi_eq_entry entry;
	uint32_t event = 0;
	struct fid_mc *mc, *again;
	struct fid_eq *eq;

	(void) state;
	assert_int_equal(fi_join(fep->ep, &group, 0, &mc, NULL), -FI_ENOEQ);
	assert_int_equal(fi_eq_open(fake->fabric, &attr, &eq, NULL), 0);
	assert_int_equal(fi_domain_bind(fake->domain, &eq->fid, 0), 0);
	assert_int_equal(fi_join(fep->ep, &group, 0, &mc, NULL), -FI_EINVAL);
	group.mac[0] |= 1;
	assert_int_equal(fi_join(fep->ep, &group, 0, &mc, NULL), 0);
	assert_int_equal(fep->engine->joined, 1);
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	assert_int_equal(event, FI_JOIN_COMPLETE);
	assert_ptr_equal(entry.fid, &mc->fid);
	/* Messages would come twice. */
	assert_int_equal(fi_join(fep->ep, &group, FI_RECV, &again, NULL), -FI_EALREADY);
	assert_int_equal(fi_join(fep->ep, &group, FI_SEND, &again, NULL), 0);
	assert_int_equal(fi_close(&again->fid), 0);
	assert_int_equal(fep->engine->joined, 1);
	msg.addr = fi_mc_addr(mc);
	assert_int_equal(fi_sendmsg(fep->ep, &msg, FI_MULTICAST), 0);
	assert_int_equal(fep->engine->datagrams, 1);
	assert_int_equal(fi_close(&fep->ep->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&mc->fid), 0);
	assert_int_equal(fep->engine->joined, 0);
	assert_int_equal(fi_sendmsg(fep->ep, &msg, FI_MULTICAST), -FI_EINVAL);
	fake_ep_close(fep);
	/* The event queue goes after the domain that it is bound to. */
	assert_int_equal(fi_close(&fake->domain->fid), 0);
	assert_int_equal(fi_close(&eq->fid), 0);
	assert_int_equal(fi_close(&fake->fabric->fid), 0);
	gamma_settings_free();
	free(fake);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_ep_setup, fake_ep_teardown)
#define BARE(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BARE(open__bad_info),
		BARE(bind__cq_rules),
		BARE(bind__cntr_rules),
		BARE(bind__one_av_and_one_eq),
		BARE(bind__shared_contexts_only_if_announced),
		BARE(shared_contexts__ask_for_too_much),
		BARE(bind__after_enabling_only_counters),
		BARE(enable__needs_av_and_queues),
		BARE(enable__memory_alone_needs_no_receive_queue),
		BARE(enable__engine_refuses),
		BARE(enable__shared_context_is_missing),
		TEST(enable__asks_the_engine_for_the_settings),
		TEST(name__is_known_once_enabled),
		TEST(setname__port_of_the_own_nic),
		TEST(option__min_multi_recv),
		TEST(size_left__counts_what_is_posted),
		TEST(alias__has_flags_of_its_own),
		TEST(control__unknown_commands),
		TEST(unsupported__calls_say_so),
		TEST(close__with_operations_outstanding),
		BARE(counters__are_shown),
		TEST(close__objects_in_use_stay),
		BARE(close__region_is_withdrawn),
		BARE(reach__region_decides_not_direction_of_endpoint),
		BARE(reach__no_target_without_a_direction),
		cmocka_unit_test(group__joined_and_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
