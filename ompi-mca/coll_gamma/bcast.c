// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * MPI_Bcast.
 */
#include "coll_gamma.h"

static int carry(struct coll_gamma_group *group, struct ompi_communicator_t *comm, void *bytes,
		 size_t count, int root)
{
	const int error = coll_gamma_group_begin(group);
	ssize_t rc;

	if (error)
		return error;
	do
		rc = fi_broadcast(group->ep, bytes, count, NULL, group->address,
				  group->members[root], FI_UINT8, FI_COMPLETION, &group->op);
	while (coll_gamma_group_retry(group, comm, rc));
	return coll_gamma_group_wait(group, comm, rc);
}

/* The data where MPI has them, or a copy. */
static int carry_view(struct coll_gamma_group *group, struct ompi_communicator_t *comm,
		      void *buffer, size_t count, struct ompi_datatype_t *type, int root)
{
	const bool sends = root == ompi_comm_rank(comm);
	struct coll_gamma_view view;
	int error = coll_gamma_view_open(&view, buffer, count, type, false);

	if (!error && sends)
		error = coll_gamma_view_fill(&view, buffer, count, type);
	if (!error)
		error = carry(group, comm, view.bytes, type->super.size * count, root);
	if (!error && !sends)
		error = coll_gamma_view_scatter(&view, buffer, count, type);
	coll_gamma_view_close(&view);
	return error;
}

static int call_previous(struct coll_gamma_module *module, struct ompi_communicator_t *comm,
			 void *buffer, int count, struct ompi_datatype_t *type, int root)
{
	int error;

	coll_gamma_module_exchange(module, comm);
	error = comm->c_coll->coll_bcast(buffer, count, type, root, comm,
					 comm->c_coll->coll_bcast_module);
	coll_gamma_module_exchange(module, comm);
	return error;
}

int coll_gamma_bcast(void *buffer, int count, struct ompi_datatype_t *type, int root,
		     struct ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
	struct coll_gamma_module *module = coll_gamma_module(base);
	const size_t bytes = type->super.size * (size_t) count;
	struct coll_gamma_call call = {0};
	int error;
	bool ours = coll_gamma_agree_is_joined(module, comm, &error) &&
		    coll_gamma_limits_allow(&module->limits, COLL_GAMMA_BCAST, bytes);

	if (ours)
		ours = coll_gamma_trial_begin(module, comm, COLL_GAMMA_BCAST, bytes, &call, &error);
	if (error)
		return error;
	error = ours ? carry_view(module->group, comm, buffer, (size_t) count, type, root)
		     : call_previous(module, comm, buffer, count, type, root);
	coll_gamma_trial_end(module, &call);
	return error;
}
