// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A work queue by active ports. The server, without an argument, hands out 1,000 numbers; each
 * client, with the server's host, asks for one, squares it in its handler, and replies. Build:
 *   cc -o port_work port_work.c -lfabric
 */
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext_gamma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESULT = 1, WORK, ITEMS = 1000, NONE = 0, PATIENCE_MS = 20000 };

static struct fi_gamma_port_ops *ports;
static unsigned long long sum;
static unsigned given, done,
	over; /* items handed out, and squared; a client has heard of the end */

static void must(const char *what, ssize_t ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, fi_strerror((int) -ret));
	exit(1);
}

/* At the server: a result, or a client's question (NONE). The reply is the next item. */
static void on_result(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	struct fi_gamma_msg next = {.port = WORK, .arg = given < ITEMS ? ++given : NONE};

	(void) context;
	sum += arrival->arg;
	done += arrival->arg != NONE;
	over += next.arg == NONE;
	must("reply", ports->reply(ep, arrival, &next, FI_INJECT));
}

/* At a client: an item. The reply is its square. */
static void on_work(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	struct fi_gamma_msg result = {.port = RESULT, .arg = arrival->arg * arrival->arg};

	(void) context;
	over = arrival->arg == NONE;
	done += !over;
	if (!over)
		must("reply", ports->reply(ep, arrival, &result, FI_INJECT));
}

static struct fid_ep *open_endpoint(const char *host, fi_addr_t *server)
{
	struct fi_info *hints = fi_allocinfo(), *info;
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	hints->caps = FI_MSG;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("gamma");
	must("fi_getinfo",
	     fi_getinfo(FI_VERSION(1, 17), host, "7002", host ? 0 : FI_SOURCE, hints, &info));
	must("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
	must("fi_domain", fi_domain(fabric, info, &domain, NULL));
	must("fi_av_open", fi_av_open(domain, &av_attr, &av, NULL));
	must("fi_cq_open", fi_cq_open(domain, &cq_attr, &cq, NULL));
	must("fi_endpoint", fi_endpoint(domain, info, &ep, NULL));
	must("fi_ep_bind", fi_ep_bind(ep, &av->fid, 0));
	must("fi_ep_bind", fi_ep_bind(ep, &cq->fid, FI_SEND | FI_RECV));
	must("fi_enable", fi_enable(ep));
	if (host && fi_av_insert(av, info->dest_addr, 1, server, 0, NULL) != 1)
		must("fi_av_insert", -FI_EINVAL);
	must("fi_gamma_open_ports", fi_gamma_open_ports(ep, &ports));
	return ep;
}

int main(int argc, char **argv)
{
	struct fi_gamma_msg question = {.port = RESULT, .arg = NONE};
	struct fid_ep *ep = open_endpoint(argv[1], &question.addr);
	struct fi_gamma_port_attr attr = {.size = sizeof(attr),
					  .handler = argc > 1 ? on_work : on_result};

	must("set", ports->set(ep, argc > 1 ? WORK : RESULT, &attr));
	setlinebuf(stdout);
	puts("ready");
	if (argc > 1)
		must("send", ports->send(ep, &question, FI_INJECT));
	while (!over || (argc == 1 && done < ITEMS))
		must("wait", ports->wait(ep, PATIENCE_MS));
	printf("%u items, sum %llu\n", done, sum);
	return fi_close(&ep->fid) != 0;
}
