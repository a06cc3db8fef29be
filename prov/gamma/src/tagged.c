// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* fi_tsend, fi_trecv and their variants. */
#include "ep.h"

static ssize_t tagged_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src_addr,
			   uint64_t tag, uint64_t ignore, void *context)
{
	struct iovec iov = {.iov_base = buf, .iov_len = len};

	(void) desc;
	return gamma_submit_recv_iov(ep, &iov, 1, src_addr, tag, ignore, context, FI_TAGGED);
}

static ssize_t tagged_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t src_addr, uint64_t tag, uint64_t ignore, void *context)
{
	(void) desc;
	return gamma_submit_recv_iov(ep, iov, count, src_addr, tag, ignore, context, FI_TAGGED);
}

static ssize_t tagged_recvmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	if (flags & ~GAMMA_RX_FLAGS)
		return -FI_EBADFLAGS;
	return gamma_submit_recv(gamma_ep_handle_of(ep), &(struct gamma_post){
								 .iov = msg->msg_iov,
								 .count = msg->iov_count,
								 .addr = msg->addr,
								 .tag = msg->tag,
								 .ignore = msg->ignore,
								 .context = msg->context,
								 .flags = flags | FI_TAGGED,
							 });
}

static ssize_t tagged_send(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			   fi_addr_t dest_addr, uint64_t tag, void *context)
{
	struct iovec iov = {.iov_base = (void *) buf, .iov_len = len};

	(void) desc;
	return gamma_submit_send_iov(ep, &iov, 1, dest_addr, tag, 0, context, FI_TAGGED);
}

static ssize_t tagged_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t dest_addr, uint64_t tag, void *context)
{
	(void) desc;
	return gamma_submit_send_iov(ep, iov, count, dest_addr, tag, 0, context, FI_TAGGED);
}

static ssize_t tagged_sendmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	if (gamma_submit_refuses(flags, GAMMA_TX_FLAGS))
		return -FI_EBADFLAGS;
	return gamma_submit_send(gamma_ep_handle_of(ep), &(struct gamma_post){
								 .iov = msg->msg_iov,
								 .count = msg->iov_count,
								 .addr = msg->addr,
								 .tag = msg->tag,
								 .data = msg->data,
								 .context = msg->context,
								 .flags = flags | FI_TAGGED,
							 });
}

static ssize_t tagged_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest_addr,
			     uint64_t tag)
{
	return gamma_submit_inject(ep, buf, len, dest_addr, tag, 0, FI_TAGGED);
}

static ssize_t tagged_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			       uint64_t data, fi_addr_t dest_addr, uint64_t tag, void *context)
{
	struct iovec iov = {.iov_base = (void *) buf, .iov_len = len};

	(void) desc;
	return gamma_submit_send_iov(ep, &iov, 1, dest_addr, tag, data, context,
				     FI_TAGGED | FI_REMOTE_CQ_DATA);
}

static ssize_t tagged_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
				 fi_addr_t dest_addr, uint64_t tag)
{
	return gamma_submit_inject(ep, buf, len, dest_addr, tag, data,
				   FI_TAGGED | FI_REMOTE_CQ_DATA);
}

struct fi_ops_tagged gamma_tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = tagged_recv,
	.recvv = tagged_recvv,
	.recvmsg = tagged_recvmsg,
	.send = tagged_send,
	.sendv = tagged_sendv,
	.sendmsg = tagged_sendmsg,
	.inject = tagged_inject,
	.senddata = tagged_senddata,
	.injectdata = tagged_injectdata,
};
