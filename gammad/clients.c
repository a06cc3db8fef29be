// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Clients of gammad's socket. gammad reads one request at a time and answers at once, or when a
 * worker has done the job (workers.c). It waits for no client: a client that does not read its
 * answers is disconnected.
 */
#include "gammad/gammad.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "gammad/linger.h"
#include "unix/scm.h"
#include "wire/wire.h"

enum { BACKLOG = 1024, GROUPS_MAX = 1024 };

int gammad_clients_listen(struct gammad *gammad)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = GAMMA_BROKER_PATH};

	unlink(GAMMA_BROKER_PATH);
	gammad->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	gammad->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (gammad->listen_fd < 0 ||
	    bind(gammad->listen_fd, (struct sockaddr *) &name, sizeof(name)) ||
	    chmod(GAMMA_BROKER_PATH, 0666) || listen(gammad->listen_fd, BACKLOG)) {
		gamma_warn(GAMMA_BROKER_PATH ": %s; start gammad as root", strerror(errno));
		return -EIO;
	}
	if (!gamma_scm_refuse(gammad->listen_fd) && gammad_linger_init()) {
		gamma_warn("no timer can be made: %s; raise RLIMIT_SIGPENDING", strerror(errno));
		return -EIO;
	}
	gammad->listen_watch = GAMMAD_WATCH_LISTEN;
	return gammad_watch_fd(gammad, gammad->listen_fd, &gammad->listen_watch) ? 0 : -EIO;
}

/* ---- coming and going ---- */

/* All user ids that may have no endpoints count as one user: one person may have thousands of them.
 */
static unsigned connections_of(const struct gammad *gammad, uid_t uid)
{
	bool permitted = gammad_conf_permits_uid(&gammad->conf, uid);
	struct gamma_list *pos;
	unsigned count = 0;

	gamma_list_for_each (pos, &gammad->clients) {
		uid_t other = gamma_list_entry(pos, struct gammad_client, entry)->uid;

		count += permitted ? other == uid : !gammad_conf_permits_uid(&gammad->conf, other);
	}
	return count;
}

/* The peer's groups are those that it had when it connected; gammad.conf's may have changed since.
 */
bool gammad_clients_in_group(const struct gammad *gammad, const struct gammad_client *client)
{
	gid_t groups[GROUPS_MAX];
	socklen_t len = sizeof(groups);

	if (!client->uid || gammad_conf_allows(&gammad->conf, client->gid))
		return true;
	if (getsockopt(client->fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len))
		return false;
	for (size_t i = 0; i < len / sizeof(*groups); i++) {
		if (gammad_conf_allows(&gammad->conf, groups[i]))
			return true;
	}
	return false;
}

static bool may_connect(const struct gammad *gammad, const struct ucred *peer)
{
	/* Each process keeps one connection for its endpoint, and may open another one to ask
	 * something. */
	unsigned most = GAMMAD_CLIENTS_EXTRA;

	if (gammad_conf_permits_uid(&gammad->conf, peer->uid))
		most += 2 * gammad_conf_limit(&gammad->conf, peer->uid);

	return !peer->uid || connections_of(gammad, peer->uid) < most;
}

/* A job that nobody waits for must not delay later ones. */
static void release_job(struct gammad_job *job)
{
	if (!job->reading && gammad_workers_cancel(job)) {
		gammad_group_interfaces_finish(job);
		free(job);
	} else {
		job->client = NULL;
	}
}

/* Its endpoint may stay open, for instance in a child of the process. */
static void disconnect(struct gammad *gammad, struct gammad_client *client)
{
	if (client->open)
		client->open->client = NULL;
	if (client->job)
		release_job(client->job);
	gammad->sweep_pending |= client->open != NULL;
	gamma_list_remove(&client->entry);
	gammad_linger_close(client->fd);
	free(client);
}

static void accept_client(struct gammad *gammad, int fd)
{
	struct gammad_client *client = calloc(1, sizeof(*client));
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (!client || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ||
	    !may_connect(gammad, &peer)) {
		gammad_linger_close(fd);
		free(client);
		return;
	}
	*client = (struct gammad_client){
		.watch = GAMMAD_WATCH_CLIENT,
		.fd = fd,
		.uid = peer.uid,
		.pid = peer.pid,
		.gid = peer.gid,
	};
	gamma_list_append(&gammad->clients, &client->entry);
	if (!gammad_watch_fd(gammad, fd, &client->watch))
		disconnect(gammad, client);
}

