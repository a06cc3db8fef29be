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

int coll_gamma_bcast(void *buffer, int count, struct ompi_datatype_t *type, int root,
		     struct ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
	struct coll_gamma_module *module = coll_gamma_module(base);
	const size_t bytes = type->super.size * (size_t) count;
	const bool sends = root == ompi_comm_rank(comm);
	struct coll_gamma_view view;
	int error;
	const bool joined = coll_gamma_agree_is_joined(module, comm, &error);

	if (error)
		return error;
	if (!joined || !coll_gamma_limits_allow(&module->limits, COLL_GAMMA_BCAST, bytes)) {
		coll_gamma_module_exchange(module, comm);
		error = comm->c_coll->coll_bcast(buffer, count, type, root, comm,
						 comm->c_coll->coll_bcast_module);
		coll_gamma_module_exchange(module, comm);
		return error;
	}
	error = coll_gamma_view_open(&view, buffer, (size_t) count, type, false);
	if (!error && sends)
		error = coll_gamma_view_fill(&view, buffer, (size_t) count, type);
	if (!error)
		error = carry(module->group, comm, view.bytes, bytes, root);
	if (!error && !sends)
		error = coll_gamma_view_scatter(&view, buffer, (size_t) count, type);
	coll_gamma_view_close(&view);
	return error;
}
