// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The model of group.h: copies of frames, each with a fate of its own, and messages in order. What
 * it checks: all bytes come to all, the root keeps its memory until then, no ring overflows, and
 * nothing is sent again without a loss.
 */
#include "group.h"

#include <stdlib.h>
#include <string.h>

#include "group/relay.h"
#include "group/stream.h"
#include "group/take.h"
#include "group/turns.h"

enum {
	LIMIT_S = 60,
	REORDER_US = 300,
	STRAYS = 4096,
	UNTOLD_MS = 15, /* that no receiver waits for frames that are lost, and asks by itself */
};

struct copy {        /* a frame on its way: all arrive in the order of their times */
	uint64_t at; /* ns */
	uint32_t turn, frame, host;
	bool lost_at_first; /* its copies are those of group->lose */
};

struct message {
	uint64_t at;
	uint32_t turn, from, to;
	enum { REPORT, ASK, REPAIR, SENT } kind;
	uint32_t number; /* of frames taken, or sent; of a frame */
	struct gamma_stream_ask ask;
};

/* A host: the root of some broadcasts, a receiver of the others, which it calls one by one. */
struct host {
	uint32_t turn; /* the broadcast that it is in; group->turns: it has ended */
	bool open;     /* stream or take is set */
	struct gamma_stream stream;
	struct gamma_take take;
	uint8_t *bytes;
	struct copy *ring; /* frames that wait */
	uint32_t head, waiting;
	struct gamma_turns turns;
	uint64_t begins, ends; /* ns: does nothing before, and nothing after */
	uint64_t stops, goes;  /* ns: nor between these */
	uint64_t began;        /* ns: its broadcast */
	uint64_t free_at;      /* ns: its port */
	uint64_t works_until;  /* ns: its processor */
	bool touched;          /* something has come */
	struct message *queue; /* that it has not looked at */
	uint32_t queue_head, queue_end, queue_size;
	uint32_t *sent;  /* frames, by turn: what its root has said before it began here */
	uint32_t *early; /* by turn and child: one more than was reported before it began here */
};

struct model {
	struct sim *sim;
	const struct sim_group *group;
	uint8_t *source;
	struct host *hosts;
	struct copy *copies;
	uint32_t copy_head, copy_end, copy_size;
	struct copy *stray; /* single copies that come late */
	uint32_t stray_hosts[STRAYS], stray_count;
	struct message *messages;
	uint32_t message_head, message_end, message_size;
	uint64_t now, random;
	bool failed;
	struct sim_group_result result;
};

static uint32_t draw(struct model *model, uint32_t below)
{
	model->random = model->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t) (model->random >> 33) % below;
}

#define EXPECT(model, condition, ...)                        \
	do {                                                 \
		if (!(model)->failed && !(condition)) {      \
			(model)->failed = true;              \
			sim_fail((model)->sim, __VA_ARGS__); \
		}                                            \
	} while (0)

static void *grow(void *array, uint32_t *size, size_t each)
{
	*size = *size ? 2 * *size : 1024;
	return realloc(array, *size * each);
}

static uint32_t root_of(const struct model *model, uint32_t turn)
{
	return turn % model->group->hosts;
}

static const uint8_t *bytes_of(const struct model *model, uint32_t turn, uint32_t frame)
{
	return model->source + turn + (uint64_t) frame * model->group->payload;
}

static uint32_t len_of(const struct model *model, uint32_t frame)
{
	return gamma_take_len(model->group->bytes, model->group->payload, frame);
}

static bool is_awake(const struct model *model, const struct host *host)
{
	return model->now >= host->begins && model->now < host->ends &&
	       (model->now < host->stops || model->now >= host->goes);
}

static bool is_dead(const struct model *model, const struct host *host)
{
	return model->now >= host->ends;
}

static void work(struct model *model, struct host *host)
{
	host->works_until = gamma_max(model->now, host->works_until) + model->group->message_ns;
}

static bool can_work(const struct model *model, const struct host *host)
{
	return is_awake(model, host) && model->now >= host->works_until;
}

/* Counted from the root of its broadcast. */
static uint32_t rank_of(const struct model *model, uint32_t turn, uint32_t number)
{
	uint32_t n = model->group->hosts;

	return (number + n - root_of(model, turn)) % n;
}

static uint32_t host_of(const struct model *model, uint32_t turn, uint32_t rank)
{
	return (root_of(model, turn) + rank) % model->group->hosts;
}

