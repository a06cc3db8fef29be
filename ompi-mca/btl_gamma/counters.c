// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The provider's counters as performance variables of MPI_T: btl_gamma_NAME, the sum of all NICs.
 * A tool reads them at any time; counting itself costs nothing more.
 */
#include "btl_gamma.h"

#include <rdma/fi_ext_gamma.h>
#include <stdlib.h>

#include "opal/mca/base/mca_base_pvar.h"

static uint64_t value_of(const struct btl_gamma_port *port, size_t index)
{
	uint64_t values[BTL_GAMMA_COUNTERS_MAX];

	return port->counters && !port->counters->read(port->ep, values, index + 1) ? values[index]
										    : 0;
}

/* An endpoint that finalize has closed counts no more. */
static int read_counter(const struct mca_base_pvar_t *pvar, void *value, void *object)
{
	const struct btl_gamma_component *component = &mca_btl_gamma_component;
	const size_t index = (size_t) pvar->ctx;
	unsigned long long sum = 0;
	size_t i;

	(void) object;
	for (i = 0; i < component->module_count; i++)
		if (component->modules[i]->first)
			sum += value_of(component->modules[i]->port, index);
	*(unsigned long long *) value = sum;
	return OPAL_SUCCESS;
}

static void register_counters(const struct btl_gamma_port *port)
{
	const char *name, *meaning;
	size_t i, count = port->counters->count(port->ep);

	for (i = 0; i < count && i < BTL_GAMMA_COUNTERS_MAX; i++)
		if (!port->counters->describe(port->ep, i, &name, &meaning))
			(void) mca_base_component_pvar_register(
				&mca_btl_gamma_component.super.btl_version, name, meaning,
				OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_COUNTER,
				MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
				MCA_BASE_VAR_BIND_NO_OBJECT,
				MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS,
				read_counter, NULL, NULL, (void *) i);
}

/* A provider of another release may have none. The first port's names are those of all. */
void btl_gamma_counters_open(struct btl_gamma_port *port)
{
	if (fi_gamma_open_counters(port->ep, &port->counters))
		port->counters = NULL;
	if (!port->counters || mca_btl_gamma_component.counters_shown)
		return;
	mca_btl_gamma_component.counters_shown = true;
	register_counters(port);
}
