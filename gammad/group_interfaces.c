// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Where multicast frames arrive: each user who is in groups on a NIC has an interface there, and
 * only that user's sockets are on it. So no socket's filter sees another user's frames, and nobody
 * pays for the groups of others. The NIC's interface for groups leads frames there by the user id
 * that they carry (group_ingress). A user's interface is one end of a veth pair: it has no address
 * on the network, and nothing leaves by it, since the other end stays down. It exists as long as
 * the user has memberships, and for a while after that: a user who joins and leaves all the time
 * would keep the kernel busy. After a restart it is found by the memberships.
 */
#include "gammad/gammad.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "gammad/interfaces.h"

enum { MTU_MAX = 65535 };

/* ---- the interfaces: in a thread, since removing one takes the kernel some 20 ms ---- */

/* One queue each: nothing is ever sent by them. */
static int make_pair(const char *name, const char *other)
{
	struct gamma_rtnetlink_request request;
	struct nlmsghdr *head;
	struct nlattr *info, *data, *peer;

	head = gammad_interfaces_begin(&request);
	mnl_attr_put_strz(head, IFLA_IFNAME, name);
	mnl_attr_put_u32(head, IFLA_MTU, MTU_MAX);
	mnl_attr_put_u32(head, IFLA_NUM_TX_QUEUES, 1);
	mnl_attr_put_u32(head, IFLA_NUM_RX_QUEUES, 1);
	info = mnl_attr_nest_start(head, IFLA_LINKINFO);
	mnl_attr_put_str(head, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(head, IFLA_INFO_DATA);
	peer = mnl_attr_nest_start(head, VETH_INFO_PEER);
	mnl_nlmsg_put_extra_header(head, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(head, IFLA_IFNAME, other);
	mnl_attr_put_u32(head, IFLA_NUM_TX_QUEUES, 1);
	mnl_attr_put_u32(head, IFLA_NUM_RX_QUEUES, 1);
	mnl_attr_nest_end(head, peer);
	mnl_attr_nest_end(head, data);
	mnl_attr_nest_end(head, info);
	return gammad_interfaces_make(&request);
}

static void remove_pair(int ifindex)
{
	int ret = gammad_interfaces_remove(ifindex);

	if (ret)
		gamma_warn("interface %d for multicast groups cannot be removed: %s; start gammad "
			   "as root",
			   ifindex, strerror(-ret));
}

/* If it is there, another job of the user has just made it; or else the other end's name is taken.
 */
static int make(uid_t uid, unsigned number)
{
	char name[IFNAMSIZ], other[IFNAMSIZ];
	int made, ret, ifindex;

	snprintf(name, sizeof(name), "u%u.%u", uid, number % 1000);
	snprintf(other, sizeof(other), "v%u.%u", uid, number % 1000);
	made = make_pair(name, other);
	if (made && made != -EEXIST)
		return made;
	ifindex = (int) if_nametoindex(name);
	if (!ifindex)
		return made ? made : -errno;
	ret = gammad_interfaces_set_up(ifindex, 0);
	if (ret && !made)
		remove_pair(ifindex);
	return ret ? ret : ifindex;
}

void gammad_group_interfaces_work(struct gammad_job *job)
{
	if (job->removes)
		remove_pair(job->removes);
	else if (job->makes_interface)
		job->interface = make(job->own->uid, job->own->number);
}

/* ---- whose they are ---- */

static struct gammad_group_interface *find(const struct gammad *gammad,
					   const struct gammad_nic *nic, uid_t uid)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &gammad->group_interfaces) {
		struct gammad_group_interface *own =
			gamma_list_entry(pos, struct gammad_group_interface, entry);

		if (own->nic == nic && own->uid == uid)
			return own;
	}
	return NULL;
}

static unsigned free_number(const struct gammad *gammad, uid_t uid)
{
	struct gamma_list *pos;
	unsigned number = 0;

	do {
		gamma_list_for_each (pos, &gammad->group_interfaces) {
			const struct gammad_group_interface *own =
				gamma_list_entry(pos, struct gammad_group_interface, entry);

			if (own->uid == uid && own->number == number)
				break;
		}
	} while (pos != &gammad->group_interfaces && ++number);
	return number;
}

static struct gammad_group_interface *add(struct gammad *gammad, const struct gammad_nic *nic,
					  uid_t uid, unsigned number, int ifindex)
{
	struct gammad_group_interface *own = calloc(1, sizeof(*own));

	if (!own)
		return NULL;
	*own = (struct gammad_group_interface){
		.nic = nic, .uid = uid, .number = number, .ifindex = ifindex};
	gamma_list_append(&gammad->group_interfaces, &own->entry);
	return own;
}

