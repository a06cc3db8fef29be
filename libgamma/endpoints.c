// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Opening, naming and using the endpoints: see endpoints.h. */
#include "endpoints.h"

#include <rdma/fi_cm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gamma/libgamma.h"
#include "job.h"

static int failed(const char *what, ssize_t ret)
{
	if (ret >= 0)
		return 0;
	fprintf(stderr, "libgamma: %s: %s\n", what, fi_strerror((int) -ret));
	return -1;
}

/* Without PMIx both sides know the service: the job's port and 2 for each node, and one more at
 * best effort. */
static void service_of(const struct job *job, unsigned short node, bool best_effort,
		       char service[8])
{
	snprintf(service, 8, "%u", (job->port + 2u * node + 2 + best_effort) & 0xffff);
}

static struct fi_info *info_of(bool best_effort, const char *node, const char *service,
			       uint64_t flags)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	if (!hints)
		return NULL;
	hints->caps = FI_MSG | (best_effort ? FI_MULTICAST : 0);
	hints->ep_attr->type = best_effort ? FI_EP_DGRAM : FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->fabric_attr->prov_name = strdup("gamma");
	failed("fi_getinfo", fi_getinfo(FI_VERSION(1, 17), node, service, flags, hints, &info));
	fi_freeinfo(hints);
	return info;
}

static int open_objects(struct endpoints *endpoints, struct endpoint *endpoint,
			struct fi_info *info)
{
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_MSG};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_NONE};

	return (!endpoints->fabric &&
		(failed("fi_fabric", fi_fabric(info->fabric_attr, &endpoints->fabric, NULL)) ||
		 failed("fi_eq_open",
			fi_eq_open(endpoints->fabric, &eq_attr, &endpoints->eq, NULL)))) ||
	       failed("fi_domain", fi_domain(endpoints->fabric, info, &endpoint->domain, NULL)) ||
	       failed("fi_av_open", fi_av_open(endpoint->domain, &av_attr, &endpoint->av, NULL)) ||
	       failed("fi_cq_open", fi_cq_open(endpoint->domain, &cq_attr, &endpoint->cq, NULL)) ||
	       failed("fi_endpoint", fi_endpoint(endpoint->domain, info, &endpoint->ep, NULL));
}

static int open_endpoint(struct endpoints *endpoints, struct endpoint *endpoint,
			 const struct job *job, bool best_effort)
{
	uint64_t directions = FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION;
	struct fi_info *info;
	char service[8];
	int ret;

	service_of(job, job->node, best_effort, service);
	info = info_of(best_effort, NULL, job->hosts ? service : NULL, job->hosts ? FI_SOURCE : 0);
	if (!info)
		return -1;
	endpoints->inject_max = info->tx_attr->inject_size;
	ret = open_objects(endpoints, endpoint, info);
	fi_freeinfo(info);
	endpoint->peers = calloc(job->nodes, sizeof(*endpoint->peers));
	return ret || !endpoint->peers ||
	       failed("fi_ep_bind", fi_ep_bind(endpoint->ep, &endpoint->av->fid, 0)) ||
	       failed("fi_ep_bind", fi_ep_bind(endpoint->ep, &endpoint->cq->fid, directions)) ||
	       failed("fi_ep_bind", fi_ep_bind(endpoint->ep, &endpoints->eq->fid, 0)) ||
	       failed("fi_enable", fi_enable(endpoint->ep)) ||
	       failed("fi_gamma_open_ports", fi_gamma_open_ports(endpoint->ep, &endpoint->ops));
}

static int insert(struct endpoint *endpoint, unsigned short node, const void *address)
{
	if (fi_av_insert(endpoint->av, address, 1, &endpoint->peers[node], 0, NULL) == 1)
		return 0;
	return failed("fi_av_insert", -FI_EINVAL);
}

static int insert_hosts(struct endpoint *endpoint, const struct job *job, bool best_effort)
{
	char host[256], service[8];
	int ret = 0;

	for (unsigned short node = 0; !ret && node < job->nodes; node++) {
		struct fi_info *info;

		job_host(job, node, host, sizeof(host));
		service_of(job, node, best_effort, service);
		info = info_of(best_effort, host, service, 0);
		ret = !info || insert(endpoint, node, info->dest_addr);
		fi_freeinfo(info);
	}
	return ret;
}

static int insert_names(struct endpoints *endpoints, struct job *job)
{
	size_t lens[2] = {JOB_NAME_MAX, JOB_NAME_MAX};
	struct job_card own = {0};

	if (failed("fi_getname",
		   fi_getname(&endpoints->reliable.ep->fid, own.reliable, &lens[0])) ||
	    failed("fi_getname",
		   fi_getname(&endpoints->best_effort.ep->fid, own.best_effort, &lens[1])) ||
	    job_exchange(job, &own))
		return -1;
	for (unsigned short node = 0; node < job->nodes; node++)
		if (insert(&endpoints->reliable, node, job->cards[node].reliable) ||
		    insert(&endpoints->best_effort, node, job->cards[node].best_effort))
			return -1;
	return 0;
}

/* A group of this job alone: others of the same user, on the same hosts, hear nothing of it. Over
 * UDP there are no groups: broadcasts at best effort then fail. */
