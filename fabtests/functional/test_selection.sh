#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Selection: an installed provider is listed, but serves only programs that name it; a program
# that names it gets one line on standard error if it cannot serve. Functions are called through
# check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

need_tool fi_info unshare
query=$abs_top_builddir/fabtests/functional/query
[ -x "$query" ] || bail "fabtests/functional/query is not built: make check builds it"

no_data=61 # FI_ENODATA

# ask ENVIRONMENT... COMMAND...: on node01; its exit status in $status, output in $work/out and
# $work/err.
ask() {
	status=0
	on node01 env "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# shown TEXT: as a failure, with what was written.
shown() {
	not_ok "$1 (exit $status)" "$work/out" "$work/err"
}

# Whether gamma, alone or under a layer, is an answer of query or fi_info.
has_gamma() {
	grep -Eq '^(provider: )?gamma\b' "$work/out"
}

# serves TEXT ENVIRONMENT... COMMAND...
serves() {
	local text=$1
	shift
	ask "$@"
	if [ "$status" -eq 0 ] && has_gamma && [ ! -s "$work/err" ]; then
		ok "$text"
	else
		shown "$text"
	fi
}

# passes_by TEXT ENVIRONMENT... COMMAND...: gamma is no answer, and says nothing; others may be.
passes_by() {
	local text=$1
	shift
	ask "$@"
	if [[ $status = 0 || $status = "$no_data" ]] && ! has_gamma && [ ! -s "$work/err" ]; then
		ok "$text"
	else
		shown "$text"
	fi
}

# judge_refusal TEXT PATTERN: of the last command.
judge_refusal() {
	if [ "$status" -eq "$no_data" ] && [ "$(wc -l <"$work/err")" -eq 1 ] &&
		grep -Eq -- "^gamma: .*$2" "$work/err"; then
		ok "$1"
	else
		shown "$1: wanted exit $no_data and one line that matches $2"
	fi
}

# refuses TEXT PATTERN ENVIRONMENT... COMMAND...
refuses() {
	local text=$1 pattern=$2
	shift 2
	ask "$@"
	judge_refusal "$text" "$pattern"
}

# Three queries in one process: a reason is reported once.
named=("$query" -p gamma -c msg -r 3)

lab_up 2

# ---- an inventory lists it, a query for another provider does not ----

serves "an inventory without hints" fi_info
serves "an inventory with empty hints" "$query"
serves "an inventory as of libfabric 1.5" "$query" -V 1.5
passes_by "messages for anybody" "$query" -c msg
passes_by "as Open MPI asks" "$query" -V 1.9 -c msg -c tagged -t rdm
passes_by "as MPICH asks" "$query" -V 1.17 -c msg -c tagged -t rdm
passes_by "datagrams for anybody" "$query" -c msg -t dgram
passes_by "an address for anybody" "$query" -n "$(data_ip 2)" -P 7001
passes_by "another provider by its name" "$query" -p tcp -c msg
serves "everybody, if the administrator wants" FI_GAMMA_AUTO=1 "$query" -c msg -c tagged -t rdm
passes_by "unless not" FI_GAMMA_AUTO=0 "$query" -c msg -c tagged -t rdm

# ---- programs that name it ----

serves "named by the hints" "$query" -p gamma -c msg -c tagged -t rdm
serves "named to fi_info" fi_info -p gamma -t FI_EP_RDM -c 'FI_MSG|FI_TAGGED'
for variable in FI_PROVIDER OMPI_MCA_opal_common_ofi_provider_include OMPI_MCA_mtl_ofi_provider_include OMPI_MCA_btl_ofi_provider_include \
	MPIR_CVAR_OFI_USE_PROVIDER I_MPI_OFI_PROVIDER; do
	serves "named by $variable" $variable=gamma "$query" -c msg -t rdm
	passes_by "$variable names another" $variable=tcp "$query" -c msg -t rdm
done
serves "named in a list" OMPI_MCA_mtl_ofi_provider_include=psm3,gamma "$query" -c msg
passes_by "excluded by a list" OMPI_MCA_mtl_ofi_provider_include=^gamma "$query" -c msg
passes_by "excluded by FI_PROVIDER" FI_PROVIDER=^gamma "$query"
passes_by "a name that only begins like it" I_MPI_OFI_PROVIDER=gamma2 "$query" -c msg

# ---- never under libfabric's layers: its reliable messages are its own ----

for arguments in "" "-p gamma" "-t FI_EP_RDM"; do
	# shellcheck disable=SC2086 # several words
	ask FI_GAMMA_AUTO=1 fi_info $arguments
	if [ "$status" -eq 0 ] && grep -q '^provider: gamma$' "$work/out" &&
		! grep -q 'gamma;' "$work/out"; then
		ok "no layer above gamma in fi_info $arguments"
	else
		shown "no layer above gamma in fi_info $arguments"
	fi
done
for layer in ofi_rxd ofi_rxm; do
	check_fails "gamma;$layer does not exist" "^fi_getinfo: -$no_data" \
		on node01 fi_info -p "gamma;$layer"
done

# ---- interfaces ----

domains() {
	on node01 env "$@" "$query" -p gamma | sed -n 's/^gamma RDM //p'
}
check "FI_GAMMA_IFACE by name" test "$(domains FI_GAMMA_IFACE=mgt0)" = mgt0
check "FI_GAMMA_IFACE by MAC" test "$(domains FI_GAMMA_IFACE="$(data_mac 1)")" = gam0
# Several NICs: their common domain first, and each of them in an inventory.
check "two NICs in one domain" test "$(domains FI_GAMMA_IFACE=mgt0,gam0 | tr '\n' ' ')" = \
	"mgt0,gam0 gam0 mgt0 "
check "the same by name and MAC address" test "$(domains \
	FI_GAMMA_IFACE=mgt0,"$(data_mac 1)" | head -1)" = mgt0,gam0
check "two NICs for a program" test "$(on node01 env FI_GAMMA_IFACE=gam0,mgt0 "$query" \
	-p gamma -c msg | sed -n 's/^gamma RDM //p')" = gam0,mgt0
check "one of the two by its domain" test "$(on node01 env FI_GAMMA_IFACE=gam0,mgt0 "$query" \
	-p gamma -c msg -d mgt0 | sed -n 's/^gamma RDM //p')" = mgt0
check "two NICs by their domain alone" test "$(on node01 "$query" \
	-p gamma -c msg -d mgt0,gam0 | sed -n 's/^gamma RDM //p')" = mgt0,gam0
check_fails "a domain with an interface that does not exist" \
	"domain gam0,gam7: this host has no interface gam7; ip link" \
	on node01 "$query" -p gamma -c msg -d gam0,gam7
refuses "a list with an interface that does not exist" \
	"FI_GAMMA_IFACE=gam0,gam7: this host has no interface gam7; ip link" \
	FI_GAMMA_IFACE=gam0,gam7 "${named[@]}"
refuses "a list that names one twice" "FI_GAMMA_IFACE=gam0,gam0: gam0 is named twice.*once" \
	FI_GAMMA_IFACE=gam0,gam0 "${named[@]}"
# The ranks of a program would be divided among the NICs they are offered.
offered() {
	on node01 env "$@" | sed -n 's/^gamma RDM //p' | sort | tr '\n' ' '
}
check "an inventory lists every NIC" test "$(offered "$query")" = "gam0 mgt0 "
check "and so if FI_PROVIDER names gamma" \
	test "$(offered FI_PROVIDER=gamma "$query")" = "gam0 mgt0 "
check "one NIC for who means to use it" test "$(offered "$query" -p gamma -c msg)" = "gam0 "
check "one NIC for Open MPI" \
	test "$(offered OMPI_MCA_mtl_ofi_provider_include=gamma "$query" -c tagged)" = "gam0 "
check "one NIC for MPICH" test "$(offered MPIR_CVAR_OFI_USE_PROVIDER=gamma "$query")" = "gam0 "
check "another one by its domain" \
	test "$(offered "$query" -p gamma -c msg -d mgt0)" = "mgt0 "
refuses "an interface that does not exist" "FI_GAMMA_IFACE=gam7: .*ip link" \
	FI_GAMMA_IFACE=gam7 "${named[@]}"
refuses "an interface that is none for it" "FI_GAMMA_IFACE=lo: lo is the loopback.*name a NIC" \
	FI_GAMMA_IFACE=lo "${named[@]}"
refuses "a host without a NIC" "no usable network interface: .*FI_LOG_LEVEL=info" \
	unshare -n "${named[@]}"
passes_by "a host without a NIC, in silence if not named" unshare -n "$query"
log_names_reason() {
	ask FI_LOG_LEVEL=info unshare -n "${named[@]}"
	grep -Eq 'gamma.* lo is left out: ' "$work/err"
}
check "the log says why an interface is left out" log_names_reason
lab cable node01 pull >/dev/null
refuses "an interface without carrier" "FI_GAMMA_IFACE=gam0: .*no carrier.*cable" \
	FI_GAMMA_IFACE=gam0 "${named[@]}"
lab cable node01 plug >/dev/null

# ---- the configuration file ----

conf=$work/gamma.conf
printf '# hosts\nnode01 02:47:41:4d:00:01\nnode02 0x02 0x47 0x41\n' >"$conf"
refuses "a broken file: its name and line, what is wrong, what to do" \
	"$conf:3: 3 bytes of MAC.*write all six" FI_GAMMA_CONF="$conf" "${named[@]}"
passes_by "a broken file, in silence if not named" FI_GAMMA_CONF="$conf" "$query"
refuses "a file that does not exist" "$work/none: cannot be opened .*check its name" \
	FI_GAMMA_CONF="$work/none" "${named[@]}"

# ---- variables ----

# Those that hold any text, and those above; all others of fi_info's list refuse bad_value.
bad_value=-7x
list_variables() {
	on node01 fi_info -g FI_GAMMA_ | sed -n 's/^# \(FI_GAMMA_[A-Z_]*\):.*/\1/p'
}
mapfile -t variables < <(list_variables)
check "fi_info lists the variables" test "${#variables[@]}" -ge 11
for variable in "${variables[@]}"; do
	case $variable in
	FI_GAMMA_FABRIC | FI_GAMMA_STATS | FI_GAMMA_IFACE | FI_GAMMA_CONF | FI_GAMMA_BROKER) continue ;;
	esac
	refuses "$variable=$bad_value" "$variable=$bad_value.*(must be|set one)" \
		"$variable=$bad_value" "${named[@]}"
	passes_by "$variable=$bad_value, in silence if not named" "$variable=$bad_value" "$query"
