// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Unit tests of prov/gamma/src/attr.c, select.c, settings.c and nic_info.c: what is answered. */
#include "prov_fake.h"
#include "../deprecated.h"

#include <locale.h>
#include <stdlib.h>

struct fi_provider *fi_prov_ini(void);

static struct fi_info *hints;

static int setup(void **state)
{
	static const char *const variables[] = {
		"FI_PROVIDER", "I_MPI_OFI_PROVIDER", "MPIR_CVAR_OFI_USE_PROVIDER",
		"OMPI_MCA_mtl_ofi_provider_include", "OMPI_MCA_btl_ofi_provider_include"};
	char error[256];
	size_t i;

	(void) state;
	for (i = 0; i < gamma_array_size(variables); i++)
		unsetenv(variables[i]);
	hints = fi_allocinfo();
	if (!hints)
		return 1;
	/* As long as any version has it. */
	free(hints->domain_attr);
	hints->domain_attr = calloc(2, sizeof(*hints->domain_attr));
	return !hints->domain_attr || gamma_settings_load(error, sizeof(error));
}

static int teardown(void **state)
{
	(void) state;
	hints->domain_attr->name = NULL;
	hints->fabric_attr->prov_name = NULL;
	fi_freeinfo(hints);
	return 0;
}

static struct fi_info *fill(uint32_t version, enum fi_ep_type type)
{
	struct fi_info *info = fi_allocinfo();

	assert_non_null(info);
	assert_null(gamma_attr_check_hints(version, type, 1500, hints));
	gamma_attr_fill_info(info, version, type, 1500, hints);
	return info;
}

static void refuse(uint32_t version, enum fi_ep_type type, const char *field)
{
	assert_string_equal(gamma_attr_check_hints(version, type, 1500, hints), field);
}

#define V117 FI_VERSION(1, 17)

/* ---- capabilities ---- */

#define RMA_DIRECTIONS (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

static void caps__asked_implied_and_free(void **state)
{
	static const struct {
		uint64_t asked, given;
	} rows[] = {
		{FI_MSG, FI_MSG | FI_SEND | FI_RECV},
		{FI_MSG | FI_SEND, FI_MSG | FI_SEND},
		{FI_TAGGED | FI_DIRECTED_RECV, FI_TAGGED | FI_DIRECTED_RECV | FI_SEND | FI_RECV},
		{FI_RMA, FI_RMA | RMA_DIRECTIONS | FI_RMA_EVENT},
		{FI_ATOMIC, FI_ATOMIC | RMA_DIRECTIONS | FI_RMA_EVENT},
		{FI_RMA | FI_WRITE, FI_RMA | FI_WRITE | FI_RMA_EVENT},
		{FI_MSG | FI_SOURCE_ERR, FI_MSG | FI_SEND | FI_RECV | FI_SOURCE_ERR},
		{0, FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SEND | FI_RECV | FI_RMA | FI_ATOMIC |
			    RMA_DIRECTIONS | FI_RMA_EVENT},
	};
	const uint64_t always =
		FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SOURCE | FI_FENCE | FI_MULTI_RECV | FI_TRIGGER;
	size_t i;

	(void) state;
	for (i = 0; i < gamma_array_size(rows); i++) {
		struct fi_info *info;

		hints->caps = rows[i].asked;
		info = fill(V117, FI_EP_RDM);
		assert_int_equal(info->caps, rows[i].given | always);
		assert_int_equal(info->tx_attr->caps,
				 FI_FENCE | FI_TRIGGER |
					 (rows[i].given & (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC |
							   FI_SEND | FI_READ | FI_WRITE)));
		assert_int_equal(info->rx_attr->caps & (FI_SEND | FI_LOCAL_COMM), 0);
		fi_freeinfo(info);
	}
}

static void caps__unknown_bits_are_refused(void **state)
{
	unsigned int bit;

	(void) state;
	for (bit = 0; bit < 64; bit++) {
		const uint64_t known = FI_MSG | FI_SEND | FI_RECV | FI_SOURCE | FI_LOCAL_COMM |
				       FI_REMOTE_COMM | FI_MULTI_RECV | FI_TRIGGER | FI_MULTICAST;

		hints->caps = 1ull << bit;
		if (hints->caps & known)
			assert_null(gamma_attr_check_hints(V117, FI_EP_DGRAM, 1500, hints));
		else
			refuse(V117, FI_EP_DGRAM, "caps");
	}
}

