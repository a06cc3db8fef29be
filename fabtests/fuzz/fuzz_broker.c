// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Fuzz target: any bytes on gammad's socket. What is taken for a request is one of the types that
 * may be asked, of its length, and the copy is what came.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "broker/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	union gamma_broker_request request;
	enum gamma_broker_reason reason = gamma_broker_parse(data, size, &request);

	assert(gamma_broker_text(reason));
	if (reason)
		return 0;
	assert(size <= sizeof(request) && request.header.length == size);
	assert(!memcmp(&request, data, size));
	assert(gamma_broker_is(data, size, (enum gamma_broker_type) request.header.type, size));
	gamma_broker_for_root(request.header.type);
	return 0;
}
