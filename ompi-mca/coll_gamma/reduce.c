// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * MPI_Reduce and MPI_Allreduce, of operations and types that libfabric has.
 */
#include "coll_gamma.h"

struct reduction {
	enum fi_datatype type;
	enum fi_op op;
	size_t count; /* elements */
	void *from;   /* never the same place as to */
	void *to;
	int root; /* negative: all */
};

/* Whether gamma carries it, and how: by what is the same on all processes. */
static bool translate(const struct coll_gamma_limits *limits, struct reduction *reduction,
		      const struct ompi_datatype_t *type, const struct ompi_op_t *op)
{
	const size_t bytes = type->super.size * reduction->count;
	const bool all = reduction->root < 0;
	int most;

	if (!coll_gamma_limits_allow(limits, all ? COLL_GAMMA_ALLREDUCE : COLL_GAMMA_REDUCE,
				     bytes) ||
	    !coll_gamma_types_find(type, op, &reduction->type, &reduction->op))
		return false;
	most = (all ? limits->allreduces : limits->reduces)[reduction->op][reduction->type];
	return reduction->count <= (size_t) most;
}

static int carry(struct coll_gamma_group *group, struct ompi_communicator_t *comm,
		 const struct reduction *what)
{
	const int error = coll_gamma_group_begin(group);
	ssize_t rc;

	if (error)
		return error;
	do {
		if (what->root < 0)
			rc = fi_allreduce(group->ep, what->from, what->count, NULL, what->to, NULL,
					  group->address, what->type, what->op, FI_COMPLETION,
					  &group->op);
		else
			rc = fi_reduce(group->ep, what->from, what->count, NULL, what->to, NULL,
				       group->address, group->members[what->root], what->type,
				       what->op, FI_COMPLETION, &group->op);
	} while (coll_gamma_group_retry(group, comm, rc));
	return coll_gamma_group_wait(group, comm, rc);
}

/* MPI_IN_PLACE: the operands are where the result goes, which libfabric does not have. */
static int carry_apart(struct coll_gamma_group *group, struct ompi_communicator_t *comm,
		       struct reduction *what, const void *from, const struct ompi_datatype_t *type)
{
	const bool in_place = from == MPI_IN_PLACE;
	struct coll_gamma_view view;
	int error = coll_gamma_view_open(&view, in_place ? what->to : from, what->count, type,
					 in_place);

	what->from = view.bytes;
	if (!error)
		error = carry(group, comm, what);
	coll_gamma_view_close(&view);
	return error;
}

int coll_gamma_reduce_to_all(const void *from, void *to, int count, struct ompi_datatype_t *type,
			     struct ompi_op_t *op, struct ompi_communicator_t *comm,
			     mca_coll_base_module_t *base)
{
	struct coll_gamma_module *module = coll_gamma_module(base);
	struct reduction what = {.count = (size_t) count, .to = to, .root = -1};
	struct coll_gamma_call call = {0};
	int error;
	bool ours = coll_gamma_agree_is_joined(module, comm, &error) &&
		    translate(&module->limits, &what, type, op);

	if (ours)
		ours = coll_gamma_trial_begin(module, comm, COLL_GAMMA_ALLREDUCE,
					      type->super.size * what.count, &call, &error);
	if (error)
		return error;
	if (ours) {
		error = carry_apart(module->group, comm, &what, from, type);
	} else {
		coll_gamma_module_exchange(module, comm);
		error = comm->c_coll->coll_allreduce(from, to, count, type, op, comm,
						     comm->c_coll->coll_allreduce_module);
		coll_gamma_module_exchange(module, comm);
	}
	coll_gamma_trial_end(module, &call);
	return error;
}

int coll_gamma_reduce(const void *from, void *to, int count, struct ompi_datatype_t *type,
		      struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
		      mca_coll_base_module_t *base)
{
	struct coll_gamma_module *module = coll_gamma_module(base);
	struct reduction what = {.count = (size_t) count, .root = root};
	struct coll_gamma_call call = {0};
	int error;
	bool ours = coll_gamma_agree_is_joined(module, comm, &error) &&
		    translate(&module->limits, &what, type, op);

	if (ours)
		ours = coll_gamma_trial_begin(module, comm, COLL_GAMMA_REDUCE,
					      type->super.size * what.count, &call, &error);
	if (error)
		return error;
	if (ours) {
		/* Elsewhere MPI leaves it undefined. */
		what.to = root == ompi_comm_rank(comm) ? to : NULL;
		error = carry_apart(module->group, comm, &what, from, type);
	} else {
		coll_gamma_module_exchange(module, comm);
		error = comm->c_coll->coll_reduce(from, to, count, type, op, root, comm,
						  comm->c_coll->coll_reduce_module);
		coll_gamma_module_exchange(module, comm);
	}
	coll_gamma_trial_end(module, &call);
	return error;
}