/* Without a free descriptor the connection would stay queued and wake gammad again and again.
 * A spare descriptor makes room to accept and close it. */
static void reject_without_fd(struct gammad *gammad)
{
	int fd;

	close(gammad->spare_fd);
	fd = accept4(gammad->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		gammad_linger_close(fd);
	gammad->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	gamma_warn("a client was refused: no descriptor left; raise LimitNOFILE");
}

void gammad_clients_accept(struct gammad *gammad)
{
	int fd = accept4(gammad->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0)
		accept_client(gammad, fd);
	else if (errno == EMFILE || errno == ENFILE)
		reject_without_fd(gammad);
}

static void set_events(struct gammad *gammad, struct gammad_client *client, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = &client->watch};

	epoll_ctl(gammad->epoll, EPOLL_CTL_MOD, client->fd, &event);
}

/* ---- answers ---- */

static bool send_reply(struct gammad_client *client, const void *message, size_t len)
{
	return send(client->fd, message, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t) len;
}

static bool send_done(struct gammad_client *client, enum gamma_broker_reason reason, uint32_t count)
{
	struct gamma_broker_done handle_request = {.count = count};

	gamma_broker_message_init_header(&handle_request.header, GAMMA_BROKER_DONE,
					 sizeof(handle_request), reason);
	return send_reply(client, &handle_request, sizeof(handle_request));
}

static bool refuse_open(struct gammad_client *client, enum gamma_broker_reason reason)
{
	struct gamma_broker_opened opened = {0};

	gamma_broker_message_init_header(&opened.header, GAMMA_BROKER_OPENED, sizeof(opened),
					 reason);
	return send_reply(client, &opened, sizeof(opened));
}

static bool answer_open(struct gammad *gammad, struct gammad_client *client,
			const struct gammad_job *job)
{
	struct gamma_broker_opened opened = {0};
	int fds[GAMMA_BROKER_FDS];
	enum gamma_broker_reason reason = gammad_open_end(gammad, client, job, &opened, fds);
	bool sent;

	if (reason)
		return refuse_open(client, reason);
	gamma_broker_message_init_header(&opened.header, GAMMA_BROKER_OPENED, sizeof(opened),
					 reason);
	sent = !gamma_scm_send(client->fd, NULL, 0, &opened, sizeof(opened), fds, GAMMA_BROKER_FDS);
	close(fds[1]);
	return sent;
}

static bool answer_join(struct gammad *gammad, struct gammad_client *client,
			const struct gammad_job *job)
{
	struct gamma_broker_joined joined = {0};
	enum gamma_broker_reason reason = gammad_groups_end_join(gammad, client, job, &joined);

	if (reason)
		return send_done(client, reason, 0);
	gamma_broker_message_init_header(&joined.header, GAMMA_BROKER_JOINED, sizeof(joined),
					 reason);
	if (!job->request.group.receives)
		return send_reply(client, &joined, sizeof(joined));
	return !gamma_scm_send(client->fd, NULL, 0, &joined, sizeof(joined), &job->fd, 1);
}

/* Making a socket with a ring may take long: no further request is read meanwhile. */
static bool begin_job(struct gammad *gammad, struct gammad_client *client,
		      const struct gammad_job *what)
{
	struct gammad_job *job = malloc(sizeof(*job));

	if (!job) {
		gammad_group_interfaces_finish(what);
		return send_done(client, GAMMA_BROKER_SYSTEM, 0);
	}
	*job = *what;
	job->client = client;
	client->job = job;
	set_events(gammad, client, 0);
	gammad_workers_submit(gammad, job);
	return true;
}

static bool begin_open(struct gammad *gammad, struct gammad_client *client,
		       const union gamma_broker_request *request)
{
	struct gammad_job job = {.request = *request};
	enum gamma_broker_reason reason =
		gammad_open_begin(gammad, client, &request->open, &job.ring);

	return reason ? refuse_open(client, reason) : begin_job(gammad, client, &job);
}

