// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gammad/conf.c: gammad.conf. */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "gammad/conf.h"

static struct gammad_conf conf;
static char error[256];
static bool no_memory;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	return no_memory ? NULL : __real_malloc(size);
}

static int parse(const char *text)
{
	error[0] = 0;
	return gammad_conf_parse("f", text, strlen(text), &conf, error, sizeof(error));
}

static void parse__defaults(void **state)
{
	(void) state;
	assert_int_equal(parse("nic eth1 slots 64\n"), 0);
	assert_int_equal(conf.nic_count, 1);
	assert_string_equal(conf.nics[0].name, "eth1");
	assert_int_equal(conf.nics[0].slots, 64);
	assert_int_equal(conf.ring_bytes, 4 << 20);
	assert_int_equal(conf.ethertype, 0x88B5);
	assert_int_equal(conf.multicast, 64);
	assert_int_equal(conf.metrics, 0);
	assert_int_equal(parse("nic a slots 1\nmetrics socket"), 0);
	assert_int_equal(conf.metrics, GAMMAD_METRICS_UNIX);
	assert_int_equal(parse("nic eth1 slots 64\n"), 0);
	assert_int_equal(gammad_conf_limit(&conf, 1000), 64);
	assert_true(gammad_conf_allows(&conf, 12345));
}

static void parse__own_address(void **state)
{
	(void) state;
	assert_int_equal(parse("nic eth1 slots 64\nnic eth2 slots 8 own-address\n"), 0);
	assert_false(conf.nics[0].own_address);
	assert_true(conf.nics[1].own_address);
	assert_int_equal(conf.nics[1].slots, 8);
}

static void parse__everything(void **state)
{
	(void) state;
	assert_int_equal(parse("# head\n\n\tnic a slots 1 # one\r\nnic b slots 1024\nring 65536\n"
			       "limit 3\nlimit 5 uid 1000\nmulticast 9\ngroup root\ngroup 44\n"
			       "ethertype 0x88b6\nmetrics 9475"),
			 0);
	assert_int_equal(conf.nic_count, 2);
	assert_int_equal(conf.ring_bytes, 65536);
	assert_int_equal(conf.ethertype, 0x88b6);
	assert_int_equal(conf.multicast, 9);
	assert_int_equal(conf.metrics, 9475);
	assert_int_equal(gammad_conf_limit(&conf, 7), 3);
	assert_int_equal(gammad_conf_limit(&conf, 1000), 5);
	assert_true(gammad_conf_allows(&conf, 0) && gammad_conf_allows(&conf, 44));
	assert_false(gammad_conf_allows(&conf, 45));
}

static void parse__mistakes(void **state)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
		{"", "f: no NIC"},
		{"ring 65536\n", "f: no NIC"},
		{"nic eth1\n", "f:1: a NIC needs its slots"},
		{"nic eth1 slot 3\n", "f:1: a NIC needs its slots"},
		{"nic eth1 slots 0\n", "f:1: '0' slots"},
		{"nic eth1 slots 1025\n", "f:1: '1025' slots"},
		{"nic eth1 slots 3 4\n", "f:1: a NIC needs its slots"},
		{"nic eth1 slots 3 own-address 4\n", "f:1: a NIC needs its slots"},
		{"nic eth1 own-address slots 3\n", "f:1: a NIC needs its slots"},
		{"nic abcdefghijklmnop slots 3\n", "f:1: 'abcdefghijklmnop' is longer"},
		{"nic a slots 1\nnic a slots 2\n", "f:2: NIC a was named before"},
		{"nic a slots 1\nring 1\n", "f:2: write `ring BYTES`"},
		{"nic a slots 1\nring 65536\nring 65536\n", "f:3: a second `ring`"},
		{"nic a slots 1\nring -5\n", "f:2: write `ring"},
		{"nic a slots 1\nlimit 3 user 4\n", "f:2: write `limit"},
		{"nic a slots 1\nlimit 3 uid bob\n", "f:2: 'bob' is no user id"},
		{"nic a slots 1\nlimit 3 uid 4\nlimit 4 uid 4\n", "f:3: user 4 has a limit"},
		{"nic a slots 1\ngroup\n", "f:2: write `group"},
		{"nic a slots 1\ngroup no-such-group-here\n", "f:2: no group"},
		{"nic a slots 1\nethertype 0x5ff\n", "f:2: write `ethertype"},
		{"nic a slots 1\nethertype 0x\n", "f:2: write `ethertype"},
		{"nic a slots 1\nethertype 0x0800\n", "f:2: EtherType 0x0800 is that of IPv4"},
		{"nic a slots 1\nmulticast -1\n", "f:2: write `multicast NUMBER`"},
		{"nic a slots 1\nmulticast 1\nmulticast 1\n", "f:3: a second `multicast`"},
		{"nic a slots 1\nmetrics 80\n", "f:2: write `metrics socket`, or `metrics PORT`"},
		{"nic a slots 1\nmetrics\n", "f:2: write `metrics socket`"},
		{"nic a slots 1\nmetrics 2000\nmetrics socket\n", "f:3: a second `metrics`"},
		{"nic a slots 1\nlimit 16385\n",
		 "f:2: write `limit NUMBER` or `limit NUMBER uid UID`, "
		 "from 0 to 16384"},
		{"nic a slots 1\nuids 5\n", "f:2: write `uids FIRST-LAST`"},
		{"nic a slots 1\nuids 5-4\n", "f:2: write `uids FIRST-LAST`"},
		{"nic a slots 1\nfoo\n", "f:2: unknown keyword 'foo'"},
		{"\xef\xbb\xbfnic a slots 1\n", "f:1: unknown keyword '???nic'"},
		{"nic a slots \x1b[2J\n", "f:1: '?[2J' slots"},
	};

	(void) state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(parse(rows[i].text), -EINVAL);
		assert_memory_equal(error, rows[i].said, strlen(rows[i].said));
	}
}