static uint32_t parent_of(const struct model *model, uint32_t turn, uint32_t number)
{
	return model->group->direct
		       ? root_of(model, turn)
		       : host_of(model, turn, gamma_relay_parent(rank_of(model, turn, number)));
}

/* In the order of their arrival. */
static void put_message_at(struct model *model, uint64_t at, struct message message)
{
	uint32_t place;

	work(model, &model->hosts[message.from]);
	message.at = at + model->group->latency;
	if (model->message_end == model->message_size)
		model->messages =
			grow(model->messages, &model->message_size, sizeof(*model->messages));
	for (place = model->message_end++; place > model->message_head; place--) {
		if (model->messages[place - 1].at <= message.at)
			break;
		model->messages[place] = model->messages[place - 1];
	}
	model->messages[place] = message;
}

static void put_message(struct model *model, struct message message)
{
	put_message_at(model, model->now, message);
}

static bool has_all(const struct host *host, uint32_t turn)
{
	return host->turn > turn ||
	       (host->turn == turn && host->open && gamma_take_is_complete(&host->take));
}

/* ---- the root ---- */

/* In the order of their arrival: the roots' ports are free at different times. */
static void put_copy(struct model *model, struct copy copy)
{
	uint32_t at;

	if (model->copy_end == model->copy_size)
		model->copies = grow(model->copies, &model->copy_size, sizeof(*model->copies));
	for (at = model->copy_end++; at > model->copy_head; at--) {
		if (model->copies[at - 1].at <= copy.at)
			break;
		model->copies[at] = model->copies[at - 1];
	}
	model->copies[at] = copy;
}

static void send_frame(struct model *model, uint32_t root, uint32_t frame, bool first)
{
	const struct sim_group *group = model->group;
	struct host *host = &model->hosts[root];

	host->free_at = gamma_max(model->now, host->free_at) + group->frame_ns;
	work(model, host);
	put_copy(model,
		 (struct copy){.at = host->free_at + group->latency,
			       .turn = host->turn,
			       .frame = frame,
			       .host = root,
			       .lost_at_first =
				       first && frame - group->lose < gamma_max(group->loses, 1u)});
}

static void repair_frames(struct model *model, uint32_t root)
{
	const struct sim_group *group = model->group;
	struct host *host = &model->hosts[root];
	struct gamma_stream_repair repair;

	while (gamma_stream_next_repair(&host->stream, model->now, &repair)) {
		EXPECT(model,
		       group->loss || group->losers || group->reorder || group->dies ||
			       repair.frame >= group->filter,
		       "frame %u is sent again, and none was lost", repair.frame);
		if (repair.receiver == GAMMA_STREAM_ALL) {
			send_frame(model, root, repair.frame, false);
			model->result.again_all++;
			continue;
		}
		put_message(model, (struct message){.kind = REPAIR,
						    .turn = host->turn,
						    .from = root,
						    .to = repair.receiver,
						    .number = repair.frame});
		model->result.again_one++;
	}
}

/* Behind the frames that wait at the port. */
static void remind(struct model *model, uint32_t root)
{
	struct host *host = &model->hosts[root];

	if (!gamma_stream_remind(&host->stream, model->now) || model->group->silent)
		return;
	for (uint32_t i = 0; i < model->group->hosts; i++) {
		if (!gamma_stream_lags(&host->stream, i))
			continue;
		put_message_at(model, gamma_max(model->now, host->free_at),
			       (struct message){.kind = SENT,
						.turn = host->turn,
						.from = root,
						.to = i,
						.number = host->stream.sent});
		model->result.reminders++;
	}
}

static void end_turn(struct host *host)
{
	gamma_stream_fini(&host->stream);
	gamma_take_fini(&host->take);
	host->open = false;
	host->turn++;
}

static void run_root(struct model *model, uint32_t root)
{
	struct host *host = &model->hosts[root];
	uint32_t frame;

	repair_frames(model, root);
	while (host->free_at <= model->now && can_work(model, host) &&
	       gamma_stream_next(&host->stream, &frame)) {
		send_frame(model, root, frame, true);
		model->result.frames++;
	}
	remind(model, root);
	if (!gamma_stream_is_stable(&host->stream))
		return;
	/* Its memory may be used again. */
	for (uint32_t i = 0; i < model->group->hosts; i++)
		EXPECT(model, i == root || has_all(&model->hosts[i], host->turn),
		       "the root takes its memory back before host %u has all", i);
	end_turn(host);
}

/* ---- the receivers ---- */