static bool begin_join(struct gammad *gammad, struct gammad_client *client,
		       const union gamma_broker_request *request)
{
	struct gammad_job job = {.request = *request, .fd = -1};
	enum gamma_broker_reason reason =
		gammad_groups_begin_join(gammad, client, &request->group, &job);
	bool sent;

	if (reason)
		return send_done(client, reason, 0);
	if (request->group.receives || job.makes_interface)
		return begin_job(gammad, client, &job);
	sent = answer_join(gammad, client, &job);
	gammad_group_interfaces_finish(&job);
	return sent;
}

static bool answer_job(struct gammad *gammad, struct gammad_client *client,
		       const struct gammad_job *job, enum gamma_broker_reason reason)
{
	client->job = NULL;
	set_events(gammad, client, EPOLLIN);
	if (job->reading)
		return send_done(client, reason, 0);
	return job->request.header.type == GAMMA_BROKER_OPEN ? answer_open(gammad, client, job)
							     : answer_join(gammad, client, job);
}

static void finish_job(struct gammad *gammad, struct gammad_job *job)
{
	struct gammad_client *client = job->client;
	enum gamma_broker_reason reason = GAMMA_BROKER_OK;

	if (job->reading && gammad_finish_reload(gammad, job->reading))
		reason = GAMMA_BROKER_BAD_CONF;
	if (client && !answer_job(gammad, client, job, reason))
		disconnect(gammad, client);
	gammad_group_interfaces_finish(job);
	/* The client has its copy now. If it has not, this is the last descriptor, and closing
	 * it takes long. */
	if (!job->closes)
		gammad_workers_close(gammad, job->fd);
	free(job->reading);
	free(job);
}

void gammad_clients_handle_finished(struct gammad *gammad)
{
	struct gammad_job *job;

	while ((job = gammad_workers_next_finished(gammad)))
		finish_job(gammad, job);
}

/* ---- what there is ---- */

static bool answer_nics(struct gammad *gammad, struct gammad_client *client)
{
	struct gamma_broker_served served = {
		.ethertype = gammad->conf.ethertype,
		.wire_version = GAMMA_VERSION,
	};

	_Static_assert((int) GAMMAD_NICS_MAX <= (int) GAMMA_BROKER_NICS_MAX,
		       "all fit in an answer");
	for (unsigned i = 0; i < gammad->nic_count; i++) {
		if (gammad->nics[i].ifindex)
			memcpy(served.macs[served.count++], gammad->nics[i].mac, GAMMA_MAC_LEN);
	}
	gamma_broker_message_init_header(&served.header, GAMMA_BROKER_SERVED, sizeof(served),
					 gammad_open_check_user(gammad, client));
	return send_reply(client, &served, sizeof(served));
}

static bool answer_status(struct gammad *gammad, struct gammad_client *client)
{
	struct gamma_broker_state state = {
		.pid = (uint32_t) getpid(),
		.nics = gammad->conf.nic_count,
		.dropped = gammad_kernel_count_dropped(gammad),
	};
	struct gammad_counts counts;
	struct gamma_list *pos;

	if (gammad->sweep_pending)
		gammad_open_sweep(gammad);
	if (gammad_kernel_read_counts(gammad, &counts))
		state.opened = counts.opened;
	for (unsigned i = 0; i < gammad->nic_count; i++)
		state.slots += gammad->nics[i].slot_count;
	gamma_list_for_each (pos, &gammad->opens)
		state.endpoints++;
	gamma_broker_message_init_header(&state.header, GAMMA_BROKER_STATE, sizeof(state),
					 GAMMA_BROKER_OK);
	return send_reply(client, &state, sizeof(state));
}

static bool send_bounds(const struct gammad *gammad, struct gammad_client *client)
{
	struct gamma_broker_bounds bounds = {
		.endpoints = gammad->conf.limit,
		.memberships = gammad->conf.multicast,
		.ring_bytes = gammad->conf.ring_bytes,
		.revoked = gammad->revoked.count,
	};

	gamma_broker_message_init_header(&bounds.header, GAMMA_BROKER_BOUNDS, sizeof(bounds),
					 GAMMA_BROKER_OK);
	return send_reply(client, &bounds, sizeof(bounds));
}

