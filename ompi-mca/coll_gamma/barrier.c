// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * MPI_Barrier.
 */
#include "coll_gamma.h"

static int carry(struct coll_gamma_group *group, struct ompi_communicator_t *comm)
{
	const int error = coll_gamma_group_begin(group);
	ssize_t rc;

	if (error)
		return error;
	do
		rc = fi_barrier2(group->ep, group->address, FI_COMPLETION, &group->op);
	while (coll_gamma_group_retry(group, comm, rc));
	return coll_gamma_group_wait(group, comm, rc);
}

static int call_previous(struct coll_gamma_module *module, struct ompi_communicator_t *comm)
{
	int error;

	coll_gamma_module_exchange(module, comm);
	error = comm->c_coll->coll_barrier(comm, comm->c_coll->coll_barrier_module);
	coll_gamma_module_exchange(module, comm);
	return error;
}

int coll_gamma_barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
	struct coll_gamma_module *module = coll_gamma_module(base);
	struct coll_gamma_call call = {0};
	int error;
	bool ours = coll_gamma_agree_is_joined(module, comm, &error) &&
		    coll_gamma_limits_allow(&module->limits, COLL_GAMMA_BARRIER, 1);

	if (ours)
		ours = coll_gamma_trial_begin(module, comm, COLL_GAMMA_BARRIER, 1, &call, &error);
	if (error)
		return error;
	error = ours ? carry(module->group, comm) : call_previous(module, comm);
	coll_gamma_trial_end(module, &call);
	return error;
}
