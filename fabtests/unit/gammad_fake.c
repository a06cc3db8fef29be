// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gammad's other files and the kernel, as the tests need them. System calls that pass what the
 * tests do not play are the real ones (the linker's --wrap).
 */
#include "gammad_fake.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "link/packet_socket.h"
#include "nic/rtnetlink.h"
#include "unix/scm.h"

struct gammad_fake gammad_fake;
const uint8_t gammad_fake_nic[GAMMA_MAC_LEN] = {2, 0, 0, 0, 0, 0xff};
static struct gammad_endpoint records[GAMMAD_ENDPOINTS_MAX];
static uint32_t next_handle;
static const int group_users_fd = 1000; /* no descriptor */
static char revoked_path[64];

static void take_line(enum gamma_log_level level, const char *line)
{
	const size_t len = strlen(gammad_fake.log);

	(void) level;
	snprintf(gammad_fake.log + len, sizeof(gammad_fake.log) - len, "%s\n", line);
}

/* ---- kernel.c ---- */

uint64_t gammad_kernel_count_dropped(const struct gammad *gammad)
{
	(void) gammad;
	return 5;
}

bool gammad_kernel_read_counts(const struct gammad *gammad, struct gammad_counts *counts)
{
	(void) gammad;
	*counts = (struct gammad_counts){.opened = next_handle - GAMMAD_HANDLE_FIRST};
	return true;
}

uint32_t gammad_kernel_new_handle(const struct gammad *gammad)
{
	(void) gammad;
	return gammad_fake.no_handles ? 0 : next_handle++;
}

int gammad_kernel_write_endpoint(const struct gammad *gammad, const struct gammad_endpoint *record)
{
	(void) gammad;
	records[record->handle % GAMMAD_ENDPOINTS_MAX] = *record;
	return 0;
}

void gammad_kernel_clear_endpoint(const struct gammad *gammad, uint32_t handle)
{
	(void) gammad;
	memset(&records[handle % GAMMAD_ENDPOINTS_MAX], 0, sizeof(*records));
}

int gammad_kernel_translate(const struct gammad *gammad, const struct gammad_endpoint *record,
			    const uint8_t slot_mac[GAMMA_MAC_LEN])
{
	(void) gammad;
	gammad_fake.translated = record->port;
	memcpy(gammad_fake.translated_to, slot_mac, GAMMA_MAC_LEN);
	return 0;
}

void gammad_kernel_stop_translating(const struct gammad *gammad,
				    const struct gammad_endpoint *record)
{
	(void) gammad;
	if (gammad_fake.translated == record->port)
		gammad_fake.translated = 0;
}

bool gammad_kernel_is_translating(const struct gammad *gammad, int nic_ifindex)
{
	(void) gammad, (void) nic_ifindex;
	return gammad_fake.translated;
}

bool gammad_kernel_read_endpoint(const struct gammad *gammad, uint32_t index,
				 struct gammad_endpoint *record)
{
	(void) gammad;
	*record = records[index];
	return record->handle;
}

/* ---- attach.c, setup.c, log.c: what slots.c names and no test calls ---- */

int gammad_attach_slot(const struct gammad_programs *programs, bool translates, int ifindex)
{
	(void) programs, (void) translates, (void) ifindex;
	return 0;
}

int gammad_attach_groups(const struct gammad_programs *programs, int ifindex)
{
	(void) programs, (void) ifindex;
	return 0;
}

int gammad_attach_nic(const struct gammad_programs *programs, bool translates, int ifindex)
{
	(void) programs, (void) translates, (void) ifindex;
	return 0;
}

void gammad_attach_leave_nic(int ifindex)
{
	(void) ifindex;
}

void gammad_attach_unpin(void)
{
}

int gammad_setup_drop_privileges(void)
{
	return 0;
}

int gammad_attach_links(const struct gammad_nic *nic, const struct gammad_programs *programs)
{
	(void) nic, (void) programs;
	return 0;
}

int gammad_setup_enter_ns(int ns)
{
	(void) ns;
	return 0;
}

void gammad_log_set_quiet(bool quiet)
{
	(void) quiet;
}

/* ---- gammad.c ---- */

bool gammad_watch_fd(struct gammad *gammad, int fd, enum gammad_watch *watch)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};

	return !epoll_ctl(gammad->epoll, EPOLL_CTL_ADD, fd, &event);
}

