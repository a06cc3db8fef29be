// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Capabilities of each endpoint type, whether they satisfy an application's hints, and the
 * attributes to return. Pure functions of hints, NIC and settings, called by info.c and
 * when domains and endpoints are opened.
 */
#include "gamma.h"
#include "wire/codec.h"

/* Capabilities that an application gets only by asking for them ... */
#define PRIMARY_CAPS                                                                \
	(FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC | FI_MULTICAST | FI_NAMED_RX_CTX | \
	 FI_DIRECTED_RECV | FI_COLLECTIVE)
#define MESSAGE_DIRECTIONS (FI_SEND | FI_RECV)
#define RMA_DIRECTIONS     (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
/* ... and a secondary one too that would surprise it: data from unknown peers arrives as an error.
 */
#define ONLY_IF_ASKED      (PRIMARY_CAPS | MESSAGE_DIRECTIONS | RMA_DIRECTIONS | FI_SOURCE_ERR)

/* Capabilities of the sending and of the receiving half of an endpoint. */
#define TX_CAPS                                                                                  \
	(FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC | FI_MULTICAST | FI_SEND | FI_READ | FI_WRITE | \
	 FI_FENCE | FI_NAMED_RX_CTX | FI_TRIGGER | FI_COLLECTIVE)
#define RX_CAPS                                                                                    \
	(FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC | FI_DIRECTED_RECV | FI_RECV | FI_REMOTE_READ |   \
	 FI_REMOTE_WRITE | FI_MULTI_RECV | FI_SOURCE | FI_SOURCE_ERR | FI_RMA_EVENT | FI_TRIGGER | \
	 FI_COLLECTIVE)
#define DOMAIN_CAPS (FI_LOCAL_COMM | FI_REMOTE_COMM)

/* FI_PROGRESS_CONTROL_UNIFIED, since 1.21: no progress of control operations apart from data's. */
#define PROGRESS_UNIFIED 3

/* A tag format below this is not a mask but a number of FI_TAG_*, since 2.0. */
#define TAG_FORMAT_NUMBERED 3

/* Each bit a field of its own: any mask will do. */
#define TAG_FORMAT_BITS 0xaaaaaaaaaaaaaaaaull

/* From fi_domain_attr.tclass on, as it is since 2.0. */
struct newest_domain_attr {
	uint32_t tclass;
	size_t max_ep_auth_key;
	uint32_t max_group_id;
};

/*
 * All operations to a peer take effect there in the order of their calls. Of the data, a long
 * read's bytes may be those of a later write: see max_order_war_size.
 */
#define ORDER                                                                                      \
	(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAR | FI_ORDER_WAW | FI_ORDER_WAS | \
	 FI_ORDER_SAR | FI_ORDER_SAW | FI_ORDER_SAS | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW |        \
	 FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW |         \
	 FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)

/* All capabilities of an endpoint type. */
struct ability {
	uint64_t caps;
	uint64_t tx_op_flags;
	uint64_t rx_op_flags;
	uint64_t msg_order;
	uint64_t tag_format;
	size_t contexts;     /* of an endpoint, each way */
	size_t max_msg_size; /* bytes */
	size_t inject_size;  /* bytes */
	/* bytes of remote accesses that see each other in order; 0: none */
	size_t max_order_raw, max_order_war, max_order_waw;
};

static const struct ability rdm_ability = {
	.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_DIRECTED_RECV | MESSAGE_DIRECTIONS |
		RMA_DIRECTIONS | FI_RMA_EVENT | FI_FENCE | FI_SOURCE | FI_SOURCE_ERR |
		FI_MULTI_RECV | FI_NAMED_RX_CTX | FI_TRIGGER | FI_COLLECTIVE | DOMAIN_CAPS,
	.tx_op_flags = FI_COMPLETION | FI_INJECT | FI_TRIGGER | GAMMA_COMPLETION_LEVELS,
	.rx_op_flags = FI_COMPLETION | FI_MULTI_RECV | FI_TRIGGER | FI_TRANSMIT_COMPLETE,
	.msg_order = ORDER,
	.tag_format = TAG_FORMAT_BITS,
	.contexts = GAMMA_CONTEXT_MAX,
	.max_msg_size = GAMMA_MAX_MSG_SIZE,
	.max_order_raw = SIZE_MAX,
	.max_order_waw = SIZE_MAX,
};

