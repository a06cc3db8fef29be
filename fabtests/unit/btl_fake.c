// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A libfabric for one NIC, of static objects. What the component calls of libfabric and of Open
 * MPI by name is replaced by the linker's --wrap; all else goes through the objects' own tables.
 */
#include "btl_fake.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct btl_fake btl_fake;
struct btl_fake_layer btl_fake_layer;

static struct fid_fabric fabric;
static struct fid_domain domain;
static struct fid_av av;
static struct fid_cq cq;
static struct fid_eq eq;
static struct fid_ep ep;
static struct fid_mr mr;
static struct opal_convertor_t convertor;

/* ---- what is recorded ---- */

static struct btl_fake_call *record(enum btl_fake_kind kind, void *context, uint64_t flags)
{
	struct btl_fake_call *call = &btl_fake.calls[btl_fake.call_count];

	assert_true(btl_fake.call_count < BTL_FAKE_CALLS);
	btl_fake.call_count++;
	*call = (struct btl_fake_call){
		.kind = kind,
		.result = btl_fake.results[kind],
		.context = context,
		.flags = flags,
	};
	return call;
}

static void record_iovecs(struct btl_fake_call *call, const struct iovec *iov, size_t count)
{
	size_t i, first = count ? iov[0].iov_len : 0;

	call->iovecs = count;
	for (i = 0; i < count; i++)
		call->len += iov[i].iov_len;
	if (first)
		memcpy(call->bytes, iov[0].iov_base,
		       first < BTL_FAKE_BYTES ? first : BTL_FAKE_BYTES);
}

const struct btl_fake_call *btl_fake_last(enum btl_fake_kind kind)
{
	size_t i;

	for (i = btl_fake.call_count; i > 0; i--)
		if (btl_fake.calls[i - 1].kind == kind)
			return &btl_fake.calls[i - 1];
	return NULL;
}

size_t btl_fake_count(enum btl_fake_kind kind)
{
	size_t i, count = 0;

	for (i = 0; i < btl_fake.call_count; i++)
		count += btl_fake.calls[i].kind == kind;
	return count;
}

/* ---- messages ---- */

static ssize_t fake_inject(struct fid_ep *unused, const void *bytes, size_t len, fi_addr_t to)
{
	struct iovec iov = {.iov_base = (void *) bytes, .iov_len = len};
	struct btl_fake_call *call = record(BTL_FAKE_INJECTED, NULL, 0);

	(void) unused, (void) to;
	record_iovecs(call, &iov, 1);
	return call->result;
}

static ssize_t fake_sendmsg(struct fid_ep *unused, const struct fi_msg *msg, uint64_t flags)
{
	struct btl_fake_call *call = record(BTL_FAKE_SENT, msg->context, flags);

	(void) unused;
	record_iovecs(call, msg->msg_iov, msg->iov_count);
	return call->result;
}

static ssize_t fake_recvmsg(struct fid_ep *unused, const struct fi_msg *msg, uint64_t flags)
{
	struct btl_fake_call *call = record(BTL_FAKE_POSTED, msg->context, flags);

	(void) unused;
	call->len = msg->msg_iov[0].iov_len;
	return call->result;
}

/* ---- active ports ---- */

static struct {
	struct fi_gamma_arrival arrival;
	bool waits;
	unsigned char bytes[BTL_FAKE_BYTES] __attribute__((aligned(16)));
} at_port;

static int port_set(struct fid_ep *unused, uint16_t port, const struct fi_gamma_port_attr *attr)
{
	(void) unused;
	assert_int_equal(port, BTL_GAMMA_ACTIVE_PORT);
	btl_fake.port = *attr;
	return 0;
}

static ssize_t port_send(struct fid_ep *unused, const struct fi_gamma_msg *msg, uint64_t flags)
{
	struct btl_fake_call *call = record(BTL_FAKE_TO_PORT, msg->context, flags);

	(void) unused;
	assert_int_equal(msg->port, BTL_GAMMA_ACTIVE_PORT);
	assert_int_equal(msg->head_len, 0);
	record_iovecs(call, msg->iov, msg->iov_count);
	call->arg = msg->arg;
	return call->result;
}

static int port_query(struct fid_ep *unused, fi_addr_t to, struct fi_gamma_port_info *info)
{
	(void) unused, (void) to;
	info->frame_max = BTL_FAKE_FRAME;
	return 0;
}

