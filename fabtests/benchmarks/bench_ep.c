// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The endpoint of benchmarks: see bench_ep.h. */
#include "bench_ep.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

enum {
	CQ_SIZE = 4096,
	WAIT_S = 60,     /* without any completion, then the program gives up */
	LOOK_ASIDE = 64, /* polls between two looks at the other queue */
	YIELD = 4096,    /* polls until another process of this processor may run */
};

uint64_t bench_ep_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t) ts.tv_sec * 1000000000ull + (uint64_t) ts.tv_nsec;
}

void bench_ep_fail(const char *what, long ret)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		fi_strerror((int) -ret));
	exit(1);
}

void bench_ep_check(const char *what, long ret)
{
	if (ret)
		bench_ep_fail(what, ret);
}

double bench_ep_memory(void)
{
	unsigned long all, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file && fscanf(file, "%lu %lu", &all, &resident) != 2)
		resident = 0;
	if (file)
		fclose(file);
	return (double) resident * (double) sysconf(_SC_PAGESIZE);
}

void *bench_ep_allocate(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size ? size : 1);

	if (!memory)
		bench_ep_fail("memory", -FI_ENOMEM);
	return memory;
}

static struct fi_info *make_hints(const struct bench_ep_choice *choice)
{
	struct fi_info *hints = fi_allocinfo();

	hints->caps = choice->caps ? choice->caps : FI_TAGGED;
	hints->ep_attr->type = choice->type ? choice->type : FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup(choice->provider);
	hints->domain_attr->name = choice->domain ? strdup(choice->domain) : NULL;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->mr_mode =
		hints->caps & FI_RMA ? FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY : 0;
	return hints;
}

static void bind_and_enable(struct bench_ep *s, struct fid_ep *ep)
{
	bench_ep_check("fi_ep_bind", fi_ep_bind(ep, &s->av->fid, 0));
	bench_ep_check("fi_ep_bind", fi_ep_bind(ep, &s->tx->fid, s->sent_flags));
	bench_ep_check("fi_ep_bind", fi_ep_bind(ep, &s->rx->fid, FI_RECV));
	bench_ep_check("fi_enable", fi_enable(ep));
}

void bench_ep_open(struct bench_ep *s, const struct bench_ep_choice *choice)
{
	struct fi_info *hints = make_hints(choice);
	struct fi_cq_attr cq = {
		.format = FI_CQ_FORMAT_TAGGED,
		.size = CQ_SIZE,
		.wait_obj = choice->sleeps ? FI_WAIT_UNSPEC : FI_WAIT_NONE,
	};
	struct fi_av_attr av = {.type = FI_AV_MAP};

	bench_ep_check("fi_getinfo", fi_getinfo(FI_VERSION(1, 9), choice->node, choice->service,
						choice->flags, hints, &s->info));
	bench_ep_check("fi_fabric", fi_fabric(s->info->fabric_attr, &s->fabric, NULL));
	bench_ep_check("fi_domain", fi_domain(s->fabric, s->info, &s->domain, NULL));
	bench_ep_check("fi_cq_open", fi_cq_open(s->domain, &cq, &s->tx, NULL));
	bench_ep_check("fi_cq_open", fi_cq_open(s->domain, &cq, &s->rx, NULL));
	bench_ep_check("fi_av_open", fi_av_open(s->domain, &av, &s->av, NULL));
	bench_ep_check("fi_endpoint", fi_endpoint(s->domain, s->info, &s->ep, NULL));
	s->sent_flags = FI_TRANSMIT | (choice->selective ? FI_SELECTIVE_COMPLETION : 0);
	bind_and_enable(s, s->ep);
	s->tagged = hints->caps & FI_TAGGED;
	s->sleeps = choice->sleeps;
	fi_freeinfo(hints);
}

struct fid_ep *bench_ep_another(struct bench_ep *s, const struct bench_ep_choice *choice)
{
	struct fi_info *hints = make_hints(choice), *info;
	struct fid_ep *ep;

	bench_ep_check("fi_getinfo", fi_getinfo(FI_VERSION(1, 9), choice->node, NULL,
						choice->node ? FI_SOURCE : 0, hints, &info));
	bench_ep_check("fi_endpoint", fi_endpoint(s->domain, info, &ep, NULL));
	bind_and_enable(s, ep);
	fi_freeinfo(hints);
	fi_freeinfo(info);
	return ep;
}

void bench_ep_close(struct bench_ep *s)
{
	fi_close(&s->ep->fid);
	fi_close(&s->av->fid);
	fi_close(&s->rx->fid);
	fi_close(&s->tx->fid);
	fi_close(&s->domain->fid);
	fi_close(&s->fabric->fid);
	fi_freeinfo(s->info);
}

