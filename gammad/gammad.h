/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * gammad's own structures, and the functions that its files call of each other: kernel objects,
 * NICs with their slots, open endpoints, clients. One thread, one struct gammad.
 */
#ifndef GAMMAD_H
#define GAMMAD_H

#include <linux/if_packet.h>
#include <sys/types.h>

#include "base/base.h"
#include "broker/message.h"
#include "gammad/conf.h"
#include "gammad/endpoint.h"
#include "gammad/ports.h"
#include "gammad/revoked.h"
#include "nic/nic.h"

#define GAMMAD_RUN            "/run/gammad"
#define GAMMAD_BPF            GAMMAD_RUN "/bpf"
#define GAMMAD_REVOKED        GAMMAD_RUN "/revoked"
#define GAMMAD_METRICS_SOCKET GAMMAD_RUN "/metrics"
#define GAMMAD_CGROUP \
	GAMMAD_RUN "/cgroup" /* symbolic link to the control group that gammad made, if any */

enum {
	GAMMAD_SWEEP_MS = 1000,    /* ms between two sweeps while endpoints exist whose client has
				      disconnected */
	GAMMAD_CLIENTS_EXTRA = 32, /* connections of a user, in addition to two for each endpoint
				      that the user may have */
	GAMMAD_VIA_MAX = 64,       /* questions passed on without an answer yet; their burst */
	GAMMAD_BURST_MAX = 64,     /* frames read from one socket before other sockets are served */
	GAMMAD_MEMBERSHIPS_MAX = 16,    /* multicast groups of an endpoint */
	GAMMAD_SLOT_ENDPOINTS_MAX = 16, /* endpoints that share one slot */
	GAMMAD_METRICS_READERS = 4,     /* that are served at a time */
	GAMMAD_WORKERS = 8,             /* threads for calls that may block */
	GAMMAD_SWEEP_PAUSE_MS = 50,     /* ms between two sweeps for users at their limit */
	GAMMAD_GROUP_KEEP_MS = 10000,   /* ms that a user's interface for groups stays unused */
};

/* The subject of an epoll event. The first member of the object that the event points to. */
enum gammad_watch {
	GAMMAD_WATCH_LISTEN,
	GAMMAD_WATCH_SIGNAL,
	GAMMAD_WATCH_CLIENT,
	GAMMAD_WATCH_NICS,
	GAMMAD_WATCH_NIC_CHANGES,
	GAMMAD_WATCH_PORT,
	GAMMAD_WATCH_SLOTS,
	GAMMAD_WATCH_WORKERS,
	GAMMAD_WATCH_METRICS,
	GAMMAD_WATCH_METRICS_READER,
};

struct gammad_slot {
	int ifindex; /* in gammad's network namespace */
	uint8_t mac[GAMMA_MAC_LEN];
	unsigned opens; /* endpoints that use it: more than one only if they are one user's */
};

struct gammad_nic {
	char name[16];
	int ifindex; /* in the host's network namespace; 0: it was removed, the rest is of no use */
	uint8_t mac[GAMMA_MAC_LEN];
	bool up, carrier;
	bool own_address;  /* endpoints are opened with the NIC's own MAC */
	bool translates;   /* some have it, perhaps from before a change of gammad.conf */
	uint32_t mtu;      /* bytes, as it is now */
	uint32_t speed;    /* Mbit/s, 0: unknown; as the driver said at speed_at */
	uint64_t speed_at; /* ns; 0: it has not been asked */
	int fd;            /* packet socket that sends answers to LOOKUP */
	unsigned slot_count;
	struct gammad_slot *slots;
	struct gammad_slot groups; /* one more interface: multicast frames arrive there */
};

struct gammad_client {
	enum gammad_watch watch; /* GAMMAD_WATCH_CLIENT */
	struct gamma_list entry; /* in gammad->clients */
	int fd;
	uid_t uid;
	pid_t pid;
	gid_t gid;
	bool has_opened;          /* gammad has opened an endpoint for it */
	struct gammad_open *open; /* that endpoint, or NULL once it is gone */
	struct gammad_job *job;   /* the job that it waits for, or NULL */
	bool listing;             /* it is being sent the list of endpoints */
	uint32_t last_listed;     /* handle of the last one sent */
	uint32_t listed_count;
};

