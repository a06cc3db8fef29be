// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The event queue: events and errors of control operations, in two lists under a lock of its
 * own. Address vectors report to it, and applications may write to it.
 */
#include "gamma.h"

#include <poll.h>
#include <stdlib.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct gamma_eq_event {
	struct gamma_list entry;
	uint32_t event; /* FI_NOTIFY, ... */
	size_t len;     /* bytes of data */
	uint8_t data[];
};

struct gamma_eq_error {
	struct gamma_list entry;
	struct fi_eq_err_entry error; /* err_data: data, or NULL */
	size_t data_len;              /* bytes of data */
	uint8_t data[];
};

static struct gamma_eq *eq_of(struct fid_eq *eq_fid)
{
	return gamma_container_of(eq_fid, struct gamma_eq, eq_fid);
}

static bool holds_something(const struct gamma_eq *eq)
{
	return !gamma_list_empty(&eq->events) || !gamma_list_empty(&eq->errors);
}

/* event_fd follows the lists: called under the lock after each change. */
static void show(struct gamma_eq *eq, bool was)
{
	bool is = holds_something(eq);
	uint64_t count = 1;
	ssize_t done = 0;

	if (is && eq->wait_set)
		gamma_waitset_signal(eq->wait_set);
	if (eq->event_fd < 0 || was == is)
		return;
	if (is)
		done = write(eq->event_fd, &count, sizeof(count));
	else
		done = read(eq->event_fd, &count, sizeof(count));
	/* Neither can fail: the counter goes from 0 to 1 and back. */
	(void) done;
}

static void append_event(struct gamma_eq *eq, struct gamma_list *list, struct gamma_list *entry)
{
	bool was;

	pthread_mutex_lock(&eq->lock);
	was = holds_something(eq);
	gamma_list_append(list, entry);
	show(eq, was);
	pthread_mutex_unlock(&eq->lock);
}

int gamma_eq_report(struct gamma_eq *eq, uint32_t event, const void *entry, size_t len)
{
	struct gamma_eq_event *new = malloc(sizeof(*new) + len);

	if (!new)
		return -FI_ENOMEM;
	new->event = event;
	new->len = len;
	memcpy(new->data, entry, len);
	append_event(eq, &eq->events, &new->entry);
	return 0;
}

int gamma_eq_report_error(struct gamma_eq *eq, const struct fi_eq_err_entry *entry)
{
	size_t len = entry->err_data ? entry->err_data_size : 0;
	struct gamma_eq_error *new = malloc(sizeof(*new) + len);

	if (!new)
		return -FI_ENOMEM;
	new->error = *entry;
	new->data_len = len;
	if (len)
		memcpy(new->data, entry->err_data, len);
	append_event(eq, &eq->errors, &new->entry);
	return 0;
}

bool gamma_eq_ready(struct gamma_eq *eq)
{
	bool ready;

	pthread_mutex_lock(&eq->lock);
	ready = holds_something(eq);
	pthread_mutex_unlock(&eq->lock);
	return ready;
}

/* ---- reading ---- */

static ssize_t take_event(struct gamma_eq *eq, uint32_t *event, void *buf, size_t len,
			  uint64_t flags)
{
	struct gamma_eq_event *first;
	ssize_t ret;

	if (!gamma_list_empty(&eq->errors))
		return -FI_EAVAIL;
	if (gamma_list_empty(&eq->events))
		return -FI_EAGAIN;
	first = gamma_list_first(&eq->events, struct gamma_eq_event, entry);
	/* Without a buffer the event's kind alone is wanted. */
	if (buf && len < first->len)
		return -FI_ETOOSMALL;
	ret = buf ? first->len : 0;
	*event = first->event;
	if (buf)
		memcpy(buf, first->data, first->len);
	if (flags & FI_PEEK)
		return ret;
	gamma_list_remove(&first->entry);
	show(eq, true);
	free(first);
	return ret;
}

static ssize_t eq_read(struct fid_eq *eq_fid, uint32_t *event, void *buf, size_t len,
		       uint64_t flags)
{
	struct gamma_eq *eq = eq_of(eq_fid);
	ssize_t ret;

	pthread_mutex_lock(&eq->lock);
	ret = take_event(eq, event, buf, len, flags);
	pthread_mutex_unlock(&eq->lock);
	return ret;
}

