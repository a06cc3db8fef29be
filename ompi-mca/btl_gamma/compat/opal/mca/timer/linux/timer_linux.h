// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * In the place of another header that Open MPI 5.0 includes and does not install. The BTL does not
 * use Open MPI's clock.
 */
#ifndef GAMMA_BTL_COMPAT_TIMER_H
#define GAMMA_BTL_COMPAT_TIMER_H

#include "opal/sys/timer.h"

#endif
