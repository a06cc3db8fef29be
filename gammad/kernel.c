// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The BPF programs, which are embedded in gammad, and their maps, which are pinned: after a
 * restart or an upgrade, new programs work on the maps of endpoints that are still open.
 */
#include "gammad/gammad.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* Programs that freeze sockets: a control group's program, or a security module's link. */
#define FREEZE_PIN GAMMAD_BPF "/freeze"
#define MODULE_PIN GAMMAD_BPF "/module"
#define MODULE_NEW GAMMAD_BPF "/module_new"

/* gammad.bpf.o, as compiled by clang. */
__asm__(".section .rodata\n"
	".balign 16\n"
	"gammad_object_begin:\n"
	".incbin \"gammad/gammad.bpf.copy\"\n"
	"gammad_object_end:\n"
	".balign 16\n"
	".previous\n");
extern const char gammad_object_begin[], gammad_object_end[];

/* ---- loading ---- */

static int pin_maps(struct bpf_object *object)
{
	static const char *const names[] = {"endpoints", "members",      "counts",
					    "dropped",   "translations", "group_users"};

	for (size_t i = 0; i < gamma_array_size(names); i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(object, names[i]);
		char path[64];

		snprintf(path, sizeof(path), GAMMAD_BPF "/%s", names[i]);
		if (!map || bpf_map__set_pin_path(map, path))
			return -ENOEXEC;
	}
	return 0;
}

static int program(struct bpf_object *object, const char *name)
{
	struct bpf_program *found = bpf_object__find_program_by_name(object, name);

	return found ? bpf_program__fd(found) : -ENOEXEC;
}

static int choose_programs(struct bpf_object *object, bool complete)
{
	/* The first two (complete) or the other three; those at entrances always. */
	static const char *const names[] = {"egress", "freeze", "egress_guarded", "freeze_calls",
					    "guard"};

	for (size_t i = 0; i < gamma_array_size(names); i++) {
		struct bpf_program *found = bpf_object__find_program_by_name(object, names[i]);
		int ret = found ? bpf_program__set_autoload(found, complete == (i < 2)) : -ENOEXEC;

		if (ret)
			return ret;
	}
	return 0;
}

static int set_constants(struct bpf_object *object, const struct gammad *gammad)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata");
	struct gammad_constants constants = {.ethertype = htons(gammad->conf.ethertype)};
	struct stat st;

	if (!map || fstat(gammad->own_ns, &st))
		return -ENOEXEC;
	constants.namespace = (uint32_t) st.st_ino;
	return bpf_map__set_initial_value(map, &constants, sizeof(constants));
}

/* complete: a security module freezes sockets. */
static int load(const struct gammad *gammad, struct gammad_programs *programs, bool complete)
{
	size_t len = (size_t) (gammad_object_end - gammad_object_begin);
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "gammad");
	int ret;

	libbpf_set_print(NULL);
	programs->complete = complete;
	programs->object = bpf_object__open_mem(gammad_object_begin, len, &options);
	if (!programs->object)
		return -errno;
	ret = choose_programs(programs->object, complete);
	if (!ret)
		ret = set_constants(programs->object, gammad);
	if (!ret)
		ret = pin_maps(programs->object);
	if (!ret)
		ret = bpf_object__load(programs->object);
	if (ret) {
		bpf_object__close(programs->object);
		programs->object = NULL;
		return ret;
	}
	programs->egress = program(programs->object, complete ? "egress" : "egress_guarded");
	programs->freeze = program(programs->object, complete ? "freeze" : "freeze_calls");
	programs->ingress = program(programs->object, "ingress");
	programs->nic_ingress = program(programs->object, "nic_ingress");
	programs->slot_ingress = program(programs->object, "slot_ingress");
	programs->group_ingress = program(programs->object, "group_ingress");
	programs->guard = complete ? -1 : program(programs->object, "guard");
	return 0;
}

void gammad_kernel_unload(struct gammad_programs *programs)
{
	bpf_object__close(programs->object);
}

