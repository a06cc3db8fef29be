// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Fuzz target: any bytes as the configuration file. Hosts that parse are found again by name and
 * by MAC; what does not parse gives an error message.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct gamma_conf_host *hosts;
	struct gamma_conf *conf;
	char error[256];
	size_t count;
	int err = gamma_conf_parse("fuzz", (const char *) data, size, &conf, error, sizeof(error));

	if (err) {
		assert(err == -EINVAL && error[0] && !conf);
		return 0;
	}
	count = gamma_conf_hosts(conf, &hosts);
	for (size_t i = 0; i < count; i++) {
		assert(gamma_conf_by_name(conf, hosts[i].name) == &hosts[i]);
		assert(gamma_conf_by_mac(conf, hosts[i].mac) == &hosts[i]);
	}
	gamma_conf_free(conf);
	return 0;
}
