// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Data that each process publishes: that it has this component, and at which call it will agree.
 * Where that is missing, or another call, nobody waits for the process.
 */
#include "coll_gamma.h"

#include <stdlib.h>

/* Another release may agree on other numbers. */
enum { MAGIC = 0x67636f6c + COLL_GAMMA_LIMITS_INTS };

/* For processes of the same byte order, which Open MPI ensures. */
struct published {
	uint32_t magic;
	uint32_t join_after;
};

/* While the component is opened: before processes exchange what they publish. */
int coll_gamma_publish(void)
{
	struct published published = {.magic = MAGIC,
				      .join_after = mca_coll_gamma_component.join_after};
	int rc;

	OPAL_MODEX_SEND(rc, BTL_GAMMA_MODEX_SCOPE, &mca_coll_gamma_component.super.collm_version,
			&published, sizeof(published));
	return rc;
}

/* Whether that process will agree at the same call as we. */
bool coll_gamma_publish_fits(opal_process_name_t name)
{
	struct published *published = NULL;
	size_t len = 0;
	bool fits;
	int rc;

	COLL_GAMMA_MODEX_RECV(rc, &mca_coll_gamma_component.super.collm_version, &name,
			      (void **) &published, &len);
	fits = rc == OPAL_SUCCESS && published && len == sizeof(*published) &&
	       published->magic == MAGIC &&
	       published->join_after == mca_coll_gamma_component.join_after;
	free(published);
	return fits;
}
