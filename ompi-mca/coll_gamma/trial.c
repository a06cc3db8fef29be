// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Which of two is faster: gamma, or the component before it. For each operation and size, up to a
 * power of two, a communicator's first calls alternate between both, a few at a time. Then its
 * processes compare the sums of their medians. Gamma is kept if it is faster by more than chance.
 * All of it depends on the number of the call, which all processes count alike.
 */
#include "coll_gamma.h"

#include <stdlib.h>
#include <time.h>

enum {
	VERBOSE = 10, /* coll_base_verbose from which decisions are shown */
	BLOCK = 4,    /* calls of one component in a row; the first one is not measured */
	UNIT_NS = 10, /* of times: an int holds 21 s */
	/* Part of its time by which gamma must be faster. Of two that are level, medians of 9 calls
	 * differ by up to as much in most trials (experiment 208). */
	MARGIN = 8,
};

enum { GAMMA, PREVIOUS, SIDES };

/* Measurements of one process. */
struct coll_gamma_trial {
	unsigned int samples[SIDES];
	int times[]; /* UNIT_NS; of each side the half */
};

static const char *const names[COLL_GAMMA_KINDS] = {
	[COLL_GAMMA_BARRIER] = "barrier",     [COLL_GAMMA_BCAST] = "bcast",
	[COLL_GAMMA_ALLREDUCE] = "allreduce", [COLL_GAMMA_REDUCE] = "reduce",
	[COLL_GAMMA_ALLGATHER] = "allgather", [COLL_GAMMA_GATHER] = "gather",
};

static int class_of(size_t bytes)
{
	return 63 - __builtin_clzll((unsigned long long) bytes | 1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

/* Calls of each side: whole blocks, of which the first one warms up. */
static unsigned int calls_of_side(const struct coll_gamma_limits *limits)
{
	const unsigned int blocks = ((unsigned int) limits->trial + BLOCK - 1) / BLOCK;

	return BLOCK * (blocks > 1 ? blocks : 2);
}

static int side_of(unsigned int call)
{
	return call / BLOCK % SIDES;
}

static bool is_measured(unsigned int call)
{
	return call >= SIDES * BLOCK && call % BLOCK;
}

/* ---- samples ---- */

/* Without memory a process measures nothing, and the others decide. */
static void add_sample(struct coll_gamma_trial **where, unsigned int most, int side, uint64_t ns)
{
	struct coll_gamma_trial *trial = *where;
	const uint64_t time = ns / UNIT_NS;

	if (!trial)
		trial = *where = calloc(1, sizeof(*trial) + SIDES * most * sizeof(trial->times[0]));
	if (trial && trial->samples[side] < most)
		trial->times[(unsigned int) side * most + trial->samples[side]++] =
			time < INT_MAX ? (int) time : INT_MAX;
}

static int compare(const void *left, const void *right)
{
	return *(const int *) left < *(const int *) right ? -1 : 1;
}

static int median(struct coll_gamma_trial *trial, unsigned int most, int side)
{
	int *times;

	if (!trial || !trial->samples[side])
		return 0;
	times = &trial->times[(unsigned int) side * most];
	qsort(times, trial->samples[side], sizeof(*times), compare);
	return times[trial->samples[side] / 2];
}

/* ---- decision ---- */

static bool is_faster(const long times[SIDES])
{
	return times[GAMMA] + times[GAMMA] / MARGIN < times[PREVIOUS];
}

/* By what all processes together have spent, in the medians of each. The one that takes longest
 * would not do: mostly it waits for others that begin late, whichever component has the call. Open
 * MPI's error, or 0. */
static int decide(struct coll_gamma_module *module, struct ompi_communicator_t *comm,
		  enum coll_gamma_kind kind, int class)
{
	struct coll_gamma_trials *trials = &module->trials;
	struct coll_gamma_trial *trial = trials->open[kind][class];
	const unsigned int most = calls_of_side(&module->limits);
	const long ours[SIDES] = {median(trial, most, GAMMA), median(trial, most, PREVIOUS)};
	const double unit_us = UNIT_NS / (1000.0 * ompi_comm_size(comm));
	long all[SIDES] = {0, 0};
	const int error = coll_gamma_agree_sum(module, comm, ours, all, SIDES);
	const bool gamma = is_faster(all);

	free(trial);
	trials->open[kind][class] = NULL;
	trials->verdicts[kind][class] = gamma ? COLL_GAMMA_KEEPS : COLL_GAMMA_YIELDS;
	if (error) {
		/* Others may have decided otherwise. */
		module->group->failed = true;
		return error;
	}
	opal_output_verbose(
		VERBOSE, ompi_coll_base_framework.framework_output,
		"coll_gamma: communicator %s of %d: %s of %llu to %llu bytes: %s is kept "
		"(gamma %.1f us, the other component %.1f us)",
		comm->c_name, ompi_comm_size(comm), names[kind], 1ull << class, (2ull << class) - 1,
		gamma ? "gamma" : "the other component", (double) all[GAMMA] * unit_us,
		(double) all[PREVIOUS] * unit_us);
	return OMPI_SUCCESS;
}

/* ---- calls ---- */

/*
 * Whether gamma has this call, which is within its limits. To be followed by the end of the call.
 * *error: Open MPI's, which the caller returns instead of calling anything.
 */
bool coll_gamma_trial_begin(struct coll_gamma_module *module, struct ompi_communicator_t *comm,
			    enum coll_gamma_kind kind, size_t bytes, struct coll_gamma_call *call,
			    int *error)
{
	struct coll_gamma_trials *trials = &module->trials;
	const int class = class_of(bytes);

	*error = OMPI_SUCCESS;
	call->measured = false;
	if (OPAL_LIKELY(trials->verdicts[kind][class] == COLL_GAMMA_KEEPS || !module->limits.trial))
		return true;
	if (trials->verdicts[kind][class] == COLL_GAMMA_YIELDS)
		return false;
	call->number = trials->calls[kind][class]++;
	if (call->number == SIDES * calls_of_side(&module->limits)) {
		*error = decide(module, comm, kind, class);
		return trials->verdicts[kind][class] == COLL_GAMMA_KEEPS;
	}
	call->measured = is_measured(call->number);
	call->where = &trials->open[kind][class];
	if (call->measured)
		call->begin = now_ns();
	return side_of(call->number) == GAMMA;
}

void coll_gamma_trial_end(const struct coll_gamma_module *module,
			  const struct coll_gamma_call *call)
{
	if (call->measured)
		add_sample(call->where, calls_of_side(&module->limits), side_of(call->number),
			   now_ns() - call->begin);
}

/* The communicator ends, perhaps before all is decided. */
void coll_gamma_trial_free(struct coll_gamma_module *module)
{
	int kind, class;

	for (kind = 0; kind < COLL_GAMMA_KINDS; kind++)
		for (class = 0; class < COLL_GAMMA_CLASSES; class ++) {
			free(module->trials.open[kind][class]);
			module->trials.open[kind][class] = NULL;
		}
}