/* ---- the freeze ---- */

/* Mount point of control groups of version 2. */
static bool find_mount(char *path, size_t len)
{
	char device[256], where[256], type[64];
	FILE *file = fopen("/proc/self/mounts", "re");
	bool found = false;

	while (file && !found &&
	       fscanf(file, "%255s %255s %63s %*[^\n]", device, where, type) == 3) {
		found = !strcmp(type, "cgroup2");
		if (found)
			snprintf(path, len, "%s", where);
	}
	if (file)
		fclose(file);
	return found;
}

/* The path of this process's control group. */
static bool own_cgroup(char *path, size_t len)
{
	char mount[256], line[256];
	FILE *file = fopen("/proc/self/cgroup", "re");
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		found = !strncmp(line, "0::", 3) && find_mount(mount, sizeof(mount));
		line[strcspn(line, "\n")] = 0;
		if (found)
			snprintf(path, len, "%s%s", mount, strcmp(line + 3, "/") ? line + 3 : "");
	}
	if (file)
		fclose(file);
	return found;
}

static int move_into(const char *cgroup)
{
	char path[600];
	int fd, ret;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = write(fd, "0", 1) == 1 ? 0 : -errno;
	close(fd);
	return ret;
}

/* A service has a control group of its own. If gammad was started by hand, it makes one, so
 * that it does not affect other processes' sockets. */
static int choose_cgroup(char *path, size_t len)
{
	struct stat st;
	size_t end;

	if (!own_cgroup(path, len) || stat(GAMMAD_RUN "/net", &st))
		return -ENOENT;
	if (strstr(path, "/gammad.service") || strstr(path, "/gammad-"))
		return 0;
	end = strlen(path);
	snprintf(path + end, len - end, "/gammad-%llu", (unsigned long long) st.st_ino);
	if (mkdir(path, 0755) && errno != EEXIST)
		return -errno;
	/* gammad cannot remove it later, without its capabilities: `gammad -r` finds and
	 * removes it. */
	unlink(GAMMAD_CGROUP);
	if (symlink(path, GAMMAD_CGROUP))
		return -errno;
	return move_into(path);
}

/* The program from before a restart is detached only when the new one is attached. */
static int attach_to_cgroup(const struct gammad_programs *programs, int cgroup)
{
	int old = bpf_obj_get(FREEZE_PIN);
	int ret =
		bpf_prog_attach(programs->freeze, cgroup, BPF_CGROUP_SETSOCKOPT, BPF_F_ALLOW_MULTI);

	if (ret)
		ret = -errno;
	if (old >= 0) {
		if (!ret) {
			bpf_prog_detach2(old, cgroup, BPF_CGROUP_SETSOCKOPT);
			unlink(FREEZE_PIN);
		}
		close(old);
	}
	return ret ? ret : bpf_obj_pin(programs->freeze, FREEZE_PIN);
}

/* As above: the old link goes when the new one takes its name. */
static int attach_module(const struct gammad_programs *programs)
{
	struct bpf_program *freeze = bpf_object__find_program_by_name(programs->object, "freeze");
	struct bpf_link *link = bpf_program__attach_lsm(freeze);
	int ret;

	if (!link)
		return -errno;
	unlink(MODULE_NEW);
	ret = bpf_link__pin(link, MODULE_NEW);
	if (!ret && rename(MODULE_NEW, MODULE_PIN))
		ret = -errno;
	bpf_link__destroy(link);
	return ret;
}

/* A socket as clients get them must refuse options that bypass the checks. */
static bool is_frozen(uint32_t mark)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	int one = 1;
	bool frozen;

	frozen = fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) &&
		 setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)) &&
		 errno == EPERM && setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) &&
		 errno == EPERM;
	if (fd >= 0)
		close(fd);
	return frozen;
}

/* In the namespace of endpoints' sockets. */
static bool try_freeze(const struct gammad *gammad, uint32_t mark)
{
	bool frozen = !gammad_setup_enter_ns(gammad->own_ns) && is_frozen(mark);

	return !gammad_setup_enter_ns(gammad->host_ns) && frozen;
}