/* ---- attributes ---- */

static void attributes__echoed(void **state)
{
	struct fi_info *info;

	(void) state;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->control_progress = 3;
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	hints->domain_attr->av_type = FI_AV_MAP;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE | FI_COMPLETION;
	info = fill(V117, FI_EP_RDM);
	assert_int_equal(info->domain_attr->threading, FI_THREAD_DOMAIN);
	assert_int_equal(info->domain_attr->control_progress, 3);
	assert_int_equal(info->domain_attr->data_progress, FI_PROGRESS_AUTO);
	assert_int_equal(info->domain_attr->av_type, FI_AV_MAP);
	assert_int_equal(info->domain_attr->mr_mode, 0);
	assert_int_equal(info->tx_attr->op_flags, FI_DELIVERY_COMPLETE | FI_COMPLETION);
	assert_int_equal(info->mode | info->tx_attr->mode | info->rx_attr->mode, 0);
	assert_int_equal(gamma_attr_check_info(V117, info, 1500), 0);
	fi_freeinfo(info);
}

/* What is no limit, is as much as is asked for. */
static void attributes__no_less_than_asked(void **state)
{
	struct fi_info *info;

	(void) state;
	hints->domain_attr->cq_cnt = 1000;
	hints->domain_attr->ep_cnt = 1001;
	hints->domain_attr->tx_ctx_cnt = 1002;
	hints->domain_attr->rx_ctx_cnt = 1003;
	hints->domain_attr->max_ep_stx_ctx = 1004;
	hints->domain_attr->max_ep_srx_ctx = 1005;
	hints->domain_attr->mr_cnt = 1 << 20;
	hints->domain_attr->max_ep_tx_ctx = 2;
	hints->tx_attr->rma_iov_limit = 3;
	hints->caps = FI_MSG;
	info = fill(V117, FI_EP_RDM);
	assert_true(info->domain_attr->cq_cnt >= 1000);
	assert_true(info->domain_attr->ep_cnt >= 1001);
	assert_true(info->domain_attr->tx_ctx_cnt >= 1002);
	assert_true(info->domain_attr->rx_ctx_cnt >= 1003);
	assert_true(info->domain_attr->max_ep_stx_ctx >= 1004);
	assert_true(info->domain_attr->max_ep_srx_ctx >= 1005);
	assert_true(info->domain_attr->mr_cnt >= 1 << 20);
	assert_true(info->domain_attr->max_ep_tx_ctx >= 2);
	assert_true(info->tx_attr->rma_iov_limit >= 3);
	assert_int_equal(gamma_attr_check_info(V117, info, 1500), 0);
	fi_freeinfo(info);
}

/* A half of an endpoint can do no more than the whole. */
static void caps__of_a_half(void **state)
{
	struct fi_info *info;

	(void) state;
	hints->caps = FI_MSG;
	hints->tx_attr->caps = FI_MSG | FI_RMA;
	hints->rx_attr->caps = FI_TAGGED;
	info = fill(V117, FI_EP_RDM);
	assert_int_equal(info->tx_attr->caps & ~info->caps, 0);
	assert_int_equal(info->rx_attr->caps & ~info->caps, 0);
	assert_true(info->tx_attr->caps & FI_MSG);
	fi_freeinfo(info);
}

/* A field at that place behind the one named tclass, which the headers here need not have: it
 * counts from a version on. */
static void refuse_newer(size_t place, uint32_t since, const char *field)
{
	struct {
		struct fi_domain_attr attr;
		uint32_t more[16];
	} newer = {.attr = {0}};
	struct fi_domain_attr *own = hints->domain_attr;

	place += offsetof(struct fi_domain_attr, tclass);
	memcpy((char *) &newer + place, &(uint32_t){7}, sizeof(uint32_t));
	hints->domain_attr = &newer.attr;
	assert_null(gamma_attr_check_hints(V117, FI_EP_RDM, 1500, hints));
	assert_null(gamma_attr_check_hints(since - 1, FI_EP_RDM, 1500, hints));
	refuse(since, FI_EP_RDM, field);
	hints->domain_attr = own;
}

