// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * MPI_Gather and MPI_Allgather.
 */
#include "coll_gamma.h"

struct part { /* of one process */
	const void *data;
	size_t count;
	const struct ompi_datatype_t *type;
};

static size_t size_of(const struct part *part)
{
	return part->type->super.size * part->count;
}

/* Where the part of RANK is among all parts. */
static const void *place_of(const void *all, const struct part *part, int rank)
{
	ptrdiff_t lb, extent;

	ompi_datatype_get_extent(part->type, &lb, &extent);
	return (const char *) all + (ptrdiff_t) part->count * extent * rank;
}

static int carry(struct coll_gamma_group *group, struct ompi_communicator_t *comm, int root,
		 const struct part *own, const void *from, void *to)
{
	const size_t bytes = size_of(own);
	const int error = coll_gamma_group_begin(group);
	ssize_t rc;

	if (error)
		return error;
	do {
		if (root < 0)
			rc = fi_allgather(group->ep, from, bytes, NULL, to, NULL, group->address,
					  FI_UINT8, FI_COMPLETION, &group->op);
		else
			rc = fi_gather(group->ep, from, bytes, NULL, to, NULL, group->address,
				       group->members[root], FI_UINT8, FI_COMPLETION, &group->op);
	} while (coll_gamma_group_retry(group, comm, rc));
	return coll_gamma_group_wait(group, comm, rc);
}

/* to: all parts, each as THEIRS; NULL: this process gets none. */
static int carry_views(struct coll_gamma_group *group, struct ompi_communicator_t *comm, int root,
		       const struct part *own, bool in_place, void *to, const struct part *theirs)
{
	const size_t count = to ? theirs->count * (size_t) ompi_comm_size(comm) : 0;
	struct coll_gamma_view from, all = {0};
	int error = coll_gamma_view_open(&from, own->data, own->count, own->type, in_place);

	if (!error && !in_place)
		error = coll_gamma_view_fill(&from, own->data, own->count, own->type);
	if (!error && to)
		error = coll_gamma_view_open(&all, to, count, theirs->type, false);
	if (!error)
		error = carry(group, comm, root, own, from.bytes, all.bytes);
	if (!error && to)
		error = coll_gamma_view_scatter(&all, to, count, theirs->type);
	coll_gamma_view_close(&from);
	coll_gamma_view_close(&all);
	return error;
}

int coll_gamma_gather(const void *from, int from_count, struct ompi_datatype_t *from_type, void *to,
		      int to_count, struct ompi_datatype_t *to_type, int root,
		      struct ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
	struct coll_gamma_module *module = coll_gamma_module(base);
	const int rank = ompi_comm_rank(comm);
	const bool in_place = from == MPI_IN_PLACE;
	struct part own = {from, (size_t) from_count, from_type};
	const struct part theirs = {to, (size_t) to_count, to_type};
	struct coll_gamma_call call = {0};
	int error;
	bool ours = coll_gamma_agree_is_joined(module, comm, &error);

	/* The description of the received parts counts at the root only. */
	if (in_place) {
		own = theirs;
		own.data = place_of(to, &theirs, rank);
	}
	if (ours && coll_gamma_limits_allow(&module->limits, COLL_GAMMA_GATHER, size_of(&own)))
		ours = coll_gamma_trial_begin(module, comm, COLL_GAMMA_GATHER, size_of(&own), &call,
					      &error);
	else
		ours = false;
	if (error)
		return error;
	if (ours) {
		error = carry_views(module->group, comm, root, &own, in_place,
				    rank == root ? to : NULL, &theirs);
	} else {
		coll_gamma_module_exchange(module, comm);
		error = comm->c_coll->coll_gather(from, from_count, from_type, to, to_count,
						  to_type, root, comm,
						  comm->c_coll->coll_gather_module);
		coll_gamma_module_exchange(module, comm);
	}
	coll_gamma_trial_end(module, &call);
	return error;
}

int coll_gamma_gather_to_all(const void *from, int from_count, struct ompi_datatype_t *from_type,
			     void *to, int to_count, struct ompi_datatype_t *to_type,
			     struct ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
	struct coll_gamma_module *module = coll_gamma_module(base);
	const bool in_place = from == MPI_IN_PLACE;
	struct part own = {from, (size_t) from_count, from_type};
	const struct part theirs = {to, (size_t) to_count, to_type};
	struct coll_gamma_call call = {0};
	int error;
	bool ours = coll_gamma_agree_is_joined(module, comm, &error);

	if (in_place) {
		own = theirs;
		own.data = place_of(to, &theirs, ompi_comm_rank(comm));
	}
	if (ours && coll_gamma_limits_allow(&module->limits, COLL_GAMMA_ALLGATHER, size_of(&own)))
		ours = coll_gamma_trial_begin(module, comm, COLL_GAMMA_ALLGATHER, size_of(&own),
					      &call, &error);
	else
		ours = false;
	if (error)
		return error;
	if (ours) {
		error = carry_views(module->group, comm, -1, &own, in_place, to, &theirs);
	} else {
		coll_gamma_module_exchange(module, comm);
		error = comm->c_coll->coll_allgather(from, from_count, from_type, to, to_count,
						     to_type, comm,
						     comm->c_coll->coll_allgather_module);
		coll_gamma_module_exchange(module, comm);
	}
	coll_gamma_trial_end(module, &call);
	return error;
}
