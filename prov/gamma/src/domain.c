// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The domain: access to one NIC. Owns the lock that covers everything opened on it; progress.c
 * makes progress on its endpoints.
 */
#include "coll.h"
#include "gamma.h"
#include "iface_list.h"
#include "nic/coalesce_hint.h"
#include "nic/udp.h"
#include "wire/pseudo_mac.h"

#include <stdlib.h>
#include <unistd.h>

/* The bits that FI_MR_BASIC stands for. */
static uint32_t mr_mode_bits(int mode)
{
	if (mode == GAMMA_MR_BASIC)
		return FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	return mode & ~GAMMA_MR_SCALABLE;
}

/* ---- which are open: for fi_getinfo ---- */

static pthread_mutex_t opened_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gamma_list opened = {&opened, &opened};

static void list_as_open(struct gamma_domain *domain)
{
	pthread_mutex_lock(&opened_lock);
	gamma_list_append(&opened, &domain->opened_entry);
	pthread_mutex_unlock(&opened_lock);
}

static void unlist_domain(struct gamma_domain *domain)
{
	pthread_mutex_lock(&opened_lock);
	gamma_list_remove(&domain->opened_entry);
	pthread_mutex_unlock(&opened_lock);
}

static bool is_alike(const struct gamma_domain *domain, const struct fi_info *info)
{
	const struct fi_domain_attr *attr = info->domain_attr;

	return &domain->fabric->fabric_fid == info->fabric_attr->fabric &&
	       !strcmp(domain->name, attr->name) && !(info->caps & ~domain->caps) &&
	       mr_mode_bits(attr->mr_mode) == domain->mr_mode &&
	       (domain->thread_safe || attr->threading == FI_THREAD_DOMAIN) &&
	       (domain->auto_progress || attr->data_progress != FI_PROGRESS_AUTO);
}

struct gamma_domain *gamma_domain_find_opened(const struct fi_info *info,
					      const struct fid_domain *only)
{
	struct gamma_domain *domain, *found = NULL;
	struct gamma_list *pos;

	pthread_mutex_lock(&opened_lock);
	gamma_list_for_each (pos, &opened) {
		domain = gamma_list_entry(pos, struct gamma_domain, opened_entry);
		if (!found && (!only || only == &domain->domain_fid) &&
		    (!info || is_alike(domain, info)))
			found = domain;
	}
	pthread_mutex_unlock(&opened_lock);
	return found;
}

/* ---- its life ---- */

static int domain_close(struct fid *fid)
{
	struct gamma_domain *domain = gamma_container_of(fid, struct gamma_domain, domain_fid.fid);

	if (gamma_refs_any(&domain->refs))
		return -FI_EBUSY;
	unlist_domain(domain);
	gamma_progress_thread_stop(domain);
	gamma_progress_close(domain);
	if (domain->eq)
		gamma_refs_drop(&domain->eq->refs);
	gamma_refs_drop(&domain->fabric->refs);
	free(domain);
	return 0;
}

/* It receives the events of address vectors and endpoints that have no event queue of their own. */
static int domain_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct gamma_domain *domain = gamma_container_of(fid, struct gamma_domain, domain_fid.fid);

	if (other->fclass != FI_CLASS_EQ)
		return -FI_EINVAL;
	if (flags & ~GAMMA_REG_MR)
		return -FI_EBADFLAGS;
	if (domain->eq)
		return -FI_EINVAL;
	domain->eq = gamma_container_of(other, struct gamma_eq, eq_fid.fid);
	domain->reports_mr = flags & GAMMA_REG_MR;
	gamma_refs_take(&domain->eq->refs);
	return 0;
}

static int open_endpoint2(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
			  uint64_t flags, void *context)
{
	return flags ? -FI_EBADFLAGS : gamma_ep_open(domain, info, ep, context);
}

static int domain_control(struct fid *fid, int command, void *arg)
{
	switch (command) {
	case FI_MAP_RAW_MR:
		return gamma_mr_map_raw(arg);
	case FI_UNMAP_KEY:
		return 0;
	}
	return gamma_deferred_work_control(
		gamma_container_of(fid, struct gamma_domain, domain_fid.fid), command, arg);
}

