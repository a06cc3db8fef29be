// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The address vector: peers' addresses by index, for FI_AV_MAP as for FI_AV_TABLE, since
 * applications count on indices in both. Endpoints look up peers by index when they send and
 * by (MAC, port) when they receive. Under the domain's lock.
 */
#include "avset.h"
#include "gamma.h"
#include "nic_list.h"
#include "report.h"
#include "base/ipv6_names.h"
#include "base/mac.h"
#include "nic/resolve.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>

#define NONE UINT32_MAX /* no entry: the end of a hash chain */

enum {
	RX_CTX_BITS_MAX = 16,     /* what is left is more than any table has */
	ENTRIES_MIN = 64,         /* entries to begin with */
	ENTRIES_MAX_HINT = 65536, /* and at most, whatever count is announced */
};

/* Heads of the chains of entries with the same hash of MAC and port. */
struct gamma_av_hash {
	uint32_t mask; /* heads - 1, their number a power of two */
	uint32_t heads[];
};

static struct gamma_av *av_of(struct fid_av *av_fid)
{
	return gamma_container_of(av_fid, struct gamma_av, av_fid);
}

/* ---- the reverse look-up ---- */

/* MAC and port are the first eight bytes of an address. */
static uint64_t slot_of(const struct gamma_addr *addr)
{
	uint64_t place;

	_Static_assert(offsetof(struct gamma_addr, epoch) == sizeof(place), "MAC and port lead");
	memcpy(&place, addr, sizeof(place));
	return place;
}

static uint32_t *head_of(struct gamma_av_hash *hash, uint64_t place)
{
	return &hash->heads[((place * 0x9e3779b97f4a7c15ull) >> 32) & hash->mask];
}

static fi_addr_t find_exactly(const struct gamma_av *av, const struct gamma_addr *addr)
{
	uint64_t place = slot_of(addr);
	fi_addr_t any = FI_ADDR_NOTAVAIL, exact = FI_ADDR_NOTAVAIL;
	uint32_t i;

	/* FI_ADDR_NOTAVAIL is above every index: of duplicates the lowest wins. */
	for (i = *head_of(av->hash, place); i != NONE; i = av->entries[i].hash_next) {
		const struct gamma_addr *entry = &av->entries[i].addr;

		if (slot_of(entry) != place)
			continue;
		if (entry->epoch == addr->epoch)
			exact = gamma_min(exact, i);
		else if (entry->epoch == GAMMA_EPOCH_ANY)
			any = gamma_min(any, i);
	}
	return exact != FI_ADDR_NOTAVAIL ? exact : any;
}

static bool is_same_peer(const struct gamma_addr *one, const struct gamma_addr *other)
{
	return slot_of(one) == slot_of(other) &&
	       (one->epoch == other->epoch || one->epoch == GAMMA_EPOCH_ANY ||
		other->epoch == GAMMA_EPOCH_ANY);
}

/* A peer may be in several times: Open MPI's threads insert it each on their own. */
bool gamma_av_same_peer(const struct gamma_av *av, fi_addr_t a, fi_addr_t b)
{
	const struct gamma_addr *one, *other;

	if (a == b || !av->duplicates)
		return a == b;
	one = gamma_av_addr(av, a);
	other = gamma_av_addr(av, b);
	return one && other && is_same_peer(one, other);
}

/* Whether a frame with that epoch and port comes from a context of the entry. */
static bool is_context(const struct gamma_addr *entry, const struct gamma_addr *addr)
{
	unsigned behind = (unsigned) ntohs(addr->port) - ntohs(entry->port);

	return entry->epoch == addr->epoch &&
	       behind < GAMMA_CONTEXTS_RX(entry->contexts) + GAMMA_CONTEXTS_TX(entry->contexts);
}

static bool is_scalable_name_of(const struct gamma_addr *name, const struct gamma_addr *addr)
{
	return name->contexts && !memcmp(name->mac, addr->mac, GAMMA_MAC_LEN) &&
	       is_context(name, addr);
}

