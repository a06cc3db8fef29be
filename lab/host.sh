# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154
#
# The inside of a host: runs in the host's new namespaces. Sourced by lab.

# Folders that each host has of its own. /run is the last to be put in place, as it hides $private.
own_folders=(/tmp /var /dev/shm /run)

# The host's own port $1, so that what it sends takes time. A socket's frames count as sent when they
# leave the queue, as with a NIC. Frames that bypass the queueing discipline are not shaped.
shape_uplink() {
	# shellcheck disable=SC2046
	[[ -z $(nic_rate "$1") ]] || tc qdisc add dev "$(nic_name "$1")" root $(shaper "$1")
}

# NIC $2 of host $1.
set_up_nic() {
	ipv6_on "$(nic_name "$2")"
	nic_addresses "$1" "$2" | ip -batch -
	data_offloads "$(nic_name "$2")"
	[[ $uplink = 0 ]] || shape_uplink "$2"
}

set_up_network() {
	local i
	ipv6_off
	separate_arp
	ip -batch - <<-END
	link set dev lo up
	address add 10.77.0.$1/24 dev mgt0
	link set dev mgt0 up
	END
	offloads_off mgt0
	for ((i = 0; i < nics; i++)); do set_up_nic "$1" "$i"; done
	data_route "$1" | ip -batch -
	# Any user may ping, whatever ping's own rights are.
	echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range
}

# A fresh sysfs shows this host's devices only. Control groups stay the machine's; pinned BPF
# objects are the host's.
mount_sysfs() {
	mkdir "$private/cgroup"
	mount --rbind /sys/fs/cgroup "$private/cgroup"
	mount -t sysfs sysfs /sys
	mount --move "$private/cgroup" /sys/fs/cgroup
	[[ ! -d /sys/fs/bpf ]] || mount -t bpf bpf /sys/fs/bpf
}

# Shows $1 at $2; changes there stay in the host.
overlay() {
	local upper=$private/upper$1
	mkdir -p "$upper" "$upper.work"
	mount -t overlay -o "lowerdir=$1,upperdir=$upper,workdir=$upper.work" overlay "$2" 2>/dev/null
}

mount_etc() {
	overlay /etc /etc && return
	cp -a /etc/. "$private/upper/etc/"
	mount --bind "$private/upper/etc" /etc
}

# Without overlayfs only the folders known to matter become the host's own.
prepare_var() {
	local folder
	mkdir "$root/var"
	if ! overlay /var "$root/var"; then
		mount --rbind /var "$root/var"
		for folder in /var/{lib,log}/munge /var/spool/slurm* /var/log/slurm; do
			[[ -d $folder ]] || continue
			mkdir -p "$private/upper$folder"
			mount --bind "$private/upper$folder" "$root$folder"
		done
	fi
	install -d -m 1777 "$private/upper/tmp"
	mount --bind "$private/upper/tmp" "$root/var/tmp"
}

write_identity() {
	local node=$1 uuid
	uuid=$(</proc/sys/kernel/random/uuid)
	echo "$node" >/proc/sys/kernel/hostname
	# Some of them may be links into folders that are hidden here.
	rm -f /etc/{hosts,hostname,machine-id,resolv.conf,gamma.conf,gammad.conf}
	cp "$state/hosts" /etc/hosts
	cp "$state/gamma.conf" /etc/gamma.conf
	echo "$node" >/etc/hostname
	echo "${uuid//-/}" >/etc/machine-id
	: >/etc/resolv.conf
	# The kernel's is one for the whole machine, and much software takes it for the host's name.
	echo "$uuid" >"$private/boot_id"
	mount --bind "$private/boot_id" /proc/sys/kernel/random/boot_id
}

