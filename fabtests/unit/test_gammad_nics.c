// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gammad/nics.c: NICs that change or go while gammad runs. */
#include "gammad_fake.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct gamma_nic link_as_served(const struct gammad *gammad)
{
	const struct gammad_nic *nic = &gammad->nics[0];
	struct gamma_nic link = {.ifindex = nic->ifindex, .mtu = 1500, .up = true, .carrier = true};

	strcpy(link.name, nic->name);
	memcpy(link.mac, nic->mac, GAMMA_MAC_LEN);
	return link;
}

static void follow__takes_the_new_mtu(void **state)
{
	struct gammad *gammad = *state;
	struct gamma_nic link = link_as_served(gammad);

	link.mtu = 1000;
	gammad_nics_follow(gammad, &link, 1);
	assert_int_equal(gammad->nics[0].mtu, 1000);
	/* The slots, and the interface for groups. */
	assert_int_equal(gammad_fake.rtnetlink_requests, GAMMAD_FAKE_SLOTS + 1);
	link.mtu = 9000;
	gammad_nics_follow(gammad, &link, 1);
	assert_int_equal(gammad->nics[0].mtu, 9000);
	assert_non_null(strstr(gammad_fake.log, "MTU 9000 bytes instead of 1000"));
}

static void follow__logs_a_change_of_state_once(void **state)
{
	struct gammad *gammad = *state;
	struct gamma_nic link = link_as_served(gammad);

	gammad_nics_follow(gammad, &link, 1);
	link.carrier = false;
	*gammad_fake.log = 0;
	gammad_nics_follow(gammad, &link, 1);
	assert_string_equal(gammad_fake.log, "fake0 has no carrier: check cable and switch port\n");
	gammad_nics_follow(gammad, &link, 1);
	link.up = false;
	*gammad_fake.log = 0;
	gammad_nics_follow(gammad, &link, 1);
	assert_string_equal(gammad_fake.log, "fake0 is down: set it up with `ip link set up`\n");
}

static void follow__takes_the_new_mac(void **state)
{
	struct gammad *gammad = *state;
	struct gamma_nic link = link_as_served(gammad);

	link.mac[5] ^= 1;
	gammad_nics_follow(gammad, &link, 1);
	assert_null(gammad_slots_find_nic(gammad, gammad_fake_nic));
	assert_ptr_equal(gammad_slots_find_nic(gammad, link.mac), &gammad->nics[0]);
}

/* The fixture's slots are no memory of their own. */
static void give_slots(struct gammad *gammad)
{
	struct gammad_nic *nic = &gammad->nics[0];

	nic->slots = calloc(nic->slot_count, sizeof(*nic->slots));
	assert_non_null(nic->slots);
	memcpy(nic->slots, gammad_fake.slots, nic->slot_count * sizeof(*nic->slots));
}

static void follow__of_a_removed_nic_ends_its_endpoints(void **state)
{
	struct gammad *gammad = *state;
	struct gammad_client *client = gammad_fake_client(GAMMAD_FAKE_USER);
	const struct gamma_broker_open ask = gammad_fake_request(0);
	struct gammad_open *open;
	struct tpacket_req ring;

	give_slots(gammad);
	open = gammad_fake_open(GAMMAD_FAKE_USER, 5);
	assert_non_null(open);
	gammad_nics_follow(gammad, NULL, 0);
	assert_null(open->nic);
	assert_null(open->slot);
	assert_null(gammad_slots_find_nic(gammad, gammad_fake_nic));
	assert_int_equal(gammad_open_begin(gammad, client, &ask, &ring), GAMMA_BROKER_NO_NIC);
	assert_non_null(strstr(gammad_fake.log, "fake0 was removed"));
	/* Once. */
	*gammad_fake.log = 0;
	gammad_nics_follow(gammad, NULL, 0);
	assert_string_equal(gammad_fake.log, "");
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, gammad_fake_setup, gammad_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(follow__takes_the_new_mtu),
		TEST(follow__logs_a_change_of_state_once),
		TEST(follow__takes_the_new_mac),
		TEST(follow__of_a_removed_nic_ends_its_endpoints),
	};

	return cmocka_run_group_tests_name("gammad_nics", tests, NULL, NULL);
}