static struct fi_ops domain_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = domain_close,
	.bind = domain_bind,
	.control = domain_control,
	.ops_open = gamma_fabric_unsupported_ops_open,
	.tostr = gamma_fabric_unsupported_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.av_open = gamma_av_open,
	.cq_open = gamma_cq_open,
	.endpoint = gamma_ep_open,
	.scalable_ep = gamma_sep_open,
	.cntr_open = gamma_cntr_open,
	.poll_open = gamma_waitset_open_poll,
	.stx_ctx = gamma_shared_ctx_open_tx,
	.srx_ctx = gamma_shared_ctx_open_rx,
	.query_atomic = gamma_atomic_valid_query,
	.query_collective = gamma_coll_query,
	.endpoint2 = open_endpoint2,
};

/* Raw Ethernet needs no IP address: without one there is no UDP beside it. */
static void find_beside(struct gamma_domain *domain)
{
	struct gamma_nic nic = domain->nic;

	if (!gamma_nic_udp_add(&nic, 1) && !nic.reason)
		gamma_nic_udp_twin(&nic, &domain->beside);
}

/* One without carrier may get it. */
static bool has_ipv4(const struct gamma_nic *nic)
{
	return gamma_pseudo_mac_ipv4(nic->udp_mac) &&
	       (!nic->reason || nic->reason == gamma_nic_select_no_carrier);
}

/* Those over UDP stand behind all raw ones, in the same order. */
static void add_twins(struct gamma_domain *domain, const struct gamma_nic *const *nics)
{
	const unsigned count = 1 + domain->more_count;

	for (unsigned i = 0; i < count; i++)
		gamma_nic_udp_twin(nics[i], &domain->more[domain->more_count++]);
}

/* Several NICs: UDP on all of them, or on none. */
static void find_twins(struct gamma_domain *domain)
{
	const unsigned count = 1 + domain->more_count;
	const struct gamma_nic *with_udp[GAMMA_RAILS_MAX];
	struct gamma_nic nics[GAMMA_RAILS_MAX];

	if (2 * count > GAMMA_RAILS_MAX)
		return;
	nics[0] = domain->nic;
	memcpy(&nics[1], domain->more, domain->more_count * sizeof(*nics));
	if (gamma_nic_udp_add(nics, count))
		return;
	for (unsigned i = 0; i < count; i++) {
		if (!has_ipv4(&nics[i]))
			return;
		with_udp[i] = &nics[i];
	}
	add_twins(domain, with_udp);
	domain->optional = count;
}

static bool may_use_udp_too(void)
{
	return gamma_settings.link == GAMMA_LINK_SETTING_ANY ||
	       gamma_settings.link == GAMMA_LINK_SETTING_AUTO;
}

/* The usable NICs of that name as they are now, which may not be as fi_getinfo found them. */
static int find_nics(struct gamma_domain *domain, const char *name)
{
	struct gamma_iface_list list;
	struct gamma_domain_name interface;
	struct gamma_nic *nics;
	enum gamma_nic_list_kind kind;
	char why[256];
	size_t count;
	int ret;

	if (!name)
		return -FI_EINVAL;
	interface = gamma_nic_list_interface(name, &kind);
	ret = gamma_nic_list_read(kind, &nics, &count);
	if (ret)
		return ret;
	if (gamma_iface_list_find(nics, count, interface.text, &list, why, sizeof(why))) {
		GAMMA_WARN(DOMAIN, "%s: %s\n", name, why);
		gamma_nic_list_free(nics);
		return -FI_ENODEV;
	}
	snprintf(domain->name, sizeof(domain->name), "%s", gamma_iface_list_domain(&list).text);
	domain->nic = *list.nics[0];
	domain->more_count = list.count - 1;
	for (unsigned i = 1; i < list.count; i++) {
		domain->more[i - 1] = *list.nics[i];
		if (list.nics[i]->reason)
			GAMMA_WARN(DOMAIN, "%s: %s %s; used as soon as it has one\n", name,
				   list.nics[i]->name, list.nics[i]->reason);
	}
	if (domain->nic.has_udp)
		add_twins(domain, list.nics);
	else if (kind == GAMMA_NICS_ETHERNET && may_use_udp_too() && domain->more_count)
		find_twins(domain);
	else if (kind == GAMMA_NICS_ETHERNET && may_use_udp_too())
		find_beside(domain);
	gamma_nic_list_free(nics);
	return 0;
}

