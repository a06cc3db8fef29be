// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of prov/gamma/src/av.c. */
#include "prov_fake.h"
#include "../deprecated.h"
#include "base/ipv6_names.h"
#include "ipv6_double.h"

#include <arpa/inet.h>

static struct fid_av *open_av(struct fake *fake, enum fi_av_type type, uint64_t flags)
{
	struct fi_av_attr attr = {.type = type, .flags = flags};
	struct fid_av *av;

	assert_int_equal(fi_av_open(fake->domain, &attr, &av, NULL), 0);
	return av;
}

static fi_addr_t find(struct fid_av *av, uint8_t last, uint16_t port, uint32_t epoch)
{
	struct gamma_addr addr = fake_addr(last, port, epoch);

	return gamma_av_find(gamma_container_of(av, struct gamma_av, av_fid), &addr);
}

static fi_addr_t insert(struct fid_av *av, uint8_t last, uint16_t port, uint32_t epoch)
{
	struct gamma_addr addr = fake_addr(last, port, epoch);
	fi_addr_t index = 12345;
	int ret = fi_av_insert(av, &addr, 1, &index, 0, NULL);

	assert_int_equal(ret, index == FI_ADDR_NOTAVAIL ? 0 : 1);
	return index;
}

static void insert__gives_indices_in_order(void **state)
{
	static const enum fi_av_type types[] = {FI_AV_MAP, FI_AV_TABLE, FI_AV_UNSPEC};
	size_t t;
	int i;

	for (t = 0; t < gamma_array_size(types); t++) {
		struct fid_av *av = open_av(*state, types[t], 0);

		for (i = 0; i < 5; i++)
			assert_int_equal(insert(av, i + 1, 1000, 7), i);
		assert_int_equal(fi_close(&av->fid), 0);
	}
}

static bool same_peer(struct fid_av *av, fi_addr_t a, fi_addr_t b)
{
	return gamma_av_same_peer(gamma_container_of(av, struct gamma_av, av_fid), a, b);
}

static void insert__knows_a_peer_by_each_of_its_indices(void **state)
{
	struct fid_av *av = open_av(*state, FI_AV_MAP, 0);
	fi_addr_t other = insert(av, 2, 1000, 7), once = insert(av, 1, 1000, 7);
	fi_addr_t twice, restarted, any;

	assert_false(same_peer(av, other, once));
	twice = insert(av, 1, 1000, 7);
	assert_int_not_equal(twice, once);
	assert_true(same_peer(av, once, twice));
	assert_true(same_peer(av, twice, once));
	assert_false(same_peer(av, other, twice));
	restarted = insert(av, 1, 1000, 8);
	assert_false(same_peer(av, once, restarted));
	any = insert(av, 1, 1000, GAMMA_EPOCH_ANY);
	assert_true(same_peer(av, any, restarted));
	assert_false(same_peer(av, once, FI_ADDR_NOTAVAIL));
	assert_int_equal(fi_av_remove(av, &twice, 1, 0), 0);
	assert_false(same_peer(av, once, twice));
	assert_int_equal(fi_close(&av->fid), 0);
}