/* An endpoint. */
struct gammad_open {
	enum gammad_watch watch;       /* GAMMAD_WATCH_PORT */
	struct gamma_list entry;       /* in gammad->opens, by handle */
	struct gammad_endpoint record; /* as in the map */
	struct gammad_nic *nic;        /* NULL: not in the configuration any more */
	struct gammad_slot *slot;      /* ditto */
	struct gammad_client *client; /* NULL: it has disconnected, or gammad was restarted since */
	int port_fd; /* AF_UNIX socket of the port on the NIC's own MAC: LOOKUP from programs of
			this host */
	struct gamma_list members; /* struct gammad_membership */
	unsigned member_count;
	unsigned left_count; /* of these: it has left the group, but its socket is open */
	size_t ring_bytes;   /* of its receive ring; 0: unknown, it is from before a restart */
	int pidfd;           /* of the process that opened it; -1: unknown */
	bool gone;           /* its packet socket is closed, but sockets of its groups are open */
	bool revoke_sent;    /* its process has been sent RESET_REVOKED */
};

/* A user's interface for the groups of a NIC. */
struct gammad_group_interface {
	struct gamma_list entry;      /* in gammad->group_interfaces */
	const struct gammad_nic *nic; /* NULL: it was removed, or is not configured any more */
	uid_t uid;
	unsigned number;                  /* with uid the name of the interface */
	int ifindex;                      /* in gammad's namespace; 0: it is not made yet */
	unsigned members;                 /* memberships whose sockets are there */
	unsigned jobs;                    /* under way that need it */
	uint64_t idle_ms;                 /* when a sweep first found it unused; 0: it is used */
	bool leads;                       /* the kernel's map has it */
	bool removed;                     /* a thread removes it */
	struct gammad_group_user_key key; /* in that map */
};

/* An endpoint in a multicast group. */
struct gammad_membership {
	struct gamma_list entry; /* in open->members */
	struct gammad_member_key key;
	struct gammad_member record; /* as in the map */
};

/* The result of reading the configuration again. */
struct gammad_reading {
	struct gammad_conf conf;
	char error[512]; /* empty: no error */
};

/* Work for a thread: make a packet socket with its ring, close one, or read the configuration
 * (workers.c). */
struct gammad_job {
	struct gamma_list entry;
	struct gammad_client *client;       /* that waits for it; NULL: it has disconnected */
	bool started;                       /* a thread has taken it; lock of workers.c */
	union gamma_broker_request request; /* what for */
	struct tpacket_req ring;
	bool closes;                        /* only close fd */
	int removes;                        /* only remove this interface for groups; 0: none */
	int fd;                             /* result: the socket, or a negative errno */
	struct gammad_group_interface *own; /* that it needs, or NULL; only uid and number are read
					       by the thread */
	bool makes_interface;
	int interface;                  /* result of that: its ifindex, or a negative errno */
	struct gammad_reading *reading; /* only read the configuration into this; or NULL */
};

/* Somebody who reads the state as text. */
struct gammad_metrics_reader {
	enum gammad_watch watch; /* GAMMAD_WATCH_METRICS_READER */
	int fd;
	bool used, answered;
	size_t asked;    /* bytes that it has sent */
	uint64_t number; /* in the order of their coming */
};

struct gammad_metrics {
	enum gammad_watch watch; /* GAMMAD_WATCH_METRICS */
	int fd;                  /* listens, if gammad.conf wants it */
	uint64_t accepted;
	struct gammad_metrics_reader readers[GAMMAD_METRICS_READERS];
};

struct gamma_fields;

/* A question that was passed on to another host. */
struct gammad_via_asked {
	const struct gammad_nic *nic; /* NULL: none, or it has been answered */
	uint32_t number;              /* seq of the question to that host */
	uint8_t to[GAMMA_MAC_LEN], asker[GAMMA_MAC_LEN];
	uint16_t port; /* the asker's, as are the next two */
	uint32_t epoch, seq;
	uint16_t payload_len;
};