static struct fi_gamma_port_ops port_ops = {
	.size = sizeof(port_ops),
	.set = port_set,
	.send = port_send,
	.query = port_query,
};

static int fake_ops_open(struct fid *unused, const char *name, uint64_t flags, void **ops,
			 void *context)
{
	(void) unused, (void) flags, (void) context;
	if (strcmp(name, FI_GAMMA_PORT_OPS_1))
		return -FI_ENOSYS; /* the counters */
	*ops = &port_ops;
	return btl_fake.ports_result;
}

void btl_fake_arrive_at_port(uint8_t kind, uint8_t tag, const void *bytes, size_t len)
{
	const opal_process_name_t sender = {.jobid = 77, .vpid = 5};

	assert_true(len <= sizeof(at_port.bytes) - sizeof(sender));
	memcpy(at_port.bytes, &sender, sizeof(sender));
	memcpy(at_port.bytes + sizeof(sender), bytes, len);
	at_port.arrival = (struct fi_gamma_arrival){
		.size = sizeof(at_port.arrival),
		.port = BTL_GAMMA_ACTIVE_PORT,
		.arg = (uint32_t) kind << 8 | tag,
		.data = at_port.bytes,
		.len = sizeof(sender) + len,
		.flags = FI_GAMMA_IN_PLACE,
	};
	at_port.waits = true;
}

static void handle_at_port(void)
{
	if (!at_port.waits)
		return;
	at_port.waits = false;
	btl_fake.port.handler(&ep, &at_port.arrival, btl_fake.port.context);
}

static struct fi_ops_msg msg_ops = {
	.size = sizeof(msg_ops),
	.inject = fake_inject,
	.sendmsg = fake_sendmsg,
	.recvmsg = fake_recvmsg,
};

/* ---- remote memory ---- */

static int record_rma(enum btl_fake_kind kind, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct btl_fake_call *call = record(kind, msg->context, flags);

	call->len = msg->rma_iov[0].len;
	call->address = msg->rma_iov[0].addr;
	call->key = msg->rma_iov[0].key;
	return call->result;
}

static ssize_t fake_readmsg(struct fid_ep *unused, const struct fi_msg_rma *msg, uint64_t flags)
{
	(void) unused;
	return record_rma(BTL_FAKE_READ, msg, flags);
}

static ssize_t fake_writemsg(struct fid_ep *unused, const struct fi_msg_rma *msg, uint64_t flags)
{
	(void) unused;
	return record_rma(BTL_FAKE_WRITTEN, msg, flags);
}

static struct fi_ops_rma rma_ops = {
	.size = sizeof(rma_ops),
	.readmsg = fake_readmsg,
	.writemsg = fake_writemsg,
};

static int record_atomic(enum btl_fake_kind kind, const struct fi_msg_atomic *msg, uint64_t flags)
{
	struct btl_fake_call *call = record(kind, msg->context, flags);

	call->address = msg->rma_iov[0].addr;
	call->key = msg->rma_iov[0].key;
	call->op = msg->op;
	call->type = msg->datatype;
	memcpy(call->bytes, msg->msg_iov[0].addr, sizeof(uint64_t));
	return call->result;
}

static ssize_t fake_atomicmsg(struct fid_ep *unused, const struct fi_msg_atomic *msg,
			      uint64_t flags)
{
	(void) unused;
	return record_atomic(BTL_FAKE_ATOMIC, msg, flags);
}

static ssize_t fake_fetchmsg(struct fid_ep *unused, const struct fi_msg_atomic *msg,
			     struct fi_ioc *result, void **descs, size_t count, uint64_t flags)
{
	(void) unused, (void) result, (void) descs, (void) count;
	return record_atomic(BTL_FAKE_FETCH, msg, flags);
}

static ssize_t fake_comparemsg(struct fid_ep *unused, const struct fi_msg_atomic *msg,
			       const struct fi_ioc *compare, void **compare_descs,
			       size_t compare_count, struct fi_ioc *result, void **descs,
			       size_t count, uint64_t flags)
{
	(void) unused, (void) compare, (void) compare_descs, (void) compare_count;
	(void) result, (void) descs, (void) count;
	return record_atomic(BTL_FAKE_COMPARE, msg, flags);
}

static struct fi_ops_atomic atomic_ops = {
	.size = sizeof(atomic_ops),
	.writemsg = fake_atomicmsg,
	.readwritemsg = fake_fetchmsg,
	.compwritemsg = fake_comparemsg,
};

