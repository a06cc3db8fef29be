#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# gammad: ordinary users, without any capability, have endpoints by it, by name and on one host
# too. A hostile one sends and reads nothing that is not his, as the wire outside of his host
# shows. It also tests a gammad that is killed, restarted, reloaded, or asked for too much.
# What stands in single quotes is jq's or the inner shell's; functions are called through check.
# shellcheck disable=SC2016,SC2119,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"
# shellcheck source=hostile.sh
. "$top_srcdir/fabtests/functional/hostile.sh"

# shellcheck source=gammad.sh
. "$top_srcdir/fabtests/functional/gammad.sh"

need_tool fi_pingpong fi_info jq tcpdump python3 setpriv
gammad_lab_up

# ---- configuration ----

conf 1 '# a comment' 'nic gam0 slots 8' 'ring lots'
check_fails "a mistake in the configuration: file and line" 'gammad1.conf:3: write `ring BYTES`' \
	on node01 "$gammad" -t -c "$shared/gammad1.conf"
conf 1 'nic lo slots 8'
check_fails "a NIC that can have no slots" "lo .*loopback" \
	on node01 "$gammad" -c "$shared/gammad1.conf"
check_fails "without descriptors it says what is short" "raise LimitNOFILE" \
	on node01 prlimit --nofile=6:6 "$gammad" -c "$shared/gammad1.conf"
check_fails "without gammad users get an error that says so" "no gammad at /run/gammad/socket" \
	user_on labuser node01 env FI_GAMMA_LINK=packet fi_info -p gamma
conf 1 'nic gam0 slots 8' 'limit 3' "limit 5 uid $(id -u daemon)"
conf 2 'nic gam0 slots 8'
check "the configuration is right" on node01 "$gammad" -t -c "$shared/gammad1.conf"
start_gammad 1
start_gammad 2
check_fails "a second gammad is refused" "gammad runs already: process [0-9]*; stop it first" \
	on node01 "$gammad" -c "$shared/gammad1.conf"
check_fails "what a running gammad needs is not removed" "gammad runs already" \
	on node01 "$gammad" -r
check_fails "no user takes the lock, which would keep gammad from starting" "Permission denied" \
	user_on labuser node01 flock -n /run/gammad/lock true
check "a user may ask for its state" user_on labuser node01 "$gammactl" status
check_fails "an id that stands for others gets no endpoint" "a subordinate one" \
	user_on nobody node01 fi_info -p gamma
check_fails "but not for the list" "only root" user_on labuser node01 "$gammactl" list
check "which then has no heading" [ "$(wc -l <"$work/check.out")" -eq 1 ]
check_fails "nor revoke" "only root" user_on labuser node01 "$gammactl" revoke 1
status=0
user_on labuser node01 "$gammactl" list >/dev/null 2>&1 || status=$?
check "which is exit status 2" [ $status = 2 ]

# ---- ordinary users ----

user_pair "reliable, all sizes" fi_pingpong -p gamma -e rdm -c -S all -I 3
counted_clean "reliable, all sizes"
counted "the endpoints had addresses of their own" 'all(.endpoint | startswith("02:47:41") | not)'
user_pair "datagrams" fi_pingpong -p gamma -c -S 1000 -I 50
client_host=node01
user_pair "one host" fi_pingpong -p gamma -e rdm -c -S all -I 3
client_host=node02

# By the name that gamma.conf lists, which is LOOKUP. The server says nothing before it is asked:
# its endpoint in the list is the sign.
named() { # TEXT HOST [OPTION...]: of gamma-latency
	local text=$1 host=$2
	start_as labuser server node01 60 "$latency" -p gamma "${@:3}" -s -P 4711
	until_true 10 listed node01 4711 || not_ok "$text: the server's endpoint" "$work/server.out"
	start_as labuser client "$host" 60 "$latency" -p gamma "${@:3}" -P 4711 -n 20 -w 5 node01
	if wait_end client && wait_end server; then
		ok "$text"
	else
		not_ok "$text" "$work/server.out" "$work/client.out"
		stop server
	fi
}

