// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* gamma-discover's output: a table for people, JSON for programs. */
#include "discover.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/mac.h"

static const char *speed_text(const struct discover_host *host, char text[24])
{
	if (!host->speed)
		return "?";
	if (host->speed >= 1000)
		snprintf(text, 24, "%g Gbit/s", host->speed / 1000.0);
	else
		snprintf(text, 24, "%u Mbit/s", host->speed);
	return text;
}

static const char *release_text(const struct discover_host *host, char text[24])
{
	if (!host->self && !host->gammad)
		return "?";
	snprintf(text, 24, "%u.%u.%u", host->release[0], host->release[1], host->release[2]);
	return text;
}

static const char *full_text(const struct discover_host *host, char text[24])
{
	if (host->full == DISCOVER_UNTESTED)
		return "-";
	snprintf(text, 24, "%u %s", host->full_mtu,
		 host->full == DISCOVER_PASSES ? "pass" : "fail");
	return text;
}

static const char *version_text(const struct discover_host *host)
{
	if (host->other_version)
		return "other";
	return host->self || host->gammad || host->endpoint ? "1" : "?";
}
_Static_assert(GAMMA_VERSION == 1, "version_text");

static void print_rtt(const struct discover_host *host)
{
	uint64_t ns = host->small.median ? host->small.median : host->rtt;

	if (host->self)
		printf("%11s", "this host");
	else if (ns)
		printf(" %10.1f", (double) ns / 1e3);
	else
		printf(" %10s", "-");
}

static void print_measured(const struct discover_host *host)
{
	unsigned sent = host->small.sent + host->large.sent;
	unsigned lost = host->small.lost + host->large.lost;

	if (!sent) {
		printf(" %6s %9s", "-", "-");
		return;
	}
	printf(" %6.2f", 100.0 * lost / sent);
	if (host->large.median)
		printf(" %9.1f", (double) host->large.median / 1e3);
	else
		printf(" %9s", "-");
}

static void print_host(const struct discover *discover, const struct discover_host *host, int width)
{
	char mac[GAMMA_MAC_TEXT_LEN], speed[24], release[24], full[24], slots[24] = "-";

	if (host->gammad && !host->self)
		snprintf(slots, sizeof(slots), "%u/%u", host->endpoints, host->slots);
	printf("%-*s %s %-10s %-11s %5u %-8s %-5s %7s %-9s", width, discover_name(host),
	       gamma_mac_format(host->mac, mac), host->nic[0] ? host->nic : "?",
	       speed_text(host, speed), host->mtu, release_text(host, release), version_text(host),
	       slots, full_text(host, full));
	print_rtt(host);
	if (discover->check)
		print_measured(host);
	putchar('\n');
}

void discover_print_table(const struct discover *discover)
{
	unsigned findings = 0;
	int width = 8;

	for (size_t i = 0; i < discover->count; i++)
		width = (int) gamma_max((uint64_t) width,
					strlen(discover_name(&discover->hosts[i])));
	printf("%-*s %-17s %-10s %-11s %5s %-8s %-5s %7s %-9s %10s%s\n", width, "HOST", "MAC",
	       "NIC", "SPEED", "MTU", "RELEASE", "WIRE", "IN USE", "FULL", "TRIP us",
	       discover->check ? "  LOST%   FULL us" : "");
	for (size_t i = 0; i < discover->count; i++)
		print_host(discover, &discover->hosts[i], width);
	for (size_t i = 0; i < discover->count; i++) {
		const struct discover_host *host = &discover->hosts[i];
		char mac[GAMMA_MAC_TEXT_LEN];

		for (unsigned j = 0; j < host->finding_count; j++, findings++)
			printf("%s%s (%s): %s\n", findings ? "" : "\n", discover_name(host),
			       gamma_mac_format(host->mac, mac), host->findings[j]);
	}
	if (discover->own_count)
		printf("\npaths measured: %zu from this host, %zu between the others, by way of "
		       "their gammad\n",
		       discover->own_count, discover->via_count);
	if (discover->check && !findings)
		printf("\nnothing is wrong\n");
	fflush(stdout);
}

static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

static void print_trips(const char *name, const struct discover_trips *trips)
{
	printf(", \"%s\": {\"sent\": %u, \"lost\": %u, \"median_us\": %.3f, \"quick_us\": %.3f}",
	       name, trips->sent, trips->lost, (double) trips->median / 1e3,
	       (double) trips->quick / 1e3);
}

/* From: the host that has measured, so that each line stands for itself. */
static void print_json_host(const struct discover *discover, const struct discover_host *host)
{
	char mac[GAMMA_MAC_TEXT_LEN], release[24];

	printf("{\"host\": ");
	print_text(discover_name(host));
	printf(", \"mac\": \"%s\"", gamma_mac_format(host->mac, mac));
	if (discover->nic)
		printf(", \"from\": \"%s\"", gamma_mac_format(discover->nic->mac, mac));
	printf(", \"nic\": ");
	print_text(host->nic);
	printf(", \"speed_mbit\": %u, \"mtu\": %u, \"release\": \"%s\", \"wire\": \"%s\", "
	       "\"self\": %s, \"gammad\": %s, \"slots\": %u, \"endpoints\": %u, "
	       "\"round_trip_us\": %.3f, \"full_frame\": %u, \"full_frame_passes\": %s",
	       host->speed, host->mtu, release_text(host, release), version_text(host),
	       host->self ? "true" : "false", host->gammad ? "true" : "false", host->slots,
	       host->endpoints, (double) host->rtt / 1e3, host->full_mtu,
	       host->full == DISCOVER_UNTESTED ? "null"
	       : host->full == DISCOVER_PASSES ? "true"
					       : "false");
	print_trips("small", &host->small);
	print_trips("large", &host->large);
	printf(", \"findings\": [");
	for (unsigned i = 0; i < host->finding_count; i++) {
		printf("%s", i ? ", " : "");
		print_text(host->findings[i]);
	}
	printf("]}");
}

void discover_print_json(const struct discover *discover)
{
	printf("[");
	for (size_t i = 0; i < discover->count; i++) {
		printf("%s", i ? ",\n " : "");
		print_json_host(discover, &discover->hosts[i]);
	}
	printf("]\n");
	fflush(stdout);
}
