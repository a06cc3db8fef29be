#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Collective operations (gamma-coll): on one process a host, on several, over UDP and through
# gammad; and what members hear if one of them differs, stays away or dies.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${top_srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}/fabtests/functional/lib.sh"

coll=$abs_top_builddir/fabtests/functional/gamma-coll
[ -x "$coll" ] || bail "$coll is not built (make check builds it)"
need_tool jq
hosts=4
victims=() # options of wire_attack.py
good=(query all types order subsets groups late ahead)
# Over other links, where the same code runs.
some=(query all order groups)
[ "${GAMMA_TEST_LONG:-0}" = 0 ] || some=("${good[@]}")

inside=() # in front of each program

# run_coll MEMBERS TEST...: the members one after the other on the hosts; true if all end well.
run_coll() {
	local members=$1 i status=0
	shift
	for ((i = 0; i < members; i++)); do
		start "m$i" "$(printf 'node%02d' $((i % hosts + 1)))" 60 \
			"${inside[@]}" "$coll" "$members" "$i" "$(mgt 1)" 7788 "$@"
	done
	for ((i = 0; i < members; i++)); do
		wait_end "m$i" || status=1
	done
	return "$status"
}

# outputs MEMBERS: files with what they wrote.
outputs() {
	local i
	for ((i = 0; i < $1; i++)); do echo "$work/m$i.out"; done
}

# coll TEXT MEMBERS TEST...: a check for each test.
coll() {
	local text=$1 members=$2 test files
	shift 2
	run_coll "$members" "$@" || true
	mapfile -t files < <(outputs "$members")
	for test; do
		if [ "$(cat "${files[@]}" | grep -cx "ok $test")" -eq "$members" ]; then
			ok "$text: $test"
		else
			not_ok "$text: $test" "${files[@]}"
			return
		fi
	done
}

# names TEXT PATTERN MEMBERS: what the members but the last wrote names the culprit.
names() {
	local i wrong=0
	for ((i = 0; i + 1 < $3; i++)); do
		grep -Eq -- "$2" "$work/m$i.out" || wrong=1
	done
	if [ "$wrong" -eq 0 ]; then
		ok "$1: $(grep -Em 1 -- "$2" "$work/m0.out")"
	else
		not_ok "$1" "$work/m0.out" "$work/m1.out"
	fi
}

lab_up $hosts
coll "four hosts" 4 "${good[@]}" threads
coll "seven processes on four hosts" 7 "${good[@]}"
coll "one process" 1 query all types
counted() { # TEXT JQ-CONDITION, on the list of all endpoints' counters
	if jq -se "$2" "$work/stats" >"$work/jq.out"; then
		ok "$1"
	else
		jq -c '{multicast_out, multicast_in, multicast_asks, multicast_again}' "$work/stats" >"$work/jq.out"
		not_ok "$1" "$work/jq.out"
	fi
}
# What left the root of one broadcast of 1 MiB: each frame once, to all hosts. MTU 1,500 carries
# 1,452 bytes of it.
gamma_env+=(FI_GAMMA_LINK=packet "FI_GAMMA_STATS=$work/stats")
rm -f "$work/stats"
coll "1 MiB to three hosts" 4 mib
counted "it leaves once: 723 frames at the root, none elsewhere" \
	'(map(.multicast_out) | sort) == [0, 0, 0, 723]'
counted "each other host takes 723 frames" '(map(.multicast_in) | sort) == [0, 723, 723, 723]'
counted "no question, no repair" 'all(.multicast_asks == 0 and .multicast_again == 0)'
counted "other data frames are few" 'all(.data_frames_out < 200)'
# Of an allgather each block leaves its member once, in 46 frames.
rm -f "$work/stats"
coll "64 KiB from each of four hosts to all" 4 blocks
counted "each block leaves once: 46 frames" 'all(.multicast_out == 46)'
counted "each host takes the blocks of three others" 'all(.multicast_in == 138)'
counted "no question and no repair there" 'all(.multicast_asks == 0 and .multicast_again == 0)'

# A host that is no member sends frames to the group, made after what it sees on the wire: they
# change nothing, and the members count them. They are fewer than a ring has places, so that they push
# out no frame even if the members have to wait for a processor.
rm -f "$work/stats"
for ((i = 1; i <= 3; i++)); do victims+=(--victim "$(data_mac $i)"); done
start intruder node04 20 python3 -B "$top_srcdir/fabtests/functional/wire_attack.py" intrude --nic gam0 \
	"${victims[@]}" --kind datagram --rate 400 --seconds 2