named "by name, across" node02
named "by name, one host" node01
named "datagrams by name, across" node02 -m datagram
named "datagrams by name, one host" node01 -m datagram
# In a container he has another user id; he is the host's user all the same.
inside=(unshare --user --map-user=4242 --map-group=4242)
if user_on labuser node01 true 2>/dev/null; then
	user_pair "in a user namespace" fi_pingpong -p gamma -e rdm -c -S 1000 -I 20
	client_host=node01
	user_pair "in a user namespace, one host" fi_pingpong -p gamma -e rdm -c -S 1000 -I 20
	counted "no frame of theirs was refused" 'all(.malformed == 0)'
	client_host=node02
	named "in a user namespace, by name, one host" node01
fi
inside=()
start_as daemon server node01 60 "$latency" -p gamma -s -P 4712
until_true 10 listed node01 4712 || not_ok "daemon's endpoint" "$work/server.out"
start_as labuser client node02 60 "$latency" -p gamma -P 4712 -n 20 -w 5 node01
check "another user's endpoint: reported at once" wait_for_line client "another user" 10
stop client
stop server
check "closed endpoints are not listed" until_true 10 empty node01

# ---- a hostile user ----

# Whether the kernel refuses options to 32-bit calls too; if not, gammad says so.
weak=()
! grep -q 'by 32-bit system calls' "$work/gammad1.out" || weak=(weak)

"$lab_tool" -n "$lab_name" capture 1 "$work/wire.pcap" >"$work/capture.out" 2>&1 &
capture=$!
until_true 10 grep -qs "listening on" "$work/capture.out" || not_ok "capture" "$work/capture.out"

# attack NAME [COMMAND...]: the latter runs it.
attack() {
	local name=$1
	shift
	if user_on labuser node01 "$@" "$hostile" attack "$nic1" "$nic2" "$(id -u labuser)" "${weak[@]}" \
		>"$work/attack-$name.out" 2>&1; then
		ok "hostile, $name: $(grep -c '^ok' "$work/attack-$name.out") attempts fail"
	else
		not_ok "hostile, $name" "$work/attack-$name.out"
	fi
}

linked() { # HOST: whether all programs are where they cost least
	on "$1" sh -c 'ls /run/gammad/bpf | grep -Ec "^(in|out)[0-9]+$"' | grep -qx 16
}

restart_gammad1() { # [VARIABLE=VALUE...]
	signal gammad1 KILL
	wait_end gammad1 || true
	start_gammad 1 "$@"
}

links=()
read -r major minor _ <<<"$(uname -r | tr .- '  ')"
if ((major > 6 || (major == 6 && minor >= 6))); then
	links=(yes)
	check "links at the slots" until_true 60 linked node01
fi
attack "as a user"
if user_on labuser node01 unshare -Urn true; then
	attack "as root of a user namespace" unshare -Ur
	attack "with a network of its own" unshare -Urn
fi

# Objects that an administrator may remove: filters of the NIC by tc, links of the slots by their pins.
if [ -n "${links[*]}" ]; then
	on node01 sh -c 'tc qdisc add dev gam0 clsact; tc qdisc del dev gam0 clsact'
	on node01 sh -c 'rm /run/gammad/bpf/in* /run/gammad/bpf/out*'
	attack "with links taken away"
	restart_gammad1
	check "the next start puts them back" until_true 60 linked node01
fi
restart_gammad1 GAMMAD_TCX=0
check "no links where they are not wanted" on node01 sh -c \
	'! ls /run/gammad/bpf | grep -E "^(in|out|guard)[0-9]+$"'
[ -z "${weak[*]}" ] || check "a filter at the NIC instead" bash -c '"$@" | grep -q guard' - \
	"$lab_tool" -n "$lab_name" exec node01 tc filter show dev gam0 egress
attack "by filters"
restart_gammad1
[ -z "${links[*]}" ] || check "and none beside the link" bash -c '! "$@" | grep .' - \
	"$lab_tool" -n "$lab_name" exec node01 tc filter show dev gam0 egress

start_as labuser reader node01 60 "$hostile" read "$nic1"
reader_gets_its_own

hold() { # USER COMMAND...: has an endpoint, until let_go
	as "$1" "$hostile" "${@:2}"
	hold_by lab exec node01 env "${gamma_env[@]}" "${words[@]}"
}

