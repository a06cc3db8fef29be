/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The component's own structures, and the functions that its files call of each other. A module
 * belongs to one communicator, and a group to a module whose processes have agreed to use gamma.
 */
#ifndef COLL_GAMMA_H
#define COLL_GAMMA_H

#include "openmpi.h"
#include "btl_gamma/collective.h"

#include <limits.h>

enum {
	COLL_GAMMA_TYPES = FI_DOUBLE + 1, /* of libfabric's datatypes: the first ones */
	COLL_GAMMA_OPS = FI_BXOR + 1,     /* ditto of its operations */
	COLL_GAMMA_KEY_INTS = 2,
};

/* The collective operations that gamma may carry. */
enum coll_gamma_kind {
	COLL_GAMMA_BARRIER,
	COLL_GAMMA_BCAST,
	COLL_GAMMA_ALLREDUCE,
	COLL_GAMMA_REDUCE,
	COLL_GAMMA_ALLGATHER,
	COLL_GAMMA_GATHER,
	COLL_GAMMA_KINDS
};

/* Sizes that gamma carries, the same on all processes of a group. Sizes in bytes: of a gather those
 * of one process. */
struct coll_gamma_limits {
	int key[COLL_GAMMA_KEY_INTS];    /* of the group: rank 0's, random */
	int usable;                      /* 1: this process can use gamma */
	int trial;                       /* calls by which gamma is compared; 0: it is not */
	int max[COLL_GAMMA_KINDS];       /* 0: never */
	int minus_min[COLL_GAMMA_KINDS]; /* negated, so that the smallest one holds */
	int reduces[COLL_GAMMA_OPS][COLL_GAMMA_TYPES];    /* elements; 0: never */
	int allreduces[COLL_GAMMA_OPS][COLL_GAMMA_TYPES]; /* ditto */
};
enum { COLL_GAMMA_LIMITS_INTS = sizeof(struct coll_gamma_limits) / sizeof(int) };

/* What has ended: one of two threads sees that the other thing has, too. */
enum coll_gamma_end {
	COLL_GAMMA_FINISHED = 1, /* the operation in progress */
	COLL_GAMMA_RETIRED = 2,  /* the communicator */
};

/* The processes of a communicator as libfabric knows them. Outlives its module while an operation
 * is outstanding. */
struct coll_gamma_group {
	struct btl_gamma_op op; /* the one operation in progress, or the join */
	unsigned int ended;     /* coll_gamma_end; atomic */
	int status;             /* of the operation, Open MPI's */
	bool failed;            /* an operation has: all later ones do */
	struct fid_av_set *set;
	struct fid_mc *mc;  /* NULL: closed */
	fi_addr_t address;  /* of the group */
	fi_addr_t *members; /* by rank */
	struct fid_ep *ep;
	struct coll_gamma_group *next; /* in the list of all; its lock */
};

enum coll_gamma_state {
	COLL_GAMMA_COUNTING, /* few calls so far: the previous functions have them */
	COLL_GAMMA_JOINED,
	COLL_GAMMA_DECLINED, /* the previous functions have all calls */
};

/* For each operation and size, up to a power of two: which component has it. */
enum { COLL_GAMMA_CLASSES = 64, COLL_GAMMA_TRIAL_MAX = 1000 };
enum coll_gamma_verdict {
	COLL_GAMMA_UNDECIDED,
	COLL_GAMMA_KEEPS,
	COLL_GAMMA_YIELDS, /* to the component before */
};
struct coll_gamma_trials {
	unsigned char verdicts[COLL_GAMMA_KINDS][COLL_GAMMA_CLASSES]; /* coll_gamma_verdict */
	unsigned short calls[COLL_GAMMA_KINDS][COLL_GAMMA_CLASSES];   /* while undecided */
	struct coll_gamma_trial *open[COLL_GAMMA_KINDS][COLL_GAMMA_CLASSES]; /* or NULL */
};

/* One call, while it is compared. */
struct coll_gamma_call {
	bool measured;                   /* if not, the rest is undefined */
	unsigned int number;             /* among those of its operation and size */
	uint64_t begin;                  /* ns */
	struct coll_gamma_trial **where; /* its time goes */
};

/* One function of the module that had the communicator before, and that module: a reference. */
#define COLL_GAMMA_PREVIOUS(name)                \
	mca_coll_base_module_##name##_fn_t name; \
	mca_coll_base_module_t *name##_module

struct coll_gamma_module {
	mca_coll_base_module_t super;
	enum coll_gamma_state state;
	unsigned int calls; /* while counting */
	struct coll_gamma_group *group;
	struct coll_gamma_limits limits;
	struct coll_gamma_trials trials;
	COLL_GAMMA_PREVIOUS(barrier);
	COLL_GAMMA_PREVIOUS(bcast);
	COLL_GAMMA_PREVIOUS(allreduce);
	COLL_GAMMA_PREVIOUS(reduce);
	COLL_GAMMA_PREVIOUS(allgather);
	COLL_GAMMA_PREVIOUS(gather);
};
typedef struct coll_gamma_module coll_gamma_module_t;
OBJ_CLASS_DECLARATION(coll_gamma_module_t);

