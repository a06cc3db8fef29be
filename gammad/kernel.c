// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The BPF programs, which are part of this program's file, and their maps, which are pinned: after
 * a restart, and after an upgrade, new programs work on the maps of those endpoints that are open.
 */
#include "gammad/gammad.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define BPF_FOLDER GAMMAD_RUN "/bpf"
#define FREEZE_PIN BPF_FOLDER "/freeze"

/* gammad.bpf.o, as clang has made it. */
__asm__(".section .rodata\n"
	".balign 16\n"
	"gammad_object_begin:\n"
	".incbin \"gammad/gammad.bpf.o\"\n"
	"gammad_object_end:\n"
	".balign 16\n"
	".previous\n");
extern const char gammad_object_begin[], gammad_object_end[];

/* ---- loading ---- */

static int pin_maps(struct bpf_object *object)
{
	static const char *const names[] = {"endpoints", "counts", "dropped"};

	for (size_t i = 0; i < gamma_array_size(names); i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(object, names[i]);
		char path[64];

		snprintf(path, sizeof(path), BPF_FOLDER "/%s", names[i]);
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

int gammad_kernel_load(struct gammad *gammad, struct gammad_programs *programs)
{
	size_t len = (size_t) (gammad_object_end - gammad_object_begin);
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "gammad");
	int ret;

	libbpf_set_print(NULL);
	programs->object = bpf_object__open_mem(gammad_object_begin, len, &options);
	ret = programs->object ? pin_maps(programs->object) : -errno;
	if (!ret)
		ret = bpf_object__load(programs->object);
	if (ret) {
		gamma_warn("the kernel takes no BPF programs (%s): gammad needs root, and the maps in "
			   "%s must be of the same release: end all jobs, then `gammad -r`",
			   strerror(-ret), BPF_FOLDER);
		return ret;
	}
	programs->egress = program(programs->object, "egress");
	programs->freeze = program(programs->object, "freeze");
	gammad->endpoints_map =
		dup(bpf_object__find_map_fd_by_name(programs->object, "endpoints"));
	gammad->counts_map = dup(bpf_object__find_map_fd_by_name(programs->object, "counts"));
	gammad->dropped_map = dup(bpf_object__find_map_fd_by_name(programs->object, "dropped"));
	return programs->egress < 0 || programs->freeze < 0 || gammad->dropped_map < 0 ? -EIO : 0;
}

void gammad_kernel_unload(struct gammad_programs *programs)
{
	bpf_object__close(programs->object);
}

/* What is attached already is replaced in one step. */
int gammad_kernel_attach(const struct gammad_programs *programs, int ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_EGRESS);
	LIBBPF_OPTS(bpf_tc_opts, options, .prog_fd = programs->egress, .handle = 1, .priority = 1,
		    .flags = BPF_TC_F_REPLACE);
	int ret = bpf_tc_hook_create(&hook);

	return ret && ret != -EEXIST ? ret : bpf_tc_attach(&hook, &options);
}

/* ---- the freeze ---- */

/* Where control groups of version 2 are mounted. */
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

/* That of this process, as a path. */
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

/* A service has a control group of its own. Started by hand, gammad shares one with others, whose
 * sockets are none of its business: it makes one. */
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
	/* Without the rights of the beginning it cannot be removed: `gammad -r` does, and finds it. */
	unlink(GAMMAD_CGROUP);
	if (symlink(path, GAMMAD_CGROUP))
		return -errno;
	return move_into(path);
}

/* The program attached before a restart goes only when its successor is there. */
static int attach_freeze(int program_fd, int cgroup)
{
	int old = bpf_obj_get(FREEZE_PIN);
	int ret = bpf_prog_attach(program_fd, cgroup, BPF_CGROUP_SETSOCKOPT, BPF_F_ALLOW_MULTI);

	if (old >= 0) {
		if (!ret)
			bpf_prog_detach2(old, cgroup, BPF_CGROUP_SETSOCKOPT);
		close(old);
		unlink(FREEZE_PIN);
	}
	return ret ? ret : bpf_obj_pin(program_fd, FREEZE_PIN);
}

/* A socket as clients get them must refuse what would lead past the checks. */
static bool is_frozen(void)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	uint32_t mark = GAMMAD_HANDLE_LAST;
	int one = 1;
	bool frozen;

	frozen = fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) &&
		 setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)) &&
		 errno == EPERM &&
		 setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) && errno == EPERM;
	if (fd >= 0)
		close(fd);
	return frozen;
}

int gammad_kernel_freeze(const struct gammad_programs *programs)
{
	char path[512];
	int ret = choose_cgroup(path, sizeof(path));
	int fd;

	if (ret) {
		gamma_warn("no control group of version 2 (%s): mount cgroup2, as systemd does",
			   strerror(-ret));
		return ret;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ret = fd < 0 ? -errno : attach_freeze(programs->freeze, fd);
	if (fd >= 0)
		close(fd);
	if (!ret && !is_frozen())
		ret = -EPERM;
	if (ret)
		gamma_warn("%s: sockets cannot be frozen (%s): gammad needs root and a kernel with "
			   "CONFIG_CGROUP_BPF", path, strerror(-ret));
	return ret;
}

/* ---- what is counted ---- */

uint64_t gammad_kernel_dropped(const struct gammad *gammad)
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

bool gammad_kernel_counts(const struct gammad *gammad, struct gammad_counts *counts)
{
	uint32_t zero = 0;

	return !bpf_map_lookup_elem(gammad->counts_map, &zero, counts);
}

/* Counted before it is used: a crash in between wastes one. */
uint32_t gammad_kernel_handle(const struct gammad *gammad)
{
	struct gammad_counts counts;
	uint32_t zero = 0, handle;

	if (!gammad_kernel_counts(gammad, &counts))
		return 0;
	handle = counts.next_handle ? counts.next_handle : GAMMAD_HANDLE_FIRST;
	/* The last is for gammad's own trial. */
	if (handle >= GAMMAD_HANDLE_LAST)
		return 0;
	counts.next_handle = handle + 1;
	counts.opened++;
	return bpf_map_update_elem(gammad->counts_map, &zero, &counts, BPF_ANY) ? 0 : handle;
}