# An owner that has exited passed its endpoint on: it still belongs to and counts for him.
start_as labuser lender node01 60 "$hostile" lend "$nic1" "$shared/lent"
wait_for_line lender lent 10 || not_ok "hostile lender" "$work/lender.out"
hold labuser2 borrow "$shared/lent" "$nic2"
wait_end lender || not_ok "hostile lender" "$work/lender.out"
check "lent to another user it is the lender's" listed node01 " $(id -u labuser) "
check "revoke" on node01 "$gammactl" revoke "$(id -u labuser)"
check "the list says so" listed node01 'revoked$'
check_fails "he gets no other endpoint" "gammactl allow" user_on labuser node01 fi_info -p gamma
let_go
check "once revoked it sends nothing, whichever process holds it" grep -qx sent "$work/hold.out"
kill -TERM "$capture"
wait "$capture" || true

python3 "$top_srcdir/fabtests/functional/hostile_wire.py" "$work/wire.pcap" "$work"/attack-*.out \
	"$work/hold.out" >"$work/wire.out"
check "until he is allowed again" on node01 "$gammactl" allow labuser
check "then he does" user_on labuser node01 fi_info -p gamma
check "no forged frame on the wire" grep -q "^forged 0 " "$work/wire.out"
check "honest ones are" grep -Eq "honest [1-9][0-9]+" "$work/wire.out"
# Most attempts are made twenty times and more, in case the capture was short of time.
cat "$work/wire.out" <(tail -n 1 "$work/capture.out")

# ---- noise ----

check "nonsense is survived" user_on labuser node01 "$hostile" noise /run/gammad/socket
check "who asks and goes leaves nothing" user_on labuser node01 "$hostile" vanish "$nic1"
until_true 10 empty node01 || not_ok "endpoints are left"
start_as labuser flood node01 60 "$hostile" flood /run/gammad/socket
wait_for_line flood flooding 10 || not_ok "hostile flood" "$work/flood.out"
check "one user's flood of half messages does not keep out another" bash -c \
	'"$@" 2>&1 | grep -q "^5 endpoints"' - "$lab_tool" -n "$lab_name" run daemon node01 \
	"$hostile" exhaust "$nic1"
stop flood
check "and gammad still answers" user_on labuser node01 "$gammactl" status

# A request of a client that has hung up is not carried out.
cat >"$shared/leave.py" <<-'END'
	import os, socket, struct, sys, time
	uid = int(sys.argv[2])
	os.setgroups([]), os.setresgid(uid, uid, uid), os.setresuid(uid, uid, uid)
	body = struct.pack("=6sHIH6sI", bytes.fromhex(sys.argv[1].replace(":", "")), 0, 7, 0x88B5,
	                   bytes(6), 0)
	ask = struct.pack("=IHHII", 0x676d6264, 2, 1, 16 + len(body), 0) + body
	def connect():
	    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
	    s.connect("/run/gammad/socket")
	    return s
	# A client that stays gets one: else what follows would test nothing.
	with connect() as s:
	    s.send(ask)
	    kind, reason = struct.unpack_from("=6xHxxxxI", s.recv(128))
	    if (kind, reason) != (2, 0):
	        sys.exit(f"answered by a message {kind}, reason {reason}")
	end, count = time.monotonic() + 3, 0
	while time.monotonic() < end:
	    with connect() as s:
	        s.send(ask)
	        count += 1
	print(count, "times")
END
check "an endpoint for who stays" on node01 python3 "$shared/leave.py" "$nic1" "$(id -u labuser)"
check "nor does who asks for endpoints and hangs up" bash -c \
	'"$@" 2>&1 | grep -q "^5 endpoints"' - timeout 5 "$lab_tool" -n "$lab_name" run daemon node01 \
	"$hostile" exhaust "$nic1"

# A socket that lingers over unread data: the last close waits as long as its creator chose.
cat >"$shared/linger.py" <<-'END'
	import array, os, socket, struct, sys, time
	listener = socket.create_server(("127.0.0.1", 0))
	lingers = socket.create_connection(listener.getsockname())
	unread = listener.accept()[0]
	lingers.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60))
	lingers.setblocking(False)
	try:
	    while True:
	        lingers.send(bytes(65536))
	except BlockingIOError:
	    pass
	uid = int(sys.argv[1])
	os.setgroups([]), os.setresgid(uid, uid, uid), os.setresuid(uid, uid, uid)
	with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
	    s.connect("/run/gammad/socket")
	    try:
	        s.sendmsg([struct.pack("=IHHII", 0x676d6264, 2, 3, 16, 0)],
	                  [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
	                    array.array("i", [lingers.fileno()]))])
	    except PermissionError:
	        print("refused", flush=True)
	    else:
	        lingers.close()
	        print("sent", flush=True)
	time.sleep(60)
