// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-coll: collective operations between any number of processes, started by test_coll.sh.
 *
 *	gamma-coll MEMBERS PLACE HOST PORT TEST...
 *
 * The process with place 0 listens on the TCP port of HOST, by which all synchronise.
 */
#include "coll.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *running = "start";

void fail_check(const char *file, int line, const char *what, long long is, long long should)
{
	printf("not ok %s: %s:%d: %s", running, strrchr(file, '/') ? strrchr(file, '/') + 1 : file,
	       line, what);
	if (is != should)
		printf(" (%lld, not %lld)", is, should);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

static struct group world(void)
{
	return (struct group){
		.mc = join(0, 1), .n = members, .place = place, .first = 0, .stride = 1};
}

static void leave(struct fid_mc *mc)
{
	if (mc)
		CHECK_EQ(fi_close(&mc->fid), 0);
}

/* ---- what works ---- */

static void test_all(void)
{
	static const size_t counts[] = {0, 1, 5, 1000, 4096, 4097, 40000, 262144};
	struct group group = world();

	for (unsigned kind = 0; kind < OPS; kind++)
		for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++)
			for (unsigned root = 0; root < members; root += 1 + members / 3)
				end_op(begin_op(&group, kind, counts[i], root));
	leave(group.mc);
}

static void test_types(void)
{
	struct group group = world();

	check_types(&group);
	leave(group.mc);
}

static void test_order(void)
{
	struct group group = world();

	check_order(&group);
	leave(group.mc);
}

/* Every second one, and every third. */
static void test_subsets(void)
{
	for (unsigned stride = 2; stride < 4; stride++) {
		unsigned first = place % stride;
		struct group group = {.first = first,
				      .stride = stride,
				      .place = place / stride,
				      .n = (members - first + stride - 1) / stride};

		group.mc = join(first, stride);
		for (unsigned kind = 0; kind < OPS; kind++)
			end_op(begin_op(&group, kind, 300, group.n - 1));
		leave(group.mc);
	}
}

/* Several groups with operations under way in each, begun in another order by each process. */
static void test_groups(void)
{
	enum { GROUPS = 8, ROUNDS = 20 };
	struct group groups[GROUPS];
	struct op *ops[GROUPS][OPS];

	for (unsigned g = 0; g < GROUPS; g++)
		groups[g] = world();
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < GROUPS; i++) {
			unsigned g = (i + place + round) % GROUPS;

			for (unsigned kind = 0; kind < OPS; kind++)
				ops[g][kind] = begin_op(&groups[g], kind, 10 + 5000 * (round % 4),
							round % members);
		}
		for (unsigned done = 0; done < GROUPS * OPS;) {
			struct ending ending;

			if (!poll_ending(&ending))
				continue;
			CHECK_EQ(ending.error, 0);
			done++;
		}
		for (unsigned g = 0; g < GROUPS; g++)
			for (unsigned kind = 0; kind < OPS; kind++)
				check_op(ops[g][kind]);
	}
	for (unsigned g = 0; g < GROUPS; g++)
		leave(groups[g].mc);
}

/* The others wait for one that is late, which is no error. */
static void test_late(void)
{
	struct group group = world();

	for (unsigned kind = 0; kind < OPS; kind++) {
		if (place == members - 1)
			usleep(kind ? 200000 : 2500000);
		end_op(begin_op(&group, kind, 2000, 0));
	}
	leave(group.mc);
}

/* The root sends many before the others receive the first. */
static void test_ahead(void)
{
	enum { AHEAD = 500 };
	struct group group = world();
	struct op *ops[AHEAD];

	if (place)
		usleep(300000);
	for (unsigned i = 0; i < AHEAD; i++)
		ops[i] = begin_op(&group, 1, 500, 0);
	for (unsigned done = 0; done < AHEAD;) {
		struct ending ending;

		if (poll_ending(&ending))
			done++;
	}
	for (unsigned i = 0; i < AHEAD; i++)
		check_op(ops[i]);
	leave(group.mc);
}

enum { THREADS = 6 };

struct thread {
	pthread_t id;
	struct group group;
};

static pthread_mutex_t endings = PTHREAD_MUTEX_INITIALIZER;
static struct op *ended[THREADS]; /* whose ends were read, and nobody has come for them */