static enum gamma_broker_nic_state state_of(const struct gammad_nic *nic)
{
	if (!nic->up)
		return GAMMA_BROKER_NIC_DOWN;
	return nic->carrier ? GAMMA_BROKER_NIC_UP : GAMMA_BROKER_NIC_NO_CARRIER;
}

static void describe_nic(const struct gammad *gammad, const struct gammad_nic *nic,
			 struct gamma_broker_interface *row)
{
	struct gamma_list *pos;

	row->state = state_of(nic);
	row->mtu = nic->mtu;
	row->slots = nic->slot_count;
	row->group_users = gammad_group_interfaces_count(gammad, nic);
	gamma_list_for_each (pos, &gammad->opens) {
		const struct gammad_open *open = gamma_list_entry(pos, struct gammad_open, entry);

		if (open->nic != nic)
			continue;
		row->endpoints++;
		row->memberships += open->member_count;
		row->ring_bytes += open->ring_bytes ? open->ring_bytes : gammad->conf.ring_bytes;
		row->ring_bytes += gammad_groups_ring_bytes(open);
	}
}

static bool send_nic(const struct gammad *gammad, struct gammad_client *client, unsigned number)
{
	const char *name = gammad->conf.nics[number].name;
	struct gamma_broker_interface row = {.state = GAMMA_BROKER_NIC_MISSING};

	memcpy(row.name, name, sizeof(row.name));
	for (unsigned i = 0; i < gammad->nic_count; i++) {
		if (gammad->nics[i].ifindex && !strcmp(gammad->nics[i].name, name))
			describe_nic(gammad, &gammad->nics[i], &row);
	}
	gamma_broker_message_init_header(&row.header, GAMMA_BROKER_INTERFACE, sizeof(row),
					 GAMMA_BROKER_OK);
	return send_reply(client, &row, sizeof(row));
}

static bool answer_details(struct gammad *gammad, struct gammad_client *client)
{
	bool sent = send_bounds(gammad, client);

	for (unsigned i = 0; sent && i < gammad->conf.nic_count; i++)
		sent = send_nic(gammad, client, i);
	return sent && send_done(client, GAMMA_BROKER_OK, gammad->conf.nic_count);
}

/* ---- the list, which may be longer than the client's queue ---- */

static bool send_entry(struct gammad_client *client, const struct gammad_open *open)
{
	struct gamma_broker_entry entry = {
		.port = ntohs(open->record.port),
		.tenant = ntohl(open->record.tenant),
		.pid = open->record.pid,
		.handle = open->record.handle,
		.revoked = open->record.revoked,
	};

	memcpy(entry.mac, open->record.mac, GAMMA_MAC_LEN);
	if (open->nic)
		memcpy(entry.nic, open->nic->name, sizeof(entry.nic));
	gamma_broker_message_init_header(&entry.header, GAMMA_BROKER_ENTRY, sizeof(entry),
					 GAMMA_BROKER_OK);
	return send_reply(client, &entry, sizeof(entry));
}

/* By handle, so that it can continue after a pause although endpoints have come and gone.
 * After a restart the list is in the map's order, hence the search. */
static bool continue_listing(struct gammad *gammad, struct gammad_client *client)
{
	for (;;) {
		const struct gammad_open *next = NULL;
		struct gamma_list *pos;

		gamma_list_for_each (pos, &gammad->opens) {
			const struct gammad_open *open =
				gamma_list_entry(pos, struct gammad_open, entry);

			uint32_t handle = open->record.handle;

			if (handle > client->last_listed && (!next || handle < next->record.handle))
				next = open;
		}
		if (next ? !send_entry(client, next)
			 : !send_done(client, GAMMA_BROKER_OK, client->listed_count)) {
			client->listing = errno == EAGAIN;
			set_events(gammad, client, EPOLLOUT);
			return client->listing;
		}
		if (!next)
			break;
		client->last_listed = next->record.handle;
		client->listed_count++;
	}
	client->listing = false;
	set_events(gammad, client, EPOLLIN);
	return true;
}

static bool begin_listing(struct gammad *gammad, struct gammad_client *client)
{
	gammad_open_sweep(gammad);
	client->listing = true;
	client->last_listed = client->listed_count = 0;
	return continue_listing(gammad, client);
}

/* ---- requests ---- */

/* Frames that its processes send are dropped from now on; and without a connection they cannot ask
 * for more. */
