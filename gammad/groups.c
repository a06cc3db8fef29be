// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Multicast groups: the memberships that the kernel checks, and the sockets on which group frames
 * arrive. They are on interfaces of their own (group_interfaces.c), so that neither other frames
 * nor other users' pass their filters.
 */
#include "gammad/gammad.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <bpf/bpf.h>

#include "gammad/sockets.h"
#include "link/packet_socket.h"

/* ---- who is in what ---- */

static struct gammad_membership *find(const struct gammad_open *open,
				      const struct gammad_member_key *key)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &open->members) {
		struct gammad_membership *member =
			gamma_list_entry(pos, struct gammad_membership, entry);

		if (!memcmp(&member->key, key, sizeof(*key)))
			return member;
	}
	return NULL;
}

static void forget(struct gammad *gammad, struct gammad_open *open,
		   struct gammad_membership *member)
{
	bpf_map_delete_elem(gammad->members_map, &member->key);
	gammad_group_interfaces_count_member(gammad, member->record.ifindex, false);
	gamma_list_remove(&member->entry);
	open->member_count--;
	open->left_count -= member->record.left;
	free(member);
}

static int enter(struct gammad *gammad, struct gammad_open *open,
		 const struct gammad_member_key *key, const struct gammad_member *record)
{
	struct gammad_membership *member = calloc(1, sizeof(*member));

	if (!member)
		return -ENOMEM;
	member->key = *key;
	member->record = *record;
	gamma_list_append(&open->members, &member->entry);
	open->member_count++;
	open->left_count += record->left;
	gammad_group_interfaces_count_member(gammad, record->ifindex, true);
	return 0;
}

void gammad_groups_sweep(struct gammad *gammad, struct gammad_open *open,
			 const struct gammad_sockets *sockets, bool all)
{
	struct gamma_list *pos, *next;

	gamma_list_for_each_safe (pos, next, &open->members) {
		struct gammad_membership *member =
			gamma_list_entry(pos, struct gammad_membership, entry);
		uint64_t inode = member->record.inode;

		if (all || (inode && !gammad_sockets_has(sockets, inode)))
			forget(gammad, open, member);
	}
}

/* ---- requests ---- */

/* Broadcast is for everyone, and 01:80:c2:00:00:.. is for switches. */
static bool is_permitted(const uint8_t mac[GAMMA_MAC_LEN])
{
	static const uint8_t broadcast[GAMMA_MAC_LEN] = {255, 255, 255, 255, 255, 255};
	static const uint8_t bridges[] = {0x01, 0x80, 0xc2, 0, 0};

	return mac[0] & 1 && memcmp(mac, broadcast, sizeof(broadcast)) &&
	       memcmp(mac, bridges, sizeof(bridges));
}

/* An endpoint of that user. */
static struct gammad_open *own(const struct gammad *gammad, const struct gammad_client *client,
			       const struct gamma_broker_group *ask)
{
	struct gammad_open *open = gammad_open_find(gammad, ask->mac, ask->port);

	return open && open->record.tenant == htonl(client->uid) && open->nic && !open->gone ? open
											     : NULL;
}

static struct gammad_member_key key_of(const struct gammad_open *open,
				       const struct gamma_broker_group *ask)
{
	struct gammad_member_key key = {.handle = open->record.handle,
					.port = htons(ask->group_port)};

	memcpy(key.mac, ask->group, sizeof(key.mac));
	return key;
}

static enum gamma_broker_reason may_join(const struct gammad *gammad,
					 const struct gammad_open *open,
					 const struct gammad_member_key *key)
{
	uid_t uid = ntohl(open->record.tenant);

	if (open->record.revoked)
		return GAMMA_BROKER_REVOKED;
	if (find(open, key))
		return GAMMA_BROKER_MEMBER;
	if (open->member_count >= GAMMAD_MEMBERSHIPS_MAX ||
	    (uid && gammad_open_count_memberships(gammad, uid) >= gammad->conf.multicast))
		return GAMMA_BROKER_MEMBERSHIPS;
	return GAMMA_BROKER_OK;
}

/* As with endpoints: see open.c. */
static bool begins_too_many(const struct gammad *gammad, uid_t uid)
{
	return uid && gammad_open_count_memberships(gammad, uid) +
				      gammad_open_count_jobs(gammad, uid, GAMMA_BROKER_JOIN) >=
			      gammad->conf.multicast + GAMMAD_WORKERS;
}

enum gamma_broker_reason gammad_groups_begin_join(struct gammad *gammad,
						  const struct gammad_client *client,
						  const struct gamma_broker_group *ask,
						  struct gammad_job *job)
{
	struct gammad_open *open = own(gammad, client, ask);
	enum gamma_broker_reason reason;
	struct gammad_member_key key;

	if (!is_permitted(ask->group))
		return GAMMA_BROKER_BAD_GROUP;
	if (!open)
		return GAMMA_BROKER_NO_ENDPOINT;
	key = key_of(open, ask);
	gamma_packet_socket_plan_ring(open->nic->mtu, 0, &job->ring);
	if (may_join(gammad, open, &key)) {
		/* Endpoints that were just closed may still count. */
		gammad_open_sweep_before_refusal(gammad);
		open = own(gammad, client, ask);
	}
	reason = open ? may_join(gammad, open, &key) : GAMMA_BROKER_NO_ENDPOINT;
	if (!reason && begins_too_many(gammad, client->uid))
		reason = GAMMA_BROKER_MEMBERSHIPS;
	if (!reason)
		gammad_group_interfaces_begin(gammad, open->nic, client->uid, job);
	return reason;
}

/* As with an endpoint's own socket: the filter first, the mark, which freezes it, last. Frames
 * arrive at the NIC's interface, which has to have the group's address, and are led to ifindex. */
