// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gammad/lookup.c: which requesters get the address of an endpoint. */
#include "gammad_fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { REQUESTER_PORT = 40, FRAME_MAX = GAMMA_ETH_LEN + GAMMA_HEADER_MAX };

static const uint8_t requester[GAMMA_MAC_LEN] = {2, 0, 0, 0, 9, 9};

/* A LOOKUP request to that MAC as a frame; returns its length. */
static size_t make_request(uint8_t *frame, const uint8_t *mac, uint16_t port, uint32_t tenant,
			   uint8_t flags)
{
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_LOOKUP,
		.op = GAMMA_LOOKUP_ASK,
		.flags = flags,
		.dst_port = port,
		.src_port = REQUESTER_PORT,
		.tenant = tenant,
		.src_epoch = 77,
		.seq = 5,
	};
	uint8_t room[FRAME_MAX];
	const uint8_t *made =
		gamma_codec_build(&fields, mac, requester, GAMMA_ETHERTYPE, room + FRAME_MAX);
	const size_t len = (size_t) GAMMA_ETH_LEN + fields.header_len;

	memcpy(frame, made, len);
	return len;
}

/* To the NIC, over the wire. */
static void ask_nic(struct gammad *gammad, uint16_t port, uint32_t tenant, uint8_t flags)
{
	uint8_t frame[FRAME_MAX];
	const size_t len = make_request(frame, gammad_fake_nic, port, tenant, flags);

	assert_int_equal(send(gammad_fake.nics_wire, frame, len, 0), len);
	gammad_lookup_handle_nics(gammad);
}

/* The next answer on the wire; false: there is none. */
static bool next_answer(struct gamma_fields *fields, struct gamma_addr *addr)
{
	uint8_t frame[GAMMAD_FAKE_FRAME];
	const ssize_t len = recv(gammad_fake.nic_wire, frame, sizeof(frame), MSG_DONTWAIT);

	if (len < 0)
		return false;
	assert_int_equal(gamma_codec_parse(frame, (size_t) len, fields), GAMMA_OK);
	assert_int_equal(fields->kind, GAMMA_KIND_LOOKUP);
	assert_memory_equal(frame, requester, GAMMA_MAC_LEN);
	memset(addr, 0, sizeof(*addr));
	if (fields->payload_len)
		memcpy(addr, frame + GAMMA_ETH_LEN + fields->header_len, sizeof(*addr));
	return true;
}

static uint8_t answer_op(void)
{
	struct gamma_fields fields;
	struct gamma_addr addr;

	assert_true(next_answer(&fields, &addr));
	return fields.op;
}

static void assert_no_answer(void)
{
	struct gamma_fields fields;
	struct gamma_addr addr;

	assert_false(next_answer(&fields, &addr));
}

/* ---- to the NIC ---- */

static void nic__gives_the_owner_the_endpoints_address(void **state)
{
	const struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 8);
	struct gamma_fields fields;
	struct gamma_addr addr;

	ask_nic(*state, 8, GAMMAD_FAKE_USER, 0);
	assert_true(next_answer(&fields, &addr));
	assert_int_equal(fields.op, GAMMA_LOOKUP_FOUND);
	assert_int_equal(fields.dst_port, REQUESTER_PORT);
	assert_int_equal(fields.dst_epoch, 77);
	assert_int_equal(fields.seq, 5);
	assert_memory_equal(addr.mac, open->slot->mac, GAMMA_MAC_LEN);
	assert_int_equal(addr.port, htons(8));
	assert_int_equal(addr.epoch, htonl(9));
	assert_int_equal(addr.mtu, htons(1500));
	assert_no_answer();
}

static void nic__gives_another_user_no_address(void **state)
{
	struct gamma_fields fields;
	struct gamma_addr addr;

	gammad_fake_open(GAMMAD_FAKE_USER, 8);
	ask_nic(*state, 8, GAMMAD_FAKE_OTHER, 0);
	assert_true(next_answer(&fields, &addr));
	assert_int_equal(fields.op, GAMMA_LOOKUP_OTHER_TENANT);
	assert_int_equal(fields.payload_len, 0);
	assert_int_equal(fields.src_epoch, GAMMA_EPOCH_ANY);
}

