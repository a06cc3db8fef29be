// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-port-storm: requests and replies by active ports between all hosts at once.
 *
 *   gamma-port-storm FOLDER NUMBER PROCESSES REQUESTS     with each number from 0 on
 *
 * Each process sends so many requests to each other one. A handler checks a request, and replies
 * with its bytes; that of the reply checks that it is the next one. The processes find each other
 * by their endpoints' names, which they write into the folder.
 */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rdma/fi_ext_gamma.h"

enum { REQUEST = 1, REPLY, FAREWELL }; /* ports */
enum { HOSTS_MAX = 16, LENGTH_MAX = 4000, TURN = 32, AWAY = 64, NAME_MAX_LEN = 64 };
enum { PATIENCE_S = 90, PATIENCE_OF_REQUESTS = 500 /* in a second, at least */ };

/* What goes in front of the bytes. */
struct head {
	uint32_t from, number; /* index of the asking host; of its requests to one host */
};

static struct fi_gamma_port_ops *ports;
static struct fid_ep *ep;
static struct fid_av *av;
static unsigned hosts, own, requests, farewells;
static fi_addr_t peers[HOSTS_MAX];
static unsigned asked[HOSTS_MAX], answered[HOSTS_MAX], served[HOSTS_MAX];
static unsigned char bytes[LENGTH_MAX];

static void must(const char *what, ssize_t ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "host %u: %s: %s\n", own, what, fi_strerror((int) -ret));
	exit(1);
}

static void expect(bool condition, const char *what, const struct head *head)
{
	if (condition)
		return;
	fprintf(stderr, "host %u: request %u of %u: %s\n", own, head->number, head->from, what);
	exit(1);
}

static unsigned length_of(const struct head *head)
{
	return (head->number * 977 + head->from * 131) % (head->number % 7 ? 100 : LENGTH_MAX);
}

static unsigned char byte_of(const struct head *head)
{
	return (unsigned char) (head->number * 31 + head->from * 7 + 1);
}

static void check(const struct fi_gamma_arrival *arrival, const struct head *head)
{
	const unsigned char *data = arrival->data;

	expect(arrival->len == length_of(head), "its length", head);
	for (size_t i = 0; i < arrival->len; i++)
		expect(data[i] == byte_of(head), "its bytes", head);
}

static void on_request(struct fid_ep *unused, const struct fi_gamma_arrival *arrival, void *context)
{
	struct head head;
	struct iovec iov = {.iov_base = (void *) arrival->data, .iov_len = arrival->len};
	struct fi_gamma_msg msg = {.head = &head,
				   .head_len = sizeof(head),
				   .iov = &iov,
				   .iov_count = 1,
				   .port = REPLY};

	(void) unused, (void) context;
	memcpy(&head, arrival->head, sizeof(head));
	expect(arrival->head_len == sizeof(head) && head.from < hosts, "its head", &head);
	expect(head.number == served[head.from]++, "its order", &head);
	check(arrival, &head);
	must("reply", ports->reply(ep, arrival, &msg, FI_INJECT));
}

/* The replier is the AV entry that the reply came from. */
static void on_reply(struct fid_ep *unused, const struct fi_gamma_arrival *arrival, void *context)
{
	struct head head;

	(void) unused, (void) context;
	memcpy(&head, arrival->head, sizeof(head));
	expect(head.from == own, "whose it is", &head);
	expect(arrival->source < HOSTS_MAX, "its source", &head);
	expect(head.number == answered[arrival->source]++, "its reply's order", &head);
	check(arrival, &head);
}

static void on_farewell(struct fid_ep *unused, const struct fi_gamma_arrival *arrival,
			void *context)
{
	(void) unused, (void) arrival, (void) context;
	farewells++;
}

static struct fi_info *find(void)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	hints->caps = FI_MSG | FI_SOURCE;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("gamma");
	must("fi_getinfo", fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	return info;
}

static void open_all(void)
{
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fi_info *info = find();
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;

	must("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
	must("fi_domain", fi_domain(fabric, info, &domain, NULL));
	must("fi_av_open", fi_av_open(domain, &av_attr, &av, NULL));
	must("fi_cq_open", fi_cq_open(domain, &cq_attr, &cq, NULL));
	must("fi_endpoint", fi_endpoint(domain, info, &ep, NULL));
	must("fi_ep_bind", fi_ep_bind(ep, &av->fid, 0));
	must("fi_ep_bind",
	     fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION));
	must("fi_enable", fi_enable(ep));
	must("fi_gamma_open_ports", fi_gamma_open_ports(ep, &ports));
	fi_freeinfo(info);
}

