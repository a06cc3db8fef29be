/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Included by every file of the provider: libfabric's headers, names, limits and the log.
 */
#ifndef GAMMA_PROV_PROV_H
#define GAMMA_PROV_PROV_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <errno.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
/* 2.x headers leave this one to the provider. */
#ifndef EXTERNALLY_VISIBLE
#if defined(__GNUC__) && !defined(__clang__)
#define EXTERNALLY_VISIBLE externally_visible
#else
#define EXTERNALLY_VISIBLE
#endif
#endif
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include "base/base.h"
#include "wire/address.h"

#define GAMMA_PROV_NAME        "gamma"
#define GAMMA_PROV_VERSION     FI_VERSION(GAMMA_VERSION_MAJOR, GAMMA_VERSION_MINOR) /* configure.ac */
/* Provider-specific address format and protocol: the top bit, then "GAM". */
#define GAMMA_ADDR_FORMAT      (0x80000000u | 0x47414du)
#define GAMMA_PROTOCOL         (0x80000000u | 0x47414du)
#define GAMMA_PROTOCOL_VERSION 1

/* Deprecated by 2.x headers, still used by programs written for 1.x. */
enum {
	GAMMA_MR_BASIC = 1 << 0,    /* FI_MR_BASIC, of fi_domain_attr.mr_mode */
	GAMMA_MR_SCALABLE = 1 << 1, /* FI_MR_SCALABLE */
};
#define GAMMA_REG_MR (1ull << 59) /* FI_REG_MR, of fi_domain_bind */

/* ---- limits, as fi_info states them ---- */
#define GAMMA_IOV_LIMIT       8u           /* entries of a scatter or gather list */
#define GAMMA_TX_SIZE         1024u        /* operations outstanding on an endpoint */
#define GAMMA_RX_SIZE         4096u        /* receives posted on an endpoint */
#define GAMMA_GROUP_PORT      1u           /* of a multicast group without service */
#define GAMMA_CONTEXT_MAX     8u           /* of a scalable endpoint, each way; fits its address */
#define GAMMA_MIN_MULTI_RECV  4096u        /* bytes: FI_OPT_MIN_MULTI_RECV unless set */
#define GAMMA_MAX_MSG_SIZE    (1ull << 40) /* bytes */
#define GAMMA_CQ_DATA_SIZE    8u           /* bytes */
#define GAMMA_MR_KEY_SIZE     8u           /* bytes */
#define GAMMA_CQ_COUNT        256u         /* of a domain: CQs, counters, endpoints each */
#define GAMMA_MR_COUNT        65536u       /* memory regions of a domain */
#define GAMMA_MAX_ERR_DATA    256u         /* bytes of fi_cq_err_entry.err_data */
#define GAMMA_ATOMIC_CALL_MAX 65536u       /* bytes of target memory of an atomic call */

/* Completion levels that a program may ask for. */
#define GAMMA_COMPLETION_LEVELS \
	(FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)

extern struct fi_provider gamma_prov;

#define GAMMA_WARN(subsys, ...) FI_WARN(&gamma_prov, FI_LOG_##subsys, __VA_ARGS__)
#define GAMMA_INFO(subsys, ...) FI_INFO(&gamma_prov, FI_LOG_##subsys, __VA_ARGS__)

struct gamma_fi_ep;
struct gamma_eq;
struct gamma_mr;
struct gamma_waitset;

#endif /* GAMMA_PROV_PROV_H */