/* ---- completions and events ---- */

static ssize_t fake_cq_read(struct fid_cq *unused, void *entries, size_t room)
{
	size_t count;

	(void) unused;
	handle_at_port();
	count = btl_fake.completion_count < room ? btl_fake.completion_count : room;
	if (!count)
		return btl_fake.error.op_context ? -FI_EAVAIL : -FI_EAGAIN;
	memcpy(entries, btl_fake.completions, count * sizeof(*btl_fake.completions));
	btl_fake.completion_count -= count;
	memmove(btl_fake.completions, btl_fake.completions + count,
		btl_fake.completion_count * sizeof(*btl_fake.completions));
	return (ssize_t) count;
}

static ssize_t fake_cq_readerr(struct fid_cq *unused, struct fi_cq_err_entry *entry, uint64_t flags)
{
	(void) unused, (void) flags;
	*entry = btl_fake.error;
	btl_fake.error.op_context = NULL;
	return 1;
}

static const char *fake_cq_strerror(struct fid_cq *unused, int error, const void *data, char *text,
				    size_t room)
{
	(void) unused, (void) error, (void) data, (void) text, (void) room;
	return btl_fake.error_text;
}

static struct fi_ops_cq cq_ops = {
	.size = sizeof(cq_ops),
	.read = fake_cq_read,
	.readerr = fake_cq_readerr,
	.strerror = fake_cq_strerror,
};

static struct fid group_fid = {.fclass = FI_CLASS_MC};

static ssize_t fake_eq_read(struct fid_eq *unused, uint32_t *event, void *buf, size_t len,
			    uint64_t flags)
{
	struct fi_eq_entry entry = {.fid = &group_fid, .context = btl_fake.joined};

	(void) unused, (void) flags;
	if (btl_fake.dead_peer || btl_fake.join_failed)
		return -FI_EAVAIL;
	if (!btl_fake.joined)
		return -FI_EAGAIN;
	assert_true(len >= sizeof(entry));
	btl_fake.joined = NULL;
	*event = FI_JOIN_COMPLETE;
	memcpy(buf, &entry, sizeof(entry));
	return sizeof(entry);
}

static ssize_t fake_eq_readerr(struct fid_eq *unused, struct fi_eq_err_entry *entry, uint64_t flags)
{
	const bool dead = btl_fake.dead_peer;

	(void) unused, (void) flags;
	if (btl_fake.join_failed) {
		entry->fid = &group_fid;
		entry->context = btl_fake.join_failed;
		entry->err = FI_ETIMEDOUT;
		btl_fake.join_failed = NULL;
		return sizeof(*entry);
	}
	btl_fake.dead_peer = false;
	return dead ? 1 : -FI_EAGAIN;
}

static const char *fake_eq_strerror(struct fid_eq *unused, int error, const void *data, char *text,
				    size_t room)
{
	(void) unused, (void) error, (void) data, (void) text, (void) room;
	return btl_fake.error_text;
}

static struct fi_ops_eq eq_ops = {
	.size = sizeof(eq_ops),
	.read = fake_eq_read,
	.readerr = fake_eq_readerr,
	.strerror = fake_eq_strerror,
};

/* ---- objects ---- */

static int fake_close(struct fid *unused)
{
	(void) unused;
	btl_fake.open_objects--;
	return 0;
}

static int fake_bind(struct fid *unused, struct fid *other, uint64_t flags)
{
	(void) unused, (void) other, (void) flags;
	return 0;
}

static int fake_control(struct fid *unused, int command, void *arg)
{
	(void) unused, (void) arg;
	return command == FI_ENABLE ? btl_fake.enable_result : -FI_ENOSYS;
}

static struct fi_ops fid_ops = {
	.size = sizeof(fid_ops),
	.close = fake_close,
	.bind = fake_bind,
	.control = fake_control,
	.ops_open = fake_ops_open,
};

static int fake_setopt(fid_t unused, int level, int name, const void *value, size_t len)
{
	(void) unused, (void) level, (void) name, (void) value, (void) len;
	return 0;
}

static struct fi_ops_ep ep_ops = {.size = sizeof(ep_ops), .setopt = fake_setopt};

static int fake_getname(fid_t unused, void *address, size_t *len)
{
	(void) unused;
	memset(address, 0, *len);
	return 0;
}

static struct fi_ops_cm cm_ops = {.size = sizeof(cm_ops), .getname = fake_getname};

