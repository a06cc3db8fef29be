// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * RMA: put, get, atomic operations, and registered memory. All are operations of the provider;
 * each completes when it has taken effect at the peer.
 */
#include "btl_gamma.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdlib.h>

enum kind { PUT, GET, ATOMIC, FETCH, COMPARE };

/* An operation in flight: all its arguments, because it may have to be started again. */
struct btl_gamma_remote {
	struct btl_gamma_op op;
	struct btl_gamma_remote *next; /* in the free list */
	enum kind kind;
	void *local;
	size_t size;      /* bytes, of put and get */
	uint64_t address; /* at the peer, from the beginning of the region */
	uint64_t key;
	uint64_t operand, compare;
	enum fi_op operation;
	enum fi_datatype type;
	mca_btl_base_registration_handle_t *handle;
	mca_btl_base_rdma_completion_fn_t callback;
	void *callback_context, *callback_data;
};

/* Registered memory; Open MPI gets the handle. */
struct registration {
	mca_btl_base_registration_handle_t handle;
	struct fid_mr *mr;
};

static const uint32_t atomic_flags = MCA_BTL_ATOMIC_SUPPORTS_ADD | MCA_BTL_ATOMIC_SUPPORTS_AND |
				     MCA_BTL_ATOMIC_SUPPORTS_OR | MCA_BTL_ATOMIC_SUPPORTS_XOR |
				     MCA_BTL_ATOMIC_SUPPORTS_SWAP | MCA_BTL_ATOMIC_SUPPORTS_32BIT |
				     MCA_BTL_ATOMIC_SUPPORTS_CSWAP | MCA_BTL_ATOMIC_SUPPORTS_GLOB;

/* ---- one operation ---- */

static struct btl_gamma_remote *get_remote(struct btl_gamma_module *module)
{
	struct btl_gamma_remote *remote;

	btl_gamma_lock(&module->lock);
	remote = module->free_remotes;
	if (remote)
		module->free_remotes = remote->next;
	btl_gamma_unlock(&module->lock);
	return remote ? remote : calloc(1, sizeof(*remote));
}

static void put_remote(struct btl_gamma_module *module, struct btl_gamma_remote *remote)
{
	btl_gamma_lock(&module->lock);
	remote->next = module->free_remotes;
	module->free_remotes = remote;
	btl_gamma_unlock(&module->lock);
}

void btl_gamma_remote_drop(struct btl_gamma_module *module)
{
	struct btl_gamma_remote *remote;

	while ((remote = module->free_remotes)) {
		module->free_remotes = remote->next;
		free(remote);
	}
}

static int start_access(struct btl_gamma_remote *remote)
{
	struct iovec iov = {.iov_base = remote->local, .iov_len = remote->size};
	struct fi_rma_iov target = {
		.addr = remote->address, .len = remote->size, .key = remote->key};
	struct fi_msg_rma message = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = remote->op.peer->address,
		.rma_iov = &target,
		.rma_iov_count = 1,
		.context = &remote->op,
	};
	struct fid_ep *ep = remote->op.module->port->ep;

	if (remote->kind == GET)
		return (int) fi_readmsg(ep, &message, FI_COMPLETION);
	return (int) fi_writemsg(ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE);
}

static int start_atomic(struct btl_gamma_remote *remote)
{
	struct fi_ioc operand = {.addr = &remote->operand, .count = 1};
	struct fi_ioc compare = {.addr = &remote->compare, .count = 1};
	struct fi_ioc result = {.addr = remote->local, .count = 1};
	struct fi_rma_ioc target = {.addr = remote->address, .count = 1, .key = remote->key};
	struct fi_msg_atomic message = {
		.msg_iov = &operand,
		.iov_count = 1,
		.addr = remote->op.peer->address,
		.rma_iov = &target,
		.rma_iov_count = 1,
		.datatype = remote->type,
		.op = remote->operation,
		.context = &remote->op,
	};
	const uint64_t flags = FI_COMPLETION | FI_DELIVERY_COMPLETE;
	struct fid_ep *ep = remote->op.module->port->ep;

	if (remote->kind == ATOMIC)
		return (int) fi_atomicmsg(ep, &message, flags);
	if (remote->kind == FETCH)
		return (int) fi_fetch_atomicmsg(ep, &message, &result, NULL, 1, flags);
	return (int) fi_compare_atomicmsg(ep, &message, &compare, NULL, 1, &result, NULL, 1, flags);
}

static int start_remote(struct btl_gamma_op *op)
{
	struct btl_gamma_remote *remote = btl_gamma_container(op, struct btl_gamma_remote, op);

	return remote->kind <= GET ? start_access(remote) : start_atomic(remote);
}

