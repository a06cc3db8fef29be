#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Intel MPI (the Python wheel) over gamma, across two hosts, on one, and with more ranks than
# cores; its own benchmarks, and that it is not moved by a gamma that it can load but was not
# asked to use. Functions are called through check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=mpi.sh
. "$top_srcdir/fabtests/functional/mpi.sh"

need_long
need_tool jq python3

# settings PROVIDERS-FOLDER: the provider that the library reports, unasked.
settings() {
	local path=${gamma_env[0]} kept=("${mpi_env[@]}")
	gamma_env[0]=FI_PROVIDER_PATH=$1
	mpi_env+=(I_MPI_DEBUG=5)
	mpi_run 60 node01,node02 2 python3 "$conformance" messages_sizes || true
	gamma_env[0]=$path
	mpi_env=("${kept[@]}")
	grep -aoE '^ok.*|libfabric provider:.*|Number of NICs:.*' "$work/mpi.out"
}

# All its providers are in one folder, which FI_PROVIDER_PATH would replace.
unasked() {
	local without with folder=$work/providers
	mkdir "$folder"
	ln -s "$mpi_folder"/lib/*-fi.so "$folder"
	without=$(settings "$folder")
	ln -s "${gamma_env[0]#*=}/libgamma-fi.so" "$folder"
	with=$(settings "$folder")
	printf 'without gamma:\n%s\nwith:\n%s\n' "$without" "$with"
	grep -q '^ok' <<<"$with" && [ "$with" = "$without" ] && [ ! -e "$work/stats" ]
}

# benchmark TEXT PROGRAM [NAME...]: of Intel's, which runs to its end.
benchmark() {
	local text=$1
	shift
	if mpi_run 120 node01,node02 2 "$@" -iter 50 -msglog 20 -time 2 &&
		grep -qa 'All processes entering MPI_Finalize' "$work/mpi.out"; then
		ok "$text"
		counted "$text: by gamma" 'map(select(.messages_out > 0)) | length >= 2'
	else
		not_ok "$text" "$work/mpi.out"
	fi
}

gamma_setup_env
lab_up 2
count_frames
mpi_use impi || skip "$mpi_missing"

check "an installed gamma changes nothing for who did not ask" unasked

mpi_env+=(I_MPI_OFI_PROVIDER=gamma)
mpi_conforms "across" node01,node02 2 messages collective onesided threads
mpi_conforms "on one host" node01 2 messages collective onesided threads
mpi_conforms "two on each of two hosts" node01,node02 4 messages collective onesided
# Without spawn_connected: a fault of Intel MPI, see doc/known-issues.md.
mpi_conforms "processes that start others" node01,node02 2 spawn_two spawn_repeated
benchmark "IMB-MPI1" IMB-MPI1 PingPong Exchange Allreduce Alltoall Bcast
benchmark "IMB-RMA" IMB-RMA
benchmark "IMB-NBC" IMB-NBC Iallreduce Ialltoall

if mpi_use impi_without_libfabric; then
	mpi_env+=(I_MPI_OFI_PROVIDER=gamma)
	mpi_conforms "with the system's libfabric" node01,node02 2 messages collective
else
	echo "not checked: a release without a libfabric of its own: $mpi_missing"
fi
finish
