// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* common/broker/message.c: what gammad takes for a request. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "broker/message.h"

static struct gamma_broker_open an_open(void)
{
	struct gamma_broker_open open = {.epoch = 7, .port = 9, .ethertype = 0x88B5};

	gamma_broker_message_init_header(&open.header, GAMMA_BROKER_OPEN, sizeof(open),
					 GAMMA_BROKER_OK);
	return open;
}

static void parse__whole_requests(void **state)
{
	struct gamma_broker_open open = an_open();
	struct gamma_broker_revoke revoke = {.uid = 5};
	union gamma_broker_request request;

	(void) state;
	assert_int_equal(gamma_broker_message_parse(&open, sizeof(open), &request),
			 GAMMA_BROKER_OK);
	assert_int_equal(request.open.epoch, 7);
	gamma_broker_message_init_header(&revoke.header, GAMMA_BROKER_REVOKE, sizeof(revoke),
					 GAMMA_BROKER_OK);
	assert_int_equal(gamma_broker_message_parse(&revoke, sizeof(revoke), &request),
			 GAMMA_BROKER_OK);
	assert_int_equal(request.revoke.uid, 5);
	gamma_broker_message_init_header(&revoke.header, GAMMA_BROKER_LIST, sizeof(revoke.header),
					 GAMMA_BROKER_OK);
	assert_int_equal(gamma_broker_message_parse(&revoke, sizeof(revoke.header), &request),
			 GAMMA_BROKER_OK);
}

static void parse__too_short_or_long(void **state)
{
	struct {
		struct gamma_broker_open open;
		char more;
	} long_one = {.open = an_open()};
	union gamma_broker_request request;

	(void) state;
	for (size_t len = 0; len < sizeof(long_one.open); len++)
		assert_int_equal(gamma_broker_message_parse(&long_one, len, &request),
				 GAMMA_BROKER_MALFORMED);
	assert_int_equal(gamma_broker_message_parse(&long_one, sizeof(long_one.open) + 1, &request),
			 GAMMA_BROKER_MALFORMED);
}

static void parse__wrong_fields(void **state)
{
	union gamma_broker_request request;
	struct gamma_broker_open open;

	(void) state;
#define REFUSED(change, why) \
	open = an_open();    \
	open.change;         \
	assert_int_equal(gamma_broker_message_parse(&open, sizeof(open), &request), why)
	REFUSED(header.magic ^= 1, GAMMA_BROKER_MALFORMED);
	REFUSED(header.version++, GAMMA_BROKER_OTHER_VERSION);
	REFUSED(header.type = GAMMA_BROKER_OPENED, GAMMA_BROKER_MALFORMED);
	REFUSED(header.type = 99, GAMMA_BROKER_MALFORMED);
	REFUSED(header.length--, GAMMA_BROKER_MALFORMED);
	REFUSED(header.reason = 1, GAMMA_BROKER_MALFORMED);
	REFUSED(epoch = 0, GAMMA_BROKER_MALFORMED);
#undef REFUSED
}

static void parse__groups(void **state)
{
	union gamma_broker_request request;
	struct gamma_broker_group group;

	(void) state;
#define PARSED(asked, change, why)                                                              \
	group = (struct gamma_broker_group){.port = 1, .group_port = 2, .receives = 1};         \
	gamma_broker_message_init_header(&group.header, asked, sizeof(group), GAMMA_BROKER_OK); \
	change;                                                                                 \
	assert_int_equal(gamma_broker_message_parse(&group, sizeof(group), &request), why)
	PARSED(GAMMA_BROKER_JOIN, (void) 0, GAMMA_BROKER_OK);
	assert_int_equal(request.group.group_port, 2);
	PARSED(GAMMA_BROKER_LEAVE, (void) 0, GAMMA_BROKER_OK);
	PARSED(GAMMA_BROKER_JOIN, group.receives = 2, GAMMA_BROKER_MALFORMED);
	PARSED(GAMMA_BROKER_JOIN, group.port = 0, GAMMA_BROKER_MALFORMED);
	PARSED(GAMMA_BROKER_JOIN, group.group_port = 0, GAMMA_BROKER_MALFORMED);
	PARSED(GAMMA_BROKER_LEAVE, group.reserved = 1, GAMMA_BROKER_MALFORMED);
#undef PARSED
}

