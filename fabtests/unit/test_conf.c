// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of common/conf/conf.c and mac.c: no network. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "conf/conf.h"
#include "base/mac.h"

static char error[512];

static struct gamma_conf *parse(const char *text)
{
	struct gamma_conf *conf;
	int err = gamma_conf_parse("f", text, strlen(text), &conf, error, sizeof(error));

	if (err)
		print_error("%s\n", error);
	assert_int_equal(err, 0);
	assert_string_equal(error, "");
	return conf;
}

static void refuse_bytes(const char *text, size_t len, const char *expected)
{
	struct gamma_conf *conf;

	assert_int_equal(gamma_conf_parse("f", text, len, &conf, error, sizeof(error)), -EINVAL);
	assert_null(conf);
	if (!strstr(error, expected))
		fail_msg("'%s' does not hold '%s'", error, expected);
}

static void refuse(const char *text, const char *expected)
{
	refuse_bytes(text, strlen(text), expected);
}

static size_t count(const struct gamma_conf *conf)
{
	const struct gamma_conf_host *hosts;

	return gamma_conf_hosts(conf, &hosts);
}

static void assert_host(const struct gamma_conf_host *host, const char *name, const char *mac)
{
	char text[GAMMA_MAC_TEXT_LEN];

	assert_non_null(host);
	assert_string_equal(host->name, name);
	assert_string_equal(gamma_mac_format(host->mac, text), mac);
}

/* ---- MAC ---- */

static void mac_parse__both_joints_and_cases(void **state)
{
	static const uint8_t expected[] = {0x01, 0x23, 0x45, 0xab, 0xcd, 0xef};
	uint8_t mac[GAMMA_MAC_LEN];

	(void) state;
	assert_true(gamma_mac_parse("01:23:45:ab:cd:ef", mac));
	assert_memory_equal(mac, expected, sizeof(mac));
	memset(mac, 0, sizeof(mac));
	assert_true(gamma_mac_parse("01-23-45-AB-CD-EF", mac));
	assert_memory_equal(mac, expected, sizeof(mac));
}

static void mac_parse__anything_else_is_refused_and_leaves_mac(void **state)
{
	static const char *const bad[] = {
		"",
		"01",
		"01:",
		"01:23:45:67:89",
		"01:23:45:67:89:a",
		"01:23:45:67:89:ab ",
		" 01:23:45:67:89:ab",
		"01:23:45:67:89:ab:cd",
		"01:23-45:67:89:ab",
		"01:23:45:67:89:gg",
		"1:2:3:4:5:6",
		"0123456789ab",
		"01.23.45.67.89.ab",
	};
	uint8_t mac[GAMMA_MAC_LEN] = {9};

	(void) state;
	for (size_t i = 0; i < gamma_array_size(bad); i++)
		assert_false(gamma_mac_parse(bad[i], mac));
	assert_int_equal(mac[0], 9);
}

/* ---- parse ---- */

static void conf_parse__gammas_own_format(void **state)
{
	struct gamma_conf *conf = parse("pc001 0x00 0x23 0x45 0x67 0x89 0xab\n"
					"pc002 0x2 0xA 0X0b 0x0 0xff 0x10\n");

	(void) state;
	assert_int_equal(count(conf), 2);
	assert_host(gamma_conf_by_name(conf, "pc001"), "pc001", "00:23:45:67:89:ab");
	assert_host(gamma_conf_by_name(conf, "pc002"), "pc002", "02:0a:0b:00:ff:10");
	assert_int_equal(gamma_conf_by_name(conf, "pc002")->line, 2);
	gamma_conf_free(conf);
}

static void conf_parse__colons_comments_blanks_tabs_crlf_and_no_final_newline(void **state)
{
	struct gamma_conf *conf = parse("# the cluster\n\n \t \n"
					"\ta\t02:00:00:00:00:01\t# rack 1\r\n"
					"b 0x02 0x00\t0x00 0x00 0x00 0x02#rack 2\n"
					"c 02:00:00:00:00:03");

	(void) state;
	assert_int_equal(count(conf), 3);
	assert_host(gamma_conf_by_name(conf, "a"), "a", "02:00:00:00:00:01");
	assert_host(gamma_conf_by_name(conf, "b"), "b", "02:00:00:00:00:02");
	assert_host(gamma_conf_by_name(conf, "c"), "c", "02:00:00:00:00:03");
	gamma_conf_free(conf);
}

