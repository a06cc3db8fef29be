/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where programs written for the original look for it. */
#include "../../gamma/libgamma.h"
