// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Waiting for several objects at once: wait sets, poll sets, and fi_trywait. A wait set's
 * descriptor is an epoll of its members' domains, of event queues, and of one event_fd for
 * completions that another thread has written. Its lock comes before a domain's.
 */
#include "active_port.h"
#include "gamma.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A CQ, counter or EQ in a set. */
struct member {
	struct gamma_list entry;
	struct fid *fid;
	uint64_t seen_value, seen_errors; /* of a counter, when it was last reported */
};

struct gamma_waitset {
	struct fid_wait wait_fid;
	struct gamma_fabric *fabric;
	enum fi_wait_obj wait_obj;
	pthread_mutex_t lock; /* members */
	struct gamma_list members;
	int refs; /* threads in fi_wait; atomic */
	int epoll_fd;
	int event_fd;
	bool signalled; /* event_fd is readable; atomic */
};

struct gamma_pollset {
	struct fid_poll poll_fid;
	struct gamma_domain *domain;
	pthread_mutex_t lock; /* members */
	struct gamma_list members;
};

#define CQ_OF(fid_ptr)   gamma_container_of(fid_ptr, struct gamma_cq, cq_fid.fid)
#define CNTR_OF(fid_ptr) gamma_container_of(fid_ptr, struct gamma_cntr, cntr_fid.fid)
#define EQ_OF(fid_ptr)   gamma_container_of(fid_ptr, struct gamma_eq, eq_fid.fid)

static struct gamma_domain *domain_of(struct fid *fid)
{
	switch (fid->fclass) {
	case FI_CLASS_CQ:
		return CQ_OF(fid)->domain;
	case FI_CLASS_CNTR:
		return CNTR_OF(fid)->domain;
	default:
		return NULL;
	}
}

/* ---- members ---- */

static bool cntr_changed(struct member *member, const struct gamma_cntr *cntr)
{
	bool changed = member->seen_value != cntr->value || member->seen_errors != cntr->errors;

	member->seen_value = cntr->value;
	member->seen_errors = cntr->errors;
	return changed;
}

/* Whether it holds something for the user, after progress on its domain. */
static bool member_ready(struct member *member)
{
	struct gamma_domain *domain = domain_of(member->fid);
	bool ready;

	if (!domain)
		return gamma_eq_ready(EQ_OF(member->fid));
	gamma_domain_lock(domain);
	gamma_progress_woken(domain);
	if (member->fid->fclass == FI_CLASS_CNTR) {
		gamma_progress_poll(domain);
		ready = cntr_changed(member, CNTR_OF(member->fid));
	} else {
		if (!gamma_cq_ready(CQ_OF(member->fid)))
			gamma_progress_poll(domain);
		ready = gamma_cq_ready(CQ_OF(member->fid));
	}
	/* Reading it runs them; here the set's lock is held. */
	if (gamma_unlikely(domain->active_ports))
		ready |= gamma_active_port_run_pending(domain);
	gamma_domain_unlock(domain);
	return ready;
}

static struct member *find_member(struct gamma_list *members, const struct fid *fid)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, members)
		if (gamma_list_entry(pos, struct member, entry)->fid == fid)
			return gamma_list_entry(pos, struct member, entry);
	return NULL;
}

static struct member *new_member(struct fid *fid)
{
	struct member *member = calloc(1, sizeof(*member));

	if (!member)
		return NULL;
	member->fid = fid;
	if (fid->fclass == FI_CLASS_CNTR)
		cntr_changed(member, CNTR_OF(fid));
	return member;
}

/* ---- wait sets ---- */

void gamma_waitset_signal(struct gamma_waitset *wait)
{
	uint64_t one = 1;

	if (!__atomic_exchange_n(&wait->signalled, true, __ATOMIC_ACQ_REL) &&
	    write(wait->event_fd, &one, sizeof(one)) < 0)
		GAMMA_WARN(CQ, "waking a wait set failed: %s\n", strerror(errno));
}

/* Before the members are checked, so that no later event is missed. */
static void clear_wakeup(struct gamma_waitset *wait)
{
	uint64_t count;

	if (!__atomic_load_n(&wait->signalled, __ATOMIC_ACQUIRE))
		return;
	if (read(wait->event_fd, &count, sizeof(count)) == sizeof(count))
		__atomic_store_n(&wait->signalled, false, __ATOMIC_RELEASE);
}

int gamma_waitset_get_wait_obj(enum fi_wait_obj obj, enum fi_wait_obj *place)
{
	if (!place)
		return -FI_EINVAL;
	*place = obj;
	return 0;
}

