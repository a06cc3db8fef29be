#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Tests the virtual cluster (lab/lab) itself, in labs side by side: what is a host's own and
# what is shared, what harms frames and what does not, and that nothing stays behind. Started by
# `make check`; by hand abs_top_builddir names the build folder, if it is not the current one.
# Commands in single quotes are for other shells, and functions are called through check:
# shellcheck disable=SC2016,SC2317
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

[ "${GAMMA_TEST_LAB:-1}" = 1 ] || skip "the lab's tests are switched off (GAMMA_TEST_LAB)"
((EUID == 0)) || skip "needs root: it makes network namespaces"
need_tool setcap ip tc ethtool tcpdump nsenter unshare setpriv taskset flock useradd python3
[ -x "$abs_top_builddir/lab/gamma-switch" ] || skip "lab/gamma-switch is not built here"
unshare --mount --net --uts --ipc true 2>/dev/null ||
	skip "this kernel or container allows no namespaces"

lab_name=t$$
other=t$$-b2b
multi=t$$-multi
b2b() { "$lab_tool" -n "$other" "$@"; }
multi() { "$lab_tool" -n "$multi" "$@"; }
trap 'status=$?; set +e; b2b down >/dev/null; multi down >/dev/null; (exit $status); cleanup' EXIT

refused() { # MESSAGE-PATTERN COMMAND...: one line, exit status 2
	local pattern=$1 said status=0
	shift
	said=$("$@" 2>&1) || status=$?
	echo "$said"
	[[ $status = 2 && $said =~ $pattern && $said != *$'\n'* ]]
}

# Sends numbered frames from one network namespace, receives them in another and says what became
# of them. The sender skips the queueing discipline, as the product does, unless it is to queue. To
# another address than the receiver's own, if one is given.
cat >"$work/frames.py" <<'END'
import ctypes, select, socket, struct, sys, time, zlib

source, target, count, size, wait = sys.argv[1], sys.argv[2], *map(float, sys.argv[3:6])
count, size = int(count), int(size)
address, queue, nic = (sys.argv[6:] + ["", "", ""])[:3]
SOL_PACKET, PACKET_QDISC_BYPASS, SO_RCVBUFFORCE, SO_TIMESTAMPNS = 263, 20, 33, 35

def open_in(netns, bypass):
    with open("/run/netns/" + netns) as f:
        if ctypes.CDLL(None).setns(f.fileno(), 0):
            sys.exit("no namespace " + netns)
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
    s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    s.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, bypass)
    s.bind((nic or "gam0", 0x88B5))
    return s, s.getsockname()[4]

