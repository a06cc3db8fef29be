dnl SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
dnl The component btl gamma within Open MPI 4.1, which asks about libfabric once for all components.
dnl $1: what to do if it can be built, $2: if not.
AC_DEFUN([MCA_opal_btl_gamma_CONFIG],
	[AC_CONFIG_FILES([opal/mca/btl/gamma/Makefile])
	 OPAL_CHECK_OFI
	 AS_IF([test "x$opal_ofi_happy" = xyes], [$1], [$2])])
