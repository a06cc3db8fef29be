/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * gammad's parts, shared by the files of gammad/ only: what the kernel keeps for it, the NICs with
 * their slots, the endpoints that are open, and who is connected. One thread, one struct gammad.
 */
#ifndef GAMMAD_H
#define GAMMAD_H

#include <sys/types.h>

#include "base/base.h"
#include "broker/message.h"
#include "gammad/conf.h"
#include "gammad/endpoint.h"

#define GAMMAD_RUN "/run/gammad"
#define GAMMAD_CGROUP GAMMAD_RUN "/cgroup" /* link to the control group that was made, if any */

enum {
	GAMMAD_SWEEP_MS = 1000, /* between two looks at endpoints whose process let go of gammad */
	GAMMAD_CLIENTS_EXTRA = 8, /* connections of a user beyond his limit of endpoints */
	GAMMAD_BURST = 64,	/* frames taken from one socket before the others' turn */
};

/* What stands behind a descriptor of the epoll. */
enum gammad_watch {
	GAMMAD_WATCH_LISTEN,
	GAMMAD_WATCH_SIGNAL,
	GAMMAD_WATCH_CLIENT,
	GAMMAD_WATCH_NIC,
	GAMMAD_WATCH_PORT,
};

struct gammad_slot {
	int ifindex; /* in gammad's network namespace */
	uint8_t mac[GAMMA_MAC_LEN];
	struct gammad_open *open; /* who has it, or NULL */
};

struct gammad_nic {
	enum gammad_watch watch; /* GAMMAD_WATCH_NIC */
	char name[16];
	int ifindex; /* in the host's network namespace */
	uint8_t mac[GAMMA_MAC_LEN];
	uint32_t mtu; /* bytes */
	int fd;	      /* packet socket on the NIC, for LOOKUP alone */
	unsigned slot_count;
	struct gammad_slot *slots;
};

struct gammad_client {
	enum gammad_watch watch; /* GAMMAD_WATCH_CLIENT */
	struct gamma_list entry; /* in gammad->clients */
	int fd;
	uid_t uid;
	pid_t pid;
	bool allowed;		  /* it may have endpoints: root, or in a group of gammad.conf */
	bool has_opened;	  /* an endpoint was given to it */
	struct gammad_open *open; /* that one, or NULL once it is gone */
	bool listing;		  /* it is being told all endpoints */
	uint32_t told;		  /* handle of the last one */
	uint32_t told_count;
};

/* An endpoint. */
struct gammad_open {
	enum gammad_watch watch; /* GAMMAD_WATCH_PORT */
	struct gamma_list entry; /* in gammad->opens, by handle */
	uint32_t handle;
	struct gammad_endpoint record; /* as in the map */
	struct gammad_nic *nic;	       /* NULL: not configured any more */
	struct gammad_slot *slot;      /* ditto */
	struct gammad_client *client;  /* NULL: it let go, or gammad was restarted meanwhile */
	int port_fd; /* AF_UNIX socket of the port on the NIC's own MAC: LOOKUP from neighbours */
};

struct gammad {
	const char *conf_path;
	struct gammad_conf conf;
	struct gammad_nic nics[GAMMAD_NICS_MAX];
	unsigned nic_count;
	uint64_t host; /* host identity of the endpoints */
	int host_ns, own_ns; /* network namespaces */
	int host_fd;   /* AF_UNIX datagram socket in the host's: asks who owns a port there */
	int endpoints_map, counts_map, dropped_map;
	int epoll;
	int listen_fd, signal_fd, spare_fd;
	enum gammad_watch listen_watch, signal_watch;
	struct gamma_list clients, opens;
	bool ending;
};

/* ---- log.c ---- */
void gammad_log_open(bool to_syslog);

/* ---- setup.c: what the network namespace needs, made or found ---- */
/* Folder, file systems, namespace; leaves the caller in the host's namespace. 0 or -errno. */
int gammad_set_up(struct gammad *gammad);
/* Takes all of it away again. */
int gammad_remove(void);
int gammad_enter(int ns);
/* Gives up what is needed for none of what comes. */
int gammad_drop_privileges(void);

/* ---- kernel.c: the BPF programs and maps ---- */
struct gammad_programs {
	struct bpf_object *object;
	bool complete; /* the freeze sees every system call: no guard is needed */
	int egress, freeze, guard; /* programs */
};
/* From then on the sockets that this process makes freeze; that has been tried. */
int gammad_kernel_load(struct gammad *gammad, struct gammad_programs *programs);
/* On a slot; on a NIC, in the host's namespace. */
int gammad_kernel_attach(const struct gammad_programs *programs, int ifindex);
int gammad_kernel_guard(const struct gammad_programs *programs, int ifindex);
void gammad_kernel_unguard(int ifindex);
void gammad_kernel_unload(struct gammad_programs *programs);
uint64_t gammad_kernel_dropped(const struct gammad *gammad);
bool gammad_kernel_counts(const struct gammad *gammad, struct gammad_counts *counts);
/* A handle that none ever had; 0: there is none left. */
uint32_t gammad_kernel_handle(const struct gammad *gammad);

/* ---- slots.c ---- */
int gammad_slots_make(struct gammad *gammad, const struct gammad_programs *programs);
/* Takes them away again, and what is on the NICs. own_ns -1: there are none. */
int gammad_slots_remove(int host_ns, int own_ns);
struct gammad_nic *gammad_nic_of(struct gammad *gammad, const uint8_t mac[GAMMA_MAC_LEN]);

/* ---- open.c: endpoints ---- */
/* Finds those of before a restart again. */
int gammad_opens_restore(struct gammad *gammad);
enum gamma_broker_reason gammad_open(struct gammad *gammad, struct gammad_client *client,
				     const struct gamma_broker_open *ask,
				     struct gamma_broker_opened *opened,
				     int fds[GAMMA_BROKER_FDS]);
/* Forgets those whose socket nobody has open any more. */
void gammad_sweep(struct gammad *gammad);
/* Whether there are any that only a sweep would find gone. */
bool gammad_sweep_needed(const struct gammad *gammad);
unsigned gammad_revoke(struct gammad *gammad, uid_t uid);

/* ---- lookup.c ---- */
int gammad_lookup_open(struct gammad *gammad, struct gammad_nic *nic);
void gammad_lookup_nic(struct gammad *gammad, struct gammad_nic *nic);
void gammad_lookup_port(struct gammad *gammad, struct gammad_open *open);

/* ---- clients.c ---- */
int gammad_clients_listen(struct gammad *gammad);
void gammad_clients_accept(struct gammad *gammad);
void gammad_client_heard(struct gammad *gammad, struct gammad_client *client, uint32_t events);

/* ---- gammad.c ---- */
bool gammad_watch(struct gammad *gammad, int fd, enum gammad_watch *watch);
/* 0, or -EINVAL: the old configuration stays. */
int gammad_reload(struct gammad *gammad);

#endif /* GAMMAD_H */
