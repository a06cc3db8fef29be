# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2015
#
# Makes and removes a lab: state folder, namespaces, switch, ordinary user. Sourced by lab.

# ---- the folder of all labs ---------------------------------------------------

# The lock is on the folder itself, so that nothing is left when the last lab goes.
lock_labs() {
	while :; do
		mkdir -p "$labs"
		if { exec 9<"$labs"; } 2>/dev/null; then
			flock 9
			[[ $labs -ef /proc/$$/fd/9 ]] && return
			exec 9<&-
		fi
	done
}

unlock_labs() { exec 9<&-; }

# '*' as password: no login with one, but the account is not locked either.
make_users() {
	local user home
	for user in "${lab_users[@]}"; do
		home=$labs/.$user
		if ! getent passwd "$user" >/dev/null; then
			# The folder first: by it the last lab finds the user to remove.
			mkdir -p "$home"
			useradd --system --user-group --password '*' --shell /bin/bash \
				--home-dir "$home" "$user"
		fi
		[[ ! -d $home ]] || chown "$user:" "$home"
	done
}

remove_labs() {
	local user
	# What is left of users is hidden: labs' names begin with a letter or a digit.
	[[ -z $(find "$labs" -mindepth 1 -maxdepth 1 ! -name '.*') ]] || return 0
	for user in "${lab_users[@]}"; do
		[[ -d $labs/.$user ]] || continue
		userdel "$user" 2>/dev/null || say "the user $user could not be removed"
		rm -rf "${labs:?}/.$user"
	done
	rmdir "$labs"
}

# ---- up -------------------------------------------------------------------------

parse_up() {
	hosts='' mtu=1500 b2b=0 rate='' uplink=0 multicast=flood offloads=0 with_gammad=0 subnets=1
	ipv6=0 nics=1 one_switch=0 quick_start=0 mtus=() rates=()
	while (($#)); do
		case $1 in
		--b2b) b2b=1 ;;
		--gammad) with_gammad=1 ;;
		--offloads) offloads=1 ;;
		--uplink) uplink=1 ;;
		--ipv6) ipv6=1 ;;
		--one-switch) one_switch=1 ;;
		--quick-start) quick_start=1 ;;
		--mtu | --rate | --subnets | --multicast | --nics)
			[[ -n ${2-} ]] || misuse "up: $1 needs a value"
			case $1 in
			--mtu) parse_nic_value --mtu mtus mtu "$2" ;;
			--rate) parse_nic_value --rate rates rate "$2" ;;
			--nics) nics=$2 ;;
			--multicast) multicast=$2 ;;
			--subnets) subnets=$2 ;;
			esac
			shift
			;;
		-*) misuse "up: unknown option '$1'" ;;
		*)
			[[ -z $hosts ]] || misuse "up: one number of hosts, not '$hosts' and '$1'"
			hosts=$1
			;;
		esac
		shift
	done
	check_up
}

# A rate as tc reads it.
rate_pattern='[0-9]+(\.[0-9]+)?([kmgt]i?)?bit'

check_mtu() {
	[[ $1 =~ ^[1-9][0-9]{1,4}$ ]] && (($1 >= 68 && $1 <= 65535)) ||
		misuse "up: MTU '$1' is not from 68 to 65535"
	[[ $ipv6 = 0 || $1 -ge 1280 ]] || misuse "up: --ipv6 needs an MTU of 1280 or more, not $1"
}

check_rate() {
	[[ $1 =~ ^$rate_pattern$ ]] || misuse "up: '$1' is no rate such as 1gbit or 100mbit"
}

check_up() {
	[[ $hosts =~ ^[1-9][0-9]?$ ]] || misuse "up needs the number of hosts, 1 to 99"
	[[ $subnets = [12] ]] || misuse "up: '$subnets' subnets: 1 or 2"
	check_nics
	[[ $uplink = 0 ]] || is_shaped || misuse "up: --uplink needs --rate: it is the rate it shapes to"
	[[ $multicast =~ ^(flood|filter|rate=$rate_pattern)$ ]] ||
		misuse "up: --multicast '$multicast' is not flood, filter or rate=R such as rate=1mbit"
	if [[ $b2b = 1 ]]; then
		[[ $subnets = 1 ]] || misuse "up: --b2b joins two hosts, without a router"
		[[ $hosts = 2 ]] || misuse "up: --b2b joins two hosts, not $hosts"
		! is_shaped || misuse "up: --rate shapes at the switch's ports, and --b2b has no switch"
		[[ $multicast = flood ]] || misuse "up: --multicast is the switch's, and --b2b has no switch"
	fi
}

