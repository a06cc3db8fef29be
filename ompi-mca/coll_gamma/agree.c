// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Whether a communicator uses gamma. Its processes agree on it at the same call, the first one
 * after a few that the previous functions have had: first by what each has published, which all
 * see alike, then by an allreduce of the previous module.
 */
#include "coll_gamma.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/random.h>

enum { VERBOSE = 10 }; /* coll_base_verbose from which decisions are shown */

static opal_process_name_t name_of(struct ompi_communicator_t *comm, int rank)
{
	return ompi_group_get_proc_name(comm->c_local_group, rank);
}

/* All of them will come to the agreement; the same answer on all processes. */
static bool all_will_agree(struct ompi_communicator_t *comm)
{
	const struct btl_gamma_collective *btl = mca_coll_gamma_component.btl;
	int rank;

	for (rank = 0; rank < ompi_comm_size(comm); rank++)
		if (!btl->carries(name_of(comm, rank)) ||
		    !coll_gamma_publish_fits(name_of(comm, rank)))
			return false;
	return true;
}

/* Whether the hosts of the first COUNT peers have one that is not among those before. */
static bool is_new_host(const struct mca_btl_base_endpoint_t **peers, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(peers[i]->host, peers[count]->host))
			return false;
	return true;
}

/* Fills in the members' addresses. Returns the number of their hosts, at most as many as matter; 0:
 * a member cannot be reached. */
static unsigned int find_members(struct ompi_communicator_t *comm, fi_addr_t *members)
{
	const struct coll_gamma_component *component = &mca_coll_gamma_component;
	const int size = ompi_comm_size(comm);
	const struct mca_btl_base_endpoint_t **peers = calloc((size_t) size, sizeof(*peers));
	const unsigned int enough = component->min_hosts > component->short_hosts
					    ? component->min_hosts
					    : component->short_hosts;
	unsigned int hosts = 0;
	int rank;

	for (rank = 0; peers && rank < size; rank++) {
		peers[rank] = component->btl->peer(name_of(comm, rank));
		if (!peers[rank])
			break;
		members[rank] = peers[rank]->address;
		if (hosts < enough)
			hosts += is_new_host(peers, rank);
	}
	free(peers);
	return rank == size ? hosts : 0;
}

/* Two communicators of the same processes may be joined in any order by their threads: the key
 * distinguishes them. The smallest one is rank 0's. */
static void draw_key(const struct ompi_communicator_t *comm, int *key)
{
	int i;

	for (i = 0; i < COLL_GAMMA_KEY_INTS; i++)
		key[i] = INT_MAX;
	if (ompi_comm_rank((struct ompi_communicator_t *) comm))
		return;
	if (getrandom(key, COLL_GAMMA_KEY_INTS * sizeof(*key), 0) < 0)
		key[0] = getpid();
	for (i = 0; i < COLL_GAMMA_KEY_INTS; i++)
		key[i] &= INT_MAX;
}

/* By the previous module. Open MPI's error, or 0. */
static int reduce_to_all(struct coll_gamma_module *module, struct ompi_communicator_t *comm,
			 const void *ours, void *all, int count, struct ompi_datatype_t *type,
			 struct ompi_op_t *op)
{
	int error;

	coll_gamma_module_exchange(module, comm);
	error = comm->c_coll->coll_allreduce(ours, all, count, type, op, comm,
					     comm->c_coll->coll_allreduce_module);
	coll_gamma_module_exchange(module, comm);
	return error;
}

/* The sum of each number, on all processes. */
int coll_gamma_agree_sum(struct coll_gamma_module *module, struct ompi_communicator_t *comm,
			 const long *ours, long *all, int count)
{
	return reduce_to_all(module, comm, ours, all, count, MPI_LONG, MPI_SUM);
}

/* The smallest of each number, on all processes. */
static int agree_min(struct coll_gamma_module *module, struct ompi_communicator_t *comm,
		     const int *ours, int *all, int count)
{
	return reduce_to_all(module, comm, ours, all, count, MPI_INT, MPI_MIN);
}

/* Abilities of all: the smallest of each number. Open MPI's error, or 0. */
static int agree_limits(struct coll_gamma_module *module, struct ompi_communicator_t *comm,
			const struct coll_gamma_limits *ours)
{
	return agree_min(module, comm, (const int *) ours, (int *) &module->limits,
			 COLL_GAMMA_LIMITS_INTS);
}

/* Whether all have joined. */
static int agree_joined(struct coll_gamma_module *module, struct ompi_communicator_t *comm,
			bool *joined)
{
	int ours = module->group != NULL, all = 0;
	const int error = agree_min(module, comm, &ours, &all, 1);

	*joined = !error && all;
	return error;
}

static int join(struct coll_gamma_module *module, struct ompi_communicator_t *comm,
		const fi_addr_t *members, bool *joined)
{
	int error;

	module->group = coll_gamma_group_join(comm, members, module->limits.key);
	error = agree_joined(module, comm, joined);
	if (!*joined && module->group) {
		module->group->failed = true;
		coll_gamma_group_retire(module->group);
		module->group = NULL;
	}
	return error;
}

/* Sets *result to what coll_base_verbose shows. Open MPI's error, or 0. */
static int agree(struct coll_gamma_module *module, struct ompi_communicator_t *comm, bool *joined,
		 const char **result)
{
	const struct btl_gamma_port *port = mca_coll_gamma_component.btl->port();
	fi_addr_t *members = calloc((size_t) ompi_comm_size(comm), sizeof(*members));
	struct coll_gamma_limits ours = {0};
	unsigned int hosts = 0;
	int error;

	if (port && members)
		hosts = find_members(comm, members);
	if (port)
		coll_gamma_limits_fill(&ours, port->domain, hosts);
	draw_key(comm, ours.key);
	ours.usable = hosts && hosts >= mca_coll_gamma_component.min_hosts;
	error = agree_limits(module, comm, &ours);
	*result = ours.usable ? "left to other components: not all can use it"
			      : "left to other components: too few hosts, or some out of reach";
	if (!error && module->limits.usable) {
		error = join(module, comm, members, joined);
		*result = *joined ? "joined" : "left to other components: not all have joined";
	}
	free(members);
	return error;
}

/*
 * Whether this call may be gamma's. Called first by each function of the module, so that all
 * processes count alike. *error: Open MPI's, which the caller returns.
 */
bool coll_gamma_agree_is_joined(struct coll_gamma_module *module, struct ompi_communicator_t *comm,
				int *error)
{
	const char *result = "left to other components: not all processes have this one";
	bool joined = false;

	*error = OMPI_SUCCESS;
	if (OPAL_LIKELY(module->state == COLL_GAMMA_JOINED))
		return true;
	if (module->state == COLL_GAMMA_DECLINED ||
	    module->calls++ < mca_coll_gamma_component.join_after)
		return false;
	/* The agreement itself is a call on this communicator. */
	module->state = COLL_GAMMA_DECLINED;
	if (all_will_agree(comm))
		*error = agree(module, comm, &joined, &result);
	if (joined)
		module->state = COLL_GAMMA_JOINED;
	opal_output_verbose(VERBOSE, ompi_coll_base_framework.framework_output,
			    "coll_gamma: communicator %s of %d: %s", comm->c_name,
			    ompi_comm_size(comm), result);
	return joined;
}