/* Whether that operation has ended; keeps the end of another one. */
static bool has_ended(const struct op *op)
{
	struct ending ending;
	bool found = false;
	unsigned i = 0;

	pthread_mutex_lock(&endings);
	if (poll_ending(&ending)) {
		CHECK_EQ(ending.error, 0);
		while (ended[i])
			i++;
		ended[i] = ending.context;
	}
	for (i = 0; i < THREADS && !found; i++) {
		found = ended[i] == op;
		if (found)
			ended[i] = NULL;
	}
	pthread_mutex_unlock(&endings);
	return found;
}

static void *run_thread(void *arg)
{
	const struct thread *thread = arg;

	for (unsigned round = 0; round < 15; round++)
		for (unsigned kind = 0; kind < OPS; kind++) {
			struct op *op = begin_op(&thread->group, kind, 1 + 2000 * (round % 5),
						 round % members);

			while (!has_ended(op))
				sched_yield();
			check_op(op);
		}
	return NULL;
}

static void test_query(void)
{
	struct fi_collective_attr attr = {.op = FI_SUM, .datatype = FI_DOUBLE};

	CHECK_EQ(fi_query_collective(node_domain, FI_ALLREDUCE, &attr, 0), 0);
	CHECK_EQ(attr.datatype_attr.size, sizeof(double));
	CHECK(attr.datatype_attr.count > 1 << 20 && attr.max_members >= 1024);
	CHECK_EQ(fi_query_collective(node_domain, FI_ALLTOALL, &attr, 0), -FI_ENOSYS);
	CHECK_EQ(fi_query_collective(node_domain, FI_REDUCE_SCATTER, &attr, 0), -FI_ENOSYS);
	attr.op = FI_BXOR;
	CHECK_EQ(fi_query_collective(node_domain, FI_REDUCE, &attr, 0), -FI_EOPNOTSUPP);
	attr = (struct fi_collective_attr){.op = FI_NOOP, .datatype = FI_VOID};
	CHECK_EQ(fi_query_collective(node_domain, FI_BARRIER, &attr, 0), 0);
	CHECK_EQ(fi_barrier(node_ep, 12345, NULL), -FI_EINVAL);
}

/* Each thread has a group of its own, and reads the end of others' operations, too. */
static void test_threads(void)
{
	struct thread threads[THREADS];

	for (unsigned t = 0; t < THREADS; t++)
		threads[t] = (struct thread){.group = world()};
	for (unsigned t = 0; t < THREADS; t++)
		CHECK_EQ(pthread_create(&threads[t].id, NULL, run_thread, &threads[t]), 0);
	for (unsigned t = 0; t < THREADS; t++)
		CHECK_EQ(pthread_join(threads[t].id, NULL), 0);
	for (unsigned t = 0; t < THREADS; t++)
		leave(threads[t].group.mc);
}

/* One broadcast of 1 MiB, whose frames test_coll.sh counts. */
static void test_mib(void)
{
	struct group group = world();

	end_op(begin_op(&group, 1, 1 << 18, 0));
	leave(group.mc);
}

/* One allgather of 64 KiB each: the same. */
static void test_blocks(void)
{
	struct group group = world();

	end_op(begin_op(&group, 5, 1 << 14, 0));
	leave(group.mc);
}

/* With FI_GAMMA_GROUP_MAC=ip the host is in an IP group of 239.0.0.0/8 meanwhile. */
static void test_igmp(void)
{
	struct group group = world();
	bool found = false;
	unsigned first;
	char line[256];
	FILE *file = fopen("/proc/net/igmp", "r");

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		found |= sscanf(line, " %*6[0-9A-F]%2x %*d", &first) == 1 && first == 239;
	fclose(file);
	CHECK(found);
	leave(group.mc);
}

/* Meanwhile test_coll.sh makes the switch filter multicast. */
static void test_filtered(void)
{
	struct group group = world();

	for (unsigned round = 0; round < 100; round++) {
		if (round == 8) {
			printf("now\n");
			fflush(stdout);
		}
		end_op(begin_op(&group, 1, 1 << 14, round % members));
		if (round % 4 == 3)
			end_op(begin_op(&group, 5, 1 << 13, 0));
		usleep(40000);
	}
	leave(group.mc);
}

