// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * GAMMA's calls over active ports (fi_gamma_ports(7)). Each process has two endpoints: reliable
 * messages, and best effort with a group for all nodes. A port's number is the same in both. All
 * that ports and semaphores hold is under one lock. The program's own functions run without it, one
 * at a time, by the thread that has the turn: they may send and wait for that, while other threads
 * take in what has come.
 */
#include "gamma/libgamma.h"

#include <limits.h>
#include <pthread.h>
#include <rdma/fi_ext_gamma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endpoints.h"
#include "job.h"
#include "watch.h"

enum {
	SYNC_PORT = GAMMA_PORTS, /* of gamma_sync; its argument is the round */
	ROUNDS = 16,             /* of a barrier of 65,536 nodes */
	EMPTY = ROUNDS,          /* the argument of watch.c's messages */
};

/* Sends for whose end a caller waits. */
struct outgoing {
	unsigned long pending; /* atomic */
	bool failed;           /* one of them; atomic */
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
	int len, used;            /* bytes of buf: all, and those before the next message */
	unsigned long looked;     /* the latest search that has met a message still coming in */
	struct outgoing outgoing; /* of gamma_isend and its like */
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
static unsigned long losses;                /* that the program has not heard of yet */
static unsigned long failures;              /* nodes that it has heard of; turn */
static gamma_handler on_error;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t turn; /* recursive: a function of the program may call gamma_atomic */
static bool running;         /* a function of the program, of the thread that has the turn */

static int refuse(const char *why)
{
	fprintf(stderr, "libgamma: %s\n", why);
	return -1;
}

/* Whether the calls that need a job may go on. */
static bool is_in_job(void)
{
	if (ports)
		return true;
	refuse("a call before gamma_init, or after gamma_exit");
	return false;
}

/* Whether the calling thread is in a function of the program's that this library has called. */
static bool is_in_handler(void)
{
	bool is;

	if (pthread_mutex_trylock(&turn))
		return false;
	is = running;
	pthread_mutex_unlock(&turn);
	return is;
}

/* ---- arrivals ---- */

/* The program hears of it when nothing else of it runs. */
static void lose_locked(void)
{
	losses++;
}

static void add_signal(unsigned short semaphore)
{
	pthread_mutex_lock(&lock);
	semaphores[semaphore]++;
	pthread_mutex_unlock(&lock);
}

/* Where a message of so many bytes goes, and what runs then; NULL: there is no room. */
static char *find_place(struct port *port, int len, gamma_handler *handler)
{
	char *place = NULL;

	pthread_mutex_lock(&lock);
	*handler = port->handler;
	if (port->buf && len <= port->len - port->used) {
		place = port->buf + port->used;
		port->used += port->buffer_kind == GO_FORWARD ? len : 0;
	} else {
		lose_locked();
	}
	pthread_mutex_unlock(&lock);
	return place;
}

static void take(struct port *port, const void *data, int len)
{
	gamma_handler handler;
	char *place = find_place(port, len, &handler);

	if (!place)
		return;
	if (len)
		memcpy(place, data, (size_t) len);
	gamma_active_port = (unsigned short) (port - ports);
	gamma_msglen = len;
	if (handler)
		handler();
	add_signal(port->semaphore);
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

static struct waiting *take_next(void)
{
	struct waiting *message;

	pthread_mutex_lock(&lock);
	message = next_message();
	if (message && message->failed)
		lose_locked();
	pthread_mutex_unlock(&lock);
	return message;
}

/* One call of the program's function for each message that was lost, and each node. */
static void report_losses(void)
{
	unsigned long lost;

	pthread_mutex_lock(&lock);
	lost = losses;
	losses = 0;
	pthread_mutex_unlock(&lock);
	for (; failures < watch_failures(); failures++)
		lost++;
	while (lost-- && on_error)
		on_error();
}

/* Handlers may send, and so make progress: that runs no others. Nor do other threads meanwhile. */
static void run_handlers(void)
{
	struct waiting *message;

	if (pthread_mutex_trylock(&turn))
		return;
	while (!running && (message = take_next())) {
		running = true;
		if (!message->failed)
			take(message->port, message->kept ? message->kept : message->memory,
			     message->len);
		running = false;
		if (message->kept)
			endpoints_release(&endpoints, message->best_effort, message->kept);
		free(message->memory);
		free(message);
	}
	if (!running) {
		running = true;
		report_losses();
		running = false;
	}
	pthread_mutex_unlock(&turn);
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
		lose_locked();
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

static void end_outgoing(struct outgoing *outgoing, bool failed)
{
	if (failed)
		__atomic_store_n(&outgoing->failed, true, __ATOMIC_RELAXED);
	/* The last access: its owner may be gone then. */
	__atomic_sub_fetch(&outgoing->pending, 1, __ATOMIC_RELEASE);
}

/* Of a long message's receive, or of a send. */
static void on_completion(void *context, uint64_t flags, int error)
{
	struct waiting *message = context;

	if (watch_completed(context, error))
		return;
	if (error)
		watch_suspect();
	if (flags & FI_SEND) {
		end_outgoing(context, error);
		return;
	}
	pthread_mutex_lock(&lock);
	message->here = true;
	message->failed = error;
	pthread_mutex_unlock(&lock);
}

static void progress(void)
{
	uint64_t flags;
	void *context;
	int error;

	endpoints_poll(&endpoints);
	while (endpoints_completed(&endpoints, &context, &flags, &error))
		on_completion(context, flags, error);
	watch_poll();
	run_handlers();
}

/* ---- sending ---- */

/* The node that an error is about. */
static int refuse_node(unsigned short node, const char *why)
{
	char host[JOB_NAME_MAX];

	if (node == GAMMA_ALL_NODES)
		return refuse(why);
	job_host(&job, node, host, sizeof(host));
	fprintf(stderr, "libgamma: node %u (%s): %s\n", node, host, why);
	return -1;
}

static int wait_outgoing(struct outgoing *outgoing)
{
	while (__atomic_load_n(&outgoing->pending, __ATOMIC_ACQUIRE))
		progress();
	return __atomic_exchange_n(&outgoing->failed, false, __ATOMIC_RELAXED) ? -1 : 0;
}

/* -1: the peer has failed. outgoing NULL: waits until the data has been read. */
static int send_to(const struct port *port, unsigned short node, bool best_effort,
		   struct iovec iov[2], struct outgoing *outgoing)
{
	struct outgoing own = {0}, *counted = outgoing ? outgoing : &own;
	struct fi_gamma_msg msg = {
		.iov = iov, .iov_count = 2, .port = port->peer_port, .context = counted};
	size_t len = iov[0].iov_len + iov[1].iov_len;
	uint64_t flags = len <= endpoints.inject_max ? FI_INJECT : FI_COMPLETION;
	ssize_t ret;

	if (node != GAMMA_ALL_NODES && watch_failed(node))
		return refuse_node(node, "no message to it, as it has failed");
	if (flags == FI_COMPLETION)
		__atomic_add_fetch(&counted->pending, 1, __ATOMIC_RELAXED);
	while ((ret = endpoints_send(&endpoints, node, best_effort, &msg, flags)) == -FI_EAGAIN)
		progress();
	if (ret) {
		if (flags == FI_COMPLETION)
			__atomic_sub_fetch(&counted->pending, 1, __ATOMIC_RELAXED);
		watch_suspect();
		return refuse_node(node, fi_strerror((int) -ret));
	}
	if (!outgoing && wait_outgoing(&own))
		return refuse_node(node, "a message to it has failed");
	return 0;
}

static int send_pieces(unsigned short number, bool best_effort, struct iovec iov[2], bool wait)
{
	struct port *port = &ports[number % GAMMA_PORTS];
	struct outgoing *outgoing = wait ? NULL : &port->outgoing;
	int ret = 0;

	if (number >= GAMMA_PORTS || !port->bound)
		return refuse("a send by a port that is not bound");
	if (iov[0].iov_len + iov[1].iov_len > endpoints.frame_max)
		best_effort = false;
	if (port->node != GAMMA_ALL_NODES || best_effort)
		return send_to(port, port->node, best_effort, iov, outgoing);
	/* The others get it, whichever has failed. */
	for (unsigned short node = 0; node < job.nodes; node++)
		if (node != job.node && send_to(port, node, false, iov, outgoing))
			ret = -1;
	return ret;
}

static int send_one(unsigned short number, bool best_effort, const void *data, int len, bool wait)
{
	struct iovec iov[2] = {{(void *) data, (size_t) len}, {NULL, 0}};

	if (!is_in_job())
		return -1;
	return len < 0 ? refuse("a message of negative length")
		       : send_pieces(number, best_effort, iov, wait);
}

static int send_two(unsigned short number, bool best_effort, const void *data, int len,
		    const void *more, int more_len, bool wait)
{
	struct iovec iov[2] = {{(void *) data, (size_t) len}, {(void *) more, (size_t) more_len}};

	if (!is_in_job())
		return -1;
	return len < 0 || more_len < 0 ? refuse("a message of negative length")
				       : send_pieces(number, best_effort, iov, wait);
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
	return send_two(port, true, data, len, more, more_len, true);
}

int gamma_send_2p_flowctl(unsigned short port, const void *data, int len, const void *more,
			  int more_len)
{
	return send_two(port, false, data, len, more, more_len, true);
}

int gamma_isend(unsigned short port, const void *data, int len)
{
	return send_one(port, true, data, len, false);
}

int gamma_isend_flowctl(unsigned short port, const void *data, int len)
{
	return send_one(port, false, data, len, false);
}

int gamma_isend_2p(unsigned short port, const void *data, int len, const void *more, int more_len)
{
	return send_two(port, true, data, len, more, more_len, false);
}

int gamma_isend_2p_flowctl(unsigned short port, const void *data, int len, const void *more,
			   int more_len)
{
	return send_two(port, false, data, len, more, more_len, false);
}

/* The outgoing messages of a port; NULL: refused. */
static struct outgoing *find_outgoing(unsigned short port)
{
	if (!is_in_job())
		return NULL;
	if (port < GAMMA_PORTS)
		return &ports[port].outgoing;
	refuse("ports end at 64999");
	return NULL;
}

int gamma_tsend(unsigned short port)
{
	struct outgoing *outgoing = find_outgoing(port);

	if (!outgoing)
		return -1;
	progress();
	if (__atomic_load_n(&outgoing->pending, __ATOMIC_ACQUIRE))
		return 0;
	return gamma_wsend(port) ? -1 : 1;
}

int gamma_wsend(unsigned short port)
{
	struct outgoing *outgoing = find_outgoing(port);

	if (!outgoing)
		return -1;
	return wait_outgoing(outgoing) ? refuse_node(ports[port].node, "a message to it has failed")
				       : 0;
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
	if (!is_in_job())
		return -1;
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
	struct port *port;

	if (!is_in_job())
		return -1;
	port = &ports[number % GAMMA_PORTS];
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
	if (!is_in_job())
		return -1;
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

static int check_semaphore(unsigned short semaphore)
{
	if (!is_in_job())
		return -1;
	return semaphore < GAMMA_SEMAPHORES ? 0 : refuse("semaphores end at 64999");
}

int gamma_signal(unsigned short semaphore)
{
	if (check_semaphore(semaphore))
		return -1;
	add_signal(semaphore);
	return 0;
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

/* A job cannot go on without one of its nodes. A program that looks at no error would, with data
 * that has not come: it ends. */
static int end_wait(const char *why)
{
	refuse(why);
	if (!on_error)
		gamma_abort();
	return -1;
}

int gamma_wait(unsigned short semaphore, int count)
{
	if (check_semaphore(semaphore))
		return -1;
	while (!take_signals(semaphore, count)) {
		if (is_in_handler())
			return refuse("gamma_wait in a handler, for signals that are not there");
		progress();
		if (watch_failures() && !take_signals(semaphore, count))
			return end_wait("gamma_wait ends, as a node has failed");
	}
	return 0;
}

int gamma_test(unsigned short semaphore)
{
	int signals;

	if (check_semaphore(semaphore))
		return -1;
	progress();
	pthread_mutex_lock(&lock);
	signals = semaphores[semaphore];
	pthread_mutex_unlock(&lock);
	return signals;
}

int gamma_sigerr(gamma_handler handler)
{
	on_error = handler;
	return 0;
}

int gamma_atomic(void (*function)(void))
{
	bool nested;

	if (!is_in_job())
		return -1;
	pthread_mutex_lock(&turn);
	nested = running;
	running = true;
	function();
	running = nested;
	pthread_mutex_unlock(&turn);
	return 0;
}

/* ---- the job ---- */

static void init_turn(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&turn, &attr);
	pthread_mutexattr_destroy(&attr);
}

/* Messages that nobody has waited for. Those that are still coming in need their memory until the
 * endpoints are closed. */
static void close_endpoints(void)
{
	struct waiting *message;

	for (message = oldest; message; message = message->next)
		if (message->kept)
			endpoints_release(&endpoints, message->best_effort, message->kept);
	endpoints_close(&endpoints);
	while ((message = oldest)) {
		oldest = message->next;
		free(message->memory);
		free(message);
	}
}

static void close_all(void)
{
	close_endpoints();
	watch_close();
	job_close(&job);
	free(ports);
	free(semaphores);
	ports = NULL;
	semaphores = NULL;
	memset(synced, 0, sizeof(synced));
	syncs = losses = failures = 0;
	pthread_mutex_destroy(&turn);
}

static int open_all(unsigned short nodes)
{
	if (job_open(&job))
		return -1;
	if (nodes && nodes != job.nodes)
		return refuse("the job has another number of nodes than gamma_init names");
	ports = calloc(GAMMA_PORTS, sizeof(*ports));
	semaphores = calloc(GAMMA_SEMAPHORES, sizeof(*semaphores));
	if (!ports || !semaphores)
		return refuse("no memory");
	return endpoints_open(&endpoints, &job) || watch_open(&endpoints, &job, SYNC_PORT, EMPTY) ||
			       endpoints_set(&endpoints, SYNC_PORT, on_sync)
		       ? -1
		       : 0;
}

static int sync_all(void);

int gamma_init(unsigned short nodes, int argc, char **argv)
{
	(void) argc, (void) argv;
	if (ports)
		return refuse("gamma_init for the second time");
	init_turn();
	if (!open_all(nodes) && !sync_all())
		return 0;
	close_all();
	return -1;
}

static bool has_synced(unsigned round, unsigned long count)
{
	bool has;

	pthread_mutex_lock(&lock);
	has = synced[round] >= count;
	pthread_mutex_unlock(&lock);
	return has;
}

/* Messages that came from a node before it failed count. */
static bool is_lost(unsigned short node, unsigned round, unsigned long count)
{
	if (!watch_failed(node))
		return false;
	progress();
	return !has_synced(round, count);
}

/* In each round a node hears from another one that has heard from twice as many. */
static int sync_all(void)
{
	struct fi_gamma_msg msg = {.port = SYNC_PORT};
	unsigned long count = ++syncs;
	ssize_t ret;

	for (unsigned round = 0; 1u << round < job.nodes; round++) {
		unsigned short to = (unsigned short) ((job.node + (1u << round)) % job.nodes);
		unsigned short from =
			(unsigned short) ((job.node + job.nodes - (1u << round)) % job.nodes);

		msg.arg = round;
		while ((ret = endpoints_send(&endpoints, to, false, &msg, FI_INJECT)) == -FI_EAGAIN)
			progress();
		if (ret)
			return refuse_node(to, fi_strerror((int) -ret));
		while (!has_synced(round, count)) {
			progress();
			if (is_lost(from, round, count))
				return refuse_node(
					from,
					"it has left before all nodes have come to a barrier");
		}
	}
	return 0;
}

int gamma_sync(void)
{
	if (!is_in_job())
		return -1;
	if (is_in_handler())
		return refuse("gamma_sync in a handler");
	return sync_all() ? end_wait("gamma_sync ends, as a node has failed") : 0;
}

int gamma_exit(void)
{
	int ret;

	if (!is_in_job())
		return -1;
	if (is_in_handler())
		return refuse("gamma_exit in a handler");
	watch_leaving();
	ret = sync_all();
	close_all();
	return ret;
}

void gamma_abort(void)
{
	job_abort();
}

int gamma_my_node(void)
{
	return is_in_job() ? job.node : -1;
}

/* The original distinguished programs that share nodes by it. Here jobs share nothing. */
int gamma_my_par_pid(void)
{
	return is_in_job() ? 0 : -1;
}

int gamma_how_many_nodes(void)
{
	return is_in_job() ? job.nodes : -1;
}