static int join_all(struct endpoints *endpoints, const struct job *job)
{
	const unsigned place = (unsigned) (job->group >> 16) & 0x7fffff;
	const unsigned port = (unsigned) job->group & 0xffff;
	char mac[18], service[8];
	struct fi_info *info;
	int ret;

	snprintf(mac, sizeof(mac), "01:00:5e:%02x:%02x:%02x", place >> 16, place >> 8 & 0xff,
		 place & 0xff);
	snprintf(service, sizeof(service), "%u", port ? port : JOB_PORT);
	info = info_of(true, mac, service, 0);
	if (!info)
		return -1;
	ret = fi_join(endpoints->best_effort.ep, info->dest_addr, 0, &endpoints->all, NULL);
	fi_freeinfo(info);
	return ret == -FI_EOPNOTSUPP ? 0 : failed("fi_join", ret);
}

int endpoints_open(struct endpoints *endpoints, struct job *job)
{
	struct fi_gamma_port_info info = {.size = sizeof(info)};
	int ret;

	endpoints->nodes = job->nodes;
	endpoints->own_node = job->node;
	ret = open_endpoint(endpoints, &endpoints->reliable, job, false) ||
	      open_endpoint(endpoints, &endpoints->best_effort, job, true);
	if (!ret && job->hosts)
		ret = insert_hosts(&endpoints->reliable, job, false) ||
		      insert_hosts(&endpoints->best_effort, job, true);
	else if (!ret)
		ret = insert_names(endpoints, job);
	if (ret || join_all(endpoints, job))
		return -1;
	endpoints->best_effort.ops->query(endpoints->best_effort.ep, 0, &info);
	endpoints->frame_max = info.whole_max;
	return 0;
}

static void close_endpoint(struct endpoint *endpoint)
{
	if (endpoint->ep)
		fi_close(&endpoint->ep->fid);
	if (endpoint->cq)
		fi_close(&endpoint->cq->fid);
	if (endpoint->av)
		fi_close(&endpoint->av->fid);
	if (endpoint->domain)
		fi_close(&endpoint->domain->fid);
	free(endpoint->peers);
}

void endpoints_close(struct endpoints *endpoints)
{
	if (endpoints->all)
		fi_close(&endpoints->all->fid);
	close_endpoint(&endpoints->reliable);
	close_endpoint(&endpoints->best_effort);
	if (endpoints->eq)
		fi_close(&endpoints->eq->fid);
	if (endpoints->fabric)
		fi_close(&endpoints->fabric->fid);
	*endpoints = (struct endpoints){0};
}

int endpoints_set(struct endpoints *endpoints, uint16_t port, fi_gamma_handler handler)
{
	struct fi_gamma_port_attr attr = {.size = sizeof(attr), .handler = handler};

	return failed("set", endpoints->reliable.ops->set(endpoints->reliable.ep, port, &attr)) ||
			       failed("set", endpoints->best_effort.ops->set(
						     endpoints->best_effort.ep, port, &attr))
		       ? -1
		       : 0;
}

ssize_t endpoints_send(struct endpoints *endpoints, unsigned short node, bool best_effort,
		       struct fi_gamma_msg *msg, uint64_t flags)
{
	struct endpoint *endpoint = best_effort ? &endpoints->best_effort : &endpoints->reliable;

	if (node == GAMMA_ALL_NODES && !endpoints->all)
		return -FI_EOPNOTSUPP;
	if (node == GAMMA_ALL_NODES)
		flags |= FI_MULTICAST;
	msg->addr = node == GAMMA_ALL_NODES ? fi_mc_addr(endpoints->all) : endpoint->peers[node];
	return endpoint->ops->send(endpoint->ep, msg, flags);
}

void endpoints_poll(struct endpoints *endpoints)
{
	endpoints->reliable.ops->poll(endpoints->reliable.ep, 64);
	endpoints->best_effort.ops->poll(endpoints->best_effort.ep, 64);
}

static bool completed_at(struct endpoint *endpoint, void **context, uint64_t *flags, int *error)
{
	struct fi_cq_err_entry failure = {0};
	struct fi_cq_msg_entry entry;
	ssize_t ret = fi_cq_read(endpoint->cq, &entry, 1);

	if (ret == 1) {
		*context = entry.op_context;
		*flags = entry.flags;
		*error = 0;
		return true;
	}
	if (ret != -FI_EAVAIL || fi_cq_readerr(endpoint->cq, &failure, 0) != 1)
		return false;
	*context = failure.op_context;
	*flags = failure.flags;
	*error = failure.err;
	return true;
}

bool endpoints_completed(struct endpoints *endpoints, void **context, uint64_t *flags, int *error)
{
	return completed_at(&endpoints->reliable, context, flags, error) ||
	       completed_at(&endpoints->best_effort, context, flags, error);
}

bool endpoints_failed(struct endpoints *endpoints)
{
	struct fi_eq_err_entry failure = {0};
	struct fi_eq_entry entry;
	bool failed = false;
	uint32_t event;
	ssize_t ret;

	/* Also that the group is joined, which is of no interest. */
	while ((ret = fi_eq_read(endpoints->eq, &event, &entry, sizeof(entry), 0)) > 0 ||
	       (ret == -FI_EAVAIL && fi_eq_readerr(endpoints->eq, &failure, 0) > 0))
		failed = failed || ret == -FI_EAVAIL;
	return failed;
}

void endpoints_release(struct endpoints *endpoints, bool best_effort, void *kept)
{
	struct endpoint *endpoint = best_effort ? &endpoints->best_effort : &endpoints->reliable;

	endpoint->ops->release(endpoint->ep, kept);
}
