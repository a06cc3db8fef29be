// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Answers LOOKUP requests: to the NIC's own MAC, which gamma.conf lists; on the host to the
 * AF_UNIX name of that MAC and port; and to the slots' MACs, from peers that have not heard of an
 * endpoint for long. The answer contains the endpoint's own MAC.
 */
#include "gammad/gammad.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "gammad/linger.h"
#include "base/mac.h"
#include "unix/scm.h"
#include "link/port.h"
#include "wire/codec.h"

enum {
	FRAME_MAX = GAMMA_ETH_LEN + GAMMA_HEADER_MAX,
	ANSWERS_MAX = 8,
	VERSION_PAUSE_S = 60, /* s between two log lines about other versions */
};

/* ---- the sockets of the NICs ---- */

enum {
	AT_ETHERTYPE = 12,
	AT_KIND = GAMMA_ETH_LEN + offsetof(struct gamma_header, version_kind),
	AT_OP = GAMMA_ETH_LEN + offsetof(struct gamma_header, op),
};

/* Only LOOKUP requests to this host or to all, and answers about hosts. */
static int filter(int fd, uint16_t ethertype)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t) (SKF_AD_OFF + SKF_AD_PKTTYPE)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, PACKET_BROADCAST, 12, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t) (SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 10),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, AT_ETHERTYPE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ethertype, 0, 8),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AT_KIND),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x0f),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GAMMA_KIND_LOOKUP, 0, 5),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AT_OP),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GAMMA_LOOKUP_ASK, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, GAMMA_LOOKUP_HOST_ASK, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, GAMMA_LOOKUP_HOST_VIA, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0x40000),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {.len = gamma_array_size(code), .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

static int open_socket(int ifindex, uint16_t protocol, int *fd)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = ifindex,
	};
	int ret;

	*fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ret = *fd < 0 ? -errno : protocol ? filter(*fd, protocol) : 0;
	if (!ret && bind(*fd, (struct sockaddr *) &address, sizeof(address)))
		ret = -errno;
	if (ret)
		gamma_warn("LOOKUP requests cannot be received: %s; start gammad as root",
			   strerror(-ret));
	return ret;
}

int gammad_lookup_open_reply_socket(struct gammad_nic *nic)
{
	return open_socket(nic->ifindex, 0, &nic->fd);
}

/* For all interfaces of the host: a socket on one NIC would see each frame of its slots. */
int gammad_lookup_open_nics(struct gammad *gammad)
{
	int ret = open_socket(0, gammad->conf.ethertype, &gammad->nics_fd);

	gammad->nics_watch = GAMMAD_WATCH_NICS;
	return ret || gammad_watch_fd(gammad, gammad->nics_fd, &gammad->nics_watch) ? ret : -EIO;
}

/* ---- answers ---- */

static void own_address(const struct gammad *gammad, const struct gammad_open *open,
			struct gamma_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	memcpy(addr->mac, open->record.mac, GAMMA_MAC_LEN);
	addr->port = open->record.port;
	addr->epoch = htonl(open->record.epoch);
	addr->version = GAMMA_ADDR_VERSION;
	addr->mtu = htons((uint16_t) gamma_min(open->nic->mtu, UINT16_MAX));
	addr->host = gammad->host;
}

/* Builds the answer so that it ends with room; returns its first byte, and its length in *len.
 * src: the MAC that was asked; open NULL: nobody has the port. */
static uint8_t *build_answer(const struct gammad *gammad, const struct gammad_open *open,
			     const uint8_t *requester, const uint8_t *src,
			     const struct gamma_fields *request,
			     uint8_t room[FRAME_MAX + GAMMA_ADDR_LEN], size_t *len)
{
	bool same_tenant = open && htonl(request->tenant) == open->record.tenant;
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_LOOKUP,
		.op = same_tenant ? GAMMA_LOOKUP_FOUND
		      : open      ? GAMMA_LOOKUP_OTHER_TENANT
				  : GAMMA_LOOKUP_NO_PORT,
		.dst_port = request->src_port,
		.src_port = open ? ntohs(open->record.port) : request->dst_port,
		.tenant = open ? ntohl(open->record.tenant) : request->tenant,
		.src_epoch = same_tenant ? open->record.epoch : GAMMA_EPOCH_ANY,
		.dst_epoch = request->src_epoch,
		.seq = request->seq,
		.payload_len = same_tenant ? GAMMA_ADDR_LEN : 0,
	};
	struct gamma_addr addr = {0};

	if (same_tenant)
		own_address(gammad, open, &addr);
	memcpy(room + FRAME_MAX, &addr, sizeof(addr));
	if (same_tenant && request->flags & GAMMA_FLAG_WANT_CRC) {
		fields.extensions = GAMMA_EXT_PAYLOAD_CRC;
		fields.payload_crc = gamma_crc32c(0, &addr, sizeof(addr));
	}
	room = gamma_codec_build(&fields, requester, src, gammad->conf.ethertype, room + FRAME_MAX);
	*len = (size_t) GAMMA_ETH_LEN + fields.header_len + fields.payload_len;
	return room;
}

