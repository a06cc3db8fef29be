// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A slow port on the way here, and short messages that wait in it behind long ones. Credit fills
 * the port's queue; but all that its senders need under way is what a round trip takes, in frames.
 * While short messages come beside a backlog they get no more than that and a few frames, in equal
 * shares; else the queue stays, which hides that processes are away now and then.
 *
 * credit.c calls for every LOOK frames, in a trial for every frame. There is no other clock than
 * the frames' stamps:
 *
 *     WATCH --- slow, steadily, and short messages come ---> EMPTY ---> ROUNDS ---> HOLD
 *       ^                                                      ^                     |
 *       |                                                      +------- WIDER <------+
 *       |                                                           each second, twice as much
 *       +--- no short messages, no backlog, no slow port; somebody away: credit grows again
 *
 * EMPTY, ROUNDS: each sender has one frame under way. So the port's queue is empty once what was
 * under way has arrived; a round of frames is then a round trip, or, with several senders, what
 * their frames take: nobody takes the others' queue for the path.
 */
#include "flow/slow_port.h"

#include "flow/flow.h"

enum {
	LOOK = 64,        /* frames from one look to the next */
	SLOW_NS = 4,      /* for a byte: above 2 Gbit/s a frame takes less than a host's jitter, */
	SLOW_US = 3,      /* as one does that takes less than this */
	FAST_LOOKS = 2,   /* in a row: after a pause a port may pass some frames at once */
	STEADY_LOOKS = 4, /* slow ones in a row are a port: who is away is not so regular */
	SHORT_LOOKS = 2,  /* with short messages, until the bound counts as useful, */
	SHORT_APART = 4,  /* neither so many looks after the other: not those between long ones */
	SHORT_MS = 1000,  /* without short messages the bound goes on so long */
	SENDERS_MAX = 16, /* with more their two frames each are a queue anyway */
	SPARE = 3,        /* frames more than a round trip takes: with 2 the port runs empty */
	SENDER_MIN = 2,   /* frames: with one a sender would wait for each acknowledgement */
	KEPT = 1,   /* frames more, which a sender keeps for what does not fill one: transmit.c */
	ROUNDS = 4, /* whose shortest is the round trip */
	TRIES = 3,  /* trials that came to nothing, in a row, until it is left alone */
	TRIAL_MS = 100,     /* and how long one may take */
	WIDER_LOOKS = 3,    /* the first is not like the others yet */
	IDLE_LOOKS = 4,     /* in a row without a backlog */
	AGAIN_MS = 1000,    /* paths change */
	AWAY_MS = 100,      /* if an eighth of this is lost, a sender is away: a queue helps */
	AWAY_MAX_MS = 2000, /* it is left alone for as long then, doubling up to this */
};

static uint64_t bytes_in(const struct gamma_credit_pool *pool)
{
	return gamma_container_of(pool, struct gamma_local, pool)->stats.bytes_in;
}

static uint64_t ms(uint64_t count)
{
	return count * GAMMA_NS_PER_MS;
}

/* ns for 1,024 bytes */
static uint64_t cost_of(uint64_t ns, uint64_t bytes)
{
	return ns * 1024 / gamma_max(bytes, 1);
}

/* Of a look. */
static bool is_fast(uint64_t passed, uint64_t bytes)
{
	return passed < bytes * SLOW_NS || passed < LOOK * SLOW_US * GAMMA_NS_PER_US;
}

static uint32_t senders(const struct gamma_credit_pool *pool)
{
	return (uint32_t) gamma_max(pool->bulk, 1);
}

static void look_after(struct gamma_credit_pool *pool, uint32_t frames)
{
	pool->slow_port.look = pool->arrivals + gamma_max(frames, 1);
}

/* From here on frames are counted and timed. */
static void begin_look(struct gamma_credit_pool *pool, uint64_t stamp)
{
	pool->slow_port.stamp = stamp;
	pool->slow_port.bytes = bytes_in(pool);
	pool->slow_port.disturbed = false;
	look_after(pool, LOOK - 1); /* the next one, or the next train, ends the look */
}

