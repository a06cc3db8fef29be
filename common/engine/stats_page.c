// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * An endpoint's counters in a page that other processes may read. The counters themselves stay
 * where they are, so that counting costs nothing more; a copy is made some times a second, and
 * before the program sleeps.
 */
#include "engine/stats_page.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ipv6_names.h"
#include "base/stats_page.h"
#include "engine/state.h"
#include "unix/memfd.h"

/* As asked for: AF_XDP in mode auto may have become a packet socket. */
static enum gamma_stats_path link_of(const struct gamma_endpoint *endpoint,
				     const struct gamma_endpoint_attr *attr)
{
	if (attr->link == GAMMA_LINK_UDP)
		return GAMMA_STATS_UDP;
	if (endpoint->broker)
		return GAMMA_STATS_SLOT;
	return attr->link == GAMMA_LINK_XDP ? GAMMA_STATS_XDP : GAMMA_STATS_RAW;
}

static void name_rail(struct gamma_stats_rail *rail, const char *name, bool udp)
{
	const char *suffix = udp ? "-udp" : "";
	size_t room = sizeof(rail->nic) - 1 - strlen(suffix);

	snprintf(rail->nic, sizeof(rail->nic), "%.*s%s", (int) room, name ? name : "", suffix);
}

/* The second one may be used later. */
static void name_rails(struct gamma_stats_page *page, const struct gamma_endpoint_attr *attr)
{
	_Static_assert((int) GAMMA_STATS_PAGE_RAILS == (int) GAMMA_RAILS_MAX, "all have room");

	name_rail(&page->rails[0], attr->page_nic, false);
	name_rail(&page->rails[1], attr->beside.name, true);
	for (unsigned i = 0; i < attr->more_count; i++)
		name_rail(&page->rails[1 + i], attr->more[i].name, attr->more[i].udp);
}

void gamma_stats_page_open(struct gamma_endpoint *endpoint, const struct gamma_endpoint_attr *attr)
{
	struct gamma_stats_view *view = &endpoint->view;
	struct gamma_stats_page *page;

	*view = (struct gamma_stats_view){.fd = -1, .at = GAMMA_NEVER};
	if (!attr->page_nic)
		return;
	view->path = link_of(endpoint, attr);
	view->fd = gamma_memfd_file(GAMMA_STATS_PAGE_NAME, GAMMA_STATS_PAGE_BYTES);
	if (view->fd < 0)
		return;
	page = mmap(NULL, GAMMA_STATS_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, view->fd, 0);
	if (page == MAP_FAILED || fchmod(view->fd, 0400)) {
		close(view->fd);
		view->fd = -1;
		return;
	}
	madvise(page, GAMMA_STATS_PAGE_BYTES, MADV_DONTFORK);
	page->version = GAMMA_STATS_PAGE_VERSION;
	page->count = sizeof(page->stats) / sizeof(uint64_t);
	page->pid = endpoint->owner;
	page->addr = endpoint->local.addr;
	gamma_ipv6_names_show_addr(&page->addr);
	page->datagram = endpoint->datagram;
	page->path = view->path;
	snprintf(page->nic, sizeof(page->nic), "%s", attr->page_nic);
	name_rails(page, attr);
	__atomic_store_n(&page->magic, GAMMA_STATS_PAGE_MAGIC, __ATOMIC_RELEASE);
	view->page = page;
	view->at = 0;
}

static enum gamma_stats_path path_of(const struct gamma_endpoint *endpoint,
				     const struct gamma_flow *flow)
{
	if (flow->self)
		return GAMMA_STATS_SELF;
	return flow->same_host ? GAMMA_STATS_SHM : endpoint->view.path;
}

static void write_peer(const struct gamma_endpoint *endpoint, const struct gamma_flow *flow,
		       struct gamma_stats_peer *peer)
{
	*peer = (struct gamma_stats_peer){
		.addr = flow->addr,
		.path = path_of(endpoint, flow),
		.mtu = flow->path_mtu.mtu,
		.frames_out = flow->tx.next - flow->tx.first,
		.frames_in = flow->rx.begun ? flow->rx.next - flow->rx.first : 0,
		.in_flight = flow->tx.next - flow->tx.una,
		.credit = flow->tx.limit - flow->tx.returned - flow->tx.next,
		.rtt = flow->loss.first.rtt,
		.rtt_min = flow->loss.first.rtt_min,
	};
	gamma_ipv6_names_show_addr(&peer->addr);
}

/* The first flows of the list: their number bounds the time that this takes. */
static void write_peers(struct gamma_endpoint *endpoint, struct gamma_stats_page *page)
{
	struct gamma_list *pos;

	page->peer_count = 0;
	gamma_list_for_each (pos, &endpoint->local.flows) {
		if (page->peer_count == GAMMA_STATS_PAGE_PEERS)
			return;
		write_peer(endpoint, gamma_list_entry(pos, struct gamma_flow, all_entry),
			   &page->peers[page->peer_count++]);
	}
}

static void write_rails(const struct gamma_endpoint *endpoint, struct gamma_stats_page *page)
{
	struct gamma_endpoint_rail rails[GAMMA_RAILS_MAX];

	page->rail_count = gamma_endpoint_rails(endpoint, rails);
	for (uint32_t r = 0; r < page->rail_count; r++) {
		struct gamma_stats_rail *rail = &page->rails[r];

		rail->frames_out = rails[r].frames_out;
		rail->bytes_out = rails[r].bytes_out;
		rail->retransmissions = rails[r].retransmissions;
		rail->doubted = rails[r].doubted;
		rail->returned = rails[r].returned;
		rail->round_trip = rails[r].round_trip;
	}
}

void gamma_stats_page_write(struct gamma_endpoint *endpoint, uint64_t now)
{
	struct gamma_stats_page *page = endpoint->view.page;

	if (!page)
		return;
	endpoint->view.at = now + GAMMA_STATS_PAGE_US * GAMMA_NS_PER_US;
	__atomic_store_n(&page->sequence, page->sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	page->written = now;
	page->flows = endpoint->flow_count;
	page->stats = endpoint->local.stats;
	page->round_trips = endpoint->local.round_trips;
	write_rails(endpoint, page);
	write_peers(endpoint, page);
	__atomic_store_n(&page->sequence, page->sequence + 1, __ATOMIC_RELEASE);
}

/* A forked child has the descriptor, and not the page. */
void gamma_stats_page_close(struct gamma_endpoint *endpoint)
{
	struct gamma_stats_view *view = &endpoint->view;

	if (view->page && getpid() == endpoint->owner)
		munmap(view->page, GAMMA_STATS_PAGE_BYTES);
	if (view->fd >= 0)
		close(view->fd);
	*view = (struct gamma_stats_view){.fd = -1, .at = GAMMA_NEVER};
}