struct gammad_via {
	uint32_t epoch, seq; /* of the questions to other hosts; epoch 0: not drawn yet */
	unsigned tokens;     /* questions that may be passed on now */
	uint64_t refilled;   /* ns: when the latest token was added */
	uint64_t warned;     /* ns: when the latest log line was written */
	struct gammad_via_asked asked[GAMMAD_VIA_MAX]; /* by seq */
};

struct gammad {
	const char *conf_path;
	struct gammad_conf conf;
	struct gammad_nic nics[GAMMAD_NICS_MAX];
	unsigned nic_count;
	uint64_t host;             /* host identity of the endpoints */
	int host_ns, own_ns;       /* descriptors of network namespaces */
	struct gammad_ports ports; /* those of the host's own programs */
	int endpoints_map, members_map, counts_map, dropped_map, lookups_map, translations_map,
		group_users_map;
	int epoll;
	int listen_fd, signal_fd, spare_fd, workers_fd;
	struct ring_buffer
		*lookups; /* LOOKUP requests to slots; elements: struct gammad_lookup_frame */
	unsigned lookups_handled; /* since the last event */
	int nics_fd;    /* packet socket in the host's network namespace, for LOOKUP alone */
	int changes_fd; /* eventfd: the thread that watches the host's interfaces has seen a change
			 */
	enum gammad_watch changes_watch;
	enum gammad_watch listen_watch, signal_watch, workers_watch, nics_watch, slots_watch;
	struct gamma_list clients, opens, group_interfaces;
	bool groups_warned; /* that some user has none of the latter */
	struct gammad_revoked revoked;
	struct gammad_metrics metrics;
	struct gammad_via via;
	bool sweep_pending; /* a client has disconnected: its endpoint may be gone */
	uint64_t swept_ms;  /* time of the last sweep, CLOCK_MONOTONIC */
	bool ending;
};

/* ---- log.c ---- */
void gammad_log_open(bool to_syslog);
/* Whether to log warnings only. */
void gammad_log_set_quiet(bool quietly);

/* ---- setup.c: what the network namespace needs, made or found ---- */
/* Makes folder, file system and namespace; returns in the host's namespace. 0 or -errno. */
int gammad_setup_make(struct gammad *gammad);
/* Makes this process the only gammad of the host, until it ends. -EBUSY: another one runs. */
int gammad_setup_lock(void);
/* Removes all of it. */
int gammad_setup_remove(void);
int gammad_setup_enter_ns(int ns);
/* Drops the capabilities that are needed only at start. */
int gammad_setup_drop_privileges(void);

/* ---- kernel.c: the BPF programs and maps ---- */
struct gammad_programs {
	struct bpf_object *object;
	bool complete; /* the security module sees every system call: no guard is needed */
	int egress, ingress, freeze, guard; /* programs */
	int nic_ingress, slot_ingress;      /* ditto: where endpoints have the NIC's own MAC */
	int group_ingress;                  /* ditto: where multicast frames arrive */
};
/* Loads the programs and tests that sockets of gammad's namespace freeze. */
int gammad_kernel_load(struct gammad *gammad, struct gammad_programs *programs);
void gammad_kernel_unload(struct gammad_programs *programs);
uint64_t gammad_kernel_count_dropped(const struct gammad *gammad);
bool gammad_kernel_read_counts(const struct gammad *gammad, struct gammad_counts *counts);
/* A handle that was never used; 0: none is left. */
uint32_t gammad_kernel_new_handle(const struct gammad *gammad);
/* From here on the endpoint may send what its record permits, if its socket has that mark. */
int gammad_kernel_write_endpoint(const struct gammad *gammad, const struct gammad_endpoint *record);
void gammad_kernel_clear_endpoint(const struct gammad *gammad, uint32_t handle);
/* From here on frames to the NIC's MAC and the endpoint's port are delivered to its slot. */
int gammad_kernel_translate(const struct gammad *gammad, const struct gammad_endpoint *record,
			    const uint8_t slot_mac[GAMMA_MAC_LEN]);
void gammad_kernel_stop_translating(const struct gammad *gammad,
				    const struct gammad_endpoint *record);
