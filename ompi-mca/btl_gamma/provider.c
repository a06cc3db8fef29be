// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The provider: sets its variables, and checks whether libfabric finds one that this component
 * can use. Called by nics.c and port.c before any other call of libfabric.
 */
#include "btl_gamma.h"

#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	INJECT = 4096 + 256, /* bytes */
	/* Ranges of the provider's variables (fi_gamma(7)). */
	EAGER_MAX = 1 << 20,      /* bytes */
	PEER_TIMEOUT_MAX = 86400, /* s */
	RING_SIZE_MIN = 64 << 10, /* bytes */
	RING_SIZE_MAX = 1 << 30,  /* bytes */
};

/* The oldest version that works. */
#define PROVIDER_MIN FI_VERSION(0, 2)

struct fi_info *btl_gamma_provider_hints(const char *nic)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("gamma");
	hints->domain_attr->name = nic ? strdup(nic) : NULL;
	return hints;
}

static void set_variable(const char *name, size_t value, bool overwrite)
{
	char text[24];

	snprintf(text, sizeof(text), "%zu", value);
	setenv(name, text, overwrite);
}

/* One endpoint then uses several NICs. */
static bool has_rails(void)
{
	const char *nics = getenv("FI_GAMMA_IFACE");

	return (nics && strchr(nics, ',')) || btl_gamma_one_endpoint_is_wanted();
}

/*
 * The provider need not do a rendezvous: Open MPI has done it before it sends the fragments of a
 * long message, and memory for them is posted. But with several NICs in an endpoint the provider
 * divides fragments among them best if they have their place at the receiver, which takes a
 * rendezvous; not so what Open MPI sends at once, which is short. The limit for copies has room for
 * the headers of Open MPI and of this component.
 */
static void set_variables(size_t max_message)
{
	const struct btl_gamma_component *component = &mca_btl_gamma_component;
	const size_t at_once =
		sizeof(struct btl_gamma_header) + component->template.btl_eager_limit;
	const size_t longest = has_rails() ? at_once : max_message;

	if (component->peer_timeout)
		set_variable("FI_GAMMA_PEER_TIMEOUT", component->peer_timeout, true);
	if (component->ring_size)
		set_variable("FI_GAMMA_RING_SIZE", component->ring_size, true);
	set_variable("FI_GAMMA_INJECT_SIZE", INJECT, false);
	set_variable("FI_GAMMA_EAGER_SIZE", longest < EAGER_MAX ? longest : EAGER_MAX, false);
}

/* The provider would report its variables, which the user has not set. */
static bool params_fit(void)
{
	const struct btl_gamma_component *component = &mca_btl_gamma_component;

	if (component->peer_timeout > PEER_TIMEOUT_MAX) {
		btl_gamma_report_unused(
			"btl_gamma_peer_timeout is %u.",
			"Set it to 1 to 86400 seconds, or to 0 for the provider's default.",
			component->peer_timeout);
		return false;
	}
	if (component->ring_size &&
	    (component->ring_size < RING_SIZE_MIN || component->ring_size > RING_SIZE_MAX)) {
		btl_gamma_report_unused(
			"btl_gamma_ring_size is %zu.",
			"Set it to 65536 to 1073741824 bytes, or to 0 for the provider's default.",
			component->ring_size);
		return false;
	}
	return true;
}

/* libfabric hides providers that FI_PROVIDER does not name, or excludes by a ^ at its beginning. */
static bool filter_hides_gamma(const char *filter)
{
	const char *found = filter ? strstr(filter, "gamma") : NULL;

	return filter && *filter && (*filter == '^') == (found != NULL);
}

static void report_no_provider(int error)
{
	const char *filter = getenv("FI_PROVIDER");

	if (filter_hides_gamma(filter)) {
		btl_gamma_report_unused(
			"FI_PROVIDER=%s in the environment hides libfabric's provider gamma.",
			"Unset it, or set FI_PROVIDER=gamma (mpirun -x FI_PROVIDER=gamma).",
			filter);
		return;
	}
	btl_gamma_report_unused(
		"libfabric %u.%u finds no usable NIC for its provider gamma (%s).",
		"If the provider itself reports nothing, it was not found: fi_info -p gamma must "
		"list it on this\nhost. Set FI_PROVIDER_PATH to the folder of libgamma-fi.so if "
		"that is not libfabric's own.\nRaw Ethernet needs gammad on the host, or the "
		"capability CAP_NET_RAW; FI_LOG_LEVEL=info shows\nwhy NICs are left out.",
		FI_MAJOR(fi_version()), FI_MINOR(fi_version()), fi_strerror(error));
}

static bool is_too_old(const struct fi_info *list)
{
	const uint32_t version = list->fabric_attr->prov_version;

	if (version >= PROVIDER_MIN)
		return false;
	btl_gamma_report_unused(
		"libfabric's provider gamma is version %u.%u here; this component needs "
		"%u.%u or later.",
		"Install provider and component from the same release on all hosts; "
		"fi_info -p gamma shows the\nversion, FI_PROVIDER_PATH the folder that "
		"libgamma-fi.so is loaded from.",
		FI_MAJOR(version), FI_MINOR(version), FI_MAJOR(PROVIDER_MIN),
		FI_MINOR(PROVIDER_MIN));
	return true;
}

/* The provider's NICs, which the caller frees; NULL: the reason was reported. */
struct fi_info *btl_gamma_provider_query(size_t max_message)
{
	struct fi_info *hints, *list = NULL;
	int rc = -FI_ENOMEM;

	if (!params_fit())
		return NULL;
	set_variables(max_message);
	hints = btl_gamma_provider_hints(NULL);
	if (hints) {
		rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &list);
		fi_freeinfo(hints);
	}
	if (rc) {
		report_no_provider(-rc);
		return NULL;
	}
	if (!is_too_old(list))
		return list;
	fi_freeinfo(list);
	return NULL;
}