/* Waits for event_fd; false: time is up, or a signal came. */
static bool wait_for_event(const struct gamma_eq *eq, uint64_t deadline)
{
	struct pollfd fd = {.fd = eq->event_fd, .events = POLLIN};

	if (eq->wait_obj == FI_WAIT_YIELD)
		return !sched_yield() && gamma_now() < deadline;
	return !gamma_sleep_poll_fds(&fd, 1, deadline);
}

static ssize_t eq_sread(struct fid_eq *eq_fid, uint32_t *event, void *buf, size_t len, int timeout,
			uint64_t flags)
{
	struct gamma_eq *eq = eq_of(eq_fid);
	uint64_t deadline = gamma_sleep_deadline(timeout);
	ssize_t ret;

	if (eq->wait_obj == FI_WAIT_NONE || eq->wait_obj == FI_WAIT_SET)
		return -FI_ENOSYS;
	gamma_refs_take(&eq->refs);
	do {
		ret = eq_read(eq_fid, event, buf, len, flags);
	} while (ret == -FI_EAGAIN && wait_for_event(eq, deadline));
	if (ret == -FI_EAGAIN)
		ret = eq_read(eq_fid, event, buf, len, flags);
	gamma_refs_drop(&eq->refs);
	return ret;
}

/* As for a CQ: into the caller's buffer if there is one, else the queue's own until the next read;
 * a reused entry that still names it has no buffer. */
static ssize_t give_error(const struct gamma_eq *eq, struct gamma_eq_error *error,
			  struct fi_eq_err_entry *entry)
{
	bool sized = FI_VERSION_GE(eq->fabric->api_version, FI_VERSION(1, 5));
	void *buf = entry->err_data;
	bool ours = buf == error->data || (eq->last_error && buf == eq->last_error->data);
	size_t len = error->data_len, room = sized && buf && !ours ? entry->err_data_size : 0;

	memcpy(entry, &error->error, offsetof(struct fi_eq_err_entry, err_data));
	entry->err_data = len ? error->data : NULL;
	if (room) {
		len = gamma_min(len, room);
		memcpy(buf, error->data, len);
		if (len && error->error.prov_errno >= GAMMA_PROV_ERRNO_TEXT)
			((char *) buf)[len - 1] = '\0';
		entry->err_data = buf;
	}
	if (!sized) /* applications of that time have a shorter structure */
		return offsetof(struct fi_eq_err_entry, err_data_size);
	entry->err_data_size = len;
	return sizeof(*entry);
}

static ssize_t eq_readerr(struct fid_eq *eq_fid, struct fi_eq_err_entry *entry, uint64_t flags)
{
	struct gamma_eq *eq = eq_of(eq_fid);
	struct gamma_eq_error *error;
	ssize_t ret = -FI_EAGAIN;

	pthread_mutex_lock(&eq->lock);
	if (gamma_list_empty(&eq->errors))
		goto unlock;
	error = gamma_list_first(&eq->errors, struct gamma_eq_error, entry);
	ret = give_error(eq, error, entry);
	if (flags & FI_PEEK)
		goto unlock;
	gamma_list_remove(&error->entry);
	show(eq, true);
	free(eq->last_error);
	eq->last_error = error;
unlock:
	pthread_mutex_unlock(&eq->lock);
	return ret;
}

static ssize_t eq_write(struct fid_eq *eq_fid, uint32_t event, const void *buf, size_t len,
			uint64_t flags)
{
	struct gamma_eq *eq = eq_of(eq_fid);
	int ret;

	/* Only queues opened for it. */
	if (!(eq->flags & FI_WRITE) || flags)
		return -FI_EINVAL;
	ret = gamma_eq_report(eq, event, buf, len);
	return ret ? ret : (ssize_t) len;
}

static const char *eq_strerror(struct fid_eq *eq, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	(void) eq;
	return gamma_cq_error_text(prov_errno, err_data, buf, len);
}

/* ---- opening and closing ---- */