static const struct ability dgram_ability = {
	.contexts = 1,
	.caps = FI_MSG | FI_MULTICAST | MESSAGE_DIRECTIONS | FI_SOURCE | FI_MULTI_RECV |
		FI_TRIGGER | DOMAIN_CAPS,
	.tx_op_flags = FI_COMPLETION | FI_INJECT | FI_TRIGGER | FI_MULTICAST | FI_INJECT_COMPLETE |
		       FI_TRANSMIT_COMPLETE,
	.rx_op_flags = FI_COMPLETION | FI_MULTI_RECV | FI_TRIGGER | FI_TRANSMIT_COMPLETE,
};

/* Bytes that a read takes before any later write: what it finds fits one frame and is copied. */
static size_t snapshot_size(size_t mtu)
{
	const size_t header = GAMMA_BULK_HEADER + gamma_codec_extensions_len(GAMMA_EXT_PAYLOAD_CRC);

	return gamma_min(gamma_min(mtu, GAMMA_SAFE_MTU) - header, GAMMA_ATOMIC_BYTES);
}

static struct ability ability_of(enum fi_ep_type type, size_t mtu)
{
	struct ability can = type == FI_EP_RDM ? rdm_ability : dgram_ability;

	if (type == FI_EP_DGRAM)
		can.max_msg_size = mtu - GAMMA_DGRAM_HEADER_MAX -
				   (gamma_settings.payload_crc
					    ? gamma_codec_extensions_len(GAMMA_EXT_PAYLOAD_CRC)
					    : 0);
	else
		can.max_order_war = snapshot_size(mtu);
	can.inject_size = gamma_min(gamma_settings.inject_size, can.max_msg_size);
	return can;
}

/* ---- do the hints ask for more? Each check names the field that is in the way. ---- */

static bool mr_mode_fits(uint32_t api_version, int mode)
{
	if (FI_VERSION_LT(api_version, FI_VERSION(1, 5)))
		return !mode || mode == GAMMA_MR_BASIC || mode == GAMMA_MR_SCALABLE;
	/* The basic and scalable modes stand alone. No FI_MR_* bit is required, so any set fits. */
	if (mode & (GAMMA_MR_BASIC | GAMMA_MR_SCALABLE))
		return mode == GAMMA_MR_BASIC || mode == GAMMA_MR_SCALABLE;
	return true;
}

/* What newer versions can ask for, and is not offered: several authorization keys of an endpoint,
 * and groups of peers, by numbers in addresses. */
static const char *check_newest(uint32_t api_version, const struct fi_domain_attr *attr)
{
	const struct newest_domain_attr *newest =
		(const void *) ((const char *) attr + offsetof(struct fi_domain_attr, tclass));

	if (FI_VERSION_GE(api_version, FI_VERSION(1, 20)) && newest->max_ep_auth_key)
		return "domain_attr->max_ep_auth_key";
	if (FI_VERSION_GE(api_version, FI_VERSION(2, 0)) && newest->max_group_id)
		return "domain_attr->max_group_id";
	return NULL;
}

