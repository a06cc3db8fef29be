// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Sends. Messages that fit are injected: the provider copies them and they are finished at once.
 * Others are sent from where they are, and finish with their completion.
 */
#include "btl_gamma.h"

#include <rdma/fi_errno.h>
#include <string.h>

static struct btl_gamma_fragment *fragment_of(struct btl_gamma_op *op)
{
	return btl_gamma_container(op, struct btl_gamma_fragment, op);
}

static size_t copied_len(const struct btl_gamma_fragment *fragment)
{
	return sizeof(fragment->header) + fragment->segments[0].seg_len;
}

static bool can_inject(const struct btl_gamma_fragment *fragment)
{
	return fragment->base.des_segment_count == 1 &&
	       copied_len(fragment) <= fragment->op.module->port->inject_size;
}

/* Bytes of the same message to an active port. */
static size_t active_len(const struct btl_gamma_fragment *fragment)
{
	size_t len = sizeof(fragment->header.sender) + fragment->segments[0].seg_len;

	if (fragment->base.des_segment_count > 1)
		len += fragment->segments[1].seg_len;
	return len;
}

static int start_active(struct btl_gamma_op *op)
{
	struct btl_gamma_fragment *fragment = fragment_of(op);
	const size_t begin = offsetof(struct btl_gamma_header, sender);
	const struct iovec iov[2] = {
		{.iov_base = (unsigned char *) &fragment->header + begin,
		 .iov_len = copied_len(fragment) - begin},
		{.iov_base = fragment->segments[1].seg_addr.pval,
		 .iov_len = fragment->segments[1].seg_len},
	};
	const bool inject = can_inject(fragment);
	const int rc = btl_gamma_active_port_send(op->peer, iov, fragment->base.des_segment_count,
						  fragment->header.tag, inject ? NULL : op);

	return rc || !inject ? rc : BTL_GAMMA_FINISHED;
}

static int start_message(struct btl_gamma_op *op)
{
	struct btl_gamma_fragment *fragment = fragment_of(op);
	struct iovec iov[2] = {
		{.iov_base = &fragment->header, .iov_len = copied_len(fragment)},
		{.iov_base = fragment->segments[1].seg_addr.pval,
		 .iov_len = fragment->segments[1].seg_len},
	};
	struct fi_msg message = {
		.msg_iov = iov,
		.iov_count = fragment->base.des_segment_count,
		.addr = op->peer->address,
		.context = op,
	};
	ssize_t rc;

	if (active_len(fragment) <= op->peer->active_max)
		return start_active(op);
	if (can_inject(fragment)) {
		rc = fi_inject(op->module->port->ep, &fragment->header, iov[0].iov_len,
			       message.addr);
		return rc ? (int) rc : BTL_GAMMA_FINISHED;
	}
	return (int) fi_sendmsg(op->module->port->ep, &message, FI_COMPLETION);
}

/* The callback may free the fragment or send it again: it is not touched afterwards, unless it
 * is ours. */
static void finish_fragment(struct btl_gamma_fragment *fragment, int status)
{
	mca_btl_base_module_t *btl = &fragment->op.module->super;
	mca_btl_base_descriptor_t *descriptor = &fragment->base;
	const uint32_t flags = descriptor->des_flags;

	if (descriptor->des_cbfunc && flags & MCA_BTL_DES_SEND_ALWAYS_CALLBACK)
		descriptor->des_cbfunc(btl, fragment->op.peer, descriptor, status);
	if (flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP)
		btl_gamma_fragments_free(btl, descriptor);
}

static void message_done(struct btl_gamma_op *op, int status)
{
	finish_fragment(fragment_of(op), status);
}

int btl_gamma_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *peer,
		   mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
	struct btl_gamma_fragment *fragment =
		btl_gamma_container(descriptor, struct btl_gamma_fragment, base);
	const uint32_t flags = descriptor->des_flags;
	struct btl_gamma_op *op = &fragment->op;
	int rc;

	(void) btl;
	op->peer = peer;
	op->start = start_message;
	op->done = message_done;
	fragment->header.tag = tag;
	/* If the send finishes later, the upper layer waits for its callback. */
	descriptor->des_flags |= MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
	rc = btl_gamma_progress_start(op);
	if (rc == BTL_GAMMA_STARTED)
		return OPAL_SUCCESS;
	descriptor->des_flags = flags;
	if (rc == BTL_GAMMA_FINISHED) {
		finish_fragment(fragment, OPAL_SUCCESS);
		return 1;
	}
	btl_gamma_report_peer_failed(peer, -rc, NULL);
	return OPAL_ERR_UNREACH;
}

/* False: the convertor could not pack all data at once. */
static bool pack_message(unsigned char *to, mca_btl_base_tag_t tag, const void *header,
			 size_t header_size, struct opal_convertor_t *convertor,
			 size_t payload_size)
{
	struct btl_gamma_header front = {.sender = opal_proc_local_get()->proc_name, .tag = tag};
	struct iovec iov = {.iov_base = to + sizeof(front) + header_size, .iov_len = payload_size};
	size_t len = payload_size;
	uint32_t iov_count = 1;

	memcpy(to, &front, sizeof(front));
	memcpy(to + sizeof(front), header, header_size);
	if (!payload_size)
		return true;
	return opal_convertor_pack(convertor, &iov, &iov_count, &len) >= 0 && len == payload_size;
}

static int inject_message(struct mca_btl_base_endpoint_t *peer, void *message, size_t len,
			  mca_btl_base_tag_t tag)
{
	const size_t begin = offsetof(struct btl_gamma_header, sender);
	const struct iovec iov = {.iov_base = (unsigned char *) message + begin,
				  .iov_len = len - begin};

	if (iov.iov_len <= peer->active_max)
		return btl_gamma_active_port_send(peer, &iov, 1, tag, NULL);
	return (int) fi_inject(peer->module->port->ep, message, len, peer->address);
}

/* The same without a fragment, for messages that can be injected. */
int btl_gamma_send_immediate(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *peer,
			     struct opal_convertor_t *convertor, void *header, size_t header_size,
			     size_t payload_size, uint8_t order, uint32_t flags,
			     mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor)
{
	struct btl_gamma_module *module = btl_gamma_module(btl);
	const size_t len = sizeof(struct btl_gamma_header) + header_size + payload_size;
	unsigned char message[BTL_GAMMA_INJECT_MAX];
	size_t position = 0;

	if (len <= module->port->inject_size && !btl_gamma_any_waiting(module)) {
		if (payload_size)
			position = convertor->bConverted;
		if (pack_message(message, tag, header, header_size, convertor, payload_size) &&
		    !inject_message(peer, message, len, tag))
			return OPAL_SUCCESS;
		/* The caller packs the data again. */
		if (payload_size)
			opal_convertor_set_position(convertor, &position);
	}
	if (descriptor)
		*descriptor = btl_gamma_fragments_alloc(btl, peer, order,
							header_size + payload_size, flags);
	return OPAL_ERR_RESOURCE_BUSY;
}
