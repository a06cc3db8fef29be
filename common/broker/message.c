// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Checks, fills in and explains the messages on gammad's socket, without touching a socket. */
#include "broker/message.h"

#include <errno.h>
#include <string.h>

#include "base/base.h"

static const struct request {
	uint16_t type;
	bool for_root;
	size_t length; /* bytes */
} requests[] = {
	{GAMMA_BROKER_OPEN, false, sizeof(struct gamma_broker_open)},
	{GAMMA_BROKER_STATUS, false, sizeof(struct gamma_broker_header)},
	{GAMMA_BROKER_DETAILS, false, sizeof(struct gamma_broker_header)},
	{GAMMA_BROKER_LIST, true, sizeof(struct gamma_broker_header)},
	{GAMMA_BROKER_REVOKE, true, sizeof(struct gamma_broker_revoke)},
	{GAMMA_BROKER_ALLOW, true, sizeof(struct gamma_broker_revoke)},
	{GAMMA_BROKER_RELOAD, true, sizeof(struct gamma_broker_header)},
	{GAMMA_BROKER_NICS, false, sizeof(struct gamma_broker_header)},
	{GAMMA_BROKER_JOIN, false, sizeof(struct gamma_broker_group)},
	{GAMMA_BROKER_LEAVE, false, sizeof(struct gamma_broker_group)},
};

static const struct reason {
	int error; /* errno */
	const char *text;
} reasons[GAMMA_BROKER_REASONS] = {
	[GAMMA_BROKER_OK] = {0, "done"},
	[GAMMA_BROKER_MALFORMED] = {EPROTO, "gammad did not understand the request"},
	[GAMMA_BROKER_OTHER_VERSION] = {EPROTONOSUPPORT,
					"gammad speaks another version: install the same release"},
	[GAMMA_BROKER_NOT_ROOT] = {EPERM, "only root may ask gammad for that"},
	[GAMMA_BROKER_NO_GROUP] = {EACCES, "this user is in none of the groups that gammad.conf "
					   "allows: ask the administrator"},
	[GAMMA_BROKER_NO_NIC] = {ENODEV, "gammad does not serve that NIC: add it to gammad.conf"},
	[GAMMA_BROKER_ETHERTYPE] = {EPROTOTYPE, "gammad.conf names another EtherType: set "
						"FI_GAMMA_ETHERTYPE to it"},
	[GAMMA_BROKER_LIMIT] = {EDQUOT, "this user has as many endpoints as gammad.conf allows: "
					"close some, or have `limit` raised"},
	[GAMMA_BROKER_NO_SLOT] = {EBUSY,
				  "all slots of that NIC are in use: close some endpoints, or "
				  "have the slots in gammad.conf raised"},
	[GAMMA_BROKER_PORT_TAKEN] = {EADDRINUSE, "that port is in use: choose another or none"},
	[GAMMA_BROKER_TWICE] = {EALREADY, "a connection to gammad carries one endpoint"},
	[GAMMA_BROKER_NO_HANDLE] = {ENOSPC,
				    "gammad has no place for another endpoint on this host: "
				    "close some; where there are few, restart the host"},
	[GAMMA_BROKER_SYSTEM] = {EIO, "gammad failed: its log says why"},
	[GAMMA_BROKER_BAD_CONF] = {EINVAL, "gammad.conf has a mistake, the old one stays in force: "
					   "gammad's log says where"},
	[GAMMA_BROKER_NO_ENDPOINT] = {ENOENT, "gammad knows no such endpoint of this user"},
	[GAMMA_BROKER_BAD_GROUP] = {EINVAL,
				    "that is no multicast group that a user may join: broadcast "
				    "and the addresses of bridges are not"},
	[GAMMA_BROKER_MEMBERSHIPS] =
		{ENOSPC, "that endpoint or user is in as many multicast groups as gammad "
			 "allows: leave some, close what was got for them, or have "
			 "`multicast` in gammad.conf raised"},
	[GAMMA_BROKER_MEMBER] = {EALREADY,
				 "that endpoint is in that multicast group already, or what it "
				 "got for it is still open"},
	[GAMMA_BROKER_NO_USER] = {EACCES,
				  "gammad opens no endpoints for this user id, which is a "
				  "subordinate one (/etc/subuid) or outside of gammad.conf's uids: "
				  "start the program as the user itself"},
	[GAMMA_BROKER_REVOKED] = {EACCES, "gammad was asked to revoke this user's endpoints, and "
					  "opens no others: ask the administrator for `gammactl "
					  "allow`"},
};

