// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Unit tests of prov/gamma/src/coll_group.c and coll_open.c: how groups for collective operations
 * begin and end. The test makes up what the other two members say.
 */
#include "prov_fake_engine.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <unistd.h>

enum { OWN = 1, OTHER = 2 }; /* in the AV; the other peer has index 0 */

struct collective {
	struct fake_ep *fep;
	struct fid_eq *eq;
	struct gamma_flow *other;
	struct fid_av_set *set;
	struct fid_mc *mc;
};

static struct gamma_fi_ep *inside(const struct collective *c)
{
	return gamma_ep_handle_of(c->fep->ep)->ep;
}

static int setup(void **state)
{
	struct collective *c = calloc(1, sizeof(*c));
	struct fake *fake = fake_open(FI_VERSION(1, 17), FI_THREAD_SAFE, FI_PROGRESS_MANUAL);
	struct gamma_addr own, other = fake_addr(2, 200, 9);
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};

	assert_non_null(c);
	c->fep = fake_ep_open(fake, FI_EP_RDM, FI_COLLECTIVE, 0);
	own = *gamma_endpoint_addr(c->fep->engine);
	assert_int_equal(fi_av_insert(c->fep->av, &own, 1, NULL, 0, NULL), 1);
	assert_int_equal(fi_av_insert(c->fep->av, &other, 1, NULL, 0, NULL), 1);
	c->other = fake_flow(c->fep, &other);
	assert_int_equal(fi_eq_open(fake->fabric, &attr, &c->eq, NULL), 0);
	inside(c)->eq = gamma_container_of(c->eq, struct gamma_eq, eq_fid);
	gamma_refs_take(&inside(c)->eq->refs);
	*state = c;
	return 0;
}

static int teardown(void **state)
{
	struct collective *c = *state;
	struct fake *fake = c->fep->fake;

	if (c->mc)
		assert_int_equal(fi_close(&c->mc->fid), 0);
	if (c->set)
		assert_int_equal(fi_close(&c->set->fid), 0);
	fake_ep_close(c->fep);
	assert_int_equal(fi_close(&c->eq->fid), 0);
	fake_close(fake);
	free(c);
	return 0;
}

/* Of three members, this one in the first or the second place. */
static struct gamma_coll_group *join(struct collective *c, unsigned place)
{
	struct fi_av_set_attr attr = {.start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL};

	assert_int_equal(fi_av_set(c->fep->av, &attr, &c->set, NULL), 0);
	assert_int_equal(fi_av_set_insert(c->set, place ? 0 : OWN), 0);
	assert_int_equal(fi_av_set_insert(c->set, place ? OWN : 0), 0);
	assert_int_equal(fi_av_set_insert(c->set, OTHER), 0);
	assert_int_equal(fi_join_collective(c->fep->ep, 0, c->set, 0, &c->mc, NULL), 0);
	return gamma_container_of(c->mc, struct gamma_coll_group, mc_fid);
}

/* A member says something. */
static void say(struct collective *c, struct gamma_flow *from, const struct gamma_coll_group *group,
		uint32_t type, const void *bytes, size_t len)
{
	const struct gamma_envelope envelope = {
		.tag = gamma_envelope_port_tag(GAMMA_COLL_PORT, 0, type),
		.data = group->id << GAMMA_COLL_NUMBER_BITS,
		.length = len,
		.flags = GAMMA_TAGGED | GAMMA_TO_PORT | GAMMA_HAS_DATA,
	};

	gamma_domain_lock(inside(c)->domain);
	gamma_coll_run_deliver(inside(c), from, &envelope, bytes);
	gamma_domain_unlock(inside(c)->domain);
	fi_cq_read(c->fep->cq, NULL, 0);
}

static void say_joined(struct collective *c, struct gamma_flow *from,
		       const struct gamma_coll_group *group, uint32_t place)
{
	struct gamma_coll_joining joining = {
		.members = htonl(3),
		.place = htonl(place),
		.payload = htonl(1000),
		.hosts = htonl(group->hosts_hash),
	};

	say(c, from, group, GAMMA_COLL_JOIN, &joining, sizeof(joining));
}

/* The socket that a member has for multicast: frames that it holds, 0: there is none. */
static void say_ready(struct collective *c, struct gamma_flow *from,
		      const struct gamma_coll_group *group, uint32_t slots)
{
	struct gamma_coll_ready ready = {.slots = htonl(slots)};

	say(c, from, group, GAMMA_COLL_READY, &ready, sizeof(ready));
}

