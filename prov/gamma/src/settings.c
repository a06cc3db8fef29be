// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The FI_GAMMA_* variables: what they are called, what they may hold, and their defaults. Defined
 * and read when libfabric loads the provider; every file reads gamma_settings.
 */
#include "gamma.h"
#include "wire/ethertype.h"
#include "base/base.h"
#include "base/variables.h"
#include "broker/message.h"
#include "wire/wire.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct gamma_settings gamma_settings;

/* A text; NULL unless set, the default otherwise. */
struct text_setting {
	const char *name;
	size_t offset; /* of a char * in struct gamma_settings */
	const char *fallback;
	const char *help;
};

static const struct text_setting texts[] = {
	{"iface", offsetof(struct gamma_settings, iface), NULL,
	 "NIC to use, by interface name or MAC address, or several separated by commas, which an "
	 "endpoint then uses together (default: offer all usable ones, first the one that "
	 "gamma.conf lists, else the fastest)"},
	{"conf", offsetof(struct gamma_settings, conf_path), NULL,
	 "Path of the cluster's configuration file (default: " GAMMA_CONF_PATH ", if it exists)"},
	{"fabric", offsetof(struct gamma_settings, fabric_name), "gamma",
	 "Name of the fabric. Hosts on different Ethernet segments need different names "
	 "(default: gamma)"},
	{"broker", offsetof(struct gamma_settings, broker), GAMMA_BROKER_PATH,
	 "Socket of gammad, which opens endpoints for programs that lack CAP_NET_RAW "
	 "(default: " GAMMA_BROKER_PATH ")"},
	{"stats", offsetof(struct gamma_settings, stats), NULL,
	 "Where endpoints write their counters when they close: stderr, or the path of a file to "
	 "append to (default: nowhere)"},
};

/* A number with an optional fraction and suffix, kept as an integer after scaling. */
struct number_setting {
	const char *name;
	size_t offset, size;    /* of an unsigned integer in struct gamma_settings, bytes */
	uint64_t scale;         /* what one unit of the variable is in the field */
	uint64_t fallback, max; /* in the variable's unit */
	uint64_t min;           /* in the field's unit */
	const char *range;
	const char *help;
};

enum { UDP_EAGER_SIZE = 65536 }; /* bytes: a train or two cost less than another round trip */

#define NUMBER(field) #field, offsetof(struct gamma_settings, field), sizeof(gamma_settings.field)

static const struct number_setting numbers[] = {
	{NUMBER(ethertype), 1, 0x88B5, 0xFFFF, 0x600, "an EtherType, 0x0600 to 0xFFFF",
	 "EtherType of the frames, the same on every host (default: 0x88B5)"},
	{NUMBER(ring_size), 1, 4 << 20, 1 << 30, 64 << 10, "65536 to 1073741824 bytes",
	 "Size of an endpoint's receive ring (default: 4194304)"},
	{NUMBER(budget), 1, 128 << 10, 1 << 30, 0, "0 to 1073741824 bytes",
	 "Bytes of large messages that may be in flight to a NIC of this host even while frames "
	 "are being lost; 0: no bound (default: 131072)"},
	{NUMBER(inject_size), 1, 4096, GAMMA_EAGER_MAX, 64, "64 to 1048576 bytes",
	 "Largest message that is copied and sent at once, as by fi_inject (default: 4096)"},
	{NUMBER(eager_size), 1, 16384, GAMMA_EAGER_MAX, 0, "0 to 1048576 bytes",
	 "Largest message that is sent before the receiver has a buffer for it (default: 16384; "
	 "65536 where UDP may be used)"},
	{NUMBER(unexpected_size), 1, 64 << 20, 1ull << 40, 0, "0 to 1099511627776 bytes",
	 "Memory of an endpoint for unexpected messages; the data of further ones stays with the "
	 "sender until a receive matches (default: 67108864)"},
	{NUMBER(shm_size), 1, 64 << 10, 1 << 30, 0, "0 to 1073741824 bytes",
	 "Shared memory for each process of this host that this process sends to, rounded up to a "
	 "power of two and to 64K; 0: none, frames go through sockets (default: 65536)"},
	{NUMBER(peer_timeout), GAMMA_NS_PER_S, 120, 86400, GAMMA_NS_PER_MS,
	 "0.001 to 86400 seconds",
	 "Time without any answer until a peer is declared dead (default: 120)"},
	{NUMBER(join_timeout), GAMMA_NS_PER_S, 60, 86400, GAMMA_NS_PER_MS, "0.001 to 86400 seconds",
	 "Time that fi_join_collective waits for the other members of the set (default: 60)"},
	{NUMBER(linger), GAMMA_NS_PER_MS, 1000, 600000, 0, "0 to 600000 milliseconds",
	 "Time that closing an endpoint may wait for its last acknowledgements, and until its "
	 "peers know (default: 1000)"},
};

