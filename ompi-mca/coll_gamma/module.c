// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A module's life: offered to every communicator that may use gamma, it takes over the functions
 * of the module before it, and keeps them for all that gamma does not carry. Whether it is offered
 * depends on what is the same on all processes, because Open MPI does not compare.
 */
#include "coll_gamma.h"

#include <string.h>

enum { MEMBERS_MIN = 2 };

static void construct(struct coll_gamma_module *module)
{
	/* Open MPI clears its own part only. */
	memset((char *) module + sizeof(module->super), 0, sizeof(*module) - sizeof(module->super));
	module->state = COLL_GAMMA_COUNTING;
}

#define RELEASE_PREVIOUS(module, name)                        \
	do {                                                  \
		if ((module)->name##_module)                  \
			OBJ_RELEASE((module)->name##_module); \
	} while (0)

static void destruct(struct coll_gamma_module *module)
{
	if (module->group)
		coll_gamma_group_retire(module->group);
	coll_gamma_trial_free(module);
	RELEASE_PREVIOUS(module, barrier);
	RELEASE_PREVIOUS(module, bcast);
	RELEASE_PREVIOUS(module, allreduce);
	RELEASE_PREVIOUS(module, reduce);
	RELEASE_PREVIOUS(module, allgather);
	RELEASE_PREVIOUS(module, gather);
}

OBJ_CLASS_INSTANCE(coll_gamma_module_t, mca_coll_base_module_t, construct, destruct);

static bool keep_module(mca_coll_base_module_t **kept, mca_coll_base_module_t *module)
{
	if (!module)
		return false;
	OBJ_RETAIN(module);
	*kept = module;
	return true;
}

/* False: nobody has that function, so there is nothing to fall back to. */
#define KEEP_PREVIOUS(module, comm, name)              \
	((module)->name = (comm)->c_coll->coll_##name, \
	 (module)->name &&                             \
		 keep_module(&(module)->name##_module, (comm)->c_coll->coll_##name##_module))

static int enable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm)
{
	struct coll_gamma_module *module = coll_gamma_module(base);

	return KEEP_PREVIOUS(module, comm, barrier) && KEEP_PREVIOUS(module, comm, bcast) &&
			       KEEP_PREVIOUS(module, comm, allreduce) &&
			       KEEP_PREVIOUS(module, comm, reduce) &&
			       KEEP_PREVIOUS(module, comm, allgather) &&
			       KEEP_PREVIOUS(module, comm, gather)
		       ? OMPI_SUCCESS
		       : OMPI_ERR_NOT_AVAILABLE;
}

#define EXCHANGE(module, comm, name)                                                       \
	do {                                                                               \
		mca_coll_base_module_##name##_fn_t function = (comm)->c_coll->coll_##name; \
		mca_coll_base_module_t *owner = (comm)->c_coll->coll_##name##_module;      \
                                                                                           \
		(comm)->c_coll->coll_##name = (module)->name;                              \
		(comm)->c_coll->coll_##name##_module = (module)->name##_module;            \
		(module)->name = function;                                                 \
		(module)->name##_module = owner;                                           \
	} while (0)

/*
 * The previous functions find in the communicator's table what they would find without gamma. Those
 * of han remove themselves from it if they cannot serve the communicator, and call others by it;
 * processes without gamma do the same. Each place holds a reference, so references go with it.
 */
void coll_gamma_module_exchange(struct coll_gamma_module *module, struct ompi_communicator_t *comm)
{
	EXCHANGE(module, comm, barrier);
	EXCHANGE(module, comm, bcast);
	EXCHANGE(module, comm, allreduce);
	EXCHANGE(module, comm, reduce);
	EXCHANGE(module, comm, allgather);
	EXCHANGE(module, comm, gather);
}

/* The communicator ends, on this process: others may still be in its last operation. */
static int disable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm)
{
	struct coll_gamma_module *module = coll_gamma_module(base);

	(void) comm;
	module->state = COLL_GAMMA_DECLINED;
	if (module->group)
		coll_gamma_group_retire(module->group);
	module->group = NULL;
	return OMPI_SUCCESS;
}

mca_coll_base_module_t *coll_gamma_module_query(struct ompi_communicator_t *comm, int *priority)
{
	const struct coll_gamma_component *component = &mca_coll_gamma_component;
	struct coll_gamma_module *module;

	if (!component->btl || OMPI_COMM_IS_INTER(comm) || ompi_comm_size(comm) < MEMBERS_MIN)
		return NULL;
	module = OBJ_NEW(coll_gamma_module_t);
	if (!module)
		return NULL;
	*priority = component->priority;
	module->super.coll_module_enable = enable;
	module->super.coll_module_disable = disable;
	module->super.coll_barrier = coll_gamma_barrier;
	module->super.coll_bcast = coll_gamma_bcast;
	module->super.coll_allreduce = coll_gamma_reduce_to_all;
	module->super.coll_reduce = coll_gamma_reduce;
	module->super.coll_allgather = coll_gamma_gather_to_all;
	module->super.coll_gather = coll_gamma_gather;
	return &module->super;
}