static void insert__refuses_what_is_no_address(void **state)
{
	struct fid_av *av = open_av(*state, FI_AV_TABLE, 0);
	struct gamma_addr addrs[6];
	fi_addr_t indices[6];
	int errors[6], i;

	for (i = 0; i < 6; i++)
		addrs[i] = fake_addr(1, 1000, 7);
	addrs[1].version = GAMMA_ADDR_VERSION + 1;
	addrs[2].mac[0] = 3; /* multicast */
	memset(addrs[3].mac, 0, GAMMA_MAC_LEN);
	addrs[4].port = 0;
	assert_int_equal(fi_av_insert(av, addrs, 6, indices, FI_SYNC_ERR, errors), 2);
	assert_int_equal(indices[0], 0);
	assert_int_equal(indices[5], 1);
	for (i = 1; i < 5; i++) {
		assert_int_equal(indices[i], FI_ADDR_NOTAVAIL);
		assert_int_equal(errors[i], FI_EINVAL);
	}
	assert_int_equal(errors[0] | errors[5], 0);
	assert_int_equal(fi_av_insert(av, addrs, 1, NULL, 0, NULL), 1);
	assert_int_equal(fi_av_insert(av, addrs, 1, NULL, FI_SYNC_ERR, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_insert(av, addrs, 1, NULL, FI_AV_USER_ID, NULL), -FI_EBADFLAGS);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void insert__lowest_free_index_after_remove(void **state)
{
	struct fid_av *av = open_av(*state, FI_AV_TABLE, 0);
	fi_addr_t gone[] = {3, 1};
	int i;

	for (i = 0; i < 5; i++)
		insert(av, i + 1, 1000, 7);
	assert_int_equal(fi_av_remove(av, gone, 2, 0), 0);
	assert_int_equal(find(av, 4, 1000, 7), FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_av_remove(av, gone, 1, 0), -FI_EINVAL);
	assert_int_equal(insert(av, 100, 1000, 7), 1);
	assert_int_equal(insert(av, 101, 1000, 7), 3);
	assert_int_equal(insert(av, 102, 1000, 7), 5);
	assert_int_equal(find(av, 101, 1000, 7), 3);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void insert__grows(void **state)
{
	struct fid_av *av = open_av(*state, FI_AV_TABLE, 0);
	int i;

	for (i = 0; i < 5000; i++)
		assert_int_equal(insert(av, 1 + i % 200, 1 + i / 200, i + 1), i);
	for (i = 0; i < 5000; i++)
		assert_int_equal(find(av, 1 + i % 200, 1 + i / 200, i + 1), i);
	assert_int_equal(find(av, 1, 1, 2), FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void find__exact_epoch_wins(void **state)
{
	struct fid_av *av = open_av(*state, FI_AV_TABLE, 0);

	insert(av, 1, 1000, GAMMA_EPOCH_ANY);
	assert_int_equal(find(av, 1, 1000, 7), 0);
	insert(av, 1, 1000, 7);
	assert_int_equal(find(av, 1, 1000, 7), 1);
	assert_int_equal(find(av, 1, 1000, 8), 0);
	assert_int_equal(find(av, 1, 1001, 7), FI_ADDR_NOTAVAIL);
	assert_int_equal(find(av, 2, 1000, 7), FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void find__lowest_of_duplicates(void **state)
{
	struct fid_av *av = open_av(*state, FI_AV_TABLE, 0);
	fi_addr_t first = 0;

	insert(av, 1, 1000, 7);
	insert(av, 1, 1000, 7);
	assert_int_equal(find(av, 1, 1000, 7), 0);
	assert_int_equal(fi_av_remove(av, &first, 1, 0), 0);
	assert_int_equal(find(av, 1, 1000, 7), 1);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void generation__goes_up(void **state)
{
	struct fid_av *av = open_av(*state, FI_AV_TABLE, 0);
	struct gamma_av *inside = gamma_container_of(av, struct gamma_av, av_fid);
	uint32_t before = inside->generation;
	fi_addr_t first = 0;

	insert(av, 1, 1000, 7);
	assert_int_not_equal(inside->generation, before);
	before = inside->generation;
	fi_av_remove(av, &first, 1, 0);
	assert_int_not_equal(inside->generation, before);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void lookup__truncates_and_says_the_length(void **state)
{
	struct fid_av *av = open_av(*state, FI_AV_TABLE, 0);
	struct gamma_addr addr = fake_addr(1, 1000, 7), out = {0};
	size_t len = 8;

	insert(av, 1, 1000, 7);
	assert_int_equal(fi_av_lookup(av, 0, &out, &len), 0);
	assert_int_equal(len, sizeof(addr));
	assert_memory_equal(&out, &addr, 8);
	assert_int_equal(out.version, 0);
	assert_int_equal(fi_av_lookup(av, 0, &out, &len), 0);
	assert_memory_equal(&out, &addr, sizeof(addr));
	assert_int_equal(fi_av_lookup(av, 1, &out, &len), -FI_EINVAL);
	assert_int_equal(fi_av_lookup(av, FI_ADDR_UNSPEC, &out, &len), -FI_EINVAL);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void straddr__truncates_and_says_the_length(void **state)
{
	struct fid_av *av = open_av(*state, FI_AV_TABLE, 0);
	struct gamma_addr addr = fake_addr(1, 9228, 0xbeef);
	size_t len = 0;
	char text[80];

	fi_av_straddr(av, &addr, NULL, &len);
	assert_int_equal(len, sizeof("fi_addr_gamma://02:00:00:00:00:01:9228/0000beef"));
	assert_string_equal(fi_av_straddr(av, &addr, text, &len),
			    "fi_addr_gamma://02:00:00:00:00:01:9228/0000beef");
	len = 10;
	assert_string_equal(fi_av_straddr(av, &addr, text, &len), "fi_addr_g");
	addr.epoch = GAMMA_EPOCH_ANY;
	len = sizeof(text);
	assert_string_equal(fi_av_straddr(av, &addr, text, &len),
			    "fi_addr_gamma://02:00:00:00:00:01:9228");
	assert_int_equal(fi_close(&av->fid), 0);
}

/* What fi_av_straddr has written may be inserted. */
static void insertsvc__takes_text(void **state)
{
	static const char *const wrong[] = {
		"fi_addr_gamma://",
		"fi_addr_gamma://02:00:00:00:00:01",
		"fi_addr_gamma://02:00:00:00:00:01:0",
		"fi_addr_gamma://02:00:00:00:00:01:65536",
		"fi_addr_gamma://02:00:00:00:00:01:7001/",
		"fi_addr_gamma://02:00:00:00:00:01:7001/beefx",
		"fi_addr_gamma://02:00:00:00:00:7001",
	};
	struct fid_av *av = open_av(*state, FI_AV_TABLE, 0);
	struct gamma_addr addr = fake_addr(1, 9228, 0xbeef), out;
	size_t len, i;
	char text[80];

	for (i = 0; i < 2; i++) {
		len = sizeof(text);
		fi_av_straddr(av, &addr, text, &len);
		assert_int_equal(fi_av_insertsvc(av, text, NULL, NULL, 0, NULL), 1);
		assert_int_equal(fi_av_insertsvc(av, text, "9228", NULL, 0, NULL), -FI_EINVAL);
		len = sizeof(out);
		assert_int_equal(fi_av_lookup(av, i, &out, &len), 0);
		assert_memory_equal(&out, &addr, sizeof(addr));
		addr.epoch = GAMMA_EPOCH_ANY;
	}
	for (i = 0; i < gamma_array_size(wrong); i++)
		assert_int_equal(fi_av_insertsvc(av, wrong[i], NULL, NULL, 0, NULL), -FI_EINVAL);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* A domain over IPv6: addresses come and go as text and as 24 bytes, and while they are in the
 * process knows the way. */
static struct fid_av *open_av_ipv6(struct fake *fake)
{
	struct gamma_domain *domain =
		gamma_container_of(fake->domain, struct gamma_domain, domain_fid);

	domain->nic.udp = domain->nic.ipv6 = true;
	return open_av(fake, FI_AV_TABLE, 0);
}

static void ipv6__there_and_back(void **state)
{
	static const char text[] = "fi_addr_gamma://[2001:db8::7]:9228/0000beef";
	struct fid_av *av = open_av_ipv6(*state);
	uint8_t ipv6[GAMMA_IPV6_LEN], mac[GAMMA_MAC_LEN];
	struct gamma_addr out, inner = fake_addr(0, 9228, 0xbeef);
	size_t len = sizeof(out), text_len = 80;
	char buf[80];

	assert_int_equal(fi_av_insertsvc(av, text, NULL, NULL, 0, NULL), 1);
	assert_int_equal(fi_av_lookup(av, 0, &out, &len), 0);
	assert_int_equal(out.version, GAMMA_ADDR_VERSION_UDP6);
	assert_string_equal(fi_av_straddr(av, &out, buf, &text_len), text);
	gamma_addr_ipv6(&out, ipv6);
	gamma_pseudo_mac_make_ipv6(ipv6, mac);
	memcpy(inner.mac, mac, sizeof(mac));
	assert_int_equal(gamma_av_find(gamma_container_of(av, struct gamma_av, av_fid), &inner), 0);
	assert_int_equal(fi_av_insert(av, &out, 1, NULL, 0, NULL), 1);
	assert_int_equal(fi_av_remove(av, &(fi_addr_t){0}, 1, 0), 0);
	assert_true(gamma_ipv6_names_find(mac, ipv6));
	assert_int_equal(fi_close(&av->fid), 0);
	assert_false(gamma_ipv6_names_find(mac, ipv6));
}

static void ipv6__refuses_what_is_no_host(void **state)
{
	static const char *const wrong[] = {
		"fi_addr_gamma://[2001:db8::7]",  "fi_addr_gamma://[2001:db8::7]:0",
		"fi_addr_gamma://[2001:db8:7]:1", "fi_addr_gamma://[2001:db8::7:1",
		"fi_addr_gamma://2001:db8::7:1",  "fi_addr_gamma://[]:1",
	};
	struct fid_av *av = open_av_ipv6(*state);
	struct gamma_addr addr;

	for (size_t i = 0; i < gamma_array_size(wrong); i++)
		assert_int_equal(fi_av_insertsvc(av, wrong[i], NULL, NULL, 0, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_insertsvc(av, "fi_addr_gamma://[ff02::1]:1", NULL, NULL, 0, NULL),
			 0);
	assert_int_equal(fi_av_insertsvc(av, "fi_addr_gamma://[::]:1", NULL, NULL, 0, NULL), 0);
	addr = fake_addr(1, 1000, 7); /* of another link */
	assert_int_equal(fi_av_insert(av, &addr, 1, NULL, 0, NULL), 0);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* Two addresses that look the same in frames. */
static void ipv6__refuses_the_second_of_doubles(void **state)
{
	uint8_t one[GAMMA_IPV6_LEN] = {0x20, 0x01, 0x0d, 0xb8, [15] = 1}, other[GAMMA_IPV6_LEN];
	struct gamma_addr addrs[2] = {fake_addr(0, 1, 2), fake_addr(0, 1, 2)};
	struct fid_av *av = open_av_ipv6(*state);
	int errors[2];

	ipv6_double(one, other);
	addrs[0].version = addrs[1].version = GAMMA_ADDR_VERSION_UDP6;
	gamma_addr_set_ipv6(&addrs[0], one);
	gamma_addr_set_ipv6(&addrs[1], other);
	assert_int_equal(fi_av_insert(av, addrs, 2, NULL, FI_SYNC_ERR, errors), 1);
	assert_int_equal(errors[1], FI_EADDRNOTAVAIL);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void insertsvc__resolves(void **state)
{
	struct fid_av *av = open_av(*state, FI_AV_TABLE, 0);
	fi_addr_t index;

	assert_int_equal(fi_av_insertsvc(av, "host7", "1000", &index, 0, NULL), 1);
	assert_int_equal(index, 0);
	assert_int_equal(find(av, 7, 1000, 99), 0);
	assert_int_equal(fi_av_insertsvc(av, "nobody", "1000", &index, 0, NULL), 0);
	assert_int_equal(index, FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void insertsym__counts_nodes_and_services(void **state)
{
	struct fid_av *av = open_av(*state, FI_AV_TABLE, 0);
	fi_addr_t indices[4];

	assert_int_equal(fi_av_insertsym(av, "host09", 2, "1000", 2, indices, 0, NULL), 4);
	assert_int_equal(find(av, 9, 1000, 1), 0);
	assert_int_equal(find(av, 9, 1001, 1), 1);
	assert_int_equal(find(av, 10, 1000, 1), 2);
	assert_int_equal(find(av, 10, 1001, 1), 3);
	/* A name without digits cannot be counted up: the first is as it stands. */
	assert_int_equal(fi_av_insertsym(av, "host", 2, "1000", 1, indices, 0, NULL), 1);
	assert_int_equal(indices[1], FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void async__reports_to_the_event_queue(void **state)
{
	struct fake *fake = *state;
	struct fid_av *av = open_av(fake, FI_AV_TABLE, FI_EVENT);
	struct gamma_addr addrs[] = {fake_addr(1, 1, 1), fake_addr(2, 0, 1), fake_addr(3, 1, 1)};
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};
	struct fi_eq_err_entry error = {0};
	struct fi_eq_entry entry;
	fi_addr_t indices[3];
	struct fid_eq *eq;
	uint32_t event;

	assert_int_equal(fi_av_insert(av, addrs, 3, indices, 0, addrs), -FI_ENOEQ);
	assert_int_equal(fi_eq_open(fake->fabric, &attr, &eq, NULL), 0);
	assert_int_equal(fi_av_bind(av, &eq->fid, 0), 0);
	assert_int_equal(fi_av_insert(av, addrs, 3, indices, 0, addrs), 0);
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), -FI_EAVAIL);
	assert_int_equal(fi_eq_readerr(eq, &error, 0), sizeof(error));
	assert_ptr_equal(error.fid, &av->fid);
	assert_ptr_equal(error.context, addrs);
	assert_int_equal(error.data, 1);
	assert_int_equal(error.err, FI_EINVAL);
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	assert_int_equal(event, FI_AV_COMPLETE);
	assert_int_equal(entry.data, 2);
	assert_ptr_equal(entry.context, addrs);
	assert_int_equal(fi_close(&eq->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&av->fid), 0);
	assert_int_equal(fi_close(&eq->fid), 0);
}

static void open__refuses_what_it_cannot_do(void **state)
{
	struct fake *fake = *state;
	struct fi_av_attr attr = {.name = "shared"};
	struct fid_av *av;

	assert_int_equal(fi_av_open(fake->domain, &attr, &av, NULL), -FI_ENOSYS);
	attr.name = NULL;
	attr.rx_ctx_bits = 17;
	assert_int_equal(fi_av_open(fake->domain, &attr, &av, NULL), -FI_EINVAL);
}

static void close__not_while_in_use(void **state)
{
	struct fake *fake = *state;
	struct fid_av *av = open_av(fake, FI_AV_TABLE, 0);

	assert_int_equal(fi_close(&fake->domain->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&fake->fabric->fid), -FI_EBUSY);
	gamma_refs_take(&gamma_container_of(av, struct gamma_av, av_fid)->refs);
	assert_int_equal(fi_close(&av->fid), -FI_EBUSY);
	gamma_refs_drop(&gamma_container_of(av, struct gamma_av, av_fid)->refs);
	assert_int_equal(fi_close(&av->fid), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(insert__gives_indices_in_order),
		TEST(insert__knows_a_peer_by_each_of_its_indices),
		TEST(insert__refuses_what_is_no_address),
		TEST(insert__lowest_free_index_after_remove),
		TEST(insert__grows),
		TEST(find__exact_epoch_wins),
		TEST(find__lowest_of_duplicates),
		TEST(generation__goes_up),
		TEST(lookup__truncates_and_says_the_length),
		TEST(straddr__truncates_and_says_the_length),
		TEST(insertsvc__takes_text),
		TEST(ipv6__there_and_back),
		TEST(ipv6__refuses_what_is_no_host),
		TEST(ipv6__refuses_the_second_of_doubles),
		TEST(insertsvc__resolves),
		TEST(insertsym__counts_nodes_and_services),
		TEST(async__reports_to_the_event_queue),
		TEST(open__refuses_what_it_cannot_do),
		TEST(close__not_while_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
