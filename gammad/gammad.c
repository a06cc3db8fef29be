// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gammad: opens endpoints for programs that may not open packet sockets, so that the kernel
 * enforces what each may send and receive. Frames do not pass through it.
 */
#include "gammad/gammad.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/about.h"
#include "base/options.h"
#include "unix/host.h"

bool gammad_watch_fd(struct gammad *gammad, int fd, enum gammad_watch *watch)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};

	if (!epoll_ctl(gammad->epoll, EPOLL_CTL_ADD, fd, &event))
		return true;
	gamma_warn("a descriptor cannot be watched: %s; raise fs.epoll.max_user_watches, or free "
		   "memory",
		   strerror(errno));
	return false;
}

/* ---- configuration ---- */

static bool same_nics(const struct gammad_conf *a, const struct gammad_conf *b)
{
	bool same = a->nic_count == b->nic_count && a->ethertype == b->ethertype &&
		    a->metrics == b->metrics;

	for (unsigned i = 0; same && i < a->nic_count; i++)
		same = !strcmp(a->nics[i].name, b->nics[i].name) &&
		       a->nics[i].slots == b->nics[i].slots &&
		       a->nics[i].own_address == b->nics[i].own_address;
	return same;
}

/* In a thread: names of groups may be looked up over the network, which must not delay
 * clients. */
int gammad_begin_reload(struct gammad *gammad, struct gammad_client *client)
{
	struct gammad_job *job = calloc(1, sizeof(*job));
	struct gammad_reading *reading = calloc(1, sizeof(*reading));

	if (!job || !reading) {
		free(job);
		free(reading);
		return -ENOMEM;
	}
	job->fd = -1;
	job->client = client;
	job->reading = reading;
	gammad_workers_submit(gammad, job);
	if (client)
		client->job = job;
	return 0;
}

/* Limits, groups and ring sizes apply to endpoints that are opened from now on. */
int gammad_finish_reload(struct gammad *gammad, const struct gammad_reading *reading)
{
	struct gammad_conf conf = reading->conf;

	if (*reading->error) {
		gamma_warn("%s; the old configuration stays in force", reading->error);
		return -EINVAL;
	}
	if (!same_nics(&gammad->conf, &conf))
		gamma_warn("%s: new NICs, slots, EtherType or metrics take effect when gammad is "
			   "restarted, which does not disturb running jobs",
			   gammad->conf_path);
	conf.ethertype = gammad->conf.ethertype;
	conf.metrics = gammad->conf.metrics;
	conf.nic_count = gammad->conf.nic_count;
	memcpy(conf.nics, gammad->conf.nics, sizeof(conf.nics));
	gammad->conf = conf;
	gammad_revoked_clear(&gammad->revoked);
	gamma_info("%s was read again", gammad->conf_path);
	return 0;
}

/* ---- events ---- */

