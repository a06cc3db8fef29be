#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# MPICH 5.0 (the Python wheel) over gamma's UDP link: ranks of an ordinary user without any
# capability, with no daemon on either host, across two hosts, on one, and under loss. Functions are
# called through check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=mpi.sh
. "$top_srcdir/fabtests/functional/mpi.sh"

need_tool jq python3 setpriv
gamma_setup_env
lab_up 2 --offloads
mpi_use mpich || skip "$mpi_missing"

# The user may not read the build folder.
shared=/run/gamma-lab/$lab_name/shared
mkdir "$shared/lib"
for entry in "${gamma_env[@]}"; do
	[[ $entry != FI_PROVIDER_PATH=* ]] || cp -L "${entry#*=}/libgamma-fi.so" "$shared/lib"
done
cp -r "$mpi_folder" "$shared/mpich"
cp -r "${mpi_env[0]#PYTHONPATH=}" "$shared/mpi4py"
install -m 644 "$conformance" "$shared/conformance.py"
chmod -R a+rX "$shared/lib" "$shared/mpich" "$shared/mpi4py"
conformance=$shared/conformance.py
install -m 666 /dev/null "$shared/stats"
gamma_env=("FI_PROVIDER_PATH=$shared/lib" "FI_GAMMA_STATS=$shared/stats" FI_GAMMA_IFACE=gam0)
mpi_env+=("PYTHONPATH=$shared/mpi4py" "LD_LIBRARY_PATH=$shared/mpich/lib" PYTHONDONTWRITEBYTECODE=1
	MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=gamma)

# Words in front of each rank's program. Another python3 may be root's alone.
mpi_way=(setpriv --reuid daemon --regid daemon --clear-groups --inh-caps=-all --bounding-set=-all
	env "PATH=/usr/bin:/bin")

no_rights() {
	mpi_run 60 node01,node02 2 sed -n 's/^Cap\(Eff\|Prm\|Amb\):\s*//p' /proc/self/status &&
		[ "$(grep -cx 0000000000000000 "$work/mpi.out")" -eq 6 ]
}

check "the ranks have no capability" no_rights
mpi_stats=$shared/stats
mpi_conforms "UDP, across" node01,node02 2 messages collective onesided threads
counted "UDP, across: by UDP" 'all(.endpoint | startswith("0a4e") or startswith("10.78.0"))'
mpi_conforms "UDP, two on each of two hosts" node01,node02 4 messages collective onesided
mpi_env+=(MPIR_CVAR_NOLOCAL=1) # else peers on a host bypass the provider
mpi_conforms "UDP, on one host" node01 2 messages collective onesided
finish
