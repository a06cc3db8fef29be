/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by gamma-discover's files: the command line (discover.c), questions and answers
 * (discover_ask.c), measurements and findings (discover_check.c), paths between other hosts
 * (discover_via.c, discover_lanes.c, discover_rounds.c), the results of several hosts
 * (discover_merge.c), what a table of paths says (discover_pairs.c), output (discover_print.c), and
 * gamma.conf (discover_conf.c).
 */
#ifndef GAMMA_DISCOVER_H
#define GAMMA_DISCOVER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stats.h"
#include "conf/conf.h"
#include "link/broker.h"
#include "link/link.h"
#include "nic/nic.h"
#include "discover_rounds.h"
#include "wire/wire.h"

enum {
	DISCOVER_NAME_LEN = 65,    /* bytes of a host's name with the final 0 */
	DISCOVER_FINDINGS_MAX = 6, /* of a host */
	DISCOVER_FINDING_LEN = 224,
	DISCOVER_COMMON_LEAST = 3, /* hosts or paths: fewer cannot be compared */
};

enum discover_passes {
	DISCOVER_UNTESTED,
	DISCOVER_PASSES, /* frames of that size reach the host, and its answers come back */
	DISCOVER_FAILS,
};

/* Round trips with questions of one size. */
struct discover_trips {
	unsigned sent, lost;
	uint64_t median; /* ns; 0: none was answered */
	uint64_t quick;  /* ns: a tenth of them took no longer */
};

/* Faults of a path. */
enum discover_fault {
	DISCOVER_LOSES,
	DISCOVER_SLOW_BYTES,
	DISCOVER_SLOW_TRIPS,
	DISCOVER_FULL_FAILS,
	DISCOVER_FAULTS
};

struct discover_host {
	uint8_t mac[GAMMA_MAC_LEN];
	char name[DISCOVER_NAME_LEN];      /* as it says, printable; "" if it did not say */
	char conf_name[DISCOVER_NAME_LEN]; /* in gamma.conf; "" if it is not there */
	char nic[GAMMA_NIC_NAME_LEN + 1];
	uint32_t mtu, speed; /* bytes; Mbit/s, 0: unknown */
	uint8_t release[3];
	unsigned slots, endpoints;
	bool self;          /* the host that asks */
	bool gammad;        /* its gammad has answered; for this host: it serves the NIC */
	bool endpoint;      /* only an endpoint has answered, or answers of another layout */
	bool reported;      /* merged: it has measured itself */
	bool other_version; /* it speaks another version of the protocol */
	uint64_t rtt;       /* ns, the shortest; 0: unknown */
	enum discover_passes full;
	uint32_t full_mtu; /* bytes of the frames that were tried */
	struct discover_trips small, large;
	unsigned faults; /* bits of enum discover_fault: it has been named for these */
	char findings[DISCOVER_FINDINGS_MAX][DISCOVER_FINDING_LEN];
	unsigned finding_count;
};

/* What is known of the path from one host to another. */
struct discover_pair {
	size_t from, to; /* in discover->hosts */
	unsigned sent, lost;
	uint64_t small, large; /* ns, quick ones; 0: unknown */
	uint64_t bytes;        /* ns that the bytes of a full frame add; 0: unknown */
	bool full_fails;
	uint32_t full; /* bytes */
};

struct discover_pairs {
	struct discover *discover;
	struct discover_pair *pairs;
	size_t count, size;
	uint64_t median_small, median_bytes; /* ns */
};

struct discover {
	/* options */
	const char *iface, *conf_path; /* conf_path NULL: the default */
	const char *write_path;        /* file to write, or NULL */
	double wait;                   /* s for answers */
	uint16_t ethertype;
	bool json, check, yes, through_gammad;
	bool own_paths; /* --check: those from this host alone */
	bool merged;    /* the results of several hosts */
	/* this host */
	struct gamma_conf *conf;
	struct gamma_nic *nics;
	size_t nic_count;
	const struct gamma_nic *nic;
	struct gamma_link *link;
	struct gamma_stats stats;
	struct gamma_brokered brokered;
	uint8_t mac[GAMMA_MAC_LEN]; /* that questions come from */
	uint16_t port;
	uint32_t epoch, seq;
	uint8_t *payload; /* of questions: zeros behind the first MAC */
	bool times;       /* the answer that is awaited is timed */
	/* the hosts that were found */
	struct discover_host *hosts;
	size_t count, size;
	size_t own_count, via_count; /* paths measured: from this host, between others */
};