static int freeze_by_module(const struct gammad *gammad, const struct gammad_programs *programs)
{
	int ret = attach_module(programs);

	if (!ret && !try_freeze(gammad, GAMMAD_HANDLE_TEST)) {
		unlink(MODULE_PIN);
		ret = -EPERM;
	}
	return ret;
}

static int freeze_by_cgroup(const struct gammad *gammad, const struct gammad_programs *programs)
{
	char cgroup[512];
	int ret = choose_cgroup(cgroup, sizeof(cgroup)), fd;

	if (ret) {
		gamma_warn("no control group of version 2 (%s): mount cgroup2, as systemd does",
			   strerror(-ret));
		return ret;
	}
	fd = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ret = fd < 0 ? -errno : attach_to_cgroup(programs, fd);
	if (fd >= 0)
		close(fd);
	return ret ? ret : try_freeze(gammad, GAMMAD_HANDLE_LAST) ? 0 : -EPERM;
}

/* ---- both ---- */

static int try(const struct gammad *gammad, struct gammad_programs *programs, bool complete)
{
	int ret = load(gammad, programs, complete);

	if (ret)
		return ret;
	ret = complete ? freeze_by_module(gammad, programs) : freeze_by_cgroup(gammad, programs);
	if (ret)
		gammad_kernel_unload(programs);
	return ret;
}

static int take_maps(struct gammad *gammad, const struct gammad_programs *programs)
{
	struct {
		const char *name;
		int *fd;
	} maps[] = {
		{"endpoints", &gammad->endpoints_map},
		{"members", &gammad->members_map},
		{"counts", &gammad->counts_map},
		{"dropped", &gammad->dropped_map},
		{"lookups", &gammad->lookups_map},
		{"translations", &gammad->translations_map},
		{"group_users", &gammad->group_users_map},
	};

	for (size_t i = 0; i < gamma_array_size(maps); i++) {
		*maps[i].fd = dup(bpf_object__find_map_fd_by_name(programs->object, maps[i].name));
		if (*maps[i].fd < 0) {
			gamma_warn("no descriptor for the map %s: %s; raise LimitNOFILE",
				   maps[i].name, strerror(errno));
			return -EIO;
		}
	}
	return 0;
}

int gammad_kernel_load(struct gammad *gammad, struct gammad_programs *programs)
{
	int ret = try(gammad, programs, true);

	if (!ret) {
		gamma_info("a BPF security module keeps users from changing their sockets");
	} else {
		gamma_info(
			"the kernel runs no BPF security modules (add bpf to lsm= at boot): frames "
			"are checked on the NIC as well, but users can make their rings larger by "
			"32-bit system calls");
		ret = try(gammad, programs, false);
	}
	if (ret) {
		gamma_warn(
			"the kernel refuses the BPF programs: %s; start gammad as root, on Linux "
			">= 6.2 or with bpf among the security modules (lsm= at boot); if %s has "
			"maps of another release, end all jobs, then run `gammad -r`",
			strerror(-ret), GAMMAD_BPF);
		return ret;
	}
	return take_maps(gammad, programs);
}

/* ---- what is counted ---- */

uint64_t gammad_kernel_count_dropped(const struct gammad *gammad)
{
	int cpus = libbpf_num_possible_cpus();
	uint64_t *counts = calloc(cpus > 0 ? (size_t) cpus : 1, sizeof(*counts));
	uint64_t sum = 0;
	uint32_t zero = 0;

	if (counts && !bpf_map_lookup_elem(gammad->dropped_map, &zero, counts)) {
		for (int i = 0; i < cpus; i++)
			sum += counts[i];
	}
	free(counts);
	return sum;
}

bool gammad_kernel_read_counts(const struct gammad *gammad, struct gammad_counts *counts)
{
	uint32_t zero = 0;

	return !bpf_map_lookup_elem(gammad->counts_map, &zero, counts);
}