size_t bench_ep_name(struct bench_ep *s, char name[BENCH_EP_NAME_MAX])
{
	size_t len = BENCH_EP_NAME_MAX;

	bench_ep_check("fi_getname", fi_getname(&s->ep->fid, name, &len));
	return len;
}

fi_addr_t bench_ep_insert(struct bench_ep *s, const void *name)
{
	fi_addr_t addr;

	if (fi_av_insert(s->av, name, 1, &addr, 0, NULL) != 1)
		bench_ep_fail("fi_av_insert", -FI_EINVAL);
	return addr;
}

static void fail_of_completion(struct fid_cq *cq)
{
	struct fi_cq_err_entry error = {0};

	bench_ep_fail("completion", fi_cq_readerr(cq, &error, 0) == 1 ? -error.err : -FI_EAVAIL);
}

/* As await, asleep. The other queue is moved along by the same call. */
static void sleep_for(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entry;
	uint64_t until = bench_ep_now() + WAIT_S * 1000000000ull;
	ssize_t ret;

	do {
		ret = fi_cq_sread(cq, &entry, 1, NULL, 1000);
		if (bench_ep_now() > until)
			bench_ep_fail("waiting for a message", -FI_ETIMEDOUT);
	} while (ret == -FI_EAGAIN || ret == -FI_EINTR);
	if (ret < 0)
		fail_of_completion(cq);
}

/* One completion; gives up after WAIT_S. */
static void await(struct fid_cq *cq, struct fid_cq *other)
{
	struct fi_cq_tagged_entry entry;
	uint64_t until = 0;
	ssize_t ret;

	for (unsigned tries = 1; (ret = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN; tries++) {
		if (tries % LOOK_ASIDE == 0)
			fi_cq_read(other, NULL, 0);
		if (tries % YIELD)
			continue;
		sched_yield();
		until = until ? until : bench_ep_now() + WAIT_S * 1000000000ull;
		if (bench_ep_now() > until)
			bench_ep_fail("waiting for a message", -FI_ETIMEDOUT);
	}
	if (ret < 0)
		fail_of_completion(cq);
}

void bench_ep_post(struct bench_ep *s, void *buf, size_t len, uint64_t tag)
{
	ssize_t ret;

	while ((ret = s->tagged
			      ? fi_trecv(s->ep, buf, len, NULL, FI_ADDR_UNSPEC, tag, 0, NULL)
			      : fi_recv(s->ep, buf, len, NULL, FI_ADDR_UNSPEC, NULL)) == -FI_EAGAIN)
		fi_cq_read(s->rx, NULL, 0);
	bench_ep_check("fi_recv", ret);
}

void bench_ep_receive(struct bench_ep *s)
{
	if (s->sleeps)
		sleep_for(s->rx);
	else
		await(s->rx, s->tx);
}

void bench_ep_begin_send(struct bench_ep *s, fi_addr_t to, const void *buf, size_t len,
			 uint64_t tag)
{
	ssize_t ret;

	while ((ret = s->tagged ? fi_tsend(s->ep, buf, len, NULL, to, tag, NULL)
				: fi_send(s->ep, buf, len, NULL, to, NULL)) == -FI_EAGAIN)
		bench_ep_progress(s);
	bench_ep_check("fi_send", ret);
}

void bench_ep_sent(struct bench_ep *s)
{
	await(s->tx, s->rx);
}

/* Small messages are injected, as a program that cares for latency does. */
void bench_ep_send(struct bench_ep *s, fi_addr_t to, const void *buf, size_t len, uint64_t tag)
{
	ssize_t ret;

	if (len > s->info->tx_attr->inject_size) {
		bench_ep_begin_send(s, to, buf, len, tag);
		bench_ep_sent(s);
		return;
	}
	while ((ret = s->tagged ? fi_tinject(s->ep, buf, len, to, tag)
				: fi_inject(s->ep, buf, len, to)) == -FI_EAGAIN)
		fi_cq_read(s->tx, NULL, 0);
	bench_ep_check("fi_inject", ret);
}

struct fid_mr *bench_ep_register(struct bench_ep *s, void *buf, size_t len,
				 struct bench_ep_region *region)
{
	uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE;
	struct fid_mr *mr;

	bench_ep_check("fi_mr_reg", fi_mr_reg(s->domain, buf, len, access, 0, 1, 0, &mr, NULL));
	region->key = fi_mr_key(mr);
	region->address = s->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t) buf : 0;
	return mr;
}

void bench_ep_progress(struct bench_ep *s)
{
	fi_cq_read(s->tx, NULL, 0);
	fi_cq_read(s->rx, NULL, 0);
}
