// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Messages to users: each once, by one process per host, with cause and cure.
 */
#include "btl_gamma.h"

#include <rdma/fi_errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define RULE "--------------------------------------------------------------------------"

enum { TEXT_MAX = 1024 }; /* bytes */

static void show_report(const char *what, const char *cause, const char *cure, va_list arguments)
{
	char text[TEXT_MAX];

	if (!btl_gamma_component_is_named() || opal_process_info.my_local_rank)
		return;
	vsnprintf(text, sizeof(text), cause, arguments);
	opal_output(0, "\n" RULE "\nThe BTL gamma %s %s:\n%s\n\n%s\n" RULE, what,
		    opal_process_info.nodename, text, cure);
}

/*
 * CAUSE is a format, CURE a plain text. Open MPI's parameter btl_base_warn_component_unused is
 * ignored: Debian turns it off for all jobs, but a user who names gamma wants to know.
 */
void btl_gamma_report_unused(const char *cause, const char *cure, ...)
{
	va_list arguments;

	va_start(arguments, cure);
	show_report("is not used on", cause, cure, arguments);
	va_end(arguments);
}

/* The same if gamma is used, but slower than it could be. */
void btl_gamma_report_slow(const char *cause, const char *cure, ...)
{
	va_list arguments;

	va_start(arguments, cure);
	show_report("could be faster on", cause, cure, arguments);
	va_end(arguments);
}

static const char *cure_of(int error)
{
	switch (error) {
	case FI_ETIMEDOUT:
	case FI_EHOSTUNREACH:
		return "Is the host up, its cable plugged, and its NIC on the same Ethernet "
		       "segment as ours?\n"
		       "gammaping from here to it shows which step fails, also whether the network "
		       "drops\nthe addresses of gammad's slots (port security, spoof checks); "
		       "`own-address` in\ngammad.conf and FI_GAMMA_LINK=udp do without them. To "
		       "wait longer, raise\nbtl_gamma_peer_timeout.";
	case FI_ECONNREFUSED:
	case FI_ECONNRESET:
	case FI_ECONNABORTED:
	case FI_ENOTCONN:
		return "The process there has ended: look for its last message, and for the "
		       "kernel's on "
		       "its host.";
	case FI_ENODEV:
		return "A NIC of this host was removed, or its driver was reloaded. Start the job "
		       "again\nwhen it is back.";
	default:
		return "FI_LOG_LEVEL=warn shows more messages of the provider.";
	}
}

/* Follows the provider's words. */
static const char *timeout_text(int error, char *text, size_t size)
{
	const char *seconds = getenv("FI_GAMMA_PEER_TIMEOUT");

	text[0] = 0;
	if (error == FI_ETIMEDOUT && seconds)
		snprintf(text, size, "; it was asked for %s s", seconds);
	else if (error == FI_ETIMEDOUT)
		snprintf(text, size, "; it was asked until the peer timeout");
	return text;
}

/* The one-sided layer registers no callback: it gets the status of its operation. */
static void end_job(struct btl_gamma_module *module, opal_proc_t *proc, int error, char *text)
{
	opal_output(0, "\n" RULE "\n%s\n\n%s\n" RULE, text, cure_of(error));
	if (module->error_cb)
		module->error_cb(&module->super, MCA_BTL_ERROR_FLAGS_FATAL, proc, text);
}

void btl_gamma_report_peer_failed(struct mca_btl_base_endpoint_t *peer, int error,
				  const char *provider_text)
{
	const unsigned char *mac = peer->mac;
	char text[TEXT_MAX], how_long[64];

	if (__atomic_exchange_n(&peer->failed, true, __ATOMIC_RELAXED))
		return;
	snprintf(text, sizeof(text),
		 "btl_gamma: rank %u on %s cannot be reached through %s (there %s, "
		 "%02x:%02x:%02x:%02x:%02x:%02x): %s%s",
		 (unsigned int) peer->proc->proc_name.vpid, peer->host, peer->module->port->nic,
		 peer->nic, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5],
		 provider_text ? provider_text : fi_strerror(error),
		 timeout_text(error, how_long, sizeof(how_long)));
	end_job(peer->module, peer->proc, error, text);
}

/* Arriving messages are lost, and a receiver would wait forever. */
void btl_gamma_report_broken(struct btl_gamma_module *module, const char *what, int error)
{
	char text[TEXT_MAX];

	snprintf(text, sizeof(text), "btl_gamma: %s: %s: %s", module->port->nic, what,
		 fi_strerror(error));
	end_job(module, NULL, error, text);
}