/* Yes or no. */
struct switch_setting {
	const char *name;
	size_t offset;   /* of a bool in struct gamma_settings */
	bool unless_set; /* its default */
	const char *help;
};

static const struct switch_setting switches[] = {
	{"auto", offsetof(struct gamma_settings, automatic), false,
	 "1: also serve applications that name no provider (default: 0)"},
	{"payload_crc", offsetof(struct gamma_settings, payload_crc), false,
	 "1: protect payloads by a checksum too, in both directions (default: 0)"},
};

/* One of a few words, kept as its index among them. */
struct choice_setting {
	const char *name;
	size_t offset; /* of an unsigned int in struct gamma_settings; its default is 0 */
	const char *help;
	const char *words[9]; /* NULL behind the last */
};

static const struct choice_setting choices[] = {
	{"link",
	 offsetof(struct gamma_settings, link),
	 "How frames travel: any (packet if allowed, with udp beside it for long messages where "
	 "both ends can; else udp), packet (Ethernet frames by a packet socket, the process's own "
	 "or gammad's), udp (UDP datagrams, without privilege and through routers, over IPv4 where "
	 "the NIC has an IPv4 address), udp6 (the same over IPv6), raw+udp (packet for short "
	 "messages, udp over IPv4 for long ones), xdp (AF_XDP, for one privileged process on a "
	 "NIC), or auto (xdp where available, else as with any); the same on all hosts "
	 "(default: any)",
	 {"any", "packet", "xdp", "auto", "udp", "udp6", "raw+udp"}},
	{"multicast",
	 offsetof(struct gamma_settings, multicast),
	 "Collective operations by multicast: auto (where it is faster), 0 (never), or 1 (as auto; "
	 "and it is a warning if IP multicast does not reach all hosts) (default: auto)",
	 {"auto", "0", "1", "no", "yes"}},
	{"group_mac",
	 offsetof(struct gamma_settings, group_mac),
	 "Group MAC addresses of collective operations, chosen by the member at place 0: own "
	 "(03:47:4d:...), or ip (01:00:5e:..., which the members report by IGMP, for switches "
	 "that forward only groups that they have heard of) (default: own)",
	 {"own", "ip"}},
};

#define PREFIX "FI_GAMMA_"

static char *upper(const char *name, char *text, size_t len)
{
	size_t i;

	for (i = 0; name[i] && i + 1 < len; i++)
		text[i] = name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i];
	text[i] = '\0';
	return text;
}

void gamma_settings_define(void)
{
	size_t i;

	/* All are texts for libfabric: it would read a number that is none as 0. */
	for (i = 0; i < gamma_array_size(texts); i++)
		fi_param_define(&gamma_prov, texts[i].name, FI_PARAM_STRING, "%s", texts[i].help);
	for (i = 0; i < gamma_array_size(numbers); i++)
		fi_param_define(&gamma_prov, numbers[i].name, FI_PARAM_STRING, "%s. Valid: %s",
				numbers[i].help, numbers[i].range);
	for (i = 0; i < gamma_array_size(switches); i++)
		fi_param_define(&gamma_prov, switches[i].name, FI_PARAM_STRING, "%s",
				switches[i].help);
	for (i = 0; i < gamma_array_size(choices); i++)
		fi_param_define(&gamma_prov, choices[i].name, FI_PARAM_STRING, "%s",
				choices[i].help);
}

static const char *value_of(const char *name)
{
	char *value = NULL;

	return fi_param_get_str(&gamma_prov, name, &value) ? NULL : value;
}

/* As strtod reads it in the C locale, whatever the program has set, and without an exponent. */
static double decimal(const char *text, char **end)
{
	double digits = 0, scale = 1;

	for (; *text >= '0' && *text <= '9'; text++)
		digits = 10 * digits + (*text - '0');
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9'; text++, scale *= 10)
			digits = 10 * digits + (*text - '0');
	*end = (char *) text;
	return digits / scale;
}

/* The factor of a K, M or G after the number, 0 if something else is there. */
static uint64_t suffix(const char *text)
{
	static const char letters[] = "KMG";
	const char *letter;

	if (!*text)
		return 1;
	letter = strchr(letters, toupper((unsigned char) *text));
	return letter && !text[1] ? 1ull << (10 * (letter - letters + 1)) : 0;
}

/* Reads a number in the variable's unit and scales it; false: not one, or out of range. */
static bool parse_number(const struct number_setting *setting, const char *text, uint64_t *field)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	uint64_t factor;
	double value;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	value = hex ? (double) strtoull(text, &end, 16) : decimal(text, &end);
	factor = suffix(end);
	value *= (double) factor * (double) setting->scale;
	if (!factor || !(value <= (double) setting->max * (double) setting->scale))
		return false;
	*field = (uint64_t) value;
	/* There is no half of a byte. */
	return *field >= setting->min && (setting->scale > 1 || (double) *field == value);
}

