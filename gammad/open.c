// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Endpoints: makes an endpoint's sockets for a client, finds out when it is gone, revokes it. An
 * endpoint exists while any process has its packet socket open, according to the kernel's list,
 * even if the client has disconnected or gammad was restarted.
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
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "gammad/linger.h"
#include "gammad/sockets.h"
#include "unix/scm.h"
#include "link/packet_socket.h"
#include "link/port.h"

enum { PORT_TRIES = 64 }; /* random ports that are tried before an OPEN is refused */

/* ---- who is there ---- */

static unsigned count_of(const struct gammad *gammad, uid_t uid)
{
	struct gamma_list *pos;
	unsigned count = 0;

	gamma_list_for_each (pos, &gammad->opens)
		count += gamma_list_entry(pos, struct gammad_open, entry)->record.tenant ==
			 htonl(uid);
	return count;
}

unsigned gammad_open_count_memberships(const struct gammad *gammad, uid_t uid)
{
	struct gamma_list *pos;
	unsigned count = 0;

	gamma_list_for_each (pos, &gammad->opens) {
		const struct gammad_open *open = gamma_list_entry(pos, struct gammad_open, entry);

		if (open->record.tenant == htonl(uid))
			count += open->member_count;
	}
	return count;
}

unsigned gammad_open_count_jobs(const struct gammad *gammad, uid_t uid, enum gamma_broker_type type)
{
	struct gamma_list *pos;
	unsigned count = 0;

	gamma_list_for_each (pos, &gammad->clients) {
		const struct gammad_client *client =
			gamma_list_entry(pos, struct gammad_client, entry);

		count += client->uid == uid && client->job &&
			 client->job->request.header.type == type;
	}
	return count;
}

struct gammad_open *gammad_open_find(const struct gammad *gammad, const uint8_t mac[GAMMA_MAC_LEN],
				     uint16_t port)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &gammad->opens) {
		struct gammad_open *open = gamma_list_entry(pos, struct gammad_open, entry);

		if (open->record.port == htons(port) &&
		    !memcmp(open->record.mac, mac, GAMMA_MAC_LEN))
			return open;
	}
	return NULL;
}

/* Whether an endpoint of that user has the slot: then no other user's has. */
static bool slot_is_users(const struct gammad *gammad, const struct gammad_slot *slot, uid_t uid)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &gammad->opens) {
		const struct gammad_open *open = gamma_list_entry(pos, struct gammad_open, entry);

		if (open->slot == slot)
			return open->record.tenant == htonl(uid);
	}
	return false;
}

/* The slot of the user's latest endpoint on a NIC whose endpoints all have one address. */
static struct gammad_slot *latest_slot(const struct gammad *gammad, uid_t uid,
				       const struct gammad_nic *nic)
{
	struct gammad_slot *slot = NULL;
	struct gamma_list *pos;

	gamma_list_for_each (pos, &gammad->opens) {
		struct gammad_open *open = gamma_list_entry(pos, struct gammad_open, entry);

		if (open->nic == nic && open->slot && open->record.tenant == htonl(uid))
			slot = open->slot;
	}
	return slot;
}

static struct gammad_slot *find_beside(struct gammad *gammad, const struct gammad_client *client,
				       const struct gamma_broker_open *ask, struct gammad_nic *nic)
{
	struct gammad_slot *slot = NULL;

	if (nic->own_address && !memcmp(ask->beside, nic->mac, GAMMA_MAC_LEN))
		slot = latest_slot(gammad, client->uid, nic);
	else if (gammad_slots_find(gammad, ask->beside, &slot) != nic)
		return NULL;
	return slot && slot->opens < GAMMAD_SLOT_ENDPOINTS_MAX &&
			       slot_is_users(gammad, slot, client->uid)
		       ? slot
		       : NULL;
}

/* The slot that is asked for, if another endpoint of the user has it; else a free one. */
static struct gammad_slot *choose_slot(struct gammad *gammad, const struct gammad_client *client,
				       const struct gamma_broker_open *ask, struct gammad_nic *nic)
{
	static const uint8_t none[GAMMA_MAC_LEN];

	if (memcmp(ask->beside, none, sizeof(none)))
		return find_beside(gammad, client, ask, nic);
	for (unsigned i = 0; i < nic->slot_count; i++) {
		if (!nic->slots[i].opens)
			return &nic->slots[i];
	}
	return NULL;
}

static bool is_on_nic(const struct gammad_nic *nic, const struct gammad_open *open)
{
	return (uint32_t) nic->ifindex == open->record.nic_ifindex;
}

