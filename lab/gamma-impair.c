// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Attaches impair.bpf.o to a network device of the current network namespace, reads its counters,
 * detaches it. lab/lab calls it, once per hook.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "base/about.h"
#include "impair.h"

enum { EXIT_USAGE = 2 };

/* Where a program is attached: device, hook, and its direction as the host sees it. */
struct place {
	const char *device;
	struct bpf_tc_hook hook;
	struct bpf_tc_opts opts;
	int ingress; /* 1: ingress hook, 0: egress hook */
	int level;   /* 1: toward the host, 2: from the host; also the tc priority's order */
};

static void print_usage(FILE *to)
{
	fputs("usage: gamma-impair attach DEVICE ingress|egress to|from OBJECT ETHERTYPE L N D C "
	      "W\n"
	      "       gamma-impair detach|show DEVICE ingress|egress to|from\n"
	      "L, D, C: loss, duplication and corruption in percent; N: mean run of losses in\n"
	      "frames; W: any, header or payload, what corruption strikes\n",
	      to);
}

static int refuse(void)
{
	print_usage(stderr);
	return EXIT_USAGE;
}

static int fail(const char *what, const char *name, int err)
{
	fprintf(stderr, "gamma-impair: %s %s: %s\n", what, name, strerror(err));
	return EXIT_FAILURE;
}

static int parse_place(struct place *place, char **words)
{
	unsigned int ifindex = if_nametoindex(words[0]);

	if (!ifindex) {
		fail("device", words[0], errno);
		return -1;
	}
	place->device = words[0];
	place->ingress = !strcmp(words[1], "ingress");
	place->level = strcmp(words[2], "to") ? 2 : 1;
	place->hook = (struct bpf_tc_hook){
		.sz = sizeof(place->hook),
		.ifindex = ifindex,
		.attach_point = place->ingress ? BPF_TC_INGRESS : BPF_TC_EGRESS,
	};
	/* Far from the priorities that others choose by hand. */
	place->opts = (struct bpf_tc_opts){
		.sz = sizeof(place->opts), .handle = 1, .priority = 40000 + place->level};
	return 0;
}

/* Percent, as text, to a threshold for 32 random bits. */
static int parse_chance(const char *text, __u64 *chance)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || *end || !(percent >= 0 && percent <= 100)) {
		fprintf(stderr, "gamma-impair: '%s' is not a percentage from 0 to 100\n", text);
		return -1;
	}
	*chance = (__u64) (percent / 100 * (double) IMPAIR_ALWAYS + 0.5);
	return 0;
}

/*
 * Losses in runs of N on average, and still the same share of all frames: between two runs there
 * must be N * (1 - loss) / loss frames.
 */
static int parse_loss(struct impair_config *conf, const char *loss, const char *run)
{
	char *end;
	double share, frames = strtod(run, &end);

	if (end == run || *end || !(frames >= 1 && frames <= 1e6)) {
		fprintf(stderr, "gamma-impair: '%s' is not a number of frames from 1\n", run);
		return -1;
	}
	if (parse_chance(loss, &conf->loss))
		return -1;
	share = (double) conf->loss / (double) IMPAIR_ALWAYS;
	conf->loss_end = conf->loss < IMPAIR_ALWAYS ? (__u64) ((double) IMPAIR_ALWAYS / frames) : 0;
	/* Runs of one frame are independent losses, and may follow each other. */
	if (frames > 1 && share < 1)
		share /= frames * (1 - share);
	conf->loss = share < 1 ? (__u64) (share * (double) IMPAIR_ALWAYS) : IMPAIR_ALWAYS;
	return 0;
}

static int parse_where(const char *text, __u16 *where)
{
	static const char *const words[] = {"any", "header", "payload"};

	for (__u16 i = 0; i < 3; i++) {
		if (!strcmp(text, words[i])) {
			*where = i;
			return 0;
		}
	}
	fprintf(stderr, "gamma-impair: '%s' is not any, header or payload\n", text);
	return -1;
}

static int parse_config(struct impair_config *conf, const struct place *place, char **words)
{
	char *end;
	unsigned long ethertype = strtoul(words[0], &end, 0);

	if (*end || ethertype < 0x600 || ethertype > 0xffff) {
		fprintf(stderr, "gamma-impair: '%s' is not an EtherType from 0x600 to 0xffff\n",
			words[0]);
		return -1;
	}
	*conf = (struct impair_config){
		.ethertype = ethertype,
		.level = place->level,
		.ingress = place->ingress,
		/* Two share a hook only at ingress, back to back: "to", then "from". */
		.last = !(place->ingress && place->level == 1),
	};
	if (parse_loss(conf, words[1], words[2]) || parse_chance(words[3], &conf->dup) ||
	    parse_chance(words[4], &conf->corrupt))
		return -1;
	return parse_where(words[5], &conf->where);
}