bool gamma_av_is_name_of(const struct gamma_addr *name, const struct gamma_addr *addr)
{
	return is_same_peer(name, addr) || is_scalable_name_of(name, addr);
}

static bool slot_is_known(const struct gamma_av *av, uint64_t place)
{
	uint32_t i = *head_of(av->hash, place);

	while (i != NONE && slot_of(&av->entries[i].addr) != place)
		i = av->entries[i].hash_next;
	return i != NONE;
}

/* The contexts of a scalable endpoint are known by the name that it has as a whole. */
static fi_addr_t find_scalable(const struct gamma_av *av, const struct gamma_addr *addr)
{
	struct gamma_addr first = *addr;
	fi_addr_t found;
	unsigned i;

	for (i = 0; i < 2 * GAMMA_CONTEXT_MAX; i++) {
		first.port = htons(ntohs(addr->port) - i);
		found = find_exactly(av, &first);
		if (found != FI_ADDR_NOTAVAIL && is_context(&av->entries[found].addr, addr))
			return found;
	}
	return FI_ADDR_NOTAVAIL;
}

fi_addr_t gamma_av_find(const struct gamma_av *av, const struct gamma_addr *addr)
{
	fi_addr_t found = find_exactly(av, addr);

	if (found == FI_ADDR_NOTAVAIL && av->scalable)
		found = find_scalable(av, addr);
	return found;
}

bool gamma_av_context(const struct gamma_av *av, fi_addr_t fi_addr, struct gamma_addr *addr)
{
	unsigned shift = 64 - av->rx_ctx_bits, context;
	const struct gamma_addr *entry;

	if (!av->rx_ctx_bits)
		return false;
	context = (unsigned) (fi_addr >> shift);
	entry = gamma_av_addr(av, fi_addr & ((1ull << shift) - 1));
	/* Of an address from a name it is not known how many contexts there are. */
	if (!entry || context > (unsigned) UINT16_MAX - ntohs(entry->port) ||
	    (entry->epoch != GAMMA_EPOCH_ANY && context &&
	     context >= GAMMA_CONTEXTS_RX(entry->contexts)))
		return false;
	*addr = *entry;
	addr->port = htons(ntohs(entry->port) + context);
	addr->contexts = 0;
	return true;
}

static void hash_add(struct gamma_av *av, uint32_t index)
{
	uint32_t *head = head_of(av->hash, slot_of(&av->entries[index].addr));

	av->entries[index].hash_next = *head;
	*head = index;
}

static void hash_remove(struct gamma_av *av, uint32_t index)
{
	uint32_t *link = head_of(av->hash, slot_of(&av->entries[index].addr));

	while (*link != index)
		link = &av->entries[*link].hash_next;
	*link = av->entries[index].hash_next;
}

/* ---- the table ---- */

/* Room for size entries, a power of two, with as many chains. */
static int resize_entries(struct gamma_av *av, size_t size)
{
	struct gamma_av_entry *entries = realloc(av->entries, size * sizeof(*entries));
	struct gamma_av_hash *hash;
	size_t i;

	if (!entries)
		return -FI_ENOMEM;
	av->entries = entries;
	hash = malloc(sizeof(*hash) + size * sizeof(hash->heads[0]));
	if (!hash)
		return -FI_ENOMEM;
	free(av->hash);
	av->hash = hash;
	av->size = size;
	hash->mask = size - 1;
	memset(hash->heads, 0xff, size * sizeof(hash->heads[0]));
	for (i = 0; i < av->count; i++)
		if (entries[i].used)
			hash_add(av, i);
	return 0;
}

static bool is_host_ipv6(const struct gamma_addr *addr)
{
	struct gamma_ip ip = {.len = GAMMA_IPV6_LEN};

	gamma_addr_ipv6(addr, ip.bytes);
	return gamma_ip_is_host(&ip);
}

