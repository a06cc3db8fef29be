// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The model of group.h: copies of frames, each with a fate of its own, and messages in order. What
 * it checks: all bytes come to all, the root keeps its memory until then, no ring overflows, and
 * nothing is sent again without a loss.
 */
#include "group.h"

#include <stdlib.h>
#include <string.h>

#include "group/stream.h"
#include "group/take.h"

enum { LIMIT_S = 60, REORDER_US = 300 };

struct copy {        /* a frame on its way, or a message: all of one kind arrive in order */
	uint64_t at; /* ns */
	uint32_t frame, host;
	bool lost_at_first; /* its copies are those of group->lose */
};

struct message {
	uint64_t at;
	uint32_t host;
	enum { REPORT, ASK, REPAIR } kind;
	uint32_t number; /* of frames taken; of a frame */
	struct gamma_stream_ask ask;
};

struct receiver {
	struct gamma_take take;
	uint8_t *bytes;
	uint32_t *ring; /* frames that wait */
	uint32_t head, waiting;
	uint64_t begins; /* ns: takes nothing before */
};

struct model {
	struct sim *sim;
	const struct sim_group *group;
	struct gamma_stream stream;
	uint8_t *source;
	struct receiver *receivers;
	uint32_t count;      /* of them */
	struct copy *copies; /* to all, in order */
	uint32_t copy_head, copy_end, copy_size;
	struct copy *stray; /* single copies that come late */
	uint32_t stray_count;
	struct message *messages;
	uint32_t message_head, message_end, message_size;
	uint64_t now, free_at, random;
	bool lost_once;
	bool failed;
	struct sim_group_result result;
};

enum { STRAYS = 4096 };

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

static void put_message(struct model *model, struct message message)
{
	message.at = model->now + model->group->latency;
	if (model->message_end == model->message_size)
		model->messages =
			grow(model->messages, &model->message_size, sizeof(*model->messages));
	model->messages[model->message_end++] = message;
}

/* ---- the root ---- */

static void send_frame(struct model *model, uint32_t frame, bool first)
{
	const struct sim_group *group = model->group;

	if (model->copy_end == model->copy_size)
		model->copies = grow(model->copies, &model->copy_size, sizeof(*model->copies));
	model->free_at = gamma_max(model->now, model->free_at) + group->frame_ns;
	model->copies[model->copy_end++] =
		(struct copy){.at = model->free_at + group->latency,
			      .frame = frame,
			      .lost_at_first = first && frame == group->lose};
}

static void run_root(struct model *model)
{
	struct gamma_stream_repair repair;
	uint32_t frame;

	while (gamma_stream_next_repair(&model->stream, model->now, &repair)) {
		EXPECT(model, model->group->loss || model->group->losers || model->group->reorder,
		       "frame %u is sent again, and none was lost", repair.frame);
		if (repair.receiver == GAMMA_STREAM_ALL) {
			send_frame(model, repair.frame, false);
			model->result.again_all++;
			continue;
		}
		put_message(model, (struct message){.kind = REPAIR,
						    .host = repair.receiver,
						    .number = repair.frame});
		model->result.again_one++;
	}
	while (model->free_at <= model->now && gamma_stream_next(&model->stream, &frame)) {
		send_frame(model, frame, true);
		model->result.frames++;
	}
	if (!gamma_stream_is_stable(&model->stream))
		return;
	/* Its memory may be used again. */
	for (uint32_t i = 0; i < model->count; i++)
		EXPECT(model, gamma_take_is_complete(&model->receivers[i].take),
		       "the root takes its memory back before host %u has all", i + 1);
}

/* ---- the receivers ---- */

static void drain(struct model *model, struct receiver *receiver)
{
	const struct sim_group *group = model->group;

	while (receiver->waiting && model->now >= receiver->begins) {
		uint32_t frame = receiver->ring[receiver->head];

		receiver->head = (receiver->head + 1) % group->slots;
		receiver->waiting--;
		gamma_take_frame(&receiver->take, frame,
				 model->source + (uint64_t) frame * group->payload,
				 gamma_take_len(group->bytes, group->payload, frame), model->now);
	}
}

static void arrive(struct model *model, uint32_t host, uint32_t frame)
{
	struct receiver *receiver = &model->receivers[host];

	if (receiver->waiting == model->group->slots) {
		model->result.drops++;
		return;
	}
	receiver->ring[(receiver->head + receiver->waiting++) % model->group->slots] = frame;
	model->result.kept = gamma_max(model->result.kept, receiver->waiting);
	drain(model, receiver);
}

static void arrive_everywhere(struct model *model, const struct copy *copy)
{
	const struct sim_group *group = model->group;

	for (uint32_t host = 0; host < model->count; host++) {
		if (copy->lost_at_first && host < group->losers)
			continue;
		if (draw(model, 1000000) < group->loss)
			continue;
		if (draw(model, 1000000) < group->reorder && model->stray_count < STRAYS)
			model->stray[model->stray_count++] =
				(struct copy){.at = model->now + REORDER_US * SIM_US,
					      .frame = copy->frame,
					      .host = host};
		else
			arrive(model, host, copy->frame);
	}
}

static void run_receiver(struct model *model, uint32_t host)
{
	struct receiver *receiver = &model->receivers[host];
	struct message message = {.host = host, .kind = REPORT};

	if (model->now < receiver->begins)
		return;
	drain(model, receiver);
	if (gamma_take_report(&receiver->take, &message.number)) {
		put_message(model, message);
		model->result.reports++;
	}
	message.kind = ASK;
	if (gamma_take_ask(&receiver->take, model->now, &message.ask)) {
		put_message(model, message);
		model->result.asks++;
	}
}