static void nic__answers_that_the_port_has_no_owner(void **state)
{
	gammad_fake_open(GAMMAD_FAKE_USER, 8);
	ask_nic(*state, 9, GAMMAD_FAKE_USER, 0);
	assert_int_equal(answer_op(), GAMMA_LOOKUP_NO_PORT);
}

/* The program itself answers. */
static void nic__leaves_the_ports_of_programs_of_the_host_to_them(void **state)
{
	gammad_fake.host_owns = true;
	ask_nic(*state, 9, GAMMAD_FAKE_USER, 0);
	assert_no_answer();
}

static void nic__asked_for_any_port_names_every_endpoint(void **state)
{
	gammad_fake_open(GAMMAD_FAKE_USER, 8);
	gammad_fake_open(GAMMAD_FAKE_OTHER, 9);
	ask_nic(*state, GAMMA_PORT_ANY, GAMMAD_FAKE_USER, 0);
	assert_int_equal(answer_op(), GAMMA_LOOKUP_FOUND);
	assert_int_equal(answer_op(), GAMMA_LOOKUP_OTHER_TENANT);
	assert_no_answer();
}

static void nic__asked_for_any_port_without_endpoints_answers_for_the_host(void **state)
{
	ask_nic(*state, GAMMA_PORT_ANY, GAMMAD_FAKE_USER, 0);
	assert_int_equal(answer_op(), GAMMA_LOOKUP_NO_PORT);
	assert_no_answer();
}

static void nic__of_a_dead_process_has_no_port(void **state)
{
	struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 8);

	open->record.pid = INT_MAX;
	close(open->pidfd);
	open->pidfd = -1;
	ask_nic(*state, 8, GAMMAD_FAKE_USER, 0);
	assert_int_equal(answer_op(), GAMMA_LOOKUP_NO_PORT);
}

/* Its number may be another process's by now: the descriptor is believed. */
static void nic__of_a_process_that_has_ended_has_no_port(void **state)
{
	struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 8);
	const pid_t child = fork();

	if (!child)
		_exit(0);
	close(open->pidfd);
	open->pidfd = (int) syscall(SYS_pidfd_open, child, 0);
	assert_true(open->pidfd >= 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	ask_nic(*state, 8, GAMMAD_FAKE_USER, 0);
	assert_int_equal(answer_op(), GAMMA_LOOKUP_NO_PORT);
}

static void nic__of_a_revoked_endpoint_has_no_port(void **state)
{
	gammad_fake_open(GAMMAD_FAKE_USER, 8);
	gammad_open_revoke(*state, GAMMAD_FAKE_USER);
	ask_nic(*state, 8, GAMMAD_FAKE_USER, 0);
	assert_int_equal(answer_op(), GAMMA_LOOKUP_NO_PORT);
}

static void nic__adds_a_checksum_if_asked(void **state)
{
	struct gamma_fields fields;
	struct gamma_addr addr;

	gammad_fake_open(GAMMAD_FAKE_USER, 8);
	ask_nic(*state, 8, GAMMAD_FAKE_USER, GAMMA_FLAG_WANT_CRC);
	assert_true(next_answer(&fields, &addr));
	assert_true(fields.extensions & GAMMA_EXT_PAYLOAD_CRC);
	assert_int_equal(fields.payload_crc, gamma_crc32c(0, &addr, sizeof(addr)));
}

static void nic__not_configured_is_ignored(void **state)
{
	gammad_fake_open(GAMMAD_FAKE_USER, 8);
	gammad_fake.arrival_ifindex++;
	ask_nic(*state, 8, GAMMAD_FAKE_USER, 0);
	assert_no_answer();
}

static void nic__malformed_frame_is_ignored(void **state)
{
	uint8_t frame[FRAME_MAX];
	const size_t len = make_request(frame, gammad_fake_nic, 8, GAMMAD_FAKE_USER, 0);

	gammad_fake_open(GAMMAD_FAKE_USER, 8);
	frame[len - 1] ^= 1;
	send(gammad_fake.nics_wire, frame, len, 0);
	send(gammad_fake.nics_wire, frame, GAMMA_ETH_LEN, 0);
	gammad_lookup_handle_nics(*state);
	assert_no_answer();
}