/* A number may have been given to another process since; a descriptor stays with its own. */
static bool process_has_ended(const struct gammad_open *open)
{
	struct pollfd process = {.fd = open->pidfd, .events = POLLIN};
	pid_t pid = (pid_t) open->record.pid;

	if (open->pidfd >= 0)
		return poll(&process, 1, 0) > 0;
	return pid && kill(pid, 0) && errno == ESRCH;
}

/* An endpoint that only a child of a dead process still has would never answer. */
static bool is_alive(const struct gammad_open *open)
{
	return !open->record.revoked && !open->gone && !process_has_ended(open);
}

static bool is_asked_for(const struct gammad_open *open, const struct gammad_nic *nic,
			 const struct gamma_fields *request)
{
	return open->nic == nic &&
	       (request->dst_port == GAMMA_PORT_ANY ||
		htons(request->dst_port) == open->record.port) &&
	       is_alive(open);
}

/* Hosts of another release get no answer, and would say no more than that they got none. */
static void warn_version(const uint8_t *frame)
{
	static time_t last;
	char mac[GAMMA_MAC_TEXT_LEN];
	time_t now = time(NULL);

	if (now < last + VERSION_PAUSE_S)
		return;
	last = now;
	gamma_warn("%s asks in version %u of the protocol, this is %u: install the same release of "
		   "gamma on all hosts, and restart gammad",
		   gamma_mac_format(frame + GAMMA_MAC_LEN, mac),
		   frame[GAMMA_ETH_LEN + offsetof(struct gamma_header, version_kind)] >> 4,
		   GAMMA_VERSION);
}

static bool is_request(const uint8_t *frame, size_t len, struct gamma_fields *request)
{
	enum gamma_malformed malformed = gamma_codec_parse(frame, len, request);

	if (malformed == GAMMA_BAD_VERSION)
		warn_version(frame);
	return malformed == GAMMA_OK && request->kind == GAMMA_KIND_LOOKUP &&
	       request->op == GAMMA_LOOKUP_ASK;
}

/* frame: the request, which was sent to src. */
static void send_answer(const struct gammad *gammad, const struct gammad_nic *nic,
			const struct gammad_open *open, const uint8_t *frame,
			const struct gamma_fields *request)
{
	uint8_t room[FRAME_MAX + GAMMA_ADDR_LEN];
	const uint8_t *made;
	size_t len;

	made = build_answer(gammad, open, frame + GAMMA_MAC_LEN, frame, request, room, &len);
	/* If the queue is full the answer is lost: requesters repeat their requests. */
	if (send(nic->fd, made, len, MSG_DONTWAIT) < 0 && errno != EAGAIN)
		gamma_info("%s: a LOOKUP answer was not sent: %s; is the NIC up?", nic->name,
			   strerror(errno));
}

static void answer_all(struct gammad *gammad, struct gammad_nic *nic, const uint8_t *frame,
		       const struct gamma_fields *request)
{
	struct gamma_list *pos;
	unsigned answers = 0;

	gamma_list_for_each (pos, &gammad->opens) {
		const struct gammad_open *open = gamma_list_entry(pos, struct gammad_open, entry);

		if (is_asked_for(open, nic, request) && answers++ < ANSWERS_MAX)
			send_answer(gammad, nic, open, frame, request);
	}
	/* To any port: the host is there, but has no endpoint of gammad's. */
	if (!answers && (request->dst_port == GAMMA_PORT_ANY ||
			 !gammad_open_host_owns_port(gammad, nic, request->dst_port)))
		send_answer(gammad, nic, NULL, frame, request);
}

/* The endpoint gets the request too, but may not poll; if it is gone only gammad can answer.
 * The answer leaves through the NIC, where frames are not checked. */
static void answer_on_slot(struct gammad *gammad, const uint8_t *frame,
			   const struct gamma_fields *request)
{
	struct gammad_open *open = gammad_open_find(gammad, frame, request->dst_port);
	struct gammad_slot *slot;
	struct gammad_nic *nic = gammad_slots_find(gammad, frame, &slot);

	if (nic && request->dst_port != GAMMA_PORT_ANY)
		send_answer(gammad, nic, open && is_alive(open) ? open : NULL, frame, request);
}

static struct gammad_nic *nic_at(struct gammad *gammad, int ifindex)
{
	for (unsigned i = 0; i < gammad->nic_count; i++) {
		if (gammad->nics[i].ifindex == ifindex)
			return &gammad->nics[i];
	}
	return NULL;
}

