// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Attaches BPF programs to the slots and to the NICs' egress when gammad starts. From Linux 6.6
 * on by links (tcx): they cost a frame a third of what filters (tc, clsact) do, run before them,
 * and stay while they are pinned, so that `tc` does not remove them.
 */
#include "gammad/gammad.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* Newer than some headers. */
enum { TCX_INGRESS = 46, TCX_EGRESS = 47, TCX_FIRST = 1 << 3 };

struct place {
	const char *pin; /* the interface's number follows */
	int tcx;
	enum bpf_tc_attach_point tc;
	uint32_t priority; /* among filters of tc */
};

static const struct place slot_out = {GAMMAD_BPF "/out", TCX_EGRESS, BPF_TC_EGRESS, 1};
static const struct place slot_in = {GAMMAD_BPF "/in", TCX_INGRESS, BPF_TC_INGRESS, 1};
/* After the NIC's other filters. */
static const struct place nic_out = {GAMMAD_BPF "/guard", TCX_EGRESS, BPF_TC_EGRESS, 0x6764};
static const struct place nic_in = {GAMMAD_BPF "/entrance", TCX_INGRESS, BPF_TC_INGRESS, 0x6764};

static bool use_links(void)
{
	const char *value = getenv("GAMMAD_TCX");

	return !value || strcmp(value, "0");
}

/* ---- filters ---- */

static int add_filter(const struct place *place, int program_fd, int ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = place->tc);
	LIBBPF_OPTS(bpf_tc_opts, options, .prog_fd = program_fd, .handle = 1,
		    .priority = place->priority, .flags = BPF_TC_F_REPLACE);
	int ret = bpf_tc_hook_create(&hook);

	return ret && ret != -EEXIST ? ret : bpf_tc_attach(&hook, &options);
}

static bool is_gammads(uint32_t id)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);
	bool is = fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) &&
		  (!strcmp(info.name, "guard") || !strcmp(info.name, "nic_ingress"));

	if (fd >= 0)
		close(fd);
	return is;
}

static void remove_filter(const struct place *place, int ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = place->tc);
	LIBBPF_OPTS(bpf_tc_opts, found, .handle = 1, .priority = place->priority);
	LIBBPF_OPTS(bpf_tc_opts, options, .handle = 1, .priority = place->priority);

	libbpf_set_print(NULL);
	if (!bpf_tc_query(&hook, &found) && is_gammads(found.prog_id))
		bpf_tc_detach(&hook, &options);
}

void gammad_attach_leave_nic(int ifindex)
{
	remove_filter(&nic_out, ifindex);
	remove_filter(&nic_in, ifindex);
}

/* ---- links ---- */

static void pin_of(const struct place *place, int ifindex, char path[64])
{
	snprintf(path, 64, "%s%d", place->pin, ifindex);
}

/* Whether it is still on that interface: an interface may be gone and its number reused. */
static bool is_on(int link, int ifindex)
{
	struct bpf_link_info info = {0};
	uint32_t len = sizeof(info);

	/* tcx links store the ifindex where XDP links do; the header may not know tcx. */
	return !bpf_obj_get_info_by_fd(link, &info, &len) && (int) info.xdp.ifindex == ifindex;
}

/* 0: a link from before a restart exists and has the new program now; 1: there is none. */
static int renew_link(const struct place *place, int program_fd, int ifindex)
{
	char path[64];
	int link, ret = 1;

	pin_of(place, ifindex, path);
	link = bpf_obj_get(path);
	if (link < 0)
		return 1;
	if (is_on(link, ifindex))
		ret = bpf_link_update(link, program_fd, NULL);
	else
		unlink(path);
	close(link);
	return ret;
}

static void remove_link(const struct place *place, int ifindex)
{
	char path[64];

	pin_of(place, ifindex, path);
	unlink(path);
}

/* 1: this kernel has no tcx links. */
static int make_link(const struct place *place, int program_fd, int ifindex)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .flags = TCX_FIRST);
	char path[64];
	int link, ret;

	link = bpf_link_create(program_fd, ifindex, (enum bpf_attach_type) place->tcx, &options);
	if (link < 0)
		return link == -EINVAL || link == -EOPNOTSUPP ? 1 : link;
	pin_of(place, ifindex, path);
	ret = bpf_obj_pin(link, path);
	close(link);
	return ret;
}

/* ---- at a slot ---- */

static int ingress_of(const struct gammad_programs *programs, bool translates)
{
	return translates ? programs->slot_ingress : programs->ingress;
}