# Files that every host must see although it has its own copy of their folder.
visible_folders() {
	local folder build
	build=$(program_folder) || build=''
	for folder in "$tree" "$build" "${GAMMA_BUILD-}" "$PWD"; do
		[[ -d $folder ]] && realpath "$folder"
	done
	echo "$labs"
}

# The CPUs that this process may use, one per line.
usable_cpus() {
	local part
	taskset -pc $$ | sed 's/.*: //' | tr , '\n' | while read -r part; do
		seq "${part%-*}" "${part#*-}"
	done
}

write_hosts() {
	local i k
	echo "127.0.0.1 localhost"
	for ((i = 1; i <= hosts; i++)); do
		echo "10.77.0.$i $(host_name "$i")"
		echo "$(data_address "$i" 0) $(host_name "$i")-d"
		[[ $ipv6 = 0 ]] || echo "$(data_address6 "$i" 0) $(host_name "$i")-6"
		for ((k = 1; k < nics; k++)); do
			echo "$(data_address "$i" "$k") $(host_name "$i")-d$k"
			[[ $ipv6 = 0 ]] || echo "$(data_address6 "$i" "$k") $(host_name "$i")-6$k"
		done
	done
}

# What load_lab reads.
write_conf() {
	local i
	printf '%s\n' "hosts=$hosts" "mtu=$mtu" "b2b=$b2b" "rate=$rate" "uplink=$uplink" \
		"multicast=$multicast" "subnets=$subnets" "offloads=$offloads" "ipv6=$ipv6" \
		"nics=$nics" "one_switch=$one_switch" "quick_start=$quick_start" "mtus=()" "rates=()"
	for i in "${!mtus[@]}"; do echo "mtus[$i]=${mtus[i]}"; done
	for i in "${!rates[@]}"; do echo "rates[$i]=${rates[i]}"; done
}

make_state() {
	local i k node cpus
	mapfile -t cpus < <(usable_cpus)
	# Of its own, since programs start from there: where /run is mounted, nothing may be executed.
	mkdir "$state/shared"
	mount -t tmpfs -o mode=1777,nosuid,nodev gamma-shared "$state/shared"
	visible_folders | LC_ALL=C sort -u >"$state/visible"
	write_hosts >"$state/hosts"
	for ((i = 1; i <= hosts; i++)); do
		node=$(host_name "$i")
		mkdir -p "$state/$node/private"
		echo "${cpus[(i - 1) % ${#cpus[@]}]}" >"$state/$node/cpu"
		for ((k = 1; k < nics; k++)); do mkdir "$(nic_state "$i" "$k")"; done
		echo "$node 0x$(nic_mac "$i" 0 | sed 's/:/ 0x/g')"
	done >"$state/gamma.conf"
	write_conf >"$state/conf"
}

make_namespaces() {
	local i
	{
		echo "netns add $(switch_ns)"
		[[ $subnets = 1 ]] || echo "netns add $(router_ns)"
		for ((i = 1; i <= hosts; i++)); do echo "netns add $(host_ns "$i")"; done
	} | ip -batch -
}

switch_commands() {
	local i bridge='type bridge stp_state 0 forward_delay 0 mcast_snooping 0'
	echo "link add name mgt $bridge"
	echo "link set dev mgt up"
	echo "link add name data $bridge"
	# Set by itself, or the bridge would follow the smallest of its ports.
	echo "link set dev data mtu $(bridge_mtu) up"
	segment_commands
	[[ $subnets = 1 ]] || router_commands
	for ((i = 1; i <= hosts; i++)); do
		echo "link add name m$i type veth peer name mgt0 netns $(host_ns "$i")"
		echo "link set dev m$i master mgt up"
	done
	for ((i = 0; i < nics; i++)); do nic_commands "$i"; done
}

