// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* fi_read, fi_write and their variants: arguments to a struct gamma_rma_post, see
 * remote.c. */
#include "ep.h"

/* A read has no CQ data to send. */
#define READ_FLAGS (GAMMA_TX_FLAGS & ~(FI_REMOTE_CQ_DATA | FI_INJECT))

static uint64_t len_of(const struct iovec *iov, size_t count)
{
	return count <= GAMMA_IOV_LIMIT ? gamma_iov_len(iov, (unsigned) count) : 0;
}

/* ---- reads ---- */

static ssize_t submit_read(struct gamma_fi_ep_handle *handle, const struct iovec *iov, size_t count,
			   const struct fi_rma_iov *target, size_t target_count, fi_addr_t addr,
			   void *context, uint64_t flags)
{
	return gamma_remote_submit(handle, &(struct gamma_rma_post){
						   .op = GAMMA_OP_READ,
						   .addr = addr,
						   .result = iov,
						   .result_count = count,
						   .target = target,
						   .target_count = target_count,
						   .context = context,
						   .flags = flags | FI_RMA | FI_READ,
					   });
}

static ssize_t rma_readv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t addr, uint64_t remote, uint64_t key, void *context)
{
	struct gamma_fi_ep_handle *handle = gamma_ep_handle_of(ep);
	struct fi_rma_iov target = {.addr = remote, .len = len_of(iov, count), .key = key};

	(void) desc;
	return submit_read(handle, iov, count, &target, 1, addr, context,
			   handle->tx_flags & ~FI_REMOTE_CQ_DATA);
}

static ssize_t rma_read(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t addr,
			uint64_t remote, uint64_t key, void *context)
{
	struct iovec iov = {.iov_base = buf, .iov_len = len};

	(void) desc;
	return rma_readv(ep, &iov, NULL, 1, addr, remote, key, context);
}

static ssize_t rma_readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	if (gamma_submit_refuses(flags, READ_FLAGS))
		return -FI_EBADFLAGS;
	return submit_read(gamma_ep_handle_of(ep), msg->msg_iov, msg->iov_count, msg->rma_iov,
			   msg->rma_iov_count, msg->addr, msg->context, flags);
}

/* ---- writes ---- */

static ssize_t submit_write(struct gamma_fi_ep_handle *handle, const struct iovec *iov,
			    size_t count, const struct fi_rma_iov *target, size_t target_count,
			    fi_addr_t addr, uint64_t data, void *context, uint64_t flags,
			    bool silent)
{
	return gamma_remote_submit(handle, &(struct gamma_rma_post){
						   .op = GAMMA_OP_WRITE,
						   .operands = 1,
						   .addr = addr,
						   .iov = iov,
						   .count = count,
						   .target = target,
						   .target_count = target_count,
						   .data = data,
						   .context = context,
						   .flags = flags | FI_RMA | FI_WRITE,
						   .silent = silent,
					   });
}

static ssize_t write_buffer(struct gamma_fi_ep_handle *handle, const void *buf, size_t len,
			    fi_addr_t addr, uint64_t remote, uint64_t key, uint64_t data,
			    void *context, uint64_t flags, bool silent)
{
	struct iovec iov = {.iov_base = (void *) buf, .iov_len = len};
	struct fi_rma_iov target = {.addr = remote, .len = len, .key = key};

	return submit_write(handle, &iov, 1, &target, 1, addr, data, context, flags, silent);
}

static ssize_t rma_writev(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t addr, uint64_t remote, uint64_t key, void *context)
{
	struct gamma_fi_ep_handle *handle = gamma_ep_handle_of(ep);
	struct fi_rma_iov target = {.addr = remote, .len = len_of(iov, count), .key = key};

	(void) desc;
	return submit_write(handle, iov, count, &target, 1, addr, 0, context, handle->tx_flags,
			    false);
}

static ssize_t rma_write(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t addr,
			 uint64_t remote, uint64_t key, void *context)
{
	struct gamma_fi_ep_handle *handle = gamma_ep_handle_of(ep);

	(void) desc;
	return write_buffer(handle, buf, len, addr, remote, key, 0, context, handle->tx_flags,
			    false);
}

static ssize_t rma_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	if (gamma_submit_refuses(flags, GAMMA_TX_FLAGS))
		return -FI_EBADFLAGS;
	return submit_write(gamma_ep_handle_of(ep), msg->msg_iov, msg->iov_count, msg->rma_iov,
			    msg->rma_iov_count, msg->addr, msg->data, msg->context, flags, false);
}

static ssize_t rma_writedata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			     uint64_t data, fi_addr_t addr, uint64_t remote, uint64_t key,
			     void *context)
{
	struct gamma_fi_ep_handle *handle = gamma_ep_handle_of(ep);

	(void) desc;
	return write_buffer(handle, buf, len, addr, remote, key, data, context,
			    handle->tx_flags | FI_REMOTE_CQ_DATA, false);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t addr,
			  uint64_t remote, uint64_t key)
{
	return write_buffer(gamma_ep_handle_of(ep), buf, len, addr, remote, key, 0, NULL, 0, true);
}

static ssize_t rma_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			      fi_addr_t addr, uint64_t remote, uint64_t key)
{
	return write_buffer(gamma_ep_handle_of(ep), buf, len, addr, remote, key, data, NULL,
			    FI_REMOTE_CQ_DATA, true);
}

struct fi_ops_rma gamma_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = rma_writedata,
	.injectdata = rma_injectdata,
};