/* Sets an endpoint's NIC and slot, if they are in the configuration. */
static void attach_to_slot(struct gammad *gammad, struct gammad_open *open)
{
	for (unsigned i = 0; i < gammad->nic_count; i++) {
		struct gammad_nic *nic = &gammad->nics[i];

		if (!is_on_nic(nic, open))
			continue;
		open->nic = nic;
		if (open->record.slot < nic->slot_count) {
			open->slot = &nic->slots[open->record.slot];
			open->slot->opens++;
		}
	}
}

void gammad_open_lose_nic(struct gammad *gammad, const struct gammad_nic *nic)
{
	struct gamma_list *pos;

	gammad_group_interfaces_lose_nic(gammad, nic);
	gamma_list_for_each (pos, &gammad->opens) {
		struct gammad_open *open = gamma_list_entry(pos, struct gammad_open, entry);

		if (open->nic != nic)
			continue;
		open->nic = NULL;
		open->slot = NULL;
	}
}

static void add_open(struct gammad *gammad, struct gammad_open *open)
{
	open->watch = GAMMAD_WATCH_PORT;
	gamma_list_init(&open->members);
	attach_to_slot(gammad, open);
	gamma_list_append(&gammad->opens, &open->entry);
	if (open->port_fd >= 0)
		gammad_watch_fd(gammad, open->port_fd, &open->watch);
}

static bool has_nics_mac(const struct gammad_open *open, const struct gammad_slot *slot)
{
	return memcmp(open->record.mac, slot->mac, GAMMA_MAC_LEN);
}

/* There may be no translation, which is no error. */
static void clear_record(const struct gammad *gammad, const struct gammad_open *open)
{
	gammad_kernel_stop_translating(gammad, &open->record);
	gammad_kernel_clear_endpoint(gammad, open->record.handle);
}

static void remove_open(struct gammad *gammad, struct gammad_open *open)
{
	clear_record(gammad, open);
	gammad_groups_sweep(gammad, open, NULL, true);
	if (open->slot)
		open->slot->opens--;
	if (open->client)
		open->client->open = NULL;
	if (open->port_fd >= 0)
		gammad_linger_close(open->port_fd);
	if (open->pidfd >= 0)
		close(open->pidfd);
	gamma_list_remove(&open->entry);
	free(open);
}

/* ---- the sockets ---- */

/* The order matters: the filter before anything can be received, the endpoint in the map
 * before anything can be sent, then the binding, which may not change, and last the mark, which
 * freezes the socket. */
static int prepare_socket(int fd, struct gammad *gammad, const struct gammad_slot *slot,
			  struct gammad_open *open)
{
	struct gamma_packet_attr attr = {
		.ethertype = gammad->conf.ethertype,
		.port = ntohs(open->record.port),
		.tenant = ntohl(open->record.tenant),
	};
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(gammad->conf.ethertype),
		.sll_ifindex = slot->ifindex,
	};
	struct stat st = {0};
	int ret = gamma_packet_socket_set_filter(fd, &attr);

	if (!ret) {
		gamma_packet_socket_set_send_buffer(fd);
		if (bind(fd, (struct sockaddr *) &address, sizeof(address)) || fstat(fd, &st))
			ret = -errno;
	}
	if (!ret && gamma_packet_socket_fix_binding(fd))
		ret = -errno;
	if (!ret) {
		open->record.inode = st.st_ino;
		ret = gammad_kernel_write_endpoint(gammad, &open->record);
	}
	if (!ret && has_nics_mac(open, slot))
		ret = gammad_kernel_translate(gammad, &open->record, slot->mac);
	if (!ret &&
	    setsockopt(fd, SOL_SOCKET, SO_MARK, &open->record.handle, sizeof(open->record.handle)))
		ret = -errno;
	if (ret && open->record.inode)
		clear_record(gammad, open);
	return ret;
}

bool gammad_open_host_owns_port(const struct gammad *gammad, const struct gammad_nic *nic,
				uint16_t port)
{
	return gammad_ports_are_owned(&gammad->ports, nic->mac, port, nic->ifindex,
				      gammad->conf.ethertype);
}

static const uint8_t *mac_of(const struct gammad_nic *nic, const struct gammad_slot *slot)
{
	return nic->own_address ? nic->mac : slot->mac;
}

/* The name on the NIC's MAC makes the port unique there. gammad keeps it, unless it is the
 * endpoint's: then gammad has a name of its own. */
static int claim_gammads_name(const struct gammad_nic *nic, const uint8_t *endpoint, uint16_t *port)
{
	uint8_t mac[GAMMA_MAC_LEN];

	gamma_port_gammad_mac(nic->mac, endpoint, mac);
	return gamma_port_claim(mac, port);
}