int gammad_begin_reload(struct gammad *gammad, struct gammad_client *client)
{
	struct gammad_job *job = calloc(1, sizeof(*job));

	assert_non_null(job);
	job->fd = -1;
	job->client = client;
	job->reading = calloc(1, sizeof(*job->reading));
	assert_non_null(job->reading);
	client->job = job;
	gammad_workers_submit(gammad, job);
	return 0;
}

int gammad_finish_reload(struct gammad *gammad, const struct gammad_reading *reading)
{
	(void) gammad;
	return *reading->error ? -EINVAL : 0;
}

/* ---- workers.c: done at the next look, unless the test takes them back ---- */

void gammad_workers_submit(struct gammad *gammad, struct gammad_job *job)
{
	(void) gammad;
	gamma_list_append(&gammad_fake.jobs, &job->entry);
}

bool gammad_workers_cancel(struct gammad_job *job)
{
	if (!job->started)
		gamma_list_remove(&job->entry);
	return !job->started;
}

void gammad_workers_close(struct gammad *gammad, int fd)
{
	(void) gammad;
	if (fd < 0)
		return;
	close(fd);
	gammad_fake.closed++;
}

static bool wants_socket(const struct gammad_job *job)
{
	return !job->reading && !job->removes &&
	       (job->request.header.type != GAMMA_BROKER_JOIN || job->request.group.receives);
}

/* In place of gammad_group_interfaces_work. */
static void make_interface(struct gammad_job *job)
{
	if (job->removes)
		gammad_fake.removed = job->removes;
	if (job->makes_interface)
		job->interface = gammad_fake.make_errno
					 ? -gammad_fake.make_errno
					 : GAMMAD_FAKE_PAIRS + (int) gammad_fake.made++;
}

struct gammad_job *gammad_workers_next_finished(struct gammad *gammad)
{
	struct gammad_job *job;

	(void) gammad;
	if (gamma_list_empty(&gammad_fake.jobs))
		return NULL;
	job = gamma_list_first(&gammad_fake.jobs, struct gammad_job, entry);
	gamma_list_remove(&job->entry);
	make_interface(job);
	job->fd = wants_socket(job) ? gammad_fake_socket() : -1;
	return job;
}

/* ---- libbpf ---- */

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	(void) key, (void) flags;
	if (fd != group_users_fd)
		return 0;
	gammad_fake.led++;
	gammad_fake.led_to = *(const int *) value;
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	(void) fd, (void) key, (void) value;
	return -ENOENT;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	(void) key;
	if (fd == group_users_fd)
		gammad_fake.led--;
	return 0;
}

int bpf_map_get_next_key(int fd, const void *key, void *next)
{
	(void) fd, (void) key, (void) next;
	return -ENOENT;
}

struct ring_buffer *ring_buffer__new(int fd, ring_buffer_sample_fn call, void *data,
				     const struct ring_buffer_opts *opts)
{
	(void) fd, (void) data, (void) opts;
	gammad_fake.on_slot_frame = call;
	return (struct ring_buffer *) &gammad_fake;
}

int ring_buffer__epoll_fd(const struct ring_buffer *ring)
{
	(void) ring;
	return gammad_fake.gammad.spare_fd;
}

int ring_buffer__consume(struct ring_buffer *ring)
{
	(void) ring;
	return 0;
}

/* ---- system calls and what stands for some of them ---- */

int __wrap_gamma_rtnetlink_query(struct gamma_rtnetlink_request *request, mnl_cb_t reply,
				 void *data);
int __wrap_gamma_port_claim(const uint8_t mac[GAMMA_MAC_LEN], uint16_t *port);
int __wrap_gamma_packet_socket_set_filter(int fd, const struct gamma_packet_attr *attr);
ssize_t __wrap_gamma_scm_receive_bytes(int fd, void *bytes, size_t room, struct gamma_scm *scm);
ssize_t __real_gamma_scm_receive_bytes(int fd, void *bytes, size_t room, struct gamma_scm *scm);
int __wrap_ioctl(int fd, unsigned long request, void *argument);
ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t __real_recvmsg(int fd, struct msghdr *msg, int flags);
bool __wrap_gammad_ports_are_owned(const struct gammad_ports *ports,
				   const uint8_t mac[GAMMA_MAC_LEN], uint16_t port, int ifindex,
				   uint16_t ethertype);