/* It comes from another host and may hold anything. */
static bool address_is_valid(const struct gamma_nic *nic, const struct gamma_addr *addr)
{
	const char *link = gamma_nic_list_link_name(addr->version);
	const uint8_t own = gamma_nic_list_addr_version(nic);
	static bool reported; /* once per process */

	if (!addr->port)
		return false;
	if (addr->version == own)
		return own == GAMMA_ADDR_VERSION_UDP6 ? is_host_ipv6(addr)
						      : gamma_mac_is_unicast(addr->mac);
	if (link && !__atomic_exchange_n(&reported, true, __ATOMIC_RELAXED))
		gamma_report("a peer's address is of %s, and this process uses %s: set the same "
			     "FI_GAMMA_LINK on all hosts%s",
			     link, gamma_nic_list_link_name(own),
			     addr->version == GAMMA_ADDR_VERSION || own == GAMMA_ADDR_VERSION
				     ? ", or start gammad on all"
				     : "");
	return false;
}

static void advance_lowest_free(struct gamma_av *av)
{
	while (av->lowest_free < av->count && av->entries[av->lowest_free].used)
		av->lowest_free++;
}

/* Inserts at the lowest free index, which it returns in *index. */
static int insert_one(struct gamma_av *av, const struct gamma_addr *addr, fi_addr_t *index)
{
	struct gamma_av_entry *entry;
	struct gamma_addr held = *addr;
	int ret;

	*index = FI_ADDR_NOTAVAIL;
	if (!address_is_valid(&av->domain->nic, addr))
		return -FI_EINVAL;
	if (av->lowest_free == av->size) {
		if (av->size >= NONE / 2)
			return -FI_ENOMEM;
		ret = resize_entries(av, av->size * 2);
		if (ret)
			return ret;
	}
	ret = gamma_ipv6_names_hold_addr(&held);
	if (ret)
		return ret == -ENOMEM ? -FI_ENOMEM : -FI_EADDRNOTAVAIL;
	*index = av->lowest_free;
	entry = &av->entries[*index];
	addr = &entry->addr;
	entry->addr = held;
	entry->used = true;
	av->scalable += addr->contexts != 0;
	av->duplicates |= slot_is_known(av, slot_of(addr));
	hash_add(av, *index);
	if (av->lowest_free == av->count)
		av->count++;
	advance_lowest_free(av);
	av->generation++;
	return 0;
}

/* ---- insertion as the user sees it ---- */

/* One call of fi_av_insert or its variants. */
struct insertion {
	struct gamma_av *av;
	struct gamma_eq *eq; /* reports go here; NULL: synchronous */
	fi_addr_t *fi_addr;  /* results, or NULL */
	int *errors;         /* results of FI_SYNC_ERR, or NULL */
	void *context;
	size_t done; /* addresses so far */
	size_t good; /* those that are in */
};

static int begin_insert(struct insertion *insertion, struct gamma_av *av, fi_addr_t *fi_addr,
			uint64_t flags, void *context)
{
	memset(insertion, 0, sizeof(*insertion));
	/* FI_MORE is a hint without use here. */
	if (flags & ~(FI_MORE | FI_SYNC_ERR))
		return -FI_EBADFLAGS;
	if (av->flags & FI_EVENT) {
		insertion->eq = av->eq ? av->eq : av->domain->eq;
		if (!insertion->eq)
			return -FI_ENOEQ;
		if (flags & FI_SYNC_ERR)
			return -FI_EBADFLAGS;
	}
	if ((flags & FI_SYNC_ERR) && !context)
		return -FI_EINVAL;
	insertion->av = av;
	insertion->fi_addr = fi_addr;
	insertion->errors = flags & FI_SYNC_ERR ? context : NULL;
	insertion->context = context;
	return 0;
}

static void report_failure(const struct insertion *insertion, int err)
{
	struct fi_eq_err_entry entry = {
		.fid = &insertion->av->av_fid.fid,
		.context = insertion->context,
		.data = insertion->done,
		.err = -err,
		.prov_errno = -err,
	};

	if (insertion->errors)
		insertion->errors[insertion->done] = -err;
	if (insertion->eq && gamma_eq_report_error(insertion->eq, &entry))
		GAMMA_WARN(AV,
			   "out of memory, an event is lost: raise the memory limit (ulimit -v)\n");
}

