// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A group: the set of a communicator's processes, its join, the one operation that is in progress
 * on it, and its end. The component keeps a list of all, since a group may outlive its
 * communicator.
 */
#include "coll_gamma.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RETIRED_S = 10 }; /* waited for the operations of retired groups to end */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct coll_gamma_group *groups; /* lock */

static struct coll_gamma_group *group_of(struct btl_gamma_op *op)
{
	return btl_gamma_container(op, struct coll_gamma_group, op);
}

/* ---- list, and memory ---- */

static void list_group(struct coll_gamma_group *group)
{
	pthread_mutex_lock(&lock);
	group->next = groups;
	groups = group;
	pthread_mutex_unlock(&lock);
}

static void unlist_group(struct coll_gamma_group *group)
{
	struct coll_gamma_group **at;

	pthread_mutex_lock(&lock);
	for (at = &groups; *at && *at != group; at = &(*at)->next)
		;
	if (*at)
		*at = group->next;
	pthread_mutex_unlock(&lock);
}

/* Of several threads one gets it. */
static struct fid_mc *take_mc(struct coll_gamma_group *group)
{
	return __atomic_exchange_n(&group->mc, NULL, __ATOMIC_ACQ_REL);
}

static void close_mc(struct fid_mc *mc)
{
	if (mc)
		fi_close(&mc->fid);
}

static void close_group(struct coll_gamma_group *group)
{
	close_mc(take_mc(group));
	if (group->set)
		fi_close(&group->set->fid);
	group->set = NULL;
}

static void free_group(struct coll_gamma_group *group)
{
	unlist_group(group);
	close_group(group);
	free(group->members);
	free(group);
}

/* ---- the operation in progress ---- */

static bool has_ended(const struct coll_gamma_group *group, enum coll_gamma_end what)
{
	return __atomic_load_n(&group->ended, __ATOMIC_ACQUIRE) & what;
}

/* Returns what had ended before. */
static unsigned int note_end(struct coll_gamma_group *group, enum coll_gamma_end what)
{
	return __atomic_fetch_or(&group->ended, what, __ATOMIC_ACQ_REL);
}

static void operation_done(struct btl_gamma_op *op, int status)
{
	struct coll_gamma_group *group = group_of(op);

	group->status = status;
	/* Nobody waits for what was abandoned. */
	if (note_end(group, COLL_GAMMA_FINISHED) & COLL_GAMMA_RETIRED)
		free_group(group);
}

static void begin(struct coll_gamma_group *group)
{
	group->ended = 0;
	group->status = OMPI_SUCCESS;
}

/* Open MPI's error if an earlier operation has failed, or 0. */
int coll_gamma_group_begin(struct coll_gamma_group *group)
{
	if (OPAL_UNLIKELY(group->failed))
		return COLL_GAMMA_ERR_PROC_FAILED;
	begin(group);
	return OMPI_SUCCESS;
}

/* No other member can rely on this group any more. */
static int fail_group(struct coll_gamma_group *group, int error)
{
	group->failed = true;
	if (group->mc && !fi_close(&group->mc->fid))
		group->mc = NULL;
	return error;
}

/* Whether to call libfabric again, which had no room. */
bool coll_gamma_group_retry(struct coll_gamma_group *group, struct ompi_communicator_t *comm,
			    ssize_t result)
{
	int error;

	if (result != -FI_EAGAIN || group->failed || coll_gamma_openmpi_interrupted(comm, &error))
		return false;
	opal_progress();
	return true;
}

/* result: of the call that started the operation. Open MPI's error, or 0. */
int coll_gamma_group_wait(struct coll_gamma_group *group, struct ompi_communicator_t *comm,
			  ssize_t result)
{
	int error = COLL_GAMMA_ERR_PROC_FAILED;

	if (result) {
		(void) coll_gamma_openmpi_interrupted(comm, &error);
		note_end(group, COLL_GAMMA_FINISHED);
		return fail_group(group, error);
	}
	while (!has_ended(group, COLL_GAMMA_FINISHED)) {
		opal_progress();
		if (coll_gamma_openmpi_interrupted(comm, &error))
			return fail_group(group, error);
	}
	return group->status ? fail_group(group, COLL_GAMMA_ERR_PROC_FAILED) : OMPI_SUCCESS;
}

/* ---- join ---- */

