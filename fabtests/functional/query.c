// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * One fi_getinfo as applications make them, where fi_info's options do not suffice: any API
 * version, hints with nothing but what is asked, and several times in one process. Started by
 * test_selection.sh, test_names.sh and test_loading.sh.
 *
 * Writes "libfabric VERSION" and a line "PROVIDER ENDPOINT-TYPE DOMAIN" for each answer, with -a
 * also its source and destination address as hexadecimal digits. Exit status: 0, the error of the
 * last query as a positive number, or 2 for wrong usage.
 */
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../deprecated.h"

struct options {
	uint32_t version;
	uint64_t flags;
	int repeat;     /* queries in all */
	bool addresses; /* written with each answer */
	const char *node, *service;
	struct fi_info *hints;
};

struct word {
	const char *name;
	uint64_t value;
};

static const struct word caps[] = {
	{"msg", FI_MSG},       {"tagged", FI_TAGGED},       {"rma", FI_RMA},
	{"atomic", FI_ATOMIC}, {"multicast", FI_MULTICAST}, {NULL, 0},
};

static const struct word types[] = {
	{"msg", FI_EP_MSG}, {"rdm", FI_EP_RDM}, {"dgram", FI_EP_DGRAM}, {NULL, 0}};

static void __attribute__((noreturn)) usage(void)
{
	fprintf(stderr, "usage: query [-V MAJOR.MINOR] [-c CAPABILITY]... [-t msg|rdm|dgram]\n"
			"             [-p PROVIDER] [-d DOMAIN] [-n NODE] [-P SERVICE] [-s] [-N]\n"
			"             [-r TIMES] [-a]\n"
			"-s: NODE and SERVICE name the source; -N: NODE is a number\n");
	exit(2);
}

static uint64_t value_of(const struct word *words, const char *name)
{
	for (; words->name; words++)
		if (!strcmp(words->name, name))
			return words->value;
	usage();
}

static uint32_t parse_version(const char *text)
{
	unsigned int major, minor;

	if (sscanf(text, "%u.%u", &major, &minor) != 2)
		usage();
	return FI_VERSION(major, minor);
}

static void parse(int argc, char **argv, struct options *opt)
{
	int letter;

	while ((letter = getopt(argc, argv, "V:c:t:p:d:n:P:r:sNa")) != -1) {
		if (letter == 'V')
			opt->version = parse_version(optarg);
		else if (letter == 'c')
			opt->hints->caps |= value_of(caps, optarg);
		else if (letter == 't')
			opt->hints->ep_attr->type = value_of(types, optarg);
		else if (letter == 'p')
			opt->hints->fabric_attr->prov_name = strdup(optarg);
		else if (letter == 'd')
			opt->hints->domain_attr->name = strdup(optarg);
		else if (letter == 'n')
			opt->node = optarg;
		else if (letter == 'P')
			opt->service = optarg;
		else if (letter == 'r')
			opt->repeat = atoi(optarg);
		else if (letter == 's')
			opt->flags |= FI_SOURCE;
		else if (letter == 'N')
			opt->flags |= FI_NUMERICHOST;
		else if (letter == 'a')
			opt->addresses = true;
		else
			usage();
	}
	if (optind < argc)
		usage();
}

static void print_address(const void *addr, size_t len)
{
	const unsigned char *byte = addr;

	putchar(' ');
	if (!addr)
		putchar('-');
	for (; addr && len; len--)
		printf("%02x", *byte++);
}

static void print(const struct fi_info *info, bool addresses)
{
	printf("%s %s %s", info->fabric_attr->prov_name,
	       fi_tostr(&info->ep_attr->type, FI_TYPE_EP_TYPE) + strlen("FI_EP_"),
	       info->domain_attr->name);
	if (addresses) {
		print_address(info->src_addr, info->src_addrlen);
		print_address(info->dest_addr, info->dest_addrlen);
	}
	putchar('\n');
}

static int query(const struct options *opt)
{
	struct fi_info *list, *info;
	int ret = fi_getinfo(opt->version, opt->node, opt->service, opt->flags, opt->hints, &list);

	if (ret)
		return -ret;
	for (info = list; info; info = info->next)
		print(info, opt->addresses);
	fi_freeinfo(list);
	return 0;
}

int main(int argc, char **argv)
{
	struct options opt = {.version = FI_VERSION(1, 9), .repeat = 1};
	int ret = 0;

	opt.hints = fi_allocinfo();
	if (!opt.hints)
		return FI_ENOMEM;
	/* What applications that leave the choice to the provider set. */
	opt.hints->mode = ~0ull;
	opt.hints->domain_attr->mr_mode = ~(FI_MR_BASIC | FI_MR_SCALABLE);
	parse(argc, argv, &opt);
	printf("libfabric %u.%u\n", FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
	for (; opt.repeat > 0; opt.repeat--)
		ret = query(&opt);
	fi_freeinfo(opt.hints);
	return ret;
}
