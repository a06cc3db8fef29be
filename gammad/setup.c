// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Objects that gammad needs before it serves, and that outlive it: its folder, a BPF file system
 * and a network namespace mounted in it. Each step checks whether its work is done, so that a start
 * after a crash at any point continues from there.
 */
#include "gammad/gammad.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define NET_FILE  GAMMAD_RUN "/net"
#define LOCK_FILE GAMMAD_RUN "/lock"
#define OWN_NET   "/proc/thread-self/ns/net"

enum {
	NET_MAGIC = 0x6e736673,
	LOCK_TRIES = 100, /* with such a pause after each: 2 s */
	LOCK_PAUSE_MS = 20,
};
static const unsigned long bpf_magic = 0xcafe4a11;

static int fail(const char *what, const char *cure)
{
	int error = errno;

	gamma_warn("%s: %s; %s", what, strerror(error), cure);
	return error ? -error : -EIO;
}

static bool is_mounted(const char *path, unsigned long magic)
{
	struct statfs fs;

	return !statfs(path, &fs) && (unsigned long) fs.f_type == magic;
}

static int make_folders(void)
{
	if (mkdir(GAMMAD_RUN, 0755) && errno != EEXIST)
		return fail(GAMMAD_RUN, "start gammad as root");
	if (mkdir(GAMMAD_BPF, 0700) && errno != EEXIST)
		return fail(GAMMAD_BPF, "start gammad as root");
	if (is_mounted(GAMMAD_BPF, bpf_magic))
		return 0;
	if (mount("bpf", GAMMAD_BPF, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700"))
		return fail(GAMMAD_BPF, "gammad needs root and a kernel with CONFIG_BPF_SYSCALL");
	return 0;
}

/* The file has the number of the process that holds it. */
static int refuse_second(int fd)
{
	char text[16] = "";
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);

	gamma_warn("gammad runs already%s%.*s; stop it first (systemctl stop gammad)",
		   len > 0 ? ": process " : "", (int) strcspn(text, "\n"), text);
	close(fd);
	return -EBUSY;
}

/* A gammad that is ending holds the lock until its last thread has ended. */
static bool lock_file(int fd)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * 1000000};

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return true;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return false;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* Held until the process ends, however it does. Returns the descriptor, or a negative errno. A user
 * who can open the file can lock it, too, and keep gammad from starting. Older releases permitted
 * that. */
static int lock_folder(void)
{
	int fd = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || fchmod(fd, 0600))
		return fail(LOCK_FILE, "start gammad as root");
	if (!lock_file(fd))
		return refuse_second(fd);
	if (ftruncate(fd, 0) || dprintf(fd, "%d\n", getpid()) < 0)
		gamma_info(LOCK_FILE ": %s", strerror(errno));
	return fd;
}

/* Before any interface exists: interfaces must not send anything by themselves. */
static void disable_ipv6(void)
{
	static const char *const files[] = {"/proc/sys/net/ipv6/conf/all/disable_ipv6",
					    "/proc/sys/net/ipv6/conf/default/disable_ipv6"};

	for (size_t i = 0; i < gamma_array_size(files); i++) {
		int fd = open(files[i], O_WRONLY | O_CLOEXEC);

		/* No such file: this kernel has no IPv6. Frames from slots are checked anyway. */
		if (fd >= 0 && write(fd, "1", 1) != 1)
			gamma_info("%s: %s", files[i], strerror(errno));
		if (fd >= 0)
			close(fd);
	}
}

static int make_namespace(int host_ns)
{
	int fd = open(NET_FILE, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
	int ret = 0;

	if (fd < 0)
		return fail(NET_FILE, "start gammad as root");
	close(fd);
	if (unshare(CLONE_NEWNET))
		return fail("a network namespace", "start gammad as root");
	disable_ipv6();
	if (mount(OWN_NET, NET_FILE, NULL, MS_BIND, NULL))
		ret = fail(NET_FILE, "start gammad as root");
	return gammad_setup_enter_ns(host_ns) ? -EIO : ret;
}

int gammad_setup_enter_ns(int ns)
{
	return setns(ns, CLONE_NEWNET) ? fail("network namespace", "start gammad as root") : 0;
}

int gammad_setup_make(struct gammad *gammad)
{
	int ret = make_folders();

	if (ret)
		return ret;
	gammad->host_ns = open(OWN_NET, O_RDONLY | O_CLOEXEC);
	if (gammad->host_ns < 0)
		return fail(OWN_NET, "mount /proc");
	if (!is_mounted(NET_FILE, NET_MAGIC))
		ret = make_namespace(gammad->host_ns);
	if (ret)
		return ret;
	gammad->own_ns = open(NET_FILE, O_RDONLY | O_CLOEXEC);
	return gammad->own_ns < 0 ? fail(NET_FILE, "start gammad as root") : 0;
}

int gammad_setup_lock(void)
{
	int fd = lock_folder();

	return fd < 0 ? fd : 0;
}

static int remove_slots(void)
{
	int host_ns = open(OWN_NET, O_RDONLY | O_CLOEXEC);
	int own_ns = is_mounted(NET_FILE, NET_MAGIC) ? open(NET_FILE, O_RDONLY | O_CLOEXEC) : -1;
	int ret = host_ns < 0 ? -EIO : gammad_slots_remove(host_ns, own_ns);

	if (host_ns >= 0)
		close(host_ns);
	if (own_ns >= 0)
		close(own_ns);
	return ret;
}

int gammad_setup_remove(void)
{
	char cgroup[512];
	ssize_t len = readlink(GAMMAD_CGROUP, cgroup, sizeof(cgroup) - 1);
	int ret = 0;

	if (!access(GAMMAD_RUN, F_OK) && lock_folder() < 0)
		return -EBUSY;
	if (remove_slots())
		return -EIO;
	if (len > 0) {
		cgroup[len] = 0;
		if (rmdir(cgroup) && errno != ENOENT)
			ret = fail(cgroup, "stop gammad first");
	}
	unlink(GAMMAD_CGROUP);
	/* The kernel removes the namespace when the last socket in it is closed. */
	if (is_mounted(NET_FILE, NET_MAGIC) && umount2(NET_FILE, MNT_DETACH))
		ret = fail(NET_FILE, "start gammad as root");
	if (is_mounted(GAMMAD_BPF, bpf_magic) && umount2(GAMMAD_BPF, MNT_DETACH))
		ret = fail(GAMMAD_BPF, "start gammad as root");
	unlink(NET_FILE);
	unlink(GAMMA_BROKER_PATH);
	unlink(LOCK_FILE);
	unlink(GAMMAD_REVOKED);
	rmdir(GAMMAD_BPF);
	rmdir(GAMMAD_RUN);
	return ret;
}

/* The rest: sockets and marks, network options, maps. */
int gammad_setup_drop_privileges(void)
{
	const uint64_t kept = 1ull << CAP_NET_RAW | 1ull << CAP_NET_ADMIN | 1ull << CAP_BPF;
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{.effective = (uint32_t) kept, .permitted = (uint32_t) kept},
		{.effective = (uint32_t) (kept >> 32), .permitted = (uint32_t) (kept >> 32)},
	};

	for (int cap = 0; cap <= CAP_LAST_CAP; cap++) {
		if (!(kept >> cap & 1) && prctl(PR_CAPBSET_READ, cap) == 1 &&
		    prctl(PR_CAPBSET_DROP, cap))
			return fail("capabilities", "start gammad as root");
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_capset, &head, data))
		return fail("capabilities", "start gammad as root");
	return 0;
}