/* Two names in gammad's own namespace, where nobody else can bind any: gammad's and the
 * endpoint's. Returns the latter. */
static int claim_port(struct gammad *gammad, const struct gammad_nic *nic,
		      const struct gammad_slot *slot, uint16_t *port, int *gammads_fd)
{
	int one = 1, ret;

	*gammads_fd = claim_gammads_name(nic, mac_of(nic, slot), port);
	if (*gammads_fd < 0)
		return *gammads_fd;
	ret = gammad_open_host_owns_port(gammad, nic, *port)
		      ? -EADDRINUSE
		      : gamma_port_claim(mac_of(nic, slot), port);
	if (ret >= 0 && setsockopt(*gammads_fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one))) {
		close(ret);
		ret = -EIO;
	}
	if (ret >= 0)
		gamma_scm_refuse(*gammads_fd);
	if (ret < 0)
		close(*gammads_fd);
	return ret;
}

/* Where the client asked for no port in particular, other ports are tried: programs of the host
 * have some. */
static int claim_any_port(struct gammad *gammad, const struct gammad_nic *nic,
			  const struct gammad_slot *slot, uint16_t asked, uint16_t *port,
			  int *gammads_fd)
{
	int ret = -EADDRINUSE;

	for (int i = 0; ret == -EADDRINUSE && i < (asked ? 1 : PORT_TRIES); i++) {
		*port = asked;
		ret = claim_port(gammad, nic, slot, port, gammads_fd);
	}
	return ret;
}

/* -1: it has ended, or the kernel does not show it. */
static int open_process(pid_t pid)
{
	return pid ? (int) syscall(SYS_pidfd_open, pid, 0) : -1;
}

/* ---- opening ---- */

enum gamma_broker_reason gammad_open_check_user(const struct gammad *gammad,
						const struct gammad_client *client)
{
	if (!gammad_conf_permits_uid(&gammad->conf, client->uid))
		return GAMMA_BROKER_NO_USER;
	if (!gammad_clients_in_group(gammad, client))
		return GAMMA_BROKER_NO_GROUP;
	if (gammad_revoked_has(&gammad->revoked, client->uid))
		return GAMMA_BROKER_REVOKED;
	return gammad_conf_limit(&gammad->conf, client->uid) ? GAMMA_BROKER_OK : GAMMA_BROKER_LIMIT;
}

static enum gamma_broker_reason may_open(struct gammad *gammad, const struct gammad_client *client,
					 const struct gamma_broker_open *ask,
					 struct gammad_nic *nic)
{
	unsigned limit = gammad_conf_limit(&gammad->conf, client->uid);
	enum gamma_broker_reason reason = gammad_open_check_user(gammad, client);

	if (client->has_opened)
		return GAMMA_BROKER_TWICE;
	if (reason)
		return reason;
	if (!nic)
		return GAMMA_BROKER_NO_NIC;
	if (ask->ethertype != gammad->conf.ethertype)
		return GAMMA_BROKER_ETHERTYPE;
	if (count_of(gammad, client->uid) >= limit || !choose_slot(gammad, client, ask, nic))
		gammad_open_sweep_before_refusal(gammad);
	if (count_of(gammad, client->uid) >= limit)
		return GAMMA_BROKER_LIMIT;
	return choose_slot(gammad, client, ask, nic) ? GAMMA_BROKER_OK : GAMMA_BROKER_NO_SLOT;
}

/* Those under way have rings, too. Some more than the limit may begin: others may fail. */
static bool begins_too_many(const struct gammad *gammad, uid_t uid)
{
	return count_of(gammad, uid) + gammad_open_count_jobs(gammad, uid, GAMMA_BROKER_OPEN) >=
	       gammad_conf_limit(&gammad->conf, uid) + GAMMAD_WORKERS;
}

enum gamma_broker_reason gammad_open_begin(struct gammad *gammad, struct gammad_client *client,
					   const struct gamma_broker_open *ask,
					   struct tpacket_req *ring)
{
	struct gammad_nic *nic = gammad_slots_find_nic(gammad, ask->mac);
	enum gamma_broker_reason reason = may_open(gammad, client, ask, nic);
	uint32_t most = gammad->conf.ring_bytes;

	if (!reason && begins_too_many(gammad, client->uid))
		reason = GAMMA_BROKER_LIMIT;
	if (!reason)
		gamma_packet_socket_plan_ring(
			nic->mtu, ask->ring_bytes ? gamma_min(ask->ring_bytes, most) : most, ring);
	return reason;
}

