// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Groups for collective operations: fi_join with FI_COLLECTIVE, which all members of a set call and
 * whose end the event queue reports; and how a group ends, for all or for one.
 *
 * A group's id is a hash of its members and of how often these have joined before, so that all
 * members know it beforehand. Each member reports to place 0, which answers when all have.
 */
#include "avset.h"
#include "ep.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdlib.h>

/* JOINs of groups that are not joined here yet: a peer cannot fill the memory. */
enum { EARLY_MAX = 65536 };

/* ---- finding ---- */

static struct gamma_list *bucket_of(const struct gamma_coll *coll, uint64_t id)
{
	return (struct gamma_list *) &coll->groups[id & (GAMMA_COLL_BUCKETS - 1)];
}

struct gamma_coll_group *gamma_coll_group_find(const struct gamma_coll *coll, uint64_t id)
{
	struct gamma_list *pos;

	if (!coll)
		return NULL;
	gamma_list_for_each (pos, bucket_of(coll, id)) {
		struct gamma_coll_group *group =
			gamma_list_entry(pos, struct gamma_coll_group, entry);

		if (group->id == id)
			return group;
	}
	return NULL;
}

/* The same peer may be in the address vector by several numbers. */
static uint32_t search_place(const struct gamma_coll_group *group, fi_addr_t addr)
{
	for (uint32_t place = 0; group->ep->av->duplicates && place < group->n; place++)
		if (gamma_av_same_peer(group->ep->av, addr, group->members[place]))
			return place;
	return GAMMA_COLL_NO_PLACE;
}

uint32_t gamma_coll_group_place(struct gamma_coll_group *group, fi_addr_t addr)
{
	uint32_t place = addr < group->place_count ? group->places[addr] : GAMMA_COLL_NO_PLACE;

	return gamma_likely(place != GAMMA_COLL_NO_PLACE) || addr == FI_ADDR_NOTAVAIL
		       ? place
		       : search_place(group, addr);
}

void gamma_coll_group_forget(struct gamma_coll *coll, fi_addr_t addr)
{
	struct gamma_list *pos;

	for (unsigned i = 0; coll && i < GAMMA_COLL_BUCKETS; i++)
		gamma_list_for_each (pos, &coll->groups[i]) {
			struct gamma_coll_group *group =
				gamma_list_entry(pos, struct gamma_coll_group, entry);
			uint32_t place = addr < group->place_count ? group->places[addr]
								   : GAMMA_COLL_NO_PLACE;

			if (place == GAMMA_COLL_NO_PLACE)
				continue;
			group->places[addr] = GAMMA_COLL_NO_PLACE;
			group->members[place] = FI_ADDR_NOTAVAIL;
		}
}

/* ---- making one ---- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ ((const uint8_t *) bytes)[i]) * 0x100000001b3ull;
	return hash;
}

/* Of MAC and port: the epoch is not known of every address. */
static uint64_t hash_members(const struct gamma_coll_group *group, uint64_t key)
{
	uint64_t hash = mix(0xcbf29ce484222325ull, &key, sizeof(key));

	for (uint32_t place = 0; place < group->n; place++)
		hash = mix(hash, gamma_av_addr(group->ep->av, group->members[place]),
			   offsetof(struct gamma_addr, epoch));
	return hash;
}

/* Groups of the same set that are joined, or were. */
static uint32_t count_alike(const struct gamma_coll *coll, uint64_t set)
{
	const struct gamma_coll_set *known;
	struct gamma_list *pos;

	gamma_list_for_each (pos, &coll->sets) {
		known = gamma_list_entry(pos, struct gamma_coll_set, entry);
		if (known->hash == set)
			return known->joins;
	}
	return 0;
}

/* by: 1 for a join, -1 for one that has failed. */
static int count_join(struct gamma_coll *coll, uint64_t set, int by)
{
	struct gamma_coll_set *known;
	struct gamma_list *pos;

	gamma_list_for_each (pos, &coll->sets) {
		known = gamma_list_entry(pos, struct gamma_coll_set, entry);
		if (known->hash != set)
			continue;
		known->joins += (uint32_t) by;
		return 0;
	}
	known = calloc(1, sizeof(*known));
	if (!known)
		return -FI_ENOMEM;
	known->hash = set;
	known->joins = (uint32_t) by;
	gamma_list_append(&coll->sets, &known->entry);
	return 0;
}

