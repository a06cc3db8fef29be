// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Messages that arrive: the memory they arrive in, many in one buffer, and their way up. Called by
 * progress.c without a lock, by several threads at once.
 */
#include "btl_gamma.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

static int start_buffer(struct gamma_btl_op *op)
{
	struct gamma_btl_buffer *buffer = gamma_btl_container(op, struct gamma_btl_buffer, op);
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

/* A buffer that cannot be posted: nothing would arrive any more, sooner or later. */
static void buffer_failed(struct gamma_btl_op *op, int status)
{
	(void) status;
	gamma_btl_broken(op->module, "a receive buffer is lost", FI_EIO);
}

/* The last that uses it posts it again. */
void gamma_btl_put_buffer(struct gamma_btl_buffer *buffer)
{
	if (__atomic_sub_fetch(&buffer->users, 1, __ATOMIC_ACQ_REL))
		return;
	if (gamma_btl_start(&buffer->op) < 0)
		buffer_failed(&buffer->op, OPAL_ERROR);
}

int gamma_btl_open_buffers(struct gamma_btl_module *module)
{
	const struct gamma_btl_component *component = &mca_btl_gamma_component;
	unsigned int i, count = component->receive_buffers < 2 ? 2 : component->receive_buffers;
	int rc = 0;

	module->port->buffers = calloc(count, sizeof(*module->port->buffers));
	if (!module->port->buffers)
		return -FI_ENOMEM;
	for (i = 0; i < count && !rc; i++) {
		struct gamma_btl_buffer *buffer = &module->port->buffers[i];

		buffer->op = (struct gamma_btl_op){
			.module = module, .start = start_buffer, .done = buffer_failed};
		buffer->memory = malloc(component->receive_buffer_size);
		module->port->buffer_count++;
		rc = buffer->memory ? start_buffer(&buffer->op) : -FI_ENOMEM;
	}
	return rc;
}

void gamma_btl_drop_buffers(struct gamma_btl_port *port)
{
	while (port->buffer_count)
		free(port->buffers[--port->buffer_count].memory);
	free(port->buffers);
}

#if GAMMA_BTL_RECEIVE_DESCRIPTOR
static void hand_up(struct gamma_btl_module *module, const struct gamma_btl_header *header,
		    mca_btl_base_segment_t *segment)
{
	const mca_btl_active_message_callback_t *reg =
		&mca_btl_base_active_message_trigger[header->tag];
	const mca_btl_base_receive_descriptor_t descriptor = {
		.endpoint = gamma_btl_peer_by_name(module, header->sender),
		.des_segments = segment,
		.des_segment_count = 1,
		.tag = header->tag,
		.cbdata = reg->cbdata,
	};

	reg->cbfunc(&module->super, &descriptor);
}
#else
static void hand_up(struct gamma_btl_module *module, const struct gamma_btl_header *header,
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

/* False: who it is for has not started yet. */
static bool deliver(struct gamma_btl_module *module, unsigned char *message, size_t len)
{
	mca_btl_base_segment_t segment;
	struct gamma_btl_header header;

	memcpy(&header, message, sizeof(header));
	if (header.kind == GAMMA_BTL_LEAVING)
		gamma_btl_peer_left(module, header.sender);
	if (header.kind != GAMMA_BTL_MESSAGE)
		return true;
	if (!mca_btl_base_active_message_trigger[header.tag].cbfunc)
		return false;
	segment.seg_addr.pval = message + sizeof(header);
	segment.seg_len = len - sizeof(header);
	hand_up(module, &header, &segment);
	return true;
}

static void hold(struct gamma_btl_module *module, const void *message, size_t len)
{
	struct gamma_btl_held *held = malloc(sizeof(*held) + len);

	if (!held) {
		opal_output(0, "btl_gamma: %s: no memory for a message", module->port->nic);
		return;
	}
	held->len = len;
	memcpy(held->message, message, len);
	gamma_btl_lock(&module->lock);
	held->next = module->held;
	module->held = held;
	gamma_btl_unlock(&module->lock);
}

void gamma_btl_received(struct gamma_btl_buffer *buffer, void *message, size_t len)
{
	struct gamma_btl_module *module = buffer->op.module;

	if (len < sizeof(struct gamma_btl_header))
		return;
	if (!deliver(module, message, len))
		hold(module, message, len);
}

/* Tries each once more; the layers above put messages in order themselves. */
int gamma_btl_deliver_held(struct gamma_btl_module *module)
{
	struct gamma_btl_held *held, *next;
	int count = 0;

	gamma_btl_lock(&module->lock);
	held = module->held;
	module->held = NULL;
	gamma_btl_unlock(&module->lock);
	for (; held; held = next) {
		next = held->next;
		if (deliver(module, held->message, held->len)) {
			count++;
			free(held);
			continue;
		}
		gamma_btl_lock(&module->lock);
		held->next = module->held;
		module->held = held;
		gamma_btl_unlock(&module->lock);
	}
	return count;
}

void gamma_btl_drop_held(struct gamma_btl_module *module)
{
	struct gamma_btl_held *held;

	while ((held = module->held)) {
		module->held = held->next;
		free(held);
	}
}
