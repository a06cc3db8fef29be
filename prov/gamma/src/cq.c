// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The completion queue: a ring of successes that grows, and a list of errors, each with its place
 * among them. Endpoints write, under the domain's lock; reading an empty one makes progress.
 */
#include "active_port.h"
#include "gamma.h"

#include <stdlib.h>

enum {
	RING_MIN = 64,   /* entries */
	RING_MAX = 4096, /* initial entries, whatever size the attributes ask for */
	TEXT_MAX = 200,  /* bytes of an error's text with the final 0 */
};
_Static_assert(TEXT_MAX <= GAMMA_MAX_ERR_DATA, "the domain's attributes promise as much");

struct gamma_cq_error {
	struct gamma_list entry;
	struct gamma_completion completion;
	size_t place;        /* the queue's tail when it was added: earlier successes come first */
	int err;             /* FI_E* */
	int prov_errno;      /* err, or more: GAMMA_PROV_ERRNO_TEXT */
	size_t olen;         /* bytes lost */
	size_t data_len;     /* bytes of data */
	char data[TEXT_MAX]; /* words, or the address of an unknown source */
};

/* Each format is the beginning of the next, and all of them of struct gamma_completion. */
#define SAME_PLACE(type, field, member)                                                           \
	_Static_assert(offsetof(struct type, field) == offsetof(struct gamma_completion, member), \
		       "a completion begins like " #type)
SAME_PLACE(fi_cq_entry, op_context, context);
SAME_PLACE(fi_cq_msg_entry, flags, flags);
SAME_PLACE(fi_cq_msg_entry, len, len);
SAME_PLACE(fi_cq_data_entry, buf, buf);
SAME_PLACE(fi_cq_data_entry, data, data);
SAME_PLACE(fi_cq_tagged_entry, tag, tag);

static struct gamma_cq *cq_of(struct fid_cq *cq_fid)
{
	return gamma_container_of(cq_fid, struct gamma_cq, cq_fid);
}

/* ---- writing ---- */

static bool grow_ring(struct gamma_cq *cq)
{
	size_t size = cq->size * 2, i;
	struct gamma_completion *ring = malloc(size * sizeof(*ring));

	if (!ring)
		return false;
	for (i = cq->head; i != cq->tail; i++)
		ring[i & (size - 1)] = cq->ring[i & (cq->size - 1)];
	free(cq->ring);
	cq->ring = ring;
	cq->size = size;
	return true;
}

/* Memory for an error; if there is none, the one kept in reserve reports just that. */
static struct gamma_cq_error *new_error(struct gamma_cq *cq,
					const struct gamma_completion *completion, int err)
{
	struct gamma_cq_error *error = malloc(sizeof(*error));

	if (!error) {
		error = cq->reserve;
		cq->reserve = NULL;
		err = FI_ENOMEM;
	}
	if (!error)
		return NULL;
	error->completion = *completion;
	error->err = err;
	error->prov_errno = err;
	error->olen = 0;
	error->data_len = 0;
	return error;
}

static void add_error(struct gamma_cq *cq, struct gamma_cq_error *error)
{
	if (error) {
		error->place = cq->tail;
		gamma_list_append(&cq->errors, &error->entry);
	}
	gamma_sleep_wake(&cq->waiter);
}

void gamma_cq_write_full(struct gamma_cq *cq, struct gamma_completion completion)
{
	if (grow_ring(cq))
		gamma_cq_write(cq, completion);
	else
		gamma_cq_write_error(cq, &completion, FI_ENOMEM, 0, NULL);
}

void gamma_cq_write_error(struct gamma_cq *cq, const struct gamma_completion *completion, int err,
			  size_t olen, const char *text)
{
	struct gamma_cq_error *error = new_error(cq, completion, err);

	if (error && text) {
		snprintf(error->data, sizeof(error->data), "%s", text);
		error->data_len = strlen(error->data) + 1;
		error->prov_errno = GAMMA_PROV_ERRNO_TEXT + error->err;
	}
	if (error)
		error->olen = olen;
	add_error(cq, error);
}

void gamma_cq_write_unknown_source(struct gamma_cq *cq, const struct gamma_completion *completion,
				   const struct gamma_addr *source)
{
	struct gamma_cq_error *error = new_error(cq, completion, FI_EADDRNOTAVAIL);

	if (error) {
		memcpy(error->data, source, sizeof(*source));
		error->data_len = sizeof(*source);
	}
	add_error(cq, error);
}

/* ---- reading ---- */

/* Copies one entry in the queue's format; returns where the next one goes. */
static inline void *copy_entry(enum fi_cq_format format, void *to,
			       const struct gamma_completion *from)
{
	switch (format) {
	case FI_CQ_FORMAT_TAGGED:
		memcpy(to, from, sizeof(struct fi_cq_tagged_entry));
		return (struct fi_cq_tagged_entry *) to + 1;
	case FI_CQ_FORMAT_DATA:
		memcpy(to, from, sizeof(struct fi_cq_data_entry));
		return (struct fi_cq_data_entry *) to + 1;
	case FI_CQ_FORMAT_MSG:
		memcpy(to, from, sizeof(struct fi_cq_msg_entry));
		return (struct fi_cq_msg_entry *) to + 1;
	default:
		memcpy(to, from, sizeof(struct fi_cq_entry));
		return (struct fi_cq_entry *) to + 1;
	}
}

/* Successes before the first error. */
GAMMA_NOINLINE static size_t entries_before_error(const struct gamma_cq *cq)
{
	return gamma_list_first(&cq->errors, struct gamma_cq_error, entry)->place - cq->head;
}

/* How many may be read. A delayed message is not reported before its frame leaves: the program may
 * never poll again. */
static inline size_t readable_entries(const struct gamma_cq *cq)
{
	size_t count = (cq->held_round == cq->domain->rounds ? cq->held_from : cq->tail) - cq->head;

	return gamma_likely(gamma_list_empty(&cq->errors))
		       ? count
		       : gamma_min(count, entries_before_error(cq));
}

/* Whether the next entry is an error. */
static inline bool error_is_next(const struct gamma_cq *cq)
{
	return gamma_unlikely(!gamma_list_empty(&cq->errors)) && !entries_before_error(cq);
}

/* Takes up to count entries of those waiting, of which there are some; source may be NULL. */
static size_t take_entries(struct gamma_cq *cq, void *buf, size_t count, size_t waiting,
			   fi_addr_t *source)
{
	const struct gamma_completion *entry;
	size_t i;

	count = gamma_min(count, waiting);
	for (i = 0; i < count; i++) {
		entry = &cq->ring[cq->head++ & (cq->size - 1)];
		buf = copy_entry(cq->format, buf, entry);
		if (source)
			source[i] = entry->source;
	}
	/* The ring's front is in the cache. An error's place must stay valid. */
	if (cq->head == cq->tail && gamma_likely(gamma_list_empty(&cq->errors)))
		cq->head = cq->tail = 0;
	return count;
}

/* In the order of completion, up to the next error. Entries are returned at once; only an empty
 * queue makes progress. */
static inline ssize_t take_entries_or_progress(struct gamma_cq *cq, void *buf, size_t count,
					       fi_addr_t *source, bool progress)
{
	size_t waiting = readable_entries(cq);

	if (progress && (!waiting || !count)) {
		gamma_active_port_progress(cq->domain);
		waiting = readable_entries(cq);
	}
	if (waiting)
		return (ssize_t) take_entries(cq, buf, count, waiting, source);
	return error_is_next(cq) ? -FI_EAVAIL : -FI_EAGAIN;
}

static ssize_t cq_readfrom(struct fid_cq *cq_fid, void *buf, size_t count, fi_addr_t *source)
{
	struct gamma_cq *cq = cq_of(cq_fid);
	ssize_t ret;

	gamma_domain_lock(cq->domain);
	ret = take_entries_or_progress(cq, buf, count, source, true);
	gamma_domain_unlock(cq->domain);
	return ret;
}

static ssize_t cq_read(struct fid_cq *cq_fid, void *buf, size_t count)
{
	return cq_readfrom(cq_fid, buf, count, NULL);
}

/* Whether fi_cq_signal has interrupted the caller, which began to wait at this value of interrupts.
 */
static bool read_is_interrupted(struct gamma_cq *cq, uint32_t since)
{
	bool pending = cq->interrupt;

	cq->interrupt = false;
	return pending || cq->interrupts != since;
}

/* A condition (cond) is a mere hint: the first entry ends the wait. */
static ssize_t cq_sreadfrom(struct fid_cq *cq_fid, void *buf, size_t count, fi_addr_t *source,
			    const void *cond, int timeout)
{
	struct gamma_cq *cq = cq_of(cq_fid);
	struct gamma_sleep_spin spin;
	uint32_t since;
	ssize_t ret;

	(void) cond;
	/* As other providers do; for FI_WAIT_SET, fi_wait is what sleeps. */
	if (cq->waiter.wait_obj == FI_WAIT_NONE || cq->waiter.wait_obj == FI_WAIT_SET)
		return -FI_ENOSYS;
	gamma_sleep_spin_init(&spin, timeout);
	gamma_domain_lock(cq->domain);
	cq->waiter.blocked++;
	since = cq->interrupts;
	do {
		ret = take_entries_or_progress(cq, buf, count, source, true);
	} while (ret == -FI_EAGAIN && !read_is_interrupted(cq, since) &&
		 !gamma_sleep_spin_wait(&spin, &cq->waiter, cq->waiter.wait_obj != FI_WAIT_YIELD));
	/* An entry that arrived just before the deadline is returned. */
	if (ret == -FI_EAGAIN)
		ret = take_entries_or_progress(cq, buf, count, source, false);
	cq->waiter.blocked--;
	gamma_domain_unlock(cq->domain);
	return ret;
}

static ssize_t cq_sread(struct fid_cq *cq_fid, void *buf, size_t count, const void *cond,
			int timeout)
{
	return cq_sreadfrom(cq_fid, buf, count, NULL, cond, timeout);
}

static int cq_signal(struct fid_cq *cq_fid)
{
	struct gamma_cq *cq = cq_of(cq_fid);

	if (cq->waiter.wait_obj == FI_WAIT_NONE)
		return -FI_ENOSYS;
	gamma_domain_lock(cq->domain);
	if (cq->waiter.blocked)
		cq->interrupts++;
	else
		cq->interrupt = true;
	gamma_sleep_wake(&cq->waiter);
	gamma_domain_unlock(cq->domain);
	return 0;
}

/* ---- errors ---- */

/*
 * err_data goes into the caller's buffer if there is one, as far as it fits; else the caller gets
 * the queue's own until the next read; a reused entry that still names it has no buffer. Before
 * version 1.5 err_data_size was not in the structure.
 */
static void give_err_data(const struct gamma_cq *cq, struct gamma_cq_error *error,
			  struct fi_cq_err_entry *entry)
{
	bool sized = FI_VERSION_GE(cq->domain->fabric->api_version, FI_VERSION(1, 5));
	bool ours = cq->last_error && entry->err_data == cq->last_error->data;
	size_t len = error->data_len;

	if (!sized || ours || !entry->err_data || !entry->err_data_size) {
		entry->err_data = len ? error->data : NULL;
		if (sized)
			entry->err_data_size = len;
		return;
	}
	len = gamma_min(len, entry->err_data_size);
	memcpy(entry->err_data, error->data, len);
	if (len && error->prov_errno != error->err)
		((char *) entry->err_data)[len - 1] = '\0';
	entry->err_data_size = len;
}

/* From version 1.20 on the structure ends with the address that is to blame. The only errors with
 * one are about authorization keys (FI_AV_AUTH_KEY), which are not offered. */
static void give_no_address(const struct gamma_cq *cq, struct fi_cq_err_entry *entry)
{
	const size_t place = offsetof(struct fi_cq_err_entry, err_data_size) + sizeof(size_t);
	const fi_addr_t none = FI_ADDR_NOTAVAIL;

	if (FI_VERSION_GE(cq->domain->fabric->api_version, FI_VERSION(1, 20)))
		memcpy((char *) entry + place, &none, sizeof(none));
}

static ssize_t cq_readerr(struct fid_cq *cq_fid, struct fi_cq_err_entry *entry, uint64_t flags)
{
	struct gamma_cq *cq = cq_of(cq_fid);
	struct gamma_cq_error *error;

	(void) flags;
	gamma_domain_lock(cq->domain);
	if (gamma_list_empty(&cq->errors)) {
		gamma_domain_unlock(cq->domain);
		return -FI_EAGAIN;
	}
	error = gamma_list_first(&cq->errors, struct gamma_cq_error, entry);
	gamma_list_remove(&error->entry);
	copy_entry(FI_CQ_FORMAT_TAGGED, entry, &error->completion);
	entry->olen = error->olen;
	entry->err = error->err;
	entry->prov_errno = error->prov_errno;
	give_err_data(cq, error, entry);
	give_no_address(cq, entry);
	/* The previous entry's err_data is no longer valid. */
	if (cq->reserve)
		free(cq->last_error);
	else
		cq->reserve = cq->last_error;
	cq->last_error = error;
	gamma_domain_unlock(cq->domain);
	return 1;
}

const char *gamma_cq_error_text(int prov_errno, const void *err_data, char *buf, size_t len)
{
	const char *text = err_data;

	if (prov_errno < GAMMA_PROV_ERRNO_TEXT)
		text = fi_strerror(prov_errno);
	else if (!text)
		text = fi_strerror(prov_errno - GAMMA_PROV_ERRNO_TEXT);
	if (!buf || !len)
		return text;
	snprintf(buf, len, "%s", text);
	return buf;
}

static const char *cq_strerror(struct fid_cq *cq, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	(void) cq;
	return gamma_cq_error_text(prov_errno, err_data, buf, len);
}

/* ---- opening and closing ---- */

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct gamma_cq *cq = gamma_container_of(fid, struct gamma_cq, cq_fid.fid);

	return gamma_sleep_control(&cq->waiter, command, arg);
}

