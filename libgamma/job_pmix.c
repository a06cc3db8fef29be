// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* A job that mpirun, prterun or srun --mpi=pmix has started. */
#include "job.h"

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char key[] = "libgamma.names";
static pmix_proc_t self;

static int failed(const char *what, pmix_status_t status)
{
	if (status == PMIX_SUCCESS)
		return 0;
	fprintf(stderr, "libgamma: %s: %s\n", what, PMIx_Error_string(status));
	return -1;
}

bool job_pmix_offered(void)
{
	return getenv("PMIX_NAMESPACE");
}

int job_pmix_open(struct job *job)
{
	pmix_value_t *value;
	pmix_proc_t all;

	if (failed("PMIx_Init", PMIx_Init(&self, NULL, 0)))
		return -1;
	all = self;
	all.rank = PMIX_RANK_WILDCARD;
	if (failed("size of the job", PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value)))
		return -1;
	job->node = (unsigned short) self.rank;
	job->nodes = (unsigned short) value->data.uint32;
	PMIX_VALUE_RELEASE(value);
	return 0;
}

int job_pmix_exchange(const struct job *job, const void *card, size_t len, void *all)
{
	pmix_value_t mine = {.type = PMIX_BYTE_OBJECT}, *value;
	pmix_proc_t peer = self;
	bool collect = true;
	pmix_info_t info;
	int ret;

	mine.data.bo.bytes = (char *) card;
	mine.data.bo.size = len;
	PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
	ret = failed("PMIx_Put", PMIx_Put(PMIX_GLOBAL, key, &mine)) ||
	      failed("PMIx_Commit", PMIx_Commit()) ||
	      failed("PMIx_Fence", PMIx_Fence(NULL, 0, &info, 1));
	PMIX_INFO_DESTRUCT(&info);
	for (unsigned short node = 0; !ret && node < job->nodes; node++) {
		peer.rank = node;
		if (failed("PMIx_Get", PMIx_Get(&peer, key, NULL, 0, &value)))
			return -1;
		if (value->data.bo.size == len)
			memcpy((char *) all + node * len, value->data.bo.bytes, len);
		else
			ret = failed("PMIx_Get: another libgamma", PMIX_ERR_BAD_PARAM);
		PMIX_VALUE_RELEASE(value);
	}
	return ret ? -1 : 0;
}

void job_pmix_close(void)
{
	PMIx_Finalize(NULL, 0);
}

void job_pmix_abort(void)
{
	PMIx_Abort(1, "gamma_abort", NULL, 0);
}