static const char *check_domain(uint32_t api_version, const struct fi_domain_attr *attr,
				const struct ability *can)
{
	if (attr->threading > FI_THREAD_ENDPOINT)
		return "domain_attr->threading";
	if ((int) attr->control_progress > PROGRESS_UNIFIED)
		return "domain_attr->control_progress";
	if ((int) attr->data_progress > PROGRESS_UNIFIED)
		return "domain_attr->data_progress";
	if (attr->resource_mgmt > FI_RM_ENABLED)
		return "domain_attr->resource_mgmt";
	if (attr->av_type > FI_AV_TABLE)
		return "domain_attr->av_type";
	if (!mr_mode_fits(api_version, attr->mr_mode))
		return "domain_attr->mr_mode";
	if (attr->mr_key_size > GAMMA_MR_KEY_SIZE)
		return "domain_attr->mr_key_size";
	if (attr->cq_data_size > GAMMA_CQ_DATA_SIZE)
		return "domain_attr->cq_data_size";
	if (attr->max_ep_tx_ctx > can->contexts)
		return "domain_attr->max_ep_tx_ctx";
	if (attr->max_ep_rx_ctx > can->contexts)
		return "domain_attr->max_ep_rx_ctx";
	/* Older applications' structures end here. */
	if (FI_VERSION_LT(api_version, FI_VERSION(1, 5)))
		return NULL;
	if (attr->cntr_cnt > GAMMA_CQ_COUNT)
		return "domain_attr->cntr_cnt";
	if (attr->mr_iov_limit > GAMMA_IOV_LIMIT)
		return "domain_attr->mr_iov_limit";
	if (attr->caps & ~DOMAIN_CAPS)
		return "domain_attr->caps";
	if (attr->auth_key_size)
		return "domain_attr->auth_key_size";
	if (attr->max_err_data > GAMMA_MAX_ERR_DATA)
		return "domain_attr->max_err_data";
	return check_newest(api_version, attr);
}

static const char *check_ep(const struct fi_ep_attr *attr, enum fi_ep_type type,
			    const struct ability *can, uint64_t caps)
{
	if (attr->type != FI_EP_UNSPEC && attr->type != type)
		return "ep_attr->type";
	if (attr->protocol && attr->protocol != GAMMA_PROTOCOL)
		return "ep_attr->protocol";
	if (attr->protocol_version > GAMMA_PROTOCOL_VERSION)
		return "ep_attr->protocol_version";
	if (attr->max_msg_size > can->max_msg_size)
		return "ep_attr->max_msg_size";
	if (attr->tx_ctx_cnt > can->contexts && attr->tx_ctx_cnt != FI_SHARED_CONTEXT)
		return "ep_attr->tx_ctx_cnt";
	if (attr->rx_ctx_cnt > can->contexts && attr->rx_ctx_cnt != FI_SHARED_CONTEXT)
		return "ep_attr->rx_ctx_cnt";
	if (attr->auth_key_size)
		return "ep_attr->auth_key_size";
	if ((caps & (FI_RMA | FI_ATOMIC)) && (attr->max_order_raw_size > can->max_order_raw ||
					      attr->max_order_war_size > can->max_order_war ||
					      attr->max_order_waw_size > can->max_order_waw))
		return "ep_attr->max_order_*_size";
	return NULL;
}

static const char *check_tx(const struct fi_tx_attr *attr, const struct ability *can)
{
	if (attr->caps & ~(RX_CAPS & ~TX_CAPS) & ~can->caps)
		return "tx_attr->caps";
	if (attr->op_flags & ~can->tx_op_flags)
		return "tx_attr->op_flags";
	if (attr->msg_order & ~can->msg_order)
		return "tx_attr->msg_order";
	if (attr->comp_order)
		return "tx_attr->comp_order";
	if (attr->inject_size > can->inject_size)
		return "tx_attr->inject_size";
	if (attr->size > GAMMA_TX_SIZE)
		return "tx_attr->size";
	if (attr->iov_limit > GAMMA_IOV_LIMIT)
		return "tx_attr->iov_limit";
	if (attr->rma_iov_limit > GAMMA_IOV_LIMIT)
		return "tx_attr->rma_iov_limit";
	return NULL;
}