static int prepare(int fd, const struct gammad *gammad, const struct gammad_open *open,
		   const struct gamma_broker_group *ask, int ifindex)
{
	struct gamma_packet_attr attr = {
		.ethertype = gammad->conf.ethertype,
		.port = ask->group_port,
		.tenant = ntohl(open->record.tenant),
		.group = ask->group,
	};
	struct packet_mreq request = {
		.mr_ifindex = open->nic->groups.ifindex,
		.mr_type = PACKET_MR_MULTICAST,
		.mr_alen = GAMMA_MAC_LEN,
	};
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(gammad->conf.ethertype),
		.sll_ifindex = ifindex,
	};
	int ret = gamma_packet_socket_set_filter(fd, &attr);

	memcpy(request.mr_address, ask->group, GAMMA_MAC_LEN);
	if (ret)
		return ret;
	return setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof(request)) ||
			       bind(fd, (struct sockaddr *) &address, sizeof(address)) ||
			       gamma_packet_socket_fix_binding(fd) ||
			       setsockopt(fd, SOL_SOCKET, SO_MARK, &open->record.handle,
					  sizeof(open->record.handle))
		       ? -errno
		       : 0;
}

static void describe(const struct gammad_open *open, const struct tpacket_req *ring,
		     struct gamma_broker_joined *joined)
{
	joined->mtu = open->nic->mtu;
	joined->block_bytes = ring->tp_block_size;
	joined->blocks = ring->tp_block_nr;
	joined->slot_bytes = ring->tp_frame_size;
}

enum gamma_broker_reason gammad_groups_end_join(struct gammad *gammad,
						const struct gammad_client *client,
						const struct gammad_job *job,
						struct gamma_broker_joined *joined)
{
	const struct gamma_broker_group *ask = &job->request.group;
	struct gammad_open *open = own(gammad, client, ask);
	struct gammad_member record = {0};
	struct gammad_member_key key;
	enum gamma_broker_reason reason;
	struct stat st;
	int ret = 0;

	if (!open)
		return GAMMA_BROKER_NO_ENDPOINT;
	key = key_of(open, ask);
	reason = may_join(gammad, open, &key);
	if (reason)
		return reason;
	record.ifindex =
		(uint32_t) gammad_group_interfaces_take(gammad, open->nic, client->uid, job);
	if (ask->receives) {
		ret = job->fd < 0 ? job->fd
				  : prepare(job->fd, gammad, open, ask, (int) record.ifindex);
		if (!ret && fstat(job->fd, &st))
			ret = -errno;
		record.inode = ret ? 0 : st.st_ino;
		describe(open, &job->ring, joined);
	}
	if (!ret)
		ret = bpf_map_update_elem(gammad->members_map, &key, &record, BPF_NOEXIST);
	if (!ret)
		ret = enter(gammad, open, &key, &record);
	if (!ret)
		return GAMMA_BROKER_OK;
	bpf_map_delete_elem(gammad->members_map, &key);
	gamma_warn(
		"%s: user %u cannot join a multicast group: %s; free memory, or raise LimitNOFILE",
		open->nic->name, client->uid, strerror(-ret));
	return GAMMA_BROKER_SYSTEM;
}

/* It may not send to the group any more; the membership counts until its socket is closed. */
enum gamma_broker_reason gammad_groups_leave(struct gammad *gammad,
					     const struct gammad_client *client,
					     const struct gamma_broker_group *ask)
{
	struct gammad_open *open = own(gammad, client, ask);
	struct gammad_membership *member;
	struct gammad_member_key key;

	if (!open)
		return GAMMA_BROKER_NO_ENDPOINT;
	key = key_of(open, ask);
	member = find(open, &key);
	if (!member || member->record.left)
		return GAMMA_BROKER_OK;
	if (!member->record.inode) {
		forget(gammad, open, member);
		return GAMMA_BROKER_OK;
	}
	member->record.left = 1;
	open->left_count++;
	bpf_map_update_elem(gammad->members_map, &key, &member->record, BPF_EXIST);
	gammad->sweep_pending = true;
	return GAMMA_BROKER_OK;
}

size_t gammad_groups_ring_bytes(const struct gammad_open *open)
{
	struct tpacket_req ring;
	struct gamma_list *pos;
	size_t bytes = 0;

	if (!open->nic)
		return 0;
	gamma_packet_socket_plan_ring(open->nic->mtu, 0, &ring);
	gamma_list_for_each (pos, &open->members) {
		if (gamma_list_entry(pos, struct gammad_membership, entry)->record.inode)
			bytes += (size_t) ring.tp_block_size * ring.tp_block_nr;
	}
	return bytes;
}

/* ---- after a restart ---- */

static struct gammad_open *by_handle(const struct gammad *gammad, uint32_t handle)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &gammad->opens) {
		struct gammad_open *open = gamma_list_entry(pos, struct gammad_open, entry);

		if (open->record.handle == handle)
			return open;
	}
	return NULL;
}

/* After an element is deleted the kernel starts over: known memberships are skipped. */
int gammad_groups_restore(struct gammad *gammad)
{
	struct gammad_member_key key, before, *last = NULL;

	while (!bpf_map_get_next_key(gammad->members_map, last, &key)) {
		struct gammad_open *open = by_handle(gammad, key.handle);
		struct gammad_member record;

		if (!open || bpf_map_lookup_elem(gammad->members_map, &key, &record)) {
			bpf_map_delete_elem(gammad->members_map, &key);
			last = NULL;
			continue;
		}
		if (!find(open, &key) && (gammad_group_interfaces_restore(gammad, open, &record) ||
					  enter(gammad, open, &key, &record)))
			return -ENOMEM;
		before = key;
		last = &before;
	}
	return 0;
}