/* The filters are always attached, and do not run where a link does: if its pin is removed,
 * frames are still checked. */
static int attach(const struct gammad_programs *programs, int ingress, int ifindex)
{
	int ret = add_filter(&slot_out, programs->egress, ifindex);

	if (!ret)
		ret = add_filter(&slot_in, ingress, ifindex);
	if (!ret && !use_links()) {
		remove_link(&slot_out, ifindex);
		remove_link(&slot_in, ifindex);
	} else if (!ret) {
		ret = renew_link(&slot_out, programs->egress, ifindex);
		if (ret >= 0)
			ret = renew_link(&slot_in, ingress, ifindex);
	}
	return ret > 0 ? 0 : ret;
}

int gammad_attach_slot(const struct gammad_programs *programs, bool translates, int ifindex)
{
	return attach(programs, ingress_of(programs, translates), ifindex);
}

int gammad_attach_groups(const struct gammad_programs *programs, int ifindex)
{
	return attach(programs, programs->group_ingress, ifindex);
}

static int link_slot(const struct gammad_programs *programs, bool translates, int ifindex)
{
	char path[64];
	int ret = 0;

	pin_of(&slot_out, ifindex, path);
	if (access(path, F_OK))
		ret = make_link(&slot_out, programs->egress, ifindex);
	pin_of(&slot_in, ifindex, path);
	if (!ret && access(path, F_OK))
		ret = make_link(&slot_in, ingress_of(programs, translates), ifindex);
	return ret;
}

/* The slots of one NIC. */
struct linking {
	const struct gammad_programs *programs;
	bool translates;
	unsigned count;
	int slots[]; /* ifindex */
};

/* Each link costs an RCU grace period: 20 ms, sometimes 45 s. */
static void *link_slots(void *arg)
{
	struct linking *linking = arg;
	int ret = 0;

	for (unsigned n = 0; !ret && n < linking->count; n++)
		ret = link_slot(linking->programs, linking->translates, linking->slots[n]);
	if (ret < 0 && ret != -ENODEV)
		gamma_warn("slots keep slower filters, because links cannot be attached: %s; "
			   "restart gammad as root",
			   strerror(-ret));
	free(linking);
	return NULL;
}

int gammad_attach_links(const struct gammad_nic *nic, const struct gammad_programs *programs)
{
	struct linking *linking;
	pthread_t thread;

	if (!use_links())
		return 0;
	linking = malloc(sizeof(*linking) + nic->slot_count * sizeof(*linking->slots));
	if (!linking)
		return -ENOMEM;
	linking->programs = programs;
	linking->translates = nic->translates;
	linking->count = nic->slot_count;
	for (unsigned n = 0; n < nic->slot_count; n++)
		linking->slots[n] = nic->slots[n].ifindex;
	if (!pthread_create(&thread, NULL, link_slots, linking) && !pthread_detach(thread))
		return 0;
	free(linking);
	return -EAGAIN;
}

/* ---- at the NIC ---- */

/* Frames that pass go on to other filters, so a program must be attached once: as a link, or
 * else as a filter. The other kind, from an earlier start, is removed. */
static int attach_at_nic(const struct place *place, int program_fd, int ifindex)
{
	int ret = 1;

	if (use_links())
		ret = renew_link(place, program_fd, ifindex);
	if (ret == 1 && use_links())
		ret = make_link(place, program_fd, ifindex);
	if (!ret)
		remove_filter(place, ifindex);
	if (ret != 1)
		return ret;
	ret = add_filter(place, program_fd, ifindex);
	remove_link(place, ifindex);
	return ret;
}

int gammad_attach_nic(const struct gammad_programs *programs, bool translates, int ifindex)
{
	int ret = programs->complete ? 0 : attach_at_nic(&nic_out, programs->guard, ifindex);

	return ret || !translates ? ret : attach_at_nic(&nic_in, programs->nic_ingress, ifindex);
}

/* ---- for good ---- */

static bool is_link(const char *name)
{
	static const struct place *const places[] = {&slot_out, &slot_in, &nic_out, &nic_in};
	bool is = false;

	for (size_t i = 0; i < gamma_array_size(places); i++) {
		const char *begin = strrchr(places[i]->pin, '/') + 1;

		is |= !strncmp(name, begin, strlen(begin));
	}
	return is;
}

void gammad_attach_unpin(void)
{
	DIR *folder = opendir(GAMMAD_BPF);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		if (is_link(entry->d_name))
			unlinkat(dirfd(folder), entry->d_name, 0);
	}
	if (folder)
		closedir(folder);
}
