// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The parameters, as ompi_info lists them. Registered first: neither provider nor NIC need exist.
 */
#include "btl_gamma.h"

#include <stdio.h>

enum {
	KIB = 1024,
	EAGER_LIMIT = 64 * KIB + BTL_GAMMA_HEADER_ROOM, /* so that 64 KiB of data fit */
	FRAGMENT = 128 * KIB,
	/* Together they fit a second-level cache: each message is written there, and read again. */
	BUFFER = 256 * KIB,
	BUFFERS = 2,
	KEEPALIVE = 60, /* s */
};

/* *where holds the default. */
static void param(const char *name, const char *help, mca_base_var_type_t type,
		  mca_base_var_info_lvl_t level, void *where)
{
	(void) mca_base_component_var_register(&mca_btl_gamma_component.super.btl_version, name,
					       help, type, NULL, 0, 0, level,
					       MCA_BASE_VAR_SCOPE_READONLY, where);
}

/* Limits and weights that every BTL has, with names that Open MPI gives them. */
static void fill_template(mca_btl_base_module_t *btl)
{
	*btl = (mca_btl_base_module_t){
		.btl_component = &mca_btl_gamma_component.super,
		.btl_eager_limit = EAGER_LIMIT,
		.btl_rndv_eager_limit = EAGER_LIMIT,
		.btl_max_send_size = FRAGMENT,
		.btl_rdma_pipeline_send_length = FRAGMENT,
		.btl_rdma_pipeline_frag_size = 4 * KIB * KIB,
		.btl_min_rdma_pipeline_size = FRAGMENT,
		/* above tcp, below BTLs for a single host */
		.btl_exclusivity = MCA_BTL_EXCLUSIVITY_DEFAULT,
		.btl_latency = 2,
		.btl_bandwidth = 0, /* that of the NIC */
		/*
		 * Messages only: with RMA, Open MPI would read or write a whole long message even
		 * if the receive is too short for it. RMA has a module of its own (module.c).
		 */
		.btl_flags = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_SEND_INPLACE,
	};
	btl_gamma_remote_set_functions(btl);
}

int btl_gamma_params_register(void)
{
	struct btl_gamma_component *component = &mca_btl_gamma_component;

	component->if_include = component->if_exclude = NULL;
	component->by_default = false;
	component->async_progress = component->progress_thread = false;
	component->ports = component->one_endpoint = true;
	component->peer_timeout = 0;
	component->ring_size = 0;
	component->keepalive = KEEPALIVE;
	component->receive_buffers = BUFFERS;
	component->receive_buffer_size = BUFFER;
	param("if_include",
	      "NICs to use, separated by commas: interface names, MAC addresses, or networks "
	      "such as 10.1.0.0/16 or fd00:1::/64. Long messages are divided among several NICs. "
	      "Empty: the NIC that the gamma provider selects",
	      MCA_BASE_VAR_TYPE_STRING, OPAL_INFO_LVL_1, &component->if_include);
	param("if_exclude",
	      "NICs not to use, in the same form; all others are used. Excludes if_include",
	      MCA_BASE_VAR_TYPE_STRING, OPAL_INFO_LVL_1, &component->if_exclude);
	param("one_endpoint",
	      "Whether one endpoint uses all NICs that if_include names, or if_exclude leaves: it "
	      "goes "
	      "on when one of them fails. All hosts must have them in the same order. 0: an "
	      "endpoint "
	      "for each NIC, which talks to the NIC of the same name; the job ends when one fails",
	      MCA_BASE_VAR_TYPE_BOOL, OPAL_INFO_LVL_3, &component->one_endpoint);
	param("default",
	      "Whether jobs use gamma even if their parameter btl does not name it. For the "
	      "administrator's openmpi-mca-params.conf",
	      MCA_BASE_VAR_TYPE_BOOL, OPAL_INFO_LVL_2, &component->by_default);
	param("peer_timeout",
	      "Seconds without an answer until a peer is declared dead and the job ends with "
	      "an error. 0: FI_GAMMA_PEER_TIMEOUT, or the provider's default",
	      MCA_BASE_VAR_TYPE_UNSIGNED_INT, OPAL_INFO_LVL_3, &component->peer_timeout);
	param("keepalive",
	      "Seconds between keepalive probes to every peer, so that a process that only "
	      "receives notices a dead host. 0 disables keepalives: use it to stop processes in a "
	      "debugger",
	      MCA_BASE_VAR_TYPE_UNSIGNED_INT, OPAL_INFO_LVL_3, &component->keepalive);
	param("async_progress",
	      "Whether the provider's thread takes over when a process has not called MPI for "
	      "1 ms, instead of 10 ms. It handles frames, but not Open MPI's own control "
	      "messages: progress_thread does",
	      MCA_BASE_VAR_TYPE_BOOL, OPAL_INFO_LVL_5, &component->async_progress);
	param("progress_thread",
	      "Whether a thread makes progress while the program computes: long messages "
	      "continue without a call of MPI. It costs processor time",
	      MCA_BASE_VAR_TYPE_BOOL, OPAL_INFO_LVL_4, &component->progress_thread);
	param("ports",
	      "Whether messages that fit one frame go to an active port of the provider: Open MPI "
	      "handles them where they arrived, which saves a copy. Messages to and from a process "
	      "that has 0 here are copied",
	      MCA_BASE_VAR_TYPE_BOOL, OPAL_INFO_LVL_5, &component->ports);
	param("ring_size",
	      "Bytes of the receive ring, which bounds what all peers together may have in flight "
	      "to a process. 0: FI_GAMMA_RING_SIZE, or the provider's default",
	      MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_5, &component->ring_size);
	param("receive_buffers", "Receive buffers to post, at least 2",
	      MCA_BASE_VAR_TYPE_UNSIGNED_INT, OPAL_INFO_LVL_9, &component->receive_buffers);
	param("receive_buffer_size", "Bytes of each receive buffer; at least twice max_send_size",
	      MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_9, &component->receive_buffer_size);
	fill_template(&component->template);
	/* For ompi_info: this release, not Open MPI's, which is the default. */
	component->super.btl_version.mca_component_major_version = GAMMA_VERSION_MAJOR;
	component->super.btl_version.mca_component_minor_version = GAMMA_VERSION_MINOR;
	component->super.btl_version.mca_component_release_version = GAMMA_VERSION_RELEASE;
	return mca_btl_base_param_register(&component->super.btl_version, &component->template);
}

/*
 * Bandwidth of one NIC: FOUND, unless the user sets another. There is one parameter per used NIC,
 * so that ompi_info, which uses none, cannot list them.
 */
unsigned int btl_gamma_params_bandwidth(const char *nic, unsigned int found)
{
	static unsigned int bandwidth;
	char name[sizeof("bandwidth_") + BTL_GAMMA_NIC_NAME];
	int index;

	bandwidth = found;
	snprintf(name, sizeof(name), "bandwidth_%s", nic);
	index = mca_base_component_var_register(
		&mca_btl_gamma_component.super.btl_version, name, "Bandwidth of this NIC in Mbit/s",
		MCA_BASE_VAR_TYPE_UNSIGNED_INT, NULL, 0, 0, OPAL_INFO_LVL_5,
		MCA_BASE_VAR_SCOPE_READONLY, &bandwidth);
	/* The variable is reused for the next NIC. */
	if (index >= 0)
		mca_base_var_deregister(index);
	return bandwidth;
}
