// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A peer that is known by its host's name alone, as FI_DIRECTED_RECV and FI_SOURCE see it. Without
 * an argument it waits for a question on port 7000 and answers it; with the host's name it asks,
 * and takes an answer from that peer only. Started by test_gammad.sh.
 */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { QUESTION = 1, ANSWER = 2, NAME_MAX_LEN = 64, PATIENCE_S = 20 };

static struct fid_ep *ep;
static struct fid_av *av;
static struct fid_cq *cq;
static struct fi_info *info;

static void must(const char *what, int ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, fi_strerror(-ret));
	exit(1);
}

static void open_all(const char *node)
{
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fi_info *hints = fi_allocinfo();
	struct fid_fabric *fabric;
	struct fid_domain *domain;

	if (!hints)
		exit(1);
	hints->caps = FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("gamma");
	must("fi_getinfo",
	     fi_getinfo(FI_VERSION(1, 17), node, "7000", node ? 0 : FI_SOURCE, hints, &info));
	fi_freeinfo(hints);
	must("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
	must("fi_domain", fi_domain(fabric, info, &domain, NULL));
	must("fi_av_open", fi_av_open(domain, &av_attr, &av, NULL));
	must("fi_cq_open", fi_cq_open(domain, &cq_attr, &cq, NULL));
	must("fi_endpoint", fi_endpoint(domain, info, &ep, NULL));
	must("fi_ep_bind", fi_ep_bind(ep, &av->fid, 0));
	must("fi_ep_bind", fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	must("fi_enable", fi_enable(ep));
}

/* Until an operation of that kind is complete; returns where its message came from. */
static fi_addr_t wait_for(uint64_t flag)
{
	const time_t end = time(NULL) + PATIENCE_S;
	struct fi_cq_tagged_entry entry;
	fi_addr_t source;

	for (;;) {
		ssize_t ret = fi_cq_readfrom(cq, &entry, 1, &source);

		if (ret == 1 && (entry.flags & flag))
			return source;
		if (ret < 0 && ret != -FI_EAGAIN)
			must("fi_cq_readfrom", (int) ret);
		if (time(NULL) > end)
			must("fi_cq_readfrom", -FI_ETIMEDOUT);
	}
}

static void answer(void)
{
	char name[NAME_MAX_LEN];
	fi_addr_t peer;

	must("fi_trecv",
	     (int) fi_trecv(ep, name, sizeof(name), NULL, FI_ADDR_UNSPEC, QUESTION, 0, NULL));
	puts("ready");
	fflush(stdout);
	wait_for(FI_RECV);
	if (fi_av_insert(av, name, 1, &peer, 0, NULL) != 1)
		must("fi_av_insert", -FI_EINVAL);
	must("fi_tsend", (int) fi_tsend(ep, "", 1, NULL, peer, ANSWER, NULL));
	wait_for(FI_SEND);
}

static int ask(void)
{
	char name[NAME_MAX_LEN] = "", byte;
	size_t len = sizeof(name);
	fi_addr_t peer;

	if (fi_av_insert(av, info->dest_addr, 1, &peer, 0, NULL) != 1)
		must("fi_av_insert", -FI_EINVAL);
	must("fi_getname", fi_getname(&ep->fid, name, &len));
	must("fi_trecv", (int) fi_trecv(ep, &byte, 1, NULL, peer, ANSWER, 0, NULL));
	must("fi_tsend", (int) fi_tsend(ep, name, sizeof(name), NULL, peer, QUESTION, NULL));
	return wait_for(FI_RECV) == peer ? 0 : 1;
}

int main(int argc, char **argv)
{
	int ret = 0;

	open_all(argc > 1 ? argv[1] : NULL);
	if (argc > 1)
		ret = ask();
	else
		answer();
	/* What has been sent is acknowledged before the endpoint goes. */
	fi_close(&ep->fid);
	return ret;
}
