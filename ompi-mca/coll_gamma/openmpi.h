/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Open MPI's headers, and the differences between its versions. All other files are the same for
 * 4.1 and 5.0.
 */
#ifndef COLL_GAMMA_OPENMPI_H
#define COLL_GAMMA_OPENMPI_H

#include "ompi_config.h"
#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/datatype/ompi_datatype_internal.h"
#include "ompi/group/group.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/op/op.h"
#include "ompi/proc/proc.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/output.h"

#include <stdbool.h>

#ifdef MCA_COLL_BASE_VERSION_2_4_0
#define COLL_GAMMA_BASE_VERSION MCA_COLL_BASE_VERSION_2_4_0
#else
#define COLL_GAMMA_BASE_VERSION MCA_COLL_BASE_VERSION_2_0_0
#endif

/* Data that a process has published, or has not: for the latter 5.0 would wait forever. */
#ifdef MCA_COLL_BASE_VERSION_2_4_0
#define COLL_GAMMA_MODEX_RECV OPAL_MODEX_RECV_IMMEDIATE
#else
#define COLL_GAMMA_MODEX_RECV OPAL_MODEX_RECV
#endif

/* Whether a wait must end: a process of the communicator has failed, or it was revoked. Since 5.0;
 * 4.1 ends the job. */
static inline bool coll_gamma_openmpi_interrupted(struct ompi_communicator_t *comm, int *error)
{
#if defined(OPAL_ENABLE_FT_MPI) && OPAL_ENABLE_FT_MPI
	return !ompi_comm_iface_coll_check(comm, error);
#else
	(void) comm, (void) error;
	return false;
#endif
}

/* The result of a call after one of the processes could not be reached. */
#ifdef MPI_ERR_PROC_FAILED
#define COLL_GAMMA_ERR_PROC_FAILED MPI_ERR_PROC_FAILED
#else
#define COLL_GAMMA_ERR_PROC_FAILED OMPI_ERR_UNREACH
#endif

#endif