static bool is_self(const struct gamma_fi_ep *ep, const struct gamma_addr *addr)
{
	const struct gamma_addr *own = gamma_endpoint_addr(ep->endpoint);

	return !memcmp(addr, own, offsetof(struct gamma_addr, epoch)) &&
	       (addr->epoch == own->epoch || addr->epoch == GAMMA_EPOCH_ANY);
}

static int take_members(struct gamma_coll_group *group, const struct gamma_avset *set)
{
	if (!set->count || set->count > GAMMA_COLL_MEMBERS_MAX)
		return -FI_EINVAL;
	group->place = GAMMA_COLL_NO_PLACE;
	group->n = (uint32_t) set->count;
	group->place_count = group->ep->av->count;
	group->members = malloc(set->count * sizeof(*group->members));
	group->places = malloc(group->place_count * sizeof(*group->places));
	group->joined = calloc(set->count, sizeof(*group->joined));
	if (!group->members || !group->places || !group->joined)
		return -FI_ENOMEM;
	for (size_t i = 0; i < group->place_count; i++)
		group->places[i] = GAMMA_COLL_NO_PLACE;
	for (uint32_t place = 0; place < group->n; place++) {
		fi_addr_t index = set->members[place];
		const struct gamma_addr *addr = gamma_av_addr(group->ep->av, index);

		if (!addr || group->places[index] != GAMMA_COLL_NO_PLACE) {
			GAMMA_WARN(EP_CTRL,
				   "%s: cannot join: member %u of the set, address %llu, is %s\n",
				   group->ep->domain->nic.name, place, (unsigned long long) index,
				   addr ? "in it twice"
					: "not in the address vector: insert it before fi_join");
			return -FI_EINVAL;
		}
		group->members[place] = index;
		group->places[index] = place;
		if (is_self(group->ep, addr))
			group->place = place;
	}
	if (group->place != GAMMA_COLL_NO_PLACE)
		return 0;
	GAMMA_WARN(EP_CTRL,
		   "%s: cannot join: this endpoint's own address is none of the %u in the set\n",
		   group->ep->domain->nic.name, group->n);
	return -FI_EINVAL;
}

static void free_group(struct gamma_coll_group *group)
{
	gamma_list_remove(&group->entry);
	gamma_list_remove(&group->cast_entry);
	free(group->hosts.leaders);
	free(group->indices);
	free(group->leader_places);
	gamma_coll_relay_fini(group);
	gamma_turns_fini(&group->turns);
	free(group->members);
	free(group->places);
	free(group->joined);
	free(group);
}

/* ---- the end of a group ---- */

void gamma_coll_group_name(const struct gamma_coll_group *group, uint32_t place,
			   char name[GAMMA_NAME_LEN])
{
	const struct gamma_addr *addr = gamma_av_addr(group->ep->av, group->members[place]);

	if (addr)
		gamma_flow_addr_name(addr, name);
	else
		snprintf(name, GAMMA_NAME_LEN, "removed from the AV");
}

void gamma_coll_group_spoil(struct gamma_coll_group *group, uint32_t place, int error, bool report,
			    const char *format, ...)
{
	char name[GAMMA_NAME_LEN];
	va_list args;
	int len = 0;

	if (group->error)
		return;
	if (place != GAMMA_COLL_NO_PLACE) {
		gamma_coll_group_name(group, place, name);
		len = snprintf(group->cause, sizeof(group->cause), "member %u (%s): ", place, name);
	}
	va_start(args, format);
	vsnprintf(group->cause + len, sizeof(group->cause) - (size_t) len, format, args);
	va_end(args);
	group->error = error;
	group->reports = report;
	group->bad = true;
	group->ep->coll->bad = true;
	gamma_coll_run_wake(group->ep);
}

static struct gamma_eq *eq_of(const struct gamma_fi_ep *ep)
{
	return ep->eq ? ep->eq : ep->domain->eq;
}

