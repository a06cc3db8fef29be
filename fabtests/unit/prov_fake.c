// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The fakes of prov_fake.h: endpoints, and the objects built upon them, which cannot be opened. */
#include "prov_fake.h"

#include "active_port.h"

#include <sys/eventfd.h>
#include <unistd.h>

/* ---- endpoints ---- */

int gamma_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		  void *context)
{
	(void) domain, (void) info, (void) ep, (void) context;
	return -FI_ENOSYS;
}

int gamma_shared_ctx_open_rx(struct fid_domain *domain, struct fi_rx_attr *attr,
			     struct fid_ep **srx, void *context)
{
	(void) domain, (void) attr, (void) srx, (void) context;
	return -FI_ENOSYS;
}

int gamma_sep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep,
		   void *context)
{
	(void) domain, (void) info, (void) sep, (void) context;
	return -FI_ENOSYS;
}

int gamma_deferred_work_control(struct gamma_domain *domain, int command, void *arg)
{
	(void) domain, (void) command, (void) arg;
	return -FI_ENOSYS;
}

void gamma_deferred_work_run(struct gamma_domain *domain)
{
	(void) domain;
}

void gamma_deferred_work_check(struct gamma_cntr *cntr)
{
	(void) cntr;
}

void gamma_deferred_work_retry(struct gamma_domain *domain)
{
	(void) domain;
}

int gamma_shared_ctx_open_tx(struct fid_domain *domain, struct fi_tx_attr *attr,
			     struct fid_stx **stx, void *context)
{
	(void) domain, (void) attr, (void) stx, (void) context;
	return -FI_ENOSYS;
}

struct gamma_list *gamma_ep_domain_entry(struct gamma_fi_ep *ep)
{
	return &ep->entry;
}

struct gamma_fi_ep *gamma_ep_of_domain_entry(struct gamma_list *entry)
{
	return gamma_list_entry(entry, struct gamma_fi_ep, entry);
}

void gamma_active_port_run_all(struct gamma_domain *domain)
{
	gamma_progress_poll(domain);
}

bool gamma_active_port_run_pending(const struct gamma_domain *domain)
{
	(void) domain;
	return false;
}

bool gamma_active_port_run_watch(struct gamma_domain *domain)
{
	(void) domain;
	return false;
}

void gamma_ep_progress(struct gamma_fi_ep *ep)
{
	ep->progressed++;
	if (ep->on_progress)
		ep->on_progress(ep);
}

uint64_t gamma_ep_deadline(const struct gamma_fi_ep *ep)
{
	return ep->deadline;
}

void gamma_ep_remove_source(struct gamma_fi_ep *ep, const struct gamma_av *av, fi_addr_t fi_addr)
{
	(void) ep, (void) av, (void) fi_addr;
}

void gamma_ep_withdraw(struct gamma_fi_ep *ep, const struct gamma_mr *mr)
{
	(void) ep, (void) mr;
}

bool gamma_ep_ready(const struct gamma_fi_ep *ep)
{
	return ep->ready;
}

void gamma_ep_watch(struct gamma_fi_ep *ep, bool asleep)
{
	ep->watched = asleep;
}

bool gamma_ep_armed(const struct gamma_fi_ep *ep)
{
	return !ep->disarmed;
}

int gamma_ep_fds(const struct gamma_fi_ep *ep, int fds[GAMMA_EP_FDS])
{
	fds[0] = ep->fd;
	return ep->fd < 0 ? 0 : 1;
}

void fake_ep_enable(struct gamma_fi_ep *ep, struct fake *fake)
{
	ep->domain = fake->gamma_domain;
	ep->deadline = ep->deadline ? ep->deadline : GAMMA_NEVER;
	ep->fd = eventfd(0, EFD_NONBLOCK);
	gamma_domain_lock(ep->domain);
	gamma_list_append(&ep->domain->eps, &ep->entry);
	assert_int_equal(gamma_progress_watch(ep->domain, ep), 0);
	gamma_domain_unlock(ep->domain);
}

void fake_ep_disable(struct gamma_fi_ep *ep)
{
	gamma_domain_lock(ep->domain);
	gamma_progress_unwatch(ep->domain, ep);
	gamma_list_remove(&ep->entry);
	gamma_domain_unlock(ep->domain);
	close(ep->fd);
}

void fake_ep_poke(struct gamma_fi_ep *ep)
{
	uint64_t one = 1;

	assert_int_equal(write(ep->fd, &one, sizeof(one)), sizeof(one));
}

void fake_ep_quiet(struct gamma_fi_ep *ep)
{
	uint64_t count;
	ssize_t ret = read(ep->fd, &count, sizeof(count));

	(void) ret;
}

void gamma_affinity_bind_thread(const char *interface)
{
	(void) interface;
}

void gamma_affinity_cleanup(void)
{
}