static int fake_av_insert(struct fid_av *unused, const void *address, size_t count,
			  fi_addr_t *handles, uint64_t flags, void *context)
{
	(void) unused, (void) address, (void) flags, (void) context;
	*handles = 1;
	return (int) count;
}

static int fake_av_remove(struct fid_av *unused, fi_addr_t *handles, size_t count, uint64_t flags)
{
	(void) unused, (void) handles, (void) count, (void) flags;
	return 0;
}

static struct fi_ops_av av_ops = {
	.size = sizeof(av_ops),
	.insert = fake_av_insert,
	.remove = fake_av_remove,
};

static int fake_mr_reg(struct fid *unused, const void *base, size_t len, uint64_t access,
		       uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **out,
		       void *context)
{
	(void) unused, (void) base, (void) len, (void) access, (void) offset, (void) flags;
	(void) context;
	mr = (struct fid_mr){.fid.ops = &fid_ops, .key = key};
	btl_fake.open_objects++;
	*out = &mr;
	return 0;
}

static struct fi_ops_mr mr_ops = {.size = sizeof(mr_ops), .reg = fake_mr_reg};

static int fake_av_open(struct fid_domain *unused, struct fi_av_attr *attr, struct fid_av **out,
			void *context)
{
	(void) unused, (void) attr, (void) context;
	av = (struct fid_av){.fid.ops = &fid_ops, .ops = &av_ops};
	btl_fake.open_objects++;
	*out = &av;
	return 0;
}

static int fake_cq_open(struct fid_domain *unused, struct fi_cq_attr *attr, struct fid_cq **out,
			void *context)
{
	(void) unused, (void) attr, (void) context;
	cq = (struct fid_cq){.fid.ops = &fid_ops, .ops = &cq_ops};
	btl_fake.open_objects++;
	*out = &cq;
	return 0;
}

static int fake_endpoint(struct fid_domain *unused, struct fi_info *info, struct fid_ep **out,
			 void *context)
{
	(void) unused, (void) info, (void) context;
	ep = (struct fid_ep){
		.fid.ops = &fid_ops,
		.ops = &ep_ops,
		.cm = &cm_ops,
		.msg = &msg_ops,
		.rma = &rma_ops,
		.atomic = &atomic_ops,
	};
	ep.fid.fclass = FI_CLASS_EP;
	btl_fake.open_objects++;
	*out = &ep;
	return 0;
}

static struct fi_ops_domain domain_ops = {
	.size = sizeof(domain_ops),
	.av_open = fake_av_open,
	.cq_open = fake_cq_open,
	.endpoint = fake_endpoint,
};

static int fake_domain(struct fid_fabric *unused, struct fi_info *info, struct fid_domain **out,
		       void *context)
{
	(void) unused, (void) info, (void) context;
	domain = (struct fid_domain){.fid.ops = &fid_ops, .ops = &domain_ops, .mr = &mr_ops};
	btl_fake.open_objects++;
	*out = &domain;
	return 0;
}

static int fake_eq_open(struct fid_fabric *unused, struct fi_eq_attr *attr, struct fid_eq **out,
			void *context)
{
	(void) unused, (void) attr, (void) context;
	eq = (struct fid_eq){.fid.ops = &fid_ops, .ops = &eq_ops};
	btl_fake.open_objects++;
	*out = &eq;
	return 0;
}

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(fabric_ops),
	.domain = fake_domain,
	.eq_open = fake_eq_open,
};

/* ---- what the component calls by name ---- */

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		      const struct fi_info *hints, struct fi_info **info);
int __wrap_fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context);
void __wrap_opal_output(int stream, const char *format, ...);
int32_t __wrap_opal_convertor_pack(struct opal_convertor_t *from, struct iovec *iov,
				   uint32_t *count, size_t *max);
int __wrap_mca_base_component_var_register(const mca_base_component_t *component, const char *name,
					   const char *help, mca_base_var_type_t type,
					   mca_base_var_enum_t *enumerator, int bind,
					   mca_base_var_flag_t flags, mca_base_var_info_lvl_t level,
					   mca_base_var_scope_t scope, void *storage);

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		      const struct fi_info *hints, struct fi_info **info)
{
	(void) version, (void) node, (void) service, (void) flags;
	if (btl_fake.open_result)
		return btl_fake.open_result;
	if (btl_fake.no_collective && hints->caps & FI_COLLECTIVE)
		return -FI_ENODATA;
	*info = fi_dupinfo(hints);
	assert_non_null(*info);
	(*info)->tx_attr->inject_size = BTL_FAKE_INJECT;
	return 0;
}