int __wrap_bind(int fd, const struct sockaddr *name, socklen_t len);
int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t len);
int __real_setsockopt(int fd, int level, int option, const void *value, socklen_t len);
int __wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *len);
int __wrap_accept4(int fd, struct sockaddr *name, socklen_t *len, int flags);
ssize_t __wrap_recvfrom(int fd, void *bytes, size_t room, int flags, struct sockaddr *from,
			socklen_t *from_len);
ssize_t __wrap_sendto(int fd, const void *bytes, size_t len, int flags, const struct sockaddr *to,
		      socklen_t to_len);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__real_fopen(const char *path, const char *mode);

static int answer_errno(int error)
{
	errno = error;
	return error ? -1 : 0;
}

/* No interface is changed. */
int __wrap_gamma_rtnetlink_query(struct gamma_rtnetlink_request *request, mnl_cb_t reply,
				 void *data)
{
	(void) request, (void) reply, (void) data;
	gammad_fake.rtnetlink_requests++;
	return 0;
}

/* One end of a pair, whose other one the test has if it is the port on the NIC's own MAC. */
int __wrap_gamma_port_claim(const uint8_t mac[GAMMA_MAC_LEN], uint16_t *port)
{
	int pair[2];

	if (gammad_fake.claim_errno)
		return -gammad_fake.claim_errno;
	if (!*port)
		*port = 4000;
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
	if (memcmp(mac, gammad_fake_nic, GAMMA_MAC_LEN)) {
		close(pair[1]);
		return pair[0];
	}
	if (gammad_fake.port_wire >= 0)
		close(gammad_fake.port_wire);
	gammad_fake.port_wire = pair[1];
	return pair[0];
}

int __wrap_gamma_packet_socket_set_filter(int fd, const struct gamma_packet_attr *attr)
{
	(void) fd, (void) attr;
	return 0;
}

ssize_t __wrap_gamma_scm_receive_bytes(int fd, void *bytes, size_t room, struct gamma_scm *scm)
{
	const ssize_t len = __real_gamma_scm_receive_bytes(fd, bytes, room, scm);

	scm->sender.uid = gammad_fake.sender;
	return len;
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
	gammad_fake.most_control = gamma_max(gammad_fake.most_control, msg->msg_controllen);
	return __real_recvmsg(fd, msg, flags);
}

bool __wrap_gammad_ports_are_owned(const struct gammad_ports *ports,
				   const uint8_t mac[GAMMA_MAC_LEN], uint16_t port, int ifindex,
				   uint16_t ethertype)
{
	(void) ports, (void) port;
	assert_memory_equal(mac, gammad_fake_nic, GAMMA_MAC_LEN);
	assert_int_equal(ifindex, GAMMAD_FAKE_IFINDEX);
	assert_int_equal(ethertype, GAMMA_ETHERTYPE);
	if (gammad_fake.host_taken) {
		gammad_fake.host_taken--;
		return true;
	}
	return gammad_fake.host_owns;
}

int __wrap_bind(int fd, const struct sockaddr *name, socklen_t len)
{
	(void) fd;
	if (len == sizeof(struct sockaddr_ll))
		gammad_fake.bound_ifindex = ((const struct sockaddr_ll *) name)->sll_ifindex;
	return answer_errno(gammad_fake.bind_errno);
}

int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
	if (level == SOL_SOCKET && option == SO_MARK)
		return answer_errno(gammad_fake.mark_errno);
	if (level == SOL_PACKET && option == PACKET_FANOUT)
		return 0;
	if (level == SOL_PACKET && option == PACKET_ADD_MEMBERSHIP) {
		gammad_fake.member_ifindex = ((const struct packet_mreq *) value)->mr_ifindex;
		return 0;
	}
	return __real_setsockopt(fd, level, option, value, len);
}

/* No socket here is a NIC's. */
int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
	(void) fd, (void) argument;
	gammad_fake.drivers_asked += request == SIOCETHTOOL;
	return answer_errno(ENODEV);
}

int __wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *len)
{
	const struct ucred peer = {.pid = getpid(), .uid = gammad_fake.uid, .gid = gammad_fake.gid};

	(void) fd;
	if (level != SOL_SOCKET || (option != SO_PEERCRED && option != SO_PEERGROUPS))
		return answer_errno(ENOPROTOOPT);
	*len = option == SO_PEERCRED ? sizeof(peer) : sizeof(gammad_fake.group);
	memcpy(value, option == SO_PEERCRED ? (const void *) &peer : &gammad_fake.group, *len);
	return 0;
}