static void conf_parse__empty_has_no_hosts(void **state)
{
	static const uint8_t mac[GAMMA_MAC_LEN] = {2};
	struct gamma_conf *conf = parse("");

	(void) state;
	assert_int_equal(count(conf), 0);
	assert_null(gamma_conf_by_name(conf, "a"));
	assert_null(gamma_conf_by_mac(conf, mac));
	gamma_conf_free(conf);
}

static void conf_parse__broken_lines_are_named(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"\na 0x02 0x00 0x00 0x00 0x00 0xgg", "f:2: '0xgg' is no byte"},
		{"a 0x02 0x00 0x00 0x00 0x00 0x100", "f:1: '0x100' is no byte"},
		{"a 0x02 0x00 0x00 0x00 0x00 0x", "f:1: '0x' is no byte"},
		{"a 02 00 00 00 00 01", "f:1: '02' is no byte"},
		{"a 0x02 -1 0 0 0 0", "f:1: '-1' is no byte"},
		{"a 02:00:00:00:00", "f:1: '02:00:00:00:00' is no byte"},
		{"a 0x02 0x00 0x00 0x00 0x01", "f:1: 5 bytes of MAC"},
		{"a 0x02", "f:1: 1 byte of MAC"},
		{"a", "f:1: 0 bytes of MAC"},
		{"a 0x02 0x00 0x00 0x00 0x00 0x01 0x02", "f:1: more than six bytes"},
		{"a 0x02 0x00 0x00 0x00 0x00 0x01 b 0x02", "f:1: more than six bytes"},
		{"a 0x00 0x00 0x00 0x00 0x00 0x00", "f:1: 00:00:00:00:00:00 is a zero"},
		{"a 01:00:5e:00:00:01", "f:1: 01:00:5e:00:00:01 is a multicast"},
		{"a ff:ff:ff:ff:ff:ff", "f:1: ff:ff:ff:ff:ff:ff is a multicast"},
		{"-a 02:00:00:00:00:01", "f:1: host name '-a' begins with '-'"},
		{"a:b 02:00:00:00:00:01", "f:1: host name 'a:b' has a character"},
		{"\xc3\xa4 02:00:00:00:00:01", "f:1: host name '\?\?' has a character"},
		{"a 02:00:00:00:00:01\nA 02:00:00:00:00:02", "f:2: host 'a' is on line 1 already"},
		{"a 02:00:00:00:00:01\nb 0x02 0 0", "f:2: '0' is no byte"},
		{"a 02:00:00:00:00:01\nb 0x2 0x0 0x0 0x0 0x0 0x1",
		 "f:2: MAC 02:00:00:00:00:01 is that of line 1 already"},
	};

	(void) state;
	for (size_t i = 0; i < gamma_array_size(rows); i++)
		refuse(rows[i].text, rows[i].expected);
}

static void conf_parse__nul_bytes(void **state)
{
	(void) state;
	refuse_bytes("a 02:00:00:00:00:01\n\0", 21, "f:2: NUL byte");
	refuse_bytes("a 02:00:00:00:00:01 #\0", 22, "f:1: NUL byte");
}

static void conf_parse__long_names_and_lines(void **state)
{
	char text[2 * GAMMA_CONF_LINE_MAX];
	struct gamma_conf *conf;

	(void) state;
	memset(text, 'a', sizeof(text));
	strcpy(text + GAMMA_CONF_NAME_MAX, " 02:00:00:00:00:01");
	conf = parse(text);
	text[GAMMA_CONF_NAME_MAX] = 0;
	assert_non_null(gamma_conf_by_name(conf, text));
	gamma_conf_free(conf);

	memset(text, 'a', sizeof(text));
	strcpy(text + GAMMA_CONF_NAME_MAX + 1, " 02:00:00:00:00:01");
	refuse(text, "has 254 characters");

	memset(text, '#', sizeof(text));
	conf = NULL;
	assert_int_equal(
		gamma_conf_parse("f", text, GAMMA_CONF_LINE_MAX, &conf, error, sizeof(error)), 0);
	gamma_conf_free(conf);
	refuse_bytes(text, GAMMA_CONF_LINE_MAX + 1, "f:1: line of 1025 bytes");
}