static struct fid_av_set *make_set(struct fid_av *av, const fi_addr_t *members, size_t count,
				   const int *key)
{
	struct fi_av_set_attr attr = {
		.start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL,
		.stride = 1,
		.comm_key_size = COLL_GAMMA_KEY_INTS * sizeof(*key),
		.comm_key = (uint8_t *) key,
	};
	struct fid_av_set *set = NULL;
	size_t i;

	if (fi_av_set(av, &attr, &set, NULL))
		return NULL;
	for (i = 0; i < count; i++)
		if (fi_av_set_insert(set, members[i])) {
			fi_close(&set->fid);
			return NULL;
		}
	return set;
}

static struct coll_gamma_group *new_group(const struct btl_gamma_port *port,
					  const fi_addr_t *members, size_t count, const int *key)
{
	struct coll_gamma_group *group = calloc(1, sizeof(*group));

	if (!group)
		return NULL;
	group->ep = port->ep;
	group->members = malloc(count * sizeof(*members));
	if (group->members) {
		memcpy(group->members, members, count * sizeof(*members));
		group->set = make_set(port->av, members, count, key);
	}
	list_group(group);
	if (group->set)
		return group;
	free_group(group);
	return NULL;
}

/* Waits until all members have joined, or the provider gives up. */
static bool wait_joined(struct coll_gamma_group *group, struct ompi_communicator_t *comm)
{
	int error;

	while (!has_ended(group, COLL_GAMMA_FINISHED)) {
		opal_progress();
		mca_coll_gamma_component.btl->poll();
		if (coll_gamma_openmpi_interrupted(comm, &error))
			return false;
	}
	return group->status == OMPI_SUCCESS;
}

/* NULL: it did not succeed here. */
struct coll_gamma_group *coll_gamma_group_join(struct ompi_communicator_t *comm,
					       const fi_addr_t *members, const int *key)
{
	const struct btl_gamma_collective *btl = mca_coll_gamma_component.btl;
	const struct btl_gamma_port *port = btl->port();
	struct coll_gamma_group *group;
	fi_addr_t all;

	group = new_group(port, members, (size_t) ompi_comm_size(comm), key);
	if (!group)
		return NULL;
	btl->prepare(&group->op, operation_done);
	begin(group);
	if (fi_av_set_addr(group->set, &all) ||
	    fi_join_collective(group->ep, all, group->set, 0, &group->mc, &group->op)) {
		group->mc = NULL; /* whatever the call has left there */
		free_group(group);
		return NULL;
	}
	if (!wait_joined(group, comm)) {
		coll_gamma_group_retire(group);
		return NULL;
	}
	group->address = fi_mc_addr(group->mc);
	return group;
}

/* ---- the end ---- */

/*
 * The communicator is gone here, and others may still need our repetitions of its last operation.
 * A barrier of the group, which nobody waits for, ends when all have come this far, or when one of
 * them ends: that is no failure.
 */
void coll_gamma_group_retire(struct coll_gamma_group *group)
{
	if (!(note_end(group, COLL_GAMMA_RETIRED) & COLL_GAMMA_FINISHED))
		return; /* operation_done frees it */
	group->op.unreported = true;
	if (!group->mc || group->failed || group->status ||
	    fi_barrier2(group->ep, group->address, FI_COMPLETION, &group->op))
		free_group(group);
}

/* That of a retired group, which may be freed as soon as this one is closed; NULL: none is left.
 * Sets *any if there is such a group. */
static struct fid_mc *next_retired(bool *any)
{
	struct coll_gamma_group *group;
	struct fid_mc *mc = NULL;

	*any = false;
	pthread_mutex_lock(&lock);
	for (group = groups; group && !mc; group = group->next) {
		if (!has_ended(group, COLL_GAMMA_RETIRED))
			continue;
		*any = true;
		mc = take_mc(group);
	}
	pthread_mutex_unlock(&lock);
	return mc;
}

/* Closing them ends their operations. The completions that say so must be read before the memory is
 * free, also if the BTL's progress thread reads them: operation_done frees it. */
static void end_retired(void)
{
	const struct btl_gamma_collective *btl = mca_coll_gamma_component.btl;
	const time_t end = time(NULL) + RETIRED_S;
	struct fid_mc *mc;
	bool any;

	do {
		mc = next_retired(&any);
		close_mc(mc);
		btl->progress();
		btl->poll();
	} while (any && time(NULL) <= end);
}

/* The endpoint is about to be closed. Groups whose communicators still exist are freed with them.
 */
void coll_gamma_group_close_all(void)
{
	struct coll_gamma_group *group;

	end_retired();
	for (group = groups; group; group = group->next) {
		group->failed = true;
		close_group(group);
		note_end(group, COLL_GAMMA_FINISHED);
	}
}