static void newest__attributes_are_refused(void **state)
{
	(void) state;
	refuse_newer(8, FI_VERSION(1, 20), "domain_attr->max_ep_auth_key");
	refuse_newer(16, FI_VERSION(2, 0), "domain_attr->max_group_id");
}

static void attributes__defaults(void **state)
{
	struct fi_info *info = fill(V117, FI_EP_RDM);

	(void) state;
	assert_int_equal(info->domain_attr->threading, FI_THREAD_SAFE);
	assert_int_equal(info->domain_attr->data_progress, FI_PROGRESS_MANUAL);
	assert_int_equal(info->domain_attr->resource_mgmt, FI_RM_ENABLED);
	assert_int_equal(info->tx_attr->op_flags, FI_INJECT_COMPLETE);
	assert_int_equal(info->tx_attr->msg_order & FI_ORDER_STRICT, FI_ORDER_STRICT);
	assert_int_equal(info->ep_attr->max_order_raw_size, SIZE_MAX);
	assert_int_equal(info->ep_attr->max_order_war_size, GAMMA_ATOMIC_BYTES);
	assert_true(info->ep_attr->max_msg_size >= 1ull << 40);
	fi_freeinfo(info);
}

static void attributes__dgram_fits_a_frame(void **state)
{
	struct fi_info *info = fill(V117, FI_EP_DGRAM);
	size_t most;

	(void) state;
	assert_in_range(info->ep_attr->max_msg_size, 1400, 1500);
	assert_in_range(info->tx_attr->inject_size, 1400, info->ep_attr->max_msg_size);
	assert_int_equal(info->tx_attr->msg_order, 0);
	assert_int_equal(info->ep_attr->mem_tag_format, 0);
	most = info->ep_attr->max_msg_size;
	fi_freeinfo(info);
	gamma_settings.payload_crc = true;
	info = fill(V117, FI_EP_DGRAM);
	gamma_settings.payload_crc = false;
	assert_int_equal(info->ep_attr->max_msg_size, most - 4);
	fi_freeinfo(info);
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	refuse(V117, FI_EP_DGRAM, "tx_attr->op_flags");
}

