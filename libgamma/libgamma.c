// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * GAMMA's calls over active ports (fi_gamma_ports(7)). Each process has two endpoints: reliable
 * messages, and best effort with a group for all nodes. A port's number is the same in both. All
 * that ports and semaphores hold is under one lock, which handlers run under, too.
 */
#include "gamma/libgamma.h"

#include <limits.h>
#include <pthread.h>
#include <rdma/fi_ext_gamma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "endpoints.h"
#include "job.h"

enum {
	SYNC_PORT = GAMMA_PORTS, /* of gamma_sync; its argument is the round */
	ROUNDS = 16,             /* of a barrier of 65,536 nodes */
};

/* A message that waits for its turn at its port. */
struct waiting {
	struct waiting *next;
	struct port *port;
	void *kept;       /* its data, as keep has returned it; NULL: a long one */
	char *memory;     /* where a long one comes in */
	int len;          /* bytes */
	bool here;        /* all of it */
	bool failed;      /* it will never be here */
	bool best_effort; /* which endpoint keeps it */
};

struct port {
	unsigned short node, peer_port; /* where it sends */
	bool bound, active;
	gamma_handler handler;
	unsigned short semaphore;
	unsigned char buffer_kind;
	char *buf;
	int len, used;         /* bytes of buf: all, and those before the next message */
	unsigned long looked;  /* the latest search that has met a message still coming in */
	unsigned long sending; /* sends that are not complete; atomic */
};

unsigned short gamma_active_port;
int gamma_msglen;

static struct job job;
static struct endpoints endpoints;
static struct port *ports;                  /* GAMMA_PORTS */
static int *semaphores;                     /* GAMMA_SEMAPHORES */
static unsigned long synced[ROUNDS], syncs; /* messages of each round, and calls of gamma_sync */
static struct waiting *oldest;              /* of all ports, or NULL */
static unsigned long searches;              /* for the next message to handle */
static bool running;                        /* a handler, of the thread that has the lock */
static gamma_handler on_error;
static pthread_mutex_t lock;

static int refuse(const char *why)
{
	fprintf(stderr, "libgamma: %s\n", why);
	return -1;
}

/* ---- arrivals ---- */

static void signal_locked(unsigned short semaphore)
{
	semaphores[semaphore]++;
}

static void lose(void)
{
	if (on_error)
		on_error();
}

static void take(struct port *port, const void *data, int len)
{
	if (!port->buf || len > port->len - port->used) {
		lose();
		return;
	}
	if (len)
		memcpy(port->buf + port->used, data, (size_t) len);
	port->used += port->buffer_kind == GO_FORWARD ? len : 0;
	gamma_active_port = (unsigned short) (port - ports);
	gamma_msglen = len;
	if (port->handler)
		port->handler();
	signal_locked(port->semaphore);
}

/* The oldest one that is here and behind none of its port that is not; taken out of the list. */
static struct waiting *next_message(void)
{
	struct waiting **at = &oldest, *found;

	searches++;
	while ((found = *at)) {
		if (found->here && found->port->looked != searches) {
			*at = found->next;
			return found;
		}
		found->port->looked = searches;
		at = &found->next;
	}
	return NULL;
}

/* Handlers may send, and so make progress: that runs no others. */
static void run_handlers(void)
{
	struct waiting *message;

	pthread_mutex_lock(&lock);
	while (!running && (message = next_message())) {
		running = true;
		if (message->failed)
			lose();
		else
			take(message->port, message->kept ? message->kept : message->memory,
			     message->len);
		running = false;
		if (message->kept)
			endpoints_release(&endpoints, message->best_effort, message->kept);
		free(message->memory);
		free(message);
	}
	pthread_mutex_unlock(&lock);
}