END
start linger node01 60 unshare -n sh -c 'ip link set lo up && exec python3 "$@"' - \
	"$shared/linger.py" "$(id -u labuser)"
wait_for_line linger "refused|sent" 10 || not_ok "a descriptor for gammad" "$work/linger.out"
install -m 755 "$gammactl" "$shared" # daemon does not see a tree within root's home
check "nor does who sends descriptors" user_on daemon node01 timeout 5 "$shared/gammactl" status
stop linger

# ---- limits ----

until_true 10 empty node01 || not_ok "endpoints are left"
check "a user's limit" bash -c '"$@" 2>&1 | grep -q "^3 endpoints"' - \
	"$lab_tool" -n "$lab_name" run labuser node01 "$hostile" exhaust "$nic1"
check "another user's own" bash -c '"$@" 2>&1 | grep -q "^5 endpoints"' - \
	"$lab_tool" -n "$lab_name" run daemon node01 "$hostile" exhaust "$nic1"
until_true 10 empty node01 || not_ok "endpoints are left"
conf 1 'nic gam0 slots 8' 'limit 100' 'group root'
check "reload" on node01 "$gammactl" reload
check_fails "only members of a group" "none of the groups" \
	user_on labuser node01 "$hostile" exhaust "$nic1"
conf 1 'nic gam0 slots 8' 'limit many'
check_fails "a mistake is reported, the old configuration stays" "old one stays" \
	on node01 "$gammactl" reload
conf 1 'nic gam0 slots 8' 'limit 100'
check "reload again" on node01 "$gammactl" reload
# The group file stands for a slow name service: a process holds a lease on it, learns when it is
# opened, and a process that opens it waits until that process ends.
cat >"$shared/names.py" <<-'END'
	import fcntl, os, signal, sys
	signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
	fcntl.fcntl(os.open(sys.argv[1], os.O_RDWR), fcntl.F_SETLEASE, fcntl.F_WRLCK)
	print("leased", flush=True)
	signal.sigwait([signal.SIGIO])
	print("asked for", flush=True)
	signal.pause()
END
cp /etc/group "$shared/groups"
on node01 mount --bind "$shared/groups" /etc/group
start names node01 60 python3 "$shared/names.py" /etc/group
wait_for_line names leased 10 || not_ok "a lease on the file of groups" "$work/names.out"
conf 1 'nic gam0 slots 8' 'limit 1' 'group none-such'
start reload node01 60 "$gammactl" reload
check "names of groups are looked up" wait_for_line names "asked for" 10
check "meanwhile gammad answers" on node01 "$gammactl" status
check "and the reload waits" signal reload 0
stop names
on node01 umount /etc/group
if wait_end reload; then not_ok "no such group" "$work/reload.out"; else ok "no such group"; fi
conf 1 'nic gam0 slots 8' 'limit 100'
check "all slots" bash -c '"$@" 2>&1 | grep -q "^8 endpoints"' - \
	"$lab_tool" -n "$lab_name" run labuser node01 "$hostile" exhaust "$nic1"

# ---- what takes more than one socket ----

# shellcheck source=api.sh
. "$top_srcdir/fabtests/functional/api.sh"
cp "$api" "$shared/lib"
api=$shared/lib/gamma-api
as labuser
wrap=("${words[@]}")
several=(multicast multicast_leave scalable shared)
run "by gammad" "${several[@]}"
client_host=node01 run "by gammad, one host" "${several[@]}"
wrap=()

