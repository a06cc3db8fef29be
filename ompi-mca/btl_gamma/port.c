// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A port's life: libfabric's objects for one NIC, opened and closed in order. Called by module.c.
 *
 * A program may initialize MPI again after its last session has ended (Open MPI 5). Its peers
 * still get the addresses that it published first. So it takes the same ports again, and
 * addresses its peers without the epochs of that time. This needs a library that stays loaded,
 * which the linker marks.
 */
#include "btl_gamma.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PREVIOUS_MAX = 16,
	REOPEN_TRIES = 100, /* for a port that was just closed: attempts, */
	REOPEN_US = 10000,  /* and us between them */
};

/* Ports of earlier sessions of this process, to be taken again. */
static struct {
	char nic[BTL_GAMMA_NIC_NAME];
	uint16_t port; /* network order */
} previous[PREVIOUS_MAX];
static size_t previous_count;
static bool reopened; /* a port was opened that an earlier session had */

bool btl_gamma_port_is_reopened(void)
{
	return reopened;
}

/* In Mbit/s: set by the user, or reported by the NIC, or 10 Gbit/s. */
static uint32_t bandwidth_of(const char *name, const struct fid_nic *nic)
{
	uint32_t found = mca_btl_gamma_component.template.btl_bandwidth;

	if (!found && nic && nic->link_attr)
		found = (uint32_t) (nic->link_attr->speed / 1000000);
	return btl_gamma_params_bandwidth(name, found ? found : 10000);
}

/* Collective operations only where the provider has them. */
static int query_info(struct btl_gamma_port *port, struct fi_info *hints)
{
	const uint64_t caps = FI_MSG | FI_MULTI_RECV | FI_RMA | FI_ATOMIC;
	int rc;

	hints->caps = caps | FI_COLLECTIVE;
	rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &port->info);
	port->collective = !rc;
	if (rc) {
		hints->caps = caps;
		rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &port->info);
	}
	return rc;
}

static int find_info(struct btl_gamma_port *port)
{
	struct fi_info *hints = btl_gamma_provider_hints(port->nic);
	size_t inject;
	int rc;

	if (!hints)
		return -FI_ENOMEM;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->domain_attr->av_type = FI_AV_TABLE;
	hints->domain_attr->data_progress =
		mca_btl_gamma_component.async_progress ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
	rc = query_info(port, hints);
	fi_freeinfo(hints);
	if (rc)
		return rc;
	/* Messages contain their sender. */
	port->info->caps &= ~(FI_SOURCE | FI_DIRECTED_RECV);
	port->info->rx_attr->caps &= ~(FI_SOURCE | FI_DIRECTED_RECV);
	inject = port->info->tx_attr->inject_size;
	if (port->info->src_addr && port->info->src_addrlen >= sizeof(port->mac))
		memcpy(port->mac, port->info->src_addr, sizeof(port->mac));
	port->inject_size = inject < BTL_GAMMA_INJECT_MAX ? inject : BTL_GAMMA_INJECT_MAX;
	port->bandwidth = bandwidth_of(port->nic, port->info->nic);
	return 0;
}

/* Sends complete only if asked to: injected ones do not. */
static int bind_endpoint(struct btl_gamma_port *port)
{
	size_t min_multi = port->max_message, address_len = sizeof(port->address);
	int rc;

	rc = fi_ep_bind(port->ep, &port->av->fid, 0);
	if (!rc)
		rc = fi_ep_bind(port->ep, &port->eq->fid, 0);
	if (!rc)
		rc = fi_ep_bind(port->ep, &port->cq->fid,
				FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION);
	if (!rc)
		rc = fi_enable(port->ep);
	if (!rc)
		rc = fi_setopt(&port->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min_multi,
			       sizeof(min_multi));
	if (!rc) {
		rc = fi_getname(&port->ep->fid, &port->address, &address_len);
	}
	return rc;
}

