// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/engine/stats_page.c and tools/stat_read.c: written here, read from /proc. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ipv6_names.h"
#include "base/stats_page.h"
#include "engine/state.h"
#include "stat_read.h"
#include "unix/memfd.h"

static struct gamma_endpoint *open_page(const char *nic)
{
	struct gamma_endpoint *endpoint = calloc(1, sizeof(*endpoint));
	struct gamma_endpoint_attr attr = {.page_nic = nic};

	assert_non_null(endpoint);
	endpoint->owner = getpid();
	endpoint->local.addr.port = 7;
	gamma_list_init(&endpoint->local.flows);
	gamma_stats_page_open(endpoint, &attr);
	return endpoint;
}

static void close_page(struct gamma_endpoint *endpoint)
{
	gamma_stats_page_close(endpoint);
	free(endpoint);
}

/* This process's endpoints: how many, and one of them. */
static size_t read_own(struct stat_endpoint *one)
{
	struct stat_list list;
	size_t count = 0;

	assert_int_equal(stat_read_all("/proc", &list), 0);
	for (size_t i = 0; i < list.count; i++) {
		if (list.endpoint[i].page.pid != getpid())
			continue;
		*one = list.endpoint[i];
		count++;
	}
	stat_read_free(&list);
	return count;
}

static void page__shows_what_was_written(void **state)
{
	struct gamma_endpoint *endpoint = open_page("eth\x1b");
	struct stat_endpoint found;

	(void) state;
	endpoint->local.stats.messages_out = 5;
	endpoint->flow_count = 3;
	gamma_histogram_add(&endpoint->local.round_trips, 5000);
	assert_int_equal(endpoint->view.at, 0);
	gamma_stats_page_write(endpoint, 1000);
	assert_int_equal(endpoint->view.at, 1000 + GAMMA_STATS_PAGE_US * GAMMA_NS_PER_US);
	endpoint->local.stats.messages_out = 6; /* the page is a copy */
	assert_int_equal(read_own(&found), 1);
	assert_int_equal(found.uid, geteuid());
	assert_int_equal(found.page.stats.messages_out, 5);
	assert_int_equal(found.page.flows, 3);
	assert_int_equal(found.page.round_trips.counts[gamma_histogram_class(5000)], 1);
	assert_int_equal(found.page.path, GAMMA_STATS_RAW);
	assert_int_equal(found.page.peer_count, 0);
	assert_int_equal(found.page.written, 1000);
	assert_int_equal(found.page.addr.port, 7);
	assert_string_equal(found.page.nic, "eth?");
	close_page(endpoint);
	assert_int_equal(read_own(&found), 0);
}

/* More peers than the page has room for, of which the first are shown. */
static void page__shows_peers(void **state)
{
	static struct gamma_flow flows[GAMMA_STATS_PAGE_PEERS + 1];
	struct gamma_endpoint *endpoint = open_page("eth0");
	struct stat_endpoint found;

	(void) state;
	for (size_t i = 0; i < gamma_array_size(flows); i++) {
		flows[i].addr.port = (uint16_t) i;
		gamma_list_append(&endpoint->local.flows, &flows[i].all_entry);
	}
	flows[0].same_host = true;
	flows[1].tx.first = 4294967290u;
	flows[1].tx.una = 1;
	flows[1].tx.next = 4;
	flows[1].tx.limit = 20;
	flows[1].loss.first.rtt = 7000;
	gamma_stats_page_write(endpoint, 1000);
	assert_int_equal(read_own(&found), 1);
	assert_int_equal(found.page.peer_count, GAMMA_STATS_PAGE_PEERS);
	assert_int_equal(found.page.peers[0].path, GAMMA_STATS_SHM);
	assert_int_equal(found.page.peers[1].path, GAMMA_STATS_RAW);
	assert_int_equal(found.page.peers[1].addr.port, 1);
	assert_int_equal(found.page.peers[1].frames_out, 10);
	assert_int_equal(found.page.peers[1].in_flight, 3);
	assert_int_equal(found.page.peers[1].credit, 16);
	assert_int_equal(found.page.peers[1].rtt, 7000);
	close_page(endpoint);
}

/* In a process the pseudo MAC address stands for the IPv6 address; others see that itself. */
static void page__shows_ipv6_addresses(void **state)
{
	static const uint8_t ipv6[GAMMA_IPV6_LEN] = {0xfd, 0, 0, 0x78, [15] = 2};
	struct gamma_endpoint *endpoint = open_page("eth0");
	uint8_t shown[GAMMA_IPV6_LEN];
	struct gamma_flow flow = {.addr = {.version = GAMMA_ADDR_VERSION_UDP6, .port = 9}};
	struct stat_endpoint found;

	(void) state;
	assert_int_equal(gamma_ipv6_names_hold(ipv6, flow.addr.mac), 0);
	gamma_list_append(&endpoint->local.flows, &flow.all_entry);
	gamma_stats_page_write(endpoint, 1000);
	assert_int_equal(read_own(&found), 1);
	gamma_addr_ipv6(&found.page.peers[0].addr, shown);
	assert_memory_equal(shown, ipv6, sizeof(ipv6));
	assert_int_equal(found.page.peers[0].addr.port, 9);
	gamma_ipv6_names_drop(flow.addr.mac);
	close_page(endpoint);
}

