// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of prov/gamma/src/cq.c, with sleep.c, waitset.c and progress.c below it. */
#include "prov_fake.h"
#include "../deprecated.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static struct fid_cq *open_cq(struct fake *fake, enum fi_cq_format format,
			      enum fi_wait_obj wait_obj)
{
	struct fi_cq_attr attr = {.format = format, .wait_obj = wait_obj};
	struct fid_cq *cq;

	assert_int_equal(fi_cq_open(fake->domain, &attr, &cq, NULL), 0);
	return cq;
}

static struct gamma_cq *inside(struct fid_cq *cq)
{
	return gamma_container_of(cq, struct gamma_cq, cq_fid);
}

static struct gamma_completion numbered(uintptr_t number)
{
	struct gamma_completion completion = {
		.context = (void *) number,
		.flags = FI_RECV | FI_TAGGED,
		.len = number * 2,
		.buf = (void *) (number * 3),
		.data = number * 4,
		.tag = number * 5,
		.source = number * 6,
	};

	return completion;
}

static void put(struct fid_cq *cq, uintptr_t number)
{
	struct gamma_completion completion = numbered(number);

	gamma_domain_lock(inside(cq)->domain);
	gamma_cq_write(inside(cq), completion);
	gamma_domain_unlock(inside(cq)->domain);
}

static void put_error(struct fid_cq *cq, uintptr_t number, int err, const char *text)
{
	struct gamma_completion completion = numbered(number);

	gamma_domain_lock(inside(cq)->domain);
	gamma_cq_write_error(inside(cq), &completion, err, 7, text);
	gamma_domain_unlock(inside(cq)->domain);
}

/* ---- reading ---- */

static void read__each_format_is_its_own_size(void **state)
{
	struct fi_cq_tagged_entry tagged[2];
	struct fi_cq_data_entry data[2];
	struct fi_cq_msg_entry msg[2];
	struct fi_cq_entry plain[2];
	void *bufs[] = {plain, plain, msg, data, tagged};
	int format;

	for (format = FI_CQ_FORMAT_UNSPEC; format <= FI_CQ_FORMAT_TAGGED; format++) {
		struct fid_cq *cq = open_cq(*state, format, FI_WAIT_NONE);

		put(cq, 1);
		put(cq, 2);
		assert_int_equal(fi_cq_read(cq, bufs[format], 2), 2);
		assert_int_equal(fi_close(&cq->fid), 0);
	}
	assert_ptr_equal(plain[1].op_context, 2);
	assert_int_equal(msg[1].len, 4);
	assert_int_equal(data[1].data, 8);
	assert_int_equal(tagged[1].tag, 10);
	assert_int_equal(tagged[1].flags, FI_RECV | FI_TAGGED);
}

static void readfrom__gives_sources(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_NONE);
	struct fi_cq_entry entries[3];
	fi_addr_t sources[3];

	put(cq, 1);
	put(cq, 2);
	assert_int_equal(fi_cq_readfrom(cq, entries, 3, sources), 2);
	assert_int_equal(sources[1], 12);
	assert_int_equal(fi_close(&cq->fid), 0);
}

static void read__ring_grows_and_keeps_order(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_NONE);
	struct fi_cq_entry entry;
	uintptr_t in = 0, out = 0;

	/* Off the beginning, so that growing has to unwrap it. */
	while (in < 50)
		put(cq, ++in);
	while (out < 40 && fi_cq_read(cq, &entry, 1) == 1)
		assert_ptr_equal(entry.op_context, ++out);
	while (in < 10000)
		put(cq, ++in);
	while (fi_cq_read(cq, &entry, 1) == 1)
		assert_ptr_equal(entry.op_context, ++out);
	assert_int_equal(out, in);
	assert_int_equal(fi_close(&cq->fid), 0);
}

