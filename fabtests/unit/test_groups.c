// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/engine/groups.c, on real links: who closes the socket of a group, and when;
 * groups over UDP beside raw frames. */
#include "sides.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/groups.h"
#include "engine/progress.h"
#include "engine/state.h"

static const struct gamma_addr group_addr = {
	.mac = {3, 0, 0, 0, 0, 9},
	.port = 7,
	.version = GAMMA_ADDR_VERSION,
};

/* The socket that is watched, and in which order its descriptors are closed. */
static ino_t watched;
static pthread_t own_thread;
static unsigned closed_here, closed_elsewhere; /* atomic; calls */
static unsigned last_here;                     /* closed_elsewhere at the last of closed_here */

int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_close(int fd)
{
	struct stat st;

	if (!watched || fstat(fd, &st) || st.st_ino != watched)
		return __real_close(fd);
	if (pthread_equal(pthread_self(), own_thread)) {
		last_here = __atomic_load_n(&closed_elsewhere, __ATOMIC_SEQ_CST);
		__atomic_add_fetch(&closed_here, 1, __ATOMIC_SEQ_CST);
	} else {
		__atomic_add_fetch(&closed_elsewhere, 1, __ATOMIC_SEQ_CST);
	}
	return __real_close(fd);
}

static void watch(const struct gamma_group *group)
{
	struct stat st;

	assert_int_equal(fstat(group->link->fd, &st), 0);
	own_thread = pthread_self();
	closed_here = closed_elsewhere = last_here = 0;
	watched = st.st_ino;
}

/* A thread closes the last descriptor, after the caller has closed its own. */
static void assert_closed_in_a_thread(void)
{
	uint64_t end = gamma_now() + 5 * GAMMA_NS_PER_S;

	while (!__atomic_load_n(&closed_elsewhere, __ATOMIC_SEQ_CST)) {
		assert_true(gamma_now() < end);
		usleep(1000);
	}
	watched = 0;
	assert_int_equal(closed_here, 1);
	assert_int_equal(last_here, 0);
	assert_int_equal(closed_elsewhere, 1);
}

static void leave__socket_is_closed_in_a_thread(void **state)
{
	struct gamma_group *group;

	(void) state;
	netns_needed();
	assert_int_equal(gamma_groups_open(sides[A].ep, &group_addr, true, false, &group), 0);
	watch(group);
	gamma_groups_leave(sides[A].ep, group);
	assert_closed_in_a_thread();
}

static void leave__of_datagrams_too_and_it_can_be_joined_again(void **state)
{
	struct gamma_group *group;

	(void) state;
	netns_needed();
	assert_int_equal(gamma_groups_join(sides[A].ep, &group_addr, true, &group), 0);
	watch(group);
	gamma_groups_leave(sides[A].ep, group);
	assert_int_equal(gamma_groups_join(sides[A].ep, &group_addr, true, &group), 0);
	gamma_groups_leave(sides[A].ep, group);
	assert_closed_in_a_thread();
}

/* No lock is held then, and the program may end. */
static void close__closes_the_groups_that_are_left(void **state)
{
	struct gamma_group *group;

	(void) state;
	netns_needed();
	assert_int_equal(gamma_groups_join(sides[A].ep, &group_addr, true, &group), 0);
	watch(group);
	close_side(A);
	watched = 0;
	assert_int_equal(closed_here, 1);
	assert_int_equal(closed_elsewhere, 0);
}