static void nic__in_a_flood_gives_way_to_others(void **state)
{
	const struct gammad *gammad = *state;
	uint8_t frame[FRAME_MAX];
	const size_t len = make_request(frame, gammad_fake_nic, 8, GAMMAD_FAKE_USER, 0);
	unsigned int rounds = 0;

	gammad_fake.arrival_ifindex = 0;
	for (int i = 0; i <= GAMMAD_BURST_MAX; i++)
		assert_int_equal(send(gammad_fake.nics_wire, frame, len, 0), len);
	do {
		gammad_lookup_handle_nics(*state);
		rounds++;
	} while (recv(gammad->nics_fd, frame, 1, MSG_DONTWAIT | MSG_PEEK) > 0);
	assert_int_equal(rounds, 2);
}

/* ---- about the host ---- */

static const uint8_t other_host[GAMMA_MAC_LEN] = {2, 0, 0, 0, 7, 7};

/* A question with payload bytes, to that MAC. about: the MAC at its beginning, or NULL. */
static void ask_about(struct gammad *gammad, const uint8_t *mac, uint8_t op, uint16_t payload,
		      const uint8_t *about)
{
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_LOOKUP,
		.op = op,
		.src_port = REQUESTER_PORT,
		.src_epoch = 77,
		.seq = 5,
		.payload_len = payload,
	};
	uint8_t room[FRAME_MAX + 1000] = {0};
	const uint8_t *made;
	size_t len;

	if (about)
		memcpy(room + FRAME_MAX, about, GAMMA_MAC_LEN);
	made = gamma_codec_build(&fields, mac, requester, GAMMA_ETHERTYPE, room + FRAME_MAX);
	len = (size_t) GAMMA_ETH_LEN + fields.header_len + payload;
	assert_int_equal(send(gammad_fake.nics_wire, made, len, 0), len);
	gammad_lookup_handle_nics(gammad);
}

static void ask_host(struct gammad *gammad, const uint8_t *mac, uint8_t op, uint16_t payload)
{
	ask_about(gammad, mac, op, payload, NULL);
}

static void assert_host(size_t payload)
{
	uint8_t frame[GAMMAD_FAKE_FRAME];
	const ssize_t len = recv(gammad_fake.nic_wire, frame, sizeof(frame), MSG_DONTWAIT);
	struct gamma_fields fields;
	struct gamma_host host;

	assert_int_equal(len, GAMMA_ETH_LEN + GAMMA_HEADER_LEN + payload);
	assert_int_equal(gamma_codec_parse(frame, (size_t) len, &fields), GAMMA_OK);
	assert_int_equal(fields.op, GAMMA_LOOKUP_HOST);
	assert_memory_equal(frame, requester, GAMMA_MAC_LEN);
	assert_memory_equal(frame + GAMMA_MAC_LEN, gammad_fake_nic, GAMMA_MAC_LEN);
	assert_int_equal(fields.dst_port, REQUESTER_PORT);
	assert_int_equal(fields.dst_epoch, 77);
	assert_int_equal(fields.seq, 5);
	assert_int_equal(fields.src_epoch, 0);
	memcpy(&host, frame + GAMMA_ETH_LEN + GAMMA_HEADER_LEN, sizeof(host));
	assert_memory_equal(host.mac, gammad_fake_nic, GAMMA_MAC_LEN);
	assert_int_equal(ntohs(host.mtu), 1500);
	assert_int_equal(host.version, 1);
	assert_int_equal(host.release[0], GAMMA_VERSION_MAJOR);
	assert_int_equal(host.release[1], GAMMA_VERSION_MINOR);
	assert_int_equal(ntohs(host.slots), GAMMAD_FAKE_SLOTS);
	assert_int_equal(ntohs(host.endpoints), 1);
	assert_int_equal(host.name[sizeof(host.name) - 1], 0);
}

static void host__is_described_to_the_one_that_asks(void **state)
{
	gammad_fake_open(GAMMAD_FAKE_USER, 8);
	ask_host(*state, gammad_fake_nic, GAMMA_LOOKUP_HOST_ASK, 0);
	assert_host(sizeof(struct gamma_host));
	assert_no_answer();
}