unsigned gammad_group_interfaces_count(const struct gammad *gammad, const struct gammad_nic *nic)
{
	struct gamma_list *pos;
	unsigned count = 0;

	gamma_list_for_each (pos, &gammad->group_interfaces)
		count += gamma_list_entry(pos, struct gammad_group_interface, entry)->nic == nic;
	return count;
}

static struct gammad_group_interface *at(const struct gammad *gammad, uint32_t ifindex)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &gammad->group_interfaces) {
		struct gammad_group_interface *own =
			gamma_list_entry(pos, struct gammad_group_interface, entry);

		if ((uint32_t) own->ifindex == ifindex)
			return own;
	}
	return NULL;
}

void gammad_group_interfaces_count_member(const struct gammad *gammad, uint32_t ifindex,
					  bool begins)
{
	struct gammad_group_interface *own = at(gammad, ifindex);

	if (own)
		own->members += begins ? 1u : -1u;
}

/* ---- joining ---- */

/* Memberships of an older release, or from when no interface could be made, are on the NIC's: as
 * long as the user has some, all are. */
static bool is_on_nics(const struct gammad *gammad, const struct gammad_nic *nic, uid_t uid)
{
	struct gamma_list *pos, *inner;

	gamma_list_for_each (pos, &gammad->opens) {
		const struct gammad_open *open = gamma_list_entry(pos, struct gammad_open, entry);

		if (open->record.tenant != htonl(uid))
			continue;
		gamma_list_for_each (inner, &open->members) {
			if (gamma_list_entry(inner, struct gammad_membership, entry)
				    ->record.ifindex == (uint32_t) nic->groups.ifindex)
				return true;
		}
	}
	return false;
}

static const char *cure(int error)
{
	if (error == -EEXIST)
		return "remove other programs' interfaces from the namespace /run/gammad/net";
	return error == -EOPNOTSUPP ? "use a kernel with CONFIG_VETH" : "free memory";
}

/* Once: users can join any number of times. */
static void warn(struct gammad *gammad, const struct gammad_nic *nic, uid_t uid, int error)
{
	if (!gammad->groups_warned)
		gamma_warn("%s: user %u has no interface for multicast groups: %s; %s. Until then "
			   "such frames pass the sockets of all users",
			   nic->name, uid, strerror(-error), cure(error));
	gammad->groups_warned = true;
}

void gammad_group_interfaces_begin(struct gammad *gammad, const struct gammad_nic *nic, uid_t uid,
				   struct gammad_job *job)
{
	struct gammad_group_interface *own = find(gammad, nic, uid);

	if (is_on_nics(gammad, nic, uid))
		return;
	if (!own)
		own = add(gammad, nic, uid, free_number(gammad, uid), 0);
	if (!own) {
		warn(gammad, nic, uid, -ENOMEM);
		return;
	}
	own->jobs++;
	job->own = own;
	job->makes_interface = !own->ifindex;
}

/* From here on group_ingress leads the user's frames there. */
static int lead(const struct gammad *gammad, struct gammad_group_interface *own)
{
	uint32_t to = (uint32_t) own->ifindex;

	if (own->leads)
		return 0;
	own->key.ifindex = (uint32_t) own->nic->groups.ifindex;
	own->key.tenant = htonl(own->uid);
	if (bpf_map_update_elem(gammad->group_users_map, &own->key, &to, BPF_ANY))
		return -errno;
	own->leads = true;
	return 0;
}

static void stop_leading(const struct gammad *gammad, struct gammad_group_interface *own)
{
	if (own->leads)
		bpf_map_delete_elem(gammad->group_users_map, &own->key);
	own->leads = false;
}

static void take_made(struct gammad_group_interface *own, const struct gammad_job *job)
{
	if (job->interface > 0 && !own->ifindex)
		own->ifindex = job->interface;
}

/* All memberships of a user on a NIC are on one interface, also if several jobs end in another
 * order than they began: frames are led to one only. */
int gammad_group_interfaces_take(struct gammad *gammad, const struct gammad_nic *nic, uid_t uid,
				 const struct gammad_job *job)
{
	struct gammad_group_interface *own = job->own ? job->own : find(gammad, nic, uid);
	int ret;

	if (!own || own->nic != nic || is_on_nics(gammad, nic, uid))
		return nic->groups.ifindex;
	if (job->own)
		take_made(own, job);
	else if (!own->ifindex)
		return nic->groups.ifindex;
	ret = own->ifindex ? lead(gammad, own) : job->interface;
	if (!ret)
		return own->ifindex;
	warn(gammad, nic, uid, ret);
	return nic->groups.ifindex;
}

