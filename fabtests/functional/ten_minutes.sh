#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The first ten minutes of a cluster, word for word as doc/install.md has them, where nothing but a
# minimal Debian is installed (lab/packages starts it there): from the packages to a job that is
# watched. Two hosts of the lab share the folders of programs, so the packages are installed once.
# In place of systemd a script does what the service's unit says. Functions are called through check:
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
[ -d /lent/new ] || skip "this is no folder of lab/packages"
export GAMMA_BUILD=installed # for lab/lab
gamma_env=(LC_ALL=C "PATH=$work:$PATH")
limit=600 # seconds: what the document promises
began=$SECONDS

# ---- the document's words ----

# block NUMBER: the indented commands, of the paragraphs behind that line; lines that end in \ are one.
block() {
	awk -v wanted="$1" '
		/^To set up a cluster in ten minutes/ { within = 1 }
		/^###/ { within = 0 }
		within && /^    / { if (!inside) number++; inside = 1 }
		!/^    / { inside = 0 }
		within && inside && number == wanted { print substr($0, 5) }' \
		"$top_srcdir/doc/install.md" | sed -e ':a' -e '/\\$/N; s/\\\n *//; ta'
}

# line BLOCK PATTERN: the one command there that begins so.
line() {
	local found
	found=$(block "$1" | grep -E "^$2") || bail "install.md, block $1 has no '$2'"
	[ "$(wc -l <<<"$found")" -eq 1 ] || bail "install.md, block $1 has several '$2'"
	echo "$found"
}

# says TEXT COMMAND...: a check, named by the command as it stands there; "yes" to its questions.
says() { # COMMAND WHERE...
	local command=$1 status=0
	shift
	(yes 2>/dev/null || true) | "$@" sh -c "$command" >"$work/check.out" 2>&1 || status=$?
	if [ "$status" -eq 0 ]; then
		ok "$command ($((SECONDS - began)) s)"
	else
		not_ok "$command (exit $status)" "$work/check.out"
	fi
}

shows() { # TEXT PATTERN: in what the last command wrote
	if grep -Eq -- "$2" "$work/check.out"; then ok "$1"; else not_ok "$1 (no line matches $2)" "$work/check.out"; fi
}

# ---- on each host ----

cd /lent/new
says "$(line 1 'apt-get update')" env
says "$(line 1 'apt-get install')" env
cp /etc/gammad.conf "$work/gammad.conf" # hosts of the lab begin without one
# What the lab itself needs, and a person does by hand on real hosts; not counted.
paused=$SECONDS
apt-get -q -y --no-install-recommends install iproute2 ethtool nftables procps util-linux passwd \
	libcap2-bin python3 jq >"$work/lab.apt" 2>&1 || not_ok "what the lab needs" "$work/lab.apt"
began=$((began + SECONDS - paused))
lab_up 2
mkdir "/run/gamma-lab/$lab_name/gammad"

cat >"$work/systemctl" <<-END
	#!/bin/sh
	[ "\$*" = "restart gammad" ] || { echo "systemctl \$*: not in this test"; exit 1; }
	unit=\$(dpkg -L gammad | grep '/gammad\.service\$')
	sh -c "\$(sed -n 's/^ExecCondition=//p' "\$unit")" || exit 0
	host=\$(cat /etc/hostname)
	exec "$lab_tool" -n "$lab_name" __gammad_host "\${host#node0}"
END
chmod +x "$work/systemctl"
for host in node01 node02; do
	lab exec "$host" sh -ec 'ip link set gam0 down; ip link set gam0 name eth1; ip link set eth1 up'
	lab exec "$host" sh -c 'cat >/etc/gammad.conf; rm -f /etc/gamma.conf' <"$work/gammad.conf"
	says "$(line 1 'echo ')" on "$host"
	says "$(line 1 'systemctl ')" on "$host"
	says "$(line 1 'gammactl status')" on "$host"
	shows "$host: gammad serves eth1" 'eth1.*0.*64'
done
: >"/run/gamma-lab/$lab_name/gammad/environment" # users need no capability

# ---- on one host ----

says "$(line 2 'gamma-discover --write')" on node01
shows "both hosts are found" '^\+node02 '
on node01 cat /etc/gamma.conf >"$work/gamma.conf"
check "and written" grep -q '^node01 ' "$work/gamma.conf"
on node02 sh -c 'cat >/etc/gamma.conf' <"$work/gamma.conf" # "copy it to all hosts"

# The table is what counts: on a busy machine one of two hosts may be slower.
checked() {
	on node01 sh -c "$(line 2 'gamma-discover --check')" >"$work/check.out" 2>&1 </dev/null ||
		grep -q 'a round trip takes\|full frames take' "$work/check.out"
}
if checked; then ok "$(line 2 'gamma-discover --check')"; else not_ok "gamma-discover --check" "$work/check.out"; fi
shows "its table has both" '^node02 .* pass '

# ---- as an ordinary user ----

cd "$work"
chmod 755 "$work"
if grep -q '^VERSION_ID="13"' /etc/os-release; then
	eval "$(block 4)" # sets:
	: "${OMPI_MCA_mca_base_component_path:=}"
	check "the component's folder" test -e "$OMPI_MCA_mca_base_component_path/mca_btl_gamma.so"
fi
read -ra words <<<"$(line 3 mpirun)"
cp /lent/mpi_job program
# As it stands there, by way of the lab's remote shell.
job() { lab "${words[@]:0:${#words[@]}-1}" "$work/program"; }
check "${words[*]} ($((SECONDS - began)) s)" job

printf '#!/bin/sh\nexec /lent/mpi_job wait\n' >program
: >"$work/job.out"
setsid "$lab_tool" -n "$lab_name" "${words[@]:0:${#words[@]}-1}" "$work/program" \
	>"$work/job.out" 2>&1 </dev/null &
job_pid[job]=$!
watched() {
	lab run labuser node01 sh -c "$(line 3 'gamma-stat')" >"$work/check.out" 2>&1 &&
		grep -Eq '^labuser +[0-9]+ mpi_job ' "$work/check.out"
}
if until_true 20 watched; then ok "gamma-stat shows the job"; else not_ok "gamma-stat" "$work/check.out" "$work/job.out"; fi
stop job
took=$((SECONDS - began))
check "all of it within $limit s: $took s" test "$took" -le "$limit"
finish
