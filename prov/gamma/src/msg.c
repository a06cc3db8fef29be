// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* fi_send, fi_recv and their variants; RDM and DGRAM endpoints share them. */
#include "ep.h"

/* Flags of an *msg call; fi_msg is in them to tell the two kinds of messages apart. */
#define MSG_SEND_FLAGS                                                                             \
	(FI_REMOTE_CQ_DATA | FI_COMPLETION | FI_MORE | FI_INJECT | FI_INJECT_COMPLETE |            \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE | FI_FENCE)
#define MSG_RECV_FLAGS (FI_COMPLETION | FI_MORE | FI_MULTI_RECV | FI_PEEK | FI_CLAIM | FI_DISCARD)

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src_addr,
			void *context)
{
	struct gamma_ep_handle *handle = gamma_handle(fid);
	struct iovec iov = {.iov_base = buf, .iov_len = len};

	(void) desc;
	return gamma_post_recv(handle, &(struct gamma_post){
					       .iov = &iov,
					       .count = 1,
					       .addr = src_addr,
					       .context = context,
					       .flags = handle->rx_flags | FI_MSG,
				       });
}

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src_addr, void *context)
{
	struct gamma_ep_handle *handle = gamma_handle(fid);

	(void) desc;
	return gamma_post_recv(handle, &(struct gamma_post){
					       .iov = iov,
					       .count = count,
					       .addr = src_addr,
					       .context = context,
					       .flags = handle->rx_flags | FI_MSG,
				       });
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	if (flags & ~MSG_RECV_FLAGS)
		return -FI_EBADFLAGS;
	return gamma_post_recv(gamma_handle(fid), &(struct gamma_post){
							  .iov = msg->msg_iov,
							  .count = msg->iov_count,
							  .addr = msg->addr,
							  .context = msg->context,
							  .flags = flags | FI_MSG,
						  });
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			fi_addr_t dest_addr, void *context)
{
	struct gamma_ep_handle *handle = gamma_handle(fid);
	struct iovec iov = {.iov_base = (void *) buf, .iov_len = len};

	(void) desc;
	return gamma_post_send(handle, &(struct gamma_post){
					       .iov = &iov,
					       .count = 1,
					       .addr = dest_addr,
					       .context = context,
					       .flags = handle->tx_flags | FI_MSG,
				       });
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t dest_addr, void *context)
{
	struct gamma_ep_handle *handle = gamma_handle(fid);

	(void) desc;
	return gamma_post_send(handle, &(struct gamma_post){
					       .iov = iov,
					       .count = count,
					       .addr = dest_addr,
					       .context = context,
					       .flags = handle->tx_flags | FI_MSG,
				       });
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	if (flags & ~MSG_SEND_FLAGS)
		return -FI_EBADFLAGS;
	return gamma_post_send(gamma_handle(fid), &(struct gamma_post){
							  .iov = msg->msg_iov,
							  .count = msg->iov_count,
							  .addr = msg->addr,
							  .data = msg->data,
							  .context = msg->context,
							  .flags = flags | FI_MSG,
						  });
}

static ssize_t msg_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest_addr)
{
	struct iovec iov = {.iov_base = (void *) buf, .iov_len = len};

	return gamma_post_send(gamma_handle(fid), &(struct gamma_post){
							  .iov = &iov,
							  .count = 1,
							  .addr = dest_addr,
							  .flags = FI_MSG,
							  .silent = true,
						  });
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t dest_addr, void *context)
{
	struct gamma_ep_handle *handle = gamma_handle(fid);
	struct iovec iov = {.iov_base = (void *) buf, .iov_len = len};

	(void) desc;
	return gamma_post_send(handle, &(struct gamma_post){
					       .iov = &iov,
					       .count = 1,
					       .addr = dest_addr,
					       .data = data,
					       .context = context,
					       .flags = handle->tx_flags | FI_MSG |
							FI_REMOTE_CQ_DATA,
				       });
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest_addr)
{
	struct iovec iov = {.iov_base = (void *) buf, .iov_len = len};

	return gamma_post_send(gamma_handle(fid), &(struct gamma_post){
							  .iov = &iov,
							  .count = 1,
							  .addr = dest_addr,
							  .data = data,
							  .flags = FI_MSG | FI_REMOTE_CQ_DATA,
							  .silent = true,
						  });
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