coll "a host that is no member sends to the group" 3 attacked
check "the intruder sends" wait_end intruder
counted "what it sent is counted" '(map(.stray) | add) > 100'
counted "broadcasts go by multicast all the same, and none is sent again" \
	'all(.multicast_out >= 46 and .multicast_in == 2 * .multicast_out and .multicast_again == 0)'

lab impair node03 --loss 5 --seed 7
rm -f "$work/stats"
coll "5 % loss at one host" 4 all
counted "what was lost was sent again" 'map(.multicast_again) | add > 0'
lab impair node03 off
coll "a member stands still for 3 s" 4 stopped
unset 'gamma_env[-2]' 'gamma_env[-1]'

# By default it goes over UDP beside raw frames, in trains: 1,424 bytes a frame. Acknowledgements are calls, too.
gamma_env+=("FI_GAMMA_STATS=$work/stats")
rm -f "$work/stats"
coll "in trains, 1 MiB to three hosts" 4 mib
counted "in trains, it leaves once: 737 frames at the root, none elsewhere" \
	'(map(.multicast_out) | sort) == [0, 0, 0, 737]'
counted "in trains, each other host takes 737 frames" \
	'(map(.multicast_in) | sort) == [0, 737, 737, 737]'
counted "in trains, no question, no repair" 'all(.multicast_asks == 0 and .multicast_again == 0)'
counted "in trains, fewer calls than frames" 'all(.send_calls < 500)'
rm -f "$work/stats"
coll "in trains, 64 KiB from each of four hosts to all" 4 blocks
counted "in trains, each block leaves once: 47 frames" 'all(.multicast_out == 47)'
counted "in trains, hosts take blocks of others" 'map(.multicast_in) | add > 4 * 47'
lab impair node03 --loss 5 --seed 7 --ethertype 0x0800
rm -f "$work/stats"
coll "in trains, 5 % loss at one host" 4 all late ahead
counted "in trains, what was lost was sent again" 'map(.multicast_again) | add > 0'
lab impair node03 off
coll "in trains, a member stands still for 3 s" 4 stopped
# A network that passes raw multicast, but none of IP.
lab impair node03 --loss 100 --ethertype 0x0800
rm -f "$work/stats"
coll "IP multicast does not pass" 4 mib
counted "then raw frames do" '(map(.multicast_out) | sort) == [0, 0, 0, 723]'
lab impair node03 off
unset 'gamma_env[-1]'

coll "different lengths" 4 lengths
check "one is named" grep -q 'member [0-9].*another operation' "$work"/m?.out
coll "everybody takes another one for the root" 4 roots

gamma_env+=(FI_GAMMA_JOIN_TIMEOUT=2 FI_GAMMA_PEER_TIMEOUT=2)
coll "one joins another set" 4 sets
names "it is named" 'member 3 .*joins another set' 4
gamma_env+=(FI_LOG_LEVEL=warn FI_LOG_PROV=gamma)
coll "a member that the address vector lacks" 4 unknown
names "it is named" 'cannot join: member 3 of the set, address 3, is not in the address vector' 4
unset 'gamma_env[-1]' 'gamma_env[-1]'
coll "one does not join in time" 4 absent
names "it is named" 'member 3 .*has not joined' 4
deaths=(death death1)
[ "${GAMMA_TEST_LONG:-0}" = 0 ] || deaths+=(death2 death3 death4 death5 death6)
for test in "${deaths[@]}"; do
	run_coll 4 "$test" || true
	names "a member dies ($test)" ': member 3 ' 4
done
unset 'gamma_env[-1]' 'gamma_env[-1]'

gamma_env+=(FI_LOG_LEVEL=warn FI_LOG_PROV=gamma "FI_GAMMA_STATS=$work/stats")
# A switch that begins to filter multicast while a group uses it.
rm -f "$work/stats" "$work/m0.out"
(
	for ((i = 0; i < 300; i++)); do
		! grep -qs now "$work/m0.out" || break
		sleep 0.1
	done
	for ((i = 1; i <= hosts; i++)); do
		bridge -n "gl-$lab_name-sw" link set dev "d$i" mcast_flood off
	done
) &
filter=$!
coll "multicast is filtered midway" 4 filtered
wait "$filter"
counted "before, it went by multicast" 'map(.multicast_in) | add > 100'
check "one member says that the group goes on without" test "$(cat "$work"/m?.out | grep -c 'goes on without multicast')" -eq 1
lab_down
lab_up $hosts --multicast filter
rm -f "$work/stats"
coll "a switch that filters multicast" 4 query all
counted "then nothing goes by multicast" 'all(.multicast_in == 0)'
check "one warning for each group" test "$(cat "$work"/m?.out | grep -c 'goes without multicast')" -eq 1
unset 'gamma_env[-1]' 'gamma_env[-1]' 'gamma_env[-1]'