static void set_sender_share(struct gamma_credit_pool *pool)
{
	struct gamma_slow_port *pace = &pool->slow_port;

	pace->share = (uint32_t) gamma_max(pace->bound / senders(pool), SENDER_MIN) + KEPT;
}

/* Whether short messages have come since the last look. */
static bool heard_short(struct gamma_credit_pool *pool)
{
	bool heard = pool->slow_port.shorts_seen != pool->shorts;

	pool->slow_port.shorts_seen = pool->shorts;
	return heard;
}

/* ---- no bound ---- */

/* Credit is not given back at once, for that would fill the port: it grows as after a loss. */
static void release_bound(struct gamma_credit_pool *pool, uint64_t until)
{
	struct gamma_slow_port *pace = &pool->slow_port;

	if (pool->budget)
		pool->bound = (uint32_t) gamma_min(pool->bound, senders(pool) * GAMMA_GRANT_MIN);
	pace->state = GAMMA_SLOW_PORT_WATCH;
	pace->share = 0;
	pace->steady = pace->heard = 0;
	pace->cost = 0;
	pace->until = until;
}

static void leave_alone(struct gamma_credit_pool *pool, uint64_t stamp)
{
	struct gamma_slow_port *pace = &pool->slow_port;

	pace->away = gamma_min(pace->away ? 2 * pace->away : ms(AWAY_MS), ms(AWAY_MAX_MS));
	release_bound(pool, stamp + pace->away);
}

static void empty(struct gamma_credit_pool *pool, uint64_t stamp);

static void watch(struct gamma_credit_pool *pool, uint64_t passed, uint64_t bytes, uint64_t stamp)
{
	struct gamma_slow_port *pace = &pool->slow_port;
	uint64_t last = pace->cost, cost = cost_of(passed, bytes);
	bool alike = cost <= last + last / 4 && last <= cost + cost / 4;

	if (heard_short(pool)) {
		pace->heard++;
		pace->quiet = 0;
	} else if (++pace->quiet >= SHORT_APART) {
		pace->heard = 0;
	}
	pace->cost = cost;
	pace->steady = pace->fast || !alike ? 0 : pace->steady + 1;
	if (pace->steady < STEADY_LOOKS || pace->heard < SHORT_LOOKS || pool->bulk > SENDERS_MAX ||
	    stamp < pace->until)
		return;
	gamma_container_of(pool, struct gamma_local, pool)->stats.slow_port_bounds++;
	pace->port = gamma_max(cost, last);
	pace->tries = 0;
	pace->short_at = stamp;
	empty(pool, stamp);
}

/* ---- a trial ---- */

static void widen(struct gamma_credit_pool *pool, uint32_t bound, uint64_t stamp)
{
	struct gamma_slow_port *pace = &pool->slow_port;

	pace->state = GAMMA_SLOW_PORT_WIDER;
	pace->bound = bound;
	pace->looks = pace->idle = 0;
	set_sender_share(pool);
	begin_look(pool, stamp);
}

static void fail_trial(struct gamma_credit_pool *pool, uint64_t stamp)
{
	if (++pool->slow_port.tries >= TRIES)
		leave_alone(pool, stamp);
	else
		widen(pool, senders(pool) * GAMMA_GRANT_MIN, stamp);
}

/* A sender that comes or goes meanwhile, or loses frames, spoils the measurement. */
static bool spoilt(const struct gamma_credit_pool *pool, uint64_t passed)
{
	return pool->slow_port.disturbed || pool->bulk != pool->slow_port.senders ||
	       passed > ms(TRIAL_MS);
}

/* Frames granted and not arrived, except one of each sender and the kept ones. */
static uint32_t to_come(const struct gamma_credit_pool *pool)
{
	uint32_t least = (1 + KEPT) * senders(pool);

	return pool->bulk_granted > least ? pool->bulk_granted - least : 0;
}

