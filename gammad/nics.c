// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * NICs that come, go and change while gammad runs: a driver that is loaded late or again, a VLAN or
 * bond that is made after gammad, a cable, another MTU. A thread stays in the host's namespace and
 * watches its interfaces. It makes the slots of a NIC that has come; the main thread does the rest.
 */
#include "gammad/gammad.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <libmnl/libmnl.h>

#include "nic/select.h"

enum {
	PAUSE_MS = 20,  /* changes come in bursts: they are looked at together, */
	BURST_MS = 500, /* but not later than this: others' interfaces may change without end */
};

/* Changes that the thread has found, until the main thread takes them. */
static struct {
	const struct gammad *gammad; /* its descriptors; the thread reads nothing else of it */
	const struct gammad_programs *programs;
	struct mnl_socket *socket; /* changes of the host's interfaces */
	pthread_mutex_t lock;      /* of what follows */
	struct gamma_nic *links;   /* all interfaces, or NULL: nothing new */
	size_t count;
	struct gammad_nic come[GAMMAD_NICS_MAX]; /* NICs whose slots were made */
	unsigned come_count;
} news = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The NICs of gammad.conf, as the thread knows them. */
static struct {
	char name[16];
	unsigned slots;
	bool own_address;
	int ifindex; /* of the interface whose slots are made; 0: none */
	int refused; /* of one on which none can be made, which was logged */
} wanted[GAMMAD_NICS_MAX];
static unsigned wanted_count;

/* ---- the thread ---- */

static void take(const struct gamma_nic *link, unsigned i)
{
	struct gammad_nic nic;

	if (link->ifindex == wanted[i].refused)
		return;
	if (!gammad_slots_may_take(link)) {
		gamma_warn("%s is not served: it %s", link->name, link->reason);
		wanted[i].refused = link->ifindex;
		return;
	}
	if (gammad_slots_take_nic(news.gammad, news.programs, link, wanted[i].slots,
				  wanted[i].own_address, &nic)) {
		if (nic.fd >= 0)
			close(nic.fd);
		free(nic.slots);
		wanted[i].refused = link->ifindex;
		return;
	}
	wanted[i].ifindex = link->ifindex;
	pthread_mutex_lock(&news.lock);
	if (news.come_count < GAMMAD_NICS_MAX)
		news.come[news.come_count++] = nic;
	pthread_mutex_unlock(&news.lock);
}

static bool is_there(const struct gamma_nic *links, size_t count, int ifindex)
{
	for (size_t i = 0; i < count; i++) {
		if (links[i].ifindex == ifindex)
			return true;
	}
	return false;
}

static void look(void)
{
	struct gamma_nic *links, *old;
	uint64_t one = 1;
	size_t count;

	gammad_log_set_quiet(true);
	if (gamma_nic_list(&links, &count))
		links = NULL;
	gammad_log_set_quiet(false);
	for (unsigned i = 0; links && i < wanted_count; i++) {
		const struct gamma_nic *link =
			gamma_nic_select_by_name(links, count, wanted[i].name);

		if (!is_there(links, count, wanted[i].ifindex))
			wanted[i].ifindex = 0;
		if (link && !wanted[i].ifindex)
			take(link, i);
	}
	if (!links)
		return;
	pthread_mutex_lock(&news.lock);
	old = news.links;
	news.links = links;
	news.count = count;
	pthread_mutex_unlock(&news.lock);
	gamma_nic_list_free(old);
	if (write(news.gammad->changes_fd, &one, sizeof(one)) < 0)
		gamma_warn("the main thread cannot be reached: %s; restart gammad",
			   strerror(errno));
}

static void drain(void)
{
	_Alignas(struct nlmsghdr) char bytes[8192];
	struct pollfd polls = {.fd = mnl_socket_get_fd(news.socket), .events = POLLIN};
	const uint64_t end = gamma_now() + BURST_MS * GAMMA_NS_PER_MS;

	/* After lost messages (ENOBUFS) everything is read again. */
	while (gamma_now() < end && poll(&polls, 1, PAUSE_MS) > 0)
		mnl_socket_recvfrom(news.socket, bytes, sizeof(bytes));
}

static void *watch(void *arg)
{
	int *ret = arg;
	struct pollfd polls = {.events = POLLIN};
	uint64_t one = 1;

	*ret = gammad_setup_enter_ns(news.gammad->host_ns);
	if (!*ret) {
		news.socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
		if (!news.socket || mnl_socket_bind(news.socket, RTMGRP_LINK, MNL_SOCKET_AUTOPID))
			*ret = -errno;
	}
	if (!*ret)
		*ret = gammad_setup_drop_privileges();
	polls.fd = *ret ? -1 : mnl_socket_get_fd(news.socket);
	/* The starter waits for this, and then ret is gone. */
	if (write(news.gammad->changes_fd, &one, sizeof(one)) < 0 || polls.fd < 0)
		return NULL;
	for (;;) {
		look();
		while (poll(&polls, 1, -1) < 0)
			;
		drain();
	}
	return NULL;
}

