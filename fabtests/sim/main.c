// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The program: runs one seed, a range of seeds in several processes, or a scenario, and reports.
 * A failing seed is shown with the command that repeats it.
 */
#include "draw.h"
#include "scenario.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/about.h"
#include "internal.h"

enum { SEED_TIMEOUT = 60, JOBS_MAX = 256 }; /* seconds of processor time; processes */

struct arguments {
	uint64_t first, last;
	bool one; /* a single seed */
	unsigned jobs;
	const char *scenario;
	bool list, progress;
	struct run_options run;
};

/* A worker's report; seed is in memory that it shares with its parent. */
struct worker {
	pid_t pid;
	int pipe;
	volatile uint64_t *seed; /* that it runs now */
};
struct report {
	struct totals totals;
	uint64_t failed; /* seed, 0: none */
	char failure[1024];
};

static const char *program;

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) (now.tv_sec - start->tv_sec) +
	       (double) (now.tv_nsec - start->tv_nsec) / 1e9;
}

static void report_failure(uint64_t seed, const char *failure)
{
	printf("FAIL         seed %llu, %s\nagain        %s --seed %llu --verbose --pcap "
	       "seed-%llu.pcap\n",
	       (unsigned long long) seed, failure, program, (unsigned long long) seed,
	       (unsigned long long) seed);
}

/* ---- one seed ---- */

static int run_one(const struct arguments *arguments)
{
	struct run_result result, again;
	struct run_options quiet = {0};
	struct timespec start;

	clock_gettime(CLOCK_MONOTONIC, &start);
	draw_run(arguments->first, &arguments->run, &result);
	totals_print(&result.totals, seconds_since(&start));
	printf("digest       %016llx\n", (unsigned long long) result.digest);
	if (result.failure[0]) {
		report_failure(arguments->first, result.failure);
		return 1;
	}
	draw_run(arguments->first, &quiet, &again);
	if (again.digest != result.digest) {
		report_failure(arguments->first, "a second run took another course");
		return 1;
	}
	puts("PASS");
	return 0;
}

/* ---- many seeds, in several processes ---- */

/* Of the seed to come, not counting what other programs take: SIGPROF ends the process. */
static void limit_time(void)
{
	const struct itimerval limit = {.it_value = {.tv_sec = SEED_TIMEOUT}};

	setitimer(ITIMER_PROF, &limit, NULL);
}

static void work(const struct arguments *arguments, unsigned job, volatile uint64_t *at, int out)
{
	struct report report = {0};
	struct run_result result;
	const char *bytes = (const char *) &report;

	for (uint64_t seed = arguments->first + job; seed <= arguments->last && !report.failed;
	     seed += arguments->jobs) {
		*at = seed;
		limit_time();
		if (!draw_run(seed, &arguments->run, &result)) {
			report.failed = seed;
			memcpy(report.failure, result.failure, sizeof(report.failure));
		}
		totals_add(&report.totals, &result.totals);
	}
	for (size_t done = 0; done < sizeof(report);) {
		ssize_t ret = write(out, bytes + done, sizeof(report) - done);

		if (ret <= 0)
			_exit(3);
		done += (size_t) ret;
	}
	_exit(0);
}

static void start_worker(const struct arguments *arguments, struct worker *worker, unsigned job)
{
	int ends[2];

	fflush(stdout);
	if (pipe(ends) || (worker->pid = fork()) < 0) {
		perror(program);
		exit(2);
	}
	if (!worker->pid)
		work(arguments, job, worker->seed, ends[1]);
	close(ends[1]);
	worker->pipe = ends[0];
}

/* A worker that ended without a report died at its current seed. */
static void read_report(struct worker *worker, struct report *report)
{
	char *bytes = (char *) report;
	size_t done = 0;
	ssize_t ret;
	int status;

	while (done < sizeof(*report) &&
	       (ret = read(worker->pipe, bytes + done, sizeof(*report) - done)) > 0)
		done += (size_t) ret;
	close(worker->pipe);
	while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (done == sizeof(*report))
		return;
	memset(report, 0, sizeof(*report));
	report->failed = *worker->seed;
	snprintf(report->failure, sizeof(report->failure), "the process ended: %s",
		 !WIFSIGNALED(status)          ? "exit"
		 : WTERMSIG(status) == SIGPROF ? "no end within its time"
					       : strsignal(WTERMSIG(status)));
}

static volatile sig_atomic_t tick;

static void on_alarm(int signal)
{
	(void) signal;
	tick = 1;
}

/* Once a second: the workers' progress. */
static void show_progress(const struct arguments *arguments, const struct worker *workers)
{
	struct sigaction action = {.sa_handler = on_alarm};
	siginfo_t ended;

	sigaction(SIGALRM, &action, NULL);
	for (;;) {
		uint64_t least = UINT64_MAX;

		alarm(1);
		ended.si_pid = 0;
		if (!waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT))
			break; /* the reports are next */
		for (unsigned i = 0; i < arguments->jobs; i++)
			least = gamma_min(least, *workers[i].seed);
		fprintf(stderr, "\rseed %llu of %llu ", (unsigned long long) least,
			(unsigned long long) arguments->last);
	}
	alarm(0);
	fputc('\n', stderr);
}