int __wrap_fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
	(void) attr, (void) context;
	fabric = (struct fid_fabric){.fid.ops = &fid_ops, .ops = &fabric_ops};
	btl_fake.open_objects++;
	*out = &fabric;
	return 0;
}

void __wrap_opal_output(int stream, const char *format, ...)
{
	const size_t len = strlen(btl_fake.output);
	va_list arguments;

	(void) stream;
	va_start(arguments, format);
	vsnprintf(btl_fake.output + len, sizeof(btl_fake.output) - len, format, arguments);
	va_end(arguments);
}

int32_t __wrap_opal_convertor_pack(struct opal_convertor_t *from, struct iovec *iov,
				   uint32_t *count, size_t *max)
{
	(void) from, (void) count;
	if (btl_fake.pack_result < 0)
		return btl_fake.pack_result;
	if (iov->iov_base)
		memcpy(iov->iov_base, btl_fake.data, iov->iov_len);
	else
		iov->iov_base = btl_fake.data;
	*max = iov->iov_len;
	return 1;
}

/* No parameters: defaults hold. */
int __wrap_mca_base_component_var_register(const mca_base_component_t *component, const char *name,
					   const char *help, mca_base_var_type_t type,
					   mca_base_var_enum_t *enumerator, int bind,
					   mca_base_var_flag_t flags, mca_base_var_info_lvl_t level,
					   mca_base_var_scope_t scope, void *storage)
{
	(void) component, (void) name, (void) help, (void) type, (void) enumerator, (void) bind;
	(void) flags, (void) level, (void) scope, (void) storage;
	return -1;
}

/* ---- the tests' own side ---- */

static void error_callback(mca_btl_base_module_t *btl, int32_t flags, opal_proc_t *proc, char *text)
{
	(void) btl, (void) proc, (void) text;
	btl_fake.errors++;
	btl_fake.error_flags = flags;
}

struct btl_gamma_module *btl_fake_open(void)
{
	static const struct btl_gamma_nic nic = {.name = "fake0"};
	struct btl_gamma_component *component = &mca_btl_gamma_component;

	btl_gamma_module_open(&nic, btl_gamma_module_fit_sizes());
	if (!component->module_count)
		return NULL;
	component->modules[0]->super.btl_register_error(&component->modules[0]->super,
							error_callback);
	return component->modules[0];
}

struct btl_gamma_module *btl_fake_remote_module(void)
{
	return mca_btl_gamma_component.modules[1];
}

int btl_fake_setup_closed(void **state)
{
	struct btl_gamma_component *component = &mca_btl_gamma_component;

	memset(&btl_fake, 0, sizeof(btl_fake));
	memset(&at_port, 0, sizeof(at_port));
	memset(&btl_fake_layer, 0, sizeof(btl_fake_layer));
	memset(mca_btl_base_active_message_trigger, 0,
	       sizeof(mca_btl_base_active_message_trigger[0]) * MCA_BTL_TAG_MAX);
	opal_btl_base_framework.framework_selection = "self,gamma";
	component->receive_buffers = 2;
	component->receive_buffer_size = 2 * BTL_FAKE_SEND;
	component->keepalive = 0;
	component->ports = false;
	component->template = (mca_btl_base_module_t){
		.btl_eager_limit = BTL_FAKE_EAGER,
		.btl_max_send_size = BTL_FAKE_SEND,
		.btl_flags = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_SEND_INPLACE,
	};
	btl_gamma_remote_set_functions(&component->template);
	component->modules = calloc(2, sizeof(*component->modules));
	component->module_count = 0;
	*state = NULL;
	return !component->modules;
}

int btl_fake_setup(void **state)
{
	if (btl_fake_setup_closed(state))
		return -1;
	*state = btl_fake_open();
	btl_fake.call_count = 0;
	return !*state;
}

int btl_fake_setup_ports(void **state)
{
	if (btl_fake_setup_closed(state))
		return -1;
	mca_btl_gamma_component.ports = true;
	*state = btl_fake_open();
	btl_fake.call_count = 0;
	return !*state;
}