static void conf_parse__error_buffer_of_any_size(void **state)
{
	struct gamma_conf *conf;
	char small[8];

	(void) state;
	assert_int_equal(gamma_conf_parse("f", "a", 1, &conf, NULL, 0), -EINVAL);
	for (size_t room = 1; room <= sizeof(small); room++) {
		memset(small, 'x', sizeof(small));
		assert_int_equal(gamma_conf_parse("f", "a", 1, &conf, small, room), -EINVAL);
		assert_true(strlen(small) < room);
	}
}

static void conf_parse__ten_thousand_hosts(void **state)
{
	enum { HOSTS = 10000, LINE = 32 };
	char *text = malloc(HOSTS * LINE + 1), *p = text, name[16];
	struct gamma_conf *conf;

	(void) state;
	for (int i = 0; i < HOSTS; i++)
		p += sprintf(p, "pc%d 02:00:00:00:%02x:%02x\n", i, i >> 8, i & 255);
	conf = parse(text);
	free(text);
	assert_int_equal(count(conf), HOSTS);
	for (int i = 0; i < HOSTS; i++) {
		const struct gamma_conf_host *host;

		sprintf(name, "PC%d", i);
		host = gamma_conf_by_name(conf, name);
		assert_non_null(host);
		assert_int_equal(host->line, i + 1);
		assert_ptr_equal(gamma_conf_by_mac(conf, host->mac), host);
	}
	gamma_conf_free(conf);
}

/* ---- look-ups ---- */

static void conf_by_name__case_and_domain(void **state)
{
	struct gamma_conf *conf = parse("Node1 02:00:00:00:00:01\n"
					"node10 02:00:00:00:00:02\n"
					"x.here 02:00:00:00:00:03\n"
					"y.here 02:00:00:00:00:04\n"
					"y.there 02:00:00:00:00:05\n"
					"10.0.0.7 02:00:00:00:00:06\n"
					"10 02:00:00:00:00:07\n");

	(void) state;
	assert_host(gamma_conf_by_name(conf, "NODE1"), "node1", "02:00:00:00:00:01");
	assert_host(gamma_conf_by_name(conf, "node1.cluster.org"), "node1", "02:00:00:00:00:01");
	assert_host(gamma_conf_by_name(conf, "X"), "x.here", "02:00:00:00:00:03");
	assert_host(gamma_conf_by_name(conf, "y.there"), "y.there", "02:00:00:00:00:05");
	assert_host(gamma_conf_by_name(conf, "10.0.0.7"), "10.0.0.7", "02:00:00:00:00:06");
	/* Two domains have a y; no address is a short name. */
	assert_null(gamma_conf_by_name(conf, "y"));
	assert_null(gamma_conf_by_name(conf, "10.0.0.8"));
	assert_null(gamma_conf_by_name(conf, "node"));
	assert_null(gamma_conf_by_name(conf, "x.there"));
	assert_null(gamma_conf_by_name(conf, ""));
	assert_null(gamma_conf_by_name(conf, "."));
	gamma_conf_free(conf);
}

static void conf_by_name__absurd_length(void **state)
{
	struct gamma_conf *conf = parse("a 02:00:00:00:00:01");
	char name[1000];

	(void) state;
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_null(gamma_conf_by_name(conf, name));
	name[GAMMA_CONF_NAME_MAX] = 0;
	assert_null(gamma_conf_by_name(conf, name));
	gamma_conf_free(conf);
}

static void conf_lookups__null_is_empty(void **state)
{
	static const uint8_t mac[GAMMA_MAC_LEN] = {2};

	(void) state;
	assert_null(gamma_conf_by_name(NULL, "a"));
	assert_null(gamma_conf_by_mac(NULL, mac));
	assert_int_equal(count(NULL), 0);
	assert_string_equal(gamma_conf_file(NULL), GAMMA_CONF_PATH);
	gamma_conf_free(NULL);
}

/* ---- files ---- */

static char folder[64];

