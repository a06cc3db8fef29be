# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2015
#
# Impairs GAMMA's frames at the switch port of one NIC of a host. Loss, duplication and corruption are
# a BPF program at the port; delay, jitter, reordering and a finite buffer are gamma-switch, which
# comes between the NIC's cable (d<i>) and the bridge: d<i> - gamma-switch - t<i> = s<i> - bridge. The
# BPF program is then at s<i>. Functions take the numbers of host and NIC. Sourced by lab.

# The build's folder with gamma-impair, impair.bpf.o and gamma-switch.
program_folder() {
	local folder
	for folder in "${GAMMA_BUILD:+$GAMMA_BUILD/lab}" "${GAMMA_BUILD-}" "$here" "$PWD/lab" \
		"$tree/build/lab"; do
		if [[ -n $folder && -x $folder/gamma-impair && -x $folder/gamma-switch ]]; then
			echo "$folder"
			return
		fi
	done
	return 1
}

find_programs() {
	programs=$(program_folder) ||
		die "gamma-impair and gamma-switch are not found: build with 'configure --enable-lab'," \
			"and name the build folder in GAMMA_BUILD"
}

# ---- arguments ----------------------------------------------------------------

check_percent() {
	if [[ $2 =~ ^([0-9]{1,3})(\.[0-9]{1,9})?$ ]]; then
		((10#${BASH_REMATCH[1]} < 100)) && return
		[[ $2 =~ ^100(\.0+)?$ ]] && return
	fi
	misuse "impair: $1 '$2' is not a percentage from 0 to 100, such as 0.1"
}

# Sets ns to the time in nanoseconds.
parse_time() {
	local unit
	[[ $2 =~ ^([0-9]{1,9})(\.([0-9]{1,9}))?(ns|us|ms|s)$ ]] ||
		misuse "impair: $1 '$2' is not a time such as 50us or 2ms"
	case ${BASH_REMATCH[4]} in
	ns) unit=1 ;;
	us) unit=1000 ;;
	ms) unit=1000000 ;;
	s) unit=1000000000 ;;
	esac
	fraction=${BASH_REMATCH[3]}000000000
	ns=$((10#${BASH_REMATCH[1]} * unit + 10#${fraction:0:9} * unit / 1000000000))
	((ns <= 10000000000)) || misuse "impair: $1 '$2' is more than 10s"
}

check_number() {
	[[ $2 =~ ^[0-9]{1,18}$ ]] && ((10#$2 >= $3 && 10#$2 <= $4)) ||
		misuse "impair: $1 '$2' is not a number from $3 to $4"
}

check_ethertype() {
	[[ $1 =~ ^(0[xX][0-9a-fA-F]{1,4}|[1-9][0-9]{0,4})$ ]] && (($1 >= 0x600 && $1 <= 0xffff)) ||
		misuse "impair: --ethertype '$1' is not from 0x600 to 0xffff"
}

check_where() {
	[[ $1 = @(any|header|payload) ]] ||
		misuse "impair: --corrupt-in '$1' is not any, header or payload"
}

parse_impair() {
	loss=0 burst=1 dup=0 corrupt=0 where=any delay=0 jitter=0 reorder=0 buffer='' seed='' ethertype=0x88b5
	while (($#)); do
		(($# >= 2)) || misuse "impair: $1 needs a value"
		case $1 in
		--loss) check_percent "$1" "$2" && loss=$2 ;;
		--burst) check_number "$1" "$2" 1 1000000 && burst=$((10#$2)) ;;
		--dup) check_percent "$1" "$2" && dup=$2 ;;
		--corrupt) check_percent "$1" "$2" && corrupt=$2 ;;
		--corrupt-in) check_where "$2" && where=$2 ;;
		--reorder) check_percent "$1" "$2" && reorder=$2 ;;
		--delay) parse_time "$1" "$2" && delay=$ns ;;
		--jitter) parse_time "$1" "$2" && jitter=$ns ;;
		--buffer) check_number "$1" "$2" 1 1000000 && buffer=$((10#$2)) ;;
		--seed) check_number "$1" "$2" 0 999999999999999999 && seed=$((10#$2)) ;;
		--ethertype) check_ethertype "$2" && ethertype=$2 ;;
		*) misuse "impair: unknown option '$1'" ;;
		esac
		shift 2
	done
	((burst == 1)) || [[ ! $loss =~ ^[0.]+$ ]] || misuse "impair: --burst needs --loss"
	[[ $where = any || ! $corrupt =~ ^[0.]+$ ]] || misuse "impair: --corrupt-in needs --corrupt"
	((jitter <= delay)) || misuse "impair: --jitter is larger than --delay"
	[[ $reorder =~ ^[0.]+$ ]] || ((delay > 0)) ||
		misuse "impair: --reorder needs --delay: a frame overtakes those that wait"
	[[ -z $buffer || -n $(nic_rate "$nic") ]] || ((delay > 0)) ||
		misuse "impair: --buffer needs --delay or a lab with --rate: otherwise no frame waits"
	if ((delay > 0)) || [[ -n $buffer ]]; then
		[[ $b2b = 0 ]] || misuse "impair: --delay needs a switch, and lab $name is back to back"
	fi
}

# ---- the BPF program ------------------------------------------------------------

# Both directions: network namespace, device, hook, and whether the frames go to the host or come
# from it. Back to back it is ingress at either end, as PACKET_QDISC_BYPASS skips the sender's egress.
hooks() {
	local port
	if [[ $b2b = 1 ]]; then
		echo "$(host_ns "$1") $(nic_name "$2") ingress to"
		echo "$(host_ns $((3 - $1))) $(nic_name "$2") ingress from"
		return
	fi
	port=d$(port_name "$1" "$2")
	[[ ! -e $(nic_state "$1" "$2")/switch.pid ]] || port=s${port#d}
	echo "$(switch_ns) $port egress to"
	echo "$(switch_ns) $port ingress from"
}

attach_bpf() {
	local ns device hook way
	while read -r ns device hook way; do
		in_net "$ns" "$programs/gamma-impair" attach "$device" "$hook" "$way" \
			"$programs/impair.bpf.o" "$ethertype" "$loss" "$burst" "$dup" \
			"$corrupt" "$where"
	done < <(hooks "$1" "$2")
}

detach_bpf() {
	local ns device hook way
	while read -r ns device hook way; do
		in_net "$ns" "$programs/gamma-impair" detach "$device" "$hook" "$way"
	done < <(hooks "$1" "$2")
}

# ---- the user-space switch port ---------------------------------------------------

# bit/s of the shaper of port $1; tc prints bytes.
port_rate() {
	local bytes
	bytes=$(tc -n "$(switch_ns)" -j qdisc show dev "$1" root |
		sed -n 's/.*"rate":\([0-9]*\).*/\1/p')
	echo $((bytes * 8))
}

start_switch() {
	local folder options port size
	folder=$(nic_state "$1" "$2") port=$(port_name "$1" "$2") size=$(nic_mtu "$2")
	options=(--delay "$delay" --jitter "$jitter" --reorder "$reorder" --ethertype "$ethertype"
		${buffer:+--buffer "$buffer"} ${seed:+--seed "$seed"}
		--pid-file "$folder/switch.pid" --stats-file "$folder/switch.stats")
	[[ -z $(nic_rate "$2") ]] || options+=(--rate "$(port_rate "d$port")")
	ip -n "$(switch_ns)" -batch - <<-END
	link add name s$port mtu $size type veth peer name t$port mtu $size
	link set dev t$port arp off up
	link set dev d$port nomaster
	link set dev s$port master $(data_bridge "$1" "$2") up
	END
	limit_multicast "s$port" "$2"
	in_net "$(switch_ns)" "$programs/gamma-switch" "${options[@]}" "d$port" "t$port" && return
	rm -f "$folder/switch.pid"
	bridge_again "$1" "$2"
	die "gamma-switch did not start for $(nic_label "$1" "$2")"
}

bridge_again() {
	local port
	port=$(port_name "$1" "$2")
	ip -n "$(switch_ns)" -batch - <<-END
	link del dev s$port
	link set dev d$port master $(data_bridge "$1" "$2")
	END
	# A port that joins the bridge again floods again; its limit has stayed.
	case $multicast in
	filter) limit_multicast "d$port" "$2" ;;
	rate=*) ip -n "$(switch_ns)" link del dev "xs$port" ;;
	esac
}