static void assert_joined(struct collective *c)
{
	struct fi_eq_entry entry;
	uint32_t event;

	assert_int_equal(fi_eq_read(c->eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	assert_int_equal(event, FI_JOIN_COMPLETE);
	assert_ptr_equal(entry.fid, &c->mc->fid);
}

static void assert_join_failed(struct collective *c, const char *cause)
{
	struct fi_eq_err_entry error = {0};

	assert_int_equal(fi_eq_readerr(c->eq, &error, 0), sizeof(error));
	assert_ptr_equal(error.fid, &c->mc->fid);
	assert_non_null(strstr(error.err_data, cause));
}

/* ---- joining ---- */

static void join__all_have(void **state)
{
	struct collective *c = *state;
	struct gamma_coll_group *group;

	gamma_settings.multicast = GAMMA_MULTICAST_0;
	group = join(c, 0);
	say_joined(c, c->fep->flow, group, 1);
	assert_false(group->live);
	say_joined(c, c->other, group, 2);
	assert_true(group->live);
	gamma_settings.multicast = GAMMA_MULTICAST_AUTO;
	assert_joined(c);
}

static void join__set_is_closed_meanwhile(void **state)
{
	struct collective *c = *state;
	struct gamma_coll_group *group = join(c, 1);
	const struct gamma_coll_live live = {.payload = 0};

	assert_int_equal(fi_close(&c->set->fid), 0);
	c->set = NULL;
	say(c, c->fep->flow, group, GAMMA_COLL_LIVE, &live, sizeof(live));
	assert_joined(c);
}

static void join__group_is_closed_meanwhile(void **state)
{
	struct collective *c = *state;

	join(c, 1);
	assert_int_equal(fi_close(&c->mc->fid), 0);
	c->mc = NULL;
}

/* It has no socket for multicast, which is to be said of it by its name. */
static void join__member_without_multicast_is_removed_from_the_av(void **state)
{
	struct collective *c = *state;
	struct gamma_coll_group *group = join(c, 0);
	fi_addr_t index = 0;

	say_joined(c, c->fep->flow, group, 1);
	say_joined(c, c->other, group, 2);
	say_ready(c, c->fep->flow, group, 0);
	assert_int_equal(fi_av_remove(c->fep->av, &index, 1, 0), 0);
	say_ready(c, c->other, group, 100);
	/* This member's own socket is opened in a thread. */
	for (int i = 0; i < 5000 && !group->live; i++) {
		fi_cq_read(c->fep->cq, NULL, 0);
		usleep(1000);
	}
	assert_true(group->live);
	assert_joined(c);
}

static void join__multicast_that_is_not_open_here(void **state)
{
	const struct gamma_coll_live live = {.payload = htonl(1000), .window = htonl(1000)};
	struct collective *c = *state;
	struct gamma_coll_group *group = join(c, 1);

	say(c, c->fep->flow, group, GAMMA_COLL_LIVE, &live, sizeof(live));
	fi_cq_read(c->fep->cq, NULL, 0);
	assert_false(group->live);
	assert_join_failed(c, "multicast");
}

/* A join that fails leaves nothing behind which the program could close. */
static void join__that_is_refused_names_no_group(void **state)
{
	struct fi_av_set_attr attr = {.start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL};
	struct collective *c = *state;
	struct fid_mc *mc = NULL;

	assert_int_equal(fi_av_set(c->fep->av, &attr, &c->set, NULL), 0);
	assert_int_equal(fi_av_set_insert(c->set, OTHER), 0);
	assert_int_equal(fi_join_collective(c->fep->ep, 0, c->set, 0, &mc, NULL), -FI_EINVAL);
	assert_null(mc);
}

/* ---- operations ---- */

/* Of three members, all of which have joined. */
static struct gamma_coll_group *join_live(struct collective *c, unsigned place)
{
	struct gamma_coll_group *group = join(c, place);
	const struct gamma_coll_live live = {.payload = 0};

	gamma_domain_lock(inside(c)->domain);
	gamma_coll_group_live(group, &live);
	gamma_domain_unlock(inside(c)->domain);
	assert_joined(c);
	return group;
}

/* A message of an operation, which member `from` has sent as its first one to this member. */
static void say_data(struct collective *c, struct gamma_flow *from,
		     const struct gamma_coll_group *group, uint32_t number, uint32_t signature,
		     const char *text)
{
	struct gamma_fields fields = {
		.op = GAMMA_OP_SEND,
		.extensions = GAMMA_EXT_TAG | GAMMA_EXT_NAMES_PORT | GAMMA_EXT_CQ_DATA,
		.payload_len = (uint16_t) strlen(text),
		.tag = gamma_envelope_port_tag(GAMMA_COLL_PORT, 0,
					       GAMMA_COLL_OPERATION |
						       signature << GAMMA_COLL_INDEX_BITS),
		.data = group->id << GAMMA_COLL_NUMBER_BITS | number,
	};

	fake_arrive_fields(from, &fields, text);
	fi_cq_read(c->fep->cq, NULL, 0);
}

static struct gamma_coll_op *first_op(const struct gamma_coll_group *group)
{
	assert_false(gamma_list_empty(&group->ops));
	return gamma_list_first(&group->ops, struct gamma_coll_op, entry);
}

static ssize_t broadcast(struct collective *c, void *bytes, size_t count)
{
	return fi_broadcast(c->fep->ep, bytes, count, NULL, fi_mc_addr(c->mc), 0, FI_UINT8,
			    FI_COMPLETION, NULL);
}

static void assert_op_failed(struct collective *c, int error, const char *cause)
{
	struct fi_cq_err_entry entry = {0};

	assert_int_equal(fi_cq_readerr(c->fep->cq, &entry, 0), 1);
	assert_int_equal(entry.err, error);
	assert_non_null(strstr(entry.err_data, cause));
}

/* By chance its signature is that of this member's call. */
static void message__of_another_length(void **state)
{
	struct collective *c = *state;
	struct gamma_coll_group *group = join_live(c, 1);
	char bytes[8];

	assert_int_equal(broadcast(c, bytes, sizeof(bytes)), 0);
	say_data(c, c->fep->flow, group, 0, first_op(group)->signature, "four");
	assert_op_failed(c, FI_EINVAL, "calls another");
}

/* It comes before the call. */
static void message__of_another_length_is_early(void **state)
{
	struct collective *c = *state;
	struct gamma_coll_group *group = join_live(c, 1);
	const struct gamma_plan_call call = {
		.kind = GAMMA_PLAN_BROADCAST, .n = 3, .datatype = FI_UINT8, .unit = 1, .count = 8};
	char bytes[8];

	say_data(c, c->fep->flow, group, 0, gamma_plan_signature(&call), "four");
	assert_int_equal(broadcast(c, bytes, sizeof(bytes)), 0);
	fi_cq_read(c->fep->cq, NULL, 0);
	assert_op_failed(c, FI_EINVAL, "calls another");
}

/* Only those operations whose memory grows with the members are limited by their number. */
static void lengths__at_most_what_a_message_may_have(void **state)
{
	const size_t most = GAMMA_MAX_MSG_SIZE, third = most / 3;
	struct collective *c = *state;
	static char byte;

	join_live(c, 1);
	assert_int_equal(broadcast(c, &byte, most + 1), -FI_EMSGSIZE);
	assert_int_equal(broadcast(c, &byte, most), 0);
	assert_int_equal(fi_gather(c->fep->ep, &byte, third + 1, NULL, NULL, NULL,
				   fi_mc_addr(c->mc), 0, FI_UINT8, FI_COMPLETION, NULL),
			 -FI_EMSGSIZE);
	assert_int_equal(fi_allgather(c->fep->ep, &byte, third + 1, NULL, &byte, NULL,
				      fi_mc_addr(c->mc), FI_UINT8, FI_COMPLETION, NULL),
			 -FI_EMSGSIZE);
	assert_int_equal(fi_scatter(c->fep->ep, NULL, third + 1, NULL, &byte, NULL,
				    fi_mc_addr(c->mc), 0, FI_UINT8, FI_COMPLETION, NULL),
			 -FI_EMSGSIZE);
}

/* Of a scatter's members only the root passes operands. */
static void msg__without_operands(void **state)
{
	struct collective *c = *state;
	struct gamma_coll_group *group = join_live(c, 1);
	struct fi_ioc result = {.count = 8};
	const struct fi_msg_collective msg = {
		.coll_addr = fi_mc_addr(c->mc), .datatype = FI_UINT8, .coll = FI_SCATTER};
	char bytes[8];

	result.addr = bytes;
	assert_int_equal(c->fep->ep->collective->msg(c->fep->ep, &msg, &result, NULL, 1, 0), 0);
	assert_int_equal(first_op(group)->call.count, 8);
	assert_ptr_equal(first_op(group)->call.to, bytes);
}

/* ---- members that are waited for ---- */

/* It is a while later. */
static void look(struct collective *c, struct gamma_coll_group *group)
{
	first_op(group)->look_at = inside(c)->coll->look_at = 0;
	for (int i = 0; i < 64; i++)
		fi_cq_read(c->fep->cq, NULL, 0);
}

/* Place 1 has sent its part and waits for nothing: it would not ask place 2. */
static void wait__asks_the_member_that_a_message_is_missing_of(void **state)
{
	struct collective *c = *state;
	struct gamma_coll_group *group = join_live(c, 0);
	char own = 0, all[3];

	assert_int_equal(fi_gather(c->fep->ep, &own, 1, NULL, all, NULL, fi_mc_addr(c->mc), OWN,
				   FI_UINT8, FI_COMPLETION, NULL),
			 0);
	say_data(c, c->fep->flow, group, 0, first_op(group)->signature, "a");
	fake_transmit(c->other);
	look(c, group);
	assert_int_equal(fake_transmit(c->other), 1);
}

/* Of a live group: this member's frames go by multicast. */
static void begin_multicast(struct collective *c, struct gamma_coll_group *group)
{
	group->payload = 1000;
	group->window = group->turns.window = 100;
	group->multicast = (struct gamma_group *) c;
	gamma_list_append(&inside(c)->coll->casting, &group->cast_entry);
}

static void end_multicast(struct gamma_coll_group *group)
{
	gamma_list_remove(&group->cast_entry);
	group->multicast = NULL;
	group->payload = 0;
}

static void say_taken(struct collective *c, struct gamma_flow *from,
		      const struct gamma_coll_group *group, uint32_t frames)
{
	const struct gamma_coll_count taken = {.frames = htonl(frames)};

	say(c, from, group, GAMMA_COLL_TAKEN, &taken, GAMMA_COLL_COUNT_SHORT);
}

/* The root sends nothing before all leaders have begun, and place 1 has. */
static void wait__asks_the_leader_that_has_not_begun(void **state)
{
	struct collective *c = *state;
	struct gamma_coll_group *group = join_live(c, 0);
	char bytes[4096];

	begin_multicast(c, group);
	group->turns.sent = 1000;
	assert_int_equal(fi_broadcast(c->fep->ep, bytes, sizeof(bytes), NULL, fi_mc_addr(c->mc),
				      OWN, FI_UINT8, FI_COMPLETION, NULL),
			 0);
	say_taken(c, c->fep->flow, group, 0);
	fake_transmit(c->other);
	look(c, group);
	assert_int_equal(fake_transmit(c->other), 1);
	end_multicast(group);
}

/* The root does: its frames are missing. */
static void wait__asks_the_root(void **state)
{
	struct collective *c = *state;
	struct gamma_coll_group *group = join_live(c, 1);
	char bytes[4096];

	begin_multicast(c, group);
	assert_int_equal(broadcast(c, bytes, sizeof(bytes)), 0);
	fake_transmit(c->fep->flow);
	look(c, group);
	assert_true(fake_transmit(c->fep->flow));
	end_multicast(group);
}

static void leave(struct collective *c, struct gamma_coll_group *group,
		  struct gamma_coll_group *copy)
{
	*copy = *group; /* to be spoken of */
	assert_int_equal(fi_close(&c->mc->fid), 0);
	c->mc = NULL;
	fake_transmit(c->other);
}

static void left__answers_who_waits_in_an_operation(void **state)
{
	const struct gamma_coll_waiting waiting = {.signature = htonl(1)};
	struct collective *c = *state;
	struct gamma_coll_group group;

	leave(c, join_live(c, 1), &group);
	say(c, c->other, &group, GAMMA_COLL_CHECK, &waiting, sizeof(waiting));
	assert_int_equal(fake_transmit(c->other), 1);
}

static void left__answers_who_reminds_of_frames(void **state)
{
	const struct gamma_coll_count sent = {.frames = htonl(3)};
	struct collective *c = *state;
	struct gamma_coll_group group;

	leave(c, join_live(c, 1), &group);
	say(c, c->other, &group, GAMMA_COLL_SENT, &sent, GAMMA_COLL_COUNT_SHORT);
	assert_int_equal(fake_transmit(c->other), 1);
}

/* ---- without multicast after it had been used ---- */

static bool next_casts(struct gamma_coll_group *group, uint32_t number)
{
	return gamma_coll_fallback_casts(group, number & GAMMA_COLL_NUMBER_MASK);
}

static void fallback__lasts_when_numbers_wrap(void **state)
{
	struct collective *c = *state;
	struct gamma_coll_group *group = join_live(c, 1);

	group->payload = 1000;
	group->fallback.state = GAMMA_FALLBACK_DONE;
	group->fallback.from = 5;
	assert_true(next_casts(group, 4));
	assert_false(next_casts(group, 5));
	for (uint32_t number = 5; number < 3u << GAMMA_COLL_NUMBER_BITS; number += 1u << 20)
		assert_false(next_casts(group, number));
	group->payload = 0;
}

/* This member has yet to call the last one that goes by multicast, while another group's operation
 * makes progress. */
static void fallback__waits_for_the_last_operation_by_multicast(void **state)
{
	struct collective *c = *state;
	struct gamma_coll_group *group = join_live(c, 1);
	struct gamma_coll *coll = inside(c)->coll;

	group->payload = 1000;
	group->fallback.state = GAMMA_FALLBACK_DONE;
	group->fallback.from = 1;
	gamma_list_append(&coll->casting, &group->cast_entry);
	coll->outstanding++;
	gamma_coll_run_wake(inside(c));
	fi_cq_read(c->fep->cq, NULL, 0);
	assert_false(gamma_list_empty(&coll->casting));
	assert_true(next_casts(group, 0));
	assert_false(next_casts(group, 1));
	fi_cq_read(c->fep->cq, NULL, 0);
	assert_true(gamma_list_empty(&coll->casting));
	coll->outstanding--;
	group->payload = 0;
}

/* ---- the end ---- */

struct late {
	struct collective *c;
	struct gamma_coll_group *group;
};

/* Once the lock is free. */
static void *send_late(void *arg)
{
	struct late *late = arg;

	say_data(late->c, late->c->other, late->group, 0, 1, "late");
	return NULL;
}

/* Closing lets go of the lock until the thread that opens multicast has ended. */
static void close__a_message_comes_meanwhile(void **state)
{
	struct collective *c = *state;
	struct late late = {c, join_live(c, 1)};

	gamma_domain_lock(inside(c)->domain);
	late.group->opening = !pthread_create(&late.group->opener, NULL, send_late, &late);
	gamma_domain_unlock(inside(c)->domain);
	assert_true(late.group->opening);
	assert_int_equal(fi_close(&c->mc->fid), 0);
	c->mc = NULL;
	fi_cq_read(c->fep->cq, NULL, 0);
	assert_int_equal(gamma_endpoint_counters(c->fep->engine)->unexpected, 1);
	assert_int_equal(c->fep->engine->messages.buffered, 0);
}

/* Another peer has its index now. */
static void removed__its_index_is_no_members(void **state)
{
	const struct gamma_addr another = fake_addr(3, 300, 11);
	struct collective *c = *state;
	struct gamma_coll_group *group = join_live(c, 1);
	fi_addr_t index = OTHER;

	assert_int_equal(gamma_coll_group_place(group, index), 2);
	assert_int_equal(fi_av_remove(c->fep->av, &index, 1, 0), 0);
	assert_int_equal(fi_av_insert(c->fep->av, &another, 1, &index, 0, NULL), 1);
	assert_int_equal(index, OTHER);
	assert_int_equal(gamma_coll_group_place(group, index), GAMMA_COLL_NO_PLACE);
	assert_int_equal(fi_barrier(c->fep->ep, fi_mc_addr(c->mc), NULL), 0);
	fi_cq_read(c->fep->cq, NULL, 0);
	assert_op_failed(c, FI_EADDRNOTAVAIL, "removed");
}

static void spoil__member_is_removed_from_the_av(void **state)
{
	struct collective *c = *state;
	struct gamma_coll_group *group = join(c, 0);
	fi_addr_t index = 0;

	assert_int_equal(fi_av_remove(c->fep->av, &index, 1, 0), 0);
	gamma_domain_lock(inside(c)->domain);
	gamma_coll_group_spoil(group, 1, -FI_ETIMEDOUT, true, "it is late");
	gamma_domain_unlock(inside(c)->domain);
	fi_cq_read(c->fep->cq, NULL, 0);
	assert_join_failed(c, "removed");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(join__all_have),
		TEST(join__set_is_closed_meanwhile),
		TEST(join__group_is_closed_meanwhile),
		TEST(join__member_without_multicast_is_removed_from_the_av),
		TEST(join__multicast_that_is_not_open_here),
		TEST(join__that_is_refused_names_no_group),
		TEST(message__of_another_length),
		TEST(message__of_another_length_is_early),
		TEST(lengths__at_most_what_a_message_may_have),
		TEST(msg__without_operands),
		TEST(wait__asks_the_member_that_a_message_is_missing_of),
		TEST(wait__asks_the_leader_that_has_not_begun),
		TEST(wait__asks_the_root),
		TEST(left__answers_who_waits_in_an_operation),
		TEST(left__answers_who_reminds_of_frames),
		TEST(fallback__lasts_when_numbers_wrap),
		TEST(fallback__waits_for_the_last_operation_by_multicast),
		TEST(close__a_message_comes_meanwhile),
		TEST(removed__its_index_is_no_members),
		TEST(spoil__member_is_removed_from_the_av),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
