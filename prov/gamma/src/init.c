// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The provider as libfabric sees it: the entry point that its core calls after loading the library,
 * and the clean-up before it is unloaded.
 */
#include "gamma.h"
#include "report.h"

static void cleanup(void);

/* context belongs to libfabric's core and stays as it is; fi_version is set on loading. */
struct fi_provider gamma_prov = {
	.version = GAMMA_PROV_VERSION,
	.name = GAMMA_PROV_NAME,
	.getinfo = gamma_info_get,
	.fabric = gamma_fabric_open,
	.cleanup = cleanup,
};

static char settings_error[256];

const char *gamma_init_error(void)
{
	return settings_error[0] ? settings_error : NULL;
}

static void to_fi_log(enum gamma_log_level level, const char *line)
{
	if (level == GAMMA_LOG_ERROR)
		gamma_report("%s", line);
	else if (level == GAMMA_LOG_WARN)
		GAMMA_WARN(CORE, "%s\n", line);
	else
		GAMMA_INFO(CORE, "%s\n", line);
}

static void cleanup(void)
{
	gamma_progress_thread_stop_all();
	gamma_affinity_cleanup();
	gamma_log_set_sink(NULL);
	gamma_settings_free();
}

/* Not fi_prov.h's FI_EXT_INI alone: the prototype keeps -Wmissing-prototypes content. */
struct fi_provider *fi_prov_ini(void);

FI_EXT_INI
{
	uint32_t built_for = FI_VERSION(1, 17), running = fi_version();

	/* The core hides a provider that is older than what an application asks for. */
	gamma_prov.fi_version = running > built_for ? running : built_for;
	gamma_log_set_sink(to_fi_log);
	gamma_settings_define();
	settings_error[0] = '\0';
	if (gamma_settings_load(settings_error, sizeof(settings_error)))
		GAMMA_WARN(CORE, "%s\n", settings_error);
	return &gamma_prov;
}