int __wrap_accept4(int fd, struct sockaddr *name, socklen_t *len, int flags)
{
	const int accepted = gammad_fake.accept_fd;

	(void) fd, (void) name, (void) len, (void) flags;
	errno = gammad_fake.accept_errno;
	gammad_fake.accept_fd = -1;
	return accepted;
}

ssize_t __wrap_recvfrom(int fd, void *bytes, size_t room, int flags, struct sockaddr *from,
			socklen_t *from_len)
{
	struct sockaddr_ll *address = (struct sockaddr_ll *) from;

	*address = (struct sockaddr_ll){.sll_ifindex = gammad_fake.arrival_ifindex,
					.sll_pkttype = gammad_fake.arrival_type};
	*from_len = sizeof(*address);
	return recv(fd, bytes, room, flags);
}

ssize_t __wrap_sendto(int fd, const void *bytes, size_t len, int flags, const struct sockaddr *to,
		      socklen_t to_len)
{
	(void) fd, (void) flags, (void) to, (void) to_len;
	assert_in_range(len, 1, GAMMAD_FAKE_FRAME);
	gammad_fake.frames++;
	gammad_fake.frame_len = len;
	memcpy(gammad_fake.frame, bytes, len);
	return gammad_fake.sendto_errno ? answer_errno(gammad_fake.sendto_errno) : (ssize_t) len;
}

/* The kernel's list of packet sockets. */
FILE *__wrap_fopen(const char *path, const char *mode)
{
	FILE *file;
	size_t i;

	if (!strstr(path, "net/packet"))
		return __real_fopen(path, mode);
	if (gammad_fake.list_fails) {
		errno = ENOENT;
		return NULL;
	}
	gammad_fake.lists_read++;
	file = tmpfile();
	assert_non_null(file);
	fprintf(file, "sk RefCnt Type Proto Iface R Rmem User Inode\n");
	for (i = 0; i < gammad_fake.inode_count; i++)
		fprintf(file, "0 3 3 88b5 2 1 0 0 %llu\n",
			(unsigned long long) gammad_fake.inodes[i]);
	rewind(file);
	return file;
}

/* ---- the tests' own side ---- */

const uint8_t *gammad_fake_slot(unsigned int number)
{
	return gammad_fake.slots[number].mac;
}

static void make_nic(struct gammad *gammad)
{
	struct gammad_nic *nic = &gammad->nics[0];
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
	*nic = (struct gammad_nic){
		.name = "fake0",
		.ifindex = GAMMAD_FAKE_IFINDEX,
		.mtu = 1500,
		.fd = pair[0],
		.slot_count = GAMMAD_FAKE_SLOTS,
		.slots = gammad_fake.slots,
		.groups = {.ifindex = GAMMAD_FAKE_GROUPS},
	};
	memcpy(nic->mac, gammad_fake_nic, GAMMA_MAC_LEN);
	gammad->conf.nic_count = 1;
	strcpy(gammad->conf.nics[0].name, nic->name);
	gammad_fake.nic_wire = pair[1];
	gammad->nic_count = 1;
	for (unsigned i = 0; i < GAMMAD_FAKE_SLOTS; i++) {
		const uint8_t mac[GAMMA_MAC_LEN] = {2, 0, 0, 0, 1, (uint8_t) i};

		memcpy(gammad_fake.slots[i].mac, mac, GAMMA_MAC_LEN);
		gammad_fake.slots[i].ifindex = 100 + (int) i;
	}
}

