// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The steps of a collective operation at one member, and which of them may begin. Filled by the
 * plan_*.c files, run by the interface layer.
 */
#include "group/schedule.h"

#include <stdlib.h>

#include "base/base.h"

/* Steps of a schedule at first. */
enum { STEPS_MIN = 16 };

struct gamma_schedule_memory {
	struct gamma_schedule_memory *next;
	uint8_t bytes[] __attribute__((aligned(16)));
};

void gamma_schedule_init(struct gamma_schedule *schedule)
{
	*schedule = (struct gamma_schedule){.ready = GAMMA_SCHEDULE_NONE};
	schedule->ready_end = &schedule->ready;
}

void gamma_schedule_fini(struct gamma_schedule *schedule)
{
	while (schedule->memory) {
		struct gamma_schedule_memory *memory = schedule->memory;

		schedule->memory = memory->next;
		free(memory);
	}
	free(schedule->steps);
	schedule->steps = NULL;
}

void *gamma_schedule_take_memory(struct gamma_schedule *schedule, uint64_t len)
{
	struct gamma_schedule_memory *memory = malloc(sizeof(*memory) + len);

	if (!memory) {
		schedule->failed = true;
		return NULL;
	}
	memory->next = schedule->memory;
	schedule->memory = memory;
	return memory->bytes;
}

/* ---- making one ---- */

static bool make_room(struct gamma_schedule *schedule)
{
	uint32_t size = schedule->size ? 2 * schedule->size : STEPS_MIN;
	struct gamma_schedule_step *steps;

	if (schedule->failed)
		return false;
	if (schedule->count < schedule->size)
		return true;
	steps = realloc(schedule->steps, size * sizeof(*steps));
	schedule->failed = !steps;
	if (!steps)
		return false;
	schedule->steps = steps;
	schedule->size = size;
	return true;
}

/* The edge 2 * number + which leads from step `before` to step `number`. */
static void add_edge(struct gamma_schedule *schedule, uint32_t number, unsigned which,
		     uint32_t before)
{
	struct gamma_schedule_step *step = &schedule->steps[number];

	if (before == GAMMA_SCHEDULE_NONE)
		return;
	step->waits++;
	step->next_edge[which] = schedule->steps[before].dependents;
	schedule->steps[before].dependents = 2 * number + which;
}

/* Messages may overtake each other, so each has a number between its two members. */
static uint32_t index_of(const struct gamma_schedule *schedule,
			 const struct gamma_schedule_step *step)
{
	for (uint32_t i = schedule->count; i-- > 0;) {
		const struct gamma_schedule_step *earlier = &schedule->steps[i];

		if (earlier->kind == step->kind && earlier->peer == step->peer)
			return earlier->index + 1;
	}
	return 0;
}

static uint32_t add_step(struct gamma_schedule *schedule, struct gamma_schedule_step step,
			 uint32_t a, uint32_t b)
{
	uint32_t number = schedule->count;

	if (!make_room(schedule))
		return GAMMA_SCHEDULE_NONE;
	step.dependents = GAMMA_SCHEDULE_NONE;
	if (step.kind <= GAMMA_SCHEDULE_RECEIVE)
		step.index = index_of(schedule, &step);
	schedule->steps[number] = step;
	schedule->count++;
	add_edge(schedule, number, 0, a);
	add_edge(schedule, number, 1, b);
	return number;
}

uint32_t gamma_schedule_send(struct gamma_schedule *schedule, uint32_t peer, const void *from,
			     uint64_t len, uint32_t a, uint32_t b)
{
	return add_step(
		schedule,
		(struct gamma_schedule_step){
			.kind = GAMMA_SCHEDULE_SEND, .peer = peer, .from = from, .len = len},
		a, b);
}

uint32_t gamma_schedule_receive(struct gamma_schedule *schedule, uint32_t peer, void *to,
				uint64_t len, uint32_t a, uint32_t b)
{
	return add_step(schedule,
			(struct gamma_schedule_step){
				.kind = GAMMA_SCHEDULE_RECEIVE, .peer = peer, .to = to, .len = len},
			a, b);
}

uint32_t gamma_schedule_copy(struct gamma_schedule *schedule, void *to, const void *from,
			     uint64_t len, uint32_t a, uint32_t b)
{
	return add_step(schedule,
			(struct gamma_schedule_step){
				.kind = GAMMA_SCHEDULE_COPY, .to = to, .from = from, .len = len},
			a, b);
}

uint32_t gamma_schedule_fold(struct gamma_schedule *schedule, void *to, const void *from,
			     uint64_t len, uint32_t a, uint32_t b)
{
	return add_step(schedule,
			(struct gamma_schedule_step){
				.kind = GAMMA_SCHEDULE_FOLD, .to = to, .from = from, .len = len},
			a, b);
}

uint32_t gamma_schedule_cast(struct gamma_schedule *schedule, const void *from, uint64_t len,
			     uint32_t a, uint32_t b)
{
	return add_step(
		schedule,
		(struct gamma_schedule_step){.kind = GAMMA_SCHEDULE_CAST, .from = from, .len = len},
		a, b);
}

uint32_t gamma_schedule_take(struct gamma_schedule *schedule, uint32_t peer, void *to, uint64_t len,
			     uint32_t a)
{
	return add_step(schedule,
			(struct gamma_schedule_step){
				.kind = GAMMA_SCHEDULE_TAKE, .peer = peer, .to = to, .len = len},
			a, GAMMA_SCHEDULE_NONE);
}

/* ---- running it ---- */

static void make_ready(struct gamma_schedule *schedule, uint32_t number)
{
	schedule->steps[number].next = GAMMA_SCHEDULE_NONE;
	*schedule->ready_end = number;
	schedule->ready_end = &schedule->steps[number].next;
}

void gamma_schedule_start(struct gamma_schedule *schedule)
{
	schedule->left = schedule->count;
	for (uint32_t i = 0; i < schedule->count; i++)
		if (!schedule->steps[i].waits)
			make_ready(schedule, i);
}

struct gamma_schedule_step *gamma_schedule_next(struct gamma_schedule *schedule)
{
	struct gamma_schedule_step *step;

	if (schedule->ready == GAMMA_SCHEDULE_NONE)
		return NULL;
	step = &schedule->steps[schedule->ready];
	schedule->ready = step->next;
	if (schedule->ready == GAMMA_SCHEDULE_NONE)
		schedule->ready_end = &schedule->ready;
	return step;
}

void gamma_schedule_done(struct gamma_schedule *schedule, struct gamma_schedule_step *step)
{
	uint32_t edge = step->dependents;

	schedule->left--;
	while (edge != GAMMA_SCHEDULE_NONE) {
		struct gamma_schedule_step *dependent = &schedule->steps[edge / 2];
		uint32_t number = edge / 2;

		edge = dependent->next_edge[edge % 2];
		if (!--dependent->waits)
			make_ready(schedule, number);
	}
}