static void host__answer_is_as_long_as_the_question(void **state)
{
	gammad_fake_open(GAMMAD_FAKE_USER, 8);
	ask_host(*state, gammad_fake_nic, GAMMA_LOOKUP_HOST_ASK, 200);
	assert_host(200);
}

/* It may take the driver long, and anybody may ask. */
static void host__driver_is_asked_once_a_second(void **state)
{
	struct gammad *gammad = *state;

	gammad_fake_open(GAMMAD_FAKE_USER, 8);
	for (int i = 0; i < 5; i++) {
		ask_host(gammad, gammad_fake_nic, GAMMA_LOOKUP_HOST_ASK, 0);
		assert_host(sizeof(struct gamma_host));
		gammad->nics[0].speed_at += i ? 0 : 3600 * GAMMA_NS_PER_S;
	}
	assert_int_equal(gammad_fake.drivers_asked, 1);
	gammad->nics[0].speed_at = gamma_now() - GAMMA_NS_PER_S;
	ask_host(gammad, gammad_fake_nic, GAMMA_LOOKUP_HOST_ASK, 0);
	assert_host(sizeof(struct gamma_host));
	assert_int_equal(gammad_fake.drivers_asked, 2);
}

static void host__answers_a_broadcast_but_no_endpoint_does(void **state)
{
	static const uint8_t everybody[GAMMA_MAC_LEN] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

	gammad_fake_open(GAMMAD_FAKE_USER, 8);
	gammad_fake.arrival_type = PACKET_BROADCAST;
	ask_host(*state, everybody, GAMMA_LOOKUP_ASK, 0);
	assert_no_answer();
	ask_host(*state, everybody, GAMMA_LOOKUP_HOST_ASK, 0);
	assert_host(sizeof(struct gamma_host));
}

/* ---- by way of this host ---- */

/* The next frame that gammad has sent to that host. */
static struct gamma_fields next_frame_to(const uint8_t *to, size_t payload)
{
	uint8_t frame[GAMMAD_FAKE_FRAME];
	struct gamma_fields fields;
	const ssize_t len = recv(gammad_fake.nic_wire, frame, sizeof(frame), MSG_DONTWAIT);

	assert_int_equal(len, GAMMA_ETH_LEN + GAMMA_HEADER_LEN + payload);
	assert_int_equal(gamma_codec_parse(frame, (size_t) len, &fields), GAMMA_OK);
	assert_int_equal(fields.kind, GAMMA_KIND_LOOKUP);
	assert_memory_equal(frame, to, GAMMA_MAC_LEN);
	assert_memory_equal(frame + GAMMA_MAC_LEN, gammad_fake_nic, GAMMA_MAC_LEN);
	return fields;
}

static void ask_via(struct gammad *gammad, uint16_t payload)
{
	ask_about(gammad, gammad_fake_nic, GAMMA_LOOKUP_HOST_VIA, payload, other_host);
}

/* What a host answers to the question that it was asked. */
static void answer_as(struct gammad *gammad, const uint8_t *from,
		      const struct gamma_fields *question, uint16_t payload)
{
	struct gamma_fields fields = {
		.kind = GAMMA_KIND_LOOKUP,
		.op = GAMMA_LOOKUP_HOST,
		.dst_epoch = question->src_epoch,
		.seq = question->seq,
		.payload_len = payload,
	};
	uint8_t room[FRAME_MAX + 1000] = {0};
	const uint8_t *made = gamma_codec_build(&fields, gammad_fake_nic, from, GAMMA_ETHERTYPE,
						room + FRAME_MAX);
	const size_t len = (size_t) GAMMA_ETH_LEN + fields.header_len + payload;

	assert_int_equal(send(gammad_fake.nics_wire, made, len, 0), len);
	gammad_lookup_handle_nics(gammad);
}