static void free_cq(struct gamma_cq *cq)
{
	struct gamma_list *pos, *next;

	gamma_list_for_each_safe (pos, next, &cq->errors)
		free(gamma_list_entry(pos, struct gamma_cq_error, entry));
	free(cq->last_error);
	free(cq->reserve);
	free(cq->ring);
	free(cq);
}

static int cq_close(struct fid *fid)
{
	struct gamma_cq *cq = gamma_container_of(fid, struct gamma_cq, cq_fid.fid);
	struct gamma_domain *domain = cq->domain;

	if (gamma_sleep_end(&cq->waiter, &cq->refs, fid))
		return -FI_EBUSY;
	free_cq(cq);
	gamma_refs_drop(&domain->refs);
	return 0;
}

static struct fi_ops cq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = cq_close,
	.bind = gamma_fabric_unsupported_bind,
	.control = cq_control,
	.ops_open = gamma_fabric_unsupported_ops_open,
	.tostr = gamma_fabric_unsupported_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

static struct fi_ops_cq cq_ops = {
	.size = sizeof(struct fi_ops_cq),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = cq_sread,
	.sreadfrom = cq_sreadfrom,
	.signal = cq_signal,
	.strerror = cq_strerror,
};

static int check_attr(const struct fi_cq_attr *attr)
{
	if (attr->format > FI_CQ_FORMAT_TAGGED)
		return -FI_ENOSYS;
	/* FI_AFFINITY is about interrupts, which here are the kernel's. */
	if (attr->flags & ~FI_AFFINITY)
		return -FI_EBADFLAGS;
	return gamma_sleep_check(attr->wait_obj, attr->wait_set);
}