static int refuse(const char *text)
{
	return gammad_conf_refuse_subuids("s", text, strlen(text), &conf, error, sizeof(error));
}

static void parse__uids_named(void **state)
{
	(void) state;
	assert_int_equal(parse("nic a slots 1\nuids 1000-1999\nuids 2000-2999\nuids 70000-70000\n"),
			 0);
	assert_int_equal(conf.range_count, 2);
	assert_int_equal(refuse("bob:1000:65536\n"), 0);
	assert_true(gammad_conf_permits_uid(&conf, 0));
	assert_true(gammad_conf_permits_uid(&conf, 1000) && gammad_conf_permits_uid(&conf, 2999));
	assert_true(gammad_conf_permits_uid(&conf, 70000));
	assert_false(gammad_conf_permits_uid(&conf, 999) || gammad_conf_permits_uid(&conf, 3000));
}

/* One user is as many as that file gives: each would have limits of its own. */
static void refuse_subuids__keeps_out_what_they_list(void **state)
{
	(void) state;
	assert_int_equal(parse("nic a slots 1\n"), 0);
	assert_int_equal(refuse("# a comment\nbob:100000:65536\n1001:165536:65536\nx:1:y\n"
				"late:4294967000:65536\nlast:300000:1"),
			 0);
	assert_int_equal(conf.range_count, 4);
	assert_true(gammad_conf_permits_uid(&conf, 0) && gammad_conf_permits_uid(&conf, 1));
	assert_true(gammad_conf_permits_uid(&conf, 99999));
	assert_true(gammad_conf_permits_uid(&conf, 231072));
	assert_false(gammad_conf_permits_uid(&conf, 65534));
	assert_false(gammad_conf_permits_uid(&conf, 100000));
	assert_false(gammad_conf_permits_uid(&conf, 231071));
	assert_false(gammad_conf_permits_uid(&conf, 300000));
	assert_false(gammad_conf_permits_uid(&conf, UINT32_MAX - 1));
}

/* Name services have longer names than /etc/passwd may. */
static void refuse_subuids__of_a_long_name(void **state)
{
	char text[512];

	(void) state;
	memset(text, 'n', sizeof(text));
	strcpy(text + 300, ":100000:65536\n");
	assert_int_equal(parse("nic a slots 1\n"), 0);
	assert_int_equal(refuse(text), 0);
	assert_false(gammad_conf_permits_uid(&conf, 100000));
	assert_false(gammad_conf_permits_uid(&conf, 165535));
	assert_true(gammad_conf_permits_uid(&conf, 165536));
}

static void refuse_subuids__too_many_ranges(void **state)
{
	char text[4096] = "";
	size_t len = 0;

	(void) state;
	for (int i = 0; i < GAMMAD_RANGES_MAX; i++)
		len += (size_t) snprintf(text + len, sizeof(text) - len, "u:%d:1\n", 70000 + 2 * i);
	assert_int_equal(parse("nic a slots 1\n"), 0);
	assert_int_equal(refuse(text), -EINVAL);
	assert_non_null(strstr(error, "write `uids FIRST-LAST`"));
}

static void parse__nul_byte(void **state)
{
	static const char text[] = "nic a slots 1\n\0\n";

	(void) state;
	assert_int_equal(
		gammad_conf_parse("f", text, sizeof(text) - 1, &conf, error, sizeof(error)),
		-EINVAL);
}

/* Without a word of it the reader would take what is there for the configuration. */
static void parse__no_memory(void **state)
{
	int ret;

	(void) state;
	no_memory = true;
	ret = parse("nic a slots 1\n");
	no_memory = false;
	assert_int_equal(ret, -ENOMEM);
	assert_string_equal(error, "f: no memory to read it; free some");
}

static void load__no_file(void **state)
{
	(void) state;
	assert_int_equal(gammad_conf_load("/none/gammad.conf", &conf, error, sizeof(error)),
			 -ENOENT);
	assert_non_null(strstr(error, "/none/gammad.conf: cannot be read"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__defaults),
		cmocka_unit_test(parse__own_address),
		cmocka_unit_test(parse__everything),
		cmocka_unit_test(parse__mistakes),
		cmocka_unit_test(parse__nul_byte),
		cmocka_unit_test(parse__no_memory),
		cmocka_unit_test(load__no_file),
		cmocka_unit_test(parse__uids_named),
		cmocka_unit_test(refuse_subuids__keeps_out_what_they_list),
		cmocka_unit_test(refuse_subuids__of_a_long_name),
		cmocka_unit_test(refuse_subuids__too_many_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