static void via__asks_the_other_host_and_passes_its_answer_on_once(void **state)
{
	struct gamma_fields question, answer;

	ask_via(*state, 200);
	question = next_frame_to(other_host, 200);
	assert_int_equal(question.op, GAMMA_LOOKUP_HOST_ASK);
	assert_int_equal(question.dst_port, GAMMA_PORT_ANY);
	assert_int_not_equal(question.src_epoch, 0);
	assert_no_answer();
	answer_as(*state, other_host, &question, 200);
	answer = next_frame_to(requester, 200);
	assert_int_equal(answer.op, GAMMA_LOOKUP_HOST);
	assert_int_equal(answer.dst_port, REQUESTER_PORT);
	assert_int_equal(answer.dst_epoch, 77);
	assert_int_equal(answer.seq, 5);
	answer_as(*state, other_host, &question, 200);
	assert_no_answer();
}

/* Nobody but the host that was asked makes gammad write to the asker, and not more bytes. */
static void via__forged_answer_is_ignored(void **state)
{
	struct gamma_fields question, wrong;

	ask_via(*state, 200);
	question = next_frame_to(other_host, 200);
	answer_as(*state, requester, &question, 200);
	assert_no_answer();
	answer_as(*state, other_host, &question, 201);
	assert_no_answer();
	wrong = question;
	wrong.src_epoch ^= 2;
	answer_as(*state, other_host, &wrong, 200);
	assert_no_answer();
	wrong = question;
	wrong.seq += GAMMAD_VIA_MAX;
	answer_as(*state, other_host, &wrong, 200);
	assert_no_answer();
}

static void via__answer_to_nothing_is_ignored(void **state)
{
	const struct gamma_fields none = {0};

	answer_as(*state, other_host, &none, 200);
	assert_no_answer();
}

/* Else a short question would make two other hosts write longer frames. */
static void via__question_shorter_than_the_answer_is_ignored(void **state)
{
	ask_via(*state, sizeof(struct gamma_host) - 1);
	assert_no_answer();
	ask_via(*state, sizeof(struct gamma_host));
	next_frame_to(other_host, sizeof(struct gamma_host));
}

static void via__to_itself_to_all_or_to_none_is_ignored(void **state)
{
	static const uint8_t nobody[GAMMA_MAC_LEN] = {0};
	static const uint8_t group[GAMMA_MAC_LEN] = {3, 0, 0, 0, 7, 7};
	const uint8_t *const refused[] = {gammad_fake_nic, nobody, group};

	for (size_t i = 0; i < gamma_array_size(refused); i++) {
		ask_about(*state, gammad_fake_nic, GAMMA_LOOKUP_HOST_VIA, 200, refused[i]);
		assert_no_answer();
	}
}

/* One frame must not make all hosts write to one. */
static void via__broadcast_is_ignored(void **state)
{
	static const uint8_t everybody[GAMMA_MAC_LEN] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

	gammad_fake.arrival_type = PACKET_BROADCAST;
	ask_about(*state, everybody, GAMMA_LOOKUP_HOST_VIA, 200, other_host);
	assert_no_answer();
}

/* Of any fields and length: gammad writes no more frames than it was sent. */
static void via__random_questions_are_answered_by_one_frame_each(void **state)
{
	const uint8_t *const macs[] = {gammad_fake_nic, other_host, requester};
	unsigned seed = 1, sent = 0, written = 0;
	uint8_t room[FRAME_MAX + 1000], frame[GAMMAD_FAKE_FRAME];

	gammad_fake_open(GAMMAD_FAKE_USER, 8);
	for (unsigned i = 0; i < 20000; i++) {
		struct gamma_fields fields = {
			.kind = GAMMA_KIND_LOOKUP,
			.op = (uint8_t) (rand_r(&seed) % (GAMMA_LOOKUP_HOST_VIA + 2)),
			.dst_port = (uint16_t) (rand_r(&seed) % 3 * REQUESTER_PORT),
			.src_port = (uint16_t) rand_r(&seed),
			.src_epoch = (uint32_t) rand_r(&seed) % 2,
			.dst_epoch = ((struct gammad *) *state)->via.epoch ^ rand_r(&seed) % 2,
			.seq = (uint32_t) rand_r(&seed) % GAMMAD_VIA_MAX,
			.payload_len = (uint16_t) (rand_r(&seed) % 300),
		};
		const uint8_t *made;
		size_t len;

		for (size_t at = FRAME_MAX; at < sizeof(room); at++)
			room[at] = (uint8_t) rand_r(&seed);
		memcpy(room + FRAME_MAX, macs[rand_r(&seed) % 3], GAMMA_MAC_LEN);
		made = gamma_codec_build(&fields, macs[rand_r(&seed) % 3], macs[rand_r(&seed) % 3],
					 GAMMA_ETHERTYPE, room + FRAME_MAX);
		len = (size_t) GAMMA_ETH_LEN + fields.header_len + fields.payload_len;
		len -= rand_r(&seed) % 8 ? 0 : (size_t) rand_r(&seed) % len;
		if (!len)
			continue;
		sent += send(gammad_fake.nics_wire, room + (made - room), len, MSG_DONTWAIT) > 0;
		gammad_lookup_handle_nics(*state);
		while (recv(gammad_fake.nic_wire, frame, sizeof(frame), MSG_DONTWAIT) > 0)
			written++;
		assert_true(written <= sent);
	}
	assert_true(written > 100);
}