/* More frames than one progress call takes, always. */
static void receive__a_flooded_group_does_not_starve_the_others(void **state)
{
	const struct gamma_addr other_addr = {
		.mac = {3, 0, 0, 0, 0, 10}, .port = 8, .version = GAMMA_ADDR_VERSION};
	struct gamma_group *flooded, *other, *to_flooded, *to_other;
	const struct iovec iov = {.iov_base = "x", .iov_len = 1};
	const struct gamma_envelope envelope = {.length = 1};
	struct gamma_arrival arrival;

	(void) state;
	netns_needed();
	assert_int_equal(gamma_groups_join(sides[A].ep, &group_addr, true, &flooded), 0);
	assert_int_equal(gamma_groups_join(sides[A].ep, &other_addr, true, &other), 0);
	assert_int_equal(gamma_groups_join(sides[FAR].ep, &group_addr, false, &to_flooded), 0);
	assert_int_equal(gamma_groups_join(sides[FAR].ep, &other_addr, false, &to_other), 0);
	assert_int_equal(gamma_endpoint_send_group(sides[FAR].ep, to_other, &iov, 1, &envelope), 0);
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned j = 0; j < 2 * GAMMA_POLL_BUDGET; j++)
			gamma_endpoint_send_group(sides[FAR].ep, to_flooded, &iov, 1, &envelope);
		usleep(100000);
		assert_int_equal(gamma_groups_receive(sides[A].ep), GAMMA_POLL_BUDGET);
	}
	assert_false(other->link->ops->next(other->link, &arrival));
}

/* ---- over UDP beside raw frames ---- */

static const struct gamma_group_datagram datagram = {
	.bytes = {.iov_base = "to all", .iov_len = 6},
	.envelope = {.length = 6, .data = 77, .flags = GAMMA_HAS_DATA},
};

/* A receives: the port on this host is one endpoint's alone. */
static void open_beside(unsigned which, struct gamma_group **group)
{
	struct gamma_endpoint_attr attr = side_attr(which);

	attr.beside = side_over_udp(which);
	reopen_side(which, attr);
	assert_true(gamma_groups_beside_max(sides[which].ep) > 8000);
	assert_int_equal(gamma_groups_open(sides[which].ep, &group_addr, which == A, true, group),
			 0);
}

static void next(struct gamma_group *group, struct gamma_group_frame *frame)
{
	uint64_t end = gamma_now() + 5 * GAMMA_NS_PER_S;

	while (!gamma_groups_next(sides[A].ep, group, frame))
		assert_true(gamma_now() < end);
}

static void send_from_far(const struct gamma_group *group, unsigned count)
{
	const struct gamma_group_datagram datagrams[] = {datagram, datagram, datagram, datagram};

	assert_int_equal(gamma_endpoint_send_to_group(sides[FAR].ep, group, datagrams, count),
			 count);
}

static void ask_until_answered(const struct gamma_addr *far)
{
	uint64_t end = gamma_now() + 5 * GAMMA_NS_PER_S;

	assert_true(gamma_groups_ask(sides[A].ep, far));
	while (gamma_groups_ask(sides[A].ep, far)) {
		assert_true(gamma_now() < end);
		gamma_endpoint_progress(sides[A].ep);
		gamma_endpoint_progress(sides[FAR].ep);
	}
}

/* The members know each other by their raw addresses. */
static void beside__the_source_is_asked_for_its_address(void **state)
{
	const struct gamma_addr *far;
	struct gamma_group *in, *out;
	struct gamma_group_frame frame;

	(void) state;
	sides_add_ip_addresses();
	open_beside(A, &in);
	open_beside(FAR, &out);
	far = gamma_endpoint_addr(sides[FAR].ep);
	send_from_far(out, 1);
	next(in, &frame);
	assert_true(frame.unknown);
	assert_int_equal(frame.source.port, far->port);
	assert_int_equal(frame.source.epoch, far->epoch);
	ask_until_answered(far);
	next(in, &frame); /* it has not been released */
	assert_false(frame.unknown);
	assert_memory_equal(&frame.source, far, offsetof(struct gamma_addr, epoch));
	assert_int_equal(frame.envelope.data, 77);
	assert_memory_equal(frame.payload, "to all", 6);
	gamma_groups_release(sides[A].ep, in);
	gamma_groups_leave(sides[A].ep, in);
	gamma_groups_leave(sides[FAR].ep, out);
}

