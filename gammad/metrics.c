// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gammad's own state for Prometheus. Every reader gets the same answer: its request is discarded
 * unread. So there is nothing to parse, and nothing that a reader could change.
 */
#include "gammad/gammad.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/wire.h"

enum { BACKLOG = 8, TEXT_MAX = 64 << 10, SENT_MAX = 4096, ASKED_MAX = 64 << 10 };

/* ---- the text ---- */

struct text {
	char *bytes;
	size_t len, room;
};

/* A line that does not fit is left out as a whole. */
static void __attribute__((format(printf, 2, 3))) add(struct text *text, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(text->bytes + text->len, text->room - text->len, fmt, args);
	va_end(args);
	if (len >= 0 && (size_t) len < text->room - text->len)
		text->len += (size_t) len;
	else
		text->bytes[text->len] = 0;
}

static void add_family(struct text *text, const char *name, const char *type, const char *meaning)
{
	add(text, "# HELP gammad_%s %s\n# TYPE gammad_%s %s\n", name, meaning, name, type);
}

static unsigned endpoints_of(const struct gammad *gammad, const struct gammad_nic *nic)
{
	struct gamma_list *pos;
	unsigned count = 0;

	gamma_list_for_each (pos, &gammad->opens)
		count += gamma_list_entry(pos, struct gammad_open, entry)->nic == nic;
	return count;
}

static unsigned value_of(const struct gammad *gammad, const struct gammad_nic *nic, unsigned which)
{
	switch (which) {
	case 0:
		return nic->ifindex && nic->up && nic->carrier;
	case 1:
		return nic->mtu;
	case 2:
		return nic->slot_count;
	default:
		return endpoints_of(gammad, nic);
	}
}

/* Names of interfaces may have any character; the format wants \ and " written so. */
static void escape(const char *name, char escaped[2 * sizeof(((struct gammad_nic *) 0)->name)])
{
	for (; *name; name++) {
		if (*name == '"' || *name == '\\')
			*escaped++ = '\\';
		*escaped++ = *name < ' ' ? '?' : *name;
	}
	*escaped = 0;
}

static void add_nics(struct text *text, const struct gammad *gammad)
{
	static const char *const families[][2] = {
		{"nic_up", "1: the NIC is up and has a carrier"},
		{"nic_mtu_bytes", "MTU of the NIC"},
		{"nic_slots", "endpoints that the NIC may have"},
		{"nic_endpoints", "endpoints that the NIC has"},
	};
	char name[2 * sizeof(gammad->nics[0].name)];

	for (unsigned f = 0; f < gamma_array_size(families); f++) {
		add_family(text, families[f][0], "gauge", families[f][1]);
		for (unsigned i = 0; i < gammad->nic_count; i++) {
			escape(gammad->nics[i].name, name);
			add(text, "gammad_%s{nic=\"%s\"} %u\n", families[f][0], name,
			    value_of(gammad, &gammad->nics[i], f));
		}
	}
}

static unsigned length_of(const struct gamma_list *list)
{
	const struct gamma_list *pos;
	unsigned count = 0;

	gamma_list_for_each (pos, list)
		count++;
	return count;
}

static void add_totals(struct text *text, const struct gammad *gammad)
{
	struct gammad_counts counts;

	add_family(text, "clients", "gauge", "programs that are connected");
	add(text, "gammad_clients %u\n", length_of(&gammad->clients));
	if (gammad_kernel_read_counts(gammad, &counts)) {
		add_family(text, "endpoints_opened_total", "counter", "endpoints opened");
		add(text, "gammad_endpoints_opened_total %llu\n",
		    (unsigned long long) counts.opened);
	}
	add_family(text, "frames_refused_total", "counter",
		   "frames that programs were not allowed to send");
	add(text, "gammad_frames_refused_total %llu\n",
	    (unsigned long long) gammad_kernel_count_dropped(gammad));
}

