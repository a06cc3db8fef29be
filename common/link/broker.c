// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Requests to gammad, each on a connection of its own. Sockets arrive by SCM_RIGHTS. */
#include "link/broker.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"
#include "unix/scm.h"

enum { RANGE_TRIES = 16 }; /* if ports after a random one are taken */

static int connect_gammad(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct timeval timeout = {.tv_sec = GAMMA_BROKER_WAIT_S};
	int fd, ret;

	if (strlen(path) >= sizeof(name.sun_path))
		return -ENAMETOOLONG;
	strcpy(name.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* Also limits how long connect waits. */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	do
		ret = connect(fd, (struct sockaddr *) &name, sizeof(name)) ? -errno : 0;
	while (ret == -EINTR);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

/* ---- a request and its answer ---- */

struct exchange {
	enum gamma_broker_type asks, answers;
	void *ask; /* starts with a struct gamma_broker_header, which is filled in */
	size_t ask_len;
	void *answer;
	size_t answer_len;
	struct gamma_scm scm;            /* descriptors that came with the answer */
	int fd;                          /* the connection, -1: there is none */
	enum gamma_broker_reason reason; /* why gammad refused; OK: it did not */
};

static int receive_reply(struct exchange *exchange)
{
	struct pollfd polls = {.fd = exchange->fd, .events = POLLIN};
	const uint64_t until = gamma_now() + GAMMA_BROKER_WAIT_S * GAMMA_NS_PER_S;
	uint64_t now = gamma_now();
	int ret;
	ssize_t len;

	/* A program whose timer goes off again and again must not wait forever. */
	do {
		ret = poll(&polls, 1, (int) ((until - now) / GAMMA_NS_PER_MS));
		now = gamma_now();
	} while (ret < 0 && errno == EINTR && now < until);
	if (ret < 0 && errno == EINTR)
		ret = 0;
	if (ret <= 0)
		return ret ? -errno : -ETIMEDOUT;
	len = gamma_scm_receive(exchange->fd, exchange->answer, exchange->answer_len,
				&exchange->scm);
	if (len <= 0)
		return len ? (int) len : -ECONNRESET;
	exchange->reason = gamma_broker_message_check_answer(
		exchange->answer, (size_t) len, exchange->answers, exchange->answer_len);
	return gamma_broker_message_error(exchange->reason);
}

/* Leaves the connection open on success. */
static int send_request(const char *path, struct exchange *exchange)
{
	int ret;

	exchange->scm = (struct gamma_scm){.fds = {-1, -1}};
	exchange->fd = connect_gammad(path);
	if (exchange->fd < 0)
		return exchange->fd;
	gamma_broker_message_init_header(exchange->ask, exchange->asks, exchange->ask_len,
					 GAMMA_BROKER_OK);
	if (send(exchange->fd, exchange->ask, exchange->ask_len, MSG_NOSIGNAL) ==
	    (ssize_t) exchange->ask_len)
		ret = receive_reply(exchange);
	else
		ret = errno ? -errno : -EPROTO;
	if (ret) {
		gamma_scm_close(&exchange->scm);
		close(exchange->fd);
	}
	return ret;
}

static const char *failure_cause(const struct exchange *exchange, int error)
{
	if (exchange->reason)
		return gamma_broker_message_text(exchange->reason);
	switch (-error) {
	case ETIMEDOUT:
		return "no answer: see its log, and restart it";
	case ECONNRESET:
	case EPIPE:
		return "it has hung up: the user has too many connections, or it has ended";
	}
	return strerror(-error);
}

static void explain_failure(const char *path, const struct exchange *exchange, int error, char *why,
			    size_t why_len)
{
	if (exchange->fd < 0)
		snprintf(why, why_len,
			 "no CAP_NET_RAW, so no raw Ethernet, and no gammad at %.128s (%s): have "
			 "gammad started, run as root, or give the program the capability (setcap "
			 "cap_net_raw+ep PROGRAM)",
			 path, strerror(-error));
	else
		snprintf(why, why_len, "gammad at %.128s: %s", path,
			 failure_cause(exchange, error));
}

static void warn_failure(const char *path, const struct exchange *exchange, int error)
{
	char why[400];

	explain_failure(path, exchange, error, why, sizeof(why));
	gamma_error("%s", why);
}

/* ---- endpoints ---- */

void gamma_broker_close(struct gamma_brokered *brokered)
{
	close(brokered->packet_fd);
	close(brokered->port_fd);
	/* Last, so that gammad finds the socket gone. */
	close(brokered->gammad_fd);
}

static int request_endpoint(const char *path, const struct gamma_broker_open *ask,
			    struct gamma_brokered *brokered, struct exchange *exchange)
{
	struct gamma_broker_open open = *ask;
	int ret;

	*exchange = (struct exchange){
		.asks = GAMMA_BROKER_OPEN,
		.ask = &open,
		.ask_len = sizeof(open),
		.answers = GAMMA_BROKER_OPENED,
		.answer = &brokered->opened,
		.answer_len = sizeof(brokered->opened),
	};
	ret = send_request(path, exchange);
	if (ret)
		return ret;
	brokered->packet_fd = exchange->scm.fds[0];
	brokered->port_fd = exchange->scm.fds[1];
	brokered->gammad_fd = exchange->fd;
	if (brokered->packet_fd >= 0 && brokered->port_fd >= 0)
		return 0;
	/* This process may have no more descriptors. */
	gamma_scm_close(&exchange->scm);
	close(exchange->fd);
	return -EMFILE;
}

int gamma_broker_open(const char *path, const struct gamma_broker_open *ask,
		      struct gamma_brokered *brokered)
{
	struct exchange exchange;
	int ret = request_endpoint(path, ask, brokered, &exchange);

	if (ret)
		warn_failure(path, &exchange, ret);
	return ret;
}

static int request_range(const char *path, struct gamma_broker_open ask, unsigned count,
			 struct gamma_brokered *brokered, struct exchange *exchange)
{
	unsigned done = 0;
	int ret = 0;

	while (!ret && done < count) {
		/* After the last port there is none. */
		ret = done && !ask.port ? -EADDRINUSE
					: request_endpoint(path, &ask, &brokered[done], exchange);
		if (ret)
			break;
		memcpy(ask.beside, brokered[0].opened.mac, GAMMA_MAC_LEN);
		ask.port = (uint16_t) (brokered[done].opened.port + 1);
		done++;
	}
	while (ret && done)
		gamma_broker_close(&brokered[--done]);
	return ret;
}

int gamma_broker_open_range(const char *path, const struct gamma_broker_open *ask, unsigned count,
			    struct gamma_brokered *brokered)
{
	struct exchange exchange = {.fd = -1};
	int ret = -EADDRINUSE;

	for (int i = 0; ret == -EADDRINUSE && i < (ask->port ? 1 : RANGE_TRIES); i++)
		ret = request_range(path, *ask, count, brokered, &exchange);
	if (ret)
		warn_failure(path, &exchange, ret);
	return ret;
}

/* ---- multicast groups ---- */

int gamma_broker_join(const char *path, const struct gamma_broker_group *ask,
		      struct gamma_broker_joined *joined, int *fd)
{
	struct gamma_broker_group group = *ask;
	struct exchange exchange = {
		.asks = GAMMA_BROKER_JOIN,
		.ask = &group,
		.ask_len = sizeof(group),
		.answers = GAMMA_BROKER_JOINED,
		.answer = joined,
		.answer_len = sizeof(*joined),
	};
	int ret = send_request(path, &exchange);

	if (ret) {
		warn_failure(path, &exchange, ret);
		return ret;
	}
	close(exchange.fd);
	*fd = exchange.scm.fds[0];
	return ask->receives && *fd < 0 ? -EMFILE : 0;
}

int gamma_broker_leave(const char *path, const struct gamma_broker_group *ask)
{
	struct gamma_broker_group group = *ask;
	struct gamma_broker_done done;
	struct exchange exchange = {
		.asks = GAMMA_BROKER_LEAVE,
		.ask = &group,
		.ask_len = sizeof(group),
		.answers = GAMMA_BROKER_DONE,
		.answer = &done,
		.answer_len = sizeof(done),
	};
	int ret = send_request(path, &exchange);

	if (ret)
		warn_failure(path, &exchange, ret);
	else
		close(exchange.fd);
	return ret;
}

/* ---- what it serves ---- */

int gamma_broker_nics(const char *path, struct gamma_broker_served *served, char *why,
		      size_t why_len)
{
	struct gamma_broker_header ask;
	struct exchange exchange = {
		.asks = GAMMA_BROKER_NICS,
		.ask = &ask,
		.ask_len = sizeof(ask),
		.answers = GAMMA_BROKER_SERVED,
		.answer = served,
		.answer_len = sizeof(*served),
	};
	int ret = send_request(path, &exchange);

	if (ret) {
		explain_failure(path, &exchange, ret, why, why_len);
		return ret;
	}
	gamma_scm_close(&exchange.scm);
	close(exchange.fd);
	served->count = (uint32_t) gamma_min(served->count, GAMMA_BROKER_NICS_MAX);
	return 0;
}
