// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Peers: what each process publishes about itself, and the table of peers made from it. Called by
 * Open MPI when it learns of processes, and at the first message from one.
 */
#include "btl_gamma.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MODEX_MAGIC = 0x67616d68, /* of this layout and of the message header */
	MODEX_NICS = 16,
};

/* The data that a process publishes, for processes of the same byte order. */
struct modex_nic {
	char name[BTL_GAMMA_NIC_NAME];
	unsigned char mac[GAMMA_MAC_LEN]; /* the NIC's own; the address may contain another one */
	struct gamma_addr address;
};

struct modex {
	uint32_t magic;
	uint32_t count;
	uint32_t collective;  /* 1: it carries collective operations */
	uint32_t unused;      /* 0 */
	uint64_t max_message; /* bytes */
	uint64_t active_max;  /* bytes of a message to its active port; 0: it takes none */
	char host[BTL_GAMMA_HOST_NAME];
	struct modex_nic nics[MODEX_NICS];
};

static size_t modex_len(uint32_t count)
{
	return offsetof(struct modex, nics) + count * sizeof(struct modex_nic);
}

static void fill_modex(struct modex *modex)
{
	const struct btl_gamma_component *component = &mca_btl_gamma_component;
	size_t i;

	memset(modex, 0, sizeof(*modex));
	modex->magic = MODEX_MAGIC;
	gethostname(modex->host, sizeof(modex->host) - 1);
	for (i = 0; i < component->module_count && modex->count < MODEX_NICS; i++) {
		const struct btl_gamma_port *port = component->modules[i]->port;
		struct modex_nic *nic = &modex->nics[modex->count];

		if (!component->modules[i]->first)
			continue;
		memcpy(nic->name, port->nic, sizeof(nic->name));
		memcpy(nic->mac, port->mac, sizeof(nic->mac));
		nic->address = port->address;
		modex->max_message = port->max_message;
		modex->active_max = port->active_max;
		modex->collective |= port->collective;
		modex->count++;
	}
}

int btl_gamma_peers_publish(void)
{
	struct modex modex;
	int rc;

	fill_modex(&modex);
	OPAL_MODEX_SEND(rc, BTL_GAMMA_MODEX_SCOPE, &mca_btl_gamma_component.super.btl_version,
			&modex, modex_len(modex.count));
	return rc;
}

static bool is_own(const opal_proc_t *proc)
{
	const opal_process_name_t own = opal_proc_local_get()->proc_name;

	return own.jobid == proc->proc_name.jobid && own.vpid == proc->proc_name.vpid;
}

/* False: that process does not use gamma, or uses another version. */
static bool read_modex(const opal_proc_t *proc, struct modex *modex)
{
	size_t len = 0;
	void *blob = NULL;
	bool good;
	int rc;

	if (is_own(proc)) {
		fill_modex(modex);
		return true;
	}
	OPAL_MODEX_RECV(rc, &mca_btl_gamma_component.super.btl_version, &proc->proc_name, &blob,
			&len);
	good = rc == OPAL_SUCCESS && blob && len >= modex_len(0) && len <= sizeof(*modex);
	if (good) {
		memset(modex, 0, sizeof(*modex));
		memcpy(modex, blob, len);
		modex->host[sizeof(modex->host) - 1] = '\0';
		good = modex->magic == MODEX_MAGIC && len == modex_len(modex->count);
	}
	free(blob);
	return good;
}

/* Whether that process's endpoint carries collective operations, even if we cannot reach it: all
 * processes get the same answer. */
bool btl_gamma_peers_carries(opal_process_name_t name)
{
	const opal_proc_t *proc = opal_proc_for_name(name);
	struct modex modex;

	return proc && read_modex(proc, &modex) && modex.collective;
}

static const struct modex_nic *nic_by_name(const struct modex *modex, const char *name)
{
	uint32_t i;

	for (i = 0; i < modex->count; i++)
		if (!strncmp(modex->nics[i].name, name, BTL_GAMMA_NIC_NAME))
			return &modex->nics[i];
	return NULL;
}

/* The NIC's position when sorted by name: the order by distance differs between processes. */
static uint32_t rank_of_name(const struct modex *modex, const char *name)
{
	uint32_t i, before = 0;

	for (i = 0; i < modex->count; i++)
		before += strncmp(modex->nics[i].name, name, BTL_GAMMA_NIC_NAME) < 0;
	return before;
}

/*
 * The peer's NIC on the same network as ours: the one of the same name. If the hosts have no NIC
 * name in common, NICs match in the order of their names. Both ends choose the same pairs.
 */
static const struct modex_nic *matching_nic(const struct modex *theirs, const char *nic)
{
	struct modex ours;
	uint32_t i;

	fill_modex(&ours);
	for (i = 0; i < ours.count; i++)
		if (nic_by_name(theirs, ours.nics[i].name))
			return nic_by_name(theirs, nic);
	for (i = 0; i < theirs->count; i++)
		if (rank_of_name(theirs, theirs->nics[i].name) == rank_of_name(&ours, nic))
			return &theirs->nics[i];
	return NULL;
}