static void read__moves_the_domain_only_if_empty(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_NONE);
	struct gamma_fi_ep ep = {0};
	struct fi_cq_entry entry;

	fake_ep_enable(&ep, *state);
	assert_int_equal(fi_cq_read(cq, &entry, 1), -FI_EAGAIN);
	assert_int_equal(ep.progressed, 1);
	put(cq, 1);
	assert_int_equal(fi_cq_read(cq, &entry, 1), 1);
	assert_int_equal(ep.progressed, 1);
	assert_int_equal(fi_cq_read(cq, NULL, 0), -FI_EAGAIN);
	assert_int_equal(ep.progressed, 2);
	fake_ep_disable(&ep);
	assert_int_equal(fi_close(&cq->fid), 0);
}

/* ---- errors ---- */

static void error__what_it_says(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_NONE);
	struct fi_cq_err_entry error = {0};
	struct fi_cq_entry entry;

	put_error(cq, 1, FI_ETRUNC, NULL);
	assert_int_equal(fi_cq_read(cq, &entry, 1), -FI_EAVAIL);
	assert_int_equal(fi_cq_read(cq, &entry, 1), -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
	assert_ptr_equal(error.op_context, 1);
	assert_int_equal(error.err, FI_ETRUNC);
	assert_int_equal(error.olen, 7);
	assert_int_equal(error.len, 2);
	assert_int_equal(error.tag, 5);
	assert_null(error.err_data);
	assert_string_equal(fi_cq_strerror(cq, error.prov_errno, error.err_data, NULL, 0),
			    fi_strerror(FI_ETRUNC));
	assert_int_equal(fi_cq_readerr(cq, &error, 0), -FI_EAGAIN);
	assert_int_equal(fi_cq_read(cq, &entry, 1), -FI_EAGAIN);
	assert_int_equal(fi_close(&cq->fid), 0);
}

static void put_errors_between(struct fid_cq *cq)
{
	put(cq, 1);
	put(cq, 2);
	put_error(cq, 3, FI_EIO, NULL);
	put_error(cq, 4, FI_EIO, NULL);
	put(cq, 5);
	put_error(cq, 6, FI_EIO, NULL);
}

static void assert_next_error(struct fid_cq *cq, uintptr_t number)
{
	struct fi_cq_err_entry error = {0};
	struct fi_cq_entry entry;

	assert_int_equal(fi_cq_read(cq, &entry, 1), -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
	assert_ptr_equal(error.op_context, number);
}

static void error__keeps_its_place(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_UNSPEC);
	struct fi_cq_entry entries[8];
	fi_addr_t sources[8];

	/* Three times, so that the ring does not begin at its front. */
	for (int i = 0; i < 3; i++) {
		put_errors_between(cq);
		assert_int_equal(fi_cq_read(cq, entries, 8), 2);
		assert_ptr_equal(entries[1].op_context, 2);
		assert_next_error(cq, 3);
		put(cq, 7);
		assert_int_equal(fi_cq_sread(cq, entries, 8, NULL, -1), -FI_EAVAIL);
		assert_next_error(cq, 4);
		assert_int_equal(fi_cq_sread(cq, entries, 8, NULL, -1), 1);
		assert_ptr_equal(entries[0].op_context, 5);
		assert_int_equal(fi_cq_readfrom(cq, entries, 8, sources), -FI_EAVAIL);
		assert_next_error(cq, 6);
		assert_int_equal(fi_cq_readfrom(cq, entries, 8, sources), 1);
		assert_ptr_equal(entries[0].op_context, 7);
		assert_int_equal(sources[0], 42);
		assert_int_equal(fi_cq_read(cq, entries, 8), -FI_EAGAIN);
	}
	assert_int_equal(fi_close(&cq->fid), 0);
}