static void via__passes_only_so_many_a_second_on(void **state)
{
	struct gammad *gammad = *state;

	gammad->via.tokens = 2;
	gammad->via.refilled = gamma_now() + 3600 * GAMMA_NS_PER_S;
	for (int i = 0; i < 2; i++) {
		ask_via(gammad, 200);
		next_frame_to(other_host, 200);
	}
	ask_via(gammad, 200);
	assert_no_answer();
	gammad->via.refilled = gamma_now() - GAMMA_NS_PER_S;
	ask_via(gammad, 200);
	next_frame_to(other_host, 200);
	assert_int_equal(gammad->via.tokens, GAMMAD_VIA_MAX - 1);
}

/* ---- to a slot ---- */

static int ask_slot(struct gammad *gammad, const uint8_t *mac, uint16_t port)
{
	struct gammad_lookup_frame request = {0};

	request.len = (uint32_t) make_request(request.frame, mac, port, GAMMAD_FAKE_USER, 0);
	return gammad_fake.on_slot_frame(gammad, &request, sizeof(request));
}

static void slot__answers_for_its_endpoint(void **state)
{
	gammad_lookup_open_slots(*state);
	gammad_fake_open(GAMMAD_FAKE_USER, 8);
	assert_int_equal(ask_slot(*state, gammad_fake_slot(0), 8), 0);
	assert_int_equal(answer_op(), GAMMA_LOOKUP_FOUND);
}

static void slot__answers_for_an_endpoint_that_is_gone(void **state)
{
	gammad_lookup_open_slots(*state);
	ask_slot(*state, gammad_fake_slot(0), 8);
	assert_int_equal(answer_op(), GAMMA_LOOKUP_NO_PORT);
}

static void slot__without_owner_is_ignored(void **state)
{
	gammad_lookup_open_slots(*state);
	ask_slot(*state, requester, 8);
	assert_no_answer();
}

static void slot__in_a_flood_gives_way_to_others(void **state)
{
	int rc = 0;

	gammad_lookup_open_slots(*state);
	gammad_lookup_handle_slots(*state);
	for (int i = 0; i < GAMMAD_BURST_MAX; i++)
		rc = ask_slot(*state, requester, 8);
	assert_int_equal(rc, -EAGAIN);
}

/* ---- by a program of the same host ---- */

static void ask_port(struct gammad *gammad, struct gammad_open *open, uid_t sender)
{
	uint8_t frame[FRAME_MAX];
	const size_t len = make_request(frame, gammad_fake_nic, 8, GAMMAD_FAKE_USER, 0);

	gammad_fake.sender = sender;
	assert_int_equal(send(gammad_fake.port_wire, frame, len, 0), len);
	gammad_lookup_handle_port(gammad, open);
}

static void port__answers_a_program_of_the_same_user(void **state)
{
	struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 8);
	struct gamma_fields fields;

	ask_port(*state, open, GAMMAD_FAKE_USER);
	assert_int_equal(gammad_fake.frames, 1);
	assert_int_equal(gamma_codec_parse(gammad_fake.frame, gammad_fake.frame_len, &fields),
			 GAMMA_OK);
	assert_int_equal(fields.op, GAMMA_LOOKUP_FOUND);
}