static void report_join(struct gamma_coll_group *group)
{
	struct fi_eq_entry entry = {
		.fid = &group->mc_fid.fid,
		.context = group->mc_fid.fid.context,
	};
	struct fi_eq_err_entry failure = {
		.fid = &group->mc_fid.fid,
		.context = group->mc_fid.fid.context,
		.err = -group->error,
		.prov_errno = GAMMA_PROV_ERRNO_TEXT - group->error,
		.err_data = group->cause,
		.err_data_size = strlen(group->cause) + 1,
	};

	group->ep->coll->outstanding--;
	group->join_by = GAMMA_NEVER;
	if (group->error)
		gamma_eq_report_error(eq_of(group->ep), &failure);
	else
		gamma_eq_report(eq_of(group->ep), FI_JOIN_COMPLETE, &entry, sizeof(entry));
}

void gamma_coll_group_send_all(struct gamma_coll_group *group, enum gamma_coll_type type,
			       const void *bytes, size_t len)
{
	for (uint32_t place = 0; place < group->n; place++)
		if (place != group->place)
			gamma_coll_transfer_send_control(group->ep, group->members[place],
							 group->id, type, group->next, bytes, len);
}

void gamma_coll_group_end(struct gamma_coll_group *group)
{
	struct gamma_coll *coll = group->ep->coll;
	struct gamma_coll_failure failure = {.error = htonl((uint32_t) -group->error)};

	group->bad = false;
	memcpy(failure.cause, group->cause, sizeof(failure.cause));
	if (group->reports)
		gamma_coll_group_send_all(group, GAMMA_COLL_FAILED, &failure, sizeof(failure));
	if (group->join_by != GAMMA_NEVER && !group->live) {
		count_join(coll, group->set, -1);
		report_join(group);
	}
	while (!gamma_list_empty(&group->unexpected)) {
		struct gamma_list *entry = group->unexpected.next;

		gamma_list_remove(entry);
		gamma_list_append(&coll->strays, entry);
	}
	gamma_coll_run_end_ops(group);
}

/* ---- joining ---- */

void gamma_coll_group_live(struct gamma_coll_group *group, const struct gamma_coll_live *live)
{
	if (group->live || group->error)
		return;
	group->payload = ntohl(live->payload);
	group->window = ntohl(live->window);
	group->turns.window = group->window;
	group->live = true;
	gamma_coll_open_live(group);
	report_join(group);
}

/* Place 0 knows who is missing: the others leave it the time to say so. */
static uint64_t join_limit(const struct gamma_coll_group *group)
{
	uint64_t limit = gamma_settings.join_timeout;

	return group->place ? limit + limit / 4 + 100 * GAMMA_NS_PER_MS : limit;
}

/* At place 0: what that member takes by multicast. */
static void note_offer(struct gamma_coll_group *group, unsigned path, uint32_t payload)
{
	if (!payload)
		return;
	group->payloads[path] = group->offers[path]++
					? (uint32_t) gamma_min(group->payloads[path], payload)
					: payload;
}

static void note_beside(struct gamma_coll_group *group, uint32_t place, uint32_t payload)
{
	if (group->place || group->joined[place] != GAMMA_COLL_MAY_JOIN)
		return;
	group->joined[place] = GAMMA_COLL_HAS_OFFERED;
	note_offer(group, GAMMA_COLL_PATH_BESIDE, payload);
}

static void note_joined(struct gamma_coll_group *group, uint32_t place, uint32_t payload)
{
	const struct gamma_coll_live live = {.payload = 0};

	if (group->joined[place] >= GAMMA_COLL_HAS_JOINED)
		return;
	group->joined[place] = GAMMA_COLL_HAS_JOINED;
	note_offer(group, GAMMA_COLL_PATH_OWN, payload);
	if (++group->joined_count < group->n)
		return;
	/* The others wait no longer than that for multicast to be opened. */
	group->join_by = gamma_now() + join_limit(group) / 4;
	group->ep->coll->look_at = gamma_min(group->ep->coll->look_at, group->join_by);
	if (gamma_coll_open_begin(group))
		return;
	gamma_coll_group_send_all(group, GAMMA_COLL_LIVE, &live, sizeof(live));
	gamma_coll_group_live(group, &live);
}

