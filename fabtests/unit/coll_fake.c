// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A door, a libfabric and a communicator of static objects. Progress of Open MPI is replaced by the
 * linker's --wrap: it ends the operation in progress.
 */
#include "coll_fake.h"

#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct coll_fake coll_fake;

bool __wrap_coll_gamma_publish_fits(opal_process_name_t name);
/* libmpi refers to it, too. */
void __wrap_opal_progress(void) __attribute__((visibility("default")));
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

/* ---- libfabric ---- */

static int fake_close(struct fid *unused)
{
	(void) unused;
	coll_fake.open_objects--;
	return 0;
}

static struct fi_ops fid_ops = {.size = sizeof(fid_ops), .close = fake_close};
static struct fid_mc mc = {.fid = {.fclass = FI_CLASS_MC, .ops = &fid_ops}, .fi_addr = 99};

static int set_insert(struct fid_av_set *unused, fi_addr_t addr)
{
	(void) unused, (void) addr;
	return 0;
}

static int set_addr(struct fid_av_set *unused, fi_addr_t *addr)
{
	(void) unused;
	*addr = 98;
	return 0;
}

static struct fi_ops_av_set set_ops = {
	.size = sizeof(set_ops), .insert = set_insert, .addr = set_addr};
static struct fid_av_set set = {.fid = {.ops = &fid_ops}, .ops = &set_ops};

static int fake_av_set(struct fid_av *unused, struct fi_av_set_attr *attr, struct fid_av_set **out,
		       void *context)
{
	(void) unused, (void) context;
	assert_true(attr->comm_key_size && attr->comm_key);
	coll_fake.open_objects++;
	*out = &set;
	return 0;
}

static struct fi_ops_av av_ops = {.size = sizeof(av_ops), .av_set = fake_av_set};
static struct fid_av av = {.ops = &av_ops};

static int fake_join(struct fid_ep *unused, const void *addr, uint64_t flags, struct fid_mc **out,
		     void *context)
{
	(void) unused, (void) addr;
	assert_true(flags & FI_COLLECTIVE);
	*out = &mc; /* also if it is closed again, after an error */
	if (coll_fake.join_result)
		return coll_fake.join_result;
	coll_fake.open_objects++;
	coll_fake.pending = context;
	return 0;
}

static ssize_t take_op(enum fi_collective_op which, const void *from, void *to, size_t count,
		       fi_addr_t coll, void *context)
{
	assert_int_equal(coll, 99);
	if (coll_fake.again && coll_fake.again--)
		return -FI_EAGAIN;
	if (coll_fake.op_result)
		return coll_fake.op_result;
	assert_null(coll_fake.pending);
	coll_fake.pending = context;
	coll_fake.ops++;
	coll_fake.now += coll_fake.gamma_ns;
	coll_fake.last = which;
	coll_fake.from = from;
	coll_fake.to = to;
	coll_fake.count = count;
	return 0;
}

static ssize_t fake_barrier2(struct fid_ep *unused, fi_addr_t coll, uint64_t flags, void *context)
{
	(void) unused;
	assert_true(flags & FI_COMPLETION);
	return take_op(FI_BARRIER, NULL, NULL, 0, coll, context);
}

static ssize_t fake_broadcast(struct fid_ep *unused, void *buf, size_t count, void *desc,
			      fi_addr_t coll, fi_addr_t root, enum fi_datatype type, uint64_t flags,
			      void *context)
{
	(void) unused, (void) desc;
	assert_true(flags & FI_COMPLETION);
	coll_fake.root = root;
	coll_fake.type = type;
	return take_op(FI_BROADCAST, buf, buf, count, coll, context);
}

static ssize_t fake_allreduce(struct fid_ep *unused, const void *buf, size_t count, void *desc,
			      void *result, void *result_desc, fi_addr_t coll,
			      enum fi_datatype type, enum fi_op op, uint64_t flags, void *context)
{
	(void) unused, (void) desc, (void) result_desc;
	assert_true(flags & FI_COMPLETION);
	coll_fake.type = type;
	coll_fake.op = op;
	return take_op(FI_ALLREDUCE, buf, result, count, coll, context);
}

