// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gammactl: shows a running gammad's state and sends it commands. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/about.h"
#include "base/base.h"
#include "base/live_line.h"
#include "base/options.h"
#include "broker/message.h"

enum { WAIT_MS = 120000, PART_MS = 500 };

static void print_usage(FILE *to)
{
	fputs("usage: gammactl [-s SOCKET] status        NICs, slots, endpoints, frames dropped\n"
	      "       gammactl [-s SOCKET] list          all endpoints (root)\n"
	      "       gammactl [-s SOCKET] revoke USER   stops a user's endpoints; no others "
	      "(root)\n"
	      "       gammactl [-s SOCKET] allow USER    a revoked user gets endpoints again "
	      "(root)\n"
	      "       gammactl [-s SOCKET] reload        read gammad.conf again (root)\n"
	      "       gammactl --help | --version\n",
	      to);
}

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "gammactl: %s: %s\n", what, why);
	return GAMMA_OPTIONS_CANNOT;
}

/* gammad has answered no. A caller who may not ask, or has another release, has got no answer. */
static int refused(const char *command, enum gamma_broker_reason reason)
{
	int status = fail(command, gamma_broker_message_text(reason));

	return reason == GAMMA_BROKER_NOT_ROOT || reason == GAMMA_BROKER_OTHER_VERSION
		       ? status
		       : GAMMA_OPTIONS_FOUND;
}