stop_switch() {
	local folder pid try
	folder=$(nic_state "$1" "$2")
	[[ -e $folder/switch.pid ]] || return 0
	pid=$(<"$folder/switch.pid")
	if [[ /proc/$pid/ns/net -ef /run/netns/$(switch_ns) ]]; then
		kill "$pid" 2>/dev/null || :
		# It sends what still waits, then ends.
		for ((try = 0; try < 100; try++)); do
			[[ -e /proc/$pid/ns/net ]] || break
			sleep 0.01
		done
	fi
	rm -f "$folder/switch.pid" "$folder/switch.stats"
	bridge_again "$1" "$2"
}

# ---- the command ------------------------------------------------------------------

show_impairment() {
	local ns device hook way folder
	folder=$(nic_state "$1" "$2")
	[[ -s $folder/impair ]] || { say "no impairment at $(nic_label "$1" "$2")" && return; }
	echo "$(nic_label "$1" "$2"): $(<"$folder/impair")"
	if [[ $(<"$folder/impair") =~ --(loss|dup|corrupt) ]]; then
		while read -r ns device hook way; do
			echo "$way host: $(in_net "$ns" "$programs/gamma-impair" show "$device" "$hook" "$way")"
		done < <(hooks "$1" "$2")
	fi
	if [[ -s $folder/switch.stats ]]; then
		# Its figures are up to a tenth of a second old.
		sleep 0.15
		sed 's/^\(to\|from\) /\1 host: /' "$folder/switch.stats"
	fi
}

end_impairment() {
	stop_switch "$1" "$2"
	detach_bpf "$1" "$2"
	rm -f "$(nic_state "$1" "$2")/impair"
}

cmd_impair() {
	local folder
	(($# >= 2)) || misuse "impair needs a host, and 'off', 'show' or what to do"
	load_lab
	find_nic "$1"
	shift
	if [[ $1 = off || $1 = show ]]; then
		(($# == 1)) || misuse "impair: nothing may follow '$1'"
	else
		parse_impair "$@"
	fi
	find_programs
	folder=$(nic_state "$host" "$nic")
	case $1 in
	show) show_impairment "$host" "$nic" && return ;;
	off) end_impairment "$host" "$nic" && return ;;
	esac
	if ((delay > 0)) || [[ -n $buffer || -e $folder/switch.pid ]]; then end_impairment "$host" "$nic"; fi
	if ((delay > 0)) || [[ -n $buffer ]]; then start_switch "$host" "$nic"; fi
	if [[ "$*" =~ --(loss|dup|corrupt) ]]; then attach_bpf "$host" "$nic"; else detach_bpf "$host" "$nic"; fi
	echo "$*" >"$folder/impair"
}