/* Whether that is done for any endpoint of the NIC. */
bool gammad_kernel_is_translating(const struct gammad *gammad, int nic_ifindex);
/* Whether an endpoint is at this index (below GAMMAD_ENDPOINTS_MAX), and which. */
bool gammad_kernel_read_endpoint(const struct gammad *gammad, uint32_t index,
				 struct gammad_endpoint *record);

/* ---- attach.c: programs in the way of frames ---- */
/* To a slot; to a NIC, in the host's namespace. Replaces what is there in one step. */
int gammad_attach_slot(const struct gammad_programs *programs, bool translates, int ifindex);
/* To the NIC's interface for groups. */
int gammad_attach_groups(const struct gammad_programs *programs, int ifindex);
/* Has a thread make the links of the NIC's slots. The programs stay loaded. */
int gammad_attach_links(const struct gammad_nic *nic, const struct gammad_programs *programs);
int gammad_attach_nic(const struct gammad_programs *programs, bool translates, int ifindex);
/* Removes gammad's filters from the NIC; removes all links. */
void gammad_attach_leave_nic(int ifindex);
void gammad_attach_unpin(void);

/* ---- slots.c ---- */
int gammad_slots_make(struct gammad *gammad, const struct gammad_programs *programs);
/* Whether slots can be made on that interface, now or once it is up. */
bool gammad_slots_may_take(const struct gamma_nic *link);
/* In the host's namespace: makes the slots of a NIC, and what is to be there for it. Reads only
 * gammad's descriptors. 0 or a negative errno, with a line in the log. */
int gammad_slots_take_nic(const struct gammad *gammad, const struct gammad_programs *programs,
			  const struct gamma_nic *link, unsigned slot_count, bool own_address,
			  struct gammad_nic *nic);
/* In gammad's: sets these slots up. */
int gammad_slots_prepare(struct gammad_nic *nic, const struct gammad_programs *programs);
/* Gives the slots the NIC's current MTU. */
void gammad_slots_set_mtu(const struct gammad_nic *nic);
/* Removes them, and what is attached to the NICs. own_ns -1: there is no namespace. */
int gammad_slots_remove(int host_ns, int own_ns);
struct gammad_nic *gammad_slots_find_nic(struct gammad *gammad, const uint8_t mac[GAMMA_MAC_LEN]);

/* The NIC whose slot has that MAC, and the slot; NULL: none has. */
struct gammad_nic *gammad_slots_find(struct gammad *gammad, const uint8_t mac[GAMMA_MAC_LEN],
				     struct gammad_slot **slot);

/* ---- nics.c: NICs that come, go and change while gammad runs ---- */
/* Starts a thread in the host's namespace that watches its interfaces. Needs all privileges, and
 * drops them in that thread. */
int gammad_nics_watch(struct gammad *gammad, const struct gammad_programs *programs);
/* Takes over what the thread has found. */
void gammad_nics_handle_change(struct gammad *gammad);
/* As the interfaces of the host are now: follows MTU, state and MAC of the NICs that are served;
 * those that are missing from the list were removed. */
void gammad_nics_follow(struct gammad *gammad, const struct gamma_nic *links, size_t count);

/* ---- workers.c: what the kernel, or the host's name service, may take long for ---- */
int gammad_workers_start(struct gammad *gammad);
/* A thread does the job; gammad_workers_next_finished returns it afterwards. */
void gammad_workers_submit(struct gammad *gammad, struct gammad_job *job);
void gammad_workers_close(struct gammad *gammad, int fd);
/* True: no thread had taken the job; the caller frees it. False: it will be returned as
 * finished. */
bool gammad_workers_cancel(struct gammad_job *job);
/* A finished job, which the caller frees; NULL: there is none. */
struct gammad_job *gammad_workers_next_finished(struct gammad *gammad);

/* ---- open.c: endpoints ---- */
/* Finds the endpoints that were open before a restart. */
int gammad_open_restore(struct gammad *gammad);
/* Whether the client may have that endpoint; if so, the ring that its socket needs. */
enum gamma_broker_reason gammad_open_begin(struct gammad *gammad, struct gammad_client *client,
					   const struct gamma_broker_open *ask,
					   struct tpacket_req *ring);
