/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * gammad's parts, shared by the files of gammad/ only: what the kernel keeps for it, the NICs with
 * their slots, the endpoints that are open, and who is connected. One thread, one struct gammad.
 */
#ifndef GAMMAD_H
#define GAMMAD_H

#include <linux/if_packet.h>
#include <sys/types.h>

#include "base/base.h"
#include "broker/message.h"
#include "gammad/conf.h"
#include "gammad/endpoint.h"

#define GAMMAD_RUN    "/run/gammad"
#define GAMMAD_BPF    GAMMAD_RUN "/bpf"
#define GAMMAD_CGROUP GAMMAD_RUN "/cgroup" /* link to the control group that was made, if any */

enum {
	GAMMAD_SWEEP_MS = 1000, /* between two looks at endpoints whose process let go of gammad */
	GAMMAD_CLIENTS_EXTRA =
		32,            /* connections of a user beyond two for each endpoint he may have */
	GAMMAD_BURST_MAX = 64, /* frames taken from one socket before the others' turn */
	GAMMAD_MEMBERSHIPS_MAX = 16,    /* multicast groups of an endpoint */
	GAMMAD_SLOT_ENDPOINTS_MAX = 16, /* endpoints on one slot */
	GAMMAD_WORKERS = 8,             /* threads that wait for the kernel */
};

/* What stands behind a descriptor of the epoll. */
enum gammad_watch {
	GAMMAD_WATCH_LISTEN,
	GAMMAD_WATCH_SIGNAL,
	GAMMAD_WATCH_CLIENT,
	GAMMAD_WATCH_NICS,
	GAMMAD_WATCH_PORT,
	GAMMAD_WATCH_SLOTS,
	GAMMAD_WATCH_WORKERS,
};

struct gammad_slot {
	int ifindex; /* in gammad's network namespace */
	uint8_t mac[GAMMA_MAC_LEN];
	unsigned opens; /* endpoints that have it: several only if one user's share it */
};

struct gammad_nic {
	char name[16];
	int ifindex; /* in the host's network namespace */
	uint8_t mac[GAMMA_MAC_LEN];
	uint32_t mtu; /* bytes */
	int fd;       /* packet socket for answers to LOOKUP */
	unsigned slot_count;
	struct gammad_slot *slots;
	struct gammad_slot
		groups; /* where sockets of multicast groups are: a further such interface */
};

struct gammad_client {
	enum gammad_watch watch; /* GAMMAD_WATCH_CLIENT */
	struct gamma_list entry; /* in gammad->clients */
	int fd;
	uid_t uid;
	pid_t pid;
	bool allowed;             /* it may have endpoints: root, or in a group of gammad.conf */
	bool has_opened;          /* an endpoint was given to it */
	struct gammad_open *open; /* that one, or NULL once it is gone */
	struct gammad_job *job;   /* it waits for that socket; or NULL */
	bool listing;             /* it is being told all endpoints */
	uint32_t last_listed;     /* handle of the last one */
	uint32_t listed_count;
};

/* An endpoint. */
struct gammad_open {
	enum gammad_watch watch;       /* GAMMAD_WATCH_PORT */
	struct gamma_list entry;       /* in gammad->opens, by handle */
	struct gammad_endpoint record; /* as in the map */
	struct gammad_nic *nic;        /* NULL: not configured any more */
	struct gammad_slot *slot;      /* ditto */
	struct gammad_client *client;  /* NULL: it let go, or gammad was restarted meanwhile */
	int port_fd; /* AF_UNIX socket of the port on the NIC's own MAC: LOOKUP from neighbours */
	struct gamma_list members; /* struct gammad_membership */
	unsigned member_count;
	bool gone;        /* its packet socket is closed, but not those of its groups */
	bool revoke_sent; /* its process has been told that it is revoked */
};

/* An endpoint in a multicast group. */
struct gammad_membership {
	struct gamma_list entry; /* in open->members */
	struct gammad_member_key key;
	struct gammad_member record; /* as in the map */
};

/* The configuration, read again. */
struct gammad_reading {
	struct gammad_conf conf;
	char error[512]; /* empty: it is right */
};

/* A packet socket with its ring on its way to be made, or one to be closed, or the configuration on
 * its way to be read: workers.c */
struct gammad_job {
	struct gamma_list entry;
	struct gammad_client *client; /* who waits for it; NULL: has gone */
	bool started;                 /* a thread has it, or had it; under the lock of workers.c */
	union gamma_broker_request request; /* what for */
	struct tpacket_req ring;
	bool closes;                    /* fd is to be closed, and that is all */
	int fd;                         /* in the end: the socket, or a negative errno */
	struct gammad_reading *reading; /* nothing else is to be done; or NULL */
};

