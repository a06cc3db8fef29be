// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Open MPI's headers, and the differences between its versions. All other files are the same for
 * 4.1 and 5.0.
 */
#ifndef BTL_GAMMA_OPENMPI_H
#define BTL_GAMMA_OPENMPI_H

#include "opal_config.h"
#include "opal/class/opal_bitmap.h"
#include "opal/class/opal_hash_table.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/mca/base/mca_base_framework.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/btl.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"

#if OPAL_MAJOR_VERSION < 4 || (OPAL_MAJOR_VERSION == 4 && OPAL_MINOR_VERSION < 1)
#error "Open MPI 4.1 or later is needed"
#elif OPAL_MAJOR_VERSION == 4
#include "opal/mca/pmix/pmix.h"
#include "opal/threads/thread_usage.h"
#define BTL_GAMMA_MODEX_SCOPE OPAL_PMIX_GLOBAL
#else
#include "opal/mca/pmix/pmix-internal.h"
#include "opal/mca/threads/thread_usage.h"
#define BTL_GAMMA_MODEX_SCOPE PMIX_GLOBAL
#endif

/* From this version on a receive callback gets a descriptor of another type, with the sender
 * in it. */
#define BTL_GAMMA_RECEIVE_DESCRIPTOR (BTL_VERSION >= 320)

/* A completed write has arrived at the peer: 4.1 has no flag for it. */
#ifdef MCA_BTL_FLAGS_RDMA_REMOTE_COMPLETION
#define BTL_GAMMA_FLAGS_REMOTE_COMPLETION MCA_BTL_FLAGS_RDMA_REMOTE_COMPLETION
#else
#define BTL_GAMMA_FLAGS_REMOTE_COMPLETION 0
#endif

#endif