static ssize_t fake_reduce(struct fid_ep *unused, const void *buf, size_t count, void *desc,
			   void *result, void *result_desc, fi_addr_t coll, fi_addr_t root,
			   enum fi_datatype type, enum fi_op op, uint64_t flags, void *context)
{
	(void) unused, (void) desc, (void) result_desc;
	assert_true(flags & FI_COMPLETION);
	coll_fake.root = root;
	coll_fake.type = type;
	coll_fake.op = op;
	return take_op(FI_REDUCE, buf, result, count, coll, context);
}

static ssize_t fake_allgather(struct fid_ep *unused, const void *buf, size_t count, void *desc,
			      void *result, void *result_desc, fi_addr_t coll,
			      enum fi_datatype type, uint64_t flags, void *context)
{
	(void) unused, (void) desc, (void) result_desc;
	assert_true(flags & FI_COMPLETION);
	coll_fake.type = type;
	return take_op(FI_ALLGATHER, buf, result, count, coll, context);
}

static ssize_t fake_gather(struct fid_ep *unused, const void *buf, size_t count, void *desc,
			   void *result, void *result_desc, fi_addr_t coll, fi_addr_t root,
			   enum fi_datatype type, uint64_t flags, void *context)
{
	(void) unused, (void) desc, (void) result_desc;
	assert_true(flags & FI_COMPLETION);
	coll_fake.root = root;
	coll_fake.type = type;
	return take_op(FI_GATHER, buf, result, count, coll, context);
}

static struct fi_ops_collective collective_ops = {
	.size = sizeof(collective_ops),
	.barrier2 = fake_barrier2,
	.broadcast = fake_broadcast,
	.allreduce = fake_allreduce,
	.reduce = fake_reduce,
	.allgather = fake_allgather,
	.gather = fake_gather,
};
static struct fi_ops_cm cm_ops = {.size = sizeof(cm_ops), .join = fake_join};
static struct fid_ep ep = {.cm = &cm_ops, .collective = &collective_ops};

static int fake_query(struct fid_domain *unused, enum fi_collective_op which,
		      struct fi_collective_attr *attr, uint64_t flags)
{
	(void) unused, (void) flags;
	if ((which == FI_ALLREDUCE || which == FI_REDUCE) &&
	    (!coll_fake.offered || attr->op != FI_SUM))
		return -FI_EOPNOTSUPP;
	attr->datatype_attr.count = which == FI_BARRIER ? 0 : 1u << 20;
	if (which == FI_ALLREDUCE || which == FI_REDUCE)
		attr->datatype_attr.count = coll_fake.offered;
	return 0;
}

static struct fi_ops_domain domain_ops = {.size = sizeof(domain_ops),
					  .query_collective = fake_query};
static struct fid_domain domain = {.ops = &domain_ops};

void coll_fake_complete(int status)
{
	struct btl_gamma_op *op = coll_fake.pending;

	coll_fake.pending = NULL;
	op->done(op, status);
}

static bool is_join(void)
{
	return !coll_fake.ops;
}

void __wrap_opal_progress(void)
{
	const bool fails = is_join() ? coll_fake.join_fails : coll_fake.op_fails;

	if (coll_fake.pending && !coll_fake.op_stays)
		coll_fake_complete(fails ? OPAL_ERR_UNREACH : OPAL_SUCCESS);
}

int __wrap_clock_gettime(clockid_t unused, struct timespec *now)
{
	(void) unused;
	now->tv_sec = (time_t) (coll_fake.now / 1000000000);
	now->tv_nsec = (long) (coll_fake.now % 1000000000);
	return 0;
}

/* ---- the door ---- */

static struct btl_gamma_port port = {.ep = &ep, .av = &av, .domain = &domain};
static struct mca_btl_base_endpoint_t peers[COLL_FAKE_RANKS];

static bool door_carries(opal_process_name_t name)
{
	return !coll_fake.cannot[name.vpid];
}

bool __wrap_coll_gamma_publish_fits(opal_process_name_t name)
{
	return !coll_fake.without[name.vpid];
}

static const struct btl_gamma_port *door_port(void)
{
	return coll_fake.no_port ? NULL : &port;
}