# What a group's requests are answered: by reason, as common/broker/message.h numbers them.
cat >"$shared/groups.py" <<-'END'
	import os, socket, struct, sys
	nic, users = bytes.fromhex(sys.argv[1].replace(":", "")), [int(uid) for uid in sys.argv[2:]]
	def become(uid):
	    os.setgroups([]), os.setresgid(uid, uid, uid), os.setresuid(uid, uid, uid)
	def ask(kind, body):
	    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
	    s.connect("/run/gammad/socket")
	    s.send(struct.pack("=IHHII", 0x676d6264, 2, kind, 16 + len(body), 0) + body)
	    return s, *s.recvmsg(200, socket.CMSG_SPACE(8))[:2]
	def group(kind, mac, port, receives=0):
	    body = struct.pack("=6sH6sHII", end[0], end[1], bytes.fromhex(mac), port, receives, 0)
	    return struct.unpack_from("=I", ask(kind, body)[1], 12)[0]
	JOIN, LEAVE, G = 12, 14, "01005e000001"
	child = os.pipe(), os.pipe()
	pid = os.fork()
	become(users[0 if pid else 1])
	if not pid:
	    end = struct.unpack("=6sH", os.read(child[0][0], 8))
	    os.write(child[1][1], bytes([group(JOIN, G, 2), group(LEAVE, G, 1)]))
	    os._exit(0)
	held = ask(1, struct.pack("=6sHIH6sI", nic, 0, 7, 0x88B5, bytes(6), 0))
	end = struct.unpack_from("=6sH", held[1], 16)
	print("joined", group(JOIN, G, 1), "twice", group(JOIN, G, 1))
	os.write(child[0][1], struct.pack("=6sH", *end))
	print("by another user", *os.read(child[1][0], 2))
	print("broadcast", group(JOIN, "ff" * 6, 1), "bridges", group(JOIN, "0180c2000000", 1),
	      "one host", group(JOIN, "020000000001", 1))
	print("many", *(group(JOIN, G, port) for port in range(2, 19)))
	print("left", group(LEAVE, G, 5), "joined", group(JOIN, G, 30), "still in", group(JOIN, G, 1))
END
on node01 python3 "$shared/groups.py" "$nic1" "$(id -u labuser)" "$(id -u daemon)" \
	>"$work/groups.out" 2>&1 || true
check "groups: once, within bounds, the owner's alone, real groups" diff "$work/groups.out" - <<-'END'
	joined 0 twice 17
	by another user 14 14
	broadcast 15 bridges 15 one host 15
	many 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 16 16
	left 0 joined 0 still in 17
END

# ---- which NICs are offered ----

domains() { # those that labuser is offered on host 1
	user_on labuser node01 fi_info -p gamma | awk '$1 == "domain:" { print $2 }' | sort -u
}

info_fails() { # TEXT PATTERN [VARIABLE=VALUE...]
	check_fails "$1" "$2" user_on labuser node01 env FI_LOG_LEVEL=info "${@:3}" fi_info -p gamma
}

check "only the NIC that gammad serves" [ "$(domains)" = gam0 ]
info_fails "of others it is said why" "mgt0 .*is not served by gammad" FI_GAMMA_IFACE=mgt0
check_fails "AF_XDP is not for users: an error says so" "gammad opens packet sockets only" \
	user_on labuser node01 env FI_GAMMA_LINK=xdp "$latency" -p gamma -s
info_fails "another EtherType" "0x88B5, this program 0x88B6" FI_GAMMA_ETHERTYPE=0x88B6
cat >"$shared/older.py" <<-'END'
	import os, socket, struct, sys
	server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
	server.bind(sys.argv[1])
	server.listen()
	os.chmod(sys.argv[1], 0o666)
	print("listens", flush=True)
	while True:
	    client = server.accept()[0]
	    client.recv(128)
	    client.send(struct.pack("=IHHIIII", 0x676d6264, 1, 9, 24, 2, 0, 0))
END
start older node01 30 python3 "$shared/older.py" "$shared/older"
wait_for_line older listens 10 || not_ok "an older gammad" "$work/older.out"
info_fails "another version" "another version: install the same release" \
	FI_GAMMA_BROKER="$shared/older"
stop older

# ---- peers that do not answer ----

frames_in() { # that have come to host 1 so far
	on node01 cat /sys/class/net/gam0/statistics/rx_packets
}

more_than() { # FRAMES
	[ "$(frames_in)" -gt "$1" ]
}

ping_pong() { # begins one by labuser, the server on host 1; both write to their .out
	local before
	before=$(frames_in)
	as labuser env "$@" FI_LOG_LEVEL=warn fi_pingpong -p gamma -e rdm -S 1024 -I 1000000
	start server node01 120 "${words[@]}"
	wait_for_port node01 47592 5 || not_ok "the server listens" "$work/server.out"
	start client node02 120 "${words[@]}" "$(mgt 1)"
	until_true 10 more_than $((before + 1000)) || not_ok "messages" "$work/server.out"
}

job_reports() { # TEXT JOB PATTERN
	if wait_for_line "$2" "$3" 20; then ok "$1"; else not_ok "$1" "$work/$2.out"; fi
}