/* The callback may start the next operation: this one is returned before. */
static void remote_done(struct btl_gamma_op *op, int status)
{
	struct btl_gamma_remote *remote = btl_gamma_container(op, struct btl_gamma_remote, op);
	const struct btl_gamma_remote was = *remote;
	struct btl_gamma_module *module = op->module;

	put_remote(module, remote);
	if (was.callback)
		was.callback(&module->super, was.op.peer, was.local, was.handle,
			     was.callback_context, was.callback_data, status);
}

static int start_new(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *peer,
		     const struct btl_gamma_remote *wanted)
{
	struct btl_gamma_module *module = btl_gamma_module(btl);
	struct btl_gamma_remote *remote = get_remote(module);
	int rc;

	if (!remote)
		return OPAL_ERR_OUT_OF_RESOURCE;
	*remote = *wanted;
	remote->op = (struct btl_gamma_op){
		.module = module, .peer = peer, .start = start_remote, .done = remote_done};
	rc = btl_gamma_progress_start(&remote->op);
	if (rc == BTL_GAMMA_STARTED)
		return OPAL_SUCCESS;
	put_remote(module, remote);
	btl_gamma_report_peer_failed(peer, -rc, NULL);
	return OPAL_ERR_UNREACH;
}

/* ---- what Open MPI calls ---- */

/* The arguments that all operations have. */
static struct btl_gamma_remote init_remote(enum kind kind, void *local,
					   mca_btl_base_registration_handle_t *local_handle,
					   uint64_t address,
					   const mca_btl_base_registration_handle_t *handle,
					   mca_btl_base_rdma_completion_fn_t callback,
					   void *context, void *data)
{
	return (struct btl_gamma_remote){
		.kind = kind,
		.local = local,
		.address = address - handle->base,
		.key = handle->key,
		.handle = local_handle,
		.callback = callback,
		.callback_context = context,
		.callback_data = data,
	};
}

static int btl_put(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *peer, void *local,
		   uint64_t address, mca_btl_base_registration_handle_t *local_handle,
		   mca_btl_base_registration_handle_t *handle, size_t size, int flags, int order,
		   mca_btl_base_rdma_completion_fn_t callback, void *context, void *data)
{
	struct btl_gamma_remote wanted =
		init_remote(PUT, local, local_handle, address, handle, callback, context, data);

	(void) flags, (void) order;
	wanted.size = size;
	return start_new(btl, peer, &wanted);
}

static int btl_get(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *peer, void *local,
		   uint64_t address, mca_btl_base_registration_handle_t *local_handle,
		   mca_btl_base_registration_handle_t *handle, size_t size, int flags, int order,
		   mca_btl_base_rdma_completion_fn_t callback, void *context, void *data)
{
	struct btl_gamma_remote wanted =
		init_remote(GET, local, local_handle, address, handle, callback, context, data);

	(void) flags, (void) order;
	wanted.size = size;
	return start_new(btl, peer, &wanted);
}

/*
 * No minimum and maximum: the one-sided layer does not say whether numbers are signed, and asks
 * for unsigned ones too. It does unsupported operations itself, under a lock.
 */
static bool translate(mca_btl_base_atomic_op_t from, int flags, struct btl_gamma_remote *to)
{
	static const struct {
		mca_btl_base_atomic_op_t from;
		enum fi_op to;
	} table[] = {
		{MCA_BTL_ATOMIC_ADD, FI_SUM},
		{MCA_BTL_ATOMIC_AND, FI_BAND},
		{MCA_BTL_ATOMIC_OR, FI_BOR},
		{MCA_BTL_ATOMIC_XOR, FI_BXOR},
		{MCA_BTL_ATOMIC_SWAP, FI_ATOMIC_WRITE},
	};
	size_t i;

	if (flags & MCA_BTL_ATOMIC_FLAG_FLOAT)
		return false;
	to->type = flags & MCA_BTL_ATOMIC_FLAG_32BIT ? FI_INT32 : FI_INT64;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].from == from) {
			to->operation = table[i].to;
			return true;
		}
	return false;
}

/* Starts OP, which changes remote memory by OPERAND. */
static int start_atomic_op(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *peer,
			   struct btl_gamma_remote *wanted, mca_btl_base_atomic_op_t op,
			   uint64_t operand, int flags)
{
	wanted->operand = operand;
	if (!translate(op, flags, wanted))
		return OPAL_ERR_NOT_SUPPORTED;
	return start_new(btl, peer, wanted);
}