/* What belongs to a later broadcast stays, and what is behind it. */
static void drain(struct model *model, struct host *host)
{
	while (host->waiting && host->open) {
		const struct copy *copy = &host->ring[host->head];

		if (copy->turn > host->turn)
			break;
		if (copy->turn == host->turn && root_of(model, host->turn) == copy->host)
			gamma_take_frame(&host->take, copy->frame,
					 bytes_of(model, copy->turn, copy->frame),
					 len_of(model, copy->frame), model->now);
		host->head = (host->head + 1) % model->group->slots;
		host->waiting--;
	}
}

static void arrive(struct model *model, uint32_t number, const struct copy *copy)
{
	const struct sim_group *group = model->group;
	struct host *host = &model->hosts[number];

	if (host->waiting == group->slots) {
		model->result.drops++;
		return;
	}
	host->ring[(host->head + host->waiting++) % group->slots] = *copy;
	model->result.kept = gamma_max(model->result.kept, host->waiting);
	host->touched = true;
	if (is_awake(model, host) && root_of(model, host->turn) != number)
		drain(model, host);
}

static void arrive_everywhere(struct model *model, const struct copy *copy)
{
	const struct sim_group *group = model->group;

	if (copy->frame >= group->filter)
		return;
	for (uint32_t host = 0; host < group->hosts; host++) {
		if (host == copy->host || is_dead(model, &model->hosts[host]))
			continue;
		if (copy->lost_at_first && host - 1 < group->losers)
			continue;
		if (draw(model, 1000000) < group->loss)
			continue;
		if (draw(model, 1000000) < group->reorder && model->stray_count < STRAYS) {
			struct copy *stray = &model->stray[model->stray_count++];

			*stray = *copy;
			stray->at = model->now + REORDER_US * SIM_US;
			model->stray_hosts[model->stray_count - 1] = host;
		} else {
			arrive(model, host, copy);
		}
	}
}

/* Whether it has been in that broadcast for a while, and has made progress. */
static bool is_there(const struct model *model, const struct host *host, uint32_t turn)
{
	uint64_t since =
		host->stops <= model->now ? gamma_max(host->began, host->goes) : host->began;

	return host->turn == turn && host->open && can_work(model, host) &&
	       model->now >= since + UNTOLD_MS * SIM_MS;
}

/* Whether the root's word comes to that host: those between pass it on. */
static bool is_reached(const struct model *model, uint32_t number)
{
	uint32_t turn = model->hosts[number].turn, at = number;

	while (is_there(model, &model->hosts[at], turn)) {
		if (at == root_of(model, turn))
			return true;
		at = parent_of(model, turn, at);
	}
	return false;
}

/* A receiver asks since nothing comes: then its root has sent nothing that it lacks, or just now,
 * or it has begun just now itself. */
static void expect_nothing_lost(struct model *model, uint32_t number)
{
	struct host *host = &model->hosts[number];
	const struct host *root = &model->hosts[root_of(model, host->turn)];

	if (!is_reached(model, number) || model->group->silent || model->now < host->take.idle_at ||
	    host->take.idle > GAMMA_TAKE_IDLE_US * SIM_US)
		return;
	EXPECT(model,
	       root->turn != host->turn || !root->open || root->stream.sent <= host->take.first ||
		       model->now < root->free_at + UNTOLD_MS * SIM_MS,
	       "host %u waits for frame %u, which was sent", number, host->take.first);
}

static void run_receiver(struct model *model, uint32_t number)
{
	struct host *host = &model->hosts[number];
	struct message message = {.from = number,
				  .to = parent_of(model, host->turn, number),
				  .turn = host->turn,
				  .kind = REPORT};

	drain(model, host);
	if (gamma_take_report(&host->take, &message.number)) {
		put_message(model, message);
		model->result.reports++;
	}
	message.kind = ASK;
	message.to = root_of(model, host->turn);
	expect_nothing_lost(model, number);
	if (gamma_take_ask(&host->take, model->now, &message.ask)) {
		put_message(model, message);
		model->result.asks++;
	}
	if (!gamma_take_has_ended(&host->take))
		return;
	EXPECT(model, !memcmp(host->bytes, model->source + host->turn, model->group->bytes),
	       "host %u has other bytes than the root", number);
	memset(host->bytes, 0, model->group->bytes);
	model->result.time = model->now;
	end_turn(host);
}