static const char *check_rx(const struct fi_rx_attr *attr, const struct ability *can)
{
	if (attr->caps & ~(TX_CAPS & ~RX_CAPS) & ~can->caps)
		return "rx_attr->caps";
	if (attr->op_flags & ~can->rx_op_flags)
		return "rx_attr->op_flags";
	if (attr->msg_order & ~can->msg_order)
		return "rx_attr->msg_order";
	if (attr->comp_order)
		return "rx_attr->comp_order";
	if (attr->size > GAMMA_RX_SIZE)
		return "rx_attr->size";
	if (attr->iov_limit > GAMMA_IOV_LIMIT)
		return "rx_attr->iov_limit";
	return NULL;
}

const char *gamma_attr_check_hints(uint32_t api_version, enum fi_ep_type type, size_t mtu,
				   const struct fi_info *hints)
{
	struct ability can = ability_of(type, mtu);
	const char *field = NULL;

	if (!hints)
		return NULL;
	/* Bits that a newer libfabric defines are refused here as well. */
	if (hints->caps & ~can.caps)
		return "caps";
	if (hints->addr_format && hints->addr_format != GAMMA_ADDR_FORMAT)
		return "addr_format";
	if (hints->fabric_attr && hints->fabric_attr->prov_version > GAMMA_PROV_VERSION)
		return "fabric_attr->prov_version";
	if (hints->ep_attr)
		field = check_ep(hints->ep_attr, type, &can, hints->caps);
	if (!field && hints->domain_attr)
		field = check_domain(api_version, hints->domain_attr, &can);
	if (!field && hints->tx_attr)
		field = check_tx(hints->tx_attr, &can);
	if (!field && hints->rx_attr)
		field = check_rx(hints->rx_attr, &can);
	return field;
}

/* NULL: there is nothing to refuse. */
static int refuse_field(const char *field)
{
	if (field)
		GAMMA_INFO(CORE, "fi_info.%s asks for more than fi_getinfo returned\n", field);
	return field ? -FI_EINVAL : 0;
}

int gamma_attr_check_info(uint32_t api_version, const struct fi_info *info, size_t mtu)
{
	enum fi_ep_type type = info->ep_attr ? info->ep_attr->type : FI_EP_UNSPEC;
	const char *field = "ep_attr->type";

	if (type == FI_EP_RDM || type == FI_EP_DGRAM)
		field = gamma_attr_check_hints(api_version, type, mtu, info);
	return refuse_field(field);
}

/* A shared context serves endpoints of both types. */
int gamma_attr_check_shared_tx(const struct fi_tx_attr *attr, size_t mtu)
{
	struct ability rdm = ability_of(FI_EP_RDM, mtu), dgram = ability_of(FI_EP_DGRAM, mtu);
	const char *field = check_tx(attr, &rdm);

	return field && check_tx(attr, &dgram) ? refuse_field(field) : 0;
}

/* Datagrams are received with no more than messages are. */
int gamma_attr_check_shared_rx(const struct fi_rx_attr *attr, size_t mtu)
{
	struct ability rdm = ability_of(FI_EP_RDM, mtu);

	return refuse_field(check_rx(attr, &rdm));
}

/* ---- the attributes to return ---- */

/* Asked for, what that implies, and what costs nothing. */
static uint64_t caps_for(uint64_t asked, uint64_t can)
{
	uint64_t caps;

	if (!asked)
		return can & ~(FI_SOURCE_ERR | FI_NAMED_RX_CTX | FI_COLLECTIVE);
	caps = (asked & ONLY_IF_ASKED) | (can & ~ONLY_IF_ASKED);
	if ((caps & (FI_MSG | FI_TAGGED)) && !(caps & MESSAGE_DIRECTIONS))
		caps |= can & MESSAGE_DIRECTIONS;
	if ((caps & (FI_RMA | FI_ATOMIC)) && !(caps & RMA_DIRECTIONS))
		caps |= can & RMA_DIRECTIONS;
	if (!(caps & (FI_RMA | FI_ATOMIC)))
		caps &= ~FI_RMA_EVENT | asked;
	return caps;
}

