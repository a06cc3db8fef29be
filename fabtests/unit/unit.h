/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What every unit test of common/ includes: cmocka, which wants these headers before it. */
#ifndef GAMMA_TEST_UNIT_H
#define GAMMA_TEST_UNIT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#define TEST(name) cmocka_unit_test(name)

#endif /* GAMMA_TEST_UNIT_H */