/* To the root, or to a host that reports for others. */
static void take_report(struct model *model, const struct message *message)
{
	struct host *host = &model->hosts[message->to];
	uint32_t turn = message->turn, child;

	if (message->to == root_of(model, turn)) {
		if (!message->number)
			gamma_turns_announce(&host->turns, message->from, turn);
		if (host->turn != turn || !host->open)
			return;
		EXPECT(model, gamma_stream_report(&host->stream, message->from, message->number),
		       "the root refuses the report of host %u", message->from);
		return;
	}
	child = rank_of(model, turn, message->from) -
		gamma_relay_first_child(rank_of(model, turn, message->to));
	if (host->turn < turn || !host->open)
		host->early[turn * GAMMA_RELAY_FAN + child] = message->number + 1;
	else
		EXPECT(model,
		       host->turn == turn &&
			       gamma_relay_report(&host->take.relay, child, message->number),
		       "host %u refuses the report of host %u", message->to, message->from);
}

/* From the root, perhaps by another host. */
static void take_sent(struct model *model, const struct message *message)
{
	struct host *host = &model->hosts[message->to];
	uint32_t first = gamma_relay_first_child(rank_of(model, message->turn, message->to));

	host->sent[message->turn] = message->number;
	if (host->turn != message->turn || !host->open)
		return;
	gamma_take_remind(&host->take, message->number, model->now);
	for (uint32_t i = 0; i < host->take.relay.count; i++) {
		if (!gamma_relay_lags(&host->take.relay, i, message->number))
			continue;
		put_message(model, (struct message){.kind = SENT,
						    .turn = message->turn,
						    .from = message->to,
						    .to = host_of(model, message->turn, first + i),
						    .number = message->number});
		model->result.reminders++;
	}
}

static void take_message(struct model *model, const struct message *message)
{
	struct host *host = &model->hosts[message->to];

	model->result.root_messages += !message->to;
	if (message->kind == REPORT) {
		take_report(model, message);
	} else if (message->kind == SENT) {
		take_sent(model, message);
	} else if (host->turn != message->turn || !host->open) {
		return;
	} else if (message->kind == ASK) {
		gamma_stream_ask(&host->stream, message->from, &message->ask, model->now);
	} else {
		gamma_take_frame(&host->take, message->number,
				 bytes_of(model, message->turn, message->number),
				 len_of(model, message->number), model->now);
	}
}

/* It waits for the processor. */
static void put_into_queue(struct model *model, const struct message *message)
{
	struct host *host = &model->hosts[message->to];

	if (is_dead(model, host))
		return;
	if (host->queue_head == host->queue_end)
		host->queue_head = host->queue_end = 0;
	if (host->queue_end == host->queue_size)
		host->queue = grow(host->queue, &host->queue_size, sizeof(*host->queue));
	host->queue[host->queue_end++] = *message;
}

static void look_into_queue(struct model *model, struct host *host)
{
	while (host->queue_head < host->queue_end && can_work(model, host)) {
		work(model, host);
		host->touched = true;
		take_message(model, &host->queue[host->queue_head++]);
	}
}

/* ---- the run ---- */

/* Others may report to this host, and may have done so. */
static void begin_relay(struct model *model, uint32_t number)
{
	struct host *host = &model->hosts[number];
	const uint32_t *early = &host->early[host->turn * GAMMA_RELAY_FAN];

	if (!model->group->direct)
		gamma_relay_init(&host->take.relay, rank_of(model, host->turn, number),
				 model->group->hosts, host->take.frames);
	for (uint32_t i = 0; i < GAMMA_RELAY_FAN; i++)
		if (early[i])
			gamma_relay_report(&host->take.relay, i, early[i] - 1);
}

static void begin_turn(struct model *model, uint32_t number)
{
	const struct sim_group *group = model->group;
	struct host *host = &model->hosts[number];

	uint32_t root = root_of(model, host->turn);
	uint32_t frames = gamma_take_frames(group->bytes, group->payload);
	bool waits = gamma_turns_broadcast(&host->turns, root, frames);

	if (root == number) {
		gamma_stream_init(&host->stream, frames, group->hosts, group->window);
		gamma_stream_excuse(&host->stream, number);
		for (uint32_t rank = GAMMA_RELAY_FAN + 1; !group->direct && rank < group->hosts;
		     rank++)
			gamma_stream_relay(&host->stream, host_of(model, host->turn, rank));
		if (waits)
			gamma_stream_hold(&host->stream);
		for (uint32_t i = 0; waits && i < group->hosts; i++)
			if (gamma_turns_has_begun(&host->turns, i, host->turn))
				gamma_stream_report(&host->stream, i, 0);
	} else {
		gamma_take_init(&host->take, host->bytes, group->bytes, group->payload, model->now);
		host->take.announces = waits;
		begin_relay(model, number);
		gamma_take_remind(&host->take, host->sent[host->turn], model->now);
	}
	host->open = true;
	host->began = model->now;
}