int gammad_nics_watch(struct gammad *gammad, const struct gammad_programs *programs)
{
	static int ret; /* the thread may outlive this call */
	pthread_t thread;
	uint64_t started;

	news.gammad = gammad;
	news.programs = programs;
	wanted_count = gammad->conf.nic_count;
	for (unsigned i = 0; i < wanted_count; i++) {
		strcpy(wanted[i].name, gammad->conf.nics[i].name);
		wanted[i].slots = gammad->conf.nics[i].slots;
		wanted[i].own_address = gammad->conf.nics[i].own_address;
		for (unsigned n = 0; n < gammad->nic_count; n++) {
			if (!strcmp(gammad->nics[n].name, wanted[i].name))
				wanted[i].ifindex = gammad->nics[n].ifindex;
		}
	}
	gammad->changes_watch = GAMMAD_WATCH_NIC_CHANGES;
	gammad->changes_fd = eventfd(0, EFD_CLOEXEC);
	if (gammad->changes_fd < 0 || pthread_create(&thread, NULL, watch, &ret)) {
		gamma_warn("the NICs cannot be watched: %s; raise LimitNOFILE and TasksMax",
			   strerror(errno));
		return -EAGAIN;
	}
	pthread_detach(thread);
	if (read(gammad->changes_fd, &started, sizeof(started)) != sizeof(started) || ret) {
		gamma_warn("the NICs cannot be watched: %s; start gammad as root", strerror(-ret));
		return -EIO;
	}
	return gammad_watch_fd(gammad, gammad->changes_fd, &gammad->changes_watch) ? 0 : -EIO;
}

/* ---- the main thread ---- */

static const struct gamma_nic *find_link(const struct gamma_nic *links, size_t count, int ifindex)
{
	for (size_t i = 0; i < count; i++) {
		if (links[i].ifindex == ifindex)
			return &links[i];
	}
	return NULL;
}

static void lose(struct gammad *gammad, struct gammad_nic *nic)
{
	gamma_warn("%s was removed: its endpoints have ended; waiting for it to come back",
		   nic->name);
	gammad_open_lose_nic(gammad, nic);
	close(nic->fd);
	free(nic->slots);
	nic->fd = -1;
	nic->slots = NULL;
	nic->slot_count = 0;
	nic->ifindex = 0;
}

static void log_state(const struct gammad_nic *nic)
{
	if (nic->up && nic->carrier)
		gamma_info("%s is up", nic->name);
	else
		gamma_warn("%s %s", nic->name,
			   nic->up ? "has no carrier: check cable and switch port"
				   : "is down: set it up with `ip link set up`");
}

static void follow(struct gammad_nic *nic, const struct gamma_nic *link)
{
	if (nic->up != link->up || nic->carrier != link->carrier) {
		nic->up = link->up;
		nic->carrier = link->carrier;
		log_state(nic);
	}
	memcpy(nic->mac, link->mac, GAMMA_MAC_LEN);
	if (nic->mtu == link->mtu)
		return;
	gamma_info("%s: MTU %u bytes instead of %u", nic->name, link->mtu, nic->mtu);
	nic->mtu = link->mtu;
	gammad_slots_set_mtu(nic);
}

void gammad_nics_follow(struct gammad *gammad, const struct gamma_nic *links, size_t count)
{
	for (unsigned i = 0; i < gammad->nic_count; i++) {
		struct gammad_nic *nic = &gammad->nics[i];
		const struct gamma_nic *link = find_link(links, count, nic->ifindex);

		if (link && nic->ifindex)
			follow(nic, link);
		else if (nic->ifindex)
			lose(gammad, nic);
	}
}

/* The place of a NIC of that name, which was removed; or a new one. */
static struct gammad_nic *place_of(struct gammad *gammad, const char *name)
{
	for (unsigned i = 0; i < gammad->nic_count; i++) {
		if (!strcmp(gammad->nics[i].name, name))
			return &gammad->nics[i];
	}
	return &gammad->nics[gammad->nic_count++];
}

static void add(struct gammad *gammad, const struct gammad_nic *come)
{
	struct gammad_nic *nic = place_of(gammad, come->name);

	if (nic->ifindex)
		lose(gammad, nic);
	*nic = *come;
	if (gammad_slots_prepare(nic, news.programs)) {
		lose(gammad, nic);
		return;
	}
	if (gammad_attach_links(nic, news.programs))
		gamma_warn("%s: its slots keep slower filters; raise TasksMax", nic->name);
	gamma_info("%s has come and is served, with %u slots", nic->name, nic->slot_count);
}

void gammad_nics_handle_change(struct gammad *gammad)
{
	struct gammad_nic come[GAMMAD_NICS_MAX];
	struct gamma_nic *links;
	unsigned come_count;
	uint64_t changes;
	size_t count;

	if (read(gammad->changes_fd, &changes, sizeof(changes)) != sizeof(changes))
		return;
	pthread_mutex_lock(&news.lock);
	links = news.links;
	count = news.count;
	come_count = news.come_count;
	memcpy(come, news.come, sizeof(come));
	news.links = NULL;
	news.come_count = 0;
	pthread_mutex_unlock(&news.lock);
	if (links)
		gammad_nics_follow(gammad, links, count);
	gamma_nic_list_free(links);
	for (unsigned i = 0; i < come_count; i++)
		add(gammad, &come[i]);
}