static void take_join(struct gamma_coll_group *group, uint32_t place,
		      const struct gamma_coll_control *control)
{
	const struct gamma_coll_joining *joining = (const void *) control->bytes;

	if (control->len != sizeof(*joining) || ntohl(joining->members) != group->n ||
	    ntohl(joining->place) != place || group->place) {
		gamma_coll_group_spoil(group, place, -FI_EINVAL, true, "it joins another set");
		return;
	}
	note_joined(group, place,
		    ntohl(joining->hosts) == group->hosts_hash ? ntohl(joining->payload) : 0);
}

static void take_beside(struct gamma_coll_group *group, uint32_t place,
			const struct gamma_coll_control *control)
{
	const struct gamma_coll_beside *beside = (const void *) control->bytes;

	if (control->len == sizeof(*beside))
		note_beside(group, place, ntohl(beside->payload));
}

static void take_live(struct gamma_coll_group *group, const struct gamma_coll_control *control)
{
	const struct gamma_coll_live *live = (const void *) control->bytes;

	if (control->len != sizeof(*live) || group->live)
		return;
	if (live->payload && !gamma_coll_open_is_ready(group, live))
		gamma_coll_group_spoil(group, 0, -FI_EOTHER, true,
				       "it says that multicast works, which member %u has not open",
				       group->place);
	else
		gamma_coll_group_live(group, live);
}

static void take_failure(struct gamma_coll_group *group, const struct gamma_coll_control *control)
{
	const struct gamma_coll_failure *failure = (const void *) control->bytes;
	uint32_t error;

	if (control->len != sizeof(*failure))
		return;
	error = ntohl(failure->error);
	gamma_coll_group_spoil(group, GAMMA_COLL_NO_PLACE,
			       error && error < 4096 ? -(int) error : -FI_EOTHER, false, "%.*s",
			       (int) sizeof(failure->cause) - 1, failure->cause);
}

/* Early messages of a group are known by what comes after its join is called. */
static void keep_early(struct gamma_coll *coll, struct gamma_coll_control *control)
{
	if ((control->type == GAMMA_COLL_JOIN || control->type == GAMMA_COLL_BESIDE) &&
	    coll->control_count <= EARLY_MAX) {
		gamma_list_append(&coll->early, &control->entry);
		return;
	}
	coll->control_count--;
	free(control);
}

/* Its address may have been inserted since it came. */
static void find_source(struct gamma_fi_ep *ep, struct gamma_coll_control *control)
{
	if (control->source == FI_ADDR_NOTAVAIL)
		control->source = gamma_av_find(ep->av, &control->addr);
}

/* A member that has joined early waits no longer. */
static void drop_early(struct gamma_coll *coll, const struct gamma_coll_control *failed)
{
	struct gamma_list *pos, *tmp;

	gamma_list_for_each_safe (pos, tmp, &coll->early) {
		struct gamma_coll_control *control =
			gamma_list_entry(pos, struct gamma_coll_control, entry);

		if (control->id != failed->id ||
		    memcmp(&control->addr, &failed->addr, sizeof(failed->addr)))
			continue;
		gamma_list_remove(&control->entry);
		coll->control_count--;
		free(control);
	}
}

/* It waits in an operation, or for this member's reports, of a group that this endpoint has left
 * before that operation. */
static void answer_late(struct gamma_fi_ep *ep, const struct gamma_coll_control *control)
{
	struct gamma_coll_failure failure = {.error = htonl(FI_ECONNRESET)};
	const struct gamma_coll_left *left = ep->coll->left;
	char name[GAMMA_NAME_LEN];

	if ((control->type != GAMMA_COLL_CHECK && control->type != GAMMA_COLL_SENT) ||
	    control->source == FI_ADDR_NOTAVAIL)
		return;
	while (left < ep->coll->left + GAMMA_COLL_LEFT && left->id != control->id)
		left++;
	if (left == ep->coll->left + GAMMA_COLL_LEFT ||
	    gamma_coll_number_before(control->number, left->next))
		return;
	gamma_flow_addr_name(gamma_endpoint_addr(ep->endpoint), name);
	snprintf(failure.cause, sizeof(failure.cause), "member %s has left the group", name);
	gamma_coll_transfer_send_control(ep, control->source, control->id, GAMMA_COLL_FAILED, 0,
					 &failure, sizeof(failure));
}

