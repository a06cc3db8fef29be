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

#include "base/stats_page.h"
#include "engine/state.h"
#include "unix/memfd.h"

void gamma_stats_page_open(struct gamma_endpoint *endpoint, const struct gamma_endpoint_attr *attr)
{
	struct gamma_stats_view *view = &endpoint->view;
	struct gamma_stats_page *page;

	*view = (struct gamma_stats_view){.fd = -1, .at = GAMMA_NEVER};
	if (!attr->page_nic)
		return;
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
	page->datagram = endpoint->datagram;
	snprintf(page->nic, sizeof(page->nic), "%s", attr->page_nic);
	__atomic_store_n(&page->magic, GAMMA_STATS_PAGE_MAGIC, __ATOMIC_RELEASE);
	view->page = page;
	view->at = 0;
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