void gammad_group_interfaces_finish(const struct gammad_job *job)
{
	struct gammad_group_interface *own = job->own;

	if (!own)
		return;
	take_made(own, job);
	own->jobs--;
	if (own->removed && !own->jobs) {
		gamma_list_remove(&own->entry);
		free(own);
	}
}

/* ---- their end ---- */

/* The entry stays until that is done: its number is in use. */
static void discard(struct gammad *gammad, struct gammad_group_interface *own)
{
	struct gammad_job *job = calloc(1, sizeof(*job));

	if (!job)
		return;
	stop_leading(gammad, own);
	own->nic = NULL;
	own->removed = true;
	own->jobs++;
	job->fd = -1;
	job->own = own;
	job->removes = own->ifindex;
	if (own->ifindex) {
		gammad_workers_submit(gammad, job);
		return;
	}
	gammad_group_interfaces_finish(job);
	free(job);
}

void gammad_group_interfaces_sweep(struct gammad *gammad, uint64_t now_ms)
{
	struct gamma_list *pos, *next;

	gamma_list_for_each_safe (pos, next, &gammad->group_interfaces) {
		struct gammad_group_interface *own =
			gamma_list_entry(pos, struct gammad_group_interface, entry);

		if (own->removed)
			continue;
		if (own->jobs || own->members)
			own->idle_ms = 0;
		else if (!own->idle_ms)
			own->idle_ms = gamma_max(now_ms, 1u);
		else if (now_ms >= own->idle_ms + GAMMAD_GROUP_KEEP_MS)
			discard(gammad, own);
	}
}

bool gammad_group_interfaces_need_sweep(const struct gammad *gammad)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &gammad->group_interfaces) {
		const struct gammad_group_interface *own =
			gamma_list_entry(pos, struct gammad_group_interface, entry);

		if (!own->removed && !own->jobs && !own->members)
			return true;
	}
	return false;
}

/* Their sockets stay on them, but get nothing any more. */
void gammad_group_interfaces_lose_nic(struct gammad *gammad, const struct gammad_nic *nic)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &gammad->group_interfaces) {
		struct gammad_group_interface *own =
			gamma_list_entry(pos, struct gammad_group_interface, entry);

		if (own->nic != nic)
			continue;
		stop_leading(gammad, own);
		own->nic = NULL;
	}
}

/* ---- after a restart ---- */

static bool parse_name(const char *name, unsigned *uid, unsigned *number)
{
	char more;

	return sscanf(name, "u%u.%u%c", uid, number, &more) == 2;
}

int gammad_group_interfaces_restore(struct gammad *gammad, const struct gammad_open *open,
				    const struct gammad_member *record)
{
	struct gammad_group_interface *own = at(gammad, record->ifindex);
	char name[IFNAMSIZ];
	unsigned uid, number;

	if (own || !if_indextoname(record->ifindex, name) || !parse_name(name, &uid, &number))
		return 0;
	own = add(gammad, open->nic, uid, number, (int) record->ifindex);
	if (!own)
		return -ENOMEM;
	return own->nic ? lead(gammad, own) : 0;
}

static void drop_stale_users(const struct gammad *gammad)
{
	struct gammad_group_user_key key, before, *last = NULL;

	while (!bpf_map_get_next_key(gammad->group_users_map, last, &key)) {
		uint32_t to;

		/* After an element is deleted the kernel starts over. */
		if (bpf_map_lookup_elem(gammad->group_users_map, &key, &to) || !at(gammad, to)) {
			bpf_map_delete_elem(gammad->group_users_map, &key);
			last = NULL;
			continue;
		}
		before = key;
		last = &before;
	}
}

/* Those whose memberships ended while no gammad ran. The other end goes with a user's. */
void gammad_group_interfaces_clean(const struct gammad *gammad)
{
	struct if_nameindex *all = if_nameindex();

	drop_stale_users(gammad);
	for (const struct if_nameindex *one = all; one && one->if_index; one++) {
		unsigned uid, number;

		if (parse_name(one->if_name, &uid, &number) && !at(gammad, one->if_index))
			remove_pair((int) one->if_index);
	}
	if (all)
		if_freenameindex(all);
}