static uint64_t key_of(opal_process_name_t name)
{
	return (uint64_t) name.jobid << 32 | name.vpid;
}

/* Call with the lock. */
static struct mca_btl_base_endpoint_t *find_locked(struct btl_gamma_module *module,
						   opal_process_name_t name)
{
	void *found = NULL;

	if (opal_hash_table_get_value_uint64(&module->peers, key_of(name), &found) != OPAL_SUCCESS)
		return NULL;
	return found;
}

static struct mca_btl_base_endpoint_t *look_up(struct btl_gamma_module *module,
					       opal_process_name_t name)
{
	struct mca_btl_base_endpoint_t *peer;

	btl_gamma_lock(&module->lock);
	peer = find_locked(module, name);
	btl_gamma_unlock(&module->lock);
	return peer;
}

static void release_proc(struct mca_btl_base_endpoint_t *peer)
{
	opal_proc_t *proc = peer->proc;

	peer->proc = NULL;
	if (proc)
		OBJ_RELEASE(proc);
}

static void free_peer(struct mca_btl_base_endpoint_t *peer)
{
	release_proc(peer);
	free(peer);
}

/*
 * If this process has reopened its ports, so may its peers have: their published epochs may be
 * old. The NIC is asked which epoch owns the port now.
 */
static int insert_address(struct fid_av *av, const struct modex_nic *nic, fi_addr_t *handle)
{
	struct gamma_addr address = nic->address;

	if (btl_gamma_port_is_reopened()) {
		if (address.version == GAMMA_ADDR_VERSION)
			memcpy(address.mac, nic->mac, sizeof(address.mac));
		address.epoch = GAMMA_EPOCH_ANY;
	}
	return fi_av_insert(av, &address, 1, handle, 0, NULL);
}

/* A message that an shm peer gets inline may be longer than a frame. */
static size_t active_max_of(const struct btl_gamma_port *port, const opal_proc_t *proc,
			    const struct modex *modex)
{
	if (!port->active || !modex->active_max)
		return 0;
	if (OPAL_PROC_ON_LOCAL_NODE(proc->proc_flags) && port->inject_size > port->active_max)
		return port->inject_size;
	return port->active_max < modex->active_max ? port->active_max : modex->active_max;
}

static struct mca_btl_base_endpoint_t *new_peer(struct btl_gamma_module *module, opal_proc_t *proc,
						const struct modex *modex,
						const struct modex_nic *nic)
{
	struct mca_btl_base_endpoint_t *peer = calloc(1, sizeof(*peer));

	if (!peer)
		return NULL;
	peer->module = module;
	peer->proc = proc;
	peer->own_job = proc->proc_name.jobid == opal_proc_local_get()->proc_name.jobid;
	peer->active_max = active_max_of(module->port, proc, modex);
	memcpy(peer->host, modex->host, sizeof(peer->host));
	memcpy(peer->nic, nic->name, sizeof(peer->nic) - 1);
	memcpy(peer->mac, nic->mac, sizeof(peer->mac));
	OBJ_RETAIN(proc);
	if (insert_address(module->port->av, nic, &peer->address) != 1) {
		free_peer(peer);
		return NULL;
	}
	return peer;
}

/* Two threads may have made the same peer: the first one stays. */
static struct mca_btl_base_endpoint_t *add_peer(struct btl_gamma_module *module,
						struct mca_btl_base_endpoint_t *peer)
{
	const opal_process_name_t name = peer->proc->proc_name;
	struct mca_btl_base_endpoint_t *other;

	btl_gamma_lock(&module->lock);
	other = find_locked(module, name);
	if (!other)
		opal_hash_table_set_value_uint64(&module->peers, key_of(name), peer);
	btl_gamma_unlock(&module->lock);
	if (!other)
		return peer;
	fi_av_remove(module->port->av, &peer->address, 1, 0);
	free_peer(peer);
	return other;
}

/* In bytes as the parameters count them: without the component's own header. */
static void report_other_limit(const struct btl_gamma_module *module, const struct modex *theirs)
{
	const size_t header = sizeof(struct btl_gamma_header);

	if (__atomic_exchange_n(&module->port->limit_reported, true, __ATOMIC_RELAXED))
		return;
	btl_gamma_report_unused(
		"messages have at most %zu bytes on this host, and %llu on %s.",
		"Set btl_gamma_max_send_size and btl_gamma_eager_limit to the same on all hosts.",
		module->port->max_message - header,
		(unsigned long long) (theirs->max_message - header), theirs->host);
}

static void report_other_order(struct btl_gamma_port *port, const char *host,
			       const struct modex_nic *nic)
{
	if (__atomic_exchange_n(&port->order_reported, true, __ATOMIC_RELAXED))
		return;
	btl_gamma_report_unused(
		"an endpoint uses %s on this host, and %s on %s. The first NIC of each is for "
		"first "
		"contact, and these two are not the same.",
		"Give all hosts these NICs, in one order, or set btl_gamma_one_endpoint to 0.",
		port->nic, nic->name, host);
}

