// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-discover --check: measures many paths between other hosts in less time than one after the
 * other. A gammad may be asked once in 500 us, and most answers come within 100: meanwhile other
 * hosts are asked. Hardly two questions are in flight at once, so that none delays another, and no
 * host has a part in two measurements.
 */
#include "discover.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/live_line.h"

enum {
	LANES = 8,      /* paths that are being measured */
	FEW_HOSTS = 16, /* more questions for each path of few hosts */
	SMALL_FEW = 500,
	LARGE_FEW = 100,
	SMALL_MANY = 100, /* 64 hosts have 3,906 such paths */
	LARGE_MANY = 20,
	QUESTIONS_MAX = SMALL_FEW,
	PAUSE_US = 500,     /* between two questions to a gammad, which passes 4,000/s on */
	ALONE_US = 1000,    /* a question is alone in the network so long at most */
	TRIP_WAIT_MS = 20,  /* for an answer, before the path's next question */
	LATE_WAIT_MS = 150, /* for answers that were late */
	LATE_LIMIT = 50,    /* unanswered ones after which a measurement ends */
	ASKED_MAX = 8192,   /* latest questions, of which answers are known */
	SILENT_MAX = 2,     /* paths without any answer, before a host passes nothing on */
};

/* A path that is being measured, with frames of one size. */
struct lane {
	bool busy, large;
	struct discover_pair pair;
	unsigned serial;  /* of this measurement: answers to earlier ones are late */
	uint32_t payload; /* bytes of the questions */
	unsigned count, sent, answered;
	uint64_t began[QUESTIONS_MAX], took[QUESTIONS_MAX]; /* ns; took 0: no answer yet */
	uint64_t due;                                       /* ns: when there is something to do */
	struct discover_trips small;
};

struct question {
	uint32_t seq;
	unsigned serial, index;
	struct lane *lane;
};

/* What is known of a host as the first on its paths. */
struct source {
	bool busy;     /* a measurement has it at either end */
	bool answered; /* something has come back from it */
	unsigned silent;
};

struct lanes {
	struct discover *discover;
	struct discover_pairs *pairs;
	struct discover_pairs quiet; /* paths without an answer */
	struct lane lanes[LANES];
	struct question asked[ASKED_MAX];
	struct source *sources; /* by index of the host */
	struct discover_path *paths;
	bool *begun;              /* by index of the path */
	size_t path_count, first; /* the first that is not begun */
	size_t done;
	unsigned serial, turn;
};

/* ---- one measurement ---- */

static void begin_questions(struct lanes *lanes, struct lane *lane, bool large)
{
	bool few = lanes->discover->count <= FEW_HOSTS;

	lane->large = large;
	lane->serial = ++lanes->serial;
	lane->payload = large ? lane->pair.full - GAMMA_HEADER_LEN : 0;
	lane->count = large ? few ? LARGE_FEW : LARGE_MANY : few ? SMALL_FEW : SMALL_MANY;
	lane->sent = lane->answered = 0;
	memset(lane->took, 0, sizeof(lane->took));
	lane->due = gamma_now();
}

static bool has_sent_all(const struct lane *lane)
{
	return lane->sent == lane->count || (lane->sent >= LATE_LIMIT && !lane->answered);
}

static void ask(struct lanes *lanes, struct lane *lane)
{
	const struct discover_host *hosts = lanes->discover->hosts;
	uint64_t now = gamma_now();
	uint32_t seq;
	int ret = discover_ask_via(lanes->discover, &hosts[lane->pair.to], &hosts[lane->pair.from],
				   lane->payload, &seq);

	lanes->asked[seq % ASKED_MAX] = (struct question){
		.seq = seq,
		.serial = lane->serial,
		.index = lane->sent,
		.lane = lane,
	};
	lane->began[lane->sent++] = now;
	/* Questions that the link does not take are lost, too. */
	lane->due = now + (has_sent_all(lane) ? LATE_WAIT_MS * GAMMA_NS_PER_MS
			   : ret              ? PAUSE_US * GAMMA_NS_PER_US
					      : TRIP_WAIT_MS * GAMMA_NS_PER_MS);
}

/* An answer that is late still counts. */
static void take(struct lanes *lanes, const uint8_t *mac, uint32_t seq)
{
	const struct question *question = &lanes->asked[seq % ASKED_MAX];
	struct lane *lane = question->lane;
	uint64_t now = gamma_now();

	if (!lane || question->seq != seq || question->serial != lane->serial || !lane->busy ||
	    lane->took[question->index] ||
	    memcmp(mac, lanes->discover->hosts[lane->pair.from].mac, GAMMA_MAC_LEN))
		return;
	lane->took[question->index] = gamma_max(1, now - lane->began[question->index]);
	lane->answered++;
	if (has_sent_all(lane) && lane->answered == lane->sent)
		lane->due = now;
	else if (!has_sent_all(lane) && question->index == lane->sent - 1)
		lane->due =
			gamma_max(now, lane->began[question->index] + PAUSE_US * GAMMA_NS_PER_US);
}

static void take_answers(struct lanes *lanes, uint64_t until, const struct lane *awaited)
{
	uint8_t mac[GAMMA_MAC_LEN];
	uint32_t seq;

	while ((!awaited || !awaited->took[awaited->sent - 1]) &&
	       discover_ask_next(lanes->discover, until, mac, &seq))
		take(lanes, mac, seq);
}

/* ---- one path ---- */