void gamma_coll_group_control(struct gamma_fi_ep *ep, struct gamma_coll_control *control)
{
	struct gamma_coll_group *group = gamma_coll_group_find(ep->coll, control->id);
	uint32_t place;

	find_source(ep, control);
	if (!group) {
		answer_late(ep, control);
		if (control->type == GAMMA_COLL_FAILED)
			drop_early(ep->coll, control);
		keep_early(ep->coll, control);
		return;
	}
	place = gamma_coll_group_place(group, control->source);
	if (place == GAMMA_COLL_NO_PLACE)
		gamma_endpoint_counters(ep->endpoint)->stray++;
	if (place != GAMMA_COLL_NO_PLACE && control->type == GAMMA_COLL_JOIN)
		take_join(group, place, control);
	else if (place == 0 && control->type == GAMMA_COLL_LIVE)
		take_live(group, control);
	else if (place != GAMMA_COLL_NO_PLACE && control->type == GAMMA_COLL_FAILED)
		take_failure(group, control);
	else if (place != GAMMA_COLL_NO_PLACE && control->type == GAMMA_COLL_CHECK)
		gamma_coll_run_check(group, place, control);
	else if (place != GAMMA_COLL_NO_PLACE && control->type == GAMMA_COLL_BESIDE)
		take_beside(group, place, control);
	else if (place != GAMMA_COLL_NO_PLACE && control->type == GAMMA_COLL_GROUP_BESIDE)
		gamma_coll_open_control(group, place, control);
	else if (place != GAMMA_COLL_NO_PLACE && control->type == GAMMA_COLL_SENT)
		gamma_coll_cast_sent(group, place, control);
	else if (place != GAMMA_COLL_NO_PLACE && control->type >= GAMMA_COLL_LOSSY)
		gamma_coll_fallback_control(group, place, control);
	else if (place != GAMMA_COLL_NO_PLACE && control->type >= GAMMA_COLL_TAKEN)
		gamma_coll_cast_control(group, place, control);
	else if (place != GAMMA_COLL_NO_PLACE)
		gamma_coll_open_control(group, place, control);
	ep->coll->control_count--;
	free(control);
}

/* Those of its JOINs that were here first. */
static void take_early(struct gamma_coll_group *group)
{
	struct gamma_coll *coll = group->ep->coll;
	struct gamma_list *pos, *tmp;

	gamma_list_for_each_safe (pos, tmp, &coll->early) {
		struct gamma_coll_control *control =
			gamma_list_entry(pos, struct gamma_coll_control, entry);

		if (control->id != group->id)
			continue;
		gamma_list_remove(&control->entry);
		gamma_list_append(&coll->controls, &control->entry);
	}
}

/* Whether a member that is waited for joins another set instead. */
static bool joins_another(struct gamma_coll_group *group, uint32_t place)
{
	struct gamma_list *pos;

	gamma_list_for_each (pos, &group->ep->coll->early) {
		struct gamma_coll_control *control =
			gamma_list_entry(pos, struct gamma_coll_control, entry);

		find_source(group->ep, control);
		if (gamma_coll_group_place(group, control->source) == place)
			return true;
	}
	return false;
}

static void end_join(struct gamma_coll_group *group)
{
	unsigned long seconds = (unsigned long) (join_limit(group) / GAMMA_NS_PER_S);
	uint32_t place = 0;

	if (gamma_coll_open_end(group))
		return;
	if (group->place) {
		gamma_coll_group_spoil(group, 0, -FI_ETIMEDOUT, true,
				       "it has not said within %lu s that all have joined",
				       seconds);
		return;
	}
	while (group->joined[place] >= GAMMA_COLL_HAS_JOINED)
		place++;
	if (joins_another(group, place))
		gamma_coll_group_spoil(group, place, -FI_EINVAL, true,
				       "it joins another set: pass the same members in the same "
				       "order everywhere");
	else
		gamma_coll_group_spoil(group, place, -FI_ETIMEDOUT, true,
				       "it has not joined after %lu s", seconds);
}