static int get_wait(const struct gamma_eq *eq, int *fd)
{
	if (eq->wait_set)
		return gamma_waitset_get_fd(eq->wait_set, fd);
	if (eq->event_fd < 0)
		return -FI_ENODATA;
	*fd = eq->event_fd;
	return 0;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	struct gamma_eq *eq = gamma_container_of(fid, struct gamma_eq, eq_fid.fid);

	switch (command) {
	case FI_GETWAIT:
		return arg ? get_wait(eq, arg) : -FI_EINVAL;
	case FI_GETWAITOBJ:
		return gamma_waitset_get_wait_obj(eq->wait_obj, arg);
	default:
		return -FI_ENOSYS;
	}
}

static void free_eq(struct gamma_eq *eq)
{
	struct gamma_list *pos, *next;

	gamma_list_for_each_safe (pos, next, &eq->events)
		free(gamma_list_entry(pos, struct gamma_eq_event, entry));
	gamma_list_for_each_safe (pos, next, &eq->errors)
		free(gamma_list_entry(pos, struct gamma_eq_error, entry));
	free(eq->last_error);
	if (eq->event_fd >= 0)
		close(eq->event_fd);
	pthread_mutex_destroy(&eq->lock);
	free(eq);
}

static int eq_close(struct fid *fid)
{
	struct gamma_eq *eq = gamma_container_of(fid, struct gamma_eq, eq_fid.fid);
	struct gamma_fabric *fabric = eq->fabric;

	if (gamma_refs_any(&eq->refs))
		return -FI_EBUSY;
	if (eq->wait_set)
		gamma_waitset_detach(eq->wait_set, fid);
	free_eq(eq);
	gamma_refs_drop(&fabric->refs);
	return 0;
}

static struct fi_ops eq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = eq_close,
	.bind = gamma_fabric_unsupported_bind,
	.control = eq_control,
	.ops_open = gamma_fabric_unsupported_ops_open,
	.tostr = gamma_fabric_unsupported_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

static struct fi_ops_eq eq_ops = {
	.size = sizeof(struct fi_ops_eq),
	.read = eq_read,
	.readerr = eq_readerr,
	.write = eq_write,
	.sread = eq_sread,
	.strerror = eq_strerror,
};

/* The wait object of the queue. */
static int open_wait(struct gamma_eq *eq, const struct fi_eq_attr *attr)
{
	switch (attr->wait_obj) {
	case FI_WAIT_NONE:
	case FI_WAIT_YIELD:
		return 0;
	case FI_WAIT_UNSPEC:
	case FI_WAIT_FD:
		eq->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		return eq->event_fd < 0 ? -errno : 0;
	case FI_WAIT_SET:
		if (!attr->wait_set)
			return -FI_EINVAL;
		return gamma_waitset_attach(attr->wait_set, &eq->eq_fid.fid, &eq->wait_set);
	default:
		return -FI_ENOSYS;
	}
}

int gamma_eq_open(struct fid_fabric *fabric_fid, struct fi_eq_attr *attr, struct fid_eq **eq_fid,
		  void *context)
{
	struct fi_eq_attr none = {.wait_obj = FI_WAIT_NONE};
	struct gamma_eq *eq;
	int ret;

	attr = attr ? attr : &none;
	/* FI_AFFINITY is about interrupts, of which events have none. */
	if (attr->flags & ~(FI_WRITE | FI_AFFINITY))
		return -FI_EBADFLAGS;
	eq = calloc(1, sizeof(*eq));
	if (!eq)
		return -FI_ENOMEM;
	eq->fabric = gamma_container_of(fabric_fid, struct gamma_fabric, fabric_fid);
	eq->flags = attr->flags;
	eq->wait_obj = attr->wait_obj;
	eq->event_fd = -1;
	eq->eq_fid.fid.fclass = FI_CLASS_EQ;
	eq->eq_fid.fid.context = context;
	eq->eq_fid.fid.ops = &eq_fid_ops;
	eq->eq_fid.ops = &eq_ops;
	pthread_mutex_init(&eq->lock, NULL);
	gamma_list_init(&eq->events);
	gamma_list_init(&eq->errors);
	ret = open_wait(eq, attr);
	if (ret) {
		free_eq(eq);
		return ret;
	}
	gamma_refs_take(&eq->fabric->refs);
	*eq_fid = &eq->eq_fid;
	return 0;
}
