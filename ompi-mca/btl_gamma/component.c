// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The component that Open MPI loads: its entry points in their order (parameters, open, init,
 * close), and whether gamma is used at all.
 */
#include "btl_gamma.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char opal_version_string[];

/* Open MPI would load a component of another version without complaint, and memory would be
 * corrupted later. */
static bool library_fits(void)
{
	int major = 0, minor = 0;

	sscanf(opal_version_string, "%d.%d", &major, &minor);
	if (major == OPAL_MAJOR_VERSION && minor == OPAL_MINOR_VERSION)
		return true;
	opal_output(0,
		    "btl_gamma: built for Open MPI %d.%d and loaded by %s: not used. "
		    "Build it again with this Open MPI's mpicc (configure MPICC=...).",
		    OPAL_MAJOR_VERSION, OPAL_MINOR_VERSION, opal_version_string);
	return false;
}

static int component_open(void)
{
	struct btl_gamma_component *component = &mca_btl_gamma_component;

	component->modules = NULL;
	component->module_count = 0;
	component->counters_shown = false;
	return library_fits() ? OPAL_SUCCESS : OPAL_ERR_NOT_AVAILABLE;
}

static int component_close(void)
{
	free(mca_btl_gamma_component.modules);
	mca_btl_gamma_component.modules = NULL;
	mca_btl_gamma_component.module_count = 0;
	return OPAL_SUCCESS;
}

/* Whether the user's list of BTLs contains gamma; a list that begins with ^ excludes. */
bool btl_gamma_component_is_named(void)
{
	const char *word = opal_btl_base_framework.framework_selection;
	size_t len;

	if (!word || *word == '^')
		return false;
	for (; *word; word += len) {
		word += strspn(word, ", ");
		len = strcspn(word, ", ");
		if (len == strlen("gamma") && !strncmp(word, "gamma", len))
			return true;
	}
	return false;
}

static void open_nics(void)
{
	struct btl_gamma_nic *nics = NULL;
	const size_t max_message = btl_gamma_module_fit_sizes();
	size_t i, count = max_message ? btl_gamma_nics_find(&nics, max_message) : 0;

	/* two modules for each NIC */
	mca_btl_gamma_component.modules = calloc(2 * count + 1, sizeof(struct btl_gamma_module *));
	for (i = 0; mca_btl_gamma_component.modules && i < count; i++)
		btl_gamma_module_open(&nics[i], max_message);
	free(nics);
}

static void close_modules(void)
{
	struct btl_gamma_component *component = &mca_btl_gamma_component;

	while (component->module_count)
		btl_gamma_module_close(component->modules[--component->module_count]);
}

/* Open MPI frees the array, not the modules. */
static mca_btl_base_module_t **list_modules(int *count)
{
	struct btl_gamma_component *component = &mca_btl_gamma_component;
	mca_btl_base_module_t **list = calloc(component->module_count, sizeof(*list));
	size_t i;

	if (!list)
		return NULL;
	for (i = 0; i < component->module_count; i++)
		list[i] = &component->modules[i]->super;
	*count = (int) component->module_count;
	return list;
}

static mca_btl_base_module_t **component_init(int *count, bool progress_threads, bool mpi_threads)
{
	struct btl_gamma_component *component = &mca_btl_gamma_component;
	mca_btl_base_module_t **list = NULL;

	(void) progress_threads, (void) mpi_threads;
	*count = 0;
	if (!btl_gamma_component_is_named() && !component->by_default)
		return NULL;
	open_nics();
	if (component->module_count && btl_gamma_peers_publish() == OPAL_SUCCESS)
		list = list_modules(count);
	if (!list)
		close_modules();
	/* The upper layers have to lock too, whatever thread level the program asked for. */
	if (list && component->progress_thread)
		opal_set_using_threads(true);
	return list;
}

struct btl_gamma_component mca_btl_gamma_component = {
	.super =
		{
			.btl_version =
				{
					MCA_BTL_DEFAULT_VERSION("gamma"),
					.mca_open_component = component_open,
					.mca_close_component = component_close,
					.mca_register_component_params = btl_gamma_params_register,
				},
			.btl_data =
				{
					.param_field = MCA_BASE_METADATA_PARAM_CHECKPOINT,
				},
			.btl_init = component_init,
			.btl_progress = btl_gamma_progress,
		},
};