/* Meanwhile a host that is no member sends to the group, too. */
static void test_attacked(void)
{
	struct group group = world();
	double end = now() + 1.2;
	uint32_t goes_on;
	uint32_t all[MEMBERS_MAX];

	do {
		for (unsigned root = 0; root < members; root++) {
			end_op(begin_op(&group, 1, 1 << 14, root));
			end_op(begin_op(&group, 3, 2, 0));
		}
		goes_on = now() < end;
		aside_allgather(&goes_on, all, sizeof(goes_on));
	} while (all[0]);
	leave(group.mc);
}

/* More groups than gammad lets an endpoint have: those beyond work all the same. */
static void test_many(void)
{
	enum { MANY = 20 };
	struct group groups[MANY];

	for (unsigned g = 0; g < MANY; g++)
		groups[g] = world();
	for (unsigned g = 0; g < MANY; g++)
		for (unsigned kind = 0; kind < OPS; kind++)
			end_op(begin_op(&groups[g], kind, 2000, g % members));
	for (unsigned g = 0; g < MANY; g++)
		leave(groups[g].mc);
}

/* By hand. */
static void test_times(void)
{
	struct group group = world();

	time_ops(&group);
	leave(group.mc);
}

/* ---- what goes wrong ---- */

/* All get the error, and its text fits. */
static void expect_failure(const struct ending *ending, int error, const char *words)
{
	printf("%s: %s\n", running, ending->text);
	CHECK_EQ(ending->error, error);
	CHECK(strstr(ending->text, words));
}

static void test_lengths(void)
{
	struct group group = world();
	struct ending ending = {0};
	char buf[64] = "";
	ssize_t ret = fi_broadcast(node_ep, buf, place == members - 1 ? 9 : 8, NULL,
				   fi_mc_addr(group.mc), 0, FI_UINT8, 0, buf);

	/* The root may end well, and the next operation fail; others may have heard already. */
	while (!ret && !ending.error) {
		wait_ending(buf, &ending);
		if (!ending.error)
			ret = fi_barrier(node_ep, fi_mc_addr(group.mc), buf);
	}
	if (ending.error)
		expect_failure(&ending, FI_EINVAL, "another operation");
	else
		CHECK_EQ(ret, -FI_EINVAL);
	CHECK_EQ(fi_barrier(node_ep, fi_mc_addr(group.mc), buf), -FI_EINVAL);
	aside_sync();
	leave(group.mc);
}

/* Each believes that another one is the root, so nobody sends. */
static void test_roots(void)
{
	struct group group = world();
	struct ending ending;
	char buf[8] = "";
	ssize_t ret;

	ret = fi_broadcast(node_ep, buf, 8, NULL, fi_mc_addr(group.mc), (place + 1) % members,
			   FI_UINT8, 0, buf);
	CHECK(!ret || ret == -FI_EINVAL);
	if (!ret) {
		wait_ending(buf, &ending);
		expect_failure(&ending, FI_EINVAL, "another operation");
	}
	aside_sync();
	leave(group.mc);
}

/* With FI_GAMMA_JOIN_TIMEOUT=2. */
static void test_sets(void)
{
	struct fid_av_set *set = open_set(0, 1);
	struct ending ending;
	struct fid_mc *mc;

	if (place == members - 1)
		CHECK_EQ(fi_av_set_remove(set, 1), 0);
	mc = begin_join(set);
	wait_joined(mc, &ending);
	if (place == members - 1)
		CHECK(ending.error == FI_EINVAL || ending.error == FI_ETIMEDOUT);
	else
		expect_failure(&ending, FI_EINVAL, "joins another set");
	CHECK_EQ(fi_close(&set->fid), 0);
	aside_sync();
	leave(mc);
}

/* An address that the vector does not have cannot join a set, nor a set be joined that has one. */
static void test_unknown(void)
{
	struct fid_av_set *set = open_set(0, 1);
	fi_addr_t last = members - 1, addr;
	char own[NAME_MAX_LEN];
	size_t len = sizeof(own);
	struct fid_mc *mc;

	CHECK_EQ(fi_av_set_insert(set, members + 7), -FI_EINVAL);
	CHECK_EQ(fi_av_set_addr(set, &addr), 0);
	CHECK_EQ(fi_av_lookup(node_av, last, own, &len), 0);
	if (place != last) {
		CHECK_EQ(fi_av_remove(node_av, &last, 1, 0), 0);
		CHECK_EQ(fi_join_collective(node_ep, addr, set, 0, &mc, NULL), -FI_EINVAL);
		CHECK_EQ(fi_av_insert(node_av, own, 1, &addr, 0, NULL), 1);
		CHECK_EQ(addr, last);
	}
	CHECK_EQ(fi_close(&set->fid), 0);
	aside_sync();
	leave(join(0, 1));
}