int gamma_waitset_get_fd(struct gamma_waitset *wait, int *fd)
{
	*fd = wait->epoll_fd;
	return 0;
}

static int watch_fd(struct gamma_waitset *wait, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	/* Several members share a domain. */
	return epoll_ctl(wait->epoll_fd, EPOLL_CTL_ADD, fd, &event) && errno != EEXIST ? -errno : 0;
}

/* Its deadlines and frames are watched for as long as the member is in the set. */
static int watch_domain(struct gamma_waitset *wait, struct gamma_domain *domain)
{
	int ret;

	gamma_domain_lock(domain);
	ret = gamma_progress_wait_fd(domain);
	if (ret >= 0)
		ret = watch_fd(wait, ret);
	if (!ret)
		domain->sleepers++;
	gamma_domain_unlock(domain);
	return ret;
}

int gamma_waitset_attach(struct fid_wait *wait_fid, struct fid *fid,
			 struct gamma_waitset **attached)
{
	struct gamma_waitset *wait = gamma_container_of(wait_fid, struct gamma_waitset, wait_fid);
	struct gamma_domain *domain = domain_of(fid);
	struct member *member = new_member(fid);
	int ret = 0;

	if (!member)
		return -FI_ENOMEM;
	pthread_mutex_lock(&wait->lock);
	if (domain)
		ret = watch_domain(wait, domain);
	if (!ret)
		gamma_list_append(&wait->members, &member->entry);
	pthread_mutex_unlock(&wait->lock);
	if (ret)
		free(member);
	else
		*attached = wait;
	return ret;
}

static void unwatch_domain(struct gamma_waitset *wait, struct gamma_domain *domain)
{
	struct gamma_list *pos;
	bool shared = false;

	gamma_list_for_each (pos, &wait->members)
		shared |= domain_of(gamma_list_entry(pos, struct member, entry)->fid) == domain;
	gamma_domain_lock(domain);
	domain->sleepers--;
	if (!shared && !gamma_progress_is_inherited(domain))
		epoll_ctl(wait->epoll_fd, EPOLL_CTL_DEL, domain->wait_fd, NULL);
	gamma_domain_unlock(domain);
}

void gamma_waitset_detach(struct gamma_waitset *wait, struct fid *fid)
{
	struct gamma_domain *domain = domain_of(fid);
	struct member *member;

	pthread_mutex_lock(&wait->lock);
	member = find_member(&wait->members, fid);
	if (member) {
		gamma_list_remove(&member->entry);
		if (domain)
			unwatch_domain(wait, domain);
		free(member);
	}
	pthread_mutex_unlock(&wait->lock);
}

static bool arm_domain(struct gamma_domain *domain)
{
	bool armed;

	gamma_domain_lock(domain);
	armed = gamma_progress_arm(domain);
	gamma_domain_unlock(domain);
	return armed;
}

/* 1: something is there; 0: nothing, and it is safe to sleep; -FI_EAGAIN: look again. */
static int check_members(struct gamma_waitset *wait)
{
	struct gamma_domain *domain, *last = NULL;
	struct gamma_list *pos;
	bool ready = false, idle = true;

	clear_wakeup(wait);
	pthread_mutex_lock(&wait->lock);
	gamma_list_for_each (pos, &wait->members)
		ready |= member_ready(gamma_list_entry(pos, struct member, entry));
	for (pos = wait->members.next; !ready && pos != &wait->members; pos = pos->next) {
		domain = domain_of(gamma_list_entry(pos, struct member, entry)->fid);
		if (domain && domain != last)
			idle &= arm_domain(domain);
		last = domain;
	}
	pthread_mutex_unlock(&wait->lock);
	return ready ? 1 : idle ? 0 : -FI_EAGAIN;
}

static int wait_run(struct fid_wait *wait_fid, int timeout)
{
	struct gamma_waitset *wait = gamma_container_of(wait_fid, struct gamma_waitset, wait_fid);
	struct pollfd fd = {.fd = wait->epoll_fd, .events = POLLIN};
	uint64_t deadline = gamma_sleep_deadline(timeout);
	int found, ret = 0;

	gamma_refs_take(&wait->refs);
	while ((found = check_members(wait)) <= 0 && !ret) {
		if (!found)
			ret = gamma_sleep_poll_fds(&fd, 1, deadline);
		else if (gamma_now() >= deadline)
			ret = -FI_ETIMEDOUT;
	}
	gamma_refs_drop(&wait->refs);
	return found > 0 ? 0 : ret;
}