/* Never more than the endpoint as a whole. */
static uint64_t half_caps(uint64_t half, uint64_t caps, uint64_t asked)
{
	return half & caps & (asked ? caps_for(asked & half, caps) : caps);
}

/* Without FI_MR_* bits: an older application names one of the two modes. */
static int mr_mode_for(uint32_t api_version, const struct fi_domain_attr *hints)
{
	int asked = hints ? hints->mr_mode : 0;

	if (asked == GAMMA_MR_BASIC || asked == GAMMA_MR_SCALABLE)
		return asked;
	return FI_VERSION_LT(api_version, FI_VERSION(1, 5)) ? GAMMA_MR_SCALABLE : 0;
}

static uint64_t tag_format_for(uint32_t api_version, const struct fi_ep_attr *hints,
			       const struct ability *can)
{
	uint64_t asked = hints ? hints->mem_tag_format : 0;

	if (!asked || !can->tag_format)
		return can->tag_format;
	if (asked < TAG_FORMAT_NUMBERED && FI_VERSION_GE(api_version, FI_VERSION(2, 0)))
		return asked;
	/* The fields that are asked for, the first of them up to the last bit of a tag. */
	return asked | ~(UINT64_MAX >> __builtin_clzll(asked));
}

/* One of its own, unless several are asked for, or one that others use as well. */
static size_t context_count(size_t asked)
{
	return asked ? asked : 1;
}

/* Reported only to applications that ask for several contexts: others would take them for cheap
 * parallelism, but each context is a separate endpoint of the engine. */
static size_t context_max(const struct fi_info *info, const struct ability *can,
			  const struct fi_domain_attr *hints)
{
	bool many = info->caps & FI_NAMED_RX_CTX ||
		    (hints && (hints->max_ep_tx_ctx > 1 || hints->max_ep_rx_ctx > 1)) ||
		    gamma_attr_several_contexts(info->ep_attr->tx_ctx_cnt) ||
		    gamma_attr_several_contexts(info->ep_attr->rx_ctx_cnt);

	return many ? can->contexts : 1;
}

/* The recommended number; there may be as many as an application asks for. */
static void fill_counts(struct fi_domain_attr *attr, uint32_t api_version,
			const struct fi_domain_attr *hints)
{
	const struct fi_domain_attr none = {0};

	hints = hints ? hints : &none;
	attr->cq_cnt = gamma_max(GAMMA_CQ_COUNT, hints->cq_cnt);
	attr->ep_cnt = gamma_max(GAMMA_CQ_COUNT, hints->ep_cnt);
	attr->tx_ctx_cnt = gamma_max(GAMMA_CQ_COUNT, hints->tx_ctx_cnt);
	attr->rx_ctx_cnt = gamma_max(GAMMA_CQ_COUNT, hints->rx_ctx_cnt);
	attr->max_ep_stx_ctx = gamma_max(GAMMA_CQ_COUNT, hints->max_ep_stx_ctx);
	attr->max_ep_srx_ctx = gamma_max(GAMMA_CQ_COUNT, hints->max_ep_srx_ctx);
	attr->cntr_cnt = GAMMA_CQ_COUNT;
	/* Older applications' structures end before it. */
	if (FI_VERSION_LT(api_version, FI_VERSION(1, 9)))
		hints = &none;
	attr->mr_cnt = gamma_max(GAMMA_MR_COUNT, hints->mr_cnt);
}

static void fill_domain(struct fi_domain_attr *attr, uint32_t api_version,
			const struct fi_domain_attr *hints)
{
	attr->threading = hints && hints->threading ? hints->threading : FI_THREAD_SAFE;
	attr->control_progress =
		hints && hints->control_progress ? hints->control_progress : FI_PROGRESS_MANUAL;
	attr->data_progress =
		hints && hints->data_progress ? hints->data_progress : FI_PROGRESS_MANUAL;
	attr->resource_mgmt = FI_RM_ENABLED;
	/* Both are offered. An application that reads TABLE may expect index 0 for each of its
	 * peers, inserted one after the other, so an undecided application gets neither. */
	attr->av_type = hints ? hints->av_type : FI_AV_UNSPEC;
	attr->mr_mode = mr_mode_for(api_version, hints);
	attr->mr_key_size = GAMMA_MR_KEY_SIZE;
	attr->cq_data_size = GAMMA_CQ_DATA_SIZE;
	attr->mr_iov_limit = GAMMA_IOV_LIMIT;
	attr->caps = DOMAIN_CAPS;
	attr->max_err_data = GAMMA_MAX_ERR_DATA;
	fill_counts(attr, api_version, hints);
}