/* Works, but slower than one of the two was configured for. */
static void compare_mtu(struct btl_gamma_port *port, const char *host, const struct modex_nic *nic)
{
	const uint16_t ours = ntohs(port->address.mtu), theirs = ntohs(nic->address.mtu);

	if (port->address.version == GAMMA_ADDR_VERSION_UDP6 || !ours || !theirs ||
	    ours == theirs || __atomic_exchange_n(&port->mtu_reported, true, __ATOMIC_RELAXED))
		return;
	btl_gamma_report_slow(
		"%s has an MTU of %u bytes here, and %s has %u bytes on %s: frames between them "
		"have the smaller size.",
		"Give the NICs of all hosts, and the switches between them, the same MTU "
		"(ip link set NIC mtu BYTES).",
		port->nic, ours, nic->name, theirs, host);
}

static struct mca_btl_base_endpoint_t *peer_of(struct btl_gamma_module *module, opal_proc_t *proc)
{
	struct mca_btl_base_endpoint_t *peer = look_up(module, proc->proc_name);
	const struct modex_nic *nic;
	struct modex modex;

	if (peer || !read_modex(proc, &modex))
		return peer;
	if (modex.max_message != module->port->max_message) {
		report_other_limit(module, &modex);
		return NULL;
	}
	nic = matching_nic(&modex, module->port->nic);
	if (!nic)
		return NULL;
	if (!btl_gamma_one_endpoint_fits(module->port->nic, nic->name)) {
		report_other_order(module->port, modex.host, nic);
		return NULL;
	}
	compare_mtu(module->port, modex.host, nic);
	peer = new_peer(module, proc, &modex, nic);
	return peer ? add_peer(module, peer) : NULL;
}

struct mca_btl_base_endpoint_t *btl_gamma_peers_find(struct btl_gamma_module *module,
						     opal_process_name_t name)
{
	struct mca_btl_base_endpoint_t *peer = look_up(module, name);
	opal_proc_t *proc;

	if (peer)
		return peer;
	proc = opal_proc_for_name(name);
	return proc ? peer_of(module, proc) : NULL;
}

void btl_gamma_peers_mark_ended(struct btl_gamma_module *module, opal_process_name_t name)
{
	struct mca_btl_base_endpoint_t *peer;

	btl_gamma_lock(&module->lock);
	peer = find_locked(module, name);
	if (peer)
		__atomic_store_n(&peer->ended, true, __ATOMIC_RELAXED);
	btl_gamma_unlock(&module->lock);
}

int btl_gamma_peers_add_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
			      struct mca_btl_base_endpoint_t **peers, opal_bitmap_t *reachable)
{
	struct btl_gamma_module *module = btl_gamma_module(btl);
	size_t i;

	for (i = 0; i < count; i++) {
		peers[i] = peer_of(module, procs[i]);
		if (peers[i] && reachable)
			opal_bitmap_set_bit(reachable, (int) i);
	}
	return OPAL_SUCCESS;
}

/* The peer stays until the endpoint is closed: operations in flight or queued still name it.
 * Their failures are not reported any more. */
static void retire_peer(struct mca_btl_base_endpoint_t *peer)
{
	struct btl_gamma_module *module = peer->module;

	/* Otherwise another thread may be reporting it right now. */
	if (!__atomic_exchange_n(&peer->failed, true, __ATOMIC_ACQ_REL))
		release_proc(peer);
	btl_gamma_lock(&module->lock);
	peer->next = module->gone;
	module->gone = peer;
	btl_gamma_unlock(&module->lock);
}

int btl_gamma_peers_del_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
			      struct mca_btl_base_endpoint_t **peers)
{
	struct btl_gamma_module *module = btl_gamma_module(btl);
	size_t i;

	(void) procs;
	for (i = 0; i < count; i++) {
		struct mca_btl_base_endpoint_t *peer = peers[i];

		if (!peer)
			continue;
		btl_gamma_lock(&module->lock);
		opal_hash_table_remove_value_uint64(&module->peers, key_of(peer->proc->proc_name));
		btl_gamma_unlock(&module->lock);
		btl_gamma_keepalive_leave(peer);
		fi_av_remove(module->port->av, &peer->address, 1, 0);
		retire_peer(peer);
	}
	return OPAL_SUCCESS;
}

/* Frees also the peers that Open MPI has not removed. The address vector is closed already. */
void btl_gamma_peers_drop(struct btl_gamma_module *module)
{
	struct mca_btl_base_endpoint_t *gone;
	uint64_t key;
	void *peer;

	while ((gone = module->gone)) {
		module->gone = gone->next;
		free_peer(gone);
	}
	OPAL_HASH_TABLE_FOREACH(key, uint64, peer, &module->peers)
	free_peer(peer);
}
