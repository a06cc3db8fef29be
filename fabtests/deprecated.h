/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For tests that use what programs written for libfabric 1.x go on using and the headers of 2.x
 * warn of: such programs run over gamma with either. Included after libfabric's headers.
 */
#ifndef FABTESTS_DEPRECATED_H
#define FABTESTS_DEPRECATED_H

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* 2.x makes each use of these a warning that no option turns off. */
#undef FI_MR_BASIC
#undef FI_MR_SCALABLE
#undef FI_ORDER_DATA
#undef FI_ORDER_STRICT
#define FI_MR_BASIC     (1 << 0)
#define FI_MR_SCALABLE  (1 << 1)
#define FI_ORDER_DATA   (1ull << 16)
#define FI_ORDER_STRICT 0x1ffull

#endif