/* The next address, or why there is none. */
static void insert_next(struct insertion *insertion, const struct gamma_addr *addr, int err)
{
	fi_addr_t index = FI_ADDR_NOTAVAIL;

	if (!err)
		err = insert_one(insertion->av, addr, &index);
	if (insertion->fi_addr)
		insertion->fi_addr[insertion->done] = index;
	if (insertion->errors)
		insertion->errors[insertion->done] = 0;
	if (err)
		report_failure(insertion, err);
	else
		insertion->good++;
	insertion->done++;
}

/* Returns what the insert call returns. */
static int finish_insert(const struct insertion *insertion)
{
	struct fi_eq_entry entry = {
		.fid = &insertion->av->av_fid.fid,
		.context = insertion->context,
		.data = insertion->good,
	};

	if (!insertion->eq)
		return insertion->good;
	return gamma_eq_report(insertion->eq, FI_AV_COMPLETE, &entry, sizeof(entry));
}

static int av_insert(struct fid_av *av_fid, const void *addr, size_t count, fi_addr_t *fi_addr,
		     uint64_t flags, void *context)
{
	struct gamma_av *av = av_of(av_fid);
	struct gamma_addr copy; /* the user's array need not be aligned */
	struct insertion insertion;
	size_t i;
	int ret = begin_insert(&insertion, av, fi_addr, flags, context);

	if (ret)
		return ret;
	gamma_domain_lock(av->domain);
	for (i = 0; i < count; i++) {
		memcpy(&copy, (const char *) addr + i * sizeof(copy), sizeof(copy));
		insert_next(&insertion, &copy, 0);
	}
	gamma_domain_unlock(av->domain);
	return finish_insert(&insertion);
}

/* ---- by name ---- */

/* Context for the resolution of names. */
struct resolver {
	struct gamma_conf *conf;
	struct gamma_nic *nics;
	size_t nic_count;
};

static int open_resolver(struct resolver *resolver, const struct gamma_nic *nic)
{
	char why[256];
	int ret;

	memset(resolver, 0, sizeof(*resolver));
	ret = gamma_conf_load(gamma_settings.conf_path, &resolver->conf, why, sizeof(why));
	if (ret) {
		GAMMA_WARN(AV, "%s\n", why);
		return ret;
	}
	ret = gamma_nic_list_read(gamma_nic_list_kind_of(nic), &resolver->nics,
				  &resolver->nic_count);
	if (ret)
		gamma_conf_free(resolver->conf);
	return ret;
}

static void close_resolver(struct resolver *resolver)
{
	gamma_nic_list_free(resolver->nics);
	gamma_conf_free(resolver->conf);
}

static int resolve_node(const struct resolver *resolver, const char *node, const char *service,
			struct gamma_addr *addr)
{
	struct gamma_resolved resolved;
	char why[256];
	int ret = gamma_resolve(node, service, false, resolver->conf, resolver->nics,
				resolver->nic_count, &resolved, why, sizeof(why));

	if (ret) {
		GAMMA_WARN(AV, "%s\n", why);
		return ret;
	}
	memset(addr, 0, sizeof(*addr));
	addr->version = gamma_nic_list_addr_version(resolved.nic ? resolved.nic : resolver->nics);
	addr->port = htons(resolved.port);
	memcpy(addr->mac, resolved.mac, GAMMA_MAC_LEN);
	if (gamma_nic_select_by_mac(resolver->nics, resolver->nic_count, resolved.mac))
		addr->host = gamma_host_identity();
	gamma_ipv6_names_show_addr(addr);
	return 0;
}

/* Adds number to the digits that end text: host8 and 3 are host11, 10.0.0.1 and 1 10.0.0.2. */
static int count_up(const char *text, size_t number, char *out, size_t out_len)
{
	size_t end = strlen(text), start = end;
	int ret;

	while (start > 0 && isdigit((unsigned char) text[start - 1]))
		start--;
	if (number && start == end)
		return -FI_EINVAL;
	/* host08 goes on with host09: as many digits as there were. */
	if (number)
		ret = snprintf(out, out_len, "%.*s%0*llu", (int) start, text, (int) (end - start),
			       strtoull(text + start, NULL, 10) + number);
	else
		ret = snprintf(out, out_len, "%s", text);
	return ret < 0 || (size_t) ret >= out_len ? -FI_EINVAL : 0;
}

