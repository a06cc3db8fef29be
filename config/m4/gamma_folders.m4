# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# GAMMA_DECIDE_FOLDER(VARIABLE, DEFAULT, OWN, OPTION): where a file goes that another library looks
# for. VARIABLE holds what the user gave with OPTION, or nothing. Then it becomes DEFAULT, the
# library's own folder, unless this user can install into --prefix and not there: then OWN, a folder
# below the prefix, and gamma_notices says so. DEFAULT stays if neither can be written to: root will install.

# Whether this user can write to a folder, or make it: _GAMMA_CAN_WRITE(FOLDER).
AC_DEFUN([_GAMMA_CAN_WRITE], [(
	folder=$1
	while test ! -e "$folder" && test "x$folder" != x; do
		folder=`AS_ECHO(["$folder"]) | sed 's|/@<:@^/@:>@*$||'`
	done
	test -w "${folder:-/}")])

AC_DEFUN([GAMMA_DECIDE_FOLDER], [
	AS_IF([test "x$$1" = x || test "x$$1" = xyes], [
		$1=$2
		gamma_prefix=$prefix
		AS_IF([test "x$gamma_prefix" = xNONE], [gamma_prefix=$ac_default_prefix])
		AS_CASE(["$$1/"], ["$gamma_prefix"/*], [],
			[AS_IF([! _GAMMA_CAN_WRITE(["$$1"]) && _GAMMA_CAN_WRITE(["$gamma_prefix"])],
				[gamma_notices="$gamma_notices
  You cannot write to $$1: without $4 the file goes below --prefix.
  To install there, pass $4=$$1 and run make install as root."
				$1='$3'])])
	])
])