void gammad_lookup_handle_nics(struct gammad *gammad)
{
	uint8_t frame[UINT16_MAX];
	struct gamma_fields request;

	for (int i = 0; i < GAMMAD_BURST_MAX; i++) {
		struct sockaddr_ll from = {0};
		socklen_t from_len = sizeof(from);
		ssize_t len = recvfrom(gammad->nics_fd, frame, sizeof(frame), MSG_DONTWAIT,
				       (struct sockaddr *) &from, &from_len);
		struct gammad_nic *nic;

		if (len < 0)
			return;
		nic = nic_at(gammad, from.sll_ifindex);
		if (!nic || gammad_discover_answer(gammad, nic, frame, (size_t) len))
			continue;
		if (from.sll_pkttype == PACKET_HOST && is_request(frame, (size_t) len, &request))
			answer_all(gammad, nic, frame, &request);
	}
}

/* ---- lookups to the slots, as the program at their entrance has taken them down ---- */

_Static_assert((int) GAMMAD_KIND_LOOKUP == (int) GAMMA_KIND_LOOKUP &&
		       (int) GAMMAD_OP_ASK == (int) GAMMA_LOOKUP_ASK,
	       "the program knows a question");

static int handle_slot_frame(void *data, void *bytes, size_t size)
{
	struct gammad *gammad = data;
	const struct gammad_lookup_frame *question = bytes;
	const uint8_t *frame = question->frame;
	struct gamma_fields request;

	if (size >= sizeof(*question) &&
	    (frame[AT_ETHERTYPE] << 8 | frame[AT_ETHERTYPE + 1]) == gammad->conf.ethertype &&
	    is_request(frame, question->len, &request))
		answer_on_slot(gammad, frame, &request);
	return ++gammad->lookups_handled < GAMMAD_BURST_MAX ? 0 : -EAGAIN;
}

int gammad_lookup_open_slots(struct gammad *gammad)
{
	gammad->slots_watch = GAMMAD_WATCH_SLOTS;
	gammad->lookups = ring_buffer__new(gammad->lookups_map, handle_slot_frame, gammad, NULL);
	if (gammad->lookups &&
	    gammad_watch_fd(gammad, ring_buffer__epoll_fd(gammad->lookups), &gammad->slots_watch))
		return 0;
	gamma_warn("LOOKUP requests to slots cannot be received: %s; start gammad as root",
		   strerror(errno));
	return -EIO;
}

void gammad_lookup_handle_slots(struct gammad *gammad)
{
	gammad->lookups_handled = 0;
	ring_buffer__consume(gammad->lookups);
}

/* ---- requests from programs of this host ---- */

/* No request carries descriptors. The kernel drops them in one call, which one signal ends. */
static ssize_t receive(const struct gammad_open *open, void *frame, size_t room, uid_t *sender)
{
	struct gamma_scm scm;
	ssize_t len;

	gammad_linger_begin();
	len = gamma_scm_receive_bytes(open->port_fd, frame, room, &scm);
	gammad_linger_end();
	*sender = scm.sender.uid;
	return len;
}

void gammad_lookup_handle_port(struct gammad *gammad, struct gammad_open *open)
{
	uint8_t frame[GAMMA_ETH_LEN + UINT16_MAX], room[FRAME_MAX + GAMMA_ADDR_LEN];
	struct gamma_fields request;
	struct sockaddr_un name;
	uid_t sender;

	for (int i = 0; i < GAMMAD_BURST_MAX; i++) {
		const uint8_t *requester = frame + GAMMA_MAC_LEN, *made;
		ssize_t len = receive(open, frame, sizeof(frame), &sender);
		size_t made_len;

		if (len < 0)
			return;
		if (!is_request(frame, (size_t) len, &request) || !open->nic ||
		    (sender && sender != request.tenant) ||
		    !is_asked_for(open, open->nic, &request))
			continue;
		made = build_answer(gammad, open, requester, open->nic->mac, &request, room,
				    &made_len);
		sendto(open->port_fd, made, made_len, MSG_DONTWAIT | MSG_NOSIGNAL,
		       (struct sockaddr *) &name,
		       gamma_port_name(requester, request.src_port, &name));
	}
}

/* ---- news for an endpoint ---- */

bool gammad_lookup_send_revoked(const struct gammad *gammad, const struct gammad_open *open)
{
	const struct gammad_endpoint *record = &open->record;
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_RESET,
		.op = GAMMA_RESET_REVOKED,
		.dst_port = ntohs(record->port),
		.src_port = ntohs(record->port),
		.tenant = ntohl(record->tenant),
		.dst_epoch = record->epoch,
	};
	uint8_t room[FRAME_MAX];
	struct sockaddr_un name;
	const uint8_t *frame;

	if (!open->nic || open->port_fd < 0)
		return true;
	frame = gamma_codec_build(&fields, record->mac, open->nic->mac, gammad->conf.ethertype,
				  room + FRAME_MAX);
	/* Its queue may be full; or the program has closed it, and only its packet socket is
	 * still open. */
	return sendto(open->port_fd, frame, (size_t) GAMMA_ETH_LEN + fields.header_len,
		      MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *) &name,
		      gamma_port_name(record->mac, ntohs(record->port), &name)) >= 0 ||
	       errno != EAGAIN;
}