/* The address of the nodes' nth and the services' mth name. */
static int resolve_nth(const struct resolver *resolver, const char *node, size_t n,
		       const char *service, size_t m, struct gamma_addr *addr)
{
	char node_text[GAMMA_NODE_MAX + 1], service_text[32];
	int ret = count_up(node, n, node_text, sizeof(node_text));

	if (!ret)
		ret = count_up(service, m, service_text, sizeof(service_text));
	return ret ? ret : resolve_node(resolver, node_text, service_text, addr);
}

/* Names are resolved, which may take long, without the lock. */
static int av_insertsym(struct fid_av *av_fid, const char *node, size_t nodes, const char *service,
			size_t services, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	struct gamma_av *av = av_of(av_fid);
	struct insertion insertion;
	struct resolver resolver;
	struct gamma_addr addr;
	size_t i;
	int ret;

	if (!node || !service)
		return -FI_EINVAL;
	ret = begin_insert(&insertion, av, fi_addr, flags, context);
	if (!ret)
		ret = open_resolver(&resolver, &av->domain->nic);
	if (ret)
		return ret;
	for (i = 0; i < nodes * services; i++) {
		ret = resolve_nth(&resolver, node, i / services, service, i % services, &addr);
		gamma_domain_lock(av->domain);
		insert_next(&insertion, &addr, ret);
		gamma_domain_unlock(av->domain);
	}
	close_resolver(&resolver);
	return finish_insert(&insertion);
}

static int av_insertsvc(struct fid_av *av_fid, const char *node, const char *service,
			fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	const struct gamma_nic *nic = &av_of(av_fid)->domain->nic;
	struct gamma_addr addr;

	if (!gamma_address_text_matches(node))
		return av_insertsym(av_fid, node, 1, service, 1, fi_addr, flags, context);
	if (service || !gamma_address_text_read(node, &addr))
		return -FI_EINVAL;
	if (addr.version != GAMMA_ADDR_VERSION_UDP6 && !memcmp(addr.mac, nic->mac, GAMMA_MAC_LEN))
		addr.host = gamma_host_identity();
	return av_insert(av_fid, &addr, 1, fi_addr, flags, context);
}

/* ---- the other operations ---- */

static int remove_one(struct gamma_av *av, fi_addr_t index)
{
	struct gamma_list *pos;

	if (!gamma_av_addr(av, index))
		return -FI_EINVAL;
	gamma_list_for_each (pos, &av->domain->eps)
		gamma_ep_remove_source(gamma_ep_of_domain_entry(pos), av, index);
	hash_remove(av, index);
	gamma_ipv6_names_drop_addr(&av->entries[index].addr);
	av->entries[index].used = false;
	av->scalable -= av->entries[index].addr.contexts != 0;
	av->lowest_free = gamma_min(av->lowest_free, index);
	av->generation++;
	return 0;
}

static int av_remove(struct fid_av *av_fid, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	struct gamma_av *av = av_of(av_fid);
	size_t i;
	int ret = 0;

	if (flags)
		return -FI_EBADFLAGS;
	gamma_domain_lock(av->domain);
	for (i = 0; !ret && i < count; i++)
		ret = remove_one(av, fi_addr[i]);
	gamma_domain_unlock(av->domain);
	return ret;
}

static int av_lookup(struct fid_av *av_fid, fi_addr_t fi_addr, void *addr, size_t *addrlen)
{
	struct gamma_av *av = av_of(av_fid);
	const struct gamma_addr *entry;
	struct gamma_addr shown;

	gamma_domain_lock(av->domain);
	entry = gamma_av_addr(av, fi_addr);
	if (entry) {
		shown = *entry;
		gamma_ipv6_names_show_addr(&shown);
		memcpy(addr, &shown, gamma_min(*addrlen, sizeof(shown)));
		*addrlen = sizeof(shown);
	}
	gamma_domain_unlock(av->domain);
	return entry ? 0 : -FI_EINVAL;
}