static int wait_control(struct fid *fid, int command, void *arg)
{
	struct gamma_waitset *wait = gamma_container_of(fid, struct gamma_waitset, wait_fid.fid);

	switch (command) {
	case FI_GETWAIT:
		return arg ? gamma_waitset_get_fd(wait, arg) : -FI_EINVAL;
	case FI_GETWAITOBJ:
		return gamma_waitset_get_wait_obj(wait->wait_obj, arg);
	default:
		return -FI_ENOSYS;
	}
}

static void free_wait(struct gamma_waitset *wait)
{
	if (wait->epoll_fd >= 0)
		close(wait->epoll_fd);
	if (wait->event_fd >= 0)
		close(wait->event_fd);
	pthread_mutex_destroy(&wait->lock);
	free(wait);
}

static int wait_close(struct fid *fid)
{
	struct gamma_waitset *wait = gamma_container_of(fid, struct gamma_waitset, wait_fid.fid);

	if (gamma_refs_any(&wait->refs) || !gamma_list_empty(&wait->members))
		return -FI_EBUSY;
	gamma_refs_drop(&wait->fabric->refs);
	free_wait(wait);
	return 0;
}

static struct fi_ops wait_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = wait_close,
	.bind = gamma_fabric_unsupported_bind,
	.control = wait_control,
	.ops_open = gamma_fabric_unsupported_ops_open,
	.tostr = gamma_fabric_unsupported_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

static struct fi_ops_wait wait_ops = {
	.size = sizeof(struct fi_ops_wait),
	.wait = wait_run,
};

