// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* fi_send, fi_recv and their variants; RDM and DGRAM endpoints share them. */
#include "ep.h"

static ssize_t msg_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src_addr,
			void *context)
{
	struct iovec iov = {.iov_base = buf, .iov_len = len};

	(void) desc;
	return gamma_submit_recv_iov(ep, &iov, 1, src_addr, 0, 0, context, FI_MSG);
}

static ssize_t msg_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src_addr, void *context)
{
	(void) desc;
	return gamma_submit_recv_iov(ep, iov, count, src_addr, 0, 0, context, FI_MSG);
}

static ssize_t msg_recvmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	if (flags & ~(GAMMA_RX_FLAGS | FI_MULTI_RECV))
		return -FI_EBADFLAGS;
	return gamma_submit_recv(gamma_ep_handle_of(ep), &(struct gamma_post){
								 .iov = msg->msg_iov,
								 .count = msg->iov_count,
								 .addr = msg->addr,
								 .context = msg->context,
								 .flags = flags | FI_MSG,
							 });
}

static ssize_t msg_send(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			fi_addr_t dest_addr, void *context)
{
	struct iovec iov = {.iov_base = (void *) buf, .iov_len = len};

	(void) desc;
	return gamma_submit_send_iov(ep, &iov, 1, dest_addr, 0, 0, context, FI_MSG);
}

static ssize_t msg_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t dest_addr, void *context)
{
	(void) desc;
	return gamma_submit_send_iov(ep, iov, count, dest_addr, 0, 0, context, FI_MSG);
}

static ssize_t msg_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	struct gamma_fi_ep_handle *handle = gamma_ep_handle_of(ep);

	if (gamma_submit_refuses(flags, gamma_options_send_flags(handle)))
		return -FI_EBADFLAGS;
	return gamma_submit_send(handle, &(struct gamma_post){
						 .iov = msg->msg_iov,
						 .count = msg->iov_count,
						 .addr = msg->addr,
						 .data = msg->data,
						 .context = msg->context,
						 .flags = flags | FI_MSG,
					 });
}

static ssize_t msg_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest_addr)
{
	return gamma_submit_inject(ep, buf, len, dest_addr, 0, 0, FI_MSG);
}

static ssize_t msg_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t dest_addr, void *context)
{
	struct iovec iov = {.iov_base = (void *) buf, .iov_len = len};

	(void) desc;
	return gamma_submit_send_iov(ep, &iov, 1, dest_addr, 0, data, context,
				     FI_MSG | FI_REMOTE_CQ_DATA);
}

static ssize_t msg_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest_addr)
{
	return gamma_submit_inject(ep, buf, len, dest_addr, 0, data, FI_MSG | FI_REMOTE_CQ_DATA);
}

struct fi_ops_msg gamma_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = msg_recv,
	.recvv = msg_recvv,
	.recvmsg = msg_recvmsg,
	.send = msg_send,
	.sendv = msg_sendv,
	.sendmsg = msg_sendmsg,
	.inject = msg_inject,
	.senddata = msg_senddata,
	.injectdata = msg_injectdata,
};