start_as daemon server node01 60 fi_pingpong -p gamma -e rdm
wait_for_port node01 47592 5 || not_ok "daemon's server" "$work/server.out"
start_as labuser client node02 60 fi_pingpong -p gamma -e rdm "$(mgt 1)"
job_reports "user ids differ, whole address: an error says so" client "another user"
stop client
stop server

ping_pong
signal server KILL
wait_end server || true
job_reports "a killed peer is reported" client "no process there owns its port any more"
stop client

# If the server has acknowledged all when it is stopped, the client waits for nothing: again then.
stopped_is_reported() {
	local try
	for try in 1 2 3; do
		signal server STOP
		wait_for_line client "has not answered for .* its process is there" 20 && return
		signal server CONT
		echo "try $try: not reported"
		sleep 0.3
	done
	return 1
}

ping_pong FI_GAMMA_PEER_TIMEOUT=1
check "a stopped peer is waited for, which is said" stopped_is_reported
signal server CONT
check "it goes on" signal client 0
check "revoked while it runs" on node01 "$gammactl" revoke labuser
job_reports "its process gets the reason" server "gammad has revoked this endpoint"
if wait_end server; then not_ok "and ends with an error" "$work/server.out"; else ok "and ends with an error"; fi
job_reports "its peer finds it gone" client "no process there owns its port any more"
stop client
restart_gammad1
check_fails "after a restart he is still kept out" "gammactl allow" \
	user_on labuser node01 fi_info -p gamma
check "a reload allows everybody" on node01 "$gammactl" reload

# ---- NICs that come, go and change ----

nic_is() { # NAME STATE MTU
	on node01 "$gammactl" status | grep -Eq "^$1 +$2 +$3 "
}

in_time() { # TEXT NAME STATE MTU
	check "$1" until_true 10 nic_is "${@:2}"
}

make_late() { # what a driver does that is loaded
	lab exec node01 ip link add late0 type veth peer name late1
	lab exec node01 ip link set late1 up
	lab exec node01 ip link set late0 up
}

conf 1 'nic gam0 slots 8' 'nic late0 slots 4' 'multicast 10'
restart_gammad1
check "a NIC that is not there is waited for" grep -q "late0 is no interface of this host; waiting" \
	"$work/gammad1.out"
in_time "the status says so" late0 missing 0
check "and what a user may have" bash -c '"$@" | grep -q "10 memberships in multicast groups"' - \
	"$lab_tool" -n "$lab_name" exec node01 "$gammactl" status
make_late
in_time "it is served when it comes" late0 up 1500
late=$(lab exec node01 cat /sys/class/net/late0/address)
check "users are offered it" user_on labuser node01 env FI_GAMMA_IFACE=late0 fi_info -p gamma
as labuser "$hostile" exhaust "$late"
check "with all its slots" bash -c '"$@" 2>&1 | grep -q "^4 endpoints"' - \
	"$lab_tool" -n "$lab_name" exec node01 "${words[@]}"
lab exec node01 ip link set late1 down
in_time "without carrier" late0 "no carrier" 1500
lab exec node01 ip link set late0 down
in_time "and down" late0 down 1500
lab exec node01 ip link del late0
in_time "a NIC that is removed" late0 missing 0
make_late
in_time "and comes back" late0 up 1500
lab exec node01 ip link set gam0 mtu 1000
in_time "a lower MTU" gam0 up 1000
lab exec node01 ip link set gam0 mtu 1500
in_time "and a higher one" gam0 up 1500
check "which the slots follow" bash -c '[ "$("$@" | grep -c "mtu 1500.* s[0-9]*-\|s[0-9]*-.*mtu 1500")" -eq 12 ]' - \
	"$lab_tool" -n "$lab_name" exec node01 nsenter --net=/run/gammad/net ip -o link show type macvlan
# Interfaces change without a pause where containers come and go.
lab exec node01 ip link add busy0 type veth peer name busy1
start busy node01 120 sh -c 'yes "link set busy0 alias one
link set busy0 alias two" | ip -batch -'
until_true 10 eval 'lab exec node01 ip link show dev busy0 | grep -q alias' || not_ok "a busy interface" "$work/busy.out"
lab exec node01 ip link set gam0 mtu 1400
in_time "a change among changes without a pause" gam0 up 1400
stop busy
lab exec node01 ip link del busy0
lab exec node01 ip link set gam0 mtu 1500
in_time "after them" gam0 up 1500
user_pair "and later programs" fi_pingpong -p gamma -e rdm -c -S 65536 -I 20
counted_clean "and later programs"
cp "$abs_top_builddir/tools/gammaping" "$shared/lib"
ping=$shared/lib/gammaping
check "gammaping to a host without endpoints, also through a slot" bash -c \
	'said=$("$@") && grep -q "^slot  *ok" <<<"$said"' - "$lab_tool" -n "$lab_name" exec node02 "$ping" "$nic1"