gamma_env+=(FI_GAMMA_LINK=udp)
coll "UDP" 4 "${some[@]}"
unset 'gamma_env[-1]'
lab_down
lab_up $hosts
gamma_env+=(FI_GAMMA_LINK=udp "FI_GAMMA_STATS=$work/stats")
rm -f "$work/stats"
coll "UDP: 1 MiB to three hosts" 4 mib
counted "UDP: it leaves once, by IP multicast" 'map(select(.multicast_out > 700)) | length == 1'
counted "UDP: each other host takes it" '(map(.multicast_in) | sort)[1] > 700'
unset 'gamma_env[-2]' 'gamma_env[-1]'
# Group addresses that switches with IGMP snooping know.
gamma_env+=(FI_GAMMA_LINK=packet FI_GAMMA_GROUP_MAC=ip "FI_GAMMA_STATS=$work/stats")
rm -f "$work/stats"
coll "IP group addresses" 4 mib igmp
counted "they carry multicast" '(map(.multicast_in) | sort)[1] > 700'
unset 'gamma_env[-3]' 'gamma_env[-2]' 'gamma_env[-1]'
lab_down

# With more than 9 hosts some report for others: one gets the reports of three, the root those of eight.
hosts=12
lab_up $hosts
gamma_env+=(FI_GAMMA_LINK=packet "FI_GAMMA_STATS=$work/stats")
rm -f "$work/stats"
coll "1 MiB to eleven hosts" 12 mib
counted "it leaves once" '(map(.multicast_out) | sort)[10:] == [0, 723]'
counted "one host reports for others" 'map(.messages_in) | sort | .[10] > 2 * .[9] and .[11] > .[10]'
if [ "${GAMMA_TEST_LONG:-0}" != 0 ]; then
	lab impair node02 --loss 2 --seed 7
	lab impair node12 --loss 5 --seed 8
	coll "twelve hosts, loss at two" 12 all order late ahead
	lab impair node02 off
	lab impair node12 off
	coll "one of twelve stands still for 3 s" 12 stopped
fi
unset 'gamma_env[-2]' 'gamma_env[-1]'
hosts=4
lab_down

# Ordinary users, without any capability.
if [ -x "$abs_top_builddir/gammad/gammad" ] && grep -q cgroup2 /proc/mounts; then
	lab_up $hosts --gammad
	shared=/run/gamma-lab/$lab_name/shared
	mkdir "$shared/lib"
	for entry in "${gamma_env[@]}"; do
		[[ $entry != FI_PROVIDER_PATH=* ]] || cp -L "${entry#*=}/libgamma-fi.so" "$shared/lib"
	done
	cp "$coll" "$shared/lib"
	chmod -R a+rX "$shared/lib"
	gamma_env+=("FI_PROVIDER_PATH=$shared/lib" FI_GAMMA_LINK=packet)
	coll=$shared/lib/gamma-coll
	inside=(setpriv --reuid labuser --regid "$(id -g labuser)" --clear-groups --inh-caps=-all)
	gamma_env+=("FI_GAMMA_STATS=$shared/stats")
	coll "gammad" 7 "${some[@]}" threads
	cp "$shared/stats" "$work/stats" || true
	counted "gammad: broadcasts go by multicast" 'map(.multicast_in) | add > 1000'
	unset 'gamma_env[-2]'
	gamma_env=("${gamma_env[@]}")
	rm -f "$shared/stats"
	coll "gammad: in trains" 4 mib
	cp "$shared/stats" "$work/stats" || true
	counted "gammad: they leave once" '(map(.multicast_out) | sort) == [0, 0, 0, 737]'
	gamma_env+=(FI_GAMMA_LINK=packet)
	gamma_env+=(FI_LOG_LEVEL=warn FI_LOG_PROV=gamma)
	coll "gammad: more groups than it lets an endpoint have" 4 many
	cat "$work"/m?.out >"$work/many.out"
	check "one member says of each, which member has no socket" \
		grep -q 'goes without multicast.*member [0-9].*cannot open a socket' "$work/many.out"
	check "and that one, why" grep -q 'groups' "$work/many.out"
	unset 'gamma_env[-1]' 'gamma_env[-1]'
	lab_down
fi

finish