static void error__keeps_its_place_as_the_ring_grows(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_NONE);
	struct fi_cq_entry entry;
	uintptr_t in = 0, out = 0;

	while (in < 1000) {
		put(cq, ++in);
		if (in % 10 == 0)
			put_error(cq, in, FI_EIO, NULL);
	}
	while (out < in) {
		assert_int_equal(fi_cq_read(cq, &entry, 1), 1);
		assert_ptr_equal(entry.op_context, ++out);
		if (out % 10 == 0)
			assert_next_error(cq, out);
	}
	assert_int_equal(fi_cq_read(cq, &entry, 1), -FI_EAGAIN);
	assert_int_equal(fi_close(&cq->fid), 0);
}

/* A program that learns of the error by its counter need not read the successes first. */
static void error__read_before_successes(void **state)
{
	static const uintptr_t numbers[] = {3, 4, 6};
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_NONE);
	struct fi_cq_err_entry error = {0};
	struct fi_cq_entry entries[8];

	put_errors_between(cq);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
		assert_ptr_equal(error.op_context, numbers[i]);
	}
	assert_int_equal(fi_cq_readerr(cq, &error, 0), -FI_EAGAIN);
	assert_int_equal(fi_cq_read(cq, entries, 8), 3);
	assert_ptr_equal(entries[2].op_context, 5);
	assert_int_equal(fi_cq_read(cq, entries, 8), -FI_EAGAIN);
	assert_int_equal(fi_close(&cq->fid), 0);
}

/* Behind a success whose message has yet to leave. */
static void error__waits_behind_what_is_held(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_NONE);
	struct fi_cq_entry entry;

	gamma_domain_lock(inside(cq)->domain);
	gamma_cq_hold_from_here(inside(cq));
	gamma_domain_unlock(inside(cq)->domain);
	put(cq, 1);
	put_error(cq, 2, FI_EIO, NULL);
	assert_int_equal(fi_cq_read(cq, &entry, 1), 1);
	assert_ptr_equal(entry.op_context, 1);
	assert_next_error(cq, 2);
	assert_int_equal(fi_close(&cq->fid), 0);
}

static void error__text_in_our_buffer_or_the_callers(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_NONE);
	struct fi_cq_err_entry error = {0};
	char small[8], text[64];

	put_error(cq, 1, FI_EHOSTUNREACH, "pc007 is silent");
	put_error(cq, 2, FI_EHOSTUNREACH, "pc007 is silent");
	assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
	assert_int_equal(error.err_data_size, sizeof("pc007 is silent"));
	assert_string_equal(
		fi_cq_strerror(cq, error.prov_errno, error.err_data, text, sizeof(text)),
		"pc007 is silent");
	error.err_data = small;
	error.err_data_size = sizeof(small);
	assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
	assert_ptr_equal(error.err_data, small);
	assert_int_equal(error.err_data_size, sizeof(small));
	assert_string_equal(small, "pc007 i");
	assert_int_equal(fi_close(&cq->fid), 0);
}

/* A reused entry still names the buffer of the last error. */
static void error__entry_used_again(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_NONE);
	struct fi_cq_err_entry error = {0};
	char text[64], should[64];

	for (uintptr_t i = 1; i <= 4; i++) {
		snprintf(should, sizeof(should), "pc%03u is silent", (unsigned) i);
		put_error(cq, i, FI_EHOSTUNREACH, should);
	}
	for (uintptr_t i = 1; i <= 4; i++) {
		snprintf(should, sizeof(should), "pc%03u is silent", (unsigned) i);
		assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
		assert_string_equal(
			fi_cq_strerror(cq, error.prov_errno, error.err_data, text, sizeof(text)),
			should);
	}
	assert_int_equal(fi_close(&cq->fid), 0);
}

static void error__old_structure_is_not_overrun(void **state)
{
	struct fake *fake = fake_open(FI_VERSION(1, 4), FI_THREAD_SAFE, FI_PROGRESS_MANUAL);
	struct fid_cq *cq = open_cq(fake, FI_CQ_FORMAT_CONTEXT, FI_WAIT_NONE);
	struct fi_cq_err_entry error = {.err_data_size = 0xdead};

	(void) state;
	put_error(cq, 1, FI_EIO, "text");
	assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
	assert_string_equal(error.err_data, "text");
	assert_int_equal(error.err_data_size, 0xdead);
	assert_int_equal(fi_close(&cq->fid), 0);
	fake_close(fake);
}

