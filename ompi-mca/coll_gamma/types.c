// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * MPI's operations and types in libfabric's terms. Operations without counterpart, such as
 * user-defined ones, stay with the previous module.
 */
#include "coll_gamma.h"

static bool find_op(const struct ompi_op_t *op, enum fi_op *found)
{
	static const struct {
		enum ompi_op_type mpi;
		enum fi_op fi;
	} ops[] = {
		{OMPI_OP_MAX, FI_MAX},   {OMPI_OP_MIN, FI_MIN},   {OMPI_OP_SUM, FI_SUM},
		{OMPI_OP_PROD, FI_PROD}, {OMPI_OP_LAND, FI_LAND}, {OMPI_OP_BAND, FI_BAND},
		{OMPI_OP_LOR, FI_LOR},   {OMPI_OP_BOR, FI_BOR},   {OMPI_OP_LXOR, FI_LXOR},
		{OMPI_OP_BXOR, FI_BXOR},
	};
	size_t i;

	if (!(op->o_flags & OMPI_OP_FLAGS_INTRINSIC))
		return false;
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (ops[i].mpi == op->op_type) {
			*found = ops[i].fi;
			return true;
		}
	return false;
}

enum class { CLASS_SIGNED, CLASS_UNSIGNED, CLASS_FLOAT, CLASS_BYTE };

static bool find_class(int base_type, enum class *found)
{
	switch (base_type) {
	case OMPI_OP_BASE_TYPE_INT8_T:
	case OMPI_OP_BASE_TYPE_INT16_T:
	case OMPI_OP_BASE_TYPE_INT32_T:
	case OMPI_OP_BASE_TYPE_INT64_T:
	case OMPI_OP_BASE_TYPE_LONG:
	case OMPI_OP_BASE_TYPE_INTEGER:
	case OMPI_OP_BASE_TYPE_INTEGER1:
	case OMPI_OP_BASE_TYPE_INTEGER2:
	case OMPI_OP_BASE_TYPE_INTEGER4:
	case OMPI_OP_BASE_TYPE_INTEGER8:
		*found = CLASS_SIGNED;
		return true;
	case OMPI_OP_BASE_TYPE_UINT8_T:
	case OMPI_OP_BASE_TYPE_UINT16_T:
	case OMPI_OP_BASE_TYPE_UINT32_T:
	case OMPI_OP_BASE_TYPE_UINT64_T:
	case OMPI_OP_BASE_TYPE_UNSIGNED_LONG:
		*found = CLASS_UNSIGNED;
		return true;
	case OMPI_OP_BASE_TYPE_FLOAT:
	case OMPI_OP_BASE_TYPE_DOUBLE:
	case OMPI_OP_BASE_TYPE_REAL:
	case OMPI_OP_BASE_TYPE_REAL4:
	case OMPI_OP_BASE_TYPE_REAL8:
	case OMPI_OP_BASE_TYPE_DOUBLE_PRECISION:
		*found = CLASS_FLOAT;
		return true;
	case OMPI_OP_BASE_TYPE_BYTE:
		*found = CLASS_BYTE;
		return true;
	default:
		return false;
	}
}

static bool find_integer(size_t size, bool is_signed, enum fi_datatype *found)
{
	switch (size) {
	case 1:
		*found = is_signed ? FI_INT8 : FI_UINT8;
		return true;
	case 2:
		*found = is_signed ? FI_INT16 : FI_UINT16;
		return true;
	case 4:
		*found = is_signed ? FI_INT32 : FI_UINT32;
		return true;
	case 8:
		*found = is_signed ? FI_INT64 : FI_UINT64;
		return true;
	default:
		return false;
	}
}

static bool find_type(const struct ompi_datatype_t *type, enum class class, enum fi_datatype *found)
{
	const size_t size = type->super.size;

	if (class != CLASS_FLOAT)
		return find_integer(size, class == CLASS_SIGNED, found);
	*found = size == sizeof(float) ? FI_FLOAT : FI_DOUBLE;
	return size == sizeof(float) || size == sizeof(double);
}

static bool is_bitwise(enum fi_op op)
{
	return op == FI_BAND || op == FI_BOR || op == FI_BXOR;
}

/* MPI defines each operation for some types only; of the others Open MPI reports the misuse. */
static bool fits(enum class class, enum fi_op op)
{
	switch (class) {
	case CLASS_FLOAT:
		return op == FI_MIN || op == FI_MAX || op == FI_SUM || op == FI_PROD;
	case CLASS_BYTE:
		return is_bitwise(op);
	default:
		return true;
	}
}

bool coll_gamma_types_find(const struct ompi_datatype_t *type, const struct ompi_op_t *op,
			   enum fi_datatype *fi_type, enum fi_op *fi_op)
{
	enum class class;

	return ompi_datatype_is_predefined(type) && find_op(op, fi_op) &&
	       find_class(ompi_op_ddt_map[type->id], &class) && fits(class, *fi_op) &&
	       find_type(type, class, fi_type);
}