struct gammad {
	const char *conf_path;
	struct gammad_conf conf;
	struct gammad_nic nics[GAMMAD_NICS_MAX];
	unsigned nic_count;
	uint64_t host;       /* host identity of the endpoints */
	int host_ns, own_ns; /* network namespaces */
	int host_fd;         /* AF_UNIX datagram socket in the host's: asks who owns a port there */
	int endpoints_map, members_map, counts_map, dropped_map, lookups_map;
	int epoll;
	int listen_fd, signal_fd, spare_fd, workers_fd;
	struct ring_buffer
		*lookups;         /* what the slots are asked; a struct gammad_lookup_frame each */
	unsigned lookups_handled; /* in this turn */
	int nics_fd; /* packet socket in the host's network namespace, for LOOKUP alone */
	enum gammad_watch listen_watch, signal_watch, workers_watch, nics_watch, slots_watch;
	struct gamma_list clients, opens;
	bool sweep_pending; /* somebody hung up: endpoints may be gone */
	bool ending;
};

/* ---- log.c ---- */
void gammad_log_open(bool to_syslog);
/* Whether to tell only what is wrong. */
void gammad_log_set_quiet(bool quietly);

/* ---- setup.c: what the network namespace needs, made or found ---- */
/* Folder, file systems, namespace; leaves the caller in the host's namespace. 0 or -errno. */
int gammad_setup_make(struct gammad *gammad);
/* Takes all of it away again. */
int gammad_setup_remove(void);
int gammad_setup_enter_ns(int ns);
/* Gives up what is needed for none of what comes. */
int gammad_setup_drop_privileges(void);

/* ---- kernel.c: the BPF programs and maps ---- */
struct gammad_programs {
	struct bpf_object *object;
	bool complete; /* the freeze sees every system call: no guard is needed */
	int egress, ingress, freeze, guard; /* programs */
};
/* From then on the sockets that this process makes in its namespace freeze, as was tried. */
int gammad_kernel_load(struct gammad *gammad, struct gammad_programs *programs);
void gammad_kernel_unload(struct gammad_programs *programs);
uint64_t gammad_kernel_count_dropped(const struct gammad *gammad);
bool gammad_kernel_read_counts(const struct gammad *gammad, struct gammad_counts *counts);
/* A handle that none ever had; 0: there is none left. */
uint32_t gammad_kernel_new_handle(const struct gammad *gammad);
/* From here on the endpoint may send what its record says, if its socket bears its handle. */
int gammad_kernel_write_endpoint(const struct gammad *gammad, const struct gammad_endpoint *record);
void gammad_kernel_clear_endpoint(const struct gammad *gammad, uint32_t handle);
/* Whether one is at this index, of GAMMAD_ENDPOINTS_MAX, and which. */
bool gammad_kernel_read_endpoint(const struct gammad *gammad, uint32_t index,
				 struct gammad_endpoint *record);

/* ---- attach.c: programs in the way of frames ---- */
/* On a slot; on a NIC, in the host's namespace. What is there already is replaced in one step. */
int gammad_attach_slot(const struct gammad_programs *programs, int ifindex);
/* Has a thread make the slots' links, and unload the programs then. */
int gammad_attach_links(struct gammad *gammad, const struct gammad_programs *programs);
int gammad_attach_guard(const struct gammad_programs *programs, int ifindex);
/* Takes the guard's filter off the NIC; all links off everything. */
void gammad_attach_remove_guard(int ifindex);
void gammad_attach_unpin(void);

/* ---- slots.c ---- */
int gammad_slots_make(struct gammad *gammad, const struct gammad_programs *programs);
/* Takes them away again, and what is on the NICs. own_ns -1: there are none. */
int gammad_slots_remove(int host_ns, int own_ns);
struct gammad_nic *gammad_slots_find_nic(struct gammad *gammad, const uint8_t mac[GAMMA_MAC_LEN]);

/* The NIC below a slot of that MAC, and the slot; NULL: none has it. */
struct gammad_nic *gammad_slots_find(struct gammad *gammad, const uint8_t mac[GAMMA_MAC_LEN],
				     struct gammad_slot **slot);

