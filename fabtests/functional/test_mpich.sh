#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# MPICH 5.0 (the Python wheel) over gamma through ch4:ofi, across two hosts, on one, and with
# more ranks than cores; and that it is not moved by a gamma that it can load but was not asked
# to use. Functions are called through check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=mpi.sh
. "$top_srcdir/fabtests/functional/mpi.sh"

need_tool jq python3

# settings PROVIDERS-FOLDER [VARIABLE...]: what the library reports of its devices, unasked.
settings() {
	local path=${gamma_env[0]} kept=("${mpi_env[@]}")
	gamma_env[0]=FI_PROVIDER_PATH=$1
	mpi_env+=(MPIR_CVAR_DEBUG_SUMMARY=1 "${@:2}")
	mpi_run 60 node01,node02 2 python3 "$conformance" messages_sizes || true
	gamma_env[0]=$path
	mpi_env=("${kept[@]}")
	# What gamma scores as a candidate is no matter; what is chosen is.
	grep -aE '^ok|netmod|^libfabric provider|num_nics' "$work/mpi.out"
}

unasked() {
	local without with
	without=$(settings /nonexistent "$@")
	with=$(settings "${gamma_env[0]#*=}" "$@")
	printf 'without gamma:\n%s\nwith:\n%s\n' "$without" "$with"
	grep -q '^ok' <<<"$with" && [ "$with" = "$without" ] && [ ! -e "$work/stats" ]
}

gamma_setup_env
lab_up 2
count_frames
mpi_use mpich || skip "$mpi_missing"

check "an installed gamma changes nothing for who did not ask" unasked
check "nor for who asked for libfabric" unasked MPIR_CVAR_CH4_NETMOD=ofi

mpi_env+=(MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=gamma)
mpi_conforms "across" node01,node02 2 messages collective onesided threads
mpi_conforms "two on each of two hosts" node01,node02 4 messages collective onesided
mpi_conforms "processes that start others" node01,node02 2 spawn
mpi_env+=(MPIR_CVAR_NOLOCAL=1) # else peers on a host bypass the provider
mpi_conforms "on one host" node01 2 messages collective onesided threads

finish