static size_t ring_size(size_t asked)
{
	size_t size = RING_MIN;

	while (size < asked && size < RING_MAX)
		size *= 2;
	return size;
}

static struct gamma_cq *new_cq(const struct fi_cq_attr *attr)
{
	struct gamma_cq *cq = calloc(1, sizeof(*cq));

	if (!cq)
		return NULL;
	gamma_list_init(&cq->errors);
	cq->size = ring_size(attr->size);
	cq->ring = malloc(cq->size * sizeof(*cq->ring));
	cq->reserve = malloc(sizeof(*cq->reserve));
	cq->format = attr->format;
	if (cq->ring && cq->reserve)
		return cq;
	free_cq(cq);
	return NULL;
}

int gamma_cq_open(struct fid_domain *domain_fid, struct fi_cq_attr *attr, struct fid_cq **cq_fid,
		  void *context)
{
	struct gamma_domain *domain =
		gamma_container_of(domain_fid, struct gamma_domain, domain_fid);
	struct fi_cq_attr none = {0};
	struct gamma_cq *cq;
	int ret;

	attr = attr ? attr : &none;
	ret = check_attr(attr);
	if (ret)
		return ret;
	cq = new_cq(attr);
	if (!cq)
		return -FI_ENOMEM;
	cq->domain = domain;
	cq->held_round = UINT64_MAX;
	cq->cq_fid.fid.fclass = FI_CLASS_CQ;
	cq->cq_fid.fid.context = context;
	cq->cq_fid.fid.ops = &cq_fid_ops;
	cq->cq_fid.ops = &cq_ops;
	gamma_sleep_init(&cq->waiter, domain, attr->wait_obj);
	gamma_refs_take(&domain->refs);
	if (attr->wait_obj == FI_WAIT_SET) {
		ret = gamma_waitset_attach(attr->wait_set, &cq->cq_fid.fid, &cq->waiter.wait_set);
		if (ret) {
			cq_close(&cq->cq_fid.fid);
			return ret;
		}
	}
	*cq_fid = &cq->cq_fid;
	return 0;
}
