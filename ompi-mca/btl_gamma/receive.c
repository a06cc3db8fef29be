// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Received messages: their buffers, each for many messages, and their delivery to upper layers.
 * Called by progress.c without a lock, by several threads at once.
 */
#include "btl_gamma.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

/* In messages of this tag Open MPI 5 names new communicators (pml ob1: MCA_PML_OB1_HDR_TYPE_CID).
 * It writes into the header behind the name, also where the name is all of the message. */
enum {
	CID_TAG = MCA_BTL_TAG_PML + 10,
	CID_SHORT = 64, /* bytes: no name is longer, and so much room is behind it */
};

static int start_buffer(struct btl_gamma_op *op)
{
	struct btl_gamma_buffer *buffer = btl_gamma_container(op, struct btl_gamma_buffer, op);
	struct iovec iov = {
		.iov_base = buffer->memory,
		.iov_len = mca_btl_gamma_component.receive_buffer_size,
	};
	struct fi_msg message = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.context = op,
	};

	__atomic_store_n(&buffer->users, 1, __ATOMIC_RELEASE);
	return (int) fi_recvmsg(op->module->port->ep, &message, FI_MULTI_RECV | FI_COMPLETION);
}

/* Without its buffers the component would receive nothing any more. */
static void buffer_failed(struct btl_gamma_op *op, int status)
{
	(void) status;
	btl_gamma_report_broken(op->module, "a receive buffer cannot be posted again", FI_EIO);
}

/* The last user posts the buffer again. */
void btl_gamma_receive_put_buffer(struct btl_gamma_buffer *buffer)
{
	if (__atomic_sub_fetch(&buffer->users, 1, __ATOMIC_ACQ_REL))
		return;
	if (btl_gamma_progress_start(&buffer->op) < 0)
		buffer_failed(&buffer->op, OPAL_ERROR);
}

int btl_gamma_receive_open_buffers(struct btl_gamma_module *module)
{
	const struct btl_gamma_component *component = &mca_btl_gamma_component;
	unsigned int i, count = component->receive_buffers < 2 ? 2 : component->receive_buffers;
	int rc = 0;

	module->port->buffers = calloc(count, sizeof(*module->port->buffers));
	if (!module->port->buffers)
		return -FI_ENOMEM;
	for (i = 0; i < count && !rc; i++) {
		struct btl_gamma_buffer *buffer = &module->port->buffers[i];

		buffer->op = (struct btl_gamma_op){
			.module = module, .start = start_buffer, .done = buffer_failed};
		buffer->memory = malloc(component->receive_buffer_size);
		module->port->buffer_count++;
		rc = buffer->memory ? start_buffer(&buffer->op) : -FI_ENOMEM;
	}
	return rc;
}

void btl_gamma_receive_drop_buffers(struct btl_gamma_port *port)
{
	while (port->buffer_count)
		free(port->buffers[--port->buffer_count].memory);
	free(port->buffers);
}

#if BTL_GAMMA_RECEIVE_DESCRIPTOR
static void call_upper_layer(struct btl_gamma_module *module, const struct btl_gamma_header *header,
			     mca_btl_base_segment_t *segment)
{
	const mca_btl_active_message_callback_t *reg =
		&mca_btl_base_active_message_trigger[header->tag];
	const mca_btl_base_receive_descriptor_t descriptor = {
		.endpoint = btl_gamma_peers_find(module, header->sender),
		.des_segments = segment,
		.des_segment_count = 1,
		.tag = header->tag,
		.cbdata = reg->cbdata,
	};

	reg->cbfunc(&module->super, &descriptor);
}
#else
static void call_upper_layer(struct btl_gamma_module *module, const struct btl_gamma_header *header,
			     mca_btl_base_segment_t *segment)
{
	const mca_btl_active_message_callback_t *reg =
		&mca_btl_base_active_message_trigger[header->tag];
	mca_btl_base_descriptor_t descriptor = {
		.des_segments = segment,
		.des_segment_count = 1,
	};

	reg->cbfunc(&module->super, header->tag, &descriptor, reg->cbdata);
}
#endif

/* What is behind the message where it arrived may be another one. */
__attribute__((noinline)) static void deliver_with_room(struct btl_gamma_module *module,
							const struct btl_gamma_header *header,
							const void *data, size_t len)
{
	unsigned char copy[2 * CID_SHORT] __attribute__((aligned(16))) = {0};
	mca_btl_base_segment_t segment = {.seg_addr.pval = copy, .seg_len = len};

	memcpy(copy, data, len);
	call_upper_layer(module, header, &segment);
}

/* False: the upper layer has not registered yet. */
static bool deliver_message(struct btl_gamma_module *module, const struct btl_gamma_header *header,
			    void *data, size_t len)
{
	mca_btl_base_segment_t segment = {.seg_addr.pval = data, .seg_len = len};

	if (header->kind == BTL_GAMMA_KIND_LEAVING)
		btl_gamma_peers_mark_ended(module, header->sender);
	if (header->kind != BTL_GAMMA_KIND_MESSAGE)
		return true;
	if (!mca_btl_base_active_message_trigger[header->tag].cbfunc)
		return false;
	if (header->tag == CID_TAG && len <= CID_SHORT)
		deliver_with_room(module, header, data, len);
	else
		call_upper_layer(module, header, &segment);
	return true;
}

static void keep_message(struct btl_gamma_module *module, const struct btl_gamma_header *header,
			 const void *data, size_t len)
{
	struct btl_gamma_undelivered *undelivered = malloc(sizeof(*undelivered) + len);

	if (!undelivered) {
		opal_output(0,
			    "btl_gamma: %s: no memory to keep a message until its layer is ready: "
			    "it is lost. "
			    "Free memory on this host.",
			    module->port->nic);
		return;
	}
	undelivered->header = *header;
	undelivered->len = len;
	memcpy(undelivered->data, data, len);
	btl_gamma_lock(&module->lock);
	undelivered->next = module->undelivered;
	module->undelivered = undelivered;
	btl_gamma_unlock(&module->lock);
}

void btl_gamma_receive_message(struct btl_gamma_module *module,
			       const struct btl_gamma_header *header, void *data, size_t len)
{
	if (!deliver_message(module, header, data, len))
		keep_message(module, header, data, len);
}

/* Tries each message once; upper layers restore the order themselves. */
int btl_gamma_receive_retry_undelivered(struct btl_gamma_module *module)
{
	struct btl_gamma_undelivered *undelivered, *next;
	int count = 0;

	btl_gamma_lock(&module->lock);
	undelivered = module->undelivered;
	module->undelivered = NULL;
	btl_gamma_unlock(&module->lock);
	for (; undelivered; undelivered = next) {
		next = undelivered->next;
		if (deliver_message(module, &undelivered->header, undelivered->data,
				    undelivered->len)) {
			count++;
			free(undelivered);
			continue;
		}
		btl_gamma_lock(&module->lock);
		undelivered->next = module->undelivered;
		module->undelivered = undelivered;
		btl_gamma_unlock(&module->lock);
	}
	return count;
}

void btl_gamma_receive_drop_undelivered(struct btl_gamma_module *module)
{
	struct btl_gamma_undelivered *undelivered;

	while ((undelivered = module->undelivered)) {
		module->undelivered = undelivered->next;
		free(undelivered);
	}
}