/* What a client makes of an answer. */
static void judge__answers(void **state)
{
	struct gamma_broker_served served = {.count = 1};
	struct gamma_broker_done done = {.count = 0};

	(void) state;
#define JUDGED(answer)                                                                    \
	gamma_broker_message_check_answer(&(answer), sizeof(answer), GAMMA_BROKER_SERVED, \
					  sizeof(served))
	gamma_broker_message_init_header(&served.header, GAMMA_BROKER_SERVED, sizeof(served),
					 GAMMA_BROKER_OK);
	assert_int_equal(JUDGED(served), GAMMA_BROKER_OK);
	served.header.reason = GAMMA_BROKER_NO_GROUP;
	assert_int_equal(JUDGED(served), GAMMA_BROKER_NO_GROUP);
	served.header.version++;
	assert_int_equal(JUDGED(served), GAMMA_BROKER_OTHER_VERSION);
	gamma_broker_message_init_header(&done.header, GAMMA_BROKER_DONE, sizeof(done),
					 GAMMA_BROKER_NOT_ROOT);
	assert_int_equal(JUDGED(done), GAMMA_BROKER_NOT_ROOT);
	done.header.version--;
	assert_int_equal(JUDGED(done), GAMMA_BROKER_OTHER_VERSION);
	done.header.magic++;
	assert_int_equal(JUDGED(done), GAMMA_BROKER_MALFORMED);
	gamma_broker_message_init_header(&done.header, GAMMA_BROKER_DONE, sizeof(done),
					 GAMMA_BROKER_OK);
	assert_int_equal(JUDGED(done), GAMMA_BROKER_MALFORMED);
	assert_int_equal(gamma_broker_message_check_answer(&done, 3, GAMMA_BROKER_DONE, 3),
			 GAMMA_BROKER_MALFORMED);
#undef JUDGED
}

static void for_root__what_concerns_others(void **state)
{
	(void) state;
	for (uint16_t type = 0; type < 100; type++)
		assert_int_equal(gamma_broker_message_needs_root(type),
				 type != GAMMA_BROKER_OPEN && type != GAMMA_BROKER_STATUS &&
					 type != GAMMA_BROKER_NICS && type != GAMMA_BROKER_JOIN &&
					 type != GAMMA_BROKER_LEAVE &&
					 type != GAMMA_BROKER_DETAILS);
}

static void reasons__all_have_text_and_error(void **state)
{
	(void) state;
	assert_int_equal(gamma_broker_message_error(GAMMA_BROKER_OK), 0);
	for (uint32_t reason = 1; reason < GAMMA_BROKER_REASONS; reason++) {
		assert_true(gamma_broker_message_error(reason) < 0);
		assert_non_null(gamma_broker_message_text(reason));
	}
	assert_int_equal(gamma_broker_message_error(GAMMA_BROKER_REASONS), -EPROTO);
	assert_non_null(gamma_broker_message_text(UINT32_MAX));
}

static void is__type_and_length(void **state)
{
	struct gamma_broker_open open = an_open();

	(void) state;
	assert_true(gamma_broker_message_is(&open, sizeof(open), GAMMA_BROKER_OPEN, sizeof(open)));
	assert_false(gamma_broker_message_is(&open, sizeof(open), GAMMA_BROKER_LIST, sizeof(open)));
	assert_false(
		gamma_broker_message_is(&open, sizeof(open) - 1, GAMMA_BROKER_OPEN, sizeof(open)));
	assert_false(gamma_broker_message_is(&open, 3, GAMMA_BROKER_OPEN, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__whole_requests),
		cmocka_unit_test(parse__too_short_or_long),
		cmocka_unit_test(parse__wrong_fields),
		cmocka_unit_test(parse__groups),
		cmocka_unit_test(judge__answers),
		cmocka_unit_test(for_root__what_concerns_others),
		cmocka_unit_test(reasons__all_have_text_and_error),
		cmocka_unit_test(is__type_and_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