check "gammaping by a user" user_on labuser node02 "$ping" "$nic1"
# A switch port that passes the NIC's own address alone.
if nsenter --net="/run/netns/gl-$lab_name-sw" bridge link set dev d2 locked on 2>"$work/switch.out"; then
	nsenter --net="/run/netns/gl-$lab_name-sw" bridge fdb replace "$nic2" dev d2 master static
	nsenter --net="/run/netns/gl-$lab_name-sw" ip link set dev d2 type bridge_slave fdb_flush
	check_fails "port security: gammaping says so" "^slot  *failed .*are not answered" \
		on node02 "$ping" -t 0.5 "$nic1"
	nsenter --net="/run/netns/gl-$lab_name-sw" bridge link set dev d2 locked off
fi
on node01 python3 "$shared/groups.py" "$nic1" "$(id -u labuser)" "$(id -u daemon)" \
	>"$work/groups.out" 2>&1 || true
check "multicast memberships of a user" grep -qx "many 0 0 0 0 0 0 0 0 0 16 16 16 16 16 16 16 16" \
	"$work/groups.out"
lab exec node01 ip link del late0
conf 1 'nic gam0 slots 8' 'limit 100'
restart_gammad1

# ---- gammad ends and comes back ----

as labuser fi_pingpong -p gamma -e rdm -c -S 1024 -I 100000
rm -f "$shared/stats"
start server node01 120 "${words[@]}"
wait_for_port node01 47592 5
start client node02 120 "${words[@]}" "$(mgt 1)"
until_true 10 listed node01 "$(id -u labuser)" || not_ok "its endpoint" "$work/server.out"
handle=$(on node01 "$gammactl" list | grep '^gam0')
signal gammad1 KILL
wait_end gammad1 || true
check_fails "gammad is gone" "is gammad running" on node01 "$gammactl" status
check "the jobs run on" signal client 0
start_gammad 1
check "it knows the endpoint again" grep -qxF -- "$handle" <(on node01 "$gammactl" list)
if wait_end client && wait_end server; then
	ok "kill -9 of gammad does not disturb a ping-pong"
else
	not_ok "kill -9 of gammad does not disturb a ping-pong" "$work/server.out" "$work/client.out"
fi
cp "$shared/stats" "$work/stats"
counted_clean "while gammad was away"
check "gone after its end" until_true 10 empty node01

# Killed at any point of its start it leaves what the next one goes on from; and a handle that was
# given is never given again.
conf 1 'nic gam0 slots 10'
signal gammad1 KILL
wait_end gammad1 || true
for ((i = 1; i <= 12; i++)); do
	on node01 timeout -s KILL "0.$(printf %03d $((i * 12)))" \
		"$gammad" -c "$shared/gammad1.conf" >"$work/killed.out" 2>&1 || true
done
start_gammad 1
check "killed 12 times at its start, then all slots" bash -c '"$@" 2>&1 | grep -q "^10 endpoints"' - \
	"$lab_tool" -n "$lab_name" run labuser node01 "$hostile" exhaust "$nic1"
hold labuser hold "$nic1" "$nic2"
last=$(on node01 "$gammactl" list | awk '/^gam0/ { print $6 }')
check "a handle is never given again" [ "$((16#$last))" -gt "$((16#$(awk '{ print $6 }' <<<"$handle")))" ]
let_go

conf 1 'nic gam0 slots 12'
hold labuser hold "$nic1" "$nic2"
signal gammad1 TERM
wait_end gammad1 || not_ok "gammad ends" "$work/gammad1.out"
# There is one where the kernel takes no security modules.
group=$(on node01 readlink /run/gammad/cgroup) || group=''
[ -z "$group" ] || check "its control group goes" on node01 rmdir "$group"
let_go
check "without gammad, and without its control group, sockets stay frozen" \
	grep -qx "ok: frozen" "$work/hold.out"