# A number, the time, a checksum of these and of what fills up the size.
def make(number):
    body = struct.pack("!IQ", number, time.time_ns()) + bytes(range(256)) * (size // 256 + 1)
    body = body[:size - 4]
    return body + struct.pack("!I", zlib.crc32(body))

def is_intact(data):
    return struct.unpack("!I", data[-4:])[0] == zlib.crc32(data[:-4])

tx, tx_mac = open_in(source, not queue)
rx, rx_mac = open_in(target, 1)
if address:
    rx_mac = bytes.fromhex(address.replace(":", ""))
for number in range(count):
    tx.send(rx_mac + tx_mac + b"\x88\xb5" + make(number))

# Until nothing has come for so long: how long it takes to read all is the machine's matter.
seen, altered, overtook, early, delays = [], 0, 0, [], []
while select.select([rx], [], [], wait)[0]:
    data, control, _, _ = rx.recvmsg(1 << 17, 64)
    seconds, ns = struct.unpack("qq", control[0][2])
    data, arrived = data[14:], seconds * 10**9 + ns
    if not is_intact(data):
        altered += 1
        continue
    number, sent = struct.unpack("!IQ", data[:12])
    overtook += bool(seen) and number < max(seen)
    seen.append(number)
    delays.append((arrived - sent) / 1e3)
    if delays[-1] < 25000:
        early.append(number)
delays.sort()
gaps = sum(b > a + 1 for a, b in zip([-1] + seen, seen + [count]))
print(f"gaps={gaps} received={len(seen)} distinct={len(set(seen))} altered={altered} overtaken={overtook}",
      f"least_us={int(delays[0]) if delays else -1}",
      f"middle_us={int(delays[len(delays) // 2]) if delays else -1}",
      "early=" + "_".join(map(str, early)))
END

# FROM TO COUNT SIZE SECONDS [ADDRESS [queue [NIC]]], in lab $in_lab; sets received, distinct and so on
frames() {
	result=$(python3 "$work/frames.py" "gl-$in_lab-n0$1" "gl-$in_lab-n0$2" "${@:3}")
	# shellcheck disable=SC2086
	declare -g -- received=-1 $result
}

# Like test, and reports what arrived.
counts() { echo "${result% early=*}" && test "$@"; }

# A port without listener refuses the connection: the host is there.
reaches() { [[ $(lab exec "$1" bash -c 'exec 3<>"/dev/tcp/$0/9"' "$2" 2>&1) == *refused* ]]; }
differs() {
	local one two
	one=$(lab exec 1 sh -c "$1") && two=$(lab exec 2 sh -c "$1") && [[ -n $one && $one != "$two" ]]
}
hidden() {
	local file=$1/$lab_name.mark
	lab exec 1 touch "$file" && lab exec 1 test -e "$file" &&
		! lab exec 2 test -e "$file" && [[ ! -e $file ]]
}

# In a lab of its own, where no program may be started from /run, as on many machines.
runs_what_is_shared() {
	unshare --mount --propagation private bash -euc '
		mount --bind /run/gamma-lab /run/gamma-lab
		mount -o remount,bind,noexec /run/gamma-lab
		"$0" -n "$1" up 1
		trap "\"\$0\" -n \"\$1\" down" EXIT
		install -m 755 "$(type -P true)" "/run/gamma-lab/$1/shared/true"
		"$0" -n "$1" run labuser 1 "/run/gamma-lab/$1/shared/true"
	' "$lab_tool" "${lab_name}n"
}
number_of() { sed -n "s/^$1.*[ ,]$2 \([0-9]*\).*/\1/p" <<<"$shown"; }

offloads_are() { # on or off: of both hosts of the other lab
	local host name
	for host in 1 2; do
		for name in {tcp-segmentation,generic-segmentation,generic-receive}-offload; do
			b2b exec "$host" ethtool -k gam0 | grep -x "$name: $1" || return 1
		done
	done
}

# Where PSM and PSM2 are installed: libfabric may have neither.
starts_quickly() {
	local library
	! b2b exec 1 grep -q . /proc/kallsyms || return 1
	for library in $(ldconfig -p | sed -nE 's/^\s*lib(psm2\.so\.2|infinipath\.so\.4) .* => //p'); do
		! b2b exec 1 cat "$library" | cmp -s - "$library" || return 1
	done
}

before=$(ls -A /run/gamma-lab 2>/dev/null || :)$(getent passwd labuser || :)
in_lab=$lab_name result='' least_us=0 middle_us=0 distinct=0 altered=0 overtaken=0 early='' gaps=0

# ---- hosts ---------------------------------------------------------------------

check "up" lab up 2 --mtu 9000
check "up twice is refused" eval '! lab up 2'
check "TCP over gam0" reaches node01 node02-d
check "TCP over mgt0" reaches 2 node01
check "host name differs" differs 'uname -n'
check "boot_id differs" differs 'cat /proc/sys/kernel/random/boot_id'
check "machine-id differs" differs 'cat /etc/machine-id'
check "/dev/shm is the host's own" hidden /dev/shm
check "/tmp is the host's own" hidden /tmp
check "/run is the host's own" hidden /run
check "/var is the host's own" hidden /var/lib
check "/etc is the host's own" hidden /etc
export second_line="node02 0x02 0x47 0x41 0x4d 0x00 0x02"
check "gamma.conf lists both" eval '[[ $(lab exec 2 cat /etc/gamma.conf) == *$second_line ]]'
check "the tree is visible" lab exec 1 test -f "$lab_tool"
check "the build folder is visible" lab exec 1 test -x "$abs_top_builddir/lab/gamma-switch"
export shared=/run/gamma-lab/$lab_name/shared
check "the shared folder is shared" eval 'lab exec 1 touch $shared/x && lab exec 2 rm $shared/x'
check "programs run from it" runs_what_is_shared
check "only the host's devices in sysfs" eval '[[ $(lab exec 1 ls /sys/class/net | sort | xargs) = "gam0 lo mgt0" ]]'
check_fails "a program that is not there" '^lab: .*no-such-program: not found' \
	lab exec 1 no-such-program
check "status of exec passes" eval 'lab exec 1 sh -c "exit 42"; [[ $? = 42 ]]'
check "run is an ordinary user" eval '[[ $(lab run labuser 2 id -un) = labuser ]]'
check "run keeps FI_*, drops the rest" eval '[[ $(FI_A=1 B=2 lab run labuser 1 sh -c "echo \$FI_A\$B") = 1 ]]'
check "run --raw gives CAP_NET_RAW and no more" eval \
	'lab run --raw labuser 1 grep -Eq "^CapEff:\s*0*2000$" /proc/self/status'
export raw=$top_srcdir/lab/raw
check "so does raw, inside" eval \
	'LD_LIBRARY_PATH=/x lab run labuser 1 /run/lab/raw sh -c "
		[ \$LD_LIBRARY_PATH = /x ] && grep -Eq \"^CapEff:\s*0*2000$\" /proc/self/status"'
check "not outside" eval '! "$raw" true'

signal_passes() {
	local status=0 job
	"$lab_tool" -n "$lab_name" exec 1 sleep 30 &
	job=$!
	until [[ $(cat "/proc/$job/comm") = sleep ]]; do sleep 0.01; done
	kill -TERM "$job"
	wait "$job" || status=$?
	((status == 143))
}
check "TERM reaches the command" signal_passes

# ---- frames, and what harms them ---------------------------------------------------

frames 1 2 200 1000 0.2
check "200 frames arrive unharmed" counts "$received $distinct $altered $overtaken" = "200 200 0 0"
frames 2 1 50 9000 0.2
check "frames of 9,000 bytes pass" counts "$received" = 50

lab impair node02 --loss 100
frames 1 2 100 100 0.1
check "loss 100 %: no frame to the host" counts "$received $altered" = "0 0"
frames 2 1 100 100 0.1
check "loss 100 %: no frame from the host" counts "$received $altered" = "0 0"
check "loss 100 %: TCP passes" reaches 1 node02-d
shown=$(lab impair 2 show)
check "loss 100 %: counted" counts "$(number_of to lost) $(number_of from lost)" = "100 100"
lab impair node02 --loss 30
frames 1 2 1000 100 0.1
check "loss 30 %" counts "$received" -gt 600 -a "$received" -lt 800

lab impair node02 --loss 30 --burst 10
frames 1 2 4000 100 0.2
check "loss 30 % in runs of 10" counts "$received" -gt 2000 -a "$received" -lt 3600 -a \
	"$gaps" -gt $(((4000 - received) / 20)) -a "$gaps" -lt $(((4000 - received) / 5))

lab impair node02 --dup 100
frames 1 2 100 1000 0.1
check "dup 100 %: twice each, to the host" counts "$received $distinct" = "200 100"
frames 2 1 100 1000 0.1
check "dup 100 %: twice each, from the host" counts "$received $distinct" = "200 100"

lab impair node02 --corrupt 100
frames 1 2 100 1000 0.1
check "corrupt 100 %: each altered" counts "$received $altered" = "0 100"
lab impair node02 --corrupt 100 --ethertype 0x88b6
frames 1 2 100 1000 0.1
check "another EtherType is let alone" counts "$received $altered" = "100 0"

lab impair node02 --delay 20ms
frames 1 2 100 9000 0.3
check "delay 20 ms" counts "$received" = 100 -a "$least_us" -ge 20000 -a "$middle_us" -lt 25000
check "delay: TCP passes" reaches 1 node02-d
lab impair node02 --delay 20ms --jitter 10ms
frames 1 2 300 100 0.3
check "jitter keeps the order" counts "$received $overtaken" = "300 0"
lab impair node02 --delay 50ms --reorder 10 --seed 7
frames 1 2 300 100 0.3
check "reorder 10 %" counts "$received" = 300 -a "$overtaken" -gt 10
first=$early
lab impair node02 --delay 50ms --reorder 10 --seed 7
frames 1 2 300 100 0.3
check "the same seed, the same frames" counts -n "$early" -a "$early" = "$first"
lab impair node02 --delay 100ms --buffer 16
frames 1 2 100 100 0.3
check "a buffer of 16 frames" counts "$received" = 16
shown=$(lab impair 2 show)
check "full buffer: counted" counts "$(number_of to 'buffer full')" = 84
lab impair node02 --delay 20ms --dup 100
frames 1 2 50 100 0.2
check "delay and dup together" counts "$received $distinct" = "100 50" -a "$least_us" -ge 20000
lab impair node02 off
frames 1 2 200 1000 0.1
check "off: all as before" counts "$received $distinct $altered" = "200 200 0" -a "$middle_us" -lt 10000

for bad in "node09 --loss 1" "2 --loss 101" "2 --loss x" "2 --delay 5" "2 --jitter 1ms" "2 --bogus 1" \
	"2 --reorder 5" "2 --loss" "2" "2 --burst 5" "2 --loss 1 --burst 0" "2 --corrupt 1 --corrupt-in x"; do
	# shellcheck disable=SC2086
	check "refused: impair $bad" refused '^lab: ' lab impair $bad
done
check "refused: exec in an unknown host" refused 'node01 to node02' lab exec 3 true

# ---- capture, cable ------------------------------------------------------------------

lab capture node01 "$work/seen.pcap" --count 20 2>"$work/capture" &
until_true 5 grep -q 'listening on' "$work/capture" || cat "$work/capture"
frames 1 2 20 100 0.1
wait $!
check_fails "a capture that cannot be written" "^lab: capture: $work/none/seen.pcap cannot be written" \
	lab capture node01 "$work/none/seen.pcap" --count 1
tcpdump -r "$work/seen.pcap" ether proto 0x88b5 >"$work/seen.txt" 2>"$work/capture"
check "capture sees the frames" eval '[[ $(grep -c "^[0-9].*ethertype" $work/seen.txt) = 20 ]]'

lab cable 2 pull
check "cable pulled: no carrier" eval '[[ $(lab exec 2 cat /sys/class/net/gam0/carrier) = 0 ]]'
lab cable 2 plug
frames 1 2 20 100 0.1
check "cable plugged: frames pass" counts "$received" = 20

# ---- back to back ----------------------------------------------------------------------

check "a second lab, back to back" b2b up 2 --b2b --mtu 65535
in_lab=$other
frames 1 2 20 65535 0.2
check "b2b: frames of 65,535 bytes" counts "$received" = 20
b2b impair 1 --dup 100
b2b impair 2 --dup 100
frames 1 2 20 1000 0.1
check "b2b: dup at both ends" counts "$received $distinct" = "80 20"
b2b impair 1 off
b2b impair 2 --loss 100
frames 2 1 20 1000 0.1
check "b2b: loss 100 %" counts "$received" = 0
check "refused: delay back to back" refused 'back to back' b2b impair 1 --delay 1ms
check "TCP's offloads are off" offloads_are off
check "up --offloads" eval 'b2b down && b2b up 2 --b2b --offloads'
check "TCP's offloads are on" offloads_are on
check "libfabric finds the kernel's symbols" b2b exec 1 grep -q . /proc/kallsyms
check "up --quick-start" eval 'b2b down && b2b up 2 --b2b --quick-start'
check "libfabric does not find them then, and PSM is a copy" starts_quickly

# ---- shaped both ways, and what the switch does with multicast ---------------------------

group=03:47:4d:00:00:07
all=ff:ff:ff:ff:ff:ff
in_lab=$multi
passed_uplink() { multi exec 1 tc -s qdisc show dev gam0 | sed -n 's/.* \([0-9]*\) pkt .*/\1/p'; }
uplink_shapes() {
	local before
	multi exec 1 tc qdisc show dev gam0 | grep -q '^qdisc tbf .* rate 50Mbit ' || return 1
	before=$(passed_uplink)
	frames 1 2 200 1400 0.3 "" queue
	echo "$result"
	[[ $received = 200 && $(($(passed_uplink) - before)) = 200 ]] &&
		[[ $(multi exec 1 tc -s qdisc show dev gam0) =~ overlimits\ [1-9] ]]
}

check "a lab shaped both ways" multi up 3 --rate 50mbit --uplink
check "up --uplink: what is queued passes the host's shaper" uplink_shapes
check "list says so" eval '[[ $(multi list) == *"50mbit a port both ways"* ]]'
frames 1 3 100 1000 0.2 $group
check "multicast is flooded" counts "$received" = 100
check "up --multicast filter" eval 'multi down && multi up 3 --multicast filter'
frames 1 3 100 1000 0.2 $group
check "filter: no multicast frame passes" counts "$received" = 0
frames 1 3 100 1000 0.2 $all
check "filter: broadcasts pass" counts "$received" = 100
frames 1 3 100 1000 0.2
check "filter: frames to one host pass" counts "$received" = 100
multi impair 3 --delay 1ms
frames 1 3 100 1000 0.2 $group
check "filter: also with a delay" counts "$received" = 0
multi impair 3 off
frames 1 3 100 1000 0.2 $group
check "filter: also after it" counts "$received" = 0
check "up --multicast rate=R" eval 'multi down && multi up 3 --multicast rate=1mbit'
frames 1 3 500 1000 0.2 $group
check "rate: few multicast frames pass" counts "$received" -gt 0 -a "$received" -lt 400
frames 1 3 500 1000 0.2 $all
check "rate: broadcasts pass" counts "$received" = 500
frames 1 3 500 1000 0.2
check "rate: frames to one host pass" counts "$received" = 500
multi impair 1 --delay 1ms
frames 1 3 500 1000 0.2 $group
check "rate: also with a delay" counts "$received" -gt 0 -a "$received" -lt 400
multi impair 1 off
multi impair 1 --delay 1ms
check "rate: with a delay once more" eval 'multi impair 1 off && multi down'
for bad in "--uplink" "--multicast storm" "--multicast rate=" "--multicast rate=5"; do
	# shellcheck disable=SC2086
	check "refused: up 2 $bad" refused '^lab: up: ' multi up 2 $bad
done
check "refused: --multicast back to back" refused 'no switch' multi up 2 --b2b --multicast filter

# ---- several NICs ------------------------------------------------------------------------

in_lab=$multi
over() { frames 1 2 20 "$2" 0.1 "" "" "gam$1"; } # NIC SIZE
arrives() { # COUNT for each NIC; -1: it cannot send
	local i
	for i in 0 1; do
		over "$i" 1000
		[[ $received = "${*:i + 1:1}" ]] || { echo "gam$i: $result" && return 1; }
	done
}
index() { multi exec 1 cat /sys/class/net/gam1/ifindex; }
restored() {
	local before
	before=$(index) && multi nic node01.gam1 remove && [[ $(multi list) = *"02:47:41:4d:01:01 removed"* ]] &&
		! multi nic node01.gam1 remove && multi nic node01.gam1 restore && [[ $(index) != "$before" ]] &&
		! multi nic node01.gam1 restore
}
same_segment() { # whether a broadcast of gam0 reaches the other host's gam1
	multi capture node02.gam1 "$work/nics.pcap" --count 1 --seconds 2 2>"$work/capture" &
	until_true 5 grep -q 'listening on' "$work/capture"
	frames 1 2 20 100 0.1 "$all"
	wait $!
	tcpdump -r "$work/nics.pcap" ether proto 0x88b5 2>/dev/null | grep -q .
}
check "up --nics 2" multi up 2 --nics 2 --mtu gam1=9000 --rate gam0=1gbit
check "list names both" eval '[[ $(multi list | grep -c "gam1 *10.81.0.[12] *02:47:41:4d:01:0[12] plugged") = 2 ]]'
check "only gam0 is shaped" eval '[[ $(multi exec 1 tc qdisc; ip netns exec gl-$multi-sw tc qdisc show dev d1) = *"rate 1Gbit"* &&
	$(ip netns exec gl-$multi-sw tc qdisc show dev d1n1) != *rate* ]]'
