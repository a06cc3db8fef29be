# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# GAMMA_CHECK_OPENMPI: the Open MPI that the component is for. Sets build_openmpi to yes or no and
# openmpi_state to one line about it, and OPENMPI_CPPFLAGS, _CFLAGS, _LDFLAGS, _LIBS and
# openmpicomponentdir. Asked for by --with-openmpi and not usable: an error.

# _GAMMA_OMPI_INFO(KEY): prints the value of the first line "KEY:value" of ompi_info.
AC_DEFUN([_GAMMA_OMPI_INFO], [sed -n 's|^$1:||p' conftest.ompi | sed 1q])

# Prints the folder options of what mpicc uses: _GAMMA_SHOWME(WORD, PREFIX).
AC_DEFUN([_GAMMA_SHOWME],
	[$MPICC --showme:$1 2>/dev/null | tr ' ' '\n' | sed '/./!d; s|^|$2|' | tr '\n' ' '])

AC_DEFUN([_GAMMA_OPENMPI_COMPILES], [
	AC_MSG_CHECKING([whether a component for it compiles])
	gamma_save_CPPFLAGS=$CPPFLAGS gamma_save_CFLAGS=$CFLAGS
	gamma_save_LDFLAGS=$LDFLAGS gamma_save_LIBS=$LIBS
	CPPFLAGS="$OPENMPI_CPPFLAGS -idirafter $srcdir/ompi-mca/btl_gamma/compat $CPPFLAGS"
	CFLAGS="$CFLAGS $OPENMPI_CFLAGS"
	LDFLAGS="$LDFLAGS $OPENMPI_LDFLAGS" LIBS="$OPENMPI_LIBS $LIBS"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([[
		#include "opal_config.h"
		#include "opal/mca/btl/btl.h"
		#include "opal/mca/btl/base/base.h"
		#if OPAL_MAJOR_VERSION >= 5
		#include "opal/mca/pmix/pmix-internal.h"
		#endif
		#if OPAL_MAJOR_VERSION < 4 || (OPAL_MAJOR_VERSION == 4 && OPAL_MINOR_VERSION < 1)
		#error too old
		#endif
		extern const char opal_version_string[];
		]], [[return opal_btl_base_framework.framework_output + opal_version_string[0];]])],
		[gamma_openmpi_compiles=yes], [gamma_openmpi_compiles=no])
	CPPFLAGS=$gamma_save_CPPFLAGS CFLAGS=$gamma_save_CFLAGS
	LDFLAGS=$gamma_save_LDFLAGS LIBS=$gamma_save_LIBS
	AC_MSG_RESULT([$gamma_openmpi_compiles])
])

# Sets openmpi_state to what is in the way, or to "yes".
AC_DEFUN([_GAMMA_FIND_OPENMPI], [
	AC_PATH_PROGS([OMPI_INFO], [ompi_info], [], [$gamma_openmpi_path])
	AC_PATH_PROGS([MPICC], [mpicc.openmpi mpicc], [], [$gamma_openmpi_path])
	AS_IF([test "x$OMPI_INFO" = x || test "x$MPICC" = x],
		[openmpi_state="no Open MPI found (ompi_info and mpicc; Debian: libopenmpi-dev)"],
		[! $OMPI_INFO --parsable --all >conftest.ompi 2>/dev/null],
		[openmpi_state="$OMPI_INFO does not run"],
		[
		openmpi_version=`_GAMMA_OMPI_INFO([ompi:version:full])`
		AS_CASE([`_GAMMA_OMPI_INFO([option:dlopen])`],
			[no*], [openmpi_state="Open MPI $openmpi_version of $OMPI_INFO was built without dlopen support: it loads no components"],
			[openmpi_state=yes])
		])
])

