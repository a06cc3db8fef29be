// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Multicast groups of a best-effort endpoint: an Ethernet group address and a port. Each that was
 * joined has a packet socket of its own, whose filter passes that group's frames, those too that
 * leave this host. Called by the interface layer, and by endpoint.c in every progress call.
 */
#include "engine/internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static int watch(struct gamma_endpoint *endpoint, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	if (endpoint->groups_fd < 0)
		endpoint->groups_fd = epoll_create1(EPOLL_CLOEXEC);
	if (endpoint->groups_fd < 0)
		return -errno;
	return epoll_ctl(endpoint->groups_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static void group_close(struct gamma_endpoint *endpoint, struct gamma_group *group)
{
	gamma_list_remove(&group->entry);
	/* The epoll instance is shared with the process that this one was forked from, if it was. */
	if (getpid() == endpoint->owner && endpoint->groups_fd >= 0)
		epoll_ctl(endpoint->groups_fd, EPOLL_CTL_DEL, group->link->fd, NULL);
	group->link->ops->close(group->link);
	free(group);
}

int gamma_endpoint_join(struct gamma_endpoint *endpoint, const struct gamma_addr *addr,
			bool receives, struct gamma_group **out)
{
	const struct gamma_local *local = &endpoint->local;
	struct gamma_packet_attr attr = {
		.ifindex = endpoint->ifindex,
		.ethertype = local->ethertype,
		.port = ntohs(addr->port),
		.tenant = local->tenant,
		.mtu = endpoint->packet->mtu,
		.group = addr->mac,
		.receives = receives,
	};
	struct gamma_group *group;
	int ret;

	if (endpoint->brokered) {
		gamma_warn("gammad opens no multicast groups: that needs CAP_NET_RAW");
		return -EOPNOTSUPP;
	}
	group = calloc(1, sizeof(*group));
	if (!group)
		return -ENOMEM;
	gamma_list_init(&group->entry);
	group->addr = *addr;
	ret = gamma_packet_open(&attr, &endpoint->local.stats, &group->link);
	if (ret) {
		free(group);
		return ret;
	}
	ret = receives ? watch(endpoint, group->link->fd) : 0;
	if (ret) {
		group_close(endpoint, group);
		return ret;
	}
	gamma_list_append(&endpoint->groups, &group->entry);
	*out = group;
	return 0;
}

void gamma_endpoint_leave(struct gamma_endpoint *endpoint, struct gamma_group *group)
{
	group_close(endpoint, group);
}

void gamma_groups_init(struct gamma_endpoint *endpoint)
{
	gamma_list_init(&endpoint->groups);
	endpoint->groups_fd = -1;
}

void gamma_groups_close(struct gamma_endpoint *endpoint)
{
	while (!gamma_list_empty(&endpoint->groups))
		group_close(endpoint,
			    gamma_list_first(&endpoint->groups, struct gamma_group, entry));
	if (endpoint->groups_fd >= 0)
		close(endpoint->groups_fd);
}

unsigned gamma_groups_take_in(struct gamma_endpoint *endpoint)
{
	struct gamma_arrival arrival;
	struct gamma_list *pos;
	unsigned taken = 0;

	gamma_list_for_each(pos, &endpoint->groups) {
		struct gamma_group *group = gamma_list_entry(pos, struct gamma_group, entry);

		while (taken < GAMMA_POLL_BUDGET && group->link->ops->next(group->link, &arrival)) {
			gamma_dispatch_group(endpoint, group, &arrival);
			group->link->ops->release(group->link);
			taken++;
		}
	}
	return taken;
}

bool gamma_groups_arm(struct gamma_endpoint *endpoint)
{
	struct gamma_list *pos;

	gamma_list_for_each(pos, &endpoint->groups) {
		struct gamma_link *link = gamma_list_entry(pos, struct gamma_group, entry)->link;

		if (link->ops->arm(link))
			return true;
	}
	return false;
}