static void fill_tx(struct fi_tx_attr *attr, const struct ability *can, uint64_t caps,
		    const struct fi_tx_attr *hints)
{
	attr->caps = half_caps(TX_CAPS, caps, hints ? hints->caps : 0);
	attr->op_flags = hints ? hints->op_flags : 0;
	/* Unless another level is asked for, small messages complete once they are copied. */
	if (!(attr->op_flags & GAMMA_COMPLETION_LEVELS))
		attr->op_flags |= FI_INJECT_COMPLETE;
	attr->msg_order = can->msg_order;
	attr->inject_size = can->inject_size;
	attr->size = GAMMA_TX_SIZE;
	attr->iov_limit = GAMMA_IOV_LIMIT;
	attr->rma_iov_limit = caps & (FI_RMA | FI_ATOMIC) ? GAMMA_IOV_LIMIT
			      : hints                     ? hints->rma_iov_limit
							  : 0;
}

static void fill_rx(struct fi_rx_attr *attr, const struct ability *can, uint64_t caps,
		    const struct fi_rx_attr *hints)
{
	attr->caps = half_caps(RX_CAPS, caps, hints ? hints->caps : 0);
	attr->op_flags = hints ? hints->op_flags : 0;
	attr->msg_order = can->msg_order;
	attr->total_buffered_recv = hints ? hints->total_buffered_recv : 0;
	attr->size = GAMMA_RX_SIZE;
	attr->iov_limit = GAMMA_IOV_LIMIT;
}

static void fill_ep(struct fi_ep_attr *attr, const struct ability *can, enum fi_ep_type type,
		    const struct fi_ep_attr *hints)
{
	attr->type = type;
	attr->protocol = GAMMA_PROTOCOL;
	attr->protocol_version = GAMMA_PROTOCOL_VERSION;
	attr->max_msg_size = can->max_msg_size;
	attr->max_order_raw_size = can->max_order_raw;
	attr->max_order_war_size = can->max_order_war;
	attr->max_order_waw_size = can->max_order_waw;
	attr->tx_ctx_cnt = context_count(hints ? hints->tx_ctx_cnt : 0);
	attr->rx_ctx_cnt = context_count(hints ? hints->rx_ctx_cnt : 0);
}

void gamma_attr_fill_info(struct fi_info *info, uint32_t api_version, enum fi_ep_type type,
			  size_t mtu, const struct fi_info *hints)
{
	const struct fi_domain_attr *domain = hints ? hints->domain_attr : NULL;
	struct ability can = ability_of(type, mtu);

	info->caps = caps_for(hints ? hints->caps : 0, can.caps);
	info->addr_format = GAMMA_ADDR_FORMAT;
	fill_ep(info->ep_attr, &can, type, hints ? hints->ep_attr : NULL);
	info->ep_attr->mem_tag_format =
		tag_format_for(api_version, hints ? hints->ep_attr : NULL, &can);
	fill_domain(info->domain_attr, api_version, domain);
	info->domain_attr->max_ep_tx_ctx = context_max(info, &can, domain);
	info->domain_attr->max_ep_rx_ctx = context_max(info, &can, domain);
	fill_tx(info->tx_attr, &can, info->caps, hints ? hints->tx_attr : NULL);
	fill_rx(info->rx_attr, &can, info->caps, hints ? hints->rx_attr : NULL);
	info->fabric_attr->api_version = api_version;
}
