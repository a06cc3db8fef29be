// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Endpoints: making one's sockets for a client, finding out when it is gone, taking its rights
 * away. An endpoint lives as long as anybody has its packet socket open: the kernel's list of
 * those says so, whatever has become of the client, or of gammad in between.
 */
#include "gammad/gammad.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "gammad/sockets.h"
#include "link/packet_socket.h"

/* ---- who is there ---- */

static unsigned count_of(const struct gammad *gammad, uid_t uid)
{
	struct gamma_list *pos;
	unsigned count = 0;

	gamma_list_for_each(pos, &gammad->opens)
		count += gamma_list_entry(pos, struct gammad_open, entry)->record.tenant ==
			 htonl(uid);
	return count;
}

static struct gammad_slot *free_slot(const struct gammad_nic *nic)
{
	for (unsigned i = 0; i < nic->slot_count; i++) {
		if (!nic->slots[i].open)
			return &nic->slots[i];
	}
	return NULL;
}

static bool is_mine(const struct gammad_nic *nic, const struct gammad_open *open)
{
	return (uint32_t) nic->ifindex == open->record.nic_ifindex;
}

/* Ties an endpoint to its NIC and slot, if they are configured. */
static void place(struct gammad *gammad, struct gammad_open *open)
{
	for (unsigned i = 0; i < gammad->nic_count; i++) {
		struct gammad_nic *nic = &gammad->nics[i];

		if (!is_mine(nic, open))
			continue;
		open->nic = nic;
		if (open->record.slot < nic->slot_count) {
			open->slot = &nic->slots[open->record.slot];
			open->slot->open = open;
		}
	}
}

static void enter(struct gammad *gammad, struct gammad_open *open)
{
	open->watch = GAMMAD_WATCH_PORT;
	place(gammad, open);
	gamma_list_append(&gammad->opens, &open->entry);
	if (open->port_fd >= 0)
		gammad_watch(gammad, open->port_fd, &open->watch);
}

static void forget(struct gammad *gammad, struct gammad_open *open)
{
	bpf_map_delete_elem(gammad->endpoints_map, &open->handle);
	if (open->slot)
		open->slot->open = NULL;
	if (open->client)
		open->client->open = NULL;
	if (open->port_fd >= 0)
		close(open->port_fd);
	gamma_list_remove(&open->entry);
	free(open);
}

/* ---- the sockets ---- */

static int make_filter_and_ring(int fd, const struct gammad *gammad, const struct gammad_nic *nic,
				const struct gammad_open *open, struct tpacket_req *req)
{
	struct gamma_packet_attr attr = {
		.ethertype = gammad->conf.ethertype,
		.port = ntohs(open->record.port),
		.tenant = ntohl(open->record.tenant),
	};
	int ret = gamma_packet_filter(fd, &attr);

	gamma_packet_plan(nic->mtu, gammad->conf.ring_bytes, req);
	return ret ? ret : gamma_packet_ring(fd, req);
}

/* In this order: nothing is received before the filter is there, nothing can be sent before the
 * endpoint is in the map, and the mark, which freezes the socket, comes last. */
static int make_socket(struct gammad *gammad, const struct gammad_nic *nic,
		       const struct gammad_slot *slot, struct gammad_open *open,
		       struct tpacket_req *req)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(gammad->conf.ethertype),
		.sll_ifindex = slot->ifindex,
	};
	struct stat st;
	int ret;

	if (fd < 0)
		return -errno;
	ret = make_filter_and_ring(fd, gammad, nic, open, req);
	if (!ret) {
		gamma_packet_send_buffer(fd);
		if (bind(fd, (struct sockaddr *) &address, sizeof(address)) || fstat(fd, &st))
			ret = -errno;
	}
	if (!ret) {
		open->record.inode = st.st_ino;
		ret = bpf_map_update_elem(gammad->endpoints_map, &open->handle, &open->record,
					  BPF_NOEXIST);
	}
	if (!ret &&
	    setsockopt(fd, SOL_SOCKET, SO_MARK, &open->handle, sizeof(open->handle))) {
		ret = -errno;
		bpf_map_delete_elem(gammad->endpoints_map, &open->handle);
	}
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

/* Does a process that opened the NIC by itself own the port? */
static bool owned_on_host(const struct gammad *gammad, const struct gammad_nic *nic, uint16_t port)
{
	struct sockaddr_un name;
	unsigned len = gamma_port_name(nic->mac, port, &name);

	/* EPERM, EAGAIN and the like: somebody is there, too. */
	return !connect(gammad->host_fd, (struct sockaddr *) &name, len) || errno != ECONNREFUSED;
}