/* From 1.20 on it ends with an address, which no error here has. */
static void error__address_of_newer_structures(void **state)
{
	static const uint32_t versions[] = {FI_VERSION(1, 19), FI_VERSION(1, 20), FI_VERSION(2, 1)};
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_NONE);
	const size_t place = offsetof(struct fi_cq_err_entry, err_data_size) + 8;

	for (unsigned i = 0; i < gamma_array_size(versions); i++) {
		struct fi_cq_err_entry error[2] = {{0}};
		fi_addr_t address = 4711;

		inside(cq)->domain->fabric->api_version = versions[i];
		memcpy((char *) error + place, &address, sizeof(address));
		put_error(cq, 1, FI_EIO, NULL);
		assert_int_equal(fi_cq_readerr(cq, error, 0), 1);
		memcpy(&address, (char *) error + place, sizeof(address));
		assert_int_equal(address, i ? FI_ADDR_NOTAVAIL : 4711);
	}
	assert_int_equal(fi_close(&cq->fid), 0);
}

static void error__unknown_source_is_its_address(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_NONE);
	struct gamma_addr addr = fake_addr(9, 1000, 5);
	struct gamma_completion completion = numbered(1);
	struct fi_cq_err_entry error = {0};

	gamma_cq_write_unknown_source(inside(cq), &completion, &addr);
	assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
	assert_int_equal(error.err, FI_EADDRNOTAVAIL);
	assert_int_equal(error.err_data_size, sizeof(addr));
	assert_memory_equal(error.err_data, &addr, sizeof(addr));
	assert_int_equal(fi_close(&cq->fid), 0);
}

/* ---- waiting ---- */

static void sread__without_wait_object(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_NONE);
	struct fi_cq_entry entry;

	assert_int_equal(fi_cq_sread(cq, &entry, 1, NULL, 0), -FI_ENOSYS);
	assert_int_equal(fi_cq_signal(cq), -FI_ENOSYS);
	assert_int_equal(fi_close(&cq->fid), 0);
}

static void sread__time_is_up(void **state)
{
	static const enum fi_wait_obj objs[] = {FI_WAIT_UNSPEC, FI_WAIT_FD, FI_WAIT_YIELD};
	struct fi_cq_entry entry;
	size_t i;

	for (i = 0; i < gamma_array_size(objs); i++) {
		struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, objs[i]);
		uint64_t start = gamma_now();

		assert_int_equal(fi_cq_sread(cq, &entry, 1, NULL, 30), -FI_EAGAIN);
		assert_in_range(elapsed_ms(start), 30, 1000);
		assert_int_equal(fi_close(&cq->fid), 0);
	}
}

static void sread__signal_before_and_after(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_UNSPEC);
	uint64_t start = gamma_now();
	struct fi_cq_entry entry;

	assert_int_equal(fi_cq_signal(cq), 0);
	assert_int_equal(fi_cq_sread(cq, &entry, 1, NULL, 5000), -FI_EAGAIN);
	assert_in_range(elapsed_ms(start), 0, 1000);
	/* It was for one thread only. */
	assert_int_equal(fi_cq_sread(cq, &entry, 1, NULL, 20), -FI_EAGAIN);
	assert_in_range(elapsed_ms(start), 20, 5000);
	assert_int_equal(fi_close(&cq->fid), 0);
}

static void complete(struct gamma_fi_ep *ep)
{
	struct gamma_completion completion = numbered(77);

	fake_ep_quiet(ep);
	gamma_cq_write(inside(ep->arg), completion);
	ep->on_progress = NULL;
	ep->deadline = GAMMA_NEVER;
}

static void complete_at_deadline(struct gamma_fi_ep *ep)
{
	if (gamma_now() >= ep->deadline)
		complete(ep);
}