static void handle_signal(struct gammad *gammad)
{
	struct signalfd_siginfo info;

	if (read(gammad->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP)
		gammad_begin_reload(gammad, NULL);
	else
		gammad->ending = true;
}

static void handle(struct gammad *gammad, enum gammad_watch *watch, uint32_t events)
{
	switch (*watch) {
	case GAMMAD_WATCH_LISTEN:
		gammad_clients_accept(gammad);
		break;
	case GAMMAD_WATCH_SIGNAL:
		handle_signal(gammad);
		break;
	case GAMMAD_WATCH_CLIENT:
		gammad_clients_handle_event(
			gammad, gamma_container_of(watch, struct gammad_client, watch), events);
		break;
	case GAMMAD_WATCH_NICS:
		gammad_lookup_handle_nics(gammad);
		break;
	case GAMMAD_WATCH_NIC_CHANGES:
		gammad_nics_handle_change(gammad);
		break;
	case GAMMAD_WATCH_PORT:
		gammad_lookup_handle_port(gammad,
					  gamma_container_of(watch, struct gammad_open, watch));
		break;
	case GAMMAD_WATCH_SLOTS:
		gammad_lookup_handle_slots(gammad);
		break;
	case GAMMAD_WATCH_WORKERS:
		gammad_clients_handle_finished(gammad);
		break;
	case GAMMAD_WATCH_METRICS:
		gammad_metrics_accept(gammad);
		break;
	case GAMMAD_WATCH_METRICS_READER:
		gammad_metrics_handle(
			gammad, gamma_container_of(watch, struct gammad_metrics_reader, watch));
		break;
	}
}

/* One event at a time: handling one may free the object of another. The sockets of clients
 * that have disconnected are looked for together, when no request is pending. */
static void run_loop(struct gammad *gammad)
{
	while (!gammad->ending) {
		int timeout_ms = gammad->sweep_pending             ? 0
				 : gammad_open_needs_sweep(gammad) ? GAMMAD_SWEEP_MS
								   : -1;
		struct epoll_event event;
		int count = epoll_wait(gammad->epoll, &event, 1, timeout_ms);

		if (count > 0)
			handle(gammad, event.data.ptr, event.events);
		if (!count || gammad_open_is_sweep_due(gammad))
			gammad_open_sweep(gammad);
	}
}

/* ---- beginning ---- */

static int open_events(struct gammad *gammad)
{
	struct rlimit files;
	sigset_t set;

	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	gammad->epoll = epoll_create1(EPOLL_CLOEXEC);
	gammad->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	gammad->signal_watch = GAMMAD_WATCH_SIGNAL;
	if (gammad->epoll < 0 || gammad->signal_fd < 0 || gammad_ports_open(&gammad->ports)) {
		gamma_warn("no descriptors for events: %s; raise LimitNOFILE", strerror(errno));
		return -EIO;
	}
	return gammad_watch_fd(gammad, gammad->signal_fd, &gammad->signal_watch) ? 0 : -EIO;
}

/* Without the list gammad starts all the same: jobs wait for it. */
static void load_revoked(struct gammad *gammad)
{
	int ret = gammad_revoked_load(&gammad->revoked, GAMMAD_REVOKED);

	if (ret)
		gamma_warn(GAMMAD_REVOKED ": %s; revoke users again with gammactl revoke",
			   strerror(-ret));
}

static int start(struct gammad *gammad)
{
	static struct gammad_programs programs;
	int ret = gammad_setup_make(gammad);

	if (!ret)
		ret = gammad_setup_lock();
	if (!ret)
		ret = open_events(gammad);
	if (!ret)
		ret = gammad_metrics_listen(gammad);
	if (!ret)
		ret = gammad_kernel_load(gammad, &programs);
	if (ret)
		return ret;
	ret = gammad_slots_make(gammad, &programs);
	if (ret)
		return ret;
	gammad->host = gamma_host_identity();
	load_revoked(gammad);
	ret = gammad_open_restore(gammad);
	if (!ret)
		ret = gammad_clients_listen(gammad);
	if (!ret)
		ret = gammad_nics_watch(gammad, &programs);
	if (!ret)
		ret = gammad_setup_drop_privileges();
	/* Threads inherit what was set so far. */
	if (!ret)
		ret = gammad_workers_start(gammad);
	for (unsigned i = 0; !ret && i < gammad->nic_count; i++)
		ret = gammad_attach_links(&gammad->nics[i], &programs);
	return ret;
}

/* Tells systemd that clients may connect. Other service managers set no NOTIFY_SOCKET. */
static void notify_systemd(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd;

	if (!path || (*path != '/' && *path != '@') || strlen(path) >= sizeof(name.sun_path))
		return;
	memcpy(name.sun_path, path, strlen(path));
	if (*path == '@')
		name.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	sendto(fd, "READY=1", 7, MSG_NOSIGNAL, (struct sockaddr *) &name,
	       (socklen_t) (offsetof(struct sockaddr_un, sun_path) + strlen(path)));
	close(fd);
}

static void print_usage(FILE *to)
{
	fputs("usage: gammad [-c FILE] [-s]   runs in the foreground\n"
	      "       gammad -t [-c FILE]     checks the configuration\n"
	      "       gammad -p               makes its folder, mounts and network namespace, and "
	      "exits\n"
	      "       gammad -r               removes them, with all slots\n"
	      "-c FILE: instead of " GAMMAD_CONF_PATH "; -s: log to syslog\n"
	      "       gammad --help | --version\n",
	      to);
}

static int check_conf(struct gammad *gammad)
{
	char error[512];
	int ret = gammad_conf_load(gammad->conf_path, &gammad->conf, error, sizeof(error));

	if (!ret)
		return 0;
	gamma_warn("%s", error);
	return ret;
}

/* A mistake in the file is what the check looks for. */
static int status_of_check(int ret)
{
	if (!ret)
		return GAMMA_OPTIONS_DONE;
	return ret == -EINVAL ? GAMMA_OPTIONS_FOUND : GAMMA_OPTIONS_CANNOT;
}

static int run(struct gammad *gammad)
{
	int ret;

	if (check_conf(gammad))
		return GAMMA_OPTIONS_CANNOT;
	ret = start(gammad);
	if (ret == -ENOMEM)
		gamma_warn("no memory to start; free some");
	if (ret)
		return GAMMA_OPTIONS_CANNOT;
	gamma_info("ready at " GAMMA_BROKER_PATH);
	notify_systemd();
	run_loop(gammad);
	unlink(GAMMA_BROKER_PATH);
	unlink(GAMMAD_METRICS_SOCKET);
	return GAMMA_OPTIONS_DONE;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {{NULL, 0, NULL, 0}}; /* --help is answered before */
	static struct gammad gammad = {.conf_path = GAMMAD_CONF_PATH};
	bool to_syslog = false;
	int mode = 0, option;

	gamma_about_answer(argc, argv, print_usage);
	while ((option = getopt_long(argc, argv, ":c:hprst", names, NULL)) != -1) {
		switch (option) {
		case 'c':
			gammad.conf_path = optarg;
			break;
		case 's':
			to_syslog = true;
			break;
		case 'h':
			print_usage(stdout);
			return GAMMA_OPTIONS_DONE;
		case 'p':
		case 'r':
		case 't':
			if (mode && mode != option)
				gamma_options_misuse("-p, -r and -t exclude each other: give one");
			mode = option;
			break;
		default:
			gamma_options_refuse(argv, option, names);
		}
	}
	if (optind < argc)
		gamma_options_misuse("takes options only; -c FILE names the configuration");
	gammad_log_open(to_syslog);
	gamma_list_init(&gammad.clients);
	gamma_list_init(&gammad.opens);
	gamma_list_init(&gammad.group_interfaces);
	if (mode == 't')
		return status_of_check(check_conf(&gammad));
	if (mode == 'p')
		return gammad_setup_make(&gammad) ? GAMMA_OPTIONS_CANNOT : GAMMA_OPTIONS_DONE;
	if (mode == 'r')
		return gammad_setup_remove() ? GAMMA_OPTIONS_CANNOT : GAMMA_OPTIONS_DONE;
	return run(&gammad);
}