/* Makes the endpoint from job's socket, which the caller closes. fds: for the client; the
 * caller closes the second one too. */
enum gamma_broker_reason gammad_open_end(struct gammad *gammad, struct gammad_client *client,
					 const struct gammad_job *job,
					 struct gamma_broker_opened *opened,
					 int fds[GAMMA_BROKER_FDS]);
/* The endpoint with that MAC and port (host order), or NULL. */
struct gammad_open *gammad_open_find(const struct gammad *gammad, const uint8_t mac[GAMMA_MAC_LEN],
				     uint16_t port);
/* The NIC was removed: its endpoints can do nothing more, and end with their programs. */
void gammad_open_lose_nic(struct gammad *gammad, const struct gammad_nic *nic);
/* Whether a program of the host that opened the NIC without gammad owns the port. */
bool gammad_open_host_owns_port(const struct gammad *gammad, const struct gammad_nic *nic,
				uint16_t port);
/* OK, or why this user may have no endpoints at all. */
enum gamma_broker_reason gammad_open_check_user(const struct gammad *gammad,
						const struct gammad_client *client);
/* Removes endpoints whose socket is closed everywhere. */
void gammad_open_sweep(struct gammad *gammad);
/* The same for a request that would be refused. A sweep reads a list of the kernel that may be
 * long, so that if one was just made, and no client has disconnected since, there is none. */
void gammad_open_sweep_before_refusal(struct gammad *gammad);
/* Memberships of a user's endpoints in multicast groups. */
unsigned gammad_open_count_memberships(const struct gammad *gammad, uid_t uid);
/* A user's requests of that type for which a socket is being made. */
unsigned gammad_open_count_jobs(const struct gammad *gammad, uid_t uid,
				enum gamma_broker_type type);
/* Whether some endpoints need regular sweeps: their client has disconnected, their process has not
 * been sent RESET_REVOKED yet, or they have left groups; or users' interfaces for groups are
 * unused.
 */
bool gammad_open_needs_sweep(const struct gammad *gammad);
/* Whether the latest of these was a while ago: requests that never pause must not prevent them. */
bool gammad_open_is_sweep_due(const struct gammad *gammad);
/* Revokes all endpoints of a user; returns how many. */
unsigned gammad_open_revoke(struct gammad *gammad, uid_t uid);

/* ---- groups.c: endpoints in multicast groups ---- */
enum gamma_broker_reason gammad_groups_begin_join(struct gammad *gammad,
						  const struct gammad_client *client,
						  const struct gamma_broker_group *ask,
						  struct gammad_job *job);
/* job: with the socket, if the client wants the group's frames. */
enum gamma_broker_reason gammad_groups_end_join(struct gammad *gammad,
						const struct gammad_client *client,
						const struct gammad_job *job,
						struct gamma_broker_joined *joined);
enum gamma_broker_reason gammad_groups_leave(struct gammad *gammad,
					     const struct gammad_client *client,
					     const struct gamma_broker_group *ask);
int gammad_groups_restore(struct gammad *gammad);
/* Bytes of the receive rings that an endpoint has for its groups. */
size_t gammad_groups_ring_bytes(const struct gammad_open *open);
/* Removes memberships whose socket is closed; all: all memberships of the endpoint. */
struct gammad_sockets;
void gammad_groups_sweep(struct gammad *gammad, struct gammad_open *open,
			 const struct gammad_sockets *sockets, bool all);

/* ---- group_interfaces.c: one for each user who is in groups, so that they cost nobody else ----
 */
/* For a user who joins: what the job has to make. Ends with gammad_group_interfaces_finish. */
void gammad_group_interfaces_begin(struct gammad *gammad, const struct gammad_nic *nic, uid_t uid,
				   struct gammad_job *job);
/* In a thread: does that, or removes one. */
void gammad_group_interfaces_work(struct gammad_job *job);
/* The interface on which the user's groups are; frames are led there from now on. */
int gammad_group_interfaces_take(struct gammad *gammad, const struct gammad_nic *nic, uid_t uid,
				 const struct gammad_job *job);
/* A membership there begins or ends. */
void gammad_group_interfaces_count_member(const struct gammad *gammad, uint32_t ifindex,
					  bool begins);
