// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-api: endpoints with the objects that they need, and the TCP connection of the two
 * processes.
 */
#include "api.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define API_VERSION FI_VERSION(1, 17)

static int aside = -1; /* the connection */
static struct node *open_nodes;

/* ---- the two processes ---- */

static struct addrinfo *tcp_address(const char *host, const char *port)
{
	struct addrinfo hints = {.ai_family = AF_INET,
				 .ai_socktype = SOCK_STREAM,
				 .ai_flags = host ? 0 : AI_PASSIVE};
	struct addrinfo *address = NULL;

	CHECK_EQ(getaddrinfo(host, port, &hints, &address), 0);
	return address;
}

static void use_connection(int fd)
{
	int on = 1;

	CHECK(fd >= 0);
	aside = fd;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void aside_listen(const char *port)
{
	struct addrinfo *address = tcp_address(NULL, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	CHECK_EQ(bind(fd, address->ai_addr, address->ai_addrlen), 0);
	CHECK_EQ(listen(fd, 1), 0);
	freeaddrinfo(address);
	use_connection(accept(fd, NULL, NULL));
	close(fd);
}

void aside_connect(const char *host, const char *port)
{
	struct addrinfo *address = tcp_address(host, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK_EQ(connect(fd, address->ai_addr, address->ai_addrlen), 0);
	freeaddrinfo(address);
	use_connection(fd);
}

/* A frame of this side may be lost: it must not stop working while it waits for the other. */
void progress_all(void)
{
	for (struct node *node = open_nodes; node; node = node->next) {
		fi_cq_read(node->tx_cq, NULL, 0);
		if (node->rx_cq != node->tx_cq)
			fi_cq_read(node->rx_cq, NULL, 0);
	}
}

void aside_exchange(const void *out, void *in, size_t len)
{
	struct pollfd set = {.fd = aside, .events = POLLIN};
	double end = now() + 3 * PATIENCE_S;
	size_t have = 0;

	CHECK_EQ(send(aside, out, len, MSG_NOSIGNAL), len);
	while (have < len) {
		ssize_t got = recv(aside, (char *) in + have, len - have, MSG_DONTWAIT);

		if (got == 0 || (got < 0 && errno != EAGAIN))
			fail_check(__FILE__, __LINE__, "the other process has ended", 0, 0);
		if (got > 0) {
			have += (size_t) got;
			continue;
		}
		CHECK(now() < end);
		progress_all();
		poll(&set, 1, open_nodes ? 0 : 100);
	}
}

void aside_sync(void)
{
	char out = 's', in = 0;

	aside_exchange(&out, &in, 1);
	CHECK_EQ(in, 's');
}

/* ---- endpoints ---- */

static struct fi_info *make_hints(const struct node_options *options)
{
	struct fi_info *hints = fi_allocinfo();

	CHECK(hints);
	hints->ep_attr->type = options->type ? options->type : FI_EP_RDM;
	hints->caps = FI_MSG | (hints->ep_attr->type == FI_EP_RDM ? FI_TAGGED : 0) | options->caps;
	hints->fabric_attr->prov_name = strdup("gamma");
	hints->domain_attr->threading = options->threading;
	hints->domain_attr->data_progress = options->progress;
	hints->domain_attr->av_type = options->av_type;
	hints->tx_attr->op_flags = options->tx_op_flags;
	hints->rx_attr->op_flags = options->rx_op_flags;
	hints->domain_attr->mr_mode = options->mr_mode;
	if (options->shared)
		hints->ep_attr->tx_ctx_cnt = hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	return hints;
}

static void get_info(struct node *node, const struct node_options *options)
{
	struct fi_info *hints = make_hints(options);

	CHECK_EQ(fi_getinfo(API_VERSION, NULL, options->port, options->port ? FI_SOURCE : 0, hints,
			    &node->info),
		 0);
	CHECK_EQ(strcmp(node->info->fabric_attr->prov_name, "gamma"), 0);
	if (options->mr_mode)
		node->info->domain_attr->mr_mode = options->mr_mode;
	fi_freeinfo(hints);
}

static void open_queues(struct node *node, const struct node_options *options)
{
	struct fi_cq_attr attr = {
		.format = options->format ? options->format : FI_CQ_FORMAT_TAGGED,
		.wait_obj = options->wait,
		.size = 8192,
	};
	struct fi_cntr_attr cntr_attr = {.wait_obj = options->wait};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_NONE};

	CHECK_EQ(fi_cq_open(node->domain, &attr, &node->tx_cq, NULL), 0);
	if (options->one_cq)
		node->rx_cq = node->tx_cq;
	else
		CHECK_EQ(fi_cq_open(node->domain, &attr, &node->rx_cq, NULL), 0);
	if (options->counters) {
		CHECK_EQ(fi_cntr_open(node->domain, &cntr_attr, &node->tx_cntr, NULL), 0);
		CHECK_EQ(fi_cntr_open(node->domain, &cntr_attr, &node->rx_cntr, NULL), 0);
	}
	if (options->events)
		CHECK_EQ(fi_eq_open(node->fabric, &eq_attr, &node->eq, NULL), 0);
}

static void open_shared(struct node *node)
{
	CHECK_EQ(node->info->ep_attr->rx_ctx_cnt, FI_SHARED_CONTEXT);
	CHECK_EQ(node->info->ep_attr->tx_ctx_cnt, FI_SHARED_CONTEXT);
	CHECK_EQ(fi_srx_context(node->domain, node->info->rx_attr, &node->srx, NULL), 0);
	CHECK_EQ(fi_stx_context(node->domain, node->info->tx_attr, &node->stx, NULL), 0);
}

static void bind_queues(struct node *node, const struct node_options *options, struct fid_ep *ep)
{
	if (node->srx) {
		CHECK_EQ(fi_ep_bind(ep, &node->srx->fid, 0), 0);
		CHECK_EQ(fi_ep_bind(ep, &node->stx->fid, 0), 0);
	}
	CHECK_EQ(fi_ep_bind(ep, &node->av->fid, 0), 0);
	if (options->one_cq) {
		CHECK_EQ(
			fi_ep_bind(ep, &node->tx_cq->fid, FI_TRANSMIT | FI_RECV | options->tx_bind),
			0);
	} else {
		CHECK_EQ(fi_ep_bind(ep, &node->tx_cq->fid, FI_TRANSMIT | options->tx_bind), 0);
		CHECK_EQ(fi_ep_bind(ep, &node->rx_cq->fid, FI_RECV | options->rx_bind), 0);
	}
	if (options->counters) {
		CHECK_EQ(fi_ep_bind(ep, &node->tx_cntr->fid, FI_SEND), 0);
		CHECK_EQ(fi_ep_bind(ep, &node->rx_cntr->fid, FI_RECV), 0);
	}
	if (options->events)
		CHECK_EQ(fi_ep_bind(ep, &node->eq->fid, 0), 0);
}

int node_try_open(struct node *node, const struct node_options *options)
{
	struct fi_av_attr av_attr = {.type = options->av_type ? options->av_type : FI_AV_MAP};
	int ret;

	memset(node, 0, sizeof(*node));
	get_info(node, options);
	CHECK_EQ(fi_fabric(node->info->fabric_attr, &node->fabric, NULL), 0);
	CHECK_EQ(fi_domain(node->fabric, node->info, &node->domain, NULL), 0);
	CHECK_EQ(fi_av_open(node->domain, &av_attr, &node->av, NULL), 0);
	open_queues(node, options);
	if (options->shared)
		open_shared(node);
	CHECK_EQ(fi_endpoint(node->domain, node->info, &node->ep, NULL), 0);
	bind_queues(node, options, node->ep);
	ret = fi_enable(node->ep);
	node->next = open_nodes;
	open_nodes = node;
	if (ret)
		node_close(node);
	return ret;
}

void node_open(struct node *node, const struct node_options *options)
{
	CHECK_EQ(node_try_open(node, options), 0);
}

struct fid_ep *node_another_endpoint(struct node *node, const struct node_options *options)
{
	struct fid_ep *ep;

	CHECK_EQ(fi_endpoint(node->domain, node->info, &ep, NULL), 0);
	bind_queues(node, options, ep);
	CHECK_EQ(fi_enable(ep), 0);
	return ep;
}

void node_close(struct node *node)
{
	struct node **place = &open_nodes;

	while (*place != node)
		place = &(*place)->next;
	*place = node->next;
	CHECK_EQ(fi_close(&node->ep->fid), 0);
	if (node->srx) {
		CHECK_EQ(fi_close(&node->srx->fid), 0);
		CHECK_EQ(fi_close(&node->stx->fid), 0);
	}
	CHECK_EQ(fi_close(&node->tx_cq->fid), 0);
	if (node->rx_cq != node->tx_cq)
		CHECK_EQ(fi_close(&node->rx_cq->fid), 0);
	if (node->tx_cntr) {
		CHECK_EQ(fi_close(&node->tx_cntr->fid), 0);
		CHECK_EQ(fi_close(&node->rx_cntr->fid), 0);
	}
	if (node->eq)
		CHECK_EQ(fi_close(&node->eq->fid), 0);
	CHECK_EQ(fi_close(&node->av->fid), 0);
	CHECK_EQ(fi_close(&node->domain->fid), 0);
	CHECK_EQ(fi_close(&node->fabric->fid), 0);
	fi_freeinfo(node->info);
}

void endpoint_name(struct fid_ep *ep, struct name *name)
{
	memset(name, 0, sizeof(*name));
	name->len = sizeof(name->bytes);
	CHECK_EQ(fi_getname(&ep->fid, name->bytes, &name->len), 0);
}

void node_name(struct node *node, struct name *name)
{
	endpoint_name(node->ep, name);
}

fi_addr_t node_insert(struct node *node, const struct name *name)
{
	fi_addr_t addr = FI_ADDR_NOTAVAIL;

	CHECK_EQ(fi_av_insert(node->av, name->bytes, 1, &addr, 0, NULL), 1);
	return addr;
}

void node_open_pair(struct node *node, const struct node_options *options)
{
	struct name own, theirs;

	node_open(node, options);
	node_name(node, &own);
	aside_exchange(&own, &theirs, sizeof(own));
	node->peer = node_insert(node, &theirs);
	aside_sync();
}

void node_close_pair(struct node *node)
{
	aside_sync();
	node_close(node);
}

static bool over_udp(const struct node *node)
{
	return strstr(node->info->domain_attr->name, "-udp");
}

void node_sizes(const struct node *node, struct sizes *sizes)
{
	const char *eager = getenv("FI_GAMMA_EAGER_SIZE");

	sizes->inject = node->info->tx_attr->inject_size;
	sizes->eager = eager ? strtoul(eager, NULL, 0) : over_udp(node) ? 65536 : 16384;
	sizes->mtu = node->info->nic->link_attr->mtu;
}

const char *node_peer_text(void)
{
	const char *link = getenv("FI_GAMMA_LINK");

	if (link && !strcmp(link, "udp6"))
		return "peer fd00:78::";
	return link && !strcmp(link, "udp") ? "peer 10.78.0." : "peer 02:47:41:4d:00:0";
}

unsigned long node_frames_sent(const struct node *node)
{
	const char *domain = node->info->domain_attr->name;
	const char *suffix = strstr(domain, "-udp");
	const int len = (int) (suffix ? (size_t) (suffix - domain) : strlen(domain));
	char path[300];
	unsigned long frames = 0;
	FILE *file;

	if (getenv("GAMMA_API_BAD_NETWORK")) /* repetitions and their acknowledgements would count
					      */
		return 0;
	snprintf(path, sizeof(path), "/sys/class/net/%.*s/statistics/tx_packets", len, domain);
	file = fopen(path, "r");
	CHECK(file && fscanf(file, "%lu", &frames) == 1);
	fclose(file);
	return frames;
}