static int make_folder(void **state)
{
	(void) state;
	strcpy(folder, "/tmp/gamma-test-conf-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void) state;
	return rmdir(folder);
}

static const char *in_folder(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void conf_load__file_named_by_the_user(void **state)
{
	const char *path = in_folder("conf");
	FILE *file = fopen(path, "w");
	struct gamma_conf *conf;

	(void) state;
	assert_non_null(file);
	fputs("a 02:00:00:00:00:01\nb oops\n", file);
	fclose(file);
	assert_int_equal(gamma_conf_load(path, &conf, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "/conf:2: 'oops'"));
	assert_int_equal(truncate(path, 20), 0);
	assert_int_equal(gamma_conf_load(path, &conf, error, sizeof(error)), 0);
	assert_host(gamma_conf_by_name(conf, "a"), "a", "02:00:00:00:00:01");
	assert_string_equal(gamma_conf_file(conf), path);
	gamma_conf_free(conf);
	unlink(path);
}

static void conf_load__missing_file_named_by_the_user(void **state)
{
	struct gamma_conf *conf;

	(void) state;
	assert_int_equal(gamma_conf_load(in_folder("none"), &conf, error, sizeof(error)), -ENOENT);
	assert_non_null(strstr(error, "/none: cannot be opened"));
	assert_int_equal(gamma_conf_load("", &conf, error, sizeof(error)), -ENOENT);
	assert_null(conf);
}

static void conf_load__missing_default_is_empty(void **state)
{
	struct gamma_conf *conf;

	(void) state;
	if (!access(GAMMA_CONF_PATH, F_OK))
		skip();
	assert_int_equal(gamma_conf_load(NULL, &conf, error, sizeof(error)), 0);
	assert_int_equal(count(conf), 0);
	gamma_conf_free(conf);
	assert_int_equal(gamma_conf_load(GAMMA_CONF_PATH, &conf, error, sizeof(error)), 0);
	gamma_conf_free(conf);
}

static void conf_load__no_regular_file(void **state)
{
	struct gamma_conf *conf;
	const char *path;

	(void) state;
	assert_int_equal(gamma_conf_load(folder, &conf, error, sizeof(error)), -EISDIR);
	assert_non_null(strstr(error, "is a directory"));
	path = in_folder("fifo");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(gamma_conf_load(path, &conf, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "is not a regular file"));
	unlink(path);
}

static void conf_load__unreadable_file(void **state)
{
	const char *path = in_folder("secret");
	FILE *file = fopen(path, "w");
	struct gamma_conf *conf;
	int err;

	(void) state;
	assert_non_null(file);
	fclose(file);
	chmod(path, 0);
	err = gamma_conf_load(path, &conf, error, sizeof(error));
	gamma_conf_free(conf);
	unlink(path);
	if (!geteuid())
		skip(); /* root reads it all the same */
	assert_int_equal(err, -EACCES);
	assert_non_null(strstr(error, "cannot be opened"));
}

static void conf_load__huge_file(void **state)
{
	const char *path = in_folder("huge");
	FILE *file = fopen(path, "w");
	struct gamma_conf *conf;

	(void) state;
	assert_non_null(file);
	fclose(file);
	assert_int_equal(truncate(path, GAMMA_CONF_FILE_MAX + 1l), 0);
	assert_int_equal(gamma_conf_load(path, &conf, error, sizeof(error)), -EFBIG);
	assert_non_null(strstr(error, "is larger than"));
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mac_parse__both_joints_and_cases),
		cmocka_unit_test(mac_parse__anything_else_is_refused_and_leaves_mac),
		cmocka_unit_test(conf_parse__gammas_own_format),
		cmocka_unit_test(conf_parse__colons_comments_blanks_tabs_crlf_and_no_final_newline),
		cmocka_unit_test(conf_parse__empty_has_no_hosts),
		cmocka_unit_test(conf_parse__broken_lines_are_named),
		cmocka_unit_test(conf_parse__nul_bytes),
		cmocka_unit_test(conf_parse__long_names_and_lines),
		cmocka_unit_test(conf_parse__error_buffer_of_any_size),
		cmocka_unit_test(conf_parse__ten_thousand_hosts),
		cmocka_unit_test(conf_by_name__case_and_domain),
		cmocka_unit_test(conf_by_name__absurd_length),
		cmocka_unit_test(conf_lookups__null_is_empty),
		cmocka_unit_test(conf_load__file_named_by_the_user),
		cmocka_unit_test(conf_load__missing_file_named_by_the_user),
		cmocka_unit_test(conf_load__missing_default_is_empty),
		cmocka_unit_test(conf_load__no_regular_file),
		cmocka_unit_test(conf_load__unreadable_file),
		cmocka_unit_test(conf_load__huge_file),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