static bool keep(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, struct waiting *message)
{
	struct fi_gamma_port_ops *ops = endpoints.reliable.ops; /* both have the same */
	struct iovec iov;

	if (!(arrival->flags & FI_GAMMA_ANNOUNCED)) {
		message->here = true;
		return !ops->keep(ep, arrival, &message->kept);
	}
	message->memory = malloc(arrival->len);
	iov = (struct iovec){message->memory, arrival->len};
	return message->memory && !ops->receive(ep, arrival, &iov, 1, message, FI_COMPLETION);
}

/* Handlers run later, as they may do more than the provider allows. */
static void on_arrival(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	struct waiting *message = calloc(1, sizeof(*message)), **end = &oldest;

	(void) context;
	pthread_mutex_lock(&lock);
	if (!message || arrival->len > INT_MAX || !keep(ep, arrival, message)) {
		if (message)
			free(message->memory);
		free(message);
		lose();
	} else {
		message->port = &ports[arrival->port];
		message->len = (int) arrival->len;
		message->best_effort = ep == endpoints.best_effort.ep;
		while (*end)
			end = &(*end)->next;
		*end = message;
	}
	pthread_mutex_unlock(&lock);
}

static void on_sync(struct fid_ep *ep, const struct fi_gamma_arrival *arrival, void *context)
{
	(void) ep, (void) context;
	pthread_mutex_lock(&lock);
	if (arrival->arg < ROUNDS)
		synced[arrival->arg]++;
	pthread_mutex_unlock(&lock);
}

/* Of a long message's receive, or of a send, whose context is its port. */
static void on_completion(void *context, uint64_t flags, bool failed)
{
	struct waiting *message = context;
	struct port *port = context;

	pthread_mutex_lock(&lock);
	if (flags & FI_SEND) {
		__atomic_sub_fetch(&port->sending, 1, __ATOMIC_RELEASE);
		if (failed)
			lose();
	} else {
		message->here = true;
		message->failed = failed;
	}
	pthread_mutex_unlock(&lock);
}

static void progress(void)
{
	uint64_t flags;
	void *context;
	bool failed;

	endpoints_poll(&endpoints);
	while (endpoints_completed(&endpoints, &context, &flags, &failed))
		on_completion(context, flags, failed);
	run_handlers();
}

/* ---- sending ---- */

/* -1: the peer has failed. */
static int send_to(struct port *port, unsigned short node, bool best_effort, struct iovec iov[2],
		   bool wait)
{
	struct fi_gamma_msg msg = {
		.iov = iov, .iov_count = 2, .port = port->peer_port, .context = port};
	size_t len = iov[0].iov_len + iov[1].iov_len;
	uint64_t flags = len <= endpoints.inject_max ? FI_INJECT : FI_COMPLETION;
	ssize_t ret;

	if (flags == FI_COMPLETION)
		__atomic_add_fetch(&port->sending, 1, __ATOMIC_RELAXED);
	while ((ret = endpoints_send(&endpoints, node, best_effort, &msg, flags)) == -FI_EAGAIN)
		progress();
	if (ret && flags == FI_COMPLETION)
		__atomic_sub_fetch(&port->sending, 1, __ATOMIC_RELAXED);
	while (!ret && wait && __atomic_load_n(&port->sending, __ATOMIC_ACQUIRE))
		progress();
	return ret ? refuse(fi_strerror((int) -ret)) : 0;
}

static int send_pieces(unsigned short number, bool best_effort, struct iovec iov[2], bool wait)
{
	struct port *port = &ports[number % GAMMA_PORTS];
	int ret = 0;

	if (number >= GAMMA_PORTS || !port->bound)
		return refuse("a send by a port that is not bound");
	if (iov[0].iov_len + iov[1].iov_len > endpoints.frame_max)
		best_effort = false;
	if (port->node != GAMMA_ALL_NODES || best_effort)
		return send_to(port, port->node, best_effort, iov, wait);
	for (unsigned short node = 0; !ret && node < job.nodes; node++)
		if (node != job.node)
			ret = send_to(port, node, false, iov, wait);
	return ret;
}