static int check_wait_attr(const struct fi_wait_attr *attr)
{
	if (!attr)
		return -FI_EINVAL;
	if (attr->flags)
		return -FI_EBADFLAGS;
	switch (attr->wait_obj) {
	case FI_WAIT_UNSPEC:
	case FI_WAIT_FD:
	case FI_WAIT_YIELD:
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

int gamma_waitset_open(struct fid_fabric *fabric_fid, struct fi_wait_attr *attr,
		       struct fid_wait **wait_fid)
{
	struct gamma_waitset *wait;
	int ret = check_wait_attr(attr);

	if (ret)
		return ret;
	wait = calloc(1, sizeof(*wait));
	if (!wait)
		return -FI_ENOMEM;
	wait->fabric = gamma_container_of(fabric_fid, struct gamma_fabric, fabric_fid);
	wait->wait_obj = attr->wait_obj;
	wait->wait_fid.fid.fclass = FI_CLASS_WAIT;
	wait->wait_fid.fid.ops = &wait_fid_ops;
	wait->wait_fid.ops = &wait_ops;
	pthread_mutex_init(&wait->lock, NULL);
	gamma_list_init(&wait->members);
	wait->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	wait->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wait->epoll_fd < 0 || wait->event_fd < 0 || watch_fd(wait, wait->event_fd)) {
		ret = -errno;
		free_wait(wait);
		return ret;
	}
	gamma_refs_take(&wait->fabric->refs);
	*wait_fid = &wait->wait_fid;
	return 0;
}

/* ---- poll sets ---- */

static int poll_run(struct fid_poll *poll_fid, void **contexts, int count)
{
	struct gamma_pollset *poll = gamma_container_of(poll_fid, struct gamma_pollset, poll_fid);
	struct gamma_list *pos;
	int found = 0;

	pthread_mutex_lock(&poll->lock);
	for (pos = poll->members.next; found < count && pos != &poll->members; pos = pos->next) {
		struct member *member = gamma_list_entry(pos, struct member, entry);

		if (member_ready(member))
			contexts[found++] = member->fid->context;
	}
	pthread_mutex_unlock(&poll->lock);
	return found;
}

static int *refs_of(struct fid *fid)
{
	return fid->fclass == FI_CLASS_CQ ? &CQ_OF(fid)->refs : &CNTR_OF(fid)->refs;
}

static int poll_add(struct fid_poll *poll_fid, struct fid *fid, uint64_t flags)
{
	struct gamma_pollset *poll = gamma_container_of(poll_fid, struct gamma_pollset, poll_fid);
	struct member *member;
	int ret = 0;

	if (flags)
		return -FI_EBADFLAGS;
	if (domain_of(fid) != poll->domain)
		return -FI_EINVAL;
	member = new_member(fid);
	if (!member)
		return -FI_ENOMEM;
	pthread_mutex_lock(&poll->lock);
	if (find_member(&poll->members, fid))
		ret = -FI_EINVAL;
	else
		gamma_list_append(&poll->members, &member->entry);
	pthread_mutex_unlock(&poll->lock);
	if (ret)
		free(member);
	else
		gamma_refs_take(refs_of(fid));
	return ret;
}

static int poll_del(struct fid_poll *poll_fid, struct fid *fid, uint64_t flags)
{
	struct gamma_pollset *poll = gamma_container_of(poll_fid, struct gamma_pollset, poll_fid);
	struct member *member;

	if (flags)
		return -FI_EBADFLAGS;
	pthread_mutex_lock(&poll->lock);
	member = find_member(&poll->members, fid);
	if (member)
		gamma_list_remove(&member->entry);
	pthread_mutex_unlock(&poll->lock);
	if (!member)
		return -FI_EINVAL;
	gamma_refs_drop(refs_of(fid));
	free(member);
	return 0;
}

/* The members are detached; they do not depend on the set. */
static int poll_close(struct fid *fid)
{
	struct gamma_pollset *poll = gamma_container_of(fid, struct gamma_pollset, poll_fid.fid);

	while (!gamma_list_empty(&poll->members))
		poll_del(&poll->poll_fid,
			 gamma_list_first(&poll->members, struct member, entry)->fid, 0);
	gamma_refs_drop(&poll->domain->refs);
	pthread_mutex_destroy(&poll->lock);
	free(poll);
	return 0;
}

static struct fi_ops poll_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = poll_close,
	.bind = gamma_fabric_unsupported_bind,
	.control = gamma_fabric_unsupported_control,
	.ops_open = gamma_fabric_unsupported_ops_open,
	.tostr = gamma_fabric_unsupported_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

static struct fi_ops_poll poll_ops = {
	.size = sizeof(struct fi_ops_poll),
	.poll = poll_run,
	.poll_add = poll_add,
	.poll_del = poll_del,
};

int gamma_waitset_open_poll(struct fid_domain *domain_fid, struct fi_poll_attr *attr,
			    struct fid_poll **poll_fid)
{
	struct gamma_pollset *poll;

	if (attr && attr->flags)
		return -FI_EBADFLAGS;
	poll = calloc(1, sizeof(*poll));
	if (!poll)
		return -FI_ENOMEM;
	poll->domain = gamma_container_of(domain_fid, struct gamma_domain, domain_fid);
	poll->poll_fid.fid.fclass = FI_CLASS_POLL;
	poll->poll_fid.fid.ops = &poll_fid_ops;
	poll->poll_fid.ops = &poll_ops;
	pthread_mutex_init(&poll->lock, NULL);
	gamma_list_init(&poll->members);
	gamma_refs_take(&poll->domain->refs);
	*poll_fid = &poll->poll_fid;
	return 0;
}

/* ---- fi_trywait: may the user block on the descriptor? ---- */

static bool cq_trywait(struct gamma_cq *cq)
{
	bool idle = false;

	gamma_domain_lock(cq->domain);
	gamma_progress_woken(cq->domain);
	if (!gamma_cq_ready(cq))
		gamma_active_port_progress(cq->domain);
	if (!gamma_cq_ready(cq))
		idle = gamma_sleep_arm(&cq->waiter);
	gamma_domain_unlock(cq->domain);
	return idle;
}

/* A change is reported once; the user then reads the counter. */
static bool cntr_trywait(struct gamma_cntr *cntr)
{
	bool idle = false;

	gamma_domain_lock(cntr->domain);
	gamma_progress_woken(cntr->domain);
	gamma_active_port_progress(cntr->domain);
	if (cntr->seen_value == cntr->value && cntr->seen_errors == cntr->errors)
		idle = gamma_sleep_arm(&cntr->waiter);
	cntr->seen_value = cntr->value;
	cntr->seen_errors = cntr->errors;
	gamma_domain_unlock(cntr->domain);
	return idle;
}

static int trywait_one(struct fid *fid)
{
	bool idle;

	switch (fid->fclass) {
	case FI_CLASS_CQ:
		idle = cq_trywait(CQ_OF(fid));
		break;
	case FI_CLASS_CNTR:
		idle = cntr_trywait(CNTR_OF(fid));
		break;
	case FI_CLASS_EQ:
		idle = !gamma_eq_ready(EQ_OF(fid));
		break;
	case FI_CLASS_WAIT:
		idle = !check_members(gamma_container_of(fid, struct gamma_waitset, wait_fid.fid));
		break;
	default:
		return -FI_EINVAL;
	}
	return idle ? 0 : -FI_EAGAIN;
}

int gamma_waitset_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	int i, ret = 0;

	(void) fabric;
	for (i = 0; !ret && i < count; i++)
		ret = trywait_one(fids[i]);
	return ret;
}
