// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Data of any MPI type as a row of bytes: the data's own place, or a copy if they are scattered in
 * memory. Whether they are may differ between the processes of one call.
 */
#include "coll_gamma.h"

#include <stdlib.h>

static size_t size_of(const struct ompi_datatype_t *type, size_t count)
{
	return type->super.size * count;
}

static bool is_row(const struct ompi_datatype_t *type, size_t count)
{
	return count <= INT32_MAX &&
	       ompi_datatype_is_contiguous_memory_layout(type, (int32_t) count);
}

/* Open MPI's error, or 0. copied: in any case into memory of its own, filled in. */
int coll_gamma_view_open(struct coll_gamma_view *view, const void *data, size_t count,
			 const struct ompi_datatype_t *type, bool copied)
{
	ptrdiff_t first, extent;

	view->copy = NULL;
	if (!copied && is_row(type, count)) {
		ompi_datatype_get_true_extent(type, &first, &extent);
		view->bytes = (unsigned char *) data + first;
		return OMPI_SUCCESS;
	}
	view->bytes = view->copy = malloc(size_of(type, count));
	if (!view->copy)
		return OMPI_ERR_OUT_OF_RESOURCE;
	return copied ? coll_gamma_view_fill(view, data, count, type) : OMPI_SUCCESS;
}

/* Between data and the copy, if there is one. */
static int convert(const struct coll_gamma_view *view, void *data, size_t count,
		   const struct ompi_datatype_t *type, bool into_data)
{
	struct iovec iov = {.iov_base = view->copy, .iov_len = size_of(type, count)};
	opal_convertor_t convertor;
	size_t bytes = iov.iov_len;
	uint32_t iovecs = 1;

	if (!view->copy)
		return OMPI_SUCCESS;
	OBJ_CONSTRUCT(&convertor, opal_convertor_t);
	if (into_data) {
		opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super,
							 count, data, 0, &convertor);
		opal_convertor_unpack(&convertor, &iov, &iovecs, &bytes);
	} else {
		opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super,
							 count, data, 0, &convertor);
		opal_convertor_pack(&convertor, &iov, &iovecs, &bytes);
	}
	OBJ_DESTRUCT(&convertor);
	return bytes == size_of(type, count) ? OMPI_SUCCESS : OMPI_ERROR;
}

/* From data, if the view is a copy. */
int coll_gamma_view_fill(struct coll_gamma_view *view, const void *data, size_t count,
			 const struct ompi_datatype_t *type)
{
	return convert(view, (void *) data, count, type, false);
}

/* Back into data, if the view is a copy. */
int coll_gamma_view_scatter(const struct coll_gamma_view *view, void *data, size_t count,
			    const struct ompi_datatype_t *type)
{
	return convert(view, data, count, type, true);
}

void coll_gamma_view_close(struct coll_gamma_view *view)
{
	free(view->copy);
	view->copy = NULL;
}