uint64_t gamma_coll_group_expire(struct gamma_fi_ep *ep, uint64_t now)
{
	uint64_t next = GAMMA_NEVER;
	struct gamma_list *pos;

	for (unsigned i = 0; i < GAMMA_COLL_BUCKETS; i++)
		gamma_list_for_each (pos, &ep->coll->groups[i]) {
			struct gamma_coll_group *group =
				gamma_list_entry(pos, struct gamma_coll_group, entry);

			if (now >= group->join_by && !group->error)
				end_join(group);
			next = gamma_min(next, group->error ? GAMMA_NEVER : group->join_by);
			next = gamma_min(next, gamma_coll_run_expire(group, now));
		}
	return next;
}

/* ---- leaving ---- */

static void remember_left(struct gamma_coll *coll, const struct gamma_coll_group *group)
{
	coll->left[coll->left_count++ % GAMMA_COLL_LEFT] =
		(struct gamma_coll_left){.id = group->id, .next = group->next};
}

/* Operations that peers still send to, or receive from, use the caller's memory. */
static int end_outstanding(struct gamma_coll_group *group)
{
	struct gamma_fi_ep *ep = group->ep;
	uint64_t end = gamma_now() + gamma_settings.linger;

	if (group->live && gamma_list_empty(&group->ops))
		return 0;
	gamma_coll_group_spoil(group, group->place, -FI_ECANCELED, true, "it has left the group");
	do {
		gamma_coll_run_progress(ep);
		if (gamma_list_empty(&group->ops))
			return 0;
		gamma_progress_poll(ep->domain);
	} while (gamma_now() < end);
	return -FI_EBUSY;
}

static int group_close(struct fid *fid)
{
	struct gamma_coll_group *group =
		gamma_container_of(fid, struct gamma_coll_group, mc_fid.fid);
	struct gamma_fi_ep *ep = group->ep;
	int ret;

	gamma_domain_lock(ep->domain);
	ret = end_outstanding(group);
	if (!ret) {
		/* This may let go of the lock, and messages may come meanwhile. */
		gamma_coll_open_fini(group);
		while (!gamma_list_empty(&group->unexpected)) {
			struct gamma_list *entry = group->unexpected.next;

			gamma_list_remove(entry);
			gamma_list_append(&ep->coll->strays, entry);
			gamma_coll_run_wake(ep);
		}
		remember_left(ep->coll, group);
		free_group(group);
	}
	gamma_domain_unlock(ep->domain);
	if (!ret)
		gamma_refs_drop(&ep->aliases);
	return ret;
}

static struct fi_ops group_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = group_close,
	.bind = gamma_fabric_unsupported_bind,
	.control = gamma_fabric_unsupported_control,
	.ops_open = gamma_fabric_unsupported_ops_open,
	.tostr = gamma_fabric_unsupported_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

/* ---- the call ---- */

static int begin_join(struct gamma_coll_group *group, const struct gamma_avset *set)
{
	struct gamma_coll *coll = group->ep->coll;
	struct gamma_coll_beside beside;
	struct gamma_coll_joining joining;
	uint32_t alike;
	int ret = take_members(group, set);

	if (ret)
		return ret;
	if (!gamma_turns_init(&group->turns, group->n, 0))
		return -FI_ENOMEM;
	ret = gamma_coll_open_init(group);
	if (ret)
		return ret;
	group->set = hash_members(group, set->key);
	alike = count_alike(coll, group->set);
	group->id = mix(group->set, &alike, sizeof(alike)) >> GAMMA_COLL_NUMBER_BITS;
	if (gamma_coll_group_find(coll, group->id))
		return -FI_EBUSY;
	ret = count_join(coll, group->set, 1);
	if (ret)
		return ret;
	group->mc_fid.fi_addr = group->id;
	group->join_by = gamma_now() + join_limit(group);
	gamma_list_append(bucket_of(coll, group->id), &group->entry);
	coll->outstanding++;
	coll->look_at = gamma_min(coll->look_at, group->join_by);
	take_early(group);
	gamma_coll_run_wake(group->ep);
	beside.payload = htonl(gamma_coll_open_payload(group, GAMMA_COLL_PATH_BESIDE));
	if (!group->place) {
		note_beside(group, 0, ntohl(beside.payload));
		note_joined(group, 0, gamma_coll_open_payload(group, GAMMA_COLL_PATH_OWN));
		return 0;
	}
	if (beside.payload)
		gamma_coll_transfer_send_control(group->ep, group->members[0], group->id,
						 GAMMA_COLL_BESIDE, 0, &beside, sizeof(beside));
	joining.members = htonl(group->n);
	joining.place = htonl(group->place);
	joining.payload = htonl(gamma_coll_open_payload(group, GAMMA_COLL_PATH_OWN));
	joining.hosts = htonl(group->hosts_hash);
	gamma_coll_transfer_send_control(group->ep, group->members[0], group->id, GAMMA_COLL_JOIN,
					 0, &joining, sizeof(joining));
	return 0;
}

