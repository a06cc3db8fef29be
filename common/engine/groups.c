// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Multicast groups of a best-effort endpoint: an Ethernet group address and a port. Each joined
 * group has a socket of its own: a packet socket, whose filter passes that group's frames,
 * including those that leave this host, or a UDP socket. Called by the interface layer, and by
 * every progress call.
 */
#include "engine/dispatch.h"
#include "engine/groups.h"
#include "engine/progress.h"
#include "link/broker.h"
#include "link/packet.h"
#include "link/udp.h"
#include "unix/deferred_close.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Of a group whose frames wait there until they are wanted. */
enum { RING_BYTES = 2 << 20 };

static int watch_group_fd(struct gamma_endpoint *endpoint, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	if (endpoint->groups_fd < 0)
		endpoint->groups_fd = epoll_create1(EPOLL_CLOEXEC);
	if (endpoint->groups_fd < 0)
		return -errno;
	return epoll_ctl(endpoint->groups_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static void close_group_link(struct gamma_endpoint *endpoint, struct gamma_group *group)
{
	if (!group->link)
		return;
	/* A forked child shares the epoll instance with its parent. */
	if (getpid() == endpoint->owner && endpoint->groups_fd >= 0)
		epoll_ctl(endpoint->groups_fd, EPOLL_CTL_DEL, group->link->fd, NULL);
	group->link->ops->close(group->link);
}

static void free_group(struct gamma_endpoint *endpoint, struct gamma_group *group)
{
	gamma_list_remove(&group->entry);
	close_group_link(endpoint, group);
	free(group);
}

/* A socket of its own, which also sees frames that leave the host. */
static int open_group_socket(struct gamma_endpoint *endpoint, struct gamma_group *group,
			     bool receives, size_t ring_bytes)
{
	const struct gamma_local *local = &endpoint->local;
	struct gamma_packet_attr attr = {
		.ifindex = endpoint->ifindex,
		.ethertype = local->ethertype,
		.port = ntohs(group->addr.port),
		.tenant = local->tenant,
		.mtu = endpoint->packet->mtu,
		.group = group->addr.mac,
		.receives = receives,
		.ring_bytes = ring_bytes,
		.incoming_only = ring_bytes != 0,
	};

	int ret = gamma_packet_open(&attr, &endpoint->local.stats, &group->link);

	group->out = group->link;
	return ret;
}

/* A collective operation's group has one member on each host that receives, and a port drawn at
 * random: nobody else on the host is to hear it. */
static int join_by_udp(struct gamma_endpoint *endpoint, struct gamma_group *group, bool receives)
{
	const uint16_t port = ntohs(group->addr.port);
	const bool shared = endpoint->datagram;
	int ret = receives ? gamma_udp_join(group->out, group->addr.mac, port, shared, &group->link)
			   : 0;

	if (ret == -EADDRINUSE && shared)
		gamma_error("UDP port %u, of a group, is in use by a program that does not share "
			    "it: choose another port for the group",
			    port);
	else if (ret)
		gamma_info("cannot join a group by UDP port %u: %s", port, strerror(-ret));
	return ret;
}

/* ---- through gammad: the kernel lets the endpoint send to groups that it has joined ---- */

static void name_group(const struct gamma_endpoint *endpoint, const struct gamma_group *group,
		       struct gamma_broker_group *ask)
{
	*ask = (struct gamma_broker_group){
		.port = endpoint->local.port,
		.group_port = ntohs(group->addr.port),
	};
	memcpy(ask->mac, endpoint->local.addr.mac, GAMMA_MAC_LEN);
	memcpy(ask->group, group->addr.mac, GAMMA_MAC_LEN);
}

static int join_by_gammad(struct gamma_endpoint *endpoint, struct gamma_group *group, bool receives)
{
	struct gamma_broker_group ask;
	struct gamma_broker_joined joined;
	int fd, ret;

	name_group(endpoint, group, &ask);
	ask.receives = receives;
	ret = gamma_broker_join(endpoint->broker, &ask, &joined, &fd);
	group->brokered = !ret;
	if (ret || !receives)
		return ret;
	ret = gamma_packet_adopt_group(&joined, fd, &endpoint->local.stats, &group->link);
	if (ret)
		close(fd);
	return ret;
}

/* Called after the group's socket was closed, as gammad checks that. Groups that are still joined
 * when the endpoint closes end with it. */
static void leave_by_gammad(struct gamma_endpoint *endpoint, struct gamma_group *group)
{
	struct gamma_broker_group ask;

	if (!group->brokered || getpid() != endpoint->owner)
		return;
	name_group(endpoint, group, &ask);
	gamma_broker_leave(endpoint->broker, &ask);
}

/* ---- joining, leaving ---- */

/* ring_bytes: of a packet socket of its own; 0: the default. */
static int open_group(struct gamma_endpoint *endpoint, struct gamma_group *group, bool receives,
		      size_t ring_bytes)
{
	group->out = endpoint->packet;
	if (endpoint->local.addr.version != GAMMA_ADDR_VERSION)
		return join_by_udp(endpoint, group, receives);
	return endpoint->broker ? join_by_gammad(endpoint, group, receives)
				: open_group_socket(endpoint, group, receives, ring_bytes);
}

int gamma_groups_join(struct gamma_endpoint *endpoint, const struct gamma_addr *addr, bool receives,
		      struct gamma_group **out)
{
	struct gamma_group *group = calloc(1, sizeof(*group));
	int ret;

	if (!group)
		return -ENOMEM;
	gamma_list_init(&group->entry);
	group->addr = *addr;
	ret = open_group(endpoint, group, receives, 0);
	if (!ret && receives && group->link)
		ret = watch_group_fd(endpoint, group->link->fd);
	if (ret) {
		gamma_groups_leave(endpoint, group);
		return ret;
	}
	gamma_list_append(&endpoint->groups, &group->entry);
	*out = group;
	return 0;
}

/* The last descriptor of a packet socket: to close it waits for all processors (RCU), often for
 * tens of milliseconds, while the caller holds a lock that progress needs. -1: it need not be kept.
 * A group that gammad may be asked for again at once must be closed before. */
static int keep_socket(const struct gamma_endpoint *endpoint, const struct gamma_group *group)
{
	bool closed_at_once = group->brokered && !gamma_list_empty(&group->entry);

	if (!group->link || endpoint->local.addr.version != GAMMA_ADDR_VERSION ||
	    getpid() != endpoint->owner || closed_at_once || gamma_deferred_close_is_full())
		return -1;
	return fcntl(group->link->fd, F_DUPFD_CLOEXEC, 0);
}

void gamma_groups_leave(struct gamma_endpoint *endpoint, struct gamma_group *group)
{
	int fd = keep_socket(endpoint, group);

	close_group_link(endpoint, group);
	group->link = NULL;
	leave_by_gammad(endpoint, group);
	free_group(endpoint, group);
	if (fd >= 0)
		gamma_deferred_close_fds(&fd, 1);
}

void gamma_groups_init(struct gamma_endpoint *endpoint)
{
	gamma_list_init(&endpoint->groups);
	endpoint->groups_fd = -1;
}

void gamma_groups_close(struct gamma_endpoint *endpoint)
{
	while (!gamma_list_empty(&endpoint->groups))
		free_group(endpoint,
			   gamma_list_first(&endpoint->groups, struct gamma_group, entry));
	if (endpoint->groups_fd >= 0)
		close(endpoint->groups_fd);
}

/* ---- groups whose frames the interface layer takes ---- */

static int join_beside(struct gamma_endpoint *endpoint, struct gamma_group *group, bool receives)
{
	group->out = gamma_links_udp(endpoint);
	if (!group->out)
		return -EOPNOTSUPP;
	if (!endpoint->local.rail_count && !gamma_links_use_udp(&endpoint->local))
		return -ENOMEM;
	group->rail = gamma_links_rail(endpoint, group->out);
	return join_by_udp(endpoint, group, receives);
}

int gamma_groups_open(struct gamma_endpoint *endpoint, const struct gamma_addr *addr, bool receives,
		      bool beside, struct gamma_group **out)
{
	struct gamma_group *group = calloc(1, sizeof(*group));
	int ret;

	if (!group)
		return -ENOMEM;
	gamma_list_init(&group->entry);
	group->addr = *addr;
	ret = beside ? join_beside(endpoint, group, receives)
		     : open_group(endpoint, group, receives, RING_BYTES);
	if (ret) {
		close_group_link(endpoint, group);
		free(group);
		return ret;
	}
	*out = group;
	return 0;
}

uint32_t gamma_groups_slots(const struct gamma_group *group)
{
	return group->link ? group->link->slots : 0;
}

size_t gamma_groups_beside_max(const struct gamma_endpoint *endpoint)
{
	const struct gamma_link *link = gamma_links_udp(endpoint);
	size_t header = endpoint->local.limits.mtu - gamma_endpoint_datagram_max(endpoint);

	return link && link->mtu > header ? link->mtu - header : 0;
}

/* Over UDP beside raw frames a peer's address is another one, which its list of rails has. */
static void find_sender(struct gamma_endpoint *endpoint, const struct gamma_group *group,
			struct gamma_group_frame *frame)
{
	const struct gamma_flow *flow;

	frame->unknown = false;
	if (!group->rail)
		return;
	flow = gamma_aliases_find(endpoint, frame->source.mac, ntohs(frame->source.port),
				  ntohl(frame->source.epoch));
	frame->unknown = !flow;
	if (flow)
		memcpy(frame->source.mac, flow->addr.mac, GAMMA_MAC_LEN);
}

bool gamma_groups_ask(struct gamma_endpoint *endpoint, const struct gamma_addr *member)
{
	struct gamma_flow *flow = gamma_endpoint_flow(endpoint, member);

	if (!flow || flow->state != GAMMA_FLOW_OPEN || flow->same_host)
		return false;
	gamma_rails_begin(flow);
	if (!flow->rails)
		return false;
	gamma_rails_ask(flow, gamma_now());
	return flow->rails->asking;
}

bool gamma_groups_next(struct gamma_endpoint *endpoint, struct gamma_group *group,
		       struct gamma_group_frame *frame)
{
	struct gamma_arrival arrival;

	while (group->link && group->link->ops->next(group->link, &arrival)) {
		if (gamma_dispatch_read_group(endpoint, group, &arrival, frame)) {
			find_sender(endpoint, group, frame);
			return true;
		}
		gamma_groups_release(endpoint, group);
	}
	return false;
}

void gamma_groups_release(struct gamma_endpoint *endpoint, struct gamma_group *group)
{
	endpoint->local.stats.frames_in++;
	group->link->ops->release(group->link);
}

/* The group that is first now is the last one next time: it may have frames without end. */
static void rotate_groups(struct gamma_endpoint *endpoint)
{
	struct gamma_list *first = endpoint->groups.next;

	gamma_list_remove(first);
	gamma_list_append(&endpoint->groups, first);
}

unsigned gamma_groups_receive(struct gamma_endpoint *endpoint)
{
	struct gamma_arrival arrival;
	struct gamma_list *pos;
	unsigned taken = 0;

	gamma_list_for_each (pos, &endpoint->groups) {
		struct gamma_group *group = gamma_list_entry(pos, struct gamma_group, entry);

		while (group->link && taken < GAMMA_POLL_BUDGET &&
		       group->link->ops->next(group->link, &arrival)) {
			gamma_dispatch_group(endpoint, group, &arrival);
			group->link->ops->release(group->link);
			taken++;
		}
	}
	if (gamma_unlikely(taken >= GAMMA_POLL_BUDGET))
		rotate_groups(endpoint);
	return taken;
}

bool gamma_groups_arm(struct gamma_endpoint *endpoint)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &endpoint->groups) {
		struct gamma_link *link = gamma_list_entry(pos, struct gamma_group, entry)->link;

		if (link && link->ops->arm(link))
			return true;
	}
	return false;
}