/* Loads the object with its config filled in; returns the program's descriptor or -errno. */
static int load(struct bpf_object *object, const struct impair_config *conf)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, "impair");
	__u32 zero = 0;
	int err;

	if (!program)
		return -ENOEXEC;
	err = bpf_object__load(object);
	if (err)
		return err;
	err = bpf_map_update_elem(bpf_object__find_map_fd_by_name(object, "config"), &zero, conf,
				  BPF_ANY);
	return err ? err : bpf_program__fd(program);
}

static int attach(struct place *place, char **words)
{
	struct impair_config conf;
	struct bpf_object *object;
	int err;

	if (parse_config(&conf, place, words + 1))
		return EXIT_USAGE;
	object = bpf_object__open_file(words[0], NULL);
	if (!object)
		return fail("cannot read", words[0], errno);
	place->opts.prog_fd = load(object, &conf);
	if (place->opts.prog_fd < 0) {
		bpf_object__close(object);
		return fail("the kernel did not take", words[0], -place->opts.prog_fd);
	}
	place->opts.flags = BPF_TC_F_REPLACE;
	err = bpf_tc_hook_create(&place->hook);
	if (!err || err == -EEXIST)
		err = bpf_tc_attach(&place->hook, &place->opts);
	bpf_object__close(object);
	return err ? fail("cannot attach to", place->device, -err) : EXIT_SUCCESS;
}

static int detach(struct place *place)
{
	int err = bpf_tc_detach(&place->hook, &place->opts);

	/* EINVAL: the device has no clsact, so nothing is attached either. */
	if (err && err != -ENOENT && err != -EINVAL)
		return fail("cannot detach from", place->device, -err);
	return EXIT_SUCCESS;
}

/* The counters' map among those that the program uses; -1 when it is not there. */
static int open_counters(__u32 program_id)
{
	__u32 ids[8], length = sizeof(struct bpf_prog_info);
	struct bpf_prog_info info = {.nr_map_ids = 8, .map_ids = (__u64) (unsigned long) ids};
	int program = bpf_prog_get_fd_by_id(program_id);

	if (program < 0 || bpf_obj_get_info_by_fd(program, &info, &length))
		info.nr_map_ids = 0;
	if (program >= 0)
		close(program);
	for (__u32 i = 0; i < info.nr_map_ids && i < 8; i++) {
		struct bpf_map_info map = {0};
		int fd = bpf_map_get_fd_by_id(ids[i]);

		length = sizeof(map);
		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &map, &length) &&
		    !strcmp(map.name, "counters"))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

static __u64 read_counter(int map, __u32 which, __u64 *per_cpu, int cpus)
{
	__u64 sum = 0;

	if (bpf_map_lookup_elem(map, &which, per_cpu))
		return 0;
	for (int cpu = 0; cpu < cpus; cpu++)
		sum += per_cpu[cpu];
	return sum;
}

static int show(struct place *place)
{
	static const char *const names[IMPAIR_COUNTERS] = {"passed", "lost", "duplicated",
							   "corrupted", "failed"};
	int cpus = libbpf_num_possible_cpus();
	int map = -1;
	__u64 *per_cpu;

	if (bpf_tc_query(&place->hook, &place->opts) == 0)
		map = open_counters(place->opts.prog_id);
	if (map < 0)
		return fail("no impairment is attached to", place->device, ENOENT);
	per_cpu = calloc(cpus > 0 ? cpus : 1, sizeof(*per_cpu));
	if (!per_cpu)
		return fail("counters of", place->device, ENOMEM);
	for (__u32 i = 0; i < IMPAIR_COUNTERS; i++)
		printf("%s%s %llu", i ? ", " : "", names[i],
		       (unsigned long long) read_counter(map, i, per_cpu, cpus));
	putchar('\n');
	free(per_cpu);
	close(map);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct place place;

	gamma_about_answer(argc, argv, print_usage);
	if (argc < 5 || (strcmp(argv[3], "ingress") && strcmp(argv[3], "egress")) ||
	    (strcmp(argv[4], "to") && strcmp(argv[4], "from")))
		return refuse();
	/* libbpf's errors explain less than ours, and EEXIST of the hook is no error. */
	libbpf_set_print(NULL);
	if (parse_place(&place, argv + 2))
		return EXIT_FAILURE;
	if (!strcmp(argv[1], "attach") && argc == 12)
		return attach(&place, argv + 5);
	if (!strcmp(argv[1], "detach") && argc == 5)
		return detach(&place);
	if (!strcmp(argv[1], "show") && argc == 5)
		return show(&place);
	return refuse();
}