static void page__shows_each_of_several_nics(void **state)
{
	struct gamma_endpoint *endpoint = calloc(1, sizeof(*endpoint));
	struct gamma_endpoint_attr attr = {.page_nic = "eth0", .more_count = 1};
	struct stat_endpoint found;

	(void) state;
	assert_non_null(endpoint);
	attr.more[0].name = "eth\x1b";
	endpoint->owner = getpid();
	gamma_list_init(&endpoint->local.flows);
	gamma_stats_page_open(endpoint, &attr);
	endpoint->local.rail_count = 2;
	endpoint->local.own_rails[1].frames_out = 7;
	endpoint->local.own_rails[1].bytes_out = 8000;
	endpoint->local.own_rails[1].doubts = 2;
	gamma_stats_page_write(endpoint, 1000);
	assert_int_equal(read_own(&found), 1);
	assert_int_equal(found.page.rail_count, 2);
	assert_string_equal(found.page.rails[0].nic, "eth0");
	assert_string_equal(found.page.rails[1].nic, "eth?");
	assert_int_equal(found.page.rails[1].frames_out, 7);
	assert_int_equal(found.page.rails[1].bytes_out, 8000);
	assert_int_equal(found.page.rails[1].doubted, 2);
	endpoint->view.page->rail_count = 99; /* a process may write what it likes */
	assert_int_equal(read_own(&found), 1);
	assert_int_equal(found.page.rail_count, GAMMA_STATS_PAGE_RAILS);
	close_page(endpoint);
}

static void page__is_none_without_a_name(void **state)
{
	struct gamma_endpoint *endpoint = open_page(NULL);
	struct stat_endpoint found;

	(void) state;
	gamma_stats_page_write(endpoint, 1000);
	assert_null(endpoint->view.page);
	assert_true(endpoint->view.at == GAMMA_NEVER);
	assert_int_equal(read_own(&found), 0);
	close_page(endpoint);
}

static void page__of_another_release_or_damaged_is_left_out(void **state)
{
	struct gamma_endpoint *endpoint = open_page("eth0");
	struct gamma_stats_page *page = endpoint->view.page;
	struct stat_endpoint found;

	(void) state;
	page->count++;
	assert_int_equal(read_own(&found), 0);
	page->count--;
	page->peer_count = 100000;
	assert_int_equal(read_own(&found), 1);
	assert_int_equal(found.page.peer_count, GAMMA_STATS_PAGE_PEERS);
	page->magic++;
	assert_int_equal(read_own(&found), 0);
	page->magic--;
	memset(page->nic, 'x', sizeof(page->nic)); /* no final 0 */
	page->sequence = 1;                        /* its process ended in the middle */
	assert_int_equal(read_own(&found), 1);
	assert_int_equal(strlen(found.page.nic), sizeof(found.page.nic) - 1);
	close_page(endpoint);
}

/* As a release before had it. */
static void page__of_another_size_is_of_another_release(void **state)
{
	const uint32_t head[2] = {GAMMA_STATS_PAGE_MAGIC, 1};
	int fd = gamma_memfd_file(GAMMA_STATS_PAGE_NAME, 4096);
	struct stat_list list;
	unsigned before;

	(void) state;
	assert_int_equal(stat_read_all("/proc", &list), 0);
	before = list.other_releases;
	stat_read_free(&list);
	assert_int_equal(pwrite(fd, head, sizeof(head), 0), sizeof(head));
	assert_int_equal(stat_read_all("/proc", &list), 0);
	assert_true(list.other_releases > before);
	stat_read_free(&list);
	close(fd);
}

static void page__of_a_parent_is_shown_once(void **state)
{
	struct gamma_endpoint *endpoint = open_page("eth0");
	struct stat_endpoint found;
	int ends[2], status;
	pid_t child;

	(void) state;
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		char end;

		close(ends[1]);
		_exit(read(ends[0], &end, 1) != 0);
	}
	assert_int_equal(read_own(&found), 1);
	close(ends[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(ends[0]);
	close_page(endpoint);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(page__shows_what_was_written),
		TEST(page__shows_peers),
		TEST(page__shows_ipv6_addresses),
		TEST(page__shows_each_of_several_nics),
		TEST(page__is_none_without_a_name),
		TEST(page__of_another_release_or_damaged_is_left_out),
		TEST(page__of_another_size_is_of_another_release),
		TEST(page__of_a_parent_is_shown_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