static int btl_atomic_op(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *peer,
			 uint64_t address, mca_btl_base_registration_handle_t *handle,
			 mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
			 mca_btl_base_rdma_completion_fn_t callback, void *context, void *data)
{
	struct btl_gamma_remote wanted =
		init_remote(ATOMIC, NULL, NULL, address, handle, callback, context, data);

	(void) order;
	return start_atomic_op(btl, peer, &wanted, op, operand, flags);
}

static int btl_atomic_fop(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *peer,
			  void *local, uint64_t address,
			  mca_btl_base_registration_handle_t *local_handle,
			  mca_btl_base_registration_handle_t *handle, mca_btl_base_atomic_op_t op,
			  uint64_t operand, int flags, int order,
			  mca_btl_base_rdma_completion_fn_t callback, void *context, void *data)
{
	struct btl_gamma_remote wanted =
		init_remote(FETCH, local, local_handle, address, handle, callback, context, data);

	(void) order;
	return start_atomic_op(btl, peer, &wanted, op, operand, flags);
}

static int btl_atomic_cswap(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *peer,
			    void *local, uint64_t address,
			    mca_btl_base_registration_handle_t *local_handle,
			    mca_btl_base_registration_handle_t *handle, uint64_t compare,
			    uint64_t value, int flags, int order,
			    mca_btl_base_rdma_completion_fn_t callback, void *context, void *data)
{
	struct btl_gamma_remote wanted;

	(void) order;
	/*
	 * osc/rdma of 4.1 has no endpoints in a window whose ranks share a host, but calls this
	 * before it does the operation itself, with the processor and under its lock.
	 */
	if (!peer || !handle)
		return OPAL_ERR_NOT_SUPPORTED;
	wanted =
		init_remote(COMPARE, local, local_handle, address, handle, callback, context, data);
	wanted.operand = value;
	wanted.compare = compare;
	wanted.operation = FI_CSWAP;
	wanted.type = flags & MCA_BTL_ATOMIC_FLAG_32BIT ? FI_UINT32 : FI_UINT64;
	return start_new(btl, peer, &wanted);
}

/* ---- memory ---- */

static uint64_t access_of(uint32_t flags)
{
	uint64_t access = FI_READ | FI_WRITE;

	if (flags & MCA_BTL_REG_FLAG_REMOTE_READ)
		access |= FI_REMOTE_READ;
	if (flags & MCA_BTL_REG_FLAG_REMOTE_WRITE)
		access |= FI_REMOTE_WRITE;
	if (flags & MCA_BTL_REG_FLAG_REMOTE_ATOMIC)
		access |= FI_REMOTE_READ | FI_REMOTE_WRITE;
	return access;
}

static mca_btl_base_registration_handle_t *register_memory(mca_btl_base_module_t *btl,
							   struct mca_btl_base_endpoint_t *peer,
							   void *base, size_t size, uint32_t flags)
{
	struct btl_gamma_module *module = btl_gamma_module(btl);
	struct registration *registration = malloc(sizeof(*registration));
	const uint64_t key = __atomic_add_fetch(&module->port->last_key, 1, __ATOMIC_RELAXED);

	(void) peer;
	if (!registration)
		return NULL;
	if (fi_mr_reg(module->port->domain, base, size, access_of(flags), 0, key, 0,
		      &registration->mr, NULL)) {
		free(registration);
		return NULL;
	}
	registration->handle.key = key;
	registration->handle.base = (uintptr_t) base;
	return &registration->handle;
}

static int deregister_memory(mca_btl_base_module_t *btl, mca_btl_base_registration_handle_t *handle)
{
	struct registration *registration =
		btl_gamma_container(handle, struct registration, handle);

	(void) btl;
	fi_close(&registration->mr->fid);
	free(registration);
	return OPAL_SUCCESS;
}

/* ---- what is offered ---- */

void btl_gamma_remote_set_functions(mca_btl_base_module_t *btl)
{
	btl->btl_put = btl_put;
	btl->btl_get = btl_get;
	btl->btl_atomic_op = btl_atomic_op;
	btl->btl_atomic_fop = btl_atomic_fop;
	btl->btl_atomic_cswap = btl_atomic_cswap;
	btl->btl_atomic_flags = atomic_flags;
	btl->btl_register_mem = register_memory;
	btl->btl_deregister_mem = deregister_memory;
	btl->btl_registration_handle_size = sizeof(mca_btl_base_registration_handle_t);
	/* Local memory needs no registration, whatever its size. */
	btl->btl_put_local_registration_threshold = SIZE_MAX;
	btl->btl_get_local_registration_threshold = SIZE_MAX;
}