done
refuses "a number out of range" "RING_SIZE=1: must be 65536 to 1073741824 bytes" \
	FI_GAMMA_RING_SIZE=1 "${named[@]}"
refuses "a name that is misspelt: the nearest" \
	"FI_GAMMA_RINGSIZE is none of gamma's variables \(is it FI_GAMMA_RING_SIZE\?\)" \
	FI_GAMMA_RINGSIZE=65536 "${named[@]}"
refuses "a name in lower case" "FI_GAMMA_iface is none .*\(is it FI_GAMMA_IFACE\?\)" \
	FI_GAMMA_iface=gam0 "${named[@]}"
refuses "a name that is like none" "FI_GAMMA_FRUIT is none of gamma's variables, which" \
	FI_GAMMA_FRUIT=1 "${named[@]}"
check "FI_GAMMA_FABRIC is the fabric's name" \
	test "$(on node01 env FI_GAMMA_FABRIC=left fi_info -p gamma | grep -c 'fabric: left$')" -gt 0

# ---- a user without privilege ----

# ask_user ENVIRONMENT... COMMAND...: as ask, but as labuser, and not over UDP.
ask_user() {
	status=0
	lab run labuser node01 env "${gamma_env[@]}" FI_GAMMA_LINK=packet "$@" >"$work/out" 2>"$work/err" </dev/null ||
		status=$?
}
if lab run labuser node01 test -x "$query"; then
	ask_user "${named[@]}"
	judge_refusal "no privilege: the reason and what to do" "CAP_NET_RAW.*root.*setcap"
	ask_user FI_PROVIDER=gamma "$query" -c msg
	judge_refusal "no privilege, named by a variable" "CAP_NET_RAW"
	for arguments in "" "-c msg"; do
		# shellcheck disable=SC2086 # several words
		ask_user "$query" $arguments
		if [ "$status" -eq 0 ] && ! has_gamma && [ ! -s "$work/err" ]; then
			ok "no privilege, not named: silence, other providers serve ($arguments)"
		else
			shown "no privilege, not named ($arguments)"
		fi
	done
else
	echo "not checked: users without privilege, who cannot reach $abs_top_builddir"
fi

finish
