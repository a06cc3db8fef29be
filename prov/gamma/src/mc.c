// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Multicast groups: fi_join, which is complete when it returns, and leaving by closing. A join with
 * FI_COLLECTIVE is coll_group.c's. */
#include "ep.h"

#include <stdlib.h>

struct gamma_mc {
	struct fid_mc mc_fid;
	struct gamma_list entry; /* of ep->groups */
	struct gamma_fi_ep *ep;
	struct gamma_group *group; /* the engine's */
	struct gamma_addr addr;    /* the group's, without epoch */
	bool sends;                /* it may send to the group */
	bool receives;             /* what comes for the group */
};

/* The address from fi_mc_addr is no index of the address vector but names a group. */
const struct gamma_group *gamma_mc_find(const struct gamma_fi_ep *ep, fi_addr_t fi_addr)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &ep->groups) {
		const struct gamma_mc *mc = gamma_list_entry(pos, struct gamma_mc, entry);

		if (mc->mc_fid.fi_addr == fi_addr)
			return mc->sends ? mc->group : NULL;
	}
	return NULL;
}

static int mc_close(struct fid *fid)
{
	struct gamma_mc *mc = gamma_container_of(fid, struct gamma_mc, mc_fid.fid);
	struct gamma_fi_ep *ep = mc->ep;

	gamma_domain_lock(ep->domain);
	gamma_list_remove(&mc->entry);
	gamma_groups_leave(ep->endpoint, mc->group);
	gamma_domain_unlock(ep->domain);
	gamma_refs_drop(&ep->aliases);
	free(mc);
	return 0;
}

static struct fi_ops mc_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = mc_close,
	.bind = gamma_fabric_unsupported_bind,
	.control = gamma_fabric_unsupported_control,
	.ops_open = gamma_fabric_unsupported_ops_open,
	.tostr = gamma_fabric_unsupported_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

/* An Ethernet group address, and a port as every address has one. */
static bool is_group(const struct gamma_addr *addr)
{
	return addr->version == GAMMA_ADDR_VERSION && addr->port && addr->mac[0] & 1;
}

/* Each has a socket of its own: messages would come once for each. */
static bool receives_twice(const struct gamma_mc *mc)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &mc->ep->groups) {
		const struct gamma_mc *other = gamma_list_entry(pos, struct gamma_mc, entry);

		if (mc->receives && other->receives && mc->addr.port == other->addr.port &&
		    !memcmp(mc->addr.mac, other->addr.mac, GAMMA_MAC_LEN))
			return true;
	}
	return false;
}

static int join_group(struct gamma_mc *mc)
{
	struct gamma_fi_ep *ep = mc->ep;
	int ret;

	gamma_domain_lock(ep->domain);
	ret = receives_twice(mc)
		      ? -FI_EALREADY
		      : gamma_groups_join(ep->endpoint, &mc->addr, mc->receives, &mc->group);
	if (!ret) {
		gamma_list_append(&ep->groups, &mc->entry);
		/* Frames of the group wake sleeping threads too. */
		ret = gamma_progress_watch(ep->domain, ep);
	}
	if (ret && mc->group) {
		gamma_list_remove(&mc->entry);
		gamma_groups_leave(ep->endpoint, mc->group);
	}
	gamma_domain_unlock(ep->domain);
	return ret;
}

static int report_joined(struct gamma_mc *mc, struct gamma_eq *eq)
{
	struct fi_eq_entry entry = {
		.fid = &mc->mc_fid.fid,
		.context = mc->mc_fid.fid.context,
	};

	return gamma_eq_report(eq, FI_JOIN_COMPLETE, &entry, sizeof(entry));
}

static int check_join(const struct gamma_fi_ep *ep, const void *addr, uint64_t flags)
{
	if (ep->type != FI_EP_DGRAM)
		return -FI_ENOSYS;
	if (!ep->multicast)
		return -FI_EOPNOTSUPP;
	if (flags & ~(FI_SEND | FI_RECV))
		return -FI_EBADFLAGS;
	if ((flags & FI_SEND && !ep->initiates) || (flags & FI_RECV && !ep->is_target))
		return -FI_EOPNOTSUPP;
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	if (!ep->eq && !ep->domain->eq)
		return -FI_ENOEQ;
	return addr ? 0 : -FI_EINVAL;
}

int gamma_mc_join(struct fid_ep *fid, const void *user_addr, uint64_t flags, struct fid_mc **mc_fid,
		  void *context)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;
	struct gamma_addr addr;
	struct gamma_mc *mc;
	int ret;

	if (flags & FI_COLLECTIVE)
		return gamma_coll_group_join(ep, user_addr, flags, mc_fid, context);
	ret = check_join(ep, user_addr, flags);
	if (ret)
		return ret;
	memcpy(&addr, user_addr, sizeof(addr));
	if (!is_group(&addr))
		return -FI_EINVAL;
	addr.epoch = GAMMA_EPOCH_ANY;
	mc = calloc(1, sizeof(*mc));
	if (!mc)
		return -FI_ENOMEM;
	gamma_list_init(&mc->entry);
	mc->ep = ep;
	mc->mc_fid.fid.fclass = FI_CLASS_MC;
	mc->mc_fid.fid.context = context;
	mc->mc_fid.fid.ops = &mc_fid_ops;
	mc->mc_fid.fi_addr = (fi_addr_t) (uintptr_t) mc;
	/* Without either flag the endpoint's capabilities decide. */
	mc->sends = flags ? flags & FI_SEND : ep->initiates;
	mc->receives = flags ? flags & FI_RECV : ep->is_target;
	mc->addr = addr;
	ret = join_group(mc);
	if (ret) {
		free(mc);
		return ret;
	}
	gamma_refs_take(&ep->aliases);
	*mc_fid = &mc->mc_fid; /* before the event can be read */
	ret = report_joined(mc, ep->eq ? ep->eq : ep->domain->eq);
	if (ret) {
		*mc_fid = NULL;
		mc_close(&mc->mc_fid.fid);
	}
	return ret;
}
