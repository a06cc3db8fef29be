// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-coll: the endpoint with its objects, and the TCP connections that join the processes. */
#include "coll.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define API_VERSION FI_VERSION(1, 17)

unsigned place, members;
struct fid_domain *node_domain;
struct fid_ep *node_ep;
struct fid_cq *node_cq;
struct fid_eq *node_eq;
struct fid_av *node_av;

static struct fid_fabric *fabric;
static struct fi_info *info;
static int aside[MEMBERS_MAX]; /* at place 0: of each member; else aside[0] */

double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double) time.tv_sec + 1e-9 * (double) time.tv_nsec;
}

/* ---- out of band ---- */

static void read_all(int fd, void *to, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t ret = recv(fd, (char *) to + done, len - done, 0);

		CHECK(ret > 0);
		done += (size_t) ret;
	}
}

static void write_all(int fd, const void *from, size_t len)
{
	CHECK_EQ(send(fd, from, len, MSG_NOSIGNAL), len);
}

static int connected(int fd)
{
	int on = 1;

	CHECK(fd >= 0);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static struct addrinfo *tcp_address(const char *host, const char *port)
{
	struct addrinfo hints = {.ai_family = AF_INET,
				 .ai_socktype = SOCK_STREAM,
				 .ai_flags = host ? 0 : AI_PASSIVE};
	struct addrinfo *address = NULL;

	CHECK_EQ(getaddrinfo(host, port, &hints, &address), 0);
	return address;
}

static void listen_for_all(const char *port)
{
	struct addrinfo *address = tcp_address(NULL, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	CHECK_EQ(bind(fd, address->ai_addr, address->ai_addrlen), 0);
	CHECK_EQ(listen(fd, MEMBERS_MAX), 0);
	freeaddrinfo(address);
	for (unsigned i = 1; i < members; i++) {
		int member = connected(accept(fd, NULL, NULL));
		uint32_t which;

		read_all(member, &which, sizeof(which));
		CHECK(which < members && !aside[which]);
		aside[which] = member;
	}
	close(fd);
}

static void connect_to_first(const char *host, const char *port)
{
	struct addrinfo *address = tcp_address(host, port);
	uint32_t which = place;
	double end = now() + 10;
	int fd, ret;

	do {
		fd = connected(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
		ret = connect(fd, address->ai_addr, address->ai_addrlen);
		if (ret) {
			close(fd);
			usleep(50000);
		}
	} while (ret && now() < end);
	CHECK_EQ(ret, 0);
	freeaddrinfo(address);
	aside[0] = fd;
	write_all(fd, &which, sizeof(which));
}

void aside_open(const char *host, const char *port)
{
	if (place)
		connect_to_first(host, port);
	else
		listen_for_all(port);
}

void aside_allgather(const void *own, void *all, size_t len)
{
	if (place) {
		write_all(aside[0], own, len);
		read_all(aside[0], all, len * members);
		return;
	}
	memcpy(all, own, len);
	for (unsigned i = 1; i < members; i++)
		read_all(aside[i], (char *) all + i * len, len);
	for (unsigned i = 1; i < members; i++)
		write_all(aside[i], all, len * members);
}

void aside_sync(void)
{
	char own = 0, all[MEMBERS_MAX];

	aside_allgather(&own, all, 1);
}

/* ---- the endpoint ---- */

static void open_objects(void)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_NONE};
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};

	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_COLLECTIVE;
	hints->fabric_attr->prov_name = strdup("gamma");
	CHECK_EQ(fi_getinfo(API_VERSION, NULL, NULL, 0, hints, &info), 0);
	fi_freeinfo(hints);
	CHECK(info->caps & FI_COLLECTIVE);
	CHECK_EQ(fi_fabric(info->fabric_attr, &fabric, NULL), 0);
	CHECK_EQ(fi_domain(fabric, info, &node_domain, NULL), 0);
	CHECK_EQ(fi_cq_open(node_domain, &cq_attr, &node_cq, NULL), 0);
	CHECK_EQ(fi_eq_open(fabric, &eq_attr, &node_eq, NULL), 0);
	CHECK_EQ(fi_av_open(node_domain, &av_attr, &node_av, NULL), 0);
	CHECK_EQ(fi_endpoint(node_domain, info, &node_ep, NULL), 0);
	CHECK_EQ(fi_ep_bind(node_ep, &node_cq->fid, FI_TRANSMIT | FI_RECV), 0);
	CHECK_EQ(fi_ep_bind(node_ep, &node_eq->fid, 0), 0);
	CHECK_EQ(fi_ep_bind(node_ep, &node_av->fid, 0), 0);
	CHECK_EQ(fi_enable(node_ep), 0);
}