static bool revoke_user(struct gammad *gammad, struct gammad_client *client, uid_t uid)
{
	struct gamma_list *pos, *next;
	uint32_t count;

	if (gammad_revoked_add(&gammad->revoked, uid)) {
		gamma_warn("user %u cannot be kept out: too many users are revoked; allow some",
			   uid);
		return send_done(client, GAMMA_BROKER_SYSTEM, 0);
	}
	count = gammad_open_revoke(gammad, uid);
	gamma_list_for_each_safe (pos, next, &gammad->clients) {
		struct gammad_client *other = gamma_list_entry(pos, struct gammad_client, entry);

		if (other->uid == uid && other != client)
			disconnect(gammad, other);
	}
	return send_done(client, GAMMA_BROKER_OK, count);
}

static bool allow_user(struct gammad *gammad, struct gammad_client *client, uid_t uid)
{
	bool was_revoked = gammad_revoked_remove(&gammad->revoked, uid);

	if (was_revoked)
		gamma_info("user %u may have endpoints again", uid);
	return send_done(client, GAMMA_BROKER_OK, was_revoked);
}

static bool begin_reload(struct gammad *gammad, struct gammad_client *client)
{
	if (gammad_begin_reload(gammad, client))
		return send_done(client, GAMMA_BROKER_SYSTEM, 0);
	set_events(gammad, client, 0);
	return true;
}

/* False: close the connection. */
static bool handle_request(struct gammad *gammad, struct gammad_client *client, const void *bytes,
			   size_t len)
{
	union gamma_broker_request request;
	enum gamma_broker_reason reason = gamma_broker_message_parse(bytes, len, &request);

	if (!reason && client->uid && gamma_broker_message_needs_root(request.header.type))
		reason = GAMMA_BROKER_NOT_ROOT;
	if (reason)
		return send_done(client, reason, 0) && reason != GAMMA_BROKER_MALFORMED;
	switch (request.header.type) {
	case GAMMA_BROKER_OPEN:
		return begin_open(gammad, client, &request);
	case GAMMA_BROKER_JOIN:
		return begin_join(gammad, client, &request);
	case GAMMA_BROKER_LEAVE:
		return send_done(client, gammad_groups_leave(gammad, client, &request.group), 0);
	case GAMMA_BROKER_NICS:
		return answer_nics(gammad, client);
	case GAMMA_BROKER_STATUS:
		return answer_status(gammad, client);
	case GAMMA_BROKER_DETAILS:
		return answer_details(gammad, client);
	case GAMMA_BROKER_LIST:
		return begin_listing(gammad, client);
	case GAMMA_BROKER_REVOKE:
		return revoke_user(gammad, client, request.revoke.uid);
	case GAMMA_BROKER_ALLOW:
		return allow_user(gammad, client, request.revoke.uid);
	case GAMMA_BROKER_RELOAD:
		return begin_reload(gammad, client);
	}
	return false;
}

/* As recv; has_fds: descriptors came with the message, which no request has. */
static ssize_t receive_request(const struct gammad_client *client, void *bytes, size_t room,
			       bool *has_fds)
{
	struct iovec iov = {.iov_base = bytes, .iov_len = room};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t len;

	gammad_linger_begin();
	len = recvmsg(client->fd, &msg, MSG_DONTWAIT | MSG_TRUNC);
	gammad_linger_end();
	*has_fds = len >= 0 && msg.msg_flags & MSG_CTRUNC;
	return len;
}

void gammad_clients_handle_event(struct gammad *gammad, struct gammad_client *client,
				 uint32_t events)
{
	char bytes[GAMMA_BROKER_MAX];
	bool keep, has_fds;
	ssize_t len;

	/* Only a hang-up can arrive meanwhile: requests are not read. */
	if (client->job) {
		keep = false;
	} else if (client->listing && !(events & (EPOLLHUP | EPOLLERR))) {
		keep = continue_listing(gammad, client);
	} else {
		len = receive_request(client, bytes, sizeof(bytes), &has_fds);
		keep = len > 0 ? !has_fds && handle_request(gammad, client, bytes,
							    gamma_min((size_t) len, sizeof(bytes)))
			       : len < 0 && (errno == EAGAIN || errno == EINTR);
	}
	if (!keep)
		disconnect(gammad, client);
}