static const struct mca_btl_base_endpoint_t *door_peer(opal_process_name_t name)
{
	struct mca_btl_base_endpoint_t *peer = &peers[name.vpid];

	peer->address = 10 + name.vpid;
	snprintf(peer->host, sizeof(peer->host), "node%d", (int) name.vpid % coll_fake.hosts);
	return coll_fake.unreachable[name.vpid] ? NULL : peer;
}

static void door_prepare(struct btl_gamma_op *op, void (*done)(struct btl_gamma_op *, int))
{
	*op = (struct btl_gamma_op){.done = done};
}

/* Closing a group has ended its operation. */
static int door_progress(void)
{
	if (!coll_fake.pending || coll_fake.open_objects > 1)
		return 0;
	coll_fake_complete(OPAL_ERR_UNREACH);
	return 1;
}

static void door_poll(void)
{
}

static const struct btl_gamma_collective door = {
	.carries = door_carries,
	.port = door_port,
	.peer = door_peer,
	.prepare = door_prepare,
	.progress = door_progress,
	.poll = door_poll,
};

/* ---- the component before, and the communicator ---- */

static int previous_barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	(void) module;
	coll_fake.previous++;
	coll_fake.now += coll_fake.previous_ns;
	coll_fake.in_table = comm->c_coll->coll_barrier;
	if (coll_fake.instead)
		comm->c_coll->coll_barrier = coll_fake.instead;
	return OMPI_SUCCESS;
}

static int previous_bcast(void *buffer, int count, struct ompi_datatype_t *type, int root,
			  struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	(void) buffer, (void) count, (void) type, (void) root;
	return previous_barrier(comm, module);
}

/* The smallest, of what the others want: see others_veto. */
static int previous_allreduce(const void *from, void *to, int count, struct ompi_datatype_t *type,
			      struct ompi_op_t *op, struct ompi_communicator_t *comm,
			      mca_coll_base_module_t *module)
{
	int i;

	if (type == MPI_LONG && op == MPI_SUM && count == 2) {
		coll_fake.agreements++;
		for (i = 0; i < count; i++)
			((long *) to)[i] = ((const long *) from)[i] + coll_fake.others_times[i];
		return coll_fake.agreement_error;
	}
	if (type != MPI_INT || op != MPI_MIN)
		return previous_barrier(comm, module);
	coll_fake.agreements++;
	memcpy(to, from, (size_t) count * sizeof(int));
	if (count == COLL_GAMMA_LIMITS_INTS && coll_fake.others_veto == 1)
		((struct coll_gamma_limits *) to)->usable = 0;
	if (count == 1 && coll_fake.others_veto == 2)
		*(int *) to = 0;
	return coll_fake.agreement_error;
}

static int previous_reduce(const void *from, void *to, int count, struct ompi_datatype_t *type,
			   struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
			   mca_coll_base_module_t *module)
{
	(void) from, (void) to, (void) count, (void) type, (void) op, (void) root;
	return previous_barrier(comm, module);
}

static int previous_allgather(const void *from, int from_count, struct ompi_datatype_t *from_type,
			      void *to, int to_count, struct ompi_datatype_t *to_type,
			      struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	(void) from, (void) from_count, (void) from_type, (void) to, (void) to_count;
	(void) to_type;
	return previous_barrier(comm, module);
}

static int previous_gather(const void *from, int from_count, struct ompi_datatype_t *from_type,
			   void *to, int to_count, struct ompi_datatype_t *to_type, int root,
			   struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
	(void) root;
	return previous_allgather(from, from_count, from_type, to, to_count, to_type, comm, module);
}

struct ompi_communicator_t coll_fake_comm;
static mca_coll_base_comm_coll_t functions;
static ompi_group_t group;
static ompi_proc_t procs[COLL_FAKE_RANKS];
static ompi_proc_t *proc_pointers[COLL_FAKE_RANKS];
static mca_coll_base_module_t *before;

