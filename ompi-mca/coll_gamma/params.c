// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The parameters, as ompi_info lists them. Registered first: neither provider nor NIC need exist.
 * Processes agree on the sizes, so that different ones are harmless.
 */
#include "coll_gamma.h"

enum {
	KIB = 1024,
	GATHER_MAX = 16 * KIB,
	PRIORITY = 40, /* above tuned (30) and han (35) */
	JOIN_AFTER = 3,
	MIN_HOSTS = 3,
	SHORT_HOSTS = 8,
	TRIAL = 16,
	/* Measured (experiment 66): below, messages of Open MPI's own algorithms are faster. */
	BCAST_MIN = 16 * KIB,
	ALLGATHER_MIN = 16 * KIB,
};

/* *where holds the default. Returns the variable's index. */
static int param(const char *name, const char *help, mca_base_var_type_t type,
		 mca_base_var_info_lvl_t level, void *where)
{
	return mca_base_component_var_register(&mca_coll_gamma_component.super.collm_version, name,
					       help, type, NULL, 0, 0, level,
					       MCA_BASE_VAR_SCOPE_READONLY, where);
}

static void set_defaults(struct coll_gamma_component *component)
{
	component->priority = PRIORITY;
	component->join_after = JOIN_AFTER;
	component->min_hosts = MIN_HOSTS;
	component->short_hosts = SHORT_HOSTS;
	component->trial = TRIAL;
	component->max[COLL_GAMMA_BARRIER] = 1;
	component->min[COLL_GAMMA_BCAST] = BCAST_MIN;
	component->max[COLL_GAMMA_BCAST] = INT_MAX;
	component->max[COLL_GAMMA_ALLREDUCE] = KIB;
	component->max[COLL_GAMMA_REDUCE] = KIB;
	component->min[COLL_GAMMA_ALLGATHER] = ALLGATHER_MIN;
	component->max[COLL_GAMMA_ALLGATHER] = INT_MAX;
	component->min[COLL_GAMMA_GATHER] = 1;
	component->max[COLL_GAMMA_GATHER] = GATHER_MAX;
}

static void register_sizes(struct coll_gamma_component *component)
{
	const mca_base_var_type_t size = MCA_BASE_VAR_TYPE_SIZE_T;

	param("barrier", "1: gamma carries MPI_Barrier; 0: it does not", size, OPAL_INFO_LVL_5,
	      &component->max[COLL_GAMMA_BARRIER]);
	param("bcast_min", "Shortest MPI_Bcast in bytes that gamma carries", size, OPAL_INFO_LVL_5,
	      &component->min[COLL_GAMMA_BCAST]);
	param("bcast_max", "Longest MPI_Bcast in bytes that gamma carries. 0: none", size,
	      OPAL_INFO_LVL_5, &component->max[COLL_GAMMA_BCAST]);
	param("allreduce_max", "Longest MPI_Allreduce in bytes that gamma carries. 0: none", size,
	      OPAL_INFO_LVL_5, &component->max[COLL_GAMMA_ALLREDUCE]);
	param("reduce_max", "Longest MPI_Reduce in bytes that gamma carries. 0: none", size,
	      OPAL_INFO_LVL_5, &component->max[COLL_GAMMA_REDUCE]);
	param("allgather_min", "Shortest MPI_Allgather that gamma carries, in bytes of one process",
	      size, OPAL_INFO_LVL_5, &component->min[COLL_GAMMA_ALLGATHER]);
	param("allgather_max",
	      "Longest MPI_Allgather that gamma carries, in bytes of one process. 0: none", size,
	      OPAL_INFO_LVL_5, &component->max[COLL_GAMMA_ALLGATHER]);
	param("gather_min", "Shortest MPI_Gather that gamma carries, in bytes of one process", size,
	      OPAL_INFO_LVL_5, &component->min[COLL_GAMMA_GATHER]);
	param("gather_max",
	      "Longest MPI_Gather that gamma carries, in bytes of one process. 0: none", size,
	      OPAL_INFO_LVL_5, &component->max[COLL_GAMMA_GATHER]);
}

int coll_gamma_params_register(void)
{
	struct coll_gamma_component *component = &mca_coll_gamma_component;
	mca_base_component_t *version = &component->super.collm_version;

	set_defaults(component);
	component->priority_index =
		param("priority",
		      "Priority of this component. Jobs that use btl/gamma use it for collective "
		      "operations if no other one has a higher priority. Negative: never",
		      MCA_BASE_VAR_TYPE_INT, OPAL_INFO_LVL_6, &component->priority);
	param("join_after",
	      "Calls of collective operations on a communicator before its processes "
	      "form a group, so that communicators that are rarely used cost nothing",
	      MCA_BASE_VAR_TYPE_UNSIGNED_INT, OPAL_INFO_LVL_5, &component->join_after);
	param("min_hosts",
	      "Hosts that a communicator must span; on fewer, messages between two processes are "
	      "as fast",
	      MCA_BASE_VAR_TYPE_UNSIGNED_INT, OPAL_INFO_LVL_5, &component->min_hosts);
	param("short_hosts",
	      "Hosts from which on gamma carries MPI_Barrier and MPI_Allreduce; on fewer, Open "
	      "MPI's own algorithms are as fast",
	      MCA_BASE_VAR_TYPE_UNSIGNED_INT, OPAL_INFO_LVL_5, &component->short_hosts);
	param("trial",
	      "Calls of each operation and size that a communicator gives to gamma, and as many to "
	      "the component before it, to keep the faster one. 0: no comparison, gamma carries "
	      "all sizes within its limits. If processes have different values, the smallest one "
	      "counts",
	      MCA_BASE_VAR_TYPE_UNSIGNED_INT, OPAL_INFO_LVL_5, &component->trial);
	register_sizes(component);
	/* For ompi_info: this release, not Open MPI's, which is the default. */
	version->mca_component_major_version = GAMMA_VERSION_MAJOR;
	version->mca_component_minor_version = GAMMA_VERSION_MINOR;
	version->mca_component_release_version = GAMMA_VERSION_RELEASE;
	return OMPI_SUCCESS;
}

/* Whether the user has set the priority: then the component is wanted although the job does not
 * name gamma among its BTLs. */
bool coll_gamma_params_priority_is_set(void)
{
	mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_DEFAULT;

	return mca_base_var_get_value(mca_coll_gamma_component.priority_index, NULL, &source,
				      NULL) == OPAL_SUCCESS &&
	       source != MCA_BASE_VAR_SOURCE_DEFAULT;
}