static int connect_to(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(name.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(name.sun_path, path);
	return fd >= 0 && !connect(fd, (struct sockaddr *) &name, sizeof(name)) ? fd : -1;
}

static ssize_t receive(int fd, void *message, size_t room)
{
	struct pollfd polls = {.fd = fd, .events = POLLIN};
	int ready = 0;

	for (int waited = 0; !ready && waited < WAIT_MS; waited += PART_MS) {
		gamma_live_line_show("waiting for gammad, which is busy: %d of at most %d s",
				     waited / 1000, WAIT_MS / 1000);
		ready = poll(&polls, 1, PART_MS);
	}
	gamma_live_line_end();
	errno = ready < 0 ? errno : ETIMEDOUT;
	return ready == 1 ? recv(fd, message, room, 0) : -1;
}

/* Once, and not of a list that is refused. */
static void show_list_head(void)
{
	static bool shown;

	if (!shown)
		printf("%-15s %-17s %5s %10s %10s %8s\n", "NIC", "MAC", "port", "user", "process",
		       "handle");
	shown = true;
}

static void show_entry(const struct gamma_broker_entry *entry)
{
	show_list_head();
	printf("%-15.16s %02x:%02x:%02x:%02x:%02x:%02x %5u %10u %10u %08x%s\n", entry->nic,
	       entry->mac[0], entry->mac[1], entry->mac[2], entry->mac[3], entry->mac[4],
	       entry->mac[5], entry->port, entry->tenant, entry->pid, entry->handle,
	       entry->revoked ? " revoked" : "");
}

static void show_state(const struct gamma_broker_state *state)
{
	printf("gammad: process %u, %u NICs, %u of %u slots in use\n"
	       "since the host booted: %llu endpoints opened, %llu frames dropped\n",
	       state->pid, state->nics, state->endpoints, state->slots,
	       (unsigned long long) state->opened, (unsigned long long) state->dropped);
}

static void show_done(const char *command, uint32_t count)
{
	if (!strcmp(command, "list"))
		show_list_head();
	if (!strcmp(command, "revoke"))
		printf("%u endpoints revoked; no others until gammactl allow\n", count);
	else if (!strcmp(command, "allow"))
		puts(count ? "the user may have endpoints again" : "the user was not revoked");
}

static void show_bounds(const struct gamma_broker_bounds *bounds)
{
	printf("each user: %u endpoints with %u KiB of receive ring, %u memberships in multicast "
	       "groups\n",
	       bounds->endpoints, bounds->ring_bytes >> 10, bounds->memberships);
	if (bounds->revoked)
		printf("%u users are revoked\n", bounds->revoked);
	printf("%-15s %-10s %6s %6s %9s %11s %11s %11s\n", "NIC", "state", "MTU", "slots",
	       "endpoints", "memberships", "group users", "rings (KiB)");
}

static void show_nic(const struct gamma_broker_interface *nic)
{
	static const char *const states[] = {"missing", "down", "no carrier", "up"};

	printf("%-15.16s %-10s %6u %6u %9u %11u %11u %11llu\n", nic->name,
	       nic->state < gamma_array_size(states) ? states[nic->state] : "?", nic->mtu,
	       nic->slots, nic->endpoints, nic->memberships, nic->group_users,
	       (unsigned long long) nic->ring_bytes >> 10);
}

/* A gammad that is ending still accepts connections, and resets them. */
static const char *no_answer(ssize_t len)
{
	return !len || errno == ECONNRESET || errno == EPIPE
		       ? "gammad closed the connection; is it running? See `systemctl status "
			 "gammad`"
		       : strerror(errno);
}

union answer {
	struct gamma_broker_header header;
	struct gamma_broker_entry entry;
	struct gamma_broker_state state;
	struct gamma_broker_bounds bounds;
	struct gamma_broker_interface nic;
	struct gamma_broker_done done;
	char room[GAMMA_BROKER_MAX];
};

/* An answer that others follow: whether it is one. */
static bool show_row(const union answer *answer, size_t len)
{
	if (gamma_broker_message_is(answer, len, GAMMA_BROKER_ENTRY, sizeof(answer->entry)))
		show_entry(&answer->entry);
	else if (gamma_broker_message_is(answer, len, GAMMA_BROKER_BOUNDS, sizeof(answer->bounds)))
		show_bounds(&answer->bounds);
	else if (gamma_broker_message_is(answer, len, GAMMA_BROKER_INTERFACE, sizeof(answer->nic)))
		show_nic(&answer->nic);
	else
		return false;
	return true;
}

/* All answers to one request. */
static int show(int fd, const char *command)
{
	union answer answer;
	ssize_t len;

	do
		len = receive(fd, &answer, sizeof(answer));
	while (len > 0 && show_row(&answer, (size_t) len));
	if (len <= 0)
		return fail(command, no_answer(len));
	if (gamma_broker_message_is(&answer, (size_t) len, GAMMA_BROKER_STATE,
				    sizeof(answer.state))) {
		show_state(&answer.state);
		return GAMMA_OPTIONS_DONE;
	}
	if (!gamma_broker_message_is(&answer, (size_t) len, GAMMA_BROKER_DONE, sizeof(answer.done)))
		return fail(command,
			    "gammad answered in another version: install the same release");
	if (answer.header.reason)
		return refused(command, answer.header.reason);
	show_done(command, answer.done.count);
	return GAMMA_OPTIONS_DONE;
}

static int ask_on(int fd, enum gamma_broker_type type, uint32_t uid, const char *command)
{
	struct gamma_broker_revoke request = {.uid = uid};
	bool of_user = type == GAMMA_BROKER_REVOKE || type == GAMMA_BROKER_ALLOW;
	size_t len = of_user ? sizeof(request) : sizeof(request.header);

	gamma_broker_message_init_header(&request.header, type, len, GAMMA_BROKER_OK);
	if (send(fd, &request, len, MSG_NOSIGNAL) != (ssize_t) len)
		return fail(command, no_answer(-1));
	return show(fd, command);
}

static int ask(const char *path, enum gamma_broker_type type, uint32_t uid, const char *command)
{
	int fd = connect_to(path), ret;

	if (fd < 0) {
		fprintf(stderr, "gammactl: %s: %s; is gammad running?\n", path, strerror(errno));
		return GAMMA_OPTIONS_CANNOT;
	}
	ret = ask_on(fd, type, uid, command);
	if (!ret && type == GAMMA_BROKER_STATUS)
		ret = ask_on(fd, GAMMA_BROKER_DETAILS, 0, command);
	close(fd);
	return ret;
}

/* USER: a name or a user id. */
static int ask_for_user(const char *path, enum gamma_broker_type type, const char *command,
			const char *text)
{
	const struct passwd *user = getpwnam(text);
	char *end;
	unsigned long uid = strtoul(text, &end, 10);

	if (user)
		uid = user->pw_uid;
	else if (*text < '0' || *text > '9' || *end || uid >= UINT32_MAX)
		gamma_options_misuse("%s: is no user id; `id -u NAME` shows it",
				     gamma_printable(text).text);
	return ask(path, type, (uint32_t) uid, command);
}

struct command {
	const char *name;
	enum gamma_broker_type type;
};

static const struct command for_users[] = {
	{"revoke", GAMMA_BROKER_REVOKE},
	{"allow", GAMMA_BROKER_ALLOW},
};

/* Commands without an argument. */
static const struct command commands[] = {
	{"status", GAMMA_BROKER_STATUS},
	{"list", GAMMA_BROKER_LIST},
	{"reload", GAMMA_BROKER_RELOAD},
};

static int carry_out(const char *path, char **words, int count)
{
	if (!count)
		gamma_options_misuse("a command is missing");
	for (size_t i = 0; i < gamma_array_size(for_users); i++) {
		if (strcmp(for_users[i].name, words[0]))
			continue;
		if (count != 2)
			gamma_options_misuse("%s takes one user id or name", words[0]);
		return ask_for_user(path, for_users[i].type, words[0], words[1]);
	}
	for (size_t i = 0; i < gamma_array_size(commands); i++) {
		if (strcmp(commands[i].name, words[0]))
			continue;
		if (count != 1)
			gamma_options_misuse("%s takes no argument", words[0]);
		return ask(path, commands[i].type, 0, words[0]);
	}
	gamma_options_misuse("%s: no such command", gamma_printable(words[0]).text);
}

int main(int argc, char **argv)
{
	static const struct option names[] = {{NULL, 0, NULL, 0}}; /* --help is answered before */
	const char *path = GAMMA_BROKER_PATH;
	int option;

	gamma_about_answer(argc, argv, print_usage);
	while ((option = getopt_long(argc, argv, "+:hs:", names, NULL)) != -1) {
		if (option == 'h') {
			print_usage(stdout);
			return GAMMA_OPTIONS_DONE;
		}
		if (option != 's')
			gamma_options_refuse(argv, option, names);
		path = optarg;
	}
	return carry_out(path, argv + optind, argc - optind);
}