static void attributes__too_much_is_refused(void **state)
{
	(void) state;
#define REFUSE(field, value)                     \
	do {                                     \
		hints->field = (value);          \
		refuse(V117, FI_EP_RDM, #field); \
		hints->field = 0;                \
	} while (0)
	REFUSE(ep_attr->type, FI_EP_MSG);
	REFUSE(ep_attr->protocol, FI_PROTO_UDP);
	REFUSE(ep_attr->max_msg_size, (1ull << 40) + 1);
	REFUSE(ep_attr->tx_ctx_cnt, GAMMA_CONTEXT_MAX + 1);
	REFUSE(ep_attr->auth_key_size, 8);
	REFUSE(domain_attr->threading, 77);
	REFUSE(domain_attr->data_progress, 4);
	REFUSE(domain_attr->resource_mgmt, FI_RM_ENABLED + 1);
	REFUSE(domain_attr->mr_key_size, 9);
	REFUSE(domain_attr->cq_data_size, 9);
	REFUSE(domain_attr->max_ep_tx_ctx, GAMMA_CONTEXT_MAX + 1);
	REFUSE(domain_attr->max_ep_rx_ctx, GAMMA_CONTEXT_MAX + 1);
	REFUSE(domain_attr->caps, FI_SHARED_AV);
	REFUSE(domain_attr->mr_mode, FI_MR_BASIC | FI_MR_LOCAL);
	REFUSE(tx_attr->inject_size, 4097);
	REFUSE(tx_attr->size, GAMMA_TX_SIZE + 1);
	REFUSE(tx_attr->msg_order, FI_ORDER_DATA);
	REFUSE(tx_attr->comp_order, FI_ORDER_STRICT);
	REFUSE(rx_attr->caps, FI_HMEM);
	REFUSE(rx_attr->size, GAMMA_RX_SIZE + 1);
	REFUSE(addr_format, FI_SOCKADDR_IN);
#undef REFUSE
	assert_null(gamma_attr_check_hints(V117, FI_EP_RDM, 1500, hints));
}

static void mr_mode__old_words(void **state)
{
	struct fi_info *info = fill(FI_VERSION(1, 0), FI_EP_RDM);

	(void) state;
	assert_int_equal(info->domain_attr->mr_mode, FI_MR_SCALABLE);
	fi_freeinfo(info);
	hints->domain_attr->mr_mode = FI_MR_BASIC;
	info = fill(V117, FI_EP_RDM);
	assert_int_equal(info->domain_attr->mr_mode, FI_MR_BASIC);
	fi_freeinfo(info);
	hints->domain_attr->mr_mode = FI_MR_LOCAL;
	refuse(FI_VERSION(1, 4), FI_EP_RDM, "domain_attr->mr_mode");
}

/* Older applications' structures end before these fields. */
static void old_application__new_fields_are_not_looked_at(void **state)
{
	(void) state;
	hints->domain_attr->cntr_cnt = 1 << 20;
	hints->domain_attr->max_err_data = 1 << 20;
	assert_null(gamma_attr_check_hints(FI_VERSION(1, 4), FI_EP_RDM, 1500, hints));
	refuse(V117, FI_EP_RDM, "domain_attr->cntr_cnt");
}

static void tag_format__numbers_since_2(void **state)
{
	static const struct {
		uint32_t version;
		uint64_t asked, given;
	} rows[] = {
		{FI_VERSION(2, 0), 1, 1},
		{FI_VERSION(2, 0), 2, 2},
		{FI_VERSION(2, 0), 0xffff, UINT64_MAX},
		{FI_VERSION(1, 17), 1, UINT64_MAX},
		/* as many fields as asked for, each at least as long */
		{FI_VERSION(1, 17), 0x30ff, 0xfffffffffffff0ff},
		{FI_VERSION(1, 17), 0x8000000000000000, 0x8000000000000000},
		{FI_VERSION(1, 17), 0xaaaaaaaaaaaaaaaa, 0xaaaaaaaaaaaaaaaa},
		/* any mask will do */
		{FI_VERSION(1, 17), 0, 0xaaaaaaaaaaaaaaaa},
		{FI_VERSION(2, 0), 0, 0xaaaaaaaaaaaaaaaa},
	};
	size_t i;

	(void) state;
	for (i = 0; i < gamma_array_size(rows); i++) {
		struct fi_info *info;

		hints->ep_attr->mem_tag_format = rows[i].asked;
		info = fill(rows[i].version, FI_EP_RDM);
		assert_int_equal(info->ep_attr->mem_tag_format, rows[i].given);
		fi_freeinfo(info);
	}
}

/* ---- selection ---- */

static void selection__inventories_are_answered(void **state)
{
	(void) state;
	assert_true(gamma_select_answers(NULL, NULL, NULL));
	assert_true(gamma_select_answers(NULL, NULL, hints));
	assert_false(gamma_select_answers("pc001", NULL, NULL));
	hints->caps = FI_MSG;
	assert_false(gamma_select_answers(NULL, NULL, hints));
	gamma_settings.automatic = true;
	assert_true(gamma_select_answers(NULL, NULL, hints));
	gamma_settings.automatic = false;
	hints->addr_format = GAMMA_ADDR_FORMAT;
	assert_true(gamma_select_answers(NULL, NULL, hints));
}

static void selection__names(void **state)
{
	static const struct {
		const char *list;
		bool named;
	} rows[] = {
		{"gamma", true},         {"tcp,gamma", true}, {"GAMMA", true},
		{"gamma;ofi_rxd", true}, {"^gamma", false},   {"^tcp,gamma", false},
		{"gammaray", false},     {"", false},         {"tcp, gamma", true},
	};
	size_t i;

	(void) state;
	for (i = 0; i < gamma_array_size(rows); i++) {
		setenv("FI_PROVIDER", rows[i].list, 1);
		assert_int_equal(gamma_select_is_named(NULL), rows[i].named);
		unsetenv("FI_PROVIDER");
		setenv("OMPI_MCA_mtl_ofi_provider_include", rows[i].list, 1);
		assert_int_equal(gamma_select_is_named(NULL), rows[i].named);
		unsetenv("OMPI_MCA_mtl_ofi_provider_include");
		hints->fabric_attr->prov_name = (char *) rows[i].list;
		assert_int_equal(gamma_select_is_named(hints), rows[i].named);
	}
}

/* ---- settings ---- */

static void settings__good_and_bad(void **state)
{
	static const struct {
		const char *name, *value;
		bool good;
	} rows[] = {
		{"FI_GAMMA_BUDGET", "0", true},
		{"FI_GAMMA_BUDGET", "256K", true},
		{"FI_GAMMA_BUDGET", "2G", false},
		{"FI_GAMMA_BUDGET", "-1", false},
		{"FI_GAMMA_RING_SIZE", "65536", true},
		{"FI_GAMMA_RING_SIZE", "2M", true},
		{"FI_GAMMA_RING_SIZE", "0x100000", true},
		{"FI_GAMMA_RING_SIZE", "abc", false},
		{"FI_GAMMA_RING_SIZE", "", false},
		{"FI_GAMMA_RING_SIZE", "65535", false},
		{"FI_GAMMA_RING_SIZE", "2MB", false},
		{"FI_GAMMA_RING_SIZE", "99999999999999999999", false},
		{"FI_GAMMA_RING_SIZE", "65536.5", false},
		{"FI_GAMMA_RING_SIZE", "1.5M", true},
		{"FI_GAMMA_RING_SIZE", "1e6", false},
		{"FI_GAMMA_RING_SIZE", "65536 ", false},
		{"FI_GAMMA_ETHERTYPE", "0x88b6", true},
		{"FI_GAMMA_ETHERTYPE", "0x5ff", false},
		{"FI_GAMMA_ETHERTYPE", "0x10000", false},
		{"FI_GAMMA_PEER_TIMEOUT", "0.5", true},
		{"FI_GAMMA_PEER_TIMEOUT", "0.001", true},
		{"FI_GAMMA_PEER_TIMEOUT", "0", false},
		{"FI_GAMMA_PEER_TIMEOUT", "nan", false},
		{"FI_GAMMA_LINGER", "0", true},
		{"FI_GAMMA_LINGER", "-1", false},
		{"FI_GAMMA_AUTO", "yes", true},
		{"FI_GAMMA_AUTO", "maybe", false},
		{"FI_GAMMA_PAYLOAD_CRC", "1", true},
		{"FI_GAMMA_PAYLOAD_CRC", "2", false},
		{"FI_GAMMA_RINGSIZE", "65536", false},
		{"FI_GAMMA_ring_size", "65536", false},
		{"FI_GAMMA_", "", false},
	};
	char error[256];
	size_t i;

	(void) state;
	for (i = 0; i < gamma_array_size(rows); i++) {
		setenv(rows[i].name, rows[i].value, 1);
		error[0] = '\0';
		if ((gamma_settings_load(error, sizeof(error)) == 0) != rows[i].good)
			fail_msg("%s=%s: %s", rows[i].name, rows[i].value, error);
		if (!rows[i].good)
			assert_non_null(strstr(error, rows[i].name));
		unsetenv(rows[i].name);
	}
}

/* For each value the line has the cause and the cure. */
static void settings__long_and_unprintable_values(void **state)
{
	char error[256], value[1000];

	(void) state;
	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	setenv("FI_GAMMA_RING_SIZE", value, 1);
	assert_int_equal(gamma_settings_load(error, sizeof(error)), -FI_EINVAL);
	assert_non_null(strstr(error, "must be 65536 to 1073741824 bytes; correct it or unset it"));
	setenv("FI_GAMMA_RING_SIZE", "1\n2", 1);
	assert_int_equal(gamma_settings_load(error, sizeof(error)), -FI_EINVAL);
	assert_null(strchr(error, '\n'));
	unsetenv("FI_GAMMA_RING_SIZE");
}

/* A program's language does not change what 0.5 is. */
static void settings__decimal_point_in_any_locale(void **state)
{
	char error[256] = "";
	int ret;

	(void) state;
	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
		skip();
	setenv("FI_GAMMA_PEER_TIMEOUT", "0.5", 1);
	ret = gamma_settings_load(error, sizeof(error));
	unsetenv("FI_GAMMA_PEER_TIMEOUT");
	setlocale(LC_NUMERIC, "C");
	assert_string_equal(error, "");
	assert_int_equal(ret, 0);
	assert_int_equal(gamma_settings.peer_timeout, GAMMA_NS_PER_S / 2);
}

extern char **environ;

static void settings__without_an_environment(void **state)
{
	char **kept = environ, error[256];

	(void) state;
	environ = NULL; /* as clearenv may leave it */
	assert_int_equal(gamma_settings_load(error, sizeof(error)), 0);
	environ = kept;
}

static void settings__values(void **state)
{
	char error[256];

	(void) state;
	setenv("FI_GAMMA_PEER_TIMEOUT", "0.5", 1);
	setenv("FI_GAMMA_RING_SIZE", "2m", 1);
	assert_int_equal(gamma_settings_load(error, sizeof(error)), 0);
	assert_int_equal(gamma_settings.peer_timeout, 500 * GAMMA_NS_PER_MS);
	assert_int_equal(gamma_settings.ring_size, 2 << 20);
	assert_int_equal(gamma_settings.ethertype, 0x88B5);
	assert_int_equal(gamma_settings.linger, GAMMA_NS_PER_S);
	assert_string_equal(gamma_settings.fabric_name, "gamma");
	assert_null(gamma_settings.iface);
	unsetenv("FI_GAMMA_PEER_TIMEOUT");
	unsetenv("FI_GAMMA_RING_SIZE");
}

/* ---- the NIC ---- */

static void nic__complete_and_copied(void **state)
{
	struct gamma_nic nic = {.name = "eth0",
				.driver = "igb",
				.pci = "0000:3b:00.1",
				.mac = {2, 0, 0, 0, 0, 1},
				.mtu = 9000,
				.speed = 1000000000,
				.up = true,
				.carrier = true};
	struct fi_info *info = fi_allocinfo(), *copy;

	(void) state;
	info->nic = gamma_nic_info_new(&nic);
	copy = fi_dupinfo(info);
	fi_freeinfo(info);
	assert_string_equal(copy->nic->device_attr->name, "eth0");
	assert_string_equal(copy->nic->device_attr->driver, "igb");
	assert_int_equal(copy->nic->bus_attr->bus_type, FI_BUS_PCI);
	assert_int_equal(copy->nic->bus_attr->attr.pci.bus_id, 0x3b);
	assert_int_equal(copy->nic->bus_attr->attr.pci.function_id, 1);
	assert_string_equal(copy->nic->link_attr->address, "02:00:00:00:00:01");
	assert_int_equal(copy->nic->link_attr->state, FI_LINK_UP);
	assert_string_equal(copy->nic->link_attr->network_type, "Ethernet");
	assert_non_null(strstr(fi_tostr(copy, FI_TYPE_INFO), "caps"));
	assert_non_null(strstr(fi_tostr(copy, FI_TYPE_INFO), "name: eth0"));
	fi_freeinfo(copy);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(caps__asked_implied_and_free),
		TEST(caps__unknown_bits_are_refused),
		TEST(attributes__echoed),
		TEST(attributes__no_less_than_asked),
		TEST(caps__of_a_half),
		TEST(newest__attributes_are_refused),
		TEST(attributes__defaults),
		TEST(attributes__dgram_fits_a_frame),
		TEST(attributes__too_much_is_refused),
		TEST(mr_mode__old_words),
		TEST(old_application__new_fields_are_not_looked_at),
		TEST(tag_format__numbers_since_2),
		TEST(selection__inventories_are_answered),
		TEST(selection__names),
		TEST(settings__good_and_bad),
		TEST(settings__long_and_unprintable_values),
		TEST(settings__decimal_point_in_any_locale),
		TEST(settings__without_an_environment),
		TEST(settings__values),
		TEST(nic__complete_and_copied),
	};
	int ret;

	/* libfabric first: it keeps the list that the variables are defined in. */
	fi_freeinfo(fi_allocinfo());
	fi_prov_ini();
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	gamma_prov.cleanup();
	return ret;
}