static void sread__wakes_at_a_deadline(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_UNSPEC);
	struct gamma_fi_ep ep = {.on_progress = complete_at_deadline, .arg = cq};
	uint64_t start = gamma_now();
	struct fi_cq_entry entry;

	ep.deadline = start + 30 * GAMMA_NS_PER_MS;
	fake_ep_enable(&ep, *state);
	assert_int_equal(fi_cq_sread(cq, &entry, 1, NULL, -1), 1);
	assert_in_range(elapsed_ms(start), 30, 1000);
	fake_ep_disable(&ep);
	assert_int_equal(fi_close(&cq->fid), 0);
}

struct sleeper {
	pthread_t thread;
	struct fid_cq *cq;
	ssize_t ret;
};

static void *sleeper_main(void *arg)
{
	struct sleeper *sleeper = arg;
	struct fi_cq_entry entry;

	sleeper->ret = fi_cq_sread(sleeper->cq, &entry, 1, NULL, 10000);
	return NULL;
}

static void start(struct sleeper *sleepers, int count, struct fid_cq *cq)
{
	int i;

	for (i = 0; i < count; i++) {
		sleepers[i].cq = cq;
		assert_int_equal(
			pthread_create(&sleepers[i].thread, NULL, sleeper_main, &sleepers[i]), 0);
	}
	do { /* until all of them sleep */
		usleep(1000);
		gamma_domain_lock(inside(cq)->domain);
		i = inside(cq)->waiter.sleepers;
		gamma_domain_unlock(inside(cq)->domain);
	} while (i < count);
}

static void sread__every_sleeper_gets_one(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_UNSPEC);
	struct sleeper sleepers[4];
	int i;

	start(sleepers, 4, cq);
	for (i = 0; i < 4; i++)
		put(cq, i);
	for (i = 0; i < 4; i++) {
		pthread_join(sleepers[i].thread, NULL);
		assert_int_equal(sleepers[i].ret, 1);
	}
	assert_int_equal(fi_close(&cq->fid), 0);
}

static void sread__signal_sends_all_sleepers_home(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_UNSPEC);
	struct sleeper sleepers[3];
	uint64_t since = gamma_now();
	int i;

	start(sleepers, 3, cq);
	assert_int_equal(fi_close(&cq->fid), -FI_EBUSY);
	assert_int_equal(fi_cq_signal(cq), 0);
	for (i = 0; i < 3; i++) {
		pthread_join(sleepers[i].thread, NULL);
		assert_int_equal(sleepers[i].ret, -FI_EAGAIN);
	}
	assert_in_range(elapsed_ms(since), 0, 5000);
	assert_int_equal(fi_close(&cq->fid), 0);
}

static void sread__wakes_by_a_frame(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_UNSPEC);
	struct gamma_fi_ep ep = {.arg = cq};
	struct sleeper sleeper;

	fake_ep_enable(&ep, *state);
	start(&sleeper, 1, cq);
	gamma_domain_lock(ep.domain);
	ep.on_progress = complete;
	gamma_domain_unlock(ep.domain);
	fake_ep_poke(&ep);
	pthread_join(sleeper.thread, NULL);
	assert_int_equal(sleeper.ret, 1);
	fake_ep_disable(&ep);
	assert_int_equal(fi_close(&cq->fid), 0);
}

/* What another thread posts may be due before the sleeper would have woken. */
static void sread__earlier_deadline_meanwhile(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_UNSPEC);
	struct gamma_fi_ep ep = {.on_progress = complete_at_deadline, .arg = cq};
	uint64_t since = gamma_now();
	struct sleeper sleeper;

	fake_ep_enable(&ep, *state);
	start(&sleeper, 1, cq);
	gamma_domain_lock(ep.domain);
	ep.deadline = gamma_now() + 20 * GAMMA_NS_PER_MS;
	gamma_domain_unlock(ep.domain);
	pthread_join(sleeper.thread, NULL);
	assert_int_equal(sleeper.ret, 1);
	assert_in_range(elapsed_ms(since), 20, 5000);
	fake_ep_disable(&ep);
	assert_int_equal(fi_close(&cq->fid), 0);
}