/* One host; true: it may have more to do at once. */
static bool run_host(struct model *model, uint32_t number)
{
	struct host *host = &model->hosts[number];
	uint32_t turn = host->turn;

	if (turn == model->group->turns || !can_work(model, host))
		return false;
	host->touched = false;
	if (!host->open)
		begin_turn(model, number);
	if (root_of(model, turn) == number)
		run_root(model, number);
	else
		run_receiver(model, number);
	return host->turn != turn;
}

static void open_model(struct model *model)
{
	const struct sim_group *group = model->group;
	uint64_t bytes = group->bytes + group->turns;

	model->random = group->seed;
	model->source = malloc(bytes + 1);
	model->hosts = calloc(group->hosts, sizeof(*model->hosts));
	model->stray = calloc(STRAYS, sizeof(*model->stray));
	for (uint64_t i = 0; i < bytes; i++)
		model->source[i] = (uint8_t) (i * 31 + i / group->payload);
	for (uint32_t i = 0; i < group->hosts; i++) {
		struct host *host = &model->hosts[i];
		bool victim = i == (group->victim ? group->victim : group->hosts - 1);

		gamma_turns_init(&host->turns, group->hosts, group->window);
		host->bytes = calloc(1, group->bytes + 1);
		host->ring = calloc(group->slots, sizeof(*host->ring));
		host->sent = calloc(group->turns, sizeof(*host->sent));
		host->early = calloc((size_t) group->turns * GAMMA_RELAY_FAN, sizeof(*host->early));
		host->begins = victim ? group->delay : 0;
		host->stops = victim && group->stopped ? group->stops : GAMMA_NEVER;
		host->goes = host->stops == GAMMA_NEVER ? 0 : group->stops + group->stopped;
		host->ends = victim && group->dies ? group->dies : GAMMA_NEVER;
	}
}

static void close_model(struct model *model)
{
	for (uint32_t i = 0; i < model->group->hosts; i++) {
		gamma_stream_fini(&model->hosts[i].stream);
		gamma_take_fini(&model->hosts[i].take);
		gamma_turns_fini(&model->hosts[i].turns);
		free(model->hosts[i].bytes);
		free(model->hosts[i].ring);
		free(model->hosts[i].sent);
		free(model->hosts[i].early);
		free(model->hosts[i].queue);
	}
	free(model->hosts);
	free(model->source);
	free(model->copies);
	free(model->stray);
	free(model->messages);
}

/* When something has to be done without any message. */
static uint64_t deadline_of(const struct model *model, uint32_t number)
{
	const struct host *host = &model->hosts[number];
	uint64_t next;

	if (host->turn == model->group->turns)
		return GAMMA_NEVER;
	if (!host->open || host->touched)
		return 0;
	if (root_of(model, host->turn) != number)
		return gamma_take_deadline(&host->take);
	next = gamma_stream_deadline(&host->stream);
	return host->free_at >= model->now ? gamma_min(next, host->free_at) : next;
}

static uint64_t next_of(const struct model *model, uint32_t number)
{
	const struct host *host = &model->hosts[number];
	uint64_t able = gamma_max(host->begins, host->works_until), next;

	if (is_dead(model, host))
		return GAMMA_NEVER;
	if (model->now >= host->stops)
		able = gamma_max(able, host->goes);
	next = host->queue_head < host->queue_end ? 0 : deadline_of(model, number);
	return gamma_max(next, able);
}

static uint64_t next_time(const struct model *model)
{
	uint64_t next = GAMMA_NEVER;

	if (model->copy_head < model->copy_end)
		next = gamma_min(next, model->copies[model->copy_head].at);
	if (model->message_head < model->message_end)
		next = gamma_min(next, model->messages[model->message_head].at);
	if (model->stray_count)
		next = gamma_min(next, model->stray[0].at);
	for (uint32_t i = 0; i < model->group->hosts; i++)
		next = gamma_min(next, next_of(model, i));
	return gamma_max(next, model->now + 1);
}