static const struct request *find(uint16_t type)
{
	for (size_t i = 0; i < gamma_array_size(requests); i++) {
		if (requests[i].type == type)
			return &requests[i];
	}
	return NULL;
}

static bool makes_sense(const union gamma_broker_request *request)
{
	switch (request->header.type) {
	case GAMMA_BROKER_OPEN:
		return request->open.epoch != GAMMA_EPOCH_ANY;
	case GAMMA_BROKER_REVOKE:
	case GAMMA_BROKER_ALLOW:
		return !request->revoke.reserved;
	case GAMMA_BROKER_JOIN:
	case GAMMA_BROKER_LEAVE:
		return !request->group.reserved && request->group.receives <= 1 &&
		       request->group.port != GAMMA_PORT_ANY &&
		       request->group.group_port != GAMMA_PORT_ANY;
	}
	return true;
}

enum gamma_broker_reason gamma_broker_message_parse(const void *bytes, size_t len,
						    union gamma_broker_request *request)
{
	const struct request *known;

	memset(request, 0, sizeof(*request));
	if (len < sizeof(request->header))
		return GAMMA_BROKER_MALFORMED;
	memcpy(&request->header, bytes, sizeof(request->header));
	if (request->header.magic != GAMMA_BROKER_MAGIC)
		return GAMMA_BROKER_MALFORMED;
	if (request->header.version != GAMMA_BROKER_VERSION)
		return GAMMA_BROKER_OTHER_VERSION;
	known = find(request->header.type);
	if (!known || len != known->length || request->header.length != len ||
	    request->header.reason)
		return GAMMA_BROKER_MALFORMED;
	memcpy(request, bytes, len);
	return makes_sense(request) ? GAMMA_BROKER_OK : GAMMA_BROKER_MALFORMED;
}

bool gamma_broker_message_needs_root(uint16_t type)
{
	const struct request *known = find(type);

	return !known || known->for_root;
}

void gamma_broker_message_init_header(struct gamma_broker_header *header,
				      enum gamma_broker_type type, size_t length,
				      enum gamma_broker_reason reason)
{
	*header = (struct gamma_broker_header){
		.magic = GAMMA_BROKER_MAGIC,
		.version = GAMMA_BROKER_VERSION,
		.type = (uint16_t) type,
		.length = (uint32_t) length,
		.reason = reason,
	};
}

bool gamma_broker_message_is(const void *bytes, size_t len, enum gamma_broker_type type,
			     size_t length)
{
	struct gamma_broker_header header;

	if (len != length || len < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	return header.magic == GAMMA_BROKER_MAGIC && header.version == GAMMA_BROKER_VERSION &&
	       header.type == type && header.length == length;
}

enum gamma_broker_reason gamma_broker_message_check_answer(const void *bytes, size_t len,
							   enum gamma_broker_type type,
							   size_t length)
{
	struct gamma_broker_header header;

	if (len < sizeof(header))
		return GAMMA_BROKER_MALFORMED;
	memcpy(&header, bytes, sizeof(header));
	if (header.magic == GAMMA_BROKER_MAGIC && header.version != GAMMA_BROKER_VERSION)
		return GAMMA_BROKER_OTHER_VERSION;
	if (gamma_broker_message_is(bytes, len, type, length))
		return header.reason;
	/* Nothing but a refusal is shorter. */
	return header.reason && gamma_broker_message_is(bytes, len, GAMMA_BROKER_DONE,
							sizeof(struct gamma_broker_done))
		       ? header.reason
		       : GAMMA_BROKER_MALFORMED;
}

const char *gamma_broker_message_text(uint32_t reason)
{
	return reason < GAMMA_BROKER_REASONS
		       ? reasons[reason].text
		       : "gammad refused, for a reason that is not known here";
}

int gamma_broker_message_error(uint32_t reason)
{
	return reason < GAMMA_BROKER_REASONS ? -reasons[reason].error : -EPROTO;
}