/* Two names in gammad's own namespace, where nobody else can bind any: on the NIC's MAC, which
 * makes the port unique there, and on the slot's, which is the endpoint's. Returns the latter. */
static int claim_port(struct gammad *gammad, const struct gammad_nic *nic,
		      const struct gammad_slot *slot, uint16_t *port, int *nic_fd)
{
	int one = 1, ret;

	*nic_fd = gamma_port_claim(nic->mac, port);
	if (*nic_fd < 0)
		return *nic_fd;
	ret = owned_on_host(gammad, nic, *port) ? -EADDRINUSE : gamma_port_claim(slot->mac, port);
	if (ret >= 0 && setsockopt(*nic_fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one))) {
		close(ret);
		ret = -EIO;
	}
	if (ret < 0)
		close(*nic_fd);
	return ret;
}

/* ---- opening ---- */

static enum gamma_broker_reason may_open(struct gammad *gammad, const struct gammad_client *client,
					 const struct gamma_broker_open *ask,
					 const struct gammad_nic *nic)
{
	unsigned limit = gammad_conf_limit(&gammad->conf, client->uid);

	if (client->has_opened)
		return GAMMA_BROKER_TWICE;
	if (!client->allowed)
		return GAMMA_BROKER_NO_GROUP;
	if (!nic)
		return GAMMA_BROKER_NO_NIC;
	if (ask->ethertype != gammad->conf.ethertype)
		return GAMMA_BROKER_ETHERTYPE;
	if (count_of(gammad, client->uid) >= limit || !free_slot(nic))
		gammad_sweep(gammad);
	if (count_of(gammad, client->uid) >= limit)
		return GAMMA_BROKER_LIMIT;
	return free_slot(nic) ? GAMMA_BROKER_OK : GAMMA_BROKER_NO_SLOT;
}

static void describe(const struct gammad *gammad, const struct gammad_nic *nic,
		     const struct gammad_slot *slot, const struct gammad_open *open,
		     const struct tpacket_req *req, struct gamma_broker_opened *opened)
{
	memcpy(opened->mac, slot->mac, GAMMA_MAC_LEN);
	opened->port = ntohs(open->record.port);
	opened->tenant = ntohl(open->record.tenant);
	opened->ifindex = (uint32_t) slot->ifindex;
	opened->mtu = nic->mtu;
	opened->block_bytes = req->tp_block_size;
	opened->blocks = req->tp_block_nr;
	opened->slot_bytes = req->tp_frame_size;
	opened->host = gammad->host;
}

static enum gamma_broker_reason fill(struct gammad *gammad, struct gammad_client *client,
				     const struct gamma_broker_open *ask, struct gammad_nic *nic,
				     struct gammad_open *open,
				     struct gamma_broker_opened *opened,
				     int fds[GAMMA_BROKER_FDS])
{
	struct gammad_slot *slot = free_slot(nic);
	uint16_t port = ask->port;
	struct tpacket_req req;

	fds[1] = claim_port(gammad, nic, slot, &port, &open->port_fd);
	if (fds[1] < 0)
		return fds[1] == -EADDRINUSE ? GAMMA_BROKER_PORT_TAKEN : GAMMA_BROKER_SYSTEM;
	open->record = (struct gammad_endpoint){
		.ethertype = htons(gammad->conf.ethertype),
		.port = htons(port),
		.tenant = htonl(client->uid),
		.epoch = ask->epoch,
		.nic_ifindex = (uint32_t) nic->ifindex,
		.slot = (uint32_t) (slot - nic->slots),
		.pid = (uint32_t) client->pid,
	};
	memcpy(open->record.mac, slot->mac, GAMMA_MAC_LEN);
	/* Late: what fails before costs no handle, so that nobody can use them up by failing. */
	open->handle = gammad_kernel_handle(gammad);
	fds[0] = open->handle ? make_socket(gammad, nic, slot, open, &req) : -ENOSPC;
	if (fds[0] < 0) {
		gamma_warn("%s: no socket for user %u: %s", nic->name, client->uid,
			   strerror(-fds[0]));
		close(fds[1]);
		close(open->port_fd);
		return open->handle ? GAMMA_BROKER_SYSTEM : GAMMA_BROKER_NO_HANDLE;
	}
	describe(gammad, nic, slot, open, &req, opened);
	return GAMMA_BROKER_OK;
}