int gammad_fake_setup(void **state)
{
	struct gammad *gammad = &gammad_fake.gammad;
	int pair[2];

	memset(&gammad_fake, 0, sizeof(gammad_fake));
	memset(records, 0, sizeof(records));
	next_handle = GAMMAD_HANDLE_FIRST;
	gammad_fake.uid = GAMMAD_FAKE_USER;
	gammad_fake.gid = gammad_fake.group = GAMMAD_FAKE_GROUP;
	gammad_fake.accept_fd = gammad_fake.port_wire = -1;
	gammad_fake.arrival_ifindex = GAMMAD_FAKE_IFINDEX;
	gamma_list_init(&gammad_fake.jobs);
	gamma_list_init(&gammad->clients);
	gamma_list_init(&gammad->opens);
	gamma_list_init(&gammad->group_interfaces);
	gammad->group_users_map = group_users_fd;
	gammad->conf = (struct gammad_conf){
		.ring_bytes = 1 << 20, .ethertype = GAMMA_ETHERTYPE, .limit = 2};
	snprintf(revoked_path, sizeof(revoked_path), "/tmp/gamma-test-revoked-%d", (int) getpid());
	assert_int_equal(gammad_revoked_load(&gammad->revoked, revoked_path), 0);
	gammad->epoll = epoll_create1(EPOLL_CLOEXEC);
	gammad->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	/* Its queue is longer than that of datagrams. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	gammad->nics_fd = pair[0];
	gammad_fake.nics_wire = pair[1];
	make_nic(gammad);
	gamma_log_set_sink(take_line);
	*state = gammad;
	return 0;
}

int gammad_fake_teardown(void **state)
{
	struct gammad *gammad = *state;
	const int fds[] = {gammad->epoll,        gammad->spare_fd,     gammad->nics_fd,
			   gammad->nics[0].fd,   gammad_fake.nic_wire, gammad_fake.nics_wire,
			   gammad_fake.port_wire};
	struct gamma_list *pos, *next;

	/* Every socket is closed by now: this takes all endpoints out. */
	gammad_fake.inode_count = 0;
	gammad_fake.list_fails = false;
	gammad_open_sweep(gammad);
	gammad_group_interfaces_sweep(gammad, gammad->swept_ms + GAMMAD_GROUP_KEEP_MS);
	gammad_fake_work();
	gamma_list_for_each_safe (pos, next, &gammad->clients) {
		struct gammad_client *client = gamma_list_entry(pos, struct gammad_client, entry);

		gamma_list_remove(&client->entry);
		if (client->fd >= 0)
			close(client->fd);
		free(client);
	}
	for (size_t i = 0; i < gamma_array_size(fds); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	gammad_revoked_clear(&gammad->revoked);
	free(gammad->revoked.uids);
	return !gamma_list_empty(&gammad->opens) || !gamma_list_empty(&gammad_fake.jobs) ||
	       !gamma_list_empty(&gammad->group_interfaces) || gammad_fake.led;
}

void gammad_fake_work(void)
{
	gammad_clients_handle_finished(&gammad_fake.gammad);
}

int gammad_fake_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct stat st;

	assert_true(fd >= 0 && !fstat(fd, &st) && gammad_fake.inode_count < GAMMAD_FAKE_SOCKETS);
	gammad_fake.inodes[gammad_fake.inode_count++] = st.st_ino;
	return fd;
}

void gammad_fake_close_socket(const struct gammad_open *open)
{
	for (size_t i = 0; i < gammad_fake.inode_count; i++) {
		if (gammad_fake.inodes[i] == open->record.inode)
			gammad_fake.inodes[i] = 0;
	}
}

struct gammad_client *gammad_fake_client(uid_t uid)
{
	struct gammad_client *client = calloc(1, sizeof(*client));

	assert_non_null(client);
	client->watch = GAMMAD_WATCH_CLIENT;
	client->fd = -1;
	client->uid = uid;
	client->pid = getpid();
	client->gid = gammad_fake.gid;
	gamma_list_append(&gammad_fake.gammad.clients, &client->entry);
	return client;
}

struct gamma_broker_open gammad_fake_request(uint16_t port)
{
	struct gamma_broker_open ask = {.port = port, .epoch = 9, .ethertype = GAMMA_ETHERTYPE};

	gamma_broker_message_init_header(&ask.header, GAMMA_BROKER_OPEN, sizeof(ask),
					 GAMMA_BROKER_OK);
	memcpy(ask.mac, gammad_fake_nic, GAMMA_MAC_LEN);
	return ask;
}

struct gammad_open *gammad_fake_open(uid_t uid, uint16_t port)
{
	struct gammad *gammad = &gammad_fake.gammad;
	struct gammad_client *client = gammad_fake_client(uid);
	struct gammad_job job = {.client = client, .fd = gammad_fake_socket()};
	struct gamma_broker_opened opened = {0};
	int fds[GAMMA_BROKER_FDS];
	enum gamma_broker_reason reason;

	job.request.open = gammad_fake_request(port);
	reason = gammad_open_end(gammad, client, &job, &opened, fds);
	close(job.fd);
	if (!reason)
		close(fds[1]);
	return client->open;
}

struct gammad_endpoint gammad_fake_record(uint32_t handle)
{
	return records[handle % GAMMAD_ENDPOINTS_MAX];
}

void gammad_fake_restore(const struct gammad_endpoint *record)
{
	records[record->handle % GAMMAD_ENDPOINTS_MAX] = *record;
}
