/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which atomic operations there are.
 */
#ifndef GAMMA_PROV_ATOMIC_VALID_H
#define GAMMA_PROV_ATOMIC_VALID_H

#include "message/atomic_ops.h"
#include "prov.h"

/* The most elements of one call; 0: there is no such operation. */
size_t gamma_atomic_valid_count(enum gamma_atomic_form form, enum fi_datatype datatype,
				enum fi_op op);
int gamma_atomic_valid_write(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
			     size_t *count);
int gamma_atomic_valid_readwrite(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
				 size_t *count);
int gamma_atomic_valid_compwrite(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
				 size_t *count);
int gamma_atomic_valid_query(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
			     struct fi_atomic_attr *attr, uint64_t flags);

#endif /* GAMMA_PROV_ATOMIC_VALID_H */