static void complete_when_disarmed(struct gamma_fi_ep *ep)
{
	if (!ep->disarmed)
		return;
	ep->disarmed = false;
	complete(ep);
}

/* Another thread polls, takes what was to wake the sleeper, and polls no more. */
static void sread__others_took_what_would_wake(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_UNSPEC);
	struct gamma_fi_ep ep = {.on_progress = complete_when_disarmed, .arg = cq};
	struct sleeper sleeper;

	fake_ep_enable(&ep, *state);
	start(&sleeper, 1, cq);
	gamma_domain_lock(ep.domain);
	assert_true(ep.watched);
	ep.disarmed = true;
	gamma_domain_unlock(ep.domain);
	pthread_join(sleeper.thread, NULL);
	assert_int_equal(sleeper.ret, 1);
	fake_ep_disable(&ep);
	assert_int_equal(fi_close(&cq->fid), 0);
}

static void nothing(int signal)
{
	(void) signal;
}

static void sread__interrupted_by_a_signal(void **state)
{
	struct fid_cq *cq = open_cq(*state, FI_CQ_FORMAT_CONTEXT, FI_WAIT_UNSPEC);
	struct sigaction action = {.sa_handler = nothing};
	uint64_t since = gamma_now();
	struct sleeper sleeper;

	sigaction(SIGUSR1, &action, NULL);
	start(&sleeper, 1, cq);
	/* One that comes just before it sleeps wakes nobody. */
	while (pthread_tryjoin_np(sleeper.thread, NULL)) {
		pthread_kill(sleeper.thread, SIGUSR1);
		usleep(1000);
	}
	assert_int_equal(sleeper.ret, -FI_EAGAIN);
	assert_in_range(elapsed_ms(since), 0, 5000);
	assert_int_equal(fi_close(&cq->fid), 0);
}

/* ---- descriptors ---- */