static const char *av_straddr(struct fid_av *av, const void *addr, char *buf, size_t *len)
{
	struct gamma_addr copy;

	(void) av;
	memcpy(&copy, addr, sizeof(copy));
	*len = gamma_address_text_write(&copy, buf, *len) + 1;
	return buf;
}

/* ---- opening and closing ---- */

static int av_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct gamma_av *av = gamma_container_of(fid, struct gamma_av, av_fid.fid);

	if (other->fclass != FI_CLASS_EQ || flags || av->eq)
		return -FI_EINVAL;
	av->eq = gamma_container_of(other, struct gamma_eq, eq_fid.fid);
	gamma_refs_take(&av->eq->refs);
	return 0;
}

static int av_close(struct fid *fid)
{
	struct gamma_av *av = gamma_container_of(fid, struct gamma_av, av_fid.fid);

	if (gamma_refs_any(&av->refs))
		return -FI_EBUSY;
	if (av->eq)
		gamma_refs_drop(&av->eq->refs);
	gamma_refs_drop(&av->domain->refs);
	for (size_t i = 0; i < av->count; i++)
		if (av->entries[i].used)
			gamma_ipv6_names_drop_addr(&av->entries[i].addr);
	free(av->entries);
	free(av->hash);
	free(av);
	return 0;
}

static struct fi_ops av_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = av_close,
	.bind = av_bind,
	.control = gamma_fabric_unsupported_control,
	.ops_open = gamma_fabric_unsupported_ops_open,
	.tostr = gamma_fabric_unsupported_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

static struct fi_ops_av av_ops = {
	.size = sizeof(struct fi_ops_av),
	.insert = av_insert,
	.insertsvc = av_insertsvc,
	.insertsym = av_insertsym,
	.remove = av_remove,
	.lookup = av_lookup,
	.straddr = av_straddr,
	.av_set = gamma_avset_open,
};

static int check_attr(const struct fi_av_attr *attr)
{
	/* Address vectors shared between processes are not offered (FI_SHARED_AV). */
	if (attr->name || (attr->flags & FI_READ))
		return -FI_ENOSYS;
	if (attr->flags & ~(FI_EVENT | FI_SYMMETRIC | FI_UNIVERSE))
		return -FI_EBADFLAGS;
	if (attr->type > FI_AV_TABLE || attr->rx_ctx_bits < 0 ||
	    attr->rx_ctx_bits > RX_CTX_BITS_MAX)
		return -FI_EINVAL;
	return 0;
}

int gamma_av_open(struct fid_domain *domain_fid, struct fi_av_attr *attr, struct fid_av **av_fid,
		  void *context)
{
	size_t size = ENTRIES_MIN;
	struct gamma_av *av;
	int ret;

	if (!attr)
		return -FI_EINVAL;
	ret = check_attr(attr);
	if (ret)
		return ret;
	av = calloc(1, sizeof(*av));
	if (!av)
		return -FI_ENOMEM;
	av->domain = gamma_container_of(domain_fid, struct gamma_domain, domain_fid);
	gamma_refs_take(&av->domain->refs);
	av->flags = attr->flags;
	av->rx_ctx_bits = (unsigned) attr->rx_ctx_bits;
	av->av_fid.fid.fclass = FI_CLASS_AV;
	av->av_fid.fid.context = context;
	av->av_fid.fid.ops = &av_fid_ops;
	av->av_fid.ops = &av_ops;
	while (size < attr->count && size < ENTRIES_MAX_HINT)
		size *= 2;
	ret = resize_entries(av, size);
	if (ret) {
		av_close(&av->av_fid.fid);
		return ret;
	}
	if (attr->type == FI_AV_UNSPEC)
		attr->type = av->domain->av_type;
	*av_fid = &av->av_fid;
	return 0;
}