struct coll_gamma_component {
	mca_coll_base_component_t super;        /* first: Open MPI knows this part */
	const struct btl_gamma_collective *btl; /* NULL: there is none of this release */
	/* parameters */
	int priority;
	int priority_index; /* of that variable: whether the user has set it */
	unsigned int join_after;
	unsigned int min_hosts;
	unsigned int short_hosts;
	unsigned int trial;
	size_t min[COLL_GAMMA_KINDS]; /* bytes */
	size_t max[COLL_GAMMA_KINDS]; /* bytes; 0: never */
};

/* The one symbol that Open MPI looks for. */
extern struct coll_gamma_component mca_coll_gamma_component __attribute__((visibility("default")));

static inline struct coll_gamma_module *coll_gamma_module(mca_coll_base_module_t *module)
{
	return (struct coll_gamma_module *) module;
}

/* params.c */
int coll_gamma_params_register(void);
bool coll_gamma_params_priority_is_set(void);

/* publish.c */
int coll_gamma_publish(void);
bool coll_gamma_publish_fits(opal_process_name_t name);

/* module.c */
mca_coll_base_module_t *coll_gamma_module_query(struct ompi_communicator_t *comm, int *priority);

/* Before and after a call of a previous function: those stand in the communicator's table
 * meanwhile. */
void coll_gamma_module_exchange(struct coll_gamma_module *module, struct ompi_communicator_t *comm);

/* agree.c */
bool coll_gamma_agree_is_joined(struct coll_gamma_module *module, struct ompi_communicator_t *comm,
				int *error);
int coll_gamma_agree_sum(struct coll_gamma_module *module, struct ompi_communicator_t *comm,
			 const long *ours, long *all, int count);

/* trial.c */
bool coll_gamma_trial_begin(struct coll_gamma_module *module, struct ompi_communicator_t *comm,
			    enum coll_gamma_kind kind, size_t bytes, struct coll_gamma_call *call,
			    int *error);
void coll_gamma_trial_end(const struct coll_gamma_module *module,
			  const struct coll_gamma_call *call);
void coll_gamma_trial_free(struct coll_gamma_module *module);

/* limits.c */
void coll_gamma_limits_fill(struct coll_gamma_limits *limits, struct fid_domain *domain,
			    unsigned int hosts);
bool coll_gamma_limits_allow(const struct coll_gamma_limits *limits, enum coll_gamma_kind kind,
			     size_t bytes);

/* types.c */
bool coll_gamma_types_find(const struct ompi_datatype_t *type, const struct ompi_op_t *op,
			   enum fi_datatype *fi_type, enum fi_op *fi_op);

/* group.c */
struct coll_gamma_group *coll_gamma_group_join(struct ompi_communicator_t *comm,
					       const fi_addr_t *members, const int *key);
int coll_gamma_group_begin(struct coll_gamma_group *group);
bool coll_gamma_group_retry(struct coll_gamma_group *group, struct ompi_communicator_t *comm,
			    ssize_t result);
int coll_gamma_group_wait(struct coll_gamma_group *group, struct ompi_communicator_t *comm,
			  ssize_t result);
void coll_gamma_group_retire(struct coll_gamma_group *group);
void coll_gamma_group_close_all(void);

/* view.c: data as a row of bytes; a copy of them if they are scattered */
struct coll_gamma_view {
	unsigned char *bytes;
	unsigned char *copy; /* to be freed, or NULL */
};
int coll_gamma_view_open(struct coll_gamma_view *view, const void *data, size_t count,
			 const struct ompi_datatype_t *type, bool copied);
int coll_gamma_view_fill(struct coll_gamma_view *view, const void *data, size_t count,
			 const struct ompi_datatype_t *type);
int coll_gamma_view_scatter(const struct coll_gamma_view *view, void *data, size_t count,
			    const struct ompi_datatype_t *type);
void coll_gamma_view_close(struct coll_gamma_view *view);

/* barrier.c, bcast.c, reduce.c, gather.c */
int coll_gamma_barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_gamma_bcast(void *buffer, int count, struct ompi_datatype_t *type, int root,
		     struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_gamma_reduce(const void *from, void *to, int count, struct ompi_datatype_t *type,
		      struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
		      mca_coll_base_module_t *module);
int coll_gamma_reduce_to_all(const void *from, void *to, int count, struct ompi_datatype_t *type,
			     struct ompi_op_t *op, struct ompi_communicator_t *comm,
			     mca_coll_base_module_t *module);
int coll_gamma_gather(const void *from, int from_count, struct ompi_datatype_t *from_type, void *to,
		      int to_count, struct ompi_datatype_t *to_type, int root,
		      struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_gamma_gather_to_all(const void *from, int from_count, struct ompi_datatype_t *from_type,
			     void *to, int to_count, struct ompi_datatype_t *to_type,
			     struct ompi_communicator_t *comm, mca_coll_base_module_t *module);

#endif
