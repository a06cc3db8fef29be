// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Reads the NICs from the kernel: one rtnetlink dump, then for each Ethernet NIC its driver and for
 * each connected one its speed, by the ethtool ioctls. These answer for the caller's own network
 * namespace, whereas /sys/class/net shows the one in which sysfs was mounted. So sysfs is used only
 * for what no other interface reports (wireless).
 */
#include "nic/nic.h"
#include "base/base.h"
#include "nic/rtnetlink.h"
#include "nic/select.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/wireless.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert(GAMMA_NIC_NAME_LEN == IFNAMSIZ, "the kernel's length of a NIC's name");

enum {
	DUMP_TRIES = 20, /* dumps interrupted by changes before giving up */
	MODE_WORDS_MAX = 3 * SCHAR_MAX,
};

struct nic_array {
	struct gamma_nic *nics;
	size_t count, room;
};

/* ---- rtnetlink ---- */

/* Attributes that do not have the expected form are treated as absent. */
static void copy_string(char *to, size_t room, const struct nlattr *attr)
{
	if (mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) < 0)
		return;
	snprintf(to, room, "%s", mnl_attr_get_str(attr));
}

static int number_of(const struct nlattr *attr)
{
	return mnl_attr_validate(attr, MNL_TYPE_U32) < 0 ? 0 : (int) mnl_attr_get_u32(attr);
}

static void read_kind(struct gamma_nic *nic, const struct nlattr *info)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested (attr, info) {
		if (mnl_attr_get_type(attr) == IFLA_INFO_KIND)
			copy_string(nic->kind, sizeof(nic->kind), attr);
	}
}

static int read_attribute(const struct nlattr *attr, void *data)
{
	struct gamma_nic *nic = data;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_IFNAME:
		copy_string(nic->name, sizeof(nic->name), attr);
		break;
	case IFLA_ADDRESS:
		if (mnl_attr_get_payload_len(attr) == GAMMA_MAC_LEN)
			memcpy(nic->mac, mnl_attr_get_payload(attr), GAMMA_MAC_LEN);
		break;
	case IFLA_MTU:
		nic->mtu = number_of(attr);
		break;
	case IFLA_MASTER:
		nic->master = number_of(attr);
		break;
	case IFLA_LINK:
		nic->lower = number_of(attr);
		break;
	case IFLA_PROMISCUITY:
		nic->promiscuity = (uint32_t) number_of(attr);
		break;
	case IFLA_LINK_NETNSID:
		nic->lower_elsewhere = true;
		break;
	case IFLA_LINKINFO:
		read_kind(nic, attr);
		break;
	case IFLA_PARENT_DEV_NAME:
		nic->has_device = true;
		break;
	}
	return MNL_CB_OK;
}

static int read_link(const struct nlmsghdr *head, void *data)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(head);
	struct nic_array *array = data;
	struct gamma_nic *nic;

	if (head->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(head) < sizeof(*info))
		return MNL_CB_OK;
	if (array->count == array->room) {
		size_t room = array->room ? 2 * array->room : 16;

		nic = realloc(array->nics, room * sizeof(*nic));
		if (!nic)
			return MNL_CB_ERROR;
		array->nics = nic;
		array->room = room;
	}
	nic = &array->nics[array->count++];
	*nic = (struct gamma_nic){
		.ifindex = info->ifi_index,
		.up = info->ifi_flags & IFF_UP,
		.carrier = info->ifi_flags & IFF_LOWER_UP,
		.loopback = info->ifi_flags & IFF_LOOPBACK,
		.ethernet = info->ifi_type == ARPHRD_ETHER,
	};
	mnl_attr_parse(head, sizeof(*info), read_attribute, nic);
	return MNL_CB_OK;
}