# Prints the parameters of NIC $1's shapers. A port's queue holds 512 KiB, about what a small switch has for one.
shaper() {
	local burst=$((2 * ($(nic_mtu "$1") + 14)))
	((burst >= 32768)) || burst=32768
	echo "tbf rate $(nic_rate "$1") burst $burst limit 524288"
}

# What the switch does with multicast frames that arrive at port $1. Broadcasts pass: hosts need
# ARP. A filter has no group that anybody joined. A limit sends them through a device with a shaper
# that queues next to nothing, so that what exceeds it is lost, as with storm control. Its NIC is $2.
limit_multicast() {
	local ns size burst
	size=$(nic_mtu "$2") burst=$((4 * ($(nic_mtu "$2") + 14)))
	ns=$(switch_ns)
	case $multicast in
	filter)
		bridge -n "$ns" link set dev "$1" mcast_flood off
		;;
	rate=*)
		ip -n "$ns" -batch - <<-END
		link add name x$1 mtu $size type ifb
		link set dev x$1 up
		END
		tc -n "$ns" -batch - <<-END
		qdisc add dev x$1 root tbf rate ${multicast#rate=} burst $burst limit $burst
		qdisc add dev $1 clsact
		filter add dev $1 ingress prio 1 protocol all u32 match u16 0xffff 0xffff at -14 flowid 1:1
		filter add dev $1 ingress prio 2 protocol all u32 match u8 1 1 at -14 action mirred egress redirect dev x$1
		END
		;;
	esac
}

# With segmentation offload TCP sends packets of 64 KiB over any MTU: the cable carries no frames of
# that MTU then. Off by default, so that all transports send the same frames; on with --offloads, as
# the kernel has them by default and as users run TCP.
offloads_off() {
	local device
	for device in "$@"; do
		ethtool -K "$device" tso off gso off gro off tx off >/dev/null ||
			say "the offloads of $device in $(uname -n) could not be switched off" >&2
	done
}

# The data network's devices, as `lab up` was asked.
data_offloads() {
	local device
	if [[ $offloads = 0 ]]; then
		offloads_off "$@"
		return
	fi
	for device in "$@"; do
		ethtool -K "$device" tx on tso on gso on gro on >/dev/null ||
			say "the offloads of $device in $(uname -n) could not be switched on" >&2
	done
}

ipv6_off() {
	local file
	for file in /proc/sys/net/ipv6/conf/{all,default}/disable_ipv6; do
		[[ ! -e $file ]] || echo 1 >"$file"
	done
}

# On the data network's devices of a lab with IPv6: addresses are usable at once, and nobody looks
# for routers.
ipv6_on() {
	local device conf
	[[ $ipv6 = 1 ]] || return 0
	for device in "$@"; do
		conf=/proc/sys/net/ipv6/conf/$device
		echo 0 >"$conf/accept_ra"
		echo 0 >"$conf/router_solicitations"
		echo 0 >"$conf/accept_dad"
		echo 0 >"$conf/disable_ipv6"
	done
}

# Runs in the switch's namespace, through "lab __host 0".
set_up_switch() {
	local file i
	ipv6_off
	switch_commands | ip -batch -
	for file in /proc/sys/net/bridge/bridge-nf-call-*; do
		[[ ! -e $file ]] || echo 0 >"$file"
	done
	if [[ $b2b = 0 ]]; then
		# shellcheck disable=SC2046
		for ((i = 0; i < nics; i++)); do set_up_ports "$i" $(nic_ports "$i"); done
	fi
	if [[ $subnets = 2 ]]; then data_offloads r1 r2; fi
	offloads_off $(seq -f m%g "$hosts")
}

# All hosts in parallel: most of the time they wait for the kernel.
start_hosts() {
	local i started=() failed=0
	for ((i = 1; i <= hosts; i++)); do
		in_net "$(host_ns "$i")" unshare --uts --ipc --mount --propagation private \
			"$here/lab" -n "$name" __host "$i" </dev/null &
		started+=($!)
	done
	for i in "${!started[@]}"; do
		wait "${started[i]}" && continue
		failed=1
		say "$(host_name $((i + 1))) could not be set up" >&2
	done
	return $failed
}