int btl_fake_teardown(void **state)
{
	struct btl_gamma_component *component = &mca_btl_gamma_component;

	(void) state;
	while (component->module_count)
		btl_gamma_module_close(component->modules[--component->module_count]);
	free(component->modules);
	component->modules = NULL;
	opal_btl_base_framework.framework_selection = NULL;
	return btl_fake.open_objects;
}

struct mca_btl_base_endpoint_t *btl_fake_peer(struct btl_gamma_module *module, bool own_job,
					      uint32_t vpid)
{
	struct mca_btl_base_endpoint_t *peer = calloc(1, sizeof(*peer));

	assert_non_null(peer);
	peer->proc = OBJ_NEW(opal_proc_t);
	assert_non_null(peer->proc);
	peer->proc->proc_name.jobid = own_job ? opal_proc_local_get()->proc_name.jobid : 77;
	peer->proc->proc_name.vpid = vpid;
	peer->own_job = own_job;
	peer->module = module;
	peer->address = vpid;
	peer->active_max = module->port->active_max;
	strcpy(peer->host, "node2");
	strcpy(peer->nic, "eth7");
	opal_hash_table_set_value_uint64(&module->peers,
					 (uint64_t) peer->proc->proc_name.jobid << 32 | vpid, peer);
	return peer;
}

void btl_fake_complete(void *context)
{
	btl_fake.completions[btl_fake.completion_count++] = (struct fi_cq_data_entry){
		.op_context = context,
		.flags = FI_SEND,
	};
}

void btl_fake_arrive(uint8_t kind, uint8_t tag, const void *bytes, size_t len, bool last)
{
	struct btl_gamma_buffer *buffer = &mca_btl_gamma_component.modules[0]->port->buffers[0];
	struct btl_gamma_header header = {.tag = tag, .kind = kind};

	header.sender.jobid = 77;
	header.sender.vpid = 5;
	memcpy(buffer->memory, &header, sizeof(header));
	if (len)
		memcpy(buffer->memory + sizeof(header), bytes, len);
	btl_fake.completions[btl_fake.completion_count++] = (struct fi_cq_data_entry){
		.op_context = &buffer->op,
		.flags = FI_RECV | (last ? FI_MULTI_RECV : 0),
		.buf = buffer->memory,
		.len = sizeof(header) + len,
	};
}

void btl_fake_fail(void *context, uint64_t flags, int error, const char *text)
{
	btl_fake.error = (struct fi_cq_err_entry){
		.op_context = context, .flags = flags, .err = error, .prov_errno = error};
	btl_fake.error_text = text;
}

static void take_message(const mca_btl_base_segment_t *segment)
{
	btl_fake_layer.messages++;
	btl_fake_layer.len = segment->seg_len;
	memcpy(btl_fake_layer.bytes, segment->seg_addr.pval,
	       segment->seg_len < BTL_FAKE_BYTES ? segment->seg_len : BTL_FAKE_BYTES);
	btl_fake_layer.posted_meanwhile = btl_fake_count(BTL_FAKE_POSTED);
	btl_fake_layer.at = segment->seg_addr.pval;
	memset((unsigned char *) segment->seg_addr.pval + segment->seg_len, 0xff,
	       btl_fake_layer.writes_behind);
	if (btl_fake_layer.polls)
		btl_fake_layer.polled = btl_gamma_progress();
}

#if BTL_GAMMA_RECEIVE_DESCRIPTOR
static void layer_callback(mca_btl_base_module_t *btl,
			   const mca_btl_base_receive_descriptor_t *descriptor)
{
	(void) btl;
	take_message(descriptor->des_segments);
}
#else
static void layer_callback(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
			   mca_btl_base_descriptor_t *descriptor, void *data)
{
	(void) btl, (void) tag, (void) data;
	take_message(descriptor->des_segments);
}
#endif

void btl_fake_register_layer(void)
{
	mca_btl_base_active_message_trigger[BTL_FAKE_TAG].cbfunc = layer_callback;
	mca_btl_base_active_message_trigger[BTL_FAKE_CID_TAG].cbfunc = layer_callback;
}

struct opal_convertor_t *btl_fake_convertor(size_t len, bool contiguous)
{
	memset(&convertor, 0, sizeof(convertor));
	convertor.local_size = len;
	convertor.flags = OPAL_DATATYPE_FLAG_NO_GAPS | CONVERTOR_HOMOGENEOUS;
	if (contiguous)
		convertor.flags |= OPAL_DATATYPE_FLAG_CONTIGUOUS;
	else
		convertor.flags = 0;
	return &convertor;
}