static int dump_links(struct nic_array *array)
{
	struct gamma_rtnetlink_request request;
	struct nlmsghdr *head = mnl_nlmsg_put_header(request.bytes);
	struct ifinfomsg *info;
	int err = -EAGAIN;

	head->nlmsg_type = RTM_GETLINK;
	head->nlmsg_flags = NLM_F_DUMP;
	info = mnl_nlmsg_put_extra_header(head, sizeof(*info));
	info->ifi_family = AF_UNSPEC;
	/* The counters would be most of the answer, and are not used. */
	mnl_attr_put_u32(head, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	for (int i = 0; i < DUMP_TRIES && err == -EAGAIN; i++) {
		array->count = 0;
		err = gamma_rtnetlink_query(&request, read_link, array);
	}
	return err;
}

/* ---- the driver's own data ---- */

static bool ethtool(int fd, const struct gamma_nic *nic, void *command)
{
	struct ifreq request = {.ifr_data = command};

	memcpy(request.ifr_name, nic->name, sizeof(request.ifr_name));
	return !ioctl(fd, SIOCETHTOOL, &request);
}

/* Whether text is dddd:dd:dd.d in hex digits (a domain may have more than four). */
static bool is_pci_address(const char *text)
{
	size_t domain = strspn(text, "0123456789abcdef");
	const char *shape = ":xx:xx.x";

	if (domain < 4)
		return false;
	for (text += domain; *shape; shape++, text++) {
		if (*shape == 'x' ? !isxdigit((unsigned char) *text) : *text != *shape)
			return false;
	}
	return !*text;
}

/* Without a rtnetlink kind, a bus name means a device (kernels before 5.15 say no parent). */
static void read_driver(int fd, struct gamma_nic *nic)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};

	if (!ethtool(fd, nic, &info))
		return;
	info.driver[sizeof(info.driver) - 1] = info.bus_info[sizeof(info.bus_info) - 1] = 0;
	snprintf(nic->driver, sizeof(nic->driver), "%s", info.driver);
	if (is_pci_address(info.bus_info) && strlen(info.bus_info) < sizeof(nic->pci))
		snprintf(nic->pci, sizeof(nic->pci), "%.15s", info.bus_info);
	if (!nic->kind[0] && info.bus_info[0])
		nic->has_device = true;
}

/* Two ioctls: the first gets the number of words in the kernel's bit maps. */
static void read_speed(int fd, struct gamma_nic *nic)
{
	union {
		struct ethtool_link_settings settings;
		char bytes[sizeof(struct ethtool_link_settings) +
			   MODE_WORDS_MAX * sizeof(uint32_t)];
	} link = {.settings.cmd = ETHTOOL_GLINKSETTINGS};
	int words;

	if (!ethtool(fd, nic, &link) || link.settings.link_mode_masks_nwords >= 0)
		return;
	words = -link.settings.link_mode_masks_nwords;
	memset(&link, 0, sizeof(link));
	link.settings.cmd = ETHTOOL_GLINKSETTINGS;
	link.settings.link_mode_masks_nwords = words;
	if (!ethtool(fd, nic, &link) || link.settings.speed == (uint32_t) SPEED_UNKNOWN)
		return;
	nic->speed = link.settings.speed * 1000000ull;
}

/* Whether sysfs shows this NIC, not one of the same name in another namespace. */
static bool sysfs_is_ours(const struct gamma_nic *nic)
{
	char path[64];
	int ifindex = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/net/%s/ifindex", nic->name);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fscanf(file, "%d", &ifindex) != 1)
		ifindex = 0;
	fclose(file);
	return ifindex == nic->ifindex;
}

static bool is_wireless(int fd, const struct gamma_nic *nic)
{
	struct iwreq request = {0};
	char path[64];

	memcpy(request.ifr_name, nic->name, sizeof(request.ifr_name));
	if (!ioctl(fd, SIOCGIWNAME, &request))
		return true;
	/* The newest wireless drivers do not support that ioctl. */
	snprintf(path, sizeof(path), "/sys/class/net/%s/phy80211", nic->name);
	return !access(path, F_OK) && sysfs_is_ours(nic);
}

static int read_drivers(struct nic_array *array)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < array->count; i++) {
		struct gamma_nic *nic = &array->nics[i];

		if (!nic->ethernet)
			continue;
		read_driver(fd, nic);
		nic->wireless = !nic->kind[0] && is_wireless(fd, nic);
		if (nic->up && nic->carrier)
			read_speed(fd, nic);
	}
	close(fd);
	return 0;
}

/* ---- the list ---- */

int gamma_nic_list(struct gamma_nic **nics, size_t *count)
{
	struct nic_array array = {0};
	int err = dump_links(&array);

	*nics = NULL;
	*count = 0;
	if (!err)
		err = read_drivers(&array);
	if (err) {
		gamma_warn(
			"the NICs cannot be listed (%s): check that this process may open netlink "
			"and internet sockets",
			strerror(-err));
		free(array.nics);
		return err;
	}
	gamma_nic_select_judge(array.nics, array.count);
	for (size_t i = 0; i < array.count; i++) {
		if (array.nics[i].reason)
			gamma_info("%s is left out: it %s", array.nics[i].name,
				   array.nics[i].reason);
	}
	*nics = array.nics;
	*count = array.count;
	return 0;
}

void gamma_nic_list_free(struct gamma_nic *nics)
{
	free(nics);
}