enum gamma_broker_reason gammad_open(struct gammad *gammad, struct gammad_client *client,
				     const struct gamma_broker_open *ask,
				     struct gamma_broker_opened *opened,
				     int fds[GAMMA_BROKER_FDS])
{
	struct gammad_nic *nic = gammad_nic_of(gammad, ask->mac);
	enum gamma_broker_reason reason = may_open(gammad, client, ask, nic);
	struct gammad_open *open;

	if (reason)
		return reason;
	open = calloc(1, sizeof(*open));
	if (!open)
		return GAMMA_BROKER_SYSTEM;
	reason = fill(gammad, client, ask, nic, open, opened, fds);
	if (reason) {
		free(open);
		return reason;
	}
	open->client = client;
	client->open = open;
	client->has_opened = true;
	enter(gammad, open);
	return GAMMA_BROKER_OK;
}

/* ---- after a restart ---- */

static struct gammad_open *restore_one(struct gammad *gammad, uint32_t handle)
{
	struct gammad_open *open = calloc(1, sizeof(*open));
	uint16_t port;

	if (!open)
		return NULL;
	open->handle = handle;
	open->port_fd = -1;
	if (bpf_map_lookup_elem(gammad->endpoints_map, &handle, &open->record)) {
		free(open);
		return NULL;
	}
	port = ntohs(open->record.port);
	for (unsigned i = 0; i < gammad->nic_count; i++) {
		int one = 1;

		if (!is_mine(&gammad->nics[i], open))
			continue;
		open->port_fd = gamma_port_claim(gammad->nics[i].mac, &port);
		if (open->port_fd >= 0)
			setsockopt(open->port_fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
		else
			open->port_fd = -1;
	}
	enter(gammad, open);
	return open;
}

int gammad_opens_restore(struct gammad *gammad)
{
	uint32_t handle, *last = NULL;
	unsigned count = 0;
	struct gamma_list *pos;

	while (!bpf_map_get_next_key(gammad->endpoints_map, last, &handle)) {
		struct gammad_open *open = restore_one(gammad, handle);

		if (!open)
			return -ENOMEM;
		last = &open->handle;
	}
	gammad_sweep(gammad);
	gamma_list_for_each(pos, &gammad->opens)
		count++;
	if (count)
		gamma_info("%u endpoints were open before this start and go on", count);
	return 0;
}

/* ---- going ---- */

static FILE *open_list(void)
{
	return fopen("/proc/thread-self/net/packet", "re");
}

void gammad_sweep(struct gammad *gammad)
{
	struct gammad_sockets sockets;
	struct gamma_list *pos, *next;

	/* If not all can be read, nobody is taken for gone. */
	if (gammad_sockets_read(&sockets, open_list)) {
		gamma_list_for_each_safe(pos, next, &gammad->opens) {
			struct gammad_open *open =
				gamma_list_entry(pos, struct gammad_open, entry);

			if (!gammad_sockets_has(&sockets, open->record.inode))
				forget(gammad, open);
		}
	} else if (errno != EAGAIN) {
		gamma_warn("/proc/thread-self/net/packet: %s; mount /proc", strerror(errno));
	}
	free(sockets.inodes);
}

bool gammad_sweep_needed(const struct gammad *gammad)
{
	struct gamma_list *pos;

	gamma_list_for_each(pos, &gammad->opens) {
		if (!gamma_list_entry(pos, struct gammad_open, entry)->client)
			return true;
	}
	return false;
}

/* The entry stays until the socket is gone: until then the slot is not another's. */
unsigned gammad_revoke(struct gammad *gammad, uid_t uid)
{
	struct gamma_list *pos;
	unsigned count = 0;

	gamma_list_for_each(pos, &gammad->opens) {
		struct gammad_open *open = gamma_list_entry(pos, struct gammad_open, entry);

		if (open->record.tenant != htonl(uid) || open->record.revoked)
			continue;
		open->record.revoked = 1;
		if (bpf_map_update_elem(gammad->endpoints_map, &open->handle, &open->record,
					BPF_EXIST))
			gamma_warn("handle %#x could not be revoked: %s", open->handle,
				   strerror(errno));
		else
			count++;
	}
	gamma_info("%u endpoints of user %u revoked", count, uid);
	return count;
}
