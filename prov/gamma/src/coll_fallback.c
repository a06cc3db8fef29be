// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A live group that loses much of what goes by multicast goes over to messages. The member that
 * notices sends its frames to each leader from then on. For the operations to come place 0 asks all
 * members for the number of their next one, and they begin no other until it answers with the
 * highest: so all agree which operations still go by multicast.
 */
#include "ep.h"

#include <arpa/inet.h>

enum {
	SPAN = 1024,      /* frames after which what was before counts half */
	ALLOWED = 128,    /* frames sent again, and ... */
	ALLOWED_PART = 8, /* ... one of so many sent: more is too much */
};

static void say(struct gamma_coll_group *group, enum gamma_coll_type type, uint32_t number)
{
	const struct gamma_coll_from from = {.number = htonl(number)};

	gamma_coll_transfer_send_control(group->ep, group->members[0], group->id, type, 0, &from,
					 sizeof(from));
}

static void say_to_all(struct gamma_coll_group *group, enum gamma_coll_type type, uint32_t number)
{
	const struct gamma_coll_from from = {.number = htonl(number)};

	gamma_coll_group_send_all(group, type, &from, sizeof(from));
}

/* ---- at place 0 ---- */

static void go_over(struct gamma_coll_group *group, uint32_t number)
{
	group->fallback.state = GAMMA_FALLBACK_DONE;
	group->fallback.from = number;
	gamma_coll_run_begin_held(group);
}

static void note_next(struct gamma_coll_group *group, uint32_t place, uint32_t number)
{
	struct gamma_coll_fallback *fallback = &group->fallback;

	if (group->place || fallback->state != GAMMA_FALLBACK_HALTED ||
	    group->joined[place] == GAMMA_COLL_HAS_HALTED)
		return;
	group->joined[place] = GAMMA_COLL_HAS_HALTED;
	if (gamma_coll_number_before(fallback->from, number))
		fallback->from = number;
	if (++fallback->answers < group->n)
		return;
	say_to_all(group, GAMMA_COLL_FLOWS, fallback->from);
	go_over(group, fallback->from);
}

static void halt_all(struct gamma_coll_group *group)
{
	if (group->fallback.state != GAMMA_FALLBACK_NO)
		return;
	GAMMA_WARN(EP_CTRL,
		   "%s: a group of %u members goes on without multicast, which is slower: too many "
		   "of its frames are lost; see storm control and IGMP snooping in doc/tuning.md\n",
		   group->ep->domain->nic.name, group->n);
	group->fallback.state = GAMMA_FALLBACK_HALTED;
	group->fallback.from = group->next;
	say_to_all(group, GAMMA_COLL_HALT, 0);
	note_next(group, 0, group->next);
}

/* ---- at all places ---- */

void gamma_coll_fallback_note(struct gamma_coll_group *group, uint32_t sent, uint32_t again)
{
	struct gamma_coll_fallback *fallback = &group->fallback;

	fallback->sent += sent;
	fallback->again += again;
	if (fallback->sent >= SPAN) {
		fallback->sent /= 2;
		fallback->again /= 2;
	}
	if (fallback->lossy || fallback->again <= ALLOWED + fallback->sent / ALLOWED_PART)
		return;
	fallback->lossy = true;
	if (group->place)
		say(group, GAMMA_COLL_LOSSY, 0);
	else
		halt_all(group);
}

static void halt(struct gamma_coll_group *group)
{
	if (group->fallback.state != GAMMA_FALLBACK_NO)
		return;
	group->fallback.lossy = true;
	group->fallback.state = GAMMA_FALLBACK_HALTED;
	say(group, GAMMA_COLL_NEXT, group->next);
}

/* Numbers wrap: long after `from` they seem to come before it. */
bool gamma_coll_fallback_casts(struct gamma_coll_group *group, uint32_t number)
{
	struct gamma_coll_fallback *fallback = &group->fallback;

	fallback->over |= fallback->state == GAMMA_FALLBACK_DONE &&
			  !gamma_coll_number_before(number, fallback->from);
	return group->payload && !fallback->over;
}

void gamma_coll_fallback_control(struct gamma_coll_group *group, uint32_t place,
				 const struct gamma_coll_control *control)
{
	const struct gamma_coll_from *from = (const void *) control->bytes;
	uint32_t number;

	if (control->len != sizeof(*from) || !group->live || !group->payload || group->error)
		return;
	number = ntohl(from->number) & GAMMA_COLL_NUMBER_MASK;
	if (control->type == GAMMA_COLL_LOSSY && !group->place)
		halt_all(group);
	else if (control->type == GAMMA_COLL_NEXT)
		note_next(group, place, number);
	else if (control->type == GAMMA_COLL_HALT && !place)
		halt(group);
	else if (control->type == GAMMA_COLL_FLOWS && !place &&
		 group->fallback.state == GAMMA_FALLBACK_HALTED)
		go_over(group, number);
}
