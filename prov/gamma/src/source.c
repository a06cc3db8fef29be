// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The sender of a message: from a flow to an index of the address vector and back, also while the
 * vector changes. Its entries are what the program knows a peer by, and a receive keeps its source
 * when that entry is removed, or another peer takes its index. Called by match.c, submit.c, av.c.
 */
#include "ep.h"

#include <stdlib.h>

/* A name that was removed from the address vector, of a peer whose frames have another address. */
struct removed_name {
	struct gamma_list entry; /* in ep->removed_names */
	struct gamma_flow *flow;
	struct gamma_addr addr;
};

static struct gamma_fi_ep *ep_of(const struct gamma_flow *flow)
{
	return gamma_message_local(flow->local)->context;
}

/* ---- from a flow to an index ---- */

static const struct gamma_addr *removed_name_of(const struct gamma_fi_ep *ep,
						const struct gamma_flow *flow)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &ep->removed_names) {
		const struct removed_name *name = gamma_list_entry(pos, struct removed_name, entry);

		if (name->flow == flow)
			return &name->addr;
	}
	return NULL;
}

/* A gammad endpoint has another MAC than the NIC by which the AV knows it: the entry's look-up
 * leads to its flow. The entry may have been removed, and inserted again, since. */
static fi_addr_t looked_up_for(const struct gamma_fi_ep *ep, const struct gamma_flow *flow)
{
	const struct gamma_addr *name;

	for (size_t i = 0; i < ep->flow_count; i++)
		if (ep->flows[i] == flow)
			return i;
	name = removed_name_of(ep, flow);
	return name ? gamma_av_find(ep->av, name) : FI_ADDR_NOTAVAIL;
}

/* Looked up once for each state of the AV and cached in the flow. */
fi_addr_t gamma_source_of(struct gamma_fi_ep *ep, struct gamma_flow *flow)
{
	void *stamp = (void *) (uintptr_t) (ep->av->generation + 1ull);

	if (flow->user != stamp) {
		flow->user = stamp;
		flow->user_tag = gamma_av_find(ep->av, &flow->addr);
		if (gamma_unlikely(flow->user_tag == FI_ADDR_NOTAVAIL))
			flow->user_tag = looked_up_for(ep, flow);
	}
	return flow->user_tag;
}

/* Its name is all that is left of the source that a receive was posted for. */
GAMMA_NOINLINE static bool name_fits(const struct gamma_rx *rx, struct gamma_flow *flow)
{
	struct gamma_fi_ep *ep = ep_of(flow);
	const struct gamma_addr *name;

	if (rx->flow == flow || gamma_av_is_name_of(&rx->source_name, &flow->addr))
		return true;
	name = gamma_av_addr(ep->av, gamma_source_of(ep, flow));
	if (!name)
		name = removed_name_of(ep, flow);
	return name && gamma_av_is_name_of(&rx->source_name, name);
}

bool gamma_source_fits(const struct gamma_rx *rx, struct gamma_flow *flow)
{
	struct gamma_fi_ep *ep = ep_of(flow);

	if (gamma_likely(rx->source == FI_ADDR_UNSPEC))
		return true;
	if (gamma_unlikely(rx->source == GAMMA_SOURCE_NAMED))
		return name_fits(rx, flow);
	return gamma_av_same_peer(ep->av, rx->source, gamma_source_of(ep, flow));
}

/* ---- from an index to a flow ---- */

struct gamma_flow *gamma_source_flow(const struct gamma_fi_ep *ep, fi_addr_t fi_addr)
{
	struct gamma_flow *flow = fi_addr < ep->flow_count ? ep->flows[fi_addr] : NULL;

	return flow && gamma_flow_usable(flow) ? flow : NULL;
}

struct gamma_flow *gamma_source_removed_flow(const struct gamma_fi_ep *ep,
					     const struct gamma_addr *addr)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &ep->removed_names) {
		const struct removed_name *name = gamma_list_entry(pos, struct removed_name, entry);

		if (!memcmp(&name->addr, addr, sizeof(*addr)) && gamma_flow_usable(name->flow))
			return name->flow;
	}
	return NULL;
}

/* ---- changes ---- */

/* Without memory the peer is an unknown one until something is sent to it again. */
static void keep_name(struct gamma_fi_ep *ep, struct gamma_flow *flow,
		      const struct gamma_addr *addr)
{
	struct removed_name *name = malloc(sizeof(*name));

	if (!name)
		return;
	name->flow = flow;
	name->addr = *addr;
	gamma_list_init(&name->entry);
	gamma_list_append(&ep->removed_names, &name->entry);
}

static void drop_name(struct removed_name *name)
{
	gamma_list_remove(&name->entry);
	free(name);
}

static void name_posted(struct gamma_list *posted, fi_addr_t fi_addr, const struct gamma_addr *addr)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, posted) {
		struct gamma_rx *rx = gamma_list_entry(pos, struct gamma_rx, entry);

		if (rx->source != fi_addr)
			continue;
		rx->source = GAMMA_SOURCE_NAMED;
		rx->source_name = *addr;
	}
}

void gamma_source_remove(struct gamma_fi_ep *ep, const struct gamma_av *av, fi_addr_t fi_addr)
{
	const struct gamma_addr *addr = gamma_av_addr(av, fi_addr);
	struct gamma_flow *flow = fi_addr < ep->flow_count ? ep->flows[fi_addr] : NULL;

	if (ep->av != av)
		return;
	name_posted(&ep->rx->posted_msg, fi_addr, addr);
	name_posted(&ep->rx->posted_tagged, fi_addr, addr);
	if (!flow)
		return;
	ep->flows[fi_addr] = NULL;
	if (!gamma_av_is_name_of(addr, &flow->addr))
		keep_name(ep, flow, addr);
}

void gamma_source_replace(struct gamma_fi_ep *ep, const struct gamma_flow *flow,
			  struct gamma_flow *other)
{
	struct gamma_list *pos, *tmp;

	for (size_t i = 0; i < ep->flow_count; i++)
		if (ep->flows[i] == flow)
			ep->flows[i] = other;
	gamma_list_for_each_safe (pos, tmp, &ep->removed_names) {
		struct removed_name *name = gamma_list_entry(pos, struct removed_name, entry);

		if (name->flow != flow)
			continue;
		name->flow = other;
		if (!other)
			drop_name(name);
	}
	if (other)
		other->user = NULL; /* its source may have been unknown before */
}

void gamma_source_fini(struct gamma_fi_ep *ep)
{
	while (!gamma_list_empty(&ep->removed_names))
		drop_name(gamma_list_first(&ep->removed_names, struct removed_name, entry));
	free(ep->flows);
}