static void empty(struct gamma_credit_pool *pool, uint64_t stamp)
{
	struct gamma_slow_port *pace = &pool->slow_port;

	pace->state = GAMMA_SLOW_PORT_EMPTY;
	pace->senders = pool->bulk;
	pace->share = 1 + KEPT;
	pace->looks = 0;
	begin_look(pool, stamp);
	pace->drained = to_come(pool);
	look_after(pool, pace->drained);
}

static void look_empty(struct gamma_credit_pool *pool, uint64_t passed, uint64_t bytes,
		       uint64_t stamp)
{
	struct gamma_slow_port *pace = &pool->slow_port;
	uint32_t more = to_come(pool);

	if (spoilt(pool, passed) || (more && ++pace->looks >= ROUNDS)) {
		fail_trial(pool, stamp);
		return;
	}
	if (more) {
		pace->drained += more;
		look_after(pool, more);
		return;
	}
	/* A queue that empties shows the port's rate, whatever its senders do. */
	if (pace->drained >= LOOK / 2)
		pace->port = gamma_min(pace->port, cost_of(passed, bytes));
	pace->state = GAMMA_SLOW_PORT_ROUNDS;
	pace->looks = pace->arrived = 0;
	pace->frame = 0;
	pace->trip = UINT64_MAX;
	begin_look(pool, stamp);
	look_after(pool, 1);
}

static void hold_bound(struct gamma_credit_pool *pool, uint64_t stamp)
{
	struct gamma_slow_port *pace = &pool->slow_port;
	uint64_t frame_ns = gamma_max(pace->port * pace->frame / 1024, 1);

	pace->state = GAMMA_SLOW_PORT_HOLD;
	pace->bound = (uint32_t) gamma_min(pace->trip / frame_ns + SPARE, GAMMA_WINDOW_MAX);
	pace->most = 2 * pace->bound;
	pace->tries = pace->slower = pace->idle = 0;
	pace->tried = stamp;
	pace->span = pace->span_bytes = 0;
	set_sender_share(pool);
	begin_look(pool, stamp);
}

/* Of each frame. The first round does not count: its frames left before the port was empty. */
static void look_rounds(struct gamma_credit_pool *pool, uint64_t passed, uint64_t stamp)
{
	struct gamma_slow_port *pace = &pool->slow_port;
	uint64_t bytes = bytes_in(pool);
	uint32_t frame = (uint32_t) (bytes - pace->bytes);

	look_after(pool, 1);
	pace->bytes = bytes;
	pace->frame = (uint32_t) gamma_max(pace->frame, frame);
	if (spoilt(pool, passed)) {
		fail_trial(pool, stamp);
		return;
	}
	if (frame < pace->frame / 2 || ++pace->arrived % pace->senders)
		return; /* a short one; or the round goes on */
	/* Faster than the port passes them: they have waited together on this host. */
	if (passed < pace->port * pace->frame / 2048 * pace->senders)
		return;
	if (pace->looks)
		pace->trip = gamma_min(pace->trip, passed);
	pace->stamp = stamp;
	if (++pace->looks > ROUNDS)
		hold_bound(pool, stamp);
}

/* ---- the bound ---- */

static void look_wider(struct gamma_credit_pool *pool, uint64_t passed, uint64_t bytes,
		       uint64_t stamp)
{
	struct gamma_slow_port *pace = &pool->slow_port;
	uint64_t last = pace->cost;

	pace->cost = cost_of(passed, bytes);
	if (++pace->looks == WIDER_LOOKS) {
		/* Again: after a pause some frames may have passed at once. */
		pace->port = gamma_max(pace->cost, last);
		empty(pool, stamp);
	}
}

/* Somebody is away so often that the port runs empty. */
static bool often_away(struct gamma_slow_port *pace, uint64_t passed, uint64_t bytes)
{
	uint64_t needed;

	pace->span += passed;
	pace->span_bytes += bytes;
	if (pace->span < ms(AWAY_MS))
		return false;
	needed = pace->port * pace->span_bytes / 1024;
	passed = pace->span;
	pace->span = pace->span_bytes = 0;
	return passed > needed + needed / 8;
}