static struct gamma_coll_group *new_group(struct gamma_fi_ep *ep, void *context)
{
	struct gamma_coll_group *group = calloc(1, sizeof(*group));

	if (!group)
		return NULL;
	group->ep = ep;
	group->join_by = GAMMA_NEVER;
	group->igmp_fd = -1;
	group->mc_fid.fid.fclass = FI_CLASS_MC;
	group->mc_fid.fid.context = context;
	group->mc_fid.fid.ops = &group_fid_ops;
	gamma_list_init(&group->entry);
	gamma_list_init(&group->cast_entry);
	group->test_at = group->test_until = GAMMA_NEVER;
	gamma_list_init(&group->ops);
	gamma_list_init(&group->early);
	gamma_list_init(&group->unexpected);
	return group;
}

int gamma_coll_group_join(struct gamma_fi_ep *ep, const struct fi_collective_addr *addr,
			  uint64_t flags, struct fid_mc **mc, void *context)
{
	const struct gamma_avset *set;
	struct gamma_coll_group *group;
	int ret;

	if (!ep->coll || ep->sep)
		return -FI_EOPNOTSUPP;
	if (flags & ~FI_COLLECTIVE)
		return -FI_EBADFLAGS;
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	if (!eq_of(ep))
		return -FI_ENOEQ;
	if (!addr || !addr->set)
		return -FI_EINVAL;
	set = gamma_container_of((struct fid_av_set *) addr->set, struct gamma_avset, set_fid);
	if (set->av != ep->av)
		return -FI_EINVAL;
	group = new_group(ep, context);
	if (!group)
		return -FI_ENOMEM;
	gamma_domain_lock(ep->domain);
	*mc = &group->mc_fid; /* before the event can be read */
	ret = begin_join(group, set);
	if (ret) {
		*mc = NULL;
		free_group(group);
	} else {
		gamma_refs_take(&ep->aliases);
	}
	gamma_domain_unlock(ep->domain);
	return ret;
}

/* ---- of an endpoint ---- */

int gamma_coll_group_init(struct gamma_fi_ep *ep)
{
	struct gamma_coll *coll = calloc(1, sizeof(*coll));

	if (!coll)
		return -FI_ENOMEM;
	for (unsigned i = 0; i < GAMMA_COLL_BUCKETS; i++)
		gamma_list_init(&coll->groups[i]);
	gamma_list_init(&coll->sets);
	gamma_list_init(&coll->controls);
	gamma_list_init(&coll->early);
	gamma_list_init(&coll->strays);
	gamma_list_init(&coll->casting);
	gamma_list_init(&coll->due);
	gamma_list_init(&coll->pool);
	gamma_list_init(&coll->sends);
	coll->look_at = GAMMA_NEVER;
	ep->coll = coll;
	return 0;
}

#define FREE_ALL(list, type)                                       \
	while (!gamma_list_empty(list)) {                          \
		type *found = gamma_list_first(list, type, entry); \
                                                                   \
		gamma_list_remove(&found->entry);                  \
		free(found);                                       \
	}

void gamma_coll_group_fini(struct gamma_fi_ep *ep)
{
	struct gamma_coll *coll = ep->coll;

	if (!coll)
		return;
	while (!gamma_list_empty(&coll->sends)) {
		struct gamma_coll_transfer *transfer =
			gamma_list_first(&coll->sends, struct gamma_coll_transfer, entry);

		gamma_list_remove(&transfer->entry);
		free(transfer->bytes);
		free(transfer);
	}
	FREE_ALL(&coll->pool, struct gamma_coll_transfer)
	FREE_ALL(&coll->controls, struct gamma_coll_control)
	FREE_ALL(&coll->early, struct gamma_coll_control)
	FREE_ALL(&coll->sets, struct gamma_coll_set)
	free(coll);
	ep->coll = NULL;
}