static bool readable(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

static void trywait__promises_a_wakeup(void **state)
{
	struct fake *fake = *state;
	struct fid_cq *cq = open_cq(fake, FI_CQ_FORMAT_CONTEXT, FI_WAIT_FD);
	struct fid *fids[] = {&cq->fid};
	struct fi_cq_entry entry;
	int fd;

	assert_int_equal(fi_control(&cq->fid, FI_GETWAIT, &fd), 0);
	put(cq, 1);
	assert_int_equal(fi_trywait(fake->fabric, fids, 1), -FI_EAGAIN);
	assert_int_equal(fi_cq_read(cq, &entry, 1), 1);
	assert_int_equal(fi_trywait(fake->fabric, fids, 1), 0);
	assert_false(readable(fd));
	put(cq, 2);
	assert_true(readable(fd));
	assert_int_equal(fi_cq_read(cq, &entry, 1), 1);
	assert_int_equal(fi_trywait(fake->fabric, fids, 1), 0);
	assert_false(readable(fd));
	assert_int_equal(fi_close(&cq->fid), 0);
}

/* After fi_trywait the descriptor stays readable for the thread that blocks on it, and wakes no
 * other. */
static void trywait__lets_sread_sleep(void **state)
{
	struct fake *fake = *state;
	struct fid_cq *cq = open_cq(fake, FI_CQ_FORMAT_CONTEXT, FI_WAIT_FD);
	struct fid *fids[] = {&cq->fid};
	struct fi_cq_entry entry;
	uint64_t rounds;
	int fd;

	assert_int_equal(fi_control(&cq->fid, FI_GETWAIT, &fd), 0);
	assert_int_equal(fi_trywait(fake->fabric, fids, 1), 0);
	put(cq, 1);
	assert_int_equal(fi_cq_read(cq, &entry, 1), 1);
	gamma_domain_lock(fake->gamma_domain);
	assert_int_equal(gamma_sleep_block(&inside(cq)->waiter, gamma_now() + GAMMA_NS_PER_MS),
			 -FI_ETIMEDOUT);
	gamma_domain_unlock(fake->gamma_domain);
	rounds = fake->gamma_domain->rounds;
	assert_int_equal(fi_cq_sread(cq, &entry, 1, NULL, 100), -FI_EAGAIN);
	assert_true(fake->gamma_domain->rounds - rounds < 5000);
	assert_true(readable(fd));
	assert_int_equal(fi_close(&cq->fid), 0);
}

static void trywait__not_while_a_frame_waits(void **state)
{
	struct fake *fake = *state;
	struct fid_cq *cq = open_cq(fake, FI_CQ_FORMAT_CONTEXT, FI_WAIT_FD);
	struct gamma_fi_ep ep = {.ready = true};
	struct fid *fids[] = {&cq->fid};
	int fd;

	assert_int_equal(fi_control(&cq->fid, FI_GETWAIT, &fd), 0);
	fake_ep_enable(&ep, fake);
	assert_int_equal(fi_trywait(fake->fabric, fids, 1), -FI_EAGAIN);
	ep.ready = false;
	assert_int_equal(fi_trywait(fake->fabric, fids, 1), 0);
	fake_ep_poke(&ep);
	assert_true(readable(fd));
	fake_ep_disable(&ep);
	assert_int_equal(fi_close(&cq->fid), 0);
}

static void wait_set__sees_its_queues(void **state)
{
	struct fake *fake = *state;
	struct fi_wait_attr wait_attr = {.wait_obj = FI_WAIT_UNSPEC};
	struct fi_cq_attr attr = {.wait_obj = FI_WAIT_SET};
	struct fi_cq_entry entry;
	struct fid_wait *wait;
	struct fid_cq *cq[2];

	assert_int_equal(fi_wait_open(fake->fabric, &wait_attr, &wait), 0);
	attr.wait_set = wait;
	assert_int_equal(fi_cq_open(fake->domain, &attr, &cq[0], NULL), 0);
	assert_int_equal(fi_cq_open(fake->domain, &attr, &cq[1], NULL), 0);
	assert_int_equal(fi_wait(wait, 20), -FI_ETIMEDOUT);
	put(cq[1], 1);
	assert_int_equal(fi_wait(wait, 5000), 0);
	assert_int_equal(fi_cq_read(cq[1], &entry, 1), 1);
	assert_int_equal(fi_wait(wait, 20), -FI_ETIMEDOUT);
	assert_int_equal(fi_close(&wait->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&cq[0]->fid), 0);
	assert_int_equal(fi_close(&cq[1]->fid), 0);
	assert_int_equal(fi_close(&wait->fid), 0);
}

static void poll_set__gives_contexts(void **state)
{
	struct fake *fake = *state;
	struct fi_poll_attr poll_attr = {0};
	struct fi_cq_attr attr = {0};
	struct fi_cq_entry entry;
	struct fid_poll *poll;
	void *contexts[2];
	struct fid_cq *cq;

	assert_int_equal(fi_poll_open(fake->domain, &poll_attr, &poll), 0);
	assert_int_equal(fi_cq_open(fake->domain, &attr, &cq, &attr), 0);
	assert_int_equal(fi_poll_add(poll, &cq->fid, 0), 0);
	assert_int_equal(fi_poll(poll, contexts, 2), 0);
	put(cq, 1);
	assert_int_equal(fi_poll(poll, contexts, 2), 1);
	assert_ptr_equal(contexts[0], &attr);
	assert_int_equal(fi_cq_read(cq, &entry, 1), 1);
	assert_int_equal(fi_close(&cq->fid), -FI_EBUSY);
	assert_int_equal(fi_poll_del(poll, &cq->fid, 0), 0);
	assert_int_equal(fi_close(&cq->fid), 0);
	assert_int_equal(fi_close(&poll->fid), 0);
}

/* ---- progress without the application ---- */

static void automatic__moves_the_domain_alone(void **state)
{
	struct fake *fake = fake_open(FI_VERSION(1, 17), FI_THREAD_DOMAIN, FI_PROGRESS_AUTO);
	struct fid_cq *cq = open_cq(fake, FI_CQ_FORMAT_CONTEXT, FI_WAIT_NONE);
	struct gamma_fi_ep ep = {.on_progress = complete, .arg = cq};
	uint64_t since = gamma_now();
	bool there = false;

	(void) state;
	fake_ep_enable(&ep, fake);
	fake_ep_poke(&ep);
	while (!there && elapsed_ms(since) < 5000) {
		usleep(1000);
		gamma_domain_lock(fake->gamma_domain);
		there = gamma_cq_ready(inside(cq));
		gamma_domain_unlock(fake->gamma_domain);
	}
	assert_true(there);
	fake_ep_disable(&ep);
	assert_int_equal(fi_close(&cq->fid), 0);
	fake_close(fake);
}

/* No descriptor is left for its thread: a program that polls does without. */
static void automatic__not_needed_by_a_polling_thread(void **state)
{
	struct rlimit before, low;
	struct fake *fake;

	(void) state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	fake = fake_open(FI_VERSION(1, 17), FI_THREAD_SAFE, FI_PROGRESS_MANUAL);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_null(fake->gamma_domain->progress_thread);
	fake_close(fake);
}

static void open__refuses_what_it_cannot_do(void **state)
{
	struct fake *fake = *state;
	struct fi_cq_attr attr = {.wait_obj = FI_WAIT_MUTEX_COND};
	struct fid_cq *cq;

	assert_int_equal(fi_cq_open(fake->domain, &attr, &cq, NULL), -FI_ENOSYS);
	attr.wait_obj = FI_WAIT_SET;
	assert_int_equal(fi_cq_open(fake->domain, &attr, &cq, NULL), -FI_EINVAL);
	attr.wait_obj = FI_WAIT_NONE;
	attr.format = FI_CQ_FORMAT_TAGGED + 1;
	assert_int_equal(fi_cq_open(fake->domain, &attr, &cq, NULL), -FI_ENOSYS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(read__each_format_is_its_own_size),
		TEST(readfrom__gives_sources),
		TEST(read__ring_grows_and_keeps_order),
		TEST(read__moves_the_domain_only_if_empty),
		TEST(error__what_it_says),
		TEST(error__keeps_its_place),
		TEST(error__keeps_its_place_as_the_ring_grows),
		TEST(error__read_before_successes),
		TEST(error__waits_behind_what_is_held),
		TEST(error__text_in_our_buffer_or_the_callers),
		TEST(error__entry_used_again),
		cmocka_unit_test(error__old_structure_is_not_overrun),
		TEST(error__address_of_newer_structures),
		TEST(error__unknown_source_is_its_address),
		TEST(sread__without_wait_object),
		TEST(sread__time_is_up),
		TEST(sread__signal_before_and_after),
		TEST(sread__wakes_at_a_deadline),
		TEST(sread__every_sleeper_gets_one),
		TEST(sread__signal_sends_all_sleepers_home),
		TEST(sread__wakes_by_a_frame),
		TEST(sread__earlier_deadline_meanwhile),
		TEST(sread__others_took_what_would_wake),
		TEST(sread__interrupted_by_a_signal),
		TEST(trywait__promises_a_wakeup),
		TEST(trywait__lets_sread_sleep),
		TEST(trywait__not_while_a_frame_waits),
		TEST(wait_set__sees_its_queues),
		TEST(poll_set__gives_contexts),
		cmocka_unit_test(automatic__moves_the_domain_alone),
		cmocka_unit_test(automatic__not_needed_by_a_polling_thread),
		TEST(open__refuses_what_it_cannot_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