static void end_path(struct lanes *lanes, struct lane *lane, struct discover_trips *large)
{
	struct discover_pair *pair = &lane->pair;
	struct source *source = &lanes->sources[pair->from];

	pair->full_fails = large->sent && large->lost == large->sent;
	pair->sent = lane->small.sent + (pair->full_fails ? 0 : large->sent);
	pair->lost = lane->small.lost + (pair->full_fails ? 0 : large->lost);
	pair->small = lane->small.quick;
	pair->large = large->quick;
	if (lane->small.quick)
		source->answered = true;
	else
		source->silent++;
	discover_pairs_add(lane->small.quick ? lanes->pairs : &lanes->quiet, pair);
	lane->busy = source->busy = lanes->sources[pair->to].busy = false;
}

static void end_questions(struct lanes *lanes, struct lane *lane)
{
	const struct discover_host *hosts = lanes->discover->hosts;
	struct discover_trips trips =
		discover_ask_sum(lane->took, lane->sent, lane->sent - lane->answered);

	if (lane->large) {
		end_path(lanes, lane, &trips);
		return;
	}
	lane->small = trips;
	if (trips.quick && hosts[lane->pair.from].full == DISCOVER_PASSES &&
	    hosts[lane->pair.to].full == DISCOVER_PASSES)
		begin_questions(lanes, lane, true);
	else
		end_path(lanes, lane, &(struct discover_trips){0});
}

/* ---- all paths ---- */

/* A host through which nothing has come back is left. */
static bool is_left(const struct lanes *lanes, const struct discover_path *path)
{
	const struct source *source = &lanes->sources[path->from];

	return !source->answered && source->silent >= SILENT_MAX;
}

static void begin_path(struct lanes *lanes, struct lane *lane, const struct discover_path *path)
{
	const struct discover_host *from = &lanes->discover->hosts[path->from];
	const struct discover_host *to = &lanes->discover->hosts[path->to];

	gamma_live_line_show("%.24s to %-24.24s %6zu of %zu", discover_name(from),
			     discover_name(to), ++lanes->done, lanes->path_count);
	lane->busy = lanes->sources[path->from].busy = lanes->sources[path->to].busy = true;
	lane->pair = (struct discover_pair){.from = path->from, .to = path->to};
	lane->pair.full = (uint32_t) gamma_min(from->full_mtu, to->full_mtu);
	begin_questions(lanes, lane, false);
}

/* The next path whose hosts have no part in another measurement. */
static bool begin_next(struct lanes *lanes, struct lane *lane)
{
	for (size_t i = lanes->first; i < lanes->path_count; i++) {
		const struct discover_path *path = &lanes->paths[i];

		while (lanes->first < lanes->path_count && lanes->begun[lanes->first])
			lanes->first++;
		if (lanes->begun[i] || lanes->sources[path->from].busy ||
		    lanes->sources[path->to].busy)
			continue;
		lanes->begun[i] = true;
		if (is_left(lanes, path))
			continue;
		begin_path(lanes, lane, path);
		return true;
	}
	return false;
}

/* The lane that has something to do, each in its turn; NULL: none has before *until, or none is
 * busy and that is 0. */
static struct lane *next_lane(struct lanes *lanes, uint64_t *until)
{
	uint64_t now = gamma_now();

	*until = 0;
	for (unsigned i = 0; i < LANES; i++) {
		struct lane *lane = &lanes->lanes[lanes->turn++ % LANES];

		if (!lane->busy && !begin_next(lanes, lane))
			continue;
		if (lane->due <= now)
			return lane;
		*until = *until ? gamma_min(*until, lane->due) : lane->due;
	}
	return NULL;
}

static void run(struct lanes *lanes)
{
	uint64_t until;

	while (!discover_interrupted) {
		struct lane *lane = next_lane(lanes, &until);

		if (!lane && !until)
			return;
		if (!lane) {
			take_answers(lanes, until, NULL);
		} else if (has_sent_all(lane)) {
			end_questions(lanes, lane);
		} else {
			ask(lanes, lane);
			take_answers(lanes,
				     lane->began[lane->sent - 1] + ALONE_US * GAMMA_NS_PER_US,
				     lane);
		}
	}
}

/* Paths without an answer are broken if others from there have one; else its gammad passes nothing
 * on. */
static void judge_silence(struct lanes *lanes)
{
	struct discover *discover = lanes->discover;

	for (size_t i = 0; i < lanes->quiet.count; i++)
		if (lanes->sources[lanes->quiet.pairs[i].from].answered)
			discover_pairs_add(lanes->pairs, &lanes->quiet.pairs[i]);
	for (size_t i = 0; i < discover->count; i++)
		if (lanes->sources[i].silent && !lanes->sources[i].answered)
			discover_check_note(&discover->hosts[i],
					    "its paths to others could not be measured: its gammad "
					    "does not pass questions on (another release?), or it "
					    "reaches this host alone");
}

void discover_lanes_measure(struct discover *discover, struct discover_path *paths, size_t count,
			    struct discover_pairs *pairs)
{
	struct lanes *lanes = calloc(1, sizeof(*lanes));

	if (!lanes)
		discover_fail("out of memory");
	*lanes = (struct lanes){
		.discover = discover,
		.pairs = pairs,
		.paths = paths,
		.path_count = count,
	};
	lanes->sources = calloc(discover->count + 1, sizeof(*lanes->sources));
	lanes->begun = calloc(count + 1, sizeof(*lanes->begun));
	if (!lanes->sources || !lanes->begun)
		discover_fail("out of memory");
	run(lanes);
	if (!discover_interrupted)
		judge_silence(lanes);
	free(lanes->quiet.pairs);
	free(lanes->sources);
	free(lanes->begun);
	free(lanes);
}