static void fill_functions(void)
{
	functions.coll_barrier = previous_barrier;
	functions.coll_bcast = previous_bcast;
	functions.coll_allreduce = previous_allreduce;
	functions.coll_reduce = previous_reduce;
	functions.coll_allgather = previous_allgather;
	functions.coll_gather = previous_gather;
	functions.coll_barrier_module = functions.coll_bcast_module = before;
	functions.coll_allreduce_module = functions.coll_reduce_module = before;
	functions.coll_allgather_module = functions.coll_gather_module = before;
}

static void fill_comm(void)
{
	int rank;

	for (rank = 0; rank < COLL_FAKE_RANKS; rank++) {
		procs[rank].super.proc_name.vpid = (uint32_t) rank;
		proc_pointers[rank] = &procs[rank];
	}
	group.grp_proc_count = COLL_FAKE_RANKS;
	group.grp_my_rank = COLL_FAKE_RANK;
	group.grp_proc_pointers = proc_pointers;
	group.grp_flags = OMPI_GROUP_DENSE;
	coll_fake_comm.c_local_group = coll_fake_comm.c_remote_group = &group;
	coll_fake_comm.c_my_rank = COLL_FAKE_RANK;
	coll_fake_comm.c_coll = &functions;
}

/* ---- types ---- */

#define ROW (OPAL_DATATYPE_FLAG_CONTIGUOUS | OPAL_DATATYPE_FLAG_NO_GAPS)

struct ompi_datatype_t coll_fake_byte = {
	.super = {.flags = ROW | OMPI_DATATYPE_FLAG_PREDEFINED, .size = 1, .ub = 1, .true_ub = 1},
	.id = OMPI_DATATYPE_MPI_UINT8_T,
};
struct ompi_datatype_t coll_fake_long = {
	.super = {.flags = ROW | OMPI_DATATYPE_FLAG_PREDEFINED, .size = 8, .ub = 8, .true_ub = 8},
	.id = OMPI_DATATYPE_MPI_INT64_T,
};
struct ompi_datatype_t coll_fake_pair = {
	.super = {.flags = ROW, .size = 16, .ub = 16, .true_ub = 16},
};
struct ompi_op_t coll_fake_sum = {.o_flags = OMPI_OP_FLAGS_INTRINSIC, .op_type = OMPI_OP_SUM};
struct ompi_op_t coll_fake_user;

/* ---- the tests' own side ---- */

int coll_fake_setup(void **state)
{
	struct coll_gamma_component *component = &mca_coll_gamma_component;
	int kind, priority = 0;

	coll_fake = (struct coll_fake){.hosts = COLL_FAKE_RANKS, .offered = 100};
	component->btl = &door;
	component->join_after = COLL_FAKE_AFTER;
	component->min_hosts = 3;
	component->short_hosts = 0;
	component->trial = 0;
	for (kind = 0; kind < COLL_GAMMA_KINDS; kind++) {
		component->min[kind] = 1;
		component->max[kind] = 4096;
	}
	ompi_op_ddt_map[OMPI_DATATYPE_MPI_UINT8_T] = OMPI_OP_BASE_TYPE_UINT8_T;
	ompi_op_ddt_map[OMPI_DATATYPE_MPI_INT64_T] = OMPI_OP_BASE_TYPE_INT64_T;
	before = OBJ_NEW(mca_coll_base_module_t);
	fill_functions();
	fill_comm();
	*state = coll_gamma_module_query(&coll_fake_comm, &priority);
	return !*state ||
	       coll_gamma_module(*state)->super.coll_module_enable(*state, &coll_fake_comm);
}

int coll_fake_teardown(void **state)
{
	mca_coll_base_module_t *module = *state;

	if (module) {
		module->coll_module_disable(module, &coll_fake_comm);
		OBJ_RELEASE(module);
	}
	if (coll_fake.pending)
		coll_fake_complete(OPAL_SUCCESS);
	coll_gamma_group_close_all();
	mca_coll_gamma_component.btl = NULL;
	if (before->super.obj_reference_count != 1)
		return -1;
	OBJ_RELEASE(before);
	return coll_fake.open_objects;
}

void coll_fake_join(struct coll_gamma_module *module)
{
	int i;

	for (i = 0; i <= COLL_FAKE_AFTER; i++)
		assert_int_equal(module->super.coll_barrier(&coll_fake_comm, &module->super), 0);
}