AC_DEFUN([_GAMMA_OPENMPI_FLAGS], [
	gamma_folders="`_GAMMA_SHOWME([incdirs], [])` `_GAMMA_OMPI_INFO([path:incdir])` `_GAMMA_OMPI_INFO([path:pkgincludedir])`"
	OPENMPI_CPPFLAGS=
	for folder in $gamma_folders; do
		OPENMPI_CPPFLAGS="$OPENMPI_CPPFLAGS -isystem $folder"
	done
	# Structures differ with and without 16-byte compare-and-swap: as the library was built.
	AS_CASE([`_GAMMA_OMPI_INFO([option:build:cflags])`], [*-mcx16*], [OPENMPI_CFLAGS=-mcx16],
		[OPENMPI_CFLAGS=])
	OPENMPI_LDFLAGS="`_GAMMA_SHOWME([libdirs], [-L])`-L`_GAMMA_OMPI_INFO([path:libdir])`"
	OPENMPI_LIBS="-lopen-pal"
	# Since 5.0 components call PMIx themselves.
	AS_CASE([$openmpi_version], [4.*], [], [
		OPENMPI_CPPFLAGS="$OPENMPI_CPPFLAGS `$PKG_CONFIG --cflags-only-I pmix 2>/dev/null | sed 's/-I/-isystem /g'`"
		OPENMPI_LIBS="$OPENMPI_LIBS `$PKG_CONFIG --libs pmix 2>/dev/null || echo -lpmix`"
	])
])

AC_DEFUN([GAMMA_CHECK_OPENMPI], [
	AC_ARG_WITH([openmpi],
		[AS_HELP_STRING([--with-openmpi@<:@=DIR@:>@],
			[build the component for Open MPI 4.1 or 5.0, of DIR/bin if given (default: if found)])])
	AC_ARG_WITH([openmpi-componentdir],
		[AS_HELP_STRING([--with-openmpi-componentdir=DIR],
			[where it is installed (default: where that Open MPI looks, or LIBDIR/openmpi if you can write to PREFIX only)])])
	AC_ARG_VAR([MPICC], [mpicc of the Open MPI that the component is for])
	AC_ARG_VAR([OMPI_INFO], [ompi_info of the same])
	AS_CASE(["x$with_openmpi"], [x|xyes|xno], [gamma_openmpi_path=$PATH],
		[gamma_openmpi_path=$with_openmpi/bin])
	build_openmpi=no
	AS_IF([test "x$with_openmpi" = xno], [openmpi_state="not asked for"],
		[_GAMMA_FIND_OPENMPI])
	AS_IF([test "x$openmpi_state" = xyes], [
		_GAMMA_OPENMPI_FLAGS
		_GAMMA_OPENMPI_COMPILES
		AS_IF([test $gamma_openmpi_compiles = yes], [build_openmpi=yes],
			[openmpi_state="Open MPI $openmpi_version has no headers for components, or is older than 4.1 (Debian: libopenmpi-dev; from source: configure --with-devel-headers)"])
	])
	AS_IF([test $build_openmpi = yes], [
		openmpi_folder=`_GAMMA_OMPI_INFO([path:pkglibdir])`
		GAMMA_DECIDE_FOLDER([with_openmpi_componentdir], [$openmpi_folder],
			[${libdir}/openmpi], [--with-openmpi-componentdir])
		AS_CASE([$with_openmpi_componentdir], [/* | \[$]*], [],
			[AC_MSG_ERROR([--with-openmpi-componentdir takes an absolute folder, not $with_openmpi_componentdir])])
		openmpi_state="Open MPI $openmpi_version, component folder $with_openmpi_componentdir"
		],
		[AS_CASE(["x$with_openmpi"], [x|xno], [openmpi_state="not built: $openmpi_state"],
			[AC_MSG_ERROR([$openmpi_state])])])
	rm -f conftest.ompi
	AC_SUBST([OPENMPI_CPPFLAGS])
	AC_SUBST([OPENMPI_CFLAGS])
	AC_SUBST([OPENMPI_LDFLAGS])
	AC_SUBST([OPENMPI_LIBS])
	AC_SUBST([openmpi_folder])
	AC_SUBST([openmpicomponentdir], [$with_openmpi_componentdir])
	AM_CONDITIONAL([BUILD_OPENMPI], [test $build_openmpi = yes])
])