check "frames pass on both" arrives 20 20
over 1 9000
check "gam1 has its own MTU" counts "$received" = 20
check "hosts find gam1 by IP" eval 'in_lab=$multi; [[ $(multi exec 1 bash -c "exec 3<>/dev/tcp/node02-d1/9" 2>&1) = *refused* ]]'
check "the segments are separate" eval '! same_segment'
multi cable node01.gam1 pull
check "cable of gam1 pulled: gam0 stays" arrives 20 -1
multi cable node01.gam1 plug
multi cable 1 pull
check "cable of gam0 pulled: gam1 stays" arrives -1 20
multi cable 1.gam0 plug
multi impair node02.gam1 --loss 100
check "loss on gam1 only" arrives 20 0
check "impair show names the NIC" eval '[[ $(multi impair 2.gam1 show) = "node02.gam1: --loss 100"* ]]'
multi impair node02.gam1 --delay 20ms
over 1 1000
check "delay on gam1" counts "$received" = 20 -a "$least_us" -ge 20000
over 0 1000
check "no delay on gam0" counts "$received" = 20 -a "$middle_us" -lt 10000
check "nic remove and restore" restored
check "frames pass on both again" arrives 20 20
check "refused: a NIC that is not there" refused 'hosts have gam0 gam1' multi cable node01.gam2 pull
check "up --nics 2 --one-switch" eval 'multi down && multi up 2 --nics 2 --one-switch --multicast rate=1mbit'
check "the NICs share a segment" same_segment
check "nic remove and restore there" eval 'restored && arrives 20 20 && multi down'
check "up --nics 2 --b2b" multi up 2 --nics 2 --b2b
check "back to back, both ways" arrives 20 20
multi cable node01.gam1 pull
check "back to back, gam1 pulled" arrives 20 -1
check "a lab with NICs goes down" multi down
for bad in "--nics 5" "--nics 0" "--one-switch" "--rate gam1=1gbit" "--nics 2 --mtu gam1=9" "--nics 2 --mtu gam9=900" \
	"--nics 2 --subnets 2"; do
	# shellcheck disable=SC2086
	check "refused: up 2 $bad" refused '^lab: up: ' multi up 2 $bad
