dnl SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
dnl The component btl gamma within Open MPI 5, which gives each component variables of its own.
dnl $1: what to do if it can be built, $2: if not.
AC_DEFUN([MCA_opal_btl_gamma_CONFIG],
	[AC_CONFIG_FILES([opal/mca/btl/gamma/Makefile])
	 OPAL_CHECK_OFI([btl_gamma], [btl_gamma_happy=yes], [btl_gamma_happy=no])
	 AC_SUBST([btl_gamma_CPPFLAGS])
	 AC_SUBST([btl_gamma_LDFLAGS])
	 AC_SUBST([btl_gamma_LIBS])
	 AS_IF([test "x$btl_gamma_happy" = xyes], [$1], [$2])])
