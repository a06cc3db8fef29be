// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The fabric object: one Ethernet segment. It only counts the objects opened on it, so it needs no
 * lock; the list of open fabrics has one.
 */
#include "gamma.h"

#include <stdlib.h>

int gamma_fabric_unsupported_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	(void) fid, (void) other, (void) flags;
	return -FI_EINVAL;
}

int gamma_fabric_unsupported_control(struct fid *fid, int command, void *arg)
{
	(void) fid, (void) command, (void) arg;
	return -FI_ENOSYS;
}

int gamma_fabric_unsupported_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
				      void *context)
{
	(void) fid, (void) name, (void) flags, (void) ops, (void) context;
	return -FI_ENOSYS;
}

int gamma_fabric_unsupported_tostr(const struct fid *fid, char *buf, size_t len)
{
	(void) fid, (void) buf, (void) len;
	return -FI_ENOSYS;
}

int gamma_fabric_unsupported_ops_set(struct fid *fid, const char *name, uint64_t flags, void *ops,
				     void *context)
{
	(void) fid, (void) name, (void) flags, (void) ops, (void) context;
	return -FI_ENOSYS;
}

/* ---- which are open: for fi_getinfo ---- */

static pthread_mutex_t opened_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gamma_list opened = {&opened, &opened};

/* Programs of different API versions have different structures and cannot share an object. */
struct fid_fabric *gamma_fabric_find_opened(uint32_t api_version, const struct fid_fabric *only)
{
	struct fid_fabric *found = NULL;
	struct gamma_fabric *fabric;
	struct gamma_list *pos;

	pthread_mutex_lock(&opened_lock);
	gamma_list_for_each (pos, &opened) {
		fabric = gamma_list_entry(pos, struct gamma_fabric, opened_entry);
		if (!found && (!api_version || fabric->api_version == api_version) &&
		    (!only || only == &fabric->fabric_fid))
			found = &fabric->fabric_fid;
	}
	pthread_mutex_unlock(&opened_lock);
	return found;
}

/* ---- opening and closing ---- */

static int fabric_close(struct fid *fid)
{
	struct gamma_fabric *fabric = gamma_container_of(fid, struct gamma_fabric, fabric_fid.fid);

	if (gamma_refs_any(&fabric->refs))
		return -FI_EBUSY;
	pthread_mutex_lock(&opened_lock);
	gamma_list_remove(&fabric->opened_entry);
	pthread_mutex_unlock(&opened_lock);
	free(fabric);
	return 0;
}

static int no_passive_ep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
			 void *context)
{
	(void) fabric, (void) info, (void) pep, (void) context;
	return -FI_ENOSYS; /* only connected endpoints listen */
}

static int open_domain2(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
			uint64_t flags, void *context)
{
	return flags ? -FI_EBADFLAGS : gamma_domain_open(fabric, info, domain, context);
}

static struct fi_ops fabric_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = fabric_close,
	.bind = gamma_fabric_unsupported_bind,
	.control = gamma_fabric_unsupported_control,
	.ops_open = gamma_fabric_unsupported_ops_open,
	.tostr = gamma_fabric_unsupported_tostr,
	.ops_set = gamma_fabric_unsupported_ops_set,
};

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = gamma_domain_open,
	.passive_ep = no_passive_ep,
	.eq_open = gamma_eq_open,
	.wait_open = gamma_waitset_open,
	.trywait = gamma_waitset_trywait,
	.domain2 = open_domain2,
};

int gamma_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric_fid, void *context)
{
	struct gamma_fabric *fabric;

	if (!attr || (attr->name && strcmp(attr->name, gamma_settings.fabric_name))) {
		GAMMA_INFO(FABRIC, "no fabric of that name; this one is %s (FI_GAMMA_FABRIC)\n",
			   gamma_settings.fabric_name);
		return -FI_ENODATA;
	}
	fabric = calloc(1, sizeof(*fabric));
	if (!fabric)
		return -FI_ENOMEM;
	/* The core stores it in the fid only after this call. */
	fabric->api_version = attr->api_version;
	fabric->fabric_fid.fid.fclass = FI_CLASS_FABRIC;
	fabric->fabric_fid.fid.context = context;
	fabric->fabric_fid.fid.ops = &fabric_fid_ops;
	fabric->fabric_fid.ops = &fabric_ops;
	fabric->fabric_fid.api_version = attr->api_version;
	pthread_mutex_lock(&opened_lock);
	gamma_list_append(&opened, &fabric->opened_entry);
	pthread_mutex_unlock(&opened_lock);
	*fabric_fid = &fabric->fabric_fid;
	return 0;
}
