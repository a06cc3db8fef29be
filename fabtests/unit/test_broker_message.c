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

	gamma_broker_head(&open.header, GAMMA_BROKER_OPEN, sizeof(open), GAMMA_BROKER_OK);
	return open;
}

static void parse__whole_requests(void **state)
{
	struct gamma_broker_open open = an_open();
	struct gamma_broker_revoke revoke = {.uid = 5};
	union gamma_broker_request request;

	(void) state;
	assert_int_equal(gamma_broker_parse(&open, sizeof(open), &request), GAMMA_BROKER_OK);
	assert_int_equal(request.open.epoch, 7);
	gamma_broker_head(&revoke.header, GAMMA_BROKER_REVOKE, sizeof(revoke), GAMMA_BROKER_OK);
	assert_int_equal(gamma_broker_parse(&revoke, sizeof(revoke), &request), GAMMA_BROKER_OK);
	assert_int_equal(request.revoke.uid, 5);
	gamma_broker_head(&revoke.header, GAMMA_BROKER_LIST, sizeof(revoke.header),
			  GAMMA_BROKER_OK);
	assert_int_equal(gamma_broker_parse(&revoke, sizeof(revoke.header), &request),
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
		assert_int_equal(gamma_broker_parse(&long_one, len, &request),
				 GAMMA_BROKER_MALFORMED);
	assert_int_equal(gamma_broker_parse(&long_one, sizeof(long_one.open) + 1, &request),
			 GAMMA_BROKER_MALFORMED);
}

static void parse__wrong_fields(void **state)
{
	union gamma_broker_request request;
	struct gamma_broker_open open;

	(void) state;
#define REFUSED(change, why)                                                                       \
	open = an_open();                                                                          \
	open.change;                                                                               \
	assert_int_equal(gamma_broker_parse(&open, sizeof(open), &request), why)
	REFUSED(header.magic ^= 1, GAMMA_BROKER_MALFORMED);
	REFUSED(header.version++, GAMMA_BROKER_OTHER_VERSION);
	REFUSED(header.type = GAMMA_BROKER_OPENED, GAMMA_BROKER_MALFORMED);
	REFUSED(header.type = 99, GAMMA_BROKER_MALFORMED);
	REFUSED(header.length--, GAMMA_BROKER_MALFORMED);
	REFUSED(header.reason = 1, GAMMA_BROKER_MALFORMED);
	REFUSED(reserved = 1, GAMMA_BROKER_MALFORMED);
	REFUSED(epoch = 0, GAMMA_BROKER_MALFORMED);
#undef REFUSED
}

static void for_root__all_but_open_and_status(void **state)
{
	(void) state;
	for (uint16_t type = 0; type < 100; type++)
		assert_int_equal(gamma_broker_for_root(type),
				 type != GAMMA_BROKER_OPEN && type != GAMMA_BROKER_STATUS);
}

static void reasons__all_have_text_and_error(void **state)
{
	(void) state;
	assert_int_equal(gamma_broker_error(GAMMA_BROKER_OK), 0);
	for (uint32_t reason = 1; reason < GAMMA_BROKER_REASONS; reason++) {
		assert_true(gamma_broker_error(reason) < 0);
		assert_non_null(gamma_broker_text(reason));
	}
	assert_int_equal(gamma_broker_error(GAMMA_BROKER_REASONS), -EPROTO);
	assert_non_null(gamma_broker_text(UINT32_MAX));
}

static void is__type_and_length(void **state)
{
	struct gamma_broker_open open = an_open();

	(void) state;
	assert_true(gamma_broker_is(&open, sizeof(open), GAMMA_BROKER_OPEN, sizeof(open)));
	assert_false(gamma_broker_is(&open, sizeof(open), GAMMA_BROKER_LIST, sizeof(open)));
	assert_false(gamma_broker_is(&open, sizeof(open) - 1, GAMMA_BROKER_OPEN, sizeof(open)));
	assert_false(gamma_broker_is(&open, 3, GAMMA_BROKER_OPEN, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__whole_requests),
		cmocka_unit_test(parse__too_short_or_long),
		cmocka_unit_test(parse__wrong_fields),
		cmocka_unit_test(for_root__all_but_open_and_status),
		cmocka_unit_test(reasons__all_have_text_and_error),
		cmocka_unit_test(is__type_and_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
