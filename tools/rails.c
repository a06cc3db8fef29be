// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * gammaping's step rails: whether each NIC of this host reaches the peer's NIC at the same place.
 * The endpoint lists its NICs in the answer to a question that is as long as that.
 */
#include "gammaping.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/mac.h"

enum { TRIES = 4, SHARE_MS = 300 };

void rails_take_names(struct ping *ping, const char *names)
{
	static char first[64];

	snprintf(first, sizeof(first), "%.*s", (int) strcspn(names, ","), names);
	ping->iface = *first ? first : NULL;
	ping->more_names = strchr(names, ',');
}

static void refuse_empty_name(void)
{
	gammaping_fail("a name is missing beside a comma: separate NICs by one");
}

static bool is_named_before(const struct ping *ping, const struct gamma_nic *nic)
{
	bool found = nic == ping->nic;

	for (unsigned i = 0; i + 1 < ping->more_count; i++)
		found |= nic == ping->more[i];
	return found;
}

void rails_find_nics(struct ping *ping)
{
	const char *at = ping->more_names;
	char name[64];

	if (at && !ping->iface)
		refuse_empty_name();
	while (at) {
		size_t len = strcspn(++at, ",");

		snprintf(name, sizeof(name), "%.*s", (int) gamma_min(len, sizeof(name)), at);
		if (!*name)
			refuse_empty_name();
		if (ping->more_count == GAMMA_RAILS_MAX - 1)
			gammaping_fail("more than %d interfaces: name fewer", GAMMA_RAILS_MAX);
		ping->more[ping->more_count] = gammaping_find_nic(ping, name);
		if (!ping->more[ping->more_count])
			gammaping_fail("this host has no interface %s; ip link lists them",
				       gamma_printable(name).text);
		if (is_named_before(ping, ping->more[ping->more_count++]))
			gammaping_fail("%s is named twice: name each NIC once", name);
		at = at[len] ? at + len : NULL;
	}
}

/* ns; 0: no answer. */
static uint64_t round_trip(struct ping *rail, struct lookup_answer *answer)
{
	for (int try = 0; try < TRIES && !gammaping_interrupted; try++) {
		uint64_t began = gamma_now();

		lookup_begin(rail);
		if (!lookup_send(rail, rail->found.port,
				 GAMMA_ADDR_LEN + sizeof(struct gamma_rails_list)) &&
		    lookup_wait(rail, began + SHARE_MS * GAMMA_NS_PER_MS, answer))
			return gamma_now() - began;
	}
	return 0;
}

static struct gamma_ip_text address_of(const struct ping *ping, const uint8_t *mac)
{
	struct gamma_ip_text text;

	if (ping->udp)
		return udp_walk_ip(ping, mac);
	gamma_mac_format(mac, text.text);
	return text;
}

static void say_rail(struct ping *ping, const struct ping *rail, unsigned place, uint32_t mtu,
		     uint64_t ns)
{
	const struct gamma_ip_text text = address_of(ping, rail->peer.mac);
	const char *to = text.text;

	if (!ns) {
		ping->failed = true;
		gammaping_say(ping, "rail", false, "%u: %s does not reach %s", place,
			      rail->nic->name, to);
		gammaping_hint("check cable and switch port; NICs pair by their place in "
			       "FI_GAMMA_IFACE, and one");
		gammaping_hint("that is left is used again when its peer answers");
	} else if (!mtu) {
		ping->failed = true;
		gammaping_say(ping, "rail", false,
			      "%u: %s reaches %s, but frames of %u bytes do not pass", place,
			      rail->nic->name, to, GAMMA_SAFE_MTU);
	} else {
		gammaping_say(ping, "rail", true,
			      "%u: %s reaches %s, frames of %u bytes pass, round trip %.1f us",
			      place, rail->nic->name, to, mtu, (double) ns / 1e3);
	}
}

/* Bytes of the largest frames that pass, of those which the endpoints try; 0: not even small ones.
 */
static uint32_t passing_mtu(struct ping *rail, uint32_t theirs)
{
	uint32_t mtu = (uint32_t) gamma_min(rail->packet->mtu, theirs);

	if (gammaping_passes(rail, mtu))
		return mtu;
	mtu = (uint32_t) gamma_min(mtu, GAMMA_SAFE_MTU);
	return gammaping_passes(rail, mtu) ? mtu : 0;
}

/* Through a link of its own. */
static void check_rail(struct ping *ping, unsigned place, const struct gamma_rail_entry *entry)
{
	struct lookup_answer answer;
	struct ping rail = *ping;
	uint32_t mtu = 0;
	uint64_t ns;
	int ret;

	rail.nic = ping->more[place - 2];
	rail.own_port = 0;
	rail.packet = NULL;
	rail.shm = NULL;
	memcpy(rail.peer.mac, entry->mac, GAMMA_MAC_LEN);
	ret = links_open(&rail);
	if (ret) {
		ping->failed = true;
		gammaping_say(ping, "rail", false, "%u: %s cannot be opened: %s", place,
			      rail.nic->name, strerror(-ret));
		return;
	}
	ns = round_trip(&rail, &answer);
	if (ns)
		mtu = passing_mtu(&rail, ntohs(entry->mtu));
	if (!gammaping_interrupted)
		say_rail(ping, &rail, place, mtu, ns);
	rail.packet->ops->close(rail.packet);
	if (rail.shm)
		rail.shm->link.ops->close(&rail.shm->link);
}

void rails_step(struct ping *ping)
{
	const struct gamma_rails_list *list;
	struct lookup_answer answer;
	uint64_t ns;

	if (ping->same_host || ping->found.op != GAMMA_LOOKUP_FOUND)
		return;
	ns = round_trip(ping, &answer);
	if (!ns || answer.op != GAMMA_LOOKUP_FOUND)
		return;
	list = &answer.rails;
	if (list->count > 1)
		say_rail(ping, ping, 1, passing_mtu(ping, ntohs(list->rails[0].mtu)), ns);
	for (unsigned r = 1; r < list->count; r++) {
		if (list->udp >> r & 1)
			gammaping_say(ping, "rail", true,
				      "%u: UDP port %u of %s, for long messages; not tried", r + 1,
				      ping->found.port, udp_walk_ip(ping, list->rails[r].mac).text);
		else if (r <= ping->more_count)
			check_rail(ping, r + 1, &list->rails[r]);
		else
			gammaping_say(
				ping, "rail", true,
				"%u: %s there; no NIC of this host is named for it: -I %s,NIC",
				r + 1, address_of(ping, list->rails[r].mac).text, ping->nic->name);
	}
	if (list->count <= ping->more_count)
		gammaping_say(ping, "rail", true,
			      "the endpoint there has %u NIC%s, so %s is not used toward it",
			      list->count ? list->count : 1, list->count > 1 ? "s" : "",
			      ping->more[list->count ? list->count - 1 : 0]->name);
}
