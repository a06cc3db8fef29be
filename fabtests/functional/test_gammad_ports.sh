#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Ports of a NIC that gammad serves: a user without an endpoint binds their names, and keeps nobody
# from opening them, nor anybody from hearing that nobody owns them. A program that uses the NIC
# without gammad owns its port, as root and as a user with CAP_NET_RAW.
# shellcheck disable=SC2119
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=gammad.sh
. "$top_srcdir/fabtests/functional/gammad.sh"

need_tool python3 setpriv
gammad_lab_up
conf 1 'nic gam0 slots 8'
conf 2 'nic gam0 slots 8'
start_gammad 1
start_gammad 2

# USER MAC FIRST LAST: names of these ports; of every second one by a socket that nobody else may send
# to, since it talks to itself.
cat >"$shared/squat.py" <<-'END'
	import os, socket, sys, time
	sockets, uid = [], int(sys.argv[1])
	os.setgroups([]), os.setresgid(uid, uid, uid), os.setresuid(uid, uid, uid)
	for port in range(int(sys.argv[3]), int(sys.argv[4]) + 1):
	    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
	    name = "\0gamma/%s/%d" % (sys.argv[2].replace(":", ""), port)
	    s.bind(name)
	    if port % 2:
	        s.connect(name)
	    sockets.append(s)
	print("bound", flush=True)
	time.sleep(600)
END
start squat node01 300 python3 "$shared/squat.py" "$(id -u daemon)" "$nic1" 4711 4714
wait_for_line squat bound 10 || not_ok "names are bound" "$work/squat.out"

for port in 4711 4712; do
	start_as labuser server node01 60 "$latency" -p gamma -s -P $port
	check "port $port, whose name another user has bound, is opened" \
		until_true 10 listed node01 $port
	start_as labuser client node02 60 "$latency" -p gamma -P $port -n 20 -w 5 node01
	if wait_end client && wait_end server; then
		ok "and found by its number"
	else
		not_ok "and found by its number" "$work/server.out" "$work/client.out"
		stop server
	fi
done
for port in 4713 4714; do
	start_as labuser client node02 60 env FI_LOG_LEVEL=warn "$latency" -p gamma -P $port -n 1 node01
	check "port $port, without an owner: reported at once" \
		wait_for_line client "no process there owns" 10
	stop client
done
stop squat

# Who uses the NIC without gammad owns its port.
raw_owner() { # USER PORT COMMAND...: these words run it with CAP_NET_RAW, or as root
	start server node01 60 "${@:3}" env FI_GAMMA_LINK=packet "$latency" -p gamma -s -P "$2"
	until_true 10 lab exec node01 grep -q "/$2\$" /proc/net/unix ||
		not_ok "$1's endpoint without gammad" "$work/server.out"
	check_fails "a port of $1's program is taken" "port $2 is in use by another process" \
		user_on labuser node01 env FI_LOG_LEVEL=warn timeout 20 "$latency" -p gamma -s -P "$2"
	stop server
}

raw_owner root 4721
raw_owner daemon 4722 setpriv --reuid daemon --regid daemon --clear-groups \
	--inh-caps=+net_raw --ambient-caps=+net_raw
finish
