// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Fuzz target: any bytes on gammad's socket. What parses as a request is one of the permitted
 * types, of its length, and the copy equals the input. Read as an answer, it is one only if it
 * has that answer's type, length and version.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "broker/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void as_answer(const uint8_t *data, size_t size, enum gamma_broker_type type, size_t length)
{
	uint32_t reason = gamma_broker_message_check_answer(data, size, type, length);

	assert(gamma_broker_message_text(reason));
	assert(!gamma_broker_message_error(reason) == !reason);
	assert(reason || gamma_broker_message_is(data, size, type, length));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	union gamma_broker_request request;
	enum gamma_broker_reason reason = gamma_broker_message_parse(data, size, &request);

	as_answer(data, size, GAMMA_BROKER_OPENED, sizeof(struct gamma_broker_opened));
	as_answer(data, size, GAMMA_BROKER_JOINED, sizeof(struct gamma_broker_joined));
	as_answer(data, size, GAMMA_BROKER_SERVED, sizeof(struct gamma_broker_served));
	as_answer(data, size, GAMMA_BROKER_DONE, sizeof(struct gamma_broker_done));
	assert(gamma_broker_message_text(reason));
	if (reason)
		return 0;
	assert(size <= sizeof(request) && request.header.length == size);
	assert(!memcmp(&request, data, size));
	assert(gamma_broker_message_is(data, size, (enum gamma_broker_type) request.header.type,
				       size));
	gamma_broker_message_needs_root(request.header.type);
	return 0;
}