static void look_hold(struct gamma_credit_pool *pool, uint64_t passed, uint64_t bytes,
		      uint64_t stamp)
{
	struct gamma_slow_port *pace = &pool->slow_port;
	uint64_t cost = cost_of(passed, bytes);

	if (heard_short(pool))
		pace->short_at = stamp;
	if (pool->bulk > SENDERS_MAX || stamp - pace->short_at > ms(SHORT_MS)) {
		release_bound(pool, 0);
		return;
	}
	if (often_away(pace, passed, bytes)) {
		leave_alone(pool, stamp);
		return;
	}
	/* Frames come more slowly than before: is the bound too low? */
	pace->slower = cost > pace->port + pace->port / 32 ? pace->slower + 1 : 0;
	if (pace->slower == 3) {
		pace->slower = 0;
		pace->bound = (uint32_t) gamma_min(pace->bound + (pace->bound + 3) / 4, pace->most);
		set_sender_share(pool);
	}
	if (stamp - pace->tried < ms(AGAIN_MS))
		return;
	pace->away = 0; /* all has been well for so long */
	widen(pool, 2 * pace->bound, stamp);
}

/* An observation without a backlog all the time, or with losses, is no evidence. */
static void look_in_vain(struct gamma_credit_pool *pool, uint64_t stamp)
{
	struct gamma_slow_port *pace = &pool->slow_port;

	if (pace->state == GAMMA_SLOW_PORT_WATCH) {
		pace->steady = 0;
		pace->shorts_seen = pool->shorts;
	} else if (!pool->bulk && ++pace->idle >= IDLE_LOOKS) {
		release_bound(pool, 0);
	}
	begin_look(pool, stamp);
}

/* Frames of a train arrive with one stamp. A look that began or ended within one would count its
 * frames and not their time, or the reverse: it ends at the first frame of the next train. */
static bool is_within_train(struct gamma_credit_pool *pool, uint64_t stamp)
{
	struct gamma_slow_port *pace = &pool->slow_port;
	bool within = !pace->due || pace->due == stamp;

	pace->due = within ? stamp : 0;
	if (within)
		look_after(pool, 1);
	return within;
}

void gamma_slow_port_look(struct gamma_credit_pool *pool, uint64_t stamp)
{
	struct gamma_slow_port *pace = &pool->slow_port;
	uint64_t passed = stamp > pace->stamp ? stamp - pace->stamp : 0;
	uint64_t bytes = bytes_in(pool) - pace->bytes;

	if (pace->state == GAMMA_SLOW_PORT_EMPTY) {
		look_empty(pool, passed, bytes, stamp);
		return;
	}
	if (pace->state == GAMMA_SLOW_PORT_ROUNDS) {
		look_rounds(pool, passed, stamp);
		return;
	}
	if (is_within_train(pool, stamp))
		return;
	if (!pool->bulk || pace->disturbed) {
		look_in_vain(pool, stamp);
		return;
	}
	begin_look(pool, stamp);
	pace->idle = 0;
	pace->fast = is_fast(passed, bytes) ? pace->fast + 1 : 0;
	if (pace->state == GAMMA_SLOW_PORT_WATCH)
		watch(pool, passed, bytes, stamp);
	else if (pace->fast == FAST_LOOKS)
		release_bound(pool, 0);
	else if (pace->state == GAMMA_SLOW_PORT_WIDER)
		look_wider(pool, passed, bytes, stamp);
	else
		look_hold(pool, passed, bytes, stamp);
}

void gamma_slow_port_senders_changed(struct gamma_credit_pool *pool)
{
	struct gamma_slow_port *pace = &pool->slow_port;

	pace->disturbed |= !pool->bulk;
	if (pace->state == GAMMA_SLOW_PORT_HOLD || pace->state == GAMMA_SLOW_PORT_WIDER)
		set_sender_share(pool);
}

void gamma_slow_port_lost(struct gamma_credit_pool *pool)
{
	pool->slow_port.disturbed = true;
}