static void store_number(const struct number_setting *setting, uint64_t value)
{
	void *field = (char *) &gamma_settings + setting->offset;

	if (setting->size == sizeof(uint16_t))
		*(uint16_t *) field = (uint16_t) value;
	else
		*(uint64_t *) field = value;
}

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "sizes are stored as 64 bits");

static int load_number(const struct number_setting *setting, char *error, size_t error_len)
{
	const char *text = value_of(setting->name);
	uint64_t value = setting->fallback * setting->scale;
	char name[32];

	if (text && !parse_number(setting, text, &value)) {
		snprintf(error, error_len, PREFIX "%s=%s: must be %s; correct it or unset it",
			 upper(setting->name, name, sizeof(name)), gamma_printable(text).text,
			 setting->range);
		return -FI_EINVAL;
	}
	store_number(setting, value);
	return 0;
}

static int load_text(const struct text_setting *setting)
{
	char **field = (char **) ((char *) &gamma_settings + setting->offset);
	const char *text = value_of(setting->name);

	if (!text || !*text)
		text = setting->fallback;
	free(*field);
	*field = text ? strdup(text) : NULL;
	return text && !*field ? -FI_ENOMEM : 0;
}

static int load_switch(const struct switch_setting *setting, char *error, size_t error_len)
{
	static const char *const no[] = {"0", "no", "false", "off"};
	static const char *const yes[] = {"1", "yes", "true", "on"};
	bool *field = (bool *) ((char *) &gamma_settings + setting->offset);
	const char *text = value_of(setting->name);
	char name[32];
	size_t i;

	*field = !text && setting->unless_set;
	for (i = 0; text && i < gamma_array_size(no); i++) {
		if (!strcasecmp(text, no[i]))
			return 0;
		if (!strcasecmp(text, yes[i])) {
			*field = true;
			return 0;
		}
	}
	if (text)
		snprintf(error, error_len, PREFIX "%s=%s is neither 0 nor 1; set one or unset it",
			 upper(setting->name, name, sizeof(name)), gamma_printable(text).text);
	return text ? -FI_EINVAL : 0;
}

/* "a, b or c" */
static const char *list_words(const char *const *words, char *text, size_t len)
{
	size_t used = 0;

	for (size_t i = 0; words[i] && used < len; i++)
		used += (size_t) snprintf(text + used, len - used, "%s%s",
					  !i             ? ""
					  : words[i + 1] ? ", "
							 : " or ",
					  words[i]);
	return text;
}

static int load_choice(const struct choice_setting *setting, char *error, size_t error_len)
{
	char words[64];
	unsigned *field = (unsigned *) ((char *) &gamma_settings + setting->offset);
	const char *text = value_of(setting->name);
	char name[32];

	*field = 0;
	for (unsigned i = 0; text && setting->words[i]; i++) {
		if (strcasecmp(text, setting->words[i]))
			continue;
		*field = i;
		return 0;
	}
	if (text)
		snprintf(error, error_len, PREFIX "%s=%s: must be %s; correct it or unset it",
			 upper(setting->name, name, sizeof(name)), gamma_printable(text).text,
			 list_words(setting->words, words, sizeof(words)));
	return text ? -FI_EINVAL : 0;
}

static int check_ethertype(char *error, size_t error_len)
{
	const char *owner = gamma_ethertype_owner(gamma_settings.ethertype);

	if (!owner)
		return 0;
	snprintf(error, error_len,
		 PREFIX "ETHERTYPE=0x%04X is the EtherType of %s: choose a free one, on all hosts",
		 gamma_settings.ethertype, owner);
	return -FI_EINVAL;
}

int gamma_settings_load(char *error, size_t error_len)
{
	int ret = gamma_variables_check(error, error_len);
	size_t i;

	if (ret)
		return ret;

	for (i = 0; i < gamma_array_size(texts); i++) {
		ret = load_text(&texts[i]);
		if (ret) {
			snprintf(error, error_len, "out of memory reading the settings");
			return ret;
		}
	}
	for (i = 0; i < gamma_array_size(numbers); i++) {
		ret = load_number(&numbers[i], error, error_len);
		if (ret)
			return ret;
	}
	gamma_settings.udp_eager_size =
		value_of("eager_size") ? gamma_settings.eager_size : UDP_EAGER_SIZE;
	ret = check_ethertype(error, error_len);
	if (ret)
		return ret;
	for (i = 0; i < gamma_array_size(switches); i++) {
		ret = load_switch(&switches[i], error, error_len);
		if (ret)
			return ret;
	}
	for (i = 0; i < gamma_array_size(choices); i++) {
		ret = load_choice(&choices[i], error, error_len);
		if (ret)
			return ret;
	}
	return 0;
}

void gamma_settings_free(void)
{
	size_t i;

	for (i = 0; i < gamma_array_size(texts); i++) {
		char **field = (char **) ((char *) &gamma_settings + texts[i].offset);

		free(*field);
		*field = NULL;
	}
}