/* SIGINT or SIGTERM was received: end soon. */
extern volatile sig_atomic_t discover_interrupted;

/* discover.c: prints one line to standard error and exits. */
void discover_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* The host with that MAC, added if it is new. */
struct discover_host *discover_host(struct discover *discover, const uint8_t mac[GAMMA_MAC_LEN]);
/* The name that is shown: its own, else that of gamma.conf, else "?". */
const char *discover_name(const struct discover_host *host);

/* discover_ask.c: opens the link on the NIC. */
void discover_ask_open(struct discover *discover);
/* Asks all hosts, and those of gamma.conf, and takes their answers. */
void discover_ask_all(struct discover *discover);
/* Sends count questions of payload bytes to a host and measures. */
void discover_ask_trips(struct discover *discover, const struct discover_host *host,
			uint32_t payload, unsigned count, struct discover_trips *trips);
/* Sends a question to a host by way of another's gammad, and returns its number. 0: sent. */
int discover_ask_via(struct discover *discover, const struct discover_host *host,
		     const struct discover_host *via, uint32_t payload, uint32_t *seq);
/* The next answer: its sender, and its question. False: none until then. */
bool discover_ask_next(struct discover *discover, uint64_t until, uint8_t mac[GAMMA_MAC_LEN],
		       uint32_t *seq);
/* The result of so many questions' times, 0 for those that were lost; sorts them. */
struct discover_trips discover_ask_sum(uint64_t *took, unsigned sent, unsigned lost);
/* Whether the largest frames that both NICs carry pass. */
void discover_ask_full(struct discover *discover, struct discover_host *host);

/* discover_check.c: measures every host, and notes what is wrong. Returns how many findings. */
unsigned discover_check_hosts(struct discover *discover);
/* discover_via.c: measures the paths between the other hosts, as far as their gammads pass
 * questions on, and notes what is wrong with them. */
void discover_via_check(struct discover *discover);
/* discover_lanes.c: measures these paths, several at a time, and adds them. */
void discover_lanes_measure(struct discover *discover, struct discover_path *paths, size_t count,
			    struct discover_pairs *pairs);
/* The same, of what several hosts have printed; "-": of standard input. */
unsigned discover_merge(struct discover *discover, char **files, int count);

/* discover_pairs.c: adds a path; names hosts and paths that have a fault, but not the paths of
 * hosts that were named for it; the sum of a host's paths. */
void discover_pairs_add(struct discover_pairs *pairs, const struct discover_pair *pair);
void discover_pairs_check(struct discover_pairs *pairs);
void discover_pairs_sum(const struct discover_pairs *pairs, size_t host,
			struct discover_trips *trips);

/* discover_check.c, for all: notes a finding; what chance begins with at a host; whether so many
 * lost frames are too many, so many bad paths are nearly all; whether it is slower than the median;
 * notes what is set up otherwise than on most hosts. */
void discover_check_note(struct discover_host *host, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
unsigned discover_check_seed(const uint8_t mac[GAMMA_MAC_LEN]);
bool discover_check_loses(unsigned lost);
bool discover_check_is_common(unsigned bad, unsigned all);
bool discover_check_is_slower(uint64_t time, uint64_t median);
void discover_check_settings(struct discover *discover);

/* discover_print.c */
void discover_print_table(const struct discover *discover);
void discover_print_json(const struct discover *discover);

/* discover_conf.c: shows how the file would change and replaces it. Returns the exit status. */
int discover_conf_write(const struct discover *discover);

#endif /* GAMMA_DISCOVER_H */