done

# A terminal that goes away hangs up more than once.
hung_up() {
	local up
	setsid "$lab_tool" -n "$multi" up 2 >"$work/up" 2>&1 &
	up=$!
	until_true 20 test -e "/run/gamma-lab/$multi/hosts" && kill -HUP "$up" &&
		until_true 20 grep -q 'did not come up' "$work/up" || return 1
	kill -HUP -- "-$up" 2>/dev/null || true
	wait "$up" || true
	[ ! -e "/run/gamma-lab/$multi" ]
}
check "an up that is hung up leaves nothing" hung_up

# ---- down --------------------------------------------------------------------------------

"$lab_tool" -n "$lab_name" exec 1 \
	sh -c 'trap "" TERM; : >"$0"; sleep 60 & wait; sleep 60' "$work/stubborn" &
export stubborn=$!
disown
until [[ -e $work/stubborn ]]; do sleep 0.01; done
check "down" lab down
check "down ended the processes" eval '! kill -0 $stubborn'
check "down of the other" b2b down
check "no namespace is left" eval '! ls /run/netns | grep "^gl-$lab_name-"'
check "no mount is left" eval '! grep "/run/gamma-lab/$lab_name" /proc/self/mountinfo'
check "no folder is left" eval '[[ ! -e /run/gamma-lab/$lab_name && ! -e /run/gamma-lab/$other && ! -e /run/gamma-lab/$multi ]]'
# Other labs on the machine may come and go meanwhile.
if [[ -z $before && ! -e /run/gamma-lab ]]; then
	check "no user is left" eval '! getent passwd labuser'
fi
check "down again says so" eval '[[ $(lab down) = "lab: no lab $lab_name is up" ]]'

finish