void node_open(void)
{
	char own[NAME_MAX_LEN] = "", all[MEMBERS_MAX][NAME_MAX_LEN];
	size_t len = sizeof(own);
	fi_addr_t index;

	open_objects();
	CHECK_EQ(fi_getname(&node_ep->fid, own, &len), 0);
	aside_allgather(own, all, sizeof(own));
	for (unsigned i = 0; i < members; i++) {
		CHECK_EQ(fi_av_insert(node_av, all[i], 1, &index, 0, NULL), 1);
		CHECK_EQ(index, i);
	}
}

void node_close(void)
{
	CHECK_EQ(fi_close(&node_ep->fid), 0);
	CHECK_EQ(fi_close(&node_av->fid), 0);
	CHECK_EQ(fi_close(&node_eq->fid), 0);
	CHECK_EQ(fi_close(&node_cq->fid), 0);
	CHECK_EQ(fi_close(&node_domain->fid), 0);
	CHECK_EQ(fi_close(&fabric->fid), 0);
	fi_freeinfo(info);
}

/* ---- endings ---- */

bool poll_ending(struct ending *ending)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry failure = {0};
	ssize_t ret = fi_cq_read(node_cq, &entry, 1);

	memset(ending, 0, sizeof(*ending));
	if (ret == -FI_EAGAIN)
		return false;
	if (ret == -FI_EAVAIL) {
		CHECK_EQ(fi_cq_readerr(node_cq, &failure, 0), 1);
		ending->context = failure.op_context;
		ending->error = failure.err;
		fi_cq_strerror(node_cq, failure.prov_errno, failure.err_data, ending->text,
			       sizeof(ending->text));
		return true;
	}
	CHECK_EQ(ret, 1);
	CHECK_EQ(entry.flags, FI_COLLECTIVE);
	ending->context = entry.op_context;
	return true;
}

void wait_ending(void *context, struct ending *ending)
{
	double end = now() + LIMIT_S;

	while (!poll_ending(ending))
		CHECK(now() < end);
	CHECK(ending->context == context);
}

void wait_joined(struct fid_mc *mc, struct ending *ending)
{
	double end = now() + LIMIT_S;
	struct fi_eq_entry entry;
	struct fi_eq_err_entry failure = {0};
	struct ending none;
	uint32_t event;
	ssize_t ret;

	memset(ending, 0, sizeof(*ending));
	while ((ret = fi_eq_read(node_eq, &event, &entry, sizeof(entry), 0)) == -FI_EAGAIN) {
		CHECK(!poll_ending(&none));
		CHECK(now() < end);
	}
	if (ret == -FI_EAVAIL) {
		CHECK_EQ(fi_eq_readerr(node_eq, &failure, 0), sizeof(failure));
		CHECK(failure.fid == &mc->fid);
		ending->error = failure.err;
		fi_eq_strerror(node_eq, failure.prov_errno, failure.err_data, ending->text,
			       sizeof(ending->text));
		return;
	}
	CHECK_EQ(ret, sizeof(entry));
	CHECK_EQ(event, FI_JOIN_COMPLETE);
	CHECK(entry.fid == &mc->fid);
}

/* ---- groups ---- */

struct fid_av_set *open_set(unsigned first, unsigned stride)
{
	struct fi_av_set_attr attr = {
		.start_addr = first, .end_addr = members - 1, .stride = stride};
	struct fid_av_set *set;

	CHECK_EQ(fi_av_set(node_av, &attr, &set, NULL), 0);
	return set;
}

struct fid_mc *begin_join(struct fid_av_set *set)
{
	struct fid_mc *mc;
	fi_addr_t addr;

	CHECK_EQ(fi_av_set_addr(set, &addr), 0);
	CHECK_EQ(fi_join_collective(node_ep, addr, set, 0, &mc, NULL), 0);
	return mc;
}

struct fid_mc *join(unsigned first, unsigned stride)
{
	struct fid_av_set *set;
	struct ending ending;
	struct fid_mc *mc;

	if (place < first || (place - first) % stride)
		return NULL;
	set = open_set(first, stride);
	mc = begin_join(set);
	wait_joined(mc, &ending);
	if (ending.error)
		printf("join: %s\n", ending.text);
	CHECK_EQ(ending.error, 0);
	CHECK_EQ(fi_close(&set->fid), 0);
	return mc;
}