/* It has the port and epoch of a member, but an address that the member does not have. */
static void beside__another_address_stays_unknown(void **state)
{
	const struct gamma_addr *far;
	struct gamma_endpoint_attr attr;
	struct gamma_group *in, *out;
	struct gamma_group_frame frame;

	(void) state;
	sides_add_ip_addresses();
	netns_ip("addr replace 10.1.0.3/24 dev g0");
	open_beside(A, &in);
	open_beside(FAR, &out);
	gamma_groups_leave(sides[FAR].ep, out);
	far = gamma_endpoint_addr(sides[FAR].ep);
	attr = side_attr(B);
	attr.port = ntohs(far->port);
	attr.epoch = ntohl(far->epoch);
	attr.beside = side_over_udp(B);
	memcpy(attr.mac, mac1, GAMMA_MAC_LEN);
	attr.mac[5]++;
	attr.beside.mac[5] = 3;
	reopen_side(B, attr);
	assert_int_equal(gamma_groups_open(sides[B].ep, &group_addr, false, true, &out), 0);
	assert_int_equal(gamma_endpoint_send_to_group(sides[B].ep, out, &datagram, 1), 1);
	ask_until_answered(far);
	next(in, &frame);
	assert_true(frame.unknown);
	assert_int_equal(frame.source.port, far->port);
	assert_int_equal(frame.source.epoch, far->epoch);
	assert_false(gamma_groups_ask(sides[A].ep, far));
	gamma_groups_leave(sides[A].ep, in);
	gamma_groups_leave(sides[B].ep, out);
}

/* One that has no UDP is no source of such frames. */
static void beside__a_peer_that_has_none_is_not_waited_for(void **state)
{
	const struct gamma_addr *far = gamma_endpoint_addr(sides[FAR].ep);
	struct gamma_group *in;

	(void) state;
	sides_add_ip_addresses();
	open_beside(A, &in);
	ask_until_answered(far);
	gamma_groups_leave(sides[A].ep, in);
}

static void beside__several_leave_in_one_call(void **state)
{
	struct gamma_group *in, *out;
	struct gamma_group_frame frame;
	uint64_t calls;

	(void) state;
	sides_add_ip_addresses();
	open_beside(A, &in);
	open_beside(FAR, &out);
	calls = side_stats(FAR)->send_calls;
	send_from_far(out, 4);
	assert_int_equal(side_stats(FAR)->send_calls, calls + 1);
	assert_int_equal(side_stats(FAR)->datagrams_out, 4);
	for (unsigned i = 0; i < 4; i++) {
		next(in, &frame);
		gamma_groups_release(sides[A].ep, in);
	}
	assert_int_equal(sides[FAR].ep->local.own_rails[1].frames_out, 4);
	gamma_groups_leave(sides[A].ep, in);
	gamma_groups_leave(sides[FAR].ep, out);
}

/* No other process of the host hears what goes to the group. */
static void beside__the_port_is_not_shared(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = group_addr.port};
	struct gamma_group *in;
	int one = 1, fd = socket(AF_INET, SOCK_DGRAM, 0);

	(void) state;
	sides_add_ip_addresses();
	open_beside(A, &in);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), -1);
	assert_int_equal(errno, EADDRINUSE);
	close(fd);
	gamma_groups_leave(sides[A].ep, in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EP_TEST(leave__socket_is_closed_in_a_thread),
		DGRAM_TEST(leave__of_datagrams_too_and_it_can_be_joined_again),
		DGRAM_TEST(receive__a_flooded_group_does_not_starve_the_others),
		EP_TEST(beside__the_source_is_asked_for_its_address),
		EP_TEST(beside__another_address_stays_unknown),
		EP_TEST(beside__a_peer_that_has_none_is_not_waited_for),
		EP_TEST(beside__several_leave_in_one_call),
		EP_TEST(beside__the_port_is_not_shared),
		DGRAM_TEST(close__closes_the_groups_that_are_left),
	};

	return cmocka_run_group_tests(tests, netns_setup, NULL);
}