static int send_one(unsigned short number, bool best_effort, const void *data, int len, bool wait)
{
	struct iovec iov[2] = {{(void *) data, (size_t) len}, {NULL, 0}};

	return len < 0 ? refuse("a message of negative length")
		       : send_pieces(number, best_effort, iov, wait);
}

static int send_two(unsigned short number, bool best_effort, const void *data, int len,
		    const void *more, int more_len)
{
	struct iovec iov[2] = {{(void *) data, (size_t) len}, {(void *) more, (size_t) more_len}};

	return len < 0 || more_len < 0 ? refuse("a message of negative length")
				       : send_pieces(number, best_effort, iov, true);
}

int gamma_send(unsigned short port, const void *data, int len)
{
	return send_one(port, true, data, len, true);
}

int gamma_send_flowctl(unsigned short port, const void *data, int len)
{
	return send_one(port, false, data, len, true);
}

int gamma_send_2p(unsigned short port, const void *data, int len, const void *more, int more_len)
{
	return send_two(port, true, data, len, more, more_len);
}

int gamma_send_2p_flowctl(unsigned short port, const void *data, int len, const void *more,
			  int more_len)
{
	return send_two(port, false, data, len, more, more_len);
}

int gamma_isend(unsigned short port, const void *data, int len)
{
	return send_one(port, true, data, len, false);
}

int gamma_isend_flowctl(unsigned short port, const void *data, int len)
{
	return send_one(port, false, data, len, false);
}

int gamma_tsend(unsigned short port)
{
	if (port >= GAMMA_PORTS)
		return refuse("ports end at 64999");
	progress();
	return !__atomic_load_n(&ports[port].sending, __ATOMIC_ACQUIRE);
}

int gamma_wsend(unsigned short port)
{
	int done;

	while (!(done = gamma_tsend(port)))
		;
	return done < 0 ? -1 : 0;
}

/* ---- ports ---- */

static int bind_port(unsigned short number, unsigned short node, unsigned short peer_port)
{
	if (number >= GAMMA_PORTS || peer_port >= GAMMA_PORTS)
		return refuse("ports end at 64999");
	if (node >= job.nodes && node != GAMMA_ALL_NODES)
		return refuse("a port bound to a node that is not in the job");
	ports[number].node = node;
	ports[number].peer_port = peer_port;
	ports[number].bound = true;
	return 0;
}

int gamma_set_passive_port(unsigned short port, unsigned short dest_node,
			   unsigned char dest_par_pid, unsigned short dest_port)
{
	int ret;

	(void) dest_par_pid;
	pthread_mutex_lock(&lock);
	ret = bind_port(port, dest_node, dest_port);
	pthread_mutex_unlock(&lock);
	return ret;
}

int gamma_set_active_port(unsigned short number, unsigned short dest_node,
			  unsigned char dest_par_pid, unsigned short dest_port,
			  gamma_handler handler, unsigned short semaphore,
			  unsigned char buffer_kind, void *buf, int len)
{
	struct port *port = &ports[number % GAMMA_PORTS];

	if (semaphore >= GAMMA_SEMAPHORES)
		return refuse("semaphores end at 64999");
	if (gamma_set_passive_port(number, dest_node, dest_par_pid, dest_port))
		return -1;
	pthread_mutex_lock(&lock);
	port->handler = handler;
	port->semaphore = semaphore;
	port->buffer_kind = buffer_kind;
	port->buf = buf;
	port->len = len;
	port->used = 0;
	pthread_mutex_unlock(&lock);
	return endpoints_set(&endpoints, number, on_arrival);
}

int gamma_post_recv(unsigned short number, void *buf, int len)
{
	if (number >= GAMMA_PORTS)
		return refuse("ports end at 64999");
	pthread_mutex_lock(&lock);
	ports[number].buf = buf;
	ports[number].len = len;
	ports[number].used = 0;
	pthread_mutex_unlock(&lock);
	return 0;
}

/* ---- semaphores ---- */

void gamma_signal(unsigned short semaphore)
{
	if (semaphore >= GAMMA_SEMAPHORES)
		return;
	pthread_mutex_lock(&lock);
	signal_locked(semaphore);
	pthread_mutex_unlock(&lock);
}