static void test_absent(void)
{
	struct fid_av_set *set = open_set(0, 1);
	struct ending ending;
	struct fid_mc *mc;

	if (place != members - 1) {
		mc = begin_join(set);
		wait_joined(mc, &ending);
		expect_failure(&ending, FI_ETIMEDOUT, "has not joined");
		leave(mc);
	}
	CHECK_EQ(fi_close(&set->fid), 0);
	aside_sync();
	/* The same set can be joined afterwards. */
	leave(join(0, 1));
	aside_sync();
}

/* The last one begins an operation and ends without a word. Its number is behind the test's name,
 * none: it begins nothing, and the others a barrier. */
static void test_death(void)
{
	struct group group = world();
	unsigned kind = (unsigned) (running[5] ? running[5] - '0' : 0);
	struct ending ending = {0};
	char own[8];
	bool dies = place == members - 1;

	aside_sync();
	if (!dies || running[5])
		begin_op(&group, kind, kind ? 1 << 16 : 0, members - 1);
	if (dies)
		_exit(0);
	/* Some operations end well without it, but not the next barrier. */
	while (!poll_ending(&ending))
		;
	if (!ending.error) {
		CHECK_EQ(fi_barrier(node_ep, fi_mc_addr(group.mc), own), 0);
		wait_ending(own, &ending);
	}
	printf("%s: %s\n", running, ending.text);
	CHECK(ending.error);
	CHECK(strstr(ending.text, "member"));
	leave(group.mc);
	printf("ok %s\n", running);
	fflush(stdout);
	_exit(0);
}

/* The last one stands still for 3 s, with all of its threads: the others wait, which is no error.
 */
static void test_stopped(void)
{
	struct group group = world();
	pid_t own = getpid();

	for (unsigned kind = 0; kind < OPS; kind++)
		end_op(begin_op(&group, kind, 20000, 0));
	if (place == members - 1 && !fork()) {
		sleep(3);
		kill(own, SIGCONT);
		_exit(0);
	}
	if (place == members - 1)
		raise(SIGSTOP);
	for (unsigned kind = 0; kind < OPS; kind++)
		end_op(begin_op(&group, kind, 20000, 0));
	leave(group.mc);
}

/* ---- which ---- */

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{"query", test_query},       {"all", test_all},         {"types", test_types},
	{"order", test_order},       {"subsets", test_subsets}, {"groups", test_groups},
	{"late", test_late},         {"ahead", test_ahead},     {"lengths", test_lengths},
	{"roots", test_roots},       {"sets", test_sets},       {"absent", test_absent},
	{"mib", test_mib},           {"blocks", test_blocks},   {"filtered", test_filtered},
	{"igmp", test_igmp},         {"death", test_death},     {"death1", test_death},
	{"death2", test_death},      {"death3", test_death},    {"death4", test_death},
	{"death5", test_death},      {"death6", test_death},    {"stopped", test_stopped},
	{"attacked", test_attacked}, {"many", test_many},       {"unknown", test_unknown},
	{"threads", test_threads},   {"times", test_times},
};

static void run_test(const char *name)
{
	for (unsigned i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		if (strcmp(tests[i].name, name))
			continue;
		running = name;
		aside_sync();
		tests[i].run();
		printf("ok %s\n", name);
		fflush(stdout);
		return;
	}
	CHECK(!"a test of that name");
}

int main(int argc, char **argv)
{
	if (argc < 6) {
		fprintf(stderr, "usage: gamma-coll MEMBERS PLACE HOST PORT TEST...\n");
		return 2;
	}
	members = (unsigned) atoi(argv[1]);
	place = (unsigned) atoi(argv[2]);
	CHECK(members && members <= MEMBERS_MAX && place < members);
	aside_open(argv[3], argv[4]);
	node_open();
	for (int i = 5; i < argc; i++)
		run_test(argv[i]);
	aside_sync();
	node_close();
	return 0;
}