/* ---- endpoints, by handle ---- */

static uint32_t index_of(uint32_t handle)
{
	return handle % GAMMAD_ENDPOINTS_MAX;
}

bool gammad_kernel_read_endpoint(const struct gammad *gammad, uint32_t index,
				 struct gammad_endpoint *record)
{
	return !bpf_map_lookup_elem(gammad->endpoints_map, &index, record) && record->handle;
}

int gammad_kernel_write_endpoint(const struct gammad *gammad, const struct gammad_endpoint *record)
{
	uint32_t index = index_of(record->handle);

	return bpf_map_update_elem(gammad->endpoints_map, &index, record, BPF_ANY);
}

void gammad_kernel_clear_endpoint(const struct gammad *gammad, uint32_t handle)
{
	static const struct gammad_endpoint none;
	uint32_t index = index_of(handle);

	bpf_map_update_elem(gammad->endpoints_map, &index, &none, BPF_ANY);
}

/* ---- endpoints that have the NIC's own MAC ---- */

static struct gammad_translation_key key_at(uint32_t ifindex, uint16_t port, bool at_slot)
{
	return (struct gammad_translation_key){
		.ifindex = ifindex, .port = port, .at_slot = at_slot};
}

int gammad_kernel_translate(const struct gammad *gammad, const struct gammad_endpoint *record,
			    const uint8_t slot_mac[GAMMA_MAC_LEN])
{
	struct gammad_translation_key nic = key_at(record->nic_ifindex, record->port, false);
	struct gammad_translation_key slot = key_at(record->slot_ifindex, record->port, true);
	struct gammad_translation to_slot = {0}, back = {0};
	int ret;

	memcpy(to_slot.mac, slot_mac, GAMMA_MAC_LEN);
	memcpy(back.mac, record->mac, GAMMA_MAC_LEN);
	ret = bpf_map_update_elem(gammad->translations_map, &slot, &back, BPF_ANY);
	if (!ret)
		ret = bpf_map_update_elem(gammad->translations_map, &nic, &to_slot, BPF_ANY);
	if (ret)
		gammad_kernel_stop_translating(gammad, record);
	return ret;
}

void gammad_kernel_stop_translating(const struct gammad *gammad,
				    const struct gammad_endpoint *record)
{
	struct gammad_translation_key nic = key_at(record->nic_ifindex, record->port, false);
	struct gammad_translation_key slot = key_at(record->slot_ifindex, record->port, true);

	bpf_map_delete_elem(gammad->translations_map, &nic);
	bpf_map_delete_elem(gammad->translations_map, &slot);
}

bool gammad_kernel_is_translating(const struct gammad *gammad, int nic_ifindex)
{
	struct gammad_translation_key key, before, *last = NULL;

	while (!bpf_map_get_next_key(gammad->translations_map, last, &key)) {
		if (!key.at_slot && key.ifindex == (uint32_t) nic_ifindex)
			return true;
		before = key;
		last = &before;
	}
	return false;
}

/* The counter is stored before the handle is used: a crash in between loses one handle. */
uint32_t gammad_kernel_new_handle(const struct gammad *gammad)
{
	struct gammad_endpoint other;
	struct gammad_counts counts;
	uint32_t zero = 0, handle, last;

	if (!gammad_kernel_read_counts(gammad, &counts))
		return 0;
	handle = counts.next_handle ? counts.next_handle : GAMMAD_HANDLE_FIRST;
	last = handle + GAMMAD_ENDPOINTS_MAX;
	while (handle != last && gammad_kernel_read_endpoint(gammad, index_of(handle), &other))
		handle++;
	/* The last one is for gammad's own test. */
	if (handle == last || handle >= GAMMAD_HANDLE_LAST)
		return 0;
	counts.next_handle = handle + 1;
	counts.opened++;
	return bpf_map_update_elem(gammad->counts_map, &zero, &counts, BPF_ANY) ? 0 : handle;
}