/* The job is done, or was cancelled. */
void gammad_group_interfaces_finish(const struct gammad_job *job);
/* Removes those that have been without memberships for a while. */
void gammad_group_interfaces_sweep(struct gammad *gammad, uint64_t now_ms);
bool gammad_group_interfaces_need_sweep(const struct gammad *gammad);
void gammad_group_interfaces_lose_nic(struct gammad *gammad, const struct gammad_nic *nic);
unsigned gammad_group_interfaces_count(const struct gammad *gammad, const struct gammad_nic *nic);
/* That of a membership from before a restart; then, removes those that nobody needs any more. */
int gammad_group_interfaces_restore(struct gammad *gammad, const struct gammad_open *open,
				    const struct gammad_member *record);
void gammad_group_interfaces_clean(const struct gammad *gammad);

/* ---- lookup.c ---- */
/* In the host's namespace: the socket for answers, and the one for requests to the NICs. */
int gammad_lookup_open_reply_socket(struct gammad_nic *nic);
int gammad_lookup_open_nics(struct gammad *gammad);
/* For requests to the slots. */
int gammad_lookup_open_slots(struct gammad *gammad);
void gammad_lookup_handle_nics(struct gammad *gammad);
void gammad_lookup_handle_slots(struct gammad *gammad);
void gammad_lookup_handle_port(struct gammad *gammad, struct gammad_open *open);
/* Sends RESET_REVOKED to the endpoint's process; false: try again later. */
bool gammad_lookup_send_revoked(const struct gammad *gammad, const struct gammad_open *open);

/* ---- discover.c ---- */
/* Answers a question about this host, to the NIC or to all, or passes question or answer on. False:
 * the frame is none. */
bool gammad_discover_answer(struct gammad *gammad, struct gammad_nic *nic, const uint8_t *frame,
			    size_t len);
/* Sends a frame with that payload, in front of which the head has room. */
void gammad_discover_send(const struct gammad *gammad, const struct gammad_nic *nic,
			  const uint8_t *to, const struct gamma_fields *fields, uint8_t *payload);

/* ---- via.c ---- */
/* Asks the host that the question names. */
void gammad_via_pass(struct gammad *gammad, const struct gammad_nic *nic, const uint8_t *frame,
		     const struct gamma_fields *question);
/* Passes a host's answer on to the one that asked. */
void gammad_via_return(struct gammad *gammad, const struct gammad_nic *nic, const uint8_t *frame,
		       const struct gamma_fields *answer);

/* ---- clients.c ---- */
/* Whether it is root, or a member of a group that gammad.conf allows now. */
bool gammad_clients_in_group(const struct gammad *gammad, const struct gammad_client *client);
int gammad_clients_listen(struct gammad *gammad);
void gammad_clients_accept(struct gammad *gammad);
void gammad_clients_handle_event(struct gammad *gammad, struct gammad_client *client,
				 uint32_t events);
/* Answers clients whose jobs are done. */
void gammad_clients_handle_finished(struct gammad *gammad);

/* ---- metrics.c: the state as text, for Prometheus ---- */
/* In the host's network namespace: listens, if gammad.conf wants it. 0 or -EIO, with a line in the
 * log. */
int gammad_metrics_listen(struct gammad *gammad);
void gammad_metrics_accept(struct gammad *gammad);
/* It has sent something, or has ended. */
void gammad_metrics_handle(struct gammad *gammad, struct gammad_metrics_reader *reader);
/* Writes the whole answer, its header included; returns its length. */
size_t gammad_metrics_format(const struct gammad *gammad, char *bytes, size_t room);

/* ---- gammad.c ---- */
bool gammad_watch_fd(struct gammad *gammad, int fd, enum gammad_watch *watch);
/* Reads the configuration in a thread; client: that waits for it, or NULL. 0 or -ENOMEM. */
int gammad_begin_reload(struct gammad *gammad, struct gammad_client *client);
/* 0, or -EINVAL: the old configuration stays in force. */
int gammad_finish_reload(struct gammad *gammad, const struct gammad_reading *reading);

#endif /* GAMMAD_H */