/* For readers who look for lost microseconds. */
static void show_hint(const char *nic)
{
	char text[160];

	if (gamma_coalesce_hint(nic, text, sizeof(text)))
		GAMMA_INFO(DOMAIN, "%s\n", text);
}

static bool needs_thread(const struct fi_info *info)
{
	return info->domain_attr->data_progress == FI_PROGRESS_AUTO ||
	       info->ep_attr->type == FI_EP_RDM;
}

/* The caller cannot serialise against the domain's progress thread. */
static void take_attr(struct gamma_domain *domain, const struct fi_info *info)
{
	const struct fi_domain_attr *attr = info->domain_attr;

	domain->thread_safe = attr->threading != FI_THREAD_DOMAIN || needs_thread(info);
	domain->av_type = attr->av_type == FI_AV_MAP ? FI_AV_MAP : FI_AV_TABLE;
	domain->mr_mode = mr_mode_bits(attr->mr_mode);
	domain->auto_progress = attr->data_progress == FI_PROGRESS_AUTO;
}

static void init_domain(struct gamma_domain *domain, struct gamma_fabric *fabric, void *context)
{
	size_t i;

	domain->fabric = fabric;
	domain->domain_fid.fid.fclass = FI_CLASS_DOMAIN;
	domain->domain_fid.fid.context = context;
	domain->domain_fid.fid.ops = &domain_fid_ops;
	domain->domain_fid.ops = &domain_ops;
	domain->domain_fid.mr = &gamma_mr_ops;
	domain->owner = getpid();
	gamma_list_init(&domain->opened_entry);
	gamma_list_init(&domain->eps);
	gamma_list_init(&domain->closing);
	gamma_list_init(&domain->deferred_works);
	gamma_list_init(&domain->due);
	gamma_list_init(&domain->retry);
	for (i = 0; i < GAMMA_MR_BUCKETS; i++)
		gamma_list_init(&domain->mrs[i]);
	domain->next_mr_key = 1;
	domain->wait_fd = -1;
	domain->timer_fd = -1;
	domain->timer_at = GAMMA_NEVER;
}

int gamma_domain_open(struct fid_fabric *fabric_fid, struct fi_info *info,
		      struct fid_domain **domain_fid, void *context)
{
	struct gamma_fabric *fabric =
		gamma_container_of(fabric_fid, struct gamma_fabric, fabric_fid);
	struct gamma_domain *domain;
	int ret;

	if (!info || !info->domain_attr)
		return -FI_EINVAL;
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return -FI_ENOMEM;
	ret = find_nics(domain, info->domain_attr->name);
	if (!ret)
		ret = gamma_attr_check_info(fabric->api_version, info, domain->nic.mtu);
	if (ret) {
		free(domain);
		return ret;
	}
	init_domain(domain, fabric, context);
	domain->caps = info->caps;
	take_attr(domain, info);
	gamma_refs_take(&fabric->refs);
	if (needs_thread(info))
		ret = gamma_progress_thread_start(domain, info->domain_attr->data_progress ==
								  FI_PROGRESS_AUTO);
	if (ret) {
		domain_close(&domain->domain_fid.fid);
		return ret;
	}
	show_hint(domain->nic.name);
	for (unsigned i = 0; i < domain->more_count; i++)
		if (!gamma_domain_is_twin(domain, i))
			show_hint(domain->more[i].name);
	list_as_open(domain);
	*domain_fid = &domain->domain_fid;
	return 0;
}
