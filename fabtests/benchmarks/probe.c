// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gamma-probe: the machine's present speed, by a fixed piece of work: how long a cache line takes
 * from one processor to another (core-to-core latency), and how long a computation takes on both at
 * once. A virtual machine's speed changes within seconds, and every latency with it: the benchmarks
 * run this before and after each measurement.
 *
 *   gamma-probe CPU CPU
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "command.h"

enum { BOUNCES = 20000, TRIES = 5, STEPS = 500000 };

struct side {
	int cpu;
	uint32_t odd;     /* it waits for odd numbers */
	double work_us;   /* of the computation, the best of its tries */
	double bounce_ns; /* the median of the tries, as one side saw it */
};

static uint32_t ball __attribute__((aligned(128)));
static pthread_barrier_t together;

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return 1e9 * (double) ts.tv_sec + (double) ts.tv_nsec;
}

static double play(const struct side *side, uint32_t first)
{
	double begin = now_ns();

	for (uint32_t i = first + side->odd; i < first + BOUNCES; i += 2) {
		while (__atomic_load_n(&ball, __ATOMIC_ACQUIRE) != i)
			;
		__atomic_store_n(&ball, i + 1, __ATOMIC_RELEASE);
	}
	return (now_ns() - begin) / BOUNCES;
}

static double compute(void)
{
	volatile uint64_t state = 1;
	double begin = now_ns();

	for (int i = 0; i < STEPS; i++)
		state = state * 6364136223846793005u + 1442695040888963407u;
	return (now_ns() - begin) / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

static void *run(void *argument)
{
	struct side *side = argument;
	double bounces[TRIES];
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(side->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("gamma-probe: processor");
		exit(1);
	}
	pthread_barrier_wait(&together);
	for (int i = 0; i < TRIES; i++)
		bounces[i] = play(side, (uint32_t) i * BOUNCES);
	qsort(bounces, TRIES, sizeof(*bounces), compare);
	side->bounce_ns = bounces[TRIES / 2];
	pthread_barrier_wait(&together);
	side->work_us = compute();
	return NULL;
}

static int cpu(const char *text)
{
	return (int) command_whole("CPU", text, 0, CPU_SETSIZE - 1);
}

int main(int argc, char **argv)
{
	struct side sides[2] = {{.odd = 0}, {.odd = 1}};
	pthread_t other;

	command_usage = "usage: gamma-probe CPU CPU\n";
	command_option(argc, argv, "h");
	if (argc != 3)
		command_misuse("two processors are to be named");
	sides[0].cpu = cpu(argv[1]);
	sides[1].cpu = cpu(argv[2]);
	if (sides[0].cpu == sides[1].cpu)
		command_misuse("twice the processor %d: each would wait for the other",
			       sides[0].cpu);
	pthread_barrier_init(&together, NULL, 2);
	if (pthread_create(&other, NULL, run, &sides[1])) {
		perror("gamma-probe: thread");
		return 1;
	}
	run(&sides[0]);
	pthread_join(other, NULL);
	printf("{\"bounce_ns\":%.1f,\"work_us\":%.1f}\n", sides[0].bounce_ns,
	       sides[0].work_us > sides[1].work_us ? sides[0].work_us : sides[1].work_us);
	return 0;
}