# The exit trap of an unfinished up.
abandon_start() {
	local status=$?
	set +e
	trap '' INT TERM HUP
	say "lab $name did not come up; what was made of it is removed" >&2
	# shellcheck disable=SC2046
	kill $(jobs -p) 2>/dev/null || :
	remove_lab
	exit $((status ? status : 1))
}

cmd_up() {
	parse_up "$@"
	umask 022
	lock_labs
	if ! mkdir "$state" 2>/dev/null; then
		die "lab $name is up already, or left half-made: 'lab -n $name down' first"
	fi
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	trap abandon_start EXIT
	make_users
	unlock_labs
	make_state
	make_namespaces
	in_net "$(switch_ns)" "$here/lab" -n "$name" __host 0
	[[ $subnets = 1 ]] || in_net "$(router_ns)" "$here/lab" -n "$name" __router_up
	start_hosts
	[[ $with_gammad = 0 ]] || start_gammad
	trap - EXIT
	say "$name is up: $hosts hosts, shared folder $state/shared"
}

# ---- down -----------------------------------------------------------------------

# All network namespaces of the lab, from their names, so that no state is needed.
lab_namespaces() {
	local ns
	for ns in "/run/netns/gl-$name-sw" "/run/netns/gl-$name-rt" "/run/netns/gl-$name-n"[0-9][0-9]; do
		[[ ! -e $ns ]] || echo "$ns"
	done
}

# Opens the hosts' other namespaces: a number is not used again while one is open, so the
# processes found by it are the lab's for sure.
pin_namespaces() {
	local ns node kind fd
	pinned=()
	for ns in $(lab_namespaces); do
		node=node${ns##*-n}
		pid=$(cat "$state/$node/pid" 2>/dev/null) || continue
		for kind in uts ipc mnt; do
			{ exec {fd}<"/proc/$pid/ns/$kind"; } 2>/dev/null || continue
			if [[ /proc/$pid/ns/net -ef $ns &&
				! /proc/$pid/ns/$kind -ef /proc/$$/ns/$kind ]]; then
				pinned+=("/proc/$$/fd/$fd")
			else
				exec {fd}<&-
			fi
		done
	done
}

# The lab's processes: all that are in one of its namespaces, of any kind.
members() {
	local inodes
	# shellcheck disable=SC2046
	inodes=$(stat -L -c %i $(lab_namespaces) "${pinned[@]}" 2>/dev/null) || :
	{
		stat -L -c '%i %n' /proc/[0-9]*/ns/{net,uts,ipc,mnt} 2>/dev/null || :
	} | awk -v inodes="$inodes" '
		BEGIN { n = split(inodes, list); for (i = 1; i <= n; i++) ours[list[i]] = 1 }
		$1 in ours { split($2, path, "/"); if (!seen[path[3]]++) print path[3] }'
}

# Zombies have no namespaces any more and are not waited for.
end_members() {
	local signal try pids
	for signal in TERM KILL; do
		for ((try = 0; try < 50; try++)); do
			mapfile -t pids < <(members)
			((${#pids[@]})) || return 0
			# Once more to those that came later, such as children of a shell.
			((try % 10)) || kill -"$signal" "${pids[@]}" 2>/dev/null || :
			sleep 0.02
		done
	done
	say "these processes of lab $name do not end: ${pids[*]}" >&2
}

remove_lab() {
	local ns groups
	mapfile -t groups < <(gammad_groups)
	pin_namespaces
	end_members
	remove_groups "${groups[@]}"
	for ns in $(lab_namespaces); do echo "netns del ${ns##*/}"; done | ip -force -batch -
	for ns in "${pinned[@]}"; do
		ns=${ns##*/}
		exec {ns}<&-
	done
	lock_labs
	if mountpoint -q "$state/shared"; then umount -l "$state/shared"; fi
	rm -rf --one-file-system "${state:?}"
	remove_labs
	unlock_labs
}

cmd_down() {
	(($# == 0)) || misuse "down takes no argument"
	if [[ ! -e $state && -z $(lab_namespaces) ]]; then
		say "no lab $name is up"
		return
	fi
	trap '' INT TERM HUP
	remove_lab
	say "$name is down"
}