static void describe(const struct gammad *gammad, const struct gammad_nic *nic,
		     const struct gammad_slot *slot, const struct gammad_open *open,
		     const struct tpacket_req *req, struct gamma_broker_opened *opened)
{
	memcpy(opened->mac, mac_of(nic, slot), GAMMA_MAC_LEN);
	opened->port = ntohs(open->record.port);
	opened->tenant = ntohl(open->record.tenant);
	opened->ifindex = (uint32_t) slot->ifindex;
	opened->mtu = nic->mtu;
	opened->block_bytes = req->tp_block_size;
	opened->blocks = req->tp_block_nr;
	opened->slot_bytes = req->tp_frame_size;
	opened->host = gammad->host;
}

static enum gamma_broker_reason fill_open(struct gammad *gammad, const struct gammad_client *client,
					  const struct gammad_job *job, struct gammad_nic *nic,
					  struct gammad_open *open,
					  struct gamma_broker_opened *opened,
					  int fds[GAMMA_BROKER_FDS])
{
	const struct gamma_broker_open *ask = &job->request.open;
	struct gammad_slot *slot = choose_slot(gammad, client, ask, nic);
	uint16_t port;
	int ret;

	if (!slot)
		return GAMMA_BROKER_NO_SLOT;
	fds[1] = claim_any_port(gammad, nic, slot, ask->port, &port, &open->port_fd);
	if (fds[1] < 0)
		return fds[1] == -EADDRINUSE ? GAMMA_BROKER_PORT_TAKEN : GAMMA_BROKER_SYSTEM;
	open->record = (struct gammad_endpoint){
		.ethertype = htons(gammad->conf.ethertype),
		.port = htons(port),
		.tenant = htonl(client->uid),
		.epoch = ask->epoch,
		.nic_ifindex = (uint32_t) nic->ifindex,
		.slot = (uint32_t) (slot - nic->slots),
		.slot_ifindex = (uint32_t) slot->ifindex,
		.pid = (uint32_t) client->pid,
	};
	memcpy(open->record.mac, mac_of(nic, slot), GAMMA_MAC_LEN);
	/* As late as possible: an attempt that fails before uses no handle, so that users
	 * cannot exhaust them. */
	open->record.handle = job->fd < 0 ? 0 : gammad_kernel_new_handle(gammad);
	ret = job->fd < 0           ? job->fd
	      : open->record.handle ? prepare_socket(job->fd, gammad, slot, open)
				    : -ENOSPC;
	if (ret) {
		gamma_warn("%s: no socket for user %u: %s; free memory, or raise LimitNOFILE",
			   nic->name, client->uid, strerror(-ret));
		close(fds[1]);
		close(open->port_fd);
		return ret == -ENOSPC ? GAMMA_BROKER_NO_HANDLE : GAMMA_BROKER_SYSTEM;
	}
	fds[0] = job->fd;
	describe(gammad, nic, slot, open, &job->ring, opened);
	return GAMMA_BROKER_OK;
}

enum gamma_broker_reason gammad_open_end(struct gammad *gammad, struct gammad_client *client,
					 const struct gammad_job *job,
					 struct gamma_broker_opened *opened,
					 int fds[GAMMA_BROKER_FDS])
{
	struct gammad_nic *nic = gammad_slots_find_nic(gammad, job->request.open.mac);
	enum gamma_broker_reason reason = may_open(gammad, client, &job->request.open, nic);
	struct gammad_open *open;

	if (reason)
		return reason;
	open = calloc(1, sizeof(*open));
	if (!open)
		return GAMMA_BROKER_SYSTEM;
	reason = fill_open(gammad, client, job, nic, open, opened, fds);
	if (reason) {
		free(open);
		return reason;
	}
	open->client = client;
	open->ring_bytes = (size_t) job->ring.tp_block_size * job->ring.tp_block_nr;
	open->pidfd = open_process(client->pid);
	client->open = open;
	client->has_opened = true;
	add_open(gammad, open);
	return GAMMA_BROKER_OK;
}

/* ---- after a restart ---- */

