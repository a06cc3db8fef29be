// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A ping-pong by active ports. The server runs without an argument, the client with the server's
 * host: each message runs a handler, which replies until 1,000 rounds are done.
 *
 *   cc -o port_pingpong port_pingpong.c -lfabric
 */
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext_gamma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PING = 1, ROUNDS = 1000, PATIENCE_S = 20 };

static struct fi_gamma_port_ops *ports;
static struct fid_cq *cq;
static unsigned next; /* the round that is to arrive */

static void must(const char *what, ssize_t ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, fi_strerror((int) -ret));
	exit(1);
}

static struct fi_gamma_msg ping(unsigned round)
{
	return (struct fi_gamma_msg){.head = "ping", .head_len = 4, .port = PING, .arg = round};
}

static void on_ping(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *is_server)
{
	struct fi_gamma_msg msg = ping(is_server ? arrival->arg : arrival->arg + 1);

	if (arrival->arg != next++ || arrival->head_len != 4 || memcmp(arrival->head, "ping", 4))
		must("a message out of order or damaged", -FI_EIO);
	if (is_server || next < ROUNDS)
		must("reply", ports->reply(ep, arrival, &msg, FI_INJECT));
}

static struct fid_ep *open_endpoint(const char *host, fi_addr_t *server)
{
	struct fi_info *hints = fi_allocinfo(), *info;
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_ep *ep;

	hints->caps = FI_MSG;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("gamma");
	must("fi_getinfo",
	     fi_getinfo(FI_VERSION(1, 17), host, "7001", host ? 0 : FI_SOURCE, hints, &info));
	must("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
	must("fi_domain", fi_domain(fabric, info, &domain, NULL));
	must("fi_av_open", fi_av_open(domain, &av_attr, &av, NULL));
	must("fi_cq_open", fi_cq_open(domain, &cq_attr, &cq, NULL));
	must("fi_endpoint", fi_endpoint(domain, info, &ep, NULL));
	must("fi_ep_bind", fi_ep_bind(ep, &av->fid, 0));
	must("fi_ep_bind",
	     fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION));
	must("fi_enable", fi_enable(ep));
	if (host && fi_av_insert(av, info->dest_addr, 1, server, 0, NULL) != 1)
		must("fi_av_insert", -FI_EINVAL);
	must("fi_gamma_open_ports", fi_gamma_open_ports(ep, &ports));
	return ep;
}

int main(int argc, char **argv)
{
	const time_t end = time(NULL) + PATIENCE_S;
	fi_addr_t server = FI_ADDR_UNSPEC;
	struct fid_ep *ep = open_endpoint(argv[1], &server);
	struct fi_gamma_port_attr attr = {
		.size = sizeof(attr), .handler = on_ping, .context = argc > 1 ? NULL : ep};
	struct fi_gamma_msg first = ping(0);

	must("set", ports->set(ep, PING, &attr));
	first.addr = server;
	puts("ready");
	fflush(stdout);
	if (argc > 1)
		must("send", ports->send(ep, &first, FI_INJECT));
	while (next < ROUNDS && time(NULL) < end)
		must("poll", ports->poll(ep, 16));
	printf("%u rounds\n", next);
	must("fi_close", fi_close(&ep->fid)); /* its last message has arrived then */
	return next < ROUNDS;
}