lab exec node01 ip link set gam0 mtu 4000
start_gammad 1
check "a restart takes up new slots" bash -c '"$@" | grep -q "of 12 slots"' - \
	"$lab_tool" -n "$lab_name" exec node01 "$gammactl" status
check "and a larger MTU, on those there were as well" bash -c \
	'[ "$("$@" | grep -c "mtu 4000")" -eq 13 ]' - \
	"$lab_tool" -n "$lab_name" exec node01 nsenter --net=/run/gammad/net ip -o link show type macvlan
signal gammad1 TERM
signal gammad2 TERM
wait_end gammad1 || not_ok "gammad ends" "$work/gammad1.out"
wait_end gammad2 || not_ok "gammad ends" "$work/gammad2.out"
check_fails "a gammad that has stopped: not another link than the other ranks'" \
	"gammad is set up on this host, but does not run" user_on labuser node01 fi_info -p gamma
# shellcheck disable=SC2016
check "all is taken away without a word" on node01 sh -c 'said=$("$0" -r 2>&1) && [ -z "$said" ]' "$gammad"
check "nothing is left" on node01 test ! -e /run/gammad
group=$(on node02 readlink /run/gammad/cgroup) || group=''
check "nor elsewhere" on node02 "$gammad" -r
check "nor control groups" on node02 test ! -e "$group"
check "nor filters on the NIC" bash -c '! "$@" | grep .' - \
	"$lab_tool" -n "$lab_name" exec node02 tc filter show dev gam0 egress

# ---- as users of the lab have it ----

# Without any capability, of which kind ever, on each host.
no_capability() { # PROCESSES COMMAND...
	[ "$("${@:2}" sed -n 's/^Cap\(Inh\|Prm\|Eff\|Amb\):\s*//p' /proc/self/status | sort | uniq -c |
		tr -s '[:blank:]')" = " $((4 * $1)) 0000000000000000" ]
}
# The lab says itself where gamma is; what a sanitizer needs comes behind that.
pingpong() {
	local status=0
	local ping=(env "${gamma_env[@]:1}" fi_pingpong -p gamma -e rdm -S 64 -I 100)
	lab run labuser node01 "${ping[@]}" >"$work/server.out" 2>&1 &
	wait_for_port node01 47592 5 && lab run labuser node02 "${ping[@]}" "$(mgt 1)" || status=1
	wait $! && return "$status"
}
answered_by_name() {
	local status=0
	cp "$abs_top_builddir/fabtests/functional/gamma-named" "$shared/lib"
	lab run labuser node01 "$shared/lib/gamma-named" >"$work/server.out" 2>&1 &
	until_true 5 grep -q ready "$work/server.out" &&
		lab run labuser node02 "$shared/lib/gamma-named" node01-d || status=1
	wait $! && return "$status"
}
by_mpirun() { lab mpirun --mca btl gamma,self "$@"; }
arrive() {
	"$mpicc" -o "$shared/mpi_job" "$top_srcdir/fabtests/functional/mpi_job.c" &&
		chmod 755 "$shared/mpi_job" &&
		by_mpirun -np 4 -x FI_GAMMA_STATS=stderr "$shared/mpi_job" >"$work/job.out" 2>&1 &&
		[ "$(grep -c "user $(id -u labuser): all arrived" "$work/job.out")" -eq 4 ]
}

# Each of four processes would ask for its peers. One that has heard nothing of a peer for long, on a
# machine with a high load, asks whether it is there.
known_addresses() {
	grep -o '"lookups_out":[0-9]*' "$work/job.out" | cut -d: -f2 | tee "$work/lookups"
	[ "$(wc -l <"$work/lookups")" -eq 4 ] && (($(paste -sd+ "$work/lookups") < 4))
}

check "lab gammad start" lab gammad start
check "fi_pingpong by a user" pingpong
check "an answer from a peer that is known by its host's name" answered_by_name
if [ -e "$abs_top_builddir/.libs/mca_btl_gamma.so" ] && ! sanitized; then
	mpicc=$(sed -n 's/^MPICC = //p' "$abs_top_builddir/Makefile")
	check "mpirun --mca btl gamma,self by a user" arrive
	check "complete addresses are not looked up" known_addresses
	check "who has no capability there" no_capability 2 by_mpirun -np 2
fi
check "nor here" no_capability 1 lab run labuser node01
check "lab gammad stop" lab gammad stop
finish