static int open_endpoint(struct btl_gamma_port *port)
{
	int rc = fi_endpoint(port->domain, port->info, &port->ep, NULL);

	if (!rc)
		rc = bind_endpoint(port);
	if (rc && port->ep) {
		fi_close(&port->ep->fid);
		port->ep = NULL;
	}
	return rc;
}

static int open_previous(struct btl_gamma_port *port)
{
	struct gamma_addr *source = port->info->src_addr;
	int rc = -FI_EADDRINUSE, try;
	size_t i;

	for (i = 0; i < previous_count && strcmp(previous[i].nic, port->nic); i++)
		;
	if (i == previous_count || port->info->src_addrlen < sizeof(*source))
		return rc;
	reopened = true;
	source->port = previous[i].port;
	for (try = 0; rc == -FI_EADDRINUSE && try < REOPEN_TRIES; try++) {
		if (try)
			usleep(REOPEN_US);
		rc = open_endpoint(port);
	}
	source->port = GAMMA_PORT_ANY;
	return rc;
}

static void remember(const struct btl_gamma_port *port)
{
	if (previous_count == PREVIOUS_MAX)
		return;
	memcpy(previous[previous_count].nic, port->nic, sizeof(port->nic));
	previous[previous_count++].port = port->address.port;
}

static int open_objects(struct btl_gamma_port *port)
{
	struct fi_av_attr av = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq = {
		.format = FI_CQ_FORMAT_DATA,
		.wait_obj = mca_btl_gamma_component.progress_thread ? FI_WAIT_FD : FI_WAIT_NONE,
	};
	struct fi_eq_attr eq = {.wait_obj = FI_WAIT_NONE};
	int rc = find_info(port);

	if (!rc)
		rc = fi_fabric(port->info->fabric_attr, &port->fabric, NULL);
	if (!rc)
		rc = fi_eq_open(port->fabric, &eq, &port->eq, NULL);
	if (!rc)
		rc = fi_domain(port->fabric, port->info, &port->domain, NULL);
	if (!rc)
		rc = fi_av_open(port->domain, &av, &port->av, NULL);
	if (!rc)
		rc = fi_cq_open(port->domain, &cq, &port->cq, NULL);
	if (rc || !open_previous(port))
		return rc;
	rc = open_endpoint(port);
	if (!rc)
		remember(port);
	return rc;
}

/* Closing the endpoint waits for unacknowledged messages: at most FI_GAMMA_LINGER. */
static void close_objects(struct btl_gamma_port *port)
{
	struct fid *order[] = {
		port->ep ? &port->ep->fid : NULL, port->cq ? &port->cq->fid : NULL,
		port->av ? &port->av->fid : NULL, port->domain ? &port->domain->fid : NULL,
		port->eq ? &port->eq->fid : NULL, port->fabric ? &port->fabric->fid : NULL,
	};
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (order[i])
			fi_close(order[i]);
	if (port->info)
		fi_freeinfo(port->info);
}

void btl_gamma_port_put(struct btl_gamma_port *port)
{
	if (--port->users)
		return;
	close_objects(port);
	btl_gamma_receive_drop_buffers(port);
	pthread_mutex_destroy(&port->polling);
	free(port);
}

/* With one user. NULL: the reason was reported. */
struct btl_gamma_port *btl_gamma_port_open(const char *nic, size_t max_message)
{
	struct btl_gamma_port *port = calloc(1, sizeof(*port));
	int rc;

	if (!port)
		return NULL;
	port->users = 1;
	port->max_message = max_message;
	strcpy(port->nic, nic);
	pthread_mutex_init(&port->polling, NULL);
	rc = open_objects(port);
	if (!rc)
		return port;
	btl_gamma_report_unused(
		"no endpoint can be opened on %s: %s.",
		"FI_LOG_LEVEL=warn shows the provider's messages; fi_pingpong -p gamma tests the "
		"same without MPI.",
		nic, fi_strerror(-rc));
	btl_gamma_port_put(port);
	return NULL;
}