static int run_many(const struct arguments *arguments)
{
	struct worker workers[JOBS_MAX];
	struct totals totals = {0};
	struct report report, failed = {0};
	struct timespec start;
	volatile uint64_t *seeds = mmap(NULL, JOBS_MAX * sizeof(*seeds), PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (seeds == MAP_FAILED) {
		perror(program);
		return 2;
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (unsigned i = 0; i < arguments->jobs; i++) {
		workers[i].seed = &seeds[i];
		start_worker(arguments, &workers[i], i);
	}
	if (arguments->progress)
		show_progress(arguments, workers);
	for (unsigned i = 0; i < arguments->jobs; i++) {
		read_report(&workers[i], &report);
		totals_add(&totals, &report.totals);
		if (report.failed && (!failed.failed || report.failed < failed.failed))
			failed = report;
	}
	totals_print(&totals, seconds_since(&start));
	if (failed.failed)
		report_failure(failed.failed, failed.failure);
	else
		puts("PASS");
	return failed.failed != 0;
}

/* ---- scenarios ---- */

static int list(void)
{
	for (unsigned i = 0; sim_scenarios[i]; i++)
		printf("%-24s %s\n", sim_scenarios[i]->name, sim_scenarios[i]->summary);
	return 0;
}

static int run_scenario(const struct arguments *arguments)
{
	const struct sim_scenario *scenario = NULL;
	struct sim_config config;
	const char *failure;
	struct sim *sim;
	int ret;

	for (unsigned i = 0; sim_scenarios[i]; i++)
		if (!strcmp(sim_scenarios[i]->name, arguments->scenario))
			scenario = sim_scenarios[i];
	if (!scenario) {
		fprintf(stderr, "%s: no scenario %s; --list names them\n", program,
			arguments->scenario);
		return 2;
	}
	sim_config_default(&config);
	config.seed = arguments->first;
	if (scenario->configure)
		scenario->configure(&config);
	sim = sim_new(&config);
	sim_verbose(sim, arguments->run.verbose);
	if (arguments->run.pcap && sim_pcap(sim, arguments->run.pcap))
		sim_fail(sim, "cannot write %s", arguments->run.pcap);
	scenario->run(sim);
	if (!sim_failure(sim))
		sim_check_end(sim);
	failure = sim_failure(sim);
	printf("scenario %s: %s: %s\n", scenario->name, failure ? "FAILED" : "ok",
	       failure ? failure : scenario_result());
	ret = failure != NULL;
	sim_free(sim);
	return ret;
}

/* ---- the command line ---- */

static void usage(FILE *to)
{
	fprintf(to,
		"usage: %s [--seeds FIRST-LAST | --seed N | --scenario NAME | --list]\n"
		"       [--jobs J] [--progress] [--verbose] [--pcap FILE]\n"
		"  --seeds FIRST-LAST  run these seeds (default 1-100), in J processes\n"
		"  --seed N            run one, twice: both runs must be alike\n"
		"  --scenario NAME     run a scenario; --list names them\n"
		"  --verbose           log every event\n"
		"  --pcap FILE         capture the frames as they leave the NICs\n",
		program);
}

/* WHY: NULL if getopt has reported it. */
static int misuse(const char *word, const char *why)
{
	if (why)
		fprintf(stderr, "%s: '%s' %s\n", program, word, why);
	usage(stderr);
	return 2;
}

/* A number from 1 on, up to END. */
static bool read_number(const char *text, const char **end, uint64_t *number)
{
	char *stop;

	*number = *text >= '0' && *text <= '9' ? strtoull(text, &stop, 0) : 0;
	*end = *number ? stop : text;
	return *number;
}

static bool read_seeds(const char *text, struct arguments *arguments)
{
	return read_number(text, &text, &arguments->first) && *text == '-' &&
	       read_number(text + 1, &text, &arguments->last) && !*text &&
	       arguments->first <= arguments->last;
}

static bool read_seed(const char *text, struct arguments *arguments)
{
	arguments->one = true;
	return read_number(text, &text, &arguments->first) && !*text;
}

static bool read_jobs(const char *text, struct arguments *arguments)
{
	uint64_t jobs;

	if (!read_number(text, &text, &jobs) || *text || jobs > JOBS_MAX)
		return false;
	arguments->jobs = (unsigned) jobs;
	return true;
}

static bool take_option(int option, struct arguments *arguments)
{
	switch (option) {
	case 's':
		return read_seeds(optarg, arguments);
	case 'n':
		return read_seed(optarg, arguments);
	case 'j':
		return read_jobs(optarg, arguments);
	case 'c':
		arguments->scenario = optarg;
		return true;
	case 'l':
		return arguments->list = true;
	case 'p':
		arguments->run.pcap = optarg;
		return true;
	case 'v':
		return arguments->run.verbose = true;
	case 'P':
		return arguments->progress = true;
	}
	return false;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"seeds", required_argument, NULL, 's'},
		{"seed", required_argument, NULL, 'n'},
		{"jobs", required_argument, NULL, 'j'},
		{"scenario", required_argument, NULL, 'c'},
		{"list", no_argument, NULL, 'l'},
		{"pcap", required_argument, NULL, 'p'},
		{"verbose", no_argument, NULL, 'v'},
		{"progress", no_argument, NULL, 'P'},
		{NULL, 0, NULL, 0},
	};
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct arguments arguments = {
		.first = 1,
		.last = 100,
		.jobs = (unsigned) (processors > 0 && processors <= JOBS_MAX ? processors : 1),
	};
	int option;

	program = argv[0];
	gamma_about_answer(argc, argv, usage);
	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (!take_option(option, &arguments))
			return misuse(optarg,
				      option == '?' ? NULL : "is out of range, or no number");
	}
	if (optind < argc)
		return misuse(argv[optind], "is one word too many");
	if (arguments.list)
		return list();
	if (arguments.scenario)
		return run_scenario(&arguments);
	return arguments.one ? run_one(&arguments) : run_many(&arguments);
}