static bool take_signals(unsigned short semaphore, int count)
{
	bool enough;

	pthread_mutex_lock(&lock);
	enough = semaphores[semaphore] >= count;
	if (enough)
		semaphores[semaphore] -= count;
	pthread_mutex_unlock(&lock);
	return enough;
}

void gamma_wait(unsigned short semaphore, int count)
{
	while (semaphore < GAMMA_SEMAPHORES && !take_signals(semaphore, count))
		progress();
}

int gamma_test(unsigned short semaphore)
{
	int signals;

	if (semaphore >= GAMMA_SEMAPHORES)
		return refuse("semaphores end at 64999");
	progress();
	pthread_mutex_lock(&lock);
	signals = semaphores[semaphore];
	pthread_mutex_unlock(&lock);
	return signals;
}

void gamma_sigerr(gamma_handler handler)
{
	on_error = handler;
}

void gamma_atomic(void (*function)(void))
{
	pthread_mutex_lock(&lock);
	function();
	pthread_mutex_unlock(&lock);
}

/* ---- the job ---- */

static void init_lock(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

int gamma_init(unsigned short nodes, int argc, char **argv)
{
	(void) argc, (void) argv;
	if (ports)
		return refuse("gamma_init for the second time");
	if (job_open(&job))
		return -1;
	if (nodes && nodes != job.nodes)
		return refuse("the job has another number of nodes than gamma_init names");
	init_lock();
	ports = calloc(GAMMA_PORTS, sizeof(*ports));
	semaphores = calloc(GAMMA_SEMAPHORES, sizeof(*semaphores));
	if (!ports || !semaphores)
		return refuse("no memory");
	if (endpoints_open(&endpoints, &job) || endpoints_set(&endpoints, SYNC_PORT, on_sync))
		return -1;
	return gamma_sync();
}

static bool has_synced(unsigned round, unsigned long count)
{
	bool has;

	pthread_mutex_lock(&lock);
	has = synced[round] >= count;
	pthread_mutex_unlock(&lock);
	return has;
}

/* In each round a node hears from another one that has heard from twice as many. */
int gamma_sync(void)
{
	struct fi_gamma_msg msg = {.port = SYNC_PORT};
	unsigned long count = ++syncs;
	ssize_t ret;

	for (unsigned round = 0; 1u << round < job.nodes; round++) {
		unsigned short node = (unsigned short) ((job.node + (1u << round)) % job.nodes);

		msg.arg = round;
		while ((ret = endpoints_send(&endpoints, node, false, &msg, FI_INJECT)) ==
		       -FI_EAGAIN)
			progress();
		if (ret)
			return refuse(fi_strerror((int) -ret));
		while (!has_synced(round, count))
			progress();
	}
	return 0;
}

int gamma_exit(void)
{
	int ret = ports ? gamma_sync() : -1;

	endpoints_close(&endpoints);
	job_close();
	free(ports);
	free(semaphores);
	ports = NULL;
	semaphores = NULL;
	return ret;
}

void gamma_abort(void)
{
	job_abort();
}

unsigned short gamma_my_node(void)
{
	return job.node;
}

/* The original told the programs that share nodes apart by it. Here jobs share nothing. */
unsigned char gamma_my_par_pid(void)
{
	return 0;
}

unsigned short gamma_how_many_nodes(void)
{
	return job.nodes;
}

/* ---- memory and time ---- */

int gamma_mlock(const void *address, size_t len)
{
	(void) address, (void) len;
	return 0;
}

int gamma_munlock(const void *address, size_t len)
{
	(void) address, (void) len;
	return 0;
}

int gamma_munlockall(void)
{
	return 0;
}

unsigned long long gamma_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (unsigned long long) time.tv_sec * 1000000000 + (unsigned long long) time.tv_nsec;
}

double gamma_time_diff(unsigned long long from, unsigned long long to)
{
	return (double) (to - from) / 1000;
}