/* ---- workers.c: what the kernel, or the host's name service, may take long for ---- */
int gammad_workers_start(struct gammad *gammad);
/* Has the job's socket made, or closed; it comes back by gammad_workers_next_finished. */
void gammad_workers_submit(struct gammad *gammad, struct gammad_job *job);
void gammad_workers_close(struct gammad *gammad, int fd);
/* Takes back what no thread has started, for the caller to free. False: it comes back by itself. */
bool gammad_workers_cancel(struct gammad_job *job);
/* A job that is done, to be freed by the caller; NULL: there is none. */
struct gammad_job *gammad_workers_next_finished(struct gammad *gammad);

/* ---- open.c: endpoints ---- */
/* Finds those of before a restart again. */
int gammad_open_restore(struct gammad *gammad);
/* Whether the client may have that endpoint; if so, what ring its socket needs. */
enum gamma_broker_reason gammad_open_begin(struct gammad *gammad, struct gammad_client *client,
					   const struct gamma_broker_open *ask,
					   struct tpacket_req *ring);
/* Makes it of that socket, which stays the caller's to close. fds: what the client gets; the second
 * is the caller's too. */
enum gamma_broker_reason gammad_open_end(struct gammad *gammad, struct gammad_client *client,
					 const struct gammad_job *job,
					 struct gamma_broker_opened *opened,
					 int fds[GAMMA_BROKER_FDS]);
/* The endpoint of that MAC and port (host order), or NULL. */
struct gammad_open *gammad_open_find(const struct gammad *gammad, const uint8_t mac[GAMMA_MAC_LEN],
				     uint16_t port);
/* Whether a process of the host that opened the NIC by itself owns the port. */
bool gammad_open_host_owns_port(const struct gammad *gammad, const struct gammad_nic *nic,
				uint16_t port);
/* Why this user may have no endpoints at all, or OK. */
enum gamma_broker_reason gammad_open_check_user(const struct gammad *gammad,
						const struct gammad_client *client);
/* Forgets those whose socket nobody has open any more. */
void gammad_open_sweep(struct gammad *gammad);
/* Whether there are any that only a sweep would find gone, or that are still to be told
 * something. */
bool gammad_open_needs_sweep(const struct gammad *gammad);
unsigned gammad_open_revoke(struct gammad *gammad, uid_t uid);

/* ---- groups.c: endpoints in multicast groups ---- */
enum gamma_broker_reason gammad_groups_begin_join(struct gammad *gammad,
						  const struct gammad_client *client,
						  const struct gamma_broker_group *ask,
						  struct tpacket_req *ring);
/* job: with the socket, if the group's frames are wanted. */
enum gamma_broker_reason gammad_groups_end_join(struct gammad *gammad,
						const struct gammad_client *client,
						const struct gammad_job *job,
						struct gamma_broker_joined *joined);
enum gamma_broker_reason gammad_groups_leave(struct gammad *gammad,
					     const struct gammad_client *client,
					     const struct gamma_broker_group *ask);
int gammad_groups_restore(struct gammad *gammad);
/* Forgets those whose socket is closed; all: of an endpoint that is gone. */
struct gammad_sockets;
void gammad_groups_sweep(struct gammad *gammad, struct gammad_open *open,
			 const struct gammad_sockets *sockets, bool all);

/* ---- lookup.c ---- */
/* In the host's namespace: where answers leave, and where lookups come to the NICs. */
int gammad_lookup_open_reply_socket(struct gammad_nic *nic);
int gammad_lookup_open_nics(struct gammad *gammad);
/* For lookups to the slots. */
int gammad_lookup_open_slots(struct gammad *gammad);
void gammad_lookup_handle_nics(struct gammad *gammad);
void gammad_lookup_handle_slots(struct gammad *gammad);
void gammad_lookup_handle_port(struct gammad *gammad, struct gammad_open *open);
/* Tells the endpoint's process that it has been revoked; false: it is to be tried again. */
bool gammad_lookup_send_revoked(const struct gammad *gammad, const struct gammad_open *open);

/* ---- clients.c ---- */
int gammad_clients_listen(struct gammad *gammad);
void gammad_clients_accept(struct gammad *gammad);
void gammad_clients_handle_event(struct gammad *gammad, struct gammad_client *client,
				 uint32_t events);
/* What clients wait for has been made. */
void gammad_clients_handle_finished(struct gammad *gammad);

/* ---- gammad.c ---- */
bool gammad_watch_fd(struct gammad *gammad, int fd, enum gammad_watch *watch);
/* Has the configuration read; client: who waits for that, or NULL. 0 or -ENOMEM. */
int gammad_begin_reload(struct gammad *gammad, struct gammad_client *client);
/* 0, or -EINVAL: the old configuration stays. */
int gammad_finish_reload(struct gammad *gammad, const struct gammad_reading *reading);

#endif /* GAMMAD_H */