static int restore_one(struct gammad *gammad, const struct gammad_endpoint *record)
{
	struct gammad_open *open = calloc(1, sizeof(*open));
	uint16_t port;

	if (!open)
		return -ENOMEM;
	open->record = *record;
	open->port_fd = -1;
	open->pidfd = open_process((pid_t) record->pid);
	port = ntohs(open->record.port);
	for (unsigned i = 0; i < gammad->nic_count; i++) {
		int one = 1;

		if (!is_on_nic(&gammad->nics[i], open))
			continue;
		open->port_fd = claim_gammads_name(&gammad->nics[i], record->mac, &port);
		if (open->port_fd < 0) {
			open->port_fd = -1;
			continue;
		}
		setsockopt(open->port_fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
		gamma_scm_refuse(open->port_fd);
	}
	add_open(gammad, open);
	return 0;
}

int gammad_open_restore(struct gammad *gammad)
{
	struct gammad_endpoint record;
	unsigned count = 0;
	struct gamma_list *pos;

	for (uint32_t attach_to_slot = 0; attach_to_slot < GAMMAD_ENDPOINTS_MAX; attach_to_slot++) {
		if (gammad_kernel_read_endpoint(gammad, attach_to_slot, &record) &&
		    restore_one(gammad, &record))
			return -ENOMEM;
	}
	if (gammad_groups_restore(gammad))
		return -ENOMEM;
	gammad_group_interfaces_clean(gammad);
	gammad_open_sweep(gammad);
	gamma_list_for_each (pos, &gammad->opens)
		count++;
	if (count)
		gamma_info("%u endpoints were open before this start and continue", count);
	return 0;
}

/* ---- going ---- */

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

static FILE *open_list(void)
{
	return fopen("/proc/thread-self/net/packet", "re");
}

/* An endpoint exists as long as it, or one of its groups, has a socket: these hold memory. */
static void sweep_open(struct gammad *gammad, struct gammad_open *open,
		       const struct gammad_sockets *sockets)
{
	struct gamma_list *pos;
	bool held = false;

	gammad_groups_sweep(gammad, open, sockets, false);
	gamma_list_for_each (pos, &open->members)
		held |= gamma_list_entry(pos, struct gammad_membership, entry)->record.inode;
	open->gone = !gammad_sockets_has(sockets, open->record.inode);
	if (open->gone && !held)
		remove_open(gammad, open);
	else if (open->record.revoked && !open->revoke_sent)
		open->revoke_sent = gammad_lookup_send_revoked(gammad, open);
}

void gammad_open_sweep(struct gammad *gammad)
{
	struct gammad_sockets sockets;
	struct gamma_list *pos, *next;

	gammad->sweep_pending = false;
	gammad->swept_ms = now_ms();
	/* If the list is incomplete, no endpoint counts as gone. */
	if (gammad_sockets_read(&sockets, open_list)) {
		gamma_list_for_each_safe (pos, next, &gammad->opens)
			sweep_open(gammad, gamma_list_entry(pos, struct gammad_open, entry),
				   &sockets);
	} else if (errno != EAGAIN) {
		gamma_warn("/proc/thread-self/net/packet: %s; mount /proc", strerror(errno));
	}
	free(sockets.inodes);
	gammad_group_interfaces_sweep(gammad, gammad->swept_ms);
}

bool gammad_open_is_sweep_due(const struct gammad *gammad)
{
	return gammad_open_needs_sweep(gammad) && now_ms() >= gammad->swept_ms + GAMMAD_SWEEP_MS;
}

void gammad_open_sweep_before_refusal(struct gammad *gammad)
{
	if (gammad->sweep_pending || now_ms() >= gammad->swept_ms + GAMMAD_SWEEP_PAUSE_MS)
		gammad_open_sweep(gammad);
}

/* The sockets of groups that were left may be closed any time. */
bool gammad_open_needs_sweep(const struct gammad *gammad)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &gammad->opens) {
		const struct gammad_open *open = gamma_list_entry(pos, struct gammad_open, entry);

		if (!open->client || (open->record.revoked && !open->revoke_sent) ||
		    open->left_count)
			return true;
	}
	return gammad_group_interfaces_need_sweep(gammad);
}

/* The entry stays until the socket is closed: until then nobody else gets the slot. */
unsigned gammad_open_revoke(struct gammad *gammad, uid_t uid)
{
	struct gamma_list *pos;
	unsigned count = 0;

	gamma_list_for_each (pos, &gammad->opens) {
		struct gammad_open *open = gamma_list_entry(pos, struct gammad_open, entry);

		if (open->record.tenant != htonl(uid) || open->record.revoked)
			continue;
		open->record.revoked = 1;
		if (gammad_kernel_write_endpoint(gammad, &open->record)) {
			gamma_warn("handle %#x could not be revoked: %s; restart gammad as root",
				   open->record.handle, strerror(errno));
			continue;
		}
		open->revoke_sent = gammad_lookup_send_revoked(gammad, open);
		count++;
	}
	gamma_info("%u endpoints of user %u revoked", count, uid);
	return count;
}
