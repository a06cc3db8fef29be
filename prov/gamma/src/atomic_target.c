// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The target's side of atomics: what a peer asks for is checked, down to the last byte, and then
 * computed. Called by the message layer when ATOMIC, FETCH or COMPARE has its turn.
 */
#include "ep.h"

/* Whether the frame's numbers are consistent: a peer may send any. */
static bool is_consistent(const struct gamma_rma_access *access)
{
	enum gamma_atomic_form form = access->op == GAMMA_OP_ATOMIC  ? GAMMA_ATOMIC_BASE
				      : access->op == GAMMA_OP_FETCH ? GAMMA_ATOMIC_FETCH
								     : GAMMA_ATOMIC_COMPARE;
	uint32_t rows = form == GAMMA_ATOMIC_COMPARE ? 2 : access->atomic_op != GAMMA_ATOMIC_READ;

	return gamma_atomic_ops_is_valid(form, access->datatype, access->atomic_op) &&
	       access->length ==
		       (uint64_t) access->count * gamma_atomic_ops_size(access->datatype) &&
	       access->operands == rows * access->length;
}

/* No element may span two iovecs of a region, or be misaligned for an atomic instruction. */
static bool is_aligned(const struct gamma_rma_access *access,
		       const struct gamma_rma_region *reached)
{
	uint32_t size = gamma_atomic_ops_size(access->datatype);
	uint32_t alignment = gamma_atomic_ops_alignment(access->datatype);

	for (unsigned i = 0; i < reached->iov_count; i++)
		if ((uintptr_t) reached->iov[i].iov_base % alignment ||
		    reached->iov[i].iov_len % size)
			return false;
	return true;
}

static const void *advanced_access(const void *row, uint64_t bytes)
{
	return row ? (const uint8_t *) row + bytes : NULL;
}

static void apply_iov(const struct gamma_rma_access *access, const struct gamma_rma_region *reached,
		      const uint8_t *operands, uint8_t *result)
{
	const void *operand = access->operands ? operands : NULL;
	const void *compare = access->op == GAMMA_OP_COMPARE ? operands + access->length : NULL;
	uint32_t size = gamma_atomic_ops_size(access->datatype);
	uint64_t done = 0;

	for (unsigned i = 0; i < reached->iov_count; i++) {
		const struct iovec *piece = &reached->iov[i];

		gamma_atomic_ops_apply(&(struct gamma_atomic){
			.datatype = access->datatype,
			.op = access->atomic_op,
			.count = (uint32_t) (piece->iov_len / size),
			.target = piece->iov_base,
			.operand = advanced_access(operand, done),
			.compare = advanced_access(compare, done),
			.result = access->op == GAMMA_OP_ATOMIC ? NULL : result + done,
		});
		done += piece->iov_len;
	}
}

static uint64_t needed_access(const struct gamma_rma_access *access)
{
	if (access->op == GAMMA_OP_ATOMIC)
		return FI_REMOTE_WRITE;
	return access->atomic_op == GAMMA_ATOMIC_READ ? FI_REMOTE_READ
						      : FI_REMOTE_READ | FI_REMOTE_WRITE;
}

enum gamma_refusal gamma_atomic_target_apply(void *context, struct gamma_flow *flow,
					     const struct gamma_rma_access *access,
					     const uint8_t *operands, uint8_t *result)
{
	struct gamma_rma_region reached;
	enum gamma_refusal refusal;

	(void) flow;
	if (!is_consistent(access))
		return GAMMA_REFUSED_UNSUPPORTED;
	refusal = gamma_remote_reach(context, access, needed_access(access), &reached);
	if (refusal)
		return refusal;
	if (!is_aligned(access, &reached))
		return GAMMA_REFUSED_ALIGNMENT;
	apply_iov(access, &reached, operands, result);
	return 0;
}
