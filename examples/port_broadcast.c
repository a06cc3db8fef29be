// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A broadcast by active ports, at best effort: `port_broadcast` listens on each of some hosts,
 * `port_broadcast say TEXT` on one more sends the text to all of them in one frame, several times.
 *   cc -o port_broadcast port_broadcast.c -lfabric
 */
#include <arpa/inet.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext_gamma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NEWS = 1, TIMES = 20, PAUSE_US = 50000, PATIENCE_MS = 20000 };

static struct fi_gamma_port_ops *ports;
static int heard;

static void must(const char *what, ssize_t ret)
{
	if (ret < 0) {
		fprintf(stderr, "%s: %s\n", what, fi_strerror((int) -ret));
		exit(1);
	}
}

static void on_news(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	(void) ep, (void) context;
	if (!heard++)
		printf("heard %.*s\n", (int) arrival->len, (const char *) arrival->data);
}

static struct fid_ep *open_endpoint(void)
{
	struct fi_info *hints = fi_allocinfo(), *info;
	struct fi_av_attr av_attr = {0};
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_MSG};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_NONE};
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_eq *eq;
	struct fid_ep *ep;
	hints->caps = FI_MSG | FI_MULTICAST;
	hints->ep_attr->type = FI_EP_DGRAM;
	hints->fabric_attr->prov_name = strdup("gamma");
	must("fi_getinfo", fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	must("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
	must("fi_domain", fi_domain(fabric, info, &domain, NULL));
	must("fi_av_open", fi_av_open(domain, &av_attr, &av, NULL));
	must("fi_cq_open", fi_cq_open(domain, &cq_attr, &cq, NULL));
	must("fi_eq_open", fi_eq_open(fabric, &eq_attr, &eq, NULL));
	must("fi_endpoint", fi_endpoint(domain, info, &ep, NULL));
	must("fi_ep_bind", fi_ep_bind(ep, &av->fid, 0));
	must("fi_ep_bind", fi_ep_bind(ep, &eq->fid, 0));
	must("fi_ep_bind", fi_ep_bind(ep, &cq->fid, FI_SEND | FI_RECV | FI_SELECTIVE_COMPLETION));
	must("fi_enable", fi_enable(ep));
	must("fi_gamma_open_ports", fi_gamma_open_ports(ep, &ports));
	return ep;
}

/* A group is a multicast MAC address and a port: fi_gamma(7). */
static struct fid_mc *join(struct fid_ep *ep)
{
	unsigned char name[64] = {0}, mac[] = {0x01, 0x00, 0x5e, 0, 0, 9};
	size_t len = sizeof(name);
	uint16_t port = htons(1234);
	struct fid_mc *mc;

	must("fi_getname", fi_getname(&ep->fid, name, &len)); /* for its last fields */
	memcpy(name, mac, sizeof(mac));
	memcpy(name + 6, &port, sizeof(port));
	memset(name + 8, 0, 4);
	must("fi_join", fi_join(ep, name, 0, &mc, NULL));
	return mc;
}

int main(int argc, char **argv)
{
	struct fi_gamma_port_attr attr = {.size = sizeof(attr), .handler = on_news};
	struct fid_ep *ep = open_endpoint();
	struct fid_mc *mc = join(ep);
	struct iovec text = {.iov_base = argv[argc - 1], .iov_len = strlen(argv[argc - 1])};
	struct fi_gamma_msg msg = {
		.iov = &text, .iov_count = 1, .addr = fi_mc_addr(mc), .port = NEWS};

	must("set", ports->set(ep, NEWS, &attr));
	fprintf(stderr, "ready\n");
	for (int i = 0; argc > 2 && i < TIMES; i++, usleep(PAUSE_US))
		must("send", ports->send(ep, &msg, FI_MULTICAST | FI_INJECT));
	while (argc == 1 && !heard)
		must("wait", ports->wait(ep, PATIENCE_MS));
	return fi_close(&mc->fid) || fi_close(&ep->fid);
}