size_t gammad_metrics_format(const struct gammad *gammad, char *bytes, size_t room)
{
	struct text text = {.bytes = bytes, .room = room};

	add(&text, "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
		   "Connection: close\r\n\r\n");
	add_family(&text, "info", "gauge", "the release, and the version of the protocol");
	add(&text, "gammad_info{version=\"%d.%d.%d\",wire=\"%d\"} 1\n", GAMMA_VERSION_MAJOR,
	    GAMMA_VERSION_MINOR, GAMMA_VERSION_RELEASE, GAMMA_VERSION);
	add_nics(&text, gammad);
	add_totals(&text, gammad);
	return text.len;
}

/* ---- readers ---- */

static void end_reader(struct gammad_metrics_reader *reader)
{
	if (reader->used)
		close(reader->fd); /* epoll forgets it */
	reader->used = false;
}

/* The oldest one goes if there is no other place: readers that only connect hold nobody up. */
static struct gammad_metrics_reader *place_for(struct gammad *gammad)
{
	struct gammad_metrics_reader *place = &gammad->metrics.readers[0];

	for (unsigned i = 0; i < GAMMAD_METRICS_READERS; i++) {
		struct gammad_metrics_reader *reader = &gammad->metrics.readers[i];

		if (!reader->used)
			return reader;
		if (reader->number < place->number)
			place = reader;
	}
	end_reader(place);
	return place;
}

void gammad_metrics_accept(struct gammad *gammad)
{
	int fd = accept4(gammad->metrics.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct gammad_metrics_reader *reader;

	if (fd < 0)
		return;
	reader = place_for(gammad);
	*reader = (struct gammad_metrics_reader){
		.watch = GAMMAD_WATCH_METRICS_READER,
		.fd = fd,
		.number = ++gammad->metrics.accepted,
	};
	reader->used = gammad_watch_fd(gammad, fd, &reader->watch);
	if (!reader->used)
		close(fd);
}

/* The buffer of a socket takes the text at once; a reader that lets it fill gets a part. */
static void answer(const struct gammad *gammad, struct gammad_metrics_reader *reader)
{
	static char text[TEXT_MAX];
	size_t len = gammad_metrics_format(gammad, text, sizeof(text));

	reader->answered = true;
	send(reader->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	shutdown(reader->fd, SHUT_WR);
}

/* Its request is discarded: unread it would make the kernel reset the connection, and the
 * answer with it. */
void gammad_metrics_handle(struct gammad *gammad, struct gammad_metrics_reader *reader)
{
	char asked[SENT_MAX];
	ssize_t len = recv(reader->fd, asked, sizeof(asked), MSG_DONTWAIT);

	if (len > 0 && !reader->answered)
		answer(gammad, reader);
	reader->asked += len > 0 ? (size_t) len : 0;
	if (!len || reader->asked > ASKED_MAX || (len < 0 && errno != EAGAIN && errno != EINTR))
		end_reader(reader);
}

/* ---- listening ---- */

static int listen_unix(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = GAMMAD_METRICS_SOCKET};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	unlink(GAMMAD_METRICS_SOCKET);
	if (fd < 0 || bind(fd, (struct sockaddr *) &name, sizeof(name)) ||
	    chmod(GAMMAD_METRICS_SOCKET, 0666) || listen(fd, BACKLOG)) {
		gamma_warn(GAMMAD_METRICS_SOCKET ": %s; leave `metrics` out of gammad.conf",
			   strerror(errno));
		return -EIO;
	}
	return fd;
}

static int listen_port(uint16_t port)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *) &name, sizeof(name)) || listen(fd, BACKLOG)) {
		gamma_warn(
			"port %u of localhost, for metrics: %s; name another port in gammad.conf",
			port, strerror(errno));
		return -EIO;
	}
	return fd;
}

int gammad_metrics_listen(struct gammad *gammad)
{
	struct gammad_metrics *metrics = &gammad->metrics;

	if (!gammad->conf.metrics)
		return 0;
	metrics->fd = gammad->conf.metrics == GAMMAD_METRICS_UNIX
			      ? listen_unix()
			      : listen_port((uint16_t) gammad->conf.metrics);
	if (metrics->fd < 0)
		return metrics->fd;
	metrics->watch = GAMMAD_WATCH_METRICS;
	return gammad_watch_fd(gammad, metrics->fd, &metrics->watch) ? 0 : -EIO;
}
