// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* An endpoint's counters: as one JSON line when it closes (FI_GAMMA_STATS), and for programs. */
#include "ep.h"

#include <fcntl.h>
#include <unistd.h>

#include "rdma/fi_ext_gamma.h"

enum { LINE_MAX_LEN = 8192, COUNTERS = sizeof(struct gamma_stats) / sizeof(uint64_t) };

/* One over UDP beside the raw one has the name that a domain over UDP has. */
static struct gamma_domain_name rail_name(const struct gamma_domain *domain, unsigned r)
{
	const struct gamma_nic *nic = &domain->nic;
	struct gamma_domain_name name;

	if (r)
		nic = domain->beside.mtu ? &domain->beside : &domain->more[r - 1];
	if (r && (domain->beside.mtu || gamma_domain_is_twin(domain, r - 1)))
		return gamma_nic_list_domain(nic);
	snprintf(name.text, sizeof(name.text), "%s", nic->name);
	return name;
}

/* Of several NICs, one object each. */
static int format_rails(const struct gamma_fi_ep *ep, char *line, size_t room)
{
	struct gamma_endpoint_rail rails[GAMMA_RAILS_MAX];
	unsigned count = gamma_endpoint_rails(ep->endpoint, rails);
	int len = 0;

	for (unsigned r = 0; r < count; r++) {
		len += snprintf(line + len, room - (size_t) len,
				"%s{\"nic\":\"%s\",\"frames_out\":%llu,\"bytes_out\":%llu,"
				"\"retransmissions\":%llu,\"doubted\":%llu,\"returned\":%llu,"
				"\"round_trip_ns\":%llu}",
				r ? "," : ",\"rails\":[", rail_name(ep->domain, r).text,
				(unsigned long long) rails[r].frames_out,
				(unsigned long long) rails[r].bytes_out,
				(unsigned long long) rails[r].retransmissions,
				(unsigned long long) rails[r].doubted,
				(unsigned long long) rails[r].returned,
				(unsigned long long) rails[r].round_trip);
	}
	return count ? len + snprintf(line + len, room - (size_t) len, "]") : 0;
}

static int format_stats(const struct gamma_fi_ep *ep, const struct gamma_stats *stats, char *line)
{
	char name[GAMMA_NAME_LEN];
	int len = snprintf(line, LINE_MAX_LEN,
			   "{\"endpoint\":\"%s\",\"type\":\"%s\",\"nic\":\"%s\",\"pid\":%d",
			   gamma_flow_addr_name(gamma_endpoint_addr(ep->endpoint), name),
			   ep->type == FI_EP_RDM ? "rdm" : "dgram", ep->domain->nic.name,
			   (int) getpid());

#define GAMMA_STATS_PRINT(field, meaning)                                                \
	len += snprintf(line + len, LINE_MAX_LEN - (size_t) len, ",\"" #field "\":%llu", \
			(unsigned long long) stats->field);
	GAMMA_STATS_TABLE(GAMMA_STATS_PRINT)
#undef GAMMA_STATS_PRINT
	len += format_rails(ep, line + len, LINE_MAX_LEN - (size_t) len);
	return len + snprintf(line + len, LINE_MAX_LEN - (size_t) len, "}\n");
}

/* One write, so that lines of several processes do not mix. */
void gamma_stats_report(struct gamma_fi_ep *ep)
{
	const char *where = gamma_settings.stats;
	char line[LINE_MAX_LEN], why[512];
	int len, fd;

	if (!where || gamma_progress_is_inherited(ep->domain))
		return;
	len = format_stats(ep, gamma_endpoint_stats(ep->endpoint), line);
	fd = strcmp(where, "stderr") ? open(where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)
				     : STDERR_FILENO;
	if (fd < 0 || write(fd, line, (size_t) len) != len) {
		snprintf(why, sizeof(why),
			 "FI_GAMMA_STATS=%.160s cannot be written (%s); name a file in a folder "
			 "where this user may write, or stderr",
			 where, strerror(errno));
		gamma_select_explain(true, why);
	}
	if (fd >= 0 && fd != STDERR_FILENO)
		close(fd);
}

/* ---- for programs ---- */

static const struct {
	const char *name, *meaning;
} counters[] = {
#define GAMMA_STATS_NAME(field, meaning) {#field, meaning},
	GAMMA_STATS_TABLE(GAMMA_STATS_NAME)
#undef GAMMA_STATS_NAME
};
_Static_assert(gamma_array_size(counters) == COUNTERS, "all have a name");

static size_t counters_count(struct fid_ep *fid)
{
	(void) fid;
	return COUNTERS;
}

static int counters_describe(struct fid_ep *fid, size_t index, const char **name,
			     const char **meaning)
{
	(void) fid;
	if (index >= COUNTERS || !name || !meaning)
		return -FI_EINVAL;
	*name = counters[index].name;
	*meaning = counters[index].meaning;
	return 0;
}

/* Before fi_enable nothing has been counted. */
static int counters_read(struct fid_ep *fid, uint64_t *values, size_t count)
{
	struct gamma_fi_ep *ep = gamma_ep_handle_of(fid)->ep;
	struct gamma_stats stats = {0};

	if (!values)
		return count ? -FI_EINVAL : 0;
	gamma_domain_lock(ep->domain);
	if (ep->endpoint)
		stats = *gamma_endpoint_stats(ep->endpoint);
	gamma_domain_unlock(ep->domain);
	memset(values, 0, count * sizeof(*values));
	memcpy(values, &stats, gamma_min(count, COUNTERS) * sizeof(*values));
	return 0;
}

static struct fi_gamma_counter_ops counter_ops = {
	.size = sizeof(counter_ops),
	.count = counters_count,
	.describe = counters_describe,
	.read = counters_read,
};

int gamma_stats_open_ops(struct fid *fid, const char *name, uint64_t flags, void **ops,
			 void *context)
{
	const struct gamma_fi_ep_handle *handle =
		gamma_container_of(fid, struct gamma_fi_ep_handle, fid.fid);

	if (!name || strcmp(name, FI_GAMMA_COUNTER_OPS_1))
		return gamma_active_port_open(fid, name, flags, ops, context);
	if (!handle->ep)
		return -FI_ENOSYS;
	if (flags || !ops)
		return -FI_EINVAL;
	*ops = &counter_ops;
	return 0;
}
