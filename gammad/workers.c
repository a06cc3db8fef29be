// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Threads for what blocks: making packet sockets with their rings and closing them (an RCU grace
 * period: mostly 20 ms, up to most of a minute), making and removing users' interfaces for groups,
 * and reading the configuration again, which may look up groups over the network. Meanwhile gammad
 * serves other clients. A thread touches only its job.
 */
#include "gammad/gammad.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link/packet_socket.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the lists */
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct gamma_list submitted = {&submitted, &submitted}, finished = {&finished, &finished};

/* Protocol 0: it receives nothing yet. */
static int make_socket(struct tpacket_req *ring)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int ret = fd < 0 ? -errno : gamma_packet_socket_set_ring(fd, ring);

	if (ret && fd >= 0)
		close(fd);
	return ret ? ret : fd;
}

/* A socket, and the user's interface for groups, if there is none yet. A mere sender to a group
 * needs no socket. */
static void prepare(struct gammad_job *job)
{
	gammad_group_interfaces_work(job);
	if (job->request.header.type == GAMMA_BROKER_JOIN && !job->request.group.receives)
		job->fd = -1;
	else
		job->fd = make_socket(&job->ring);
}

static struct gammad_job *take(struct gamma_list *list)
{
	struct gammad_job *job = gamma_list_first(list, struct gammad_job, entry);

	gamma_list_remove(&job->entry);
	return job;
}

/* One at a time: the C library's group lookup is not reentrant. */
static void read_conf(const struct gammad *gammad, struct gammad_reading *reading)
{
	static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&turn);
	gammad_conf_load(gammad->conf_path, &reading->conf, reading->error, sizeof(reading->error));
	pthread_mutex_unlock(&turn);
}

static void *work(void *arg)
{
	const struct gammad *gammad = arg;

	for (;;) {
		struct gammad_job *job;
		uint64_t one = 1;

		pthread_mutex_lock(&lock);
		while (gamma_list_empty(&submitted))
			pthread_cond_wait(&more, &lock);
		job = take(&submitted);
		job->started = true;
		pthread_mutex_unlock(&lock);
		if (job->reading)
			read_conf(gammad, job->reading);
		else if (job->closes)
			close(job->fd);
		else if (job->removes)
			gammad_group_interfaces_work(job);
		else
			prepare(job);
		pthread_mutex_lock(&lock);
		gamma_list_append(&finished, &job->entry);
		pthread_mutex_unlock(&lock);
		if (write(gammad->workers_fd, &one, sizeof(one)) < 0)
			gamma_warn("the worker threads cannot be reached: %s; restart gammad",
				   strerror(errno));
	}
	return NULL;
}

/* The caller has blocked signals: they stay the main thread's. */
int gammad_workers_start(struct gammad *gammad)
{
	pthread_t thread;

	gammad->workers_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	gammad->workers_watch = GAMMAD_WATCH_WORKERS;
	if (gammad->workers_fd < 0) {
		gamma_warn("no descriptor for the threads: %s; raise LimitNOFILE", strerror(errno));
		return -EIO;
	}
	if (!gammad_watch_fd(gammad, gammad->workers_fd, &gammad->workers_watch))
		return -EIO;
	for (int i = 0; i < GAMMAD_WORKERS; i++) {
		if (!pthread_create(&thread, NULL, work, gammad)) {
			pthread_detach(thread);
		} else if (!i) {
			gamma_warn("no thread can be started; raise TasksMax");
			return -EAGAIN;
		}
	}
	return 0;
}

void gammad_workers_submit(struct gammad *gammad, struct gammad_job *job)
{
	(void) gammad;
	pthread_mutex_lock(&lock);
	gamma_list_append(&submitted, &job->entry);
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
}

bool gammad_workers_cancel(struct gammad_job *job)
{
	bool waits;

	pthread_mutex_lock(&lock);
	waits = !job->started;
	if (waits)
		gamma_list_remove(&job->entry);
	pthread_mutex_unlock(&lock);
	return waits;
}

void gammad_workers_close(struct gammad *gammad, int fd)
{
	struct gammad_job *job;

	if (fd < 0)
		return;
	job = calloc(1, sizeof(*job));
	if (!job) {
		close(fd);
		return;
	}
	job->closes = true;
	job->fd = fd;
	gammad_workers_submit(gammad, job);
}

struct gammad_job *gammad_workers_next_finished(struct gammad *gammad)
{
	struct gammad_job *job = NULL;
	uint64_t count;

	/* Before taking a job, so that a later one is not missed. */
	if (read(gammad->workers_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		gamma_warn("the worker threads cannot be reached: %s; restart gammad",
			   strerror(errno));
	pthread_mutex_lock(&lock);
	if (!gamma_list_empty(&finished))
		job = take(&finished);
	pthread_mutex_unlock(&lock);
	return job;
}
