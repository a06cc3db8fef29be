// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The component that Open MPI loads: its entry points in their order (parameters, open, a module
 * for each communicator, close), and the door to btl/gamma.
 */
#include "coll_gamma.h"

#include <dlfcn.h>
#include <stdio.h>

extern const char opal_version_string[];

/* Open MPI would load a component of another version without complaint, and memory would be
 * corrupted later. btl/gamma reports the same. */
static bool library_fits(void)
{
	int major = 0, minor = 0;

	sscanf(opal_version_string, "%d.%d", &major, &minor);
	return major == OPAL_MAJOR_VERSION && minor == OPAL_MINOR_VERSION;
}

/* NULL: btl/gamma is not there, or of another release. */
static const struct btl_gamma_collective *find_btl(void)
{
	const struct btl_gamma_collective *btl = dlsym(RTLD_DEFAULT, BTL_GAMMA_COLLECTIVE_SYMBOL);

	if (!btl)
		return NULL;
	if (btl->magic == BTL_GAMMA_COLLECTIVE_MAGIC && btl->size == sizeof(*btl) &&
	    btl->op_size == sizeof(struct btl_gamma_op))
		return btl;
	opal_output(0, "coll_gamma: the component btl_gamma is of another release: not used. "
		       "Install both from the same release.");
	return NULL;
}

static bool is_wanted(const struct btl_gamma_collective *btl)
{
	const struct coll_gamma_component *component = &mca_coll_gamma_component;

	return component->priority >= 0 &&
	       (btl->is_wanted() || coll_gamma_params_priority_is_set());
}

static int component_open(void)
{
	struct coll_gamma_component *component = &mca_coll_gamma_component;
	const struct btl_gamma_collective *btl;

	component->btl = NULL;
	if (!library_fits())
		return OMPI_ERR_NOT_AVAILABLE;
	btl = find_btl();
	if (!btl || !is_wanted(btl))
		return OMPI_SUCCESS;
	if (coll_gamma_publish() != OPAL_SUCCESS)
		return OMPI_SUCCESS;
	component->btl = btl;
	btl->on_close(coll_gamma_group_close_all);
	return OMPI_SUCCESS;
}

static int component_close(void)
{
	struct coll_gamma_component *component = &mca_coll_gamma_component;

	if (component->btl) {
		coll_gamma_group_close_all();
		component->btl->on_close(NULL);
	}
	component->btl = NULL;
	return OMPI_SUCCESS;
}

static int init_query(bool progress_threads, bool mpi_threads)
{
	(void) progress_threads, (void) mpi_threads;
	return mca_coll_gamma_component.btl ? OMPI_SUCCESS : OMPI_ERR_NOT_AVAILABLE;
}

struct coll_gamma_component mca_coll_gamma_component = {
	.super =
		{
			.collm_version =
				{
					COLL_GAMMA_BASE_VERSION,
					.mca_component_name = "gamma",
					.mca_open_component = component_open,
					.mca_close_component = component_close,
					.mca_register_component_params = coll_gamma_params_register,
				},
			.collm_data =
				{
					.param_field = MCA_BASE_METADATA_PARAM_CHECKPOINT,
				},
			.collm_init_query = init_query,
			.collm_comm_query = coll_gamma_module_query,
		},
};