static void take_message(struct model *model, const struct message *message)
{
	const struct sim_group *group = model->group;
	struct receiver *receiver = &model->receivers[message->host];

	switch (message->kind) {
	case REPORT:
		EXPECT(model, gamma_stream_report(&model->stream, message->host, message->number),
		       "the root refuses the report of host %u", message->host + 1);
		break;
	case ASK:
		gamma_stream_ask(&model->stream, message->host, &message->ask, model->now);
		break;
	case REPAIR:
		gamma_take_frame(&receiver->take, message->number,
				 model->source + (uint64_t) message->number * group->payload,
				 gamma_take_len(group->bytes, group->payload, message->number),
				 model->now);
	}
}

/* ---- the run ---- */

static void open_model(struct model *model)
{
	const struct sim_group *group = model->group;

	model->count = group->hosts - 1;
	model->random = group->seed;
	model->source = malloc(group->bytes + 1);
	model->receivers = calloc(model->count, sizeof(*model->receivers));
	model->stray = calloc(STRAYS, sizeof(*model->stray));
	for (uint64_t i = 0; i < group->bytes; i++)
		model->source[i] = (uint8_t) (i * 31 + i / group->payload);
	gamma_stream_init(&model->stream, gamma_take_frames(group->bytes, group->payload),
			  model->count, group->window);
	for (uint32_t i = 0; i < model->count; i++) {
		struct receiver *receiver = &model->receivers[i];

		receiver->bytes = calloc(1, group->bytes + 1);
		receiver->ring = calloc(group->slots, sizeof(*receiver->ring));
		receiver->begins = i + 1 == model->count ? group->delay : 0;
		gamma_take_init(&receiver->take, receiver->bytes, group->bytes, group->payload,
				receiver->begins);
	}
}

static void close_model(struct model *model)
{
	for (uint32_t i = 0; i < model->count; i++) {
		gamma_take_fini(&model->receivers[i].take);
		free(model->receivers[i].bytes);
		free(model->receivers[i].ring);
	}
	gamma_stream_fini(&model->stream);
	free(model->receivers);
	free(model->source);
	free(model->copies);
	free(model->stray);
	free(model->messages);
}

static uint64_t next_time(const struct model *model)
{
	uint64_t next = model->stream.repair_at;

	if (model->copy_head < model->copy_end)
		next = gamma_min(next, model->copies[model->copy_head].at);
	if (model->message_head < model->message_end)
		next = gamma_min(next, model->messages[model->message_head].at);
	if (model->stray_count)
		next = gamma_min(next, model->stray[0].at);
	if (model->free_at > model->now)
		next = gamma_min(next, model->free_at);
	for (uint32_t i = 0; i < model->count; i++) {
		const struct receiver *receiver = &model->receivers[i];

		if (!gamma_take_is_complete(&receiver->take))
			next = gamma_min(next, gamma_max(receiver->begins,
							 gamma_take_deadline(&receiver->take)));
	}
	return gamma_max(next, model->now + 1);
}

static void step(struct model *model)
{
	while (model->stray_count && model->stray[0].at <= model->now) {
		arrive(model, model->stray[0].host, model->stray[0].frame);
		memmove(model->stray, model->stray + 1,
			--model->stray_count * sizeof(*model->stray));
	}
	while (model->copy_head < model->copy_end &&
	       model->copies[model->copy_head].at <= model->now)
		arrive_everywhere(model, &model->copies[model->copy_head++]);
	while (model->message_head < model->message_end &&
	       model->messages[model->message_head].at <= model->now) {
		/* It may move while others are put behind it. */
		struct message message = model->messages[model->message_head++];

		take_message(model, &message);
	}
	run_root(model);
	for (uint32_t i = 0; i < model->count; i++) {
		bool before = gamma_take_is_complete(&model->receivers[i].take);

		run_receiver(model, i);
		if (!before && gamma_take_is_complete(&model->receivers[i].take))
			model->result.time = model->now;
	}
}

static bool all_complete(const struct model *model)
{
	for (uint32_t i = 0; i < model->count; i++)
		if (!gamma_take_is_complete(&model->receivers[i].take))
			return false;
	return true;
}

struct sim_group_result sim_group_run(struct sim *sim, const struct sim_group *group)
{
	struct model model = {.sim = sim, .group = group};

	open_model(&model);
	while (!model.failed && !gamma_stream_is_stable(&model.stream)) {
		step(&model);
		if (all_complete(&model) && !model.result.time)
			model.result.time = model.now;
		if (gamma_stream_is_stable(&model.stream))
			break;
		model.now = next_time(&model);
		EXPECT(&model, model.now < LIMIT_S * SIM_SEC + group->delay,
		       "a broadcast is not complete after %u s", LIMIT_S);
	}
	for (uint32_t i = 0; i < model.count; i++)
		EXPECT(&model, !memcmp(model.receivers[i].bytes, model.source, group->bytes),
		       "host %u has other bytes than the root", i + 1);
	/* What is sent again to all finds hosts that still have the first copy in their ring. */
	EXPECT(&model,
	       model.result.drops <= model.result.again_all * model.count ||
		       group->window > group->slots,
	       "%llu frames found the ring of a receiver full",
	       (unsigned long long) model.result.drops);
	close_model(&model);
	return model.result;
}

void sim_group_random(struct sim *sim, uint64_t seed)
{
	struct model model = {.random = seed * 2862933555777941757ull + 3037000493ull};
	struct sim_group group = {.seed = seed, .payload = 100, .lose = UINT32_MAX};

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
	sim_group_run(sim, &group);
}
