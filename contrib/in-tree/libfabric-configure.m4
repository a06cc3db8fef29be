dnl SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
dnl The provider gamma within libfabric: what libfabric's own configure asks about it.
dnl $1: what to do if it can be built, $2: if not.
AC_DEFUN([FI_GAMMA_CONFIGURE],
	[gamma_happy=0
	 gamma_CPPFLAGS=
	 gamma_LIBS="-lmnl -lpthread"
	 AS_IF([test "x$enable_gamma" != xno],
		[AC_CHECK_HEADERS([linux/if_packet.h linux/filter.h libmnl/libmnl.h],
			[gamma_happy=1], [gamma_happy=0; break])])
	 AS_IF([test $gamma_happy -eq 1],
		[AC_CHECK_LIB([mnl], [mnl_socket_open], [:], [gamma_happy=0])
		 AC_SEARCH_LIBS([dlopen], [dl])
		 dnl Loaded when it is needed: headers only.
		 AC_CHECK_HEADER([hwloc.h], [gamma_CPPFLAGS="$gamma_CPPFLAGS -DGAMMA_HWLOC"])
		 dnl AF_XDP needs the headers of Linux 5.9.
		 AC_CHECK_DECL([XDP_USE_NEED_WAKEUP],
			[AC_CHECK_DECL([BPF_LINK_CREATE],
				[gamma_CPPFLAGS="$gamma_CPPFLAGS -DGAMMA_XDP"], [],
				[[#include <linux/bpf.h>]])],
			[], [[#include <linux/if_xdp.h>]])])
	 AC_SUBST([gamma_CPPFLAGS])
	 AC_SUBST([gamma_LIBS])
	 AS_IF([test $gamma_happy -eq 1], [$1], [$2])])
