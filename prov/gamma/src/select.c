// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Whether a query is meant for gamma. An installed gamma must not change programs that did not ask
 * for it: it answers inventories and queries that name it. Called by info.c.
 */
#include "gamma.h"

#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

/* Variables of MPI libraries with a list of providers; what stands in their files does not get
 * here. With Open MPI 5 those of its mtl and btl are synonyms of opal_common's. */
static const char *const mpi_variables[] = {
	"OMPI_MCA_opal_common_ofi_provider_include",
	"OMPI_MCA_mtl_ofi_provider_include",
	"OMPI_MCA_btl_ofi_provider_include",
	"MPIR_CVAR_OFI_USE_PROVIDER",
	"I_MPI_OFI_PROVIDER",
};

/* Whether gamma is a word of a list; a list that begins with ^ excludes its words. */
static bool lists_gamma(const char *list)
{
	static const char separators[] = ",; \t";
	size_t len;

	if (!list || *list == '^')
		return false;
	for (; *list; list += len) {
		list += strspn(list, separators);
		len = strcspn(list, separators);
		if (len == strlen(GAMMA_PROV_NAME) && !strncasecmp(list, GAMMA_PROV_NAME, len))
			return true;
	}
	return false;
}

/* FI_PROVIDER; with libfabric 2.x also as its libfabric.conf has it. */
static bool named_to_libfabric(void)
{
	char *list = NULL;

	if (lists_gamma(getenv("FI_PROVIDER")))
		return true;
	return !fi_param_get_str(NULL, "provider", &list) && lists_gamma(list);
}

static bool named_to_mpi(void)
{
	for (size_t i = 0; i < gamma_array_size(mpi_variables); i++)
		if (lists_gamma(getenv(mpi_variables[i])))
			return true;
	return false;
}

bool gamma_select_is_named(const struct fi_info *hints)
{
	if (hints && hints->fabric_attr && lists_gamma(hints->fabric_attr->prov_name))
		return true;
	if (hints && hints->addr_format == GAMMA_ADDR_FORMAT)
		return true;
	return named_to_libfabric() || named_to_mpi();
}

/* An MPI library that gets every NIC spreads its ranks over them, so a variable of an MPI library
 * that names gamma gives only the best one. */
bool gamma_select_lists_all(const char *node, const char *service, const struct fi_info *hints)
{
	return !node && !service && !(hints && hints->caps) && !named_to_mpi();
}

bool gamma_select_answers(const char *node, const char *service, const struct fi_info *hints)
{
	bool inventory = !node && !service && (!hints || !hints->caps);

	return inventory || gamma_settings.automatic || gamma_select_is_named(hints);
}

void gamma_select_explain(bool named, const char *reason)
{
	static bool printed; /* once per process */

	if (!named) {
		GAMMA_INFO(CORE, "%s\n", reason);
		return;
	}
	GAMMA_WARN(CORE, "%s\n", reason);
	if (!__atomic_exchange_n(&printed, true, __ATOMIC_RELAXED))
		fprintf(stderr, "gamma: %s\n", reason);
}