/* All of it at once: it is renamed when it is written. */
static void write_name(const char *folder)
{
	char name[NAME_MAX_LEN], path[PATH_MAX], draft[PATH_MAX];
	size_t len = sizeof(name);
	FILE *file;

	must("fi_getname", fi_getname(&ep->fid, name, &len));
	snprintf(path, sizeof(path), "%s/%u", folder, own);
	snprintf(draft, sizeof(draft), "%s/draft%u", folder, own);
	file = fopen(draft, "w");
	if (!file || fwrite(name, len, 1, file) != 1 || fclose(file) || rename(draft, path))
		must(path, -FI_EIO);
}

/* Their indices are those of the AV: the own process has one too. */
static void insert(const char *folder, unsigned number, time_t end)
{
	char name[NAME_MAX_LEN], path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%u", folder, number);
	while (!(file = fopen(path, "r"))) {
		must("poll", ports->poll(ep, TURN));
		if (time(NULL) > end)
			must("waiting for the others' names", -FI_ETIMEDOUT);
	}
	if (!fread(name, 1, sizeof(name), file) ||
	    fi_av_insert(av, name, 1, &peers[number], 0, NULL) != 1)
		must(path, -FI_EINVAL);
	fclose(file);
}

static void set(uint16_t port, fi_gamma_handler handler)
{
	struct fi_gamma_port_attr attr = {.size = sizeof(attr), .handler = handler};

	must("set", ports->set(ep, port, &attr));
}

static bool ask(unsigned host)
{
	struct head head = {.from = own, .number = asked[host]};
	struct iovec iov = {.iov_base = bytes, .iov_len = length_of(&head)};
	struct fi_gamma_msg msg = {.head = &head,
				   .head_len = sizeof(head),
				   .iov = &iov,
				   .iov_count = 1,
				   .addr = peers[host],
				   .port = REQUEST};
	ssize_t ret;

	memset(bytes, byte_of(&head), iov.iov_len);
	ret = ports->send(ep, &msg, FI_INJECT);
	if (ret == -FI_EAGAIN)
		return false;
	must("send", ret);
	asked[host]++;
	return true;
}

static unsigned sum_of(const unsigned *numbers)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < hosts; i++)
		sum += numbers[i];
	return sum;
}

/* At most AWAY requests to each host wait for their replies. */
static void storm(time_t end)
{
	const unsigned all = requests * (hosts - 1);

	while (sum_of(answered) < all || sum_of(served) < all) {
		for (unsigned i = 0; i < hosts; i++)
			if (i != own && asked[i] < requests && asked[i] - answered[i] < AWAY)
				ask(i);
		must("poll", ports->poll(ep, TURN));
		if (time(NULL) > end)
			must("waiting", -FI_ETIMEDOUT);
	}
}

/* Nobody closes before all have their replies. */
static void part(time_t end)
{
	for (unsigned i = 0; i < hosts; i++) {
		struct fi_gamma_msg msg = {.addr = peers[i], .port = FAREWELL};

		while (i != own && ports->send(ep, &msg, FI_INJECT) == -FI_EAGAIN)
			must("poll", ports->poll(ep, TURN));
	}
	while (farewells < hosts - 1) {
		must("poll", ports->poll(ep, TURN));
		if (time(NULL) > end)
			must("waiting for the others", -FI_ETIMEDOUT);
	}
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + PATIENCE_S;

	if (argc == 5) {
		own = (unsigned) atoi(argv[2]);
		hosts = (unsigned) atoi(argv[3]);
		requests = (unsigned) atoi(argv[4]);
	}
	if (argc != 5 || own >= hosts || hosts > HOSTS_MAX) {
		fprintf(stderr, "usage: gamma-port-storm FOLDER NUMBER PROCESSES REQUESTS\n");
		return 2;
	}
	end += requests / PATIENCE_OF_REQUESTS;
	open_all();
	set(REQUEST, on_request);
	set(REPLY, on_reply);
	set(FAREWELL, on_farewell);
	write_name(argv[1]);
	for (unsigned i = 0; i < hosts; i++)
		insert(argv[1], i, end);
	storm(end);
	part(end);
	printf("host %u: %u served, %u answered\n", own, sum_of(served), sum_of(answered));
	must("fi_close", fi_close(&ep->fid));
	return 0;
}