static void port__ignores_a_program_that_lies_about_its_user(void **state)
{
	struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 8);

	ask_port(*state, open, GAMMAD_FAKE_OTHER);
	assert_int_equal(gammad_fake.frames, 0);
}

static void port__believes_root(void **state)
{
	struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 8);

	ask_port(*state, open, 0);
	assert_int_equal(gammad_fake.frames, 1);
}

/* To close one may take a period of linger.c's timer: 253 would take so many. Dropped by the
 * kernel, in one call, all together take one. */
static void port__has_no_room_for_descriptors(void **state)
{
	struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 8);

	ask_port(*state, open, GAMMAD_FAKE_USER);
	assert_int_equal(gammad_fake.frames, 1);
	assert_in_range(gammad_fake.most_control, 1, CMSG_SPACE(sizeof(struct ucred)));
}

/* ---- revoked ---- */

static void revoked__is_sent_to_the_endpoint(void **state)
{
	const struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 8);
	struct gamma_fields fields;

	assert_true(gammad_lookup_send_revoked(*state, open));
	assert_int_equal(gamma_codec_parse(gammad_fake.frame, gammad_fake.frame_len, &fields),
			 GAMMA_OK);
	assert_int_equal(fields.kind, GAMMA_KIND_RESET);
	assert_int_equal(fields.op, GAMMA_RESET_REVOKED);
	assert_int_equal(fields.dst_epoch, 9);
}

static void revoked__is_to_be_sent_again_if_the_queue_is_full(void **state)
{
	const struct gammad_open *open = gammad_fake_open(GAMMAD_FAKE_USER, 8);

	gammad_fake.sendto_errno = EAGAIN;
	assert_false(gammad_lookup_send_revoked(*state, open));
	gammad_fake.sendto_errno = ECONNREFUSED;
	assert_true(gammad_lookup_send_revoked(*state, open));
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, gammad_fake_setup, gammad_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nic__gives_the_owner_the_endpoints_address),
		TEST(nic__gives_another_user_no_address),
		TEST(nic__answers_that_the_port_has_no_owner),
		TEST(nic__leaves_the_ports_of_programs_of_the_host_to_them),
		TEST(nic__asked_for_any_port_names_every_endpoint),
		TEST(nic__asked_for_any_port_without_endpoints_answers_for_the_host),
		TEST(nic__of_a_dead_process_has_no_port),
		TEST(nic__of_a_process_that_has_ended_has_no_port),
		TEST(nic__of_a_revoked_endpoint_has_no_port),
		TEST(nic__adds_a_checksum_if_asked),
		TEST(nic__not_configured_is_ignored),
		TEST(nic__malformed_frame_is_ignored),
		TEST(nic__in_a_flood_gives_way_to_others),
		TEST(host__is_described_to_the_one_that_asks),
		TEST(host__answer_is_as_long_as_the_question),
		TEST(host__driver_is_asked_once_a_second),
		TEST(host__answers_a_broadcast_but_no_endpoint_does),
		TEST(via__asks_the_other_host_and_passes_its_answer_on_once),
		TEST(via__forged_answer_is_ignored),
		TEST(via__answer_to_nothing_is_ignored),
		TEST(via__question_shorter_than_the_answer_is_ignored),
		TEST(via__to_itself_to_all_or_to_none_is_ignored),
		TEST(via__broadcast_is_ignored),
		TEST(via__random_questions_are_answered_by_one_frame_each),
		TEST(via__passes_only_so_many_a_second_on),
		TEST(slot__answers_for_its_endpoint),
		TEST(slot__answers_for_an_endpoint_that_is_gone),
		TEST(slot__without_owner_is_ignored),
		TEST(slot__in_a_flood_gives_way_to_others),
		TEST(port__answers_a_program_of_the_same_user),
		TEST(port__ignores_a_program_that_lies_about_its_user),
		TEST(port__believes_root),
		TEST(port__has_no_room_for_descriptors),
		TEST(revoked__is_sent_to_the_endpoint),
		TEST(revoked__is_to_be_sent_again_if_the_queue_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