# Where libfabric looks for hardware that no host has, at each start of a program: its provider verbs
# reads the kernel's symbols, twice; PSM and PSM2 compare two clocks for 100 ms each (in picoseconds),
# here for 0.1 ms.
shorten_start() {
	local library copy
	[[ $quick_start = 1 ]] || return 0
	: >"$private/kallsyms"
	mount --bind "$private/kallsyms" /proc/kallsyms
	while read -r library; do
		copy=$private/${library##*/}
		LC_ALL=C sed 's/\xff\xe7\x76\x48\x17\x00\x00\x00/\xff\xe0\xf5\x05\x00\x00\x00\x00/' \
			"$library" >"$copy"
		mount --bind "$copy" "$library"
	done < <(ldconfig -p | sed -nE 's/^\s*lib(psm2\.so\.2|infinipath\.so\.4) .* => //p')
}

is_within_own() {
	local own
	for own in "${own_folders[@]}"; do
		[[ $1 != "$own"/* ]] || return 0
	done
	return 1
}

# Binds the folders of the list into what is going to hide them.
keep_visible() {
	local folder last=/
	while read -r folder; do
		# The list is sorted: what lies in the one before comes with it.
		if ! is_within_own "$folder" || [[ $folder = "$last"/* ]]; then continue; fi
		mkdir -p "$root$folder"
		# Of what is mounted within the labs' folder, only what this lab shares.
		if [[ $folder = "$labs" ]]; then
			mount --bind "$folder" "$root$folder"
			mount --bind "$state/shared" "$root$state/shared"
		else
			mount --rbind "$folder" "$root$folder"
		fi
		last=$folder
	done <"$state/visible"
}

# The program that gives an ordinary user CAP_NET_RAW: only here, since the folder is the host's own.
lend_raw() {
	install -d "$1"
	install -m 755 "$here/raw" "$1/raw"
	type -P setcap >/dev/null || return 0
	install -m 755 "$(type -P setpriv)" "$1/setpriv"
	setcap cap_net_raw+p "$1/setpriv"
}

# Everything is prepared in one file system, which ends with the host, and then moved into place.
mount_own_folders() {
	local folder
	private=$state/$1/private
	root=$private/root
	mount -t tmpfs -o mode=755 gamma-lab "$private"
	install -d -m 1777 "$root/tmp" "$root/run/lock" "$root/dev/shm"
	mkdir "$root/run/user"
	lend_raw "$root/run/lab"
	mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
	prepare_var
	# Held here, foreign network namespaces would live as long as this host.
	if mountpoint -q /run/netns; then umount -Rl /run/netns; fi
	keep_visible
	mount_sysfs
	mount_etc
	write_identity "$1"
	shorten_start
	for folder in "${own_folders[@]}"; do mount --rbind "$root$folder" "$folder"; done
}

# A shaper sends on the CPU of its timer, and each CPU has a queue of its own for the host, so that
# frames would overtake each other. One CPU, the host's, receives them all from NIC $2; the mask is in
# groups of 32.
receive_on_one_cpu() {
	local cpu mask groups
	[[ -n $(nic_rate "$2") ]] || return 0
	cpu=$(<"$state/$1/cpu")
	printf -v mask %x $((1 << cpu % 32))
	for ((groups = cpu / 32; groups > 0; groups--)); do mask+=,00000000; done
	echo "$mask" >"/sys/class/net/$(nic_name "$2")/queues/rx-0/rps_cpus" ||
		say "$1 may receive out of order: its kernel steers no packets" >&2
}

# Inside the namespaces of host $1, or 0: of the switch. The sleeping process holds them open.
cmd_host() {
	local node i
	load_lab
	umask 022
	cd /
	if [[ $1 = 0 ]]; then
		set_up_switch
		return
	fi
	node=$(host_name "$1")
	set_up_network "$1"
	mount_own_folders "$node"
	for ((i = 0; i < nics; i++)); do receive_on_one_cpu "$node" "$i"; done
	setsid sleep infinity </dev/null >/dev/null 2>&1 &
	echo $! >"$state/$node/pid"
}

# The same for NIC $2 alone, which has come back.
cmd_nic_host() {
	load_lab
	set_up_nic "$1" "$2"
	[[ $2 != 0 ]] || data_route "$1" | ip -batch -
	receive_on_one_cpu "$(host_name "$1")" "$2"
}
