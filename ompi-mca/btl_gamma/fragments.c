// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Fragments: memory for messages, filled by Open MPI, or headers of data that stay in place. They
 * come in three sizes and are reused.
 */
#include "btl_gamma.h"

#include <stdlib.h>

static struct btl_gamma_pool *pool_for(struct btl_gamma_module *module, size_t size)
{
	int i;

	for (i = 0; i < BTL_GAMMA_POOLS; i++)
		if (size <= module->pools[i].room)
			return &module->pools[i];
	return NULL;
}

static struct btl_gamma_fragment *new_fragment(struct btl_gamma_module *module,
					       struct btl_gamma_pool *pool)
{
	struct btl_gamma_fragment *fragment = calloc(1, sizeof(*fragment) + pool->room);

	if (!fragment)
		return NULL;
	OBJ_CONSTRUCT(&fragment->base, mca_btl_base_descriptor_t);
	fragment->base.des_segments = fragment->segments;
	fragment->pool = pool;
	fragment->op.module = module;
	fragment->header.sender = opal_proc_local_get()->proc_name;
	return fragment;
}

static struct btl_gamma_fragment *get_fragment(struct btl_gamma_module *module, size_t size,
					       uint8_t order, uint32_t flags)
{
	struct btl_gamma_pool *pool = pool_for(module, size);
	struct btl_gamma_fragment *fragment;

	if (!pool)
		return NULL;
	btl_gamma_lock(&module->lock);
	fragment = pool->free;
	if (fragment)
		pool->free = fragment->next;
	btl_gamma_unlock(&module->lock);
	if (!fragment)
		fragment = new_fragment(module, pool);
	if (!fragment)
		return NULL;
	fragment->segments[0].seg_addr.pval = fragment->memory;
	fragment->segments[0].seg_len = size;
	fragment->base.des_segment_count = 1;
	fragment->base.des_flags = flags;
	fragment->base.des_cbfunc = NULL;
	fragment->base.order = order;
	return fragment;
}

mca_btl_base_descriptor_t *btl_gamma_fragments_alloc(mca_btl_base_module_t *btl,
						     struct mca_btl_base_endpoint_t *peer,
						     uint8_t order, size_t size, uint32_t flags)
{
	struct btl_gamma_fragment *fragment =
		get_fragment(btl_gamma_module(btl), size, order, flags);

	(void) peer;
	return fragment ? &fragment->base : NULL;
}

int btl_gamma_fragments_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor)
{
	struct btl_gamma_fragment *fragment =
		btl_gamma_container(descriptor, struct btl_gamma_fragment, base);
	struct btl_gamma_module *module = btl_gamma_module(btl);

	btl_gamma_lock(&module->lock);
	fragment->next = fragment->pool->free;
	fragment->pool->free = fragment;
	btl_gamma_unlock(&module->lock);
	return OPAL_SUCCESS;
}

/* The user's data stay in place; the fragment holds only the headers. */
static mca_btl_base_descriptor_t *prepare_in_place(struct btl_gamma_module *module,
						   struct opal_convertor_t *convertor,
						   uint8_t order, size_t reserve, size_t *size,
						   uint32_t flags)
{
	struct btl_gamma_fragment *fragment = get_fragment(module, reserve, order, flags);
	struct iovec iov = {.iov_base = NULL, .iov_len = *size};
	uint32_t iov_count = 1;

	if (!fragment)
		return NULL;
	if (opal_convertor_pack(convertor, &iov, &iov_count, size) < 0) {
		btl_gamma_fragments_free(&module->super, &fragment->base);
		return NULL;
	}
	fragment->segments[1].seg_addr.pval = iov.iov_base;
	fragment->segments[1].seg_len = *size;
	fragment->base.des_segment_count = 2;
	return &fragment->base;
}

static mca_btl_base_descriptor_t *prepare_packed(struct btl_gamma_module *module,
						 struct opal_convertor_t *convertor, uint8_t order,
						 size_t reserve, size_t *size, uint32_t flags)
{
	struct btl_gamma_fragment *fragment = get_fragment(module, reserve + *size, order, flags);
	struct iovec iov = {.iov_len = *size};
	uint32_t iov_count = 1;

	if (!fragment)
		return NULL;
	iov.iov_base = fragment->memory + reserve;
	if (*size && opal_convertor_pack(convertor, &iov, &iov_count, size) < 0) {
		btl_gamma_fragments_free(&module->super, &fragment->base);
		return NULL;
	}
	fragment->segments[0].seg_len = reserve + *size;
	return &fragment->base;
}

mca_btl_base_descriptor_t *btl_gamma_fragments_prepare(mca_btl_base_module_t *btl,
						       struct mca_btl_base_endpoint_t *peer,
						       struct opal_convertor_t *convertor,
						       uint8_t order, size_t reserve, size_t *size,
						       uint32_t flags)
{
	struct btl_gamma_module *module = btl_gamma_module(btl);

	(void) peer;
	if (reserve > btl->btl_max_send_size)
		return NULL;
	if (*size > btl->btl_max_send_size - reserve)
		*size = btl->btl_max_send_size - reserve;
	/* Injected messages are copied anyway, which is faster from one piece. */
	if (opal_convertor_need_buffers(convertor) ||
	    sizeof(struct btl_gamma_header) + reserve + *size <= module->port->inject_size)
		return prepare_packed(module, convertor, order, reserve, size, flags);
	return prepare_in_place(module, convertor, order, reserve, size, flags);
}

void btl_gamma_fragments_drop(struct btl_gamma_module *module)
{
	struct btl_gamma_fragment *fragment;
	int i;

	for (i = 0; i < BTL_GAMMA_POOLS; i++)
		while ((fragment = module->pools[i].free)) {
			module->pools[i].free = fragment->next;
			OBJ_DESTRUCT(&fragment->base);
			free(fragment);
		}
}