static void take_strays(struct model *model)
{
	while (model->stray_count && model->stray[0].at <= model->now) {
		if (!is_dead(model, &model->hosts[model->stray_hosts[0]]))
			arrive(model, model->stray_hosts[0], &model->stray[0]);
		model->stray_count--;
		memmove(model->stray, model->stray + 1, model->stray_count * sizeof(*model->stray));
		memmove(model->stray_hosts, model->stray_hosts + 1,
			model->stray_count * sizeof(*model->stray_hosts));
	}
}

static void step(struct model *model)
{
	take_strays(model);
	while (model->copy_head < model->copy_end &&
	       model->copies[model->copy_head].at <= model->now) {
		struct copy copy = model->copies[model->copy_head++];

		arrive_everywhere(model, &copy);
	}
	while (model->message_head < model->message_end &&
	       model->messages[model->message_head].at <= model->now) {
		/* It may move while others are put behind it. */
		struct message message = model->messages[model->message_head++];

		put_into_queue(model, &message);
	}
	for (uint32_t i = 0; i < model->group->hosts; i++) {
		look_into_queue(model, &model->hosts[i]);
		if (!model->hosts[i].touched && next_of(model, i) > model->now)
			continue;
		while (!model->failed && run_host(model, i))
			;
	}
}

/* A dead host is found by its flow, so long after its end; then the group is over. */
static bool has_ended(const struct model *model)
{
	const struct sim_group *group = model->group;

	if (group->dies && model->now >= group->dies + group->found_after)
		return true;
	for (uint32_t i = 0; i < group->hosts; i++)
		if (model->hosts[i].turn < group->turns)
			return false;
	return true;
}

struct sim_group_result sim_group_run(struct sim *sim, const struct sim_group *group)
{
	struct model model = {.sim = sim, .group = group};

	open_model(&model);
	while (!model.failed) {
		step(&model);
		if (has_ended(&model))
			break;
		model.now = next_time(&model);
		if (group->dies)
			model.now = gamma_min(model.now, group->dies + group->found_after);
		EXPECT(&model, model.now < group->turns * LIMIT_S * SIM_SEC + group->delay,
		       "%u broadcasts are not complete after %u s each", group->turns, LIMIT_S);
	}
	for (uint32_t i = 0; i < group->hosts; i++)
		model.result.complete += model.hosts[i].turn == group->turns;
	/* What is sent again to all finds hosts that still have the first copy in their ring. */
	EXPECT(&model,
	       model.result.drops <= model.result.again_all * group->hosts ||
		       group->window > group->slots,
	       "%llu frames found the ring of a receiver full",
	       (unsigned long long) model.result.drops);
	close_model(&model);
	return model.result;
}

void sim_group_random(struct sim *sim, uint64_t seed)
{
	struct model model = {.random = seed * 2862933555777941757ull + 3037000493ull};
	struct sim_group group = {
		.seed = seed, .payload = 100, .turns = 1, .lose = UINT32_MAX, .filter = UINT32_MAX};

	group.hosts = 2 + draw(&model, draw(&model, 8) ? 12 : 63);
	group.bytes = draw(&model, draw(&model, 4) ? 200000 : 500);
	group.slots = 64 + draw(&model, 200);
	group.window = group.slots - group.slots / 8;
	group.frame_ns = 100 + draw(&model, 20000);
	group.latency = 1000 + draw(&model, 200000);
	if (draw(&model, 2))
		group.loss = draw(&model, draw(&model, 4) ? 20000 : 300000);
	if (!draw(&model, 4))
		group.reorder = draw(&model, 50000);
	if (!draw(&model, 4)) {
		group.lose = draw(&model, gamma_take_frames(group.bytes, group.payload));
		group.losers = 1 + draw(&model, group.hosts - 1);
	}
	if (!draw(&model, 4))
		group.delay = draw(&model, 2000) * SIM_MS;
	if (!draw(&model, 4)) {
		group.turns = 2 + draw(&model, 12);
		group.bytes = draw(&model, 20000);
	}
	if (!draw(&model, 16))
		group.filter = draw(&model, gamma_take_frames(group.bytes, group.payload) + 1);
	group.silent = !draw(&model, 4);
	if (!draw(&model, 4))
		group.message_ns = draw(&model, 2000);
	if (!draw(&model, 2))
		group.victim = draw(&model, group.hosts);
	if (!draw(&model, 8)) {
		group.stops = draw(&model, 20) * SIM_MS;
		group.stopped = draw(&model, 3000) * SIM_MS;
	}
	group.direct = !draw(&model, 8);
	sim_group_run(sim, &group);
}
