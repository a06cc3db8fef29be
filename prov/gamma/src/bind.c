// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Keeps a progress thread near its NIC: on the processors of the NIC's memory node, as far as the
 * process may use them. hwloc, which knows them, is loaded when the first such thread starts, and
 * not with the provider: without it threads run anywhere. Called by progress.c.
 */
#include "gamma.h"

#ifdef GAMMA_HWLOC
#include <dlfcn.h>
#include <hwloc.h>

#define HWLOC_LIBRARY "libhwloc.so.15" /* the ABI of hwloc 2 */

/* What is needed of it. */
static struct {
	__typeof__(hwloc_topology_init) *init;
	__typeof__(hwloc_topology_set_io_types_filter) *filter;
	__typeof__(hwloc_topology_load) *load;
	__typeof__(hwloc_topology_destroy) *destroy;
	__typeof__(hwloc_get_nbobjs_by_depth) *count;
	__typeof__(hwloc_get_obj_by_depth) *object;
	__typeof__(hwloc_bitmap_dup) *copy;
	__typeof__(hwloc_bitmap_alloc) *new_set;
	__typeof__(hwloc_bitmap_free) *free_set;
	__typeof__(hwloc_bitmap_and) *common;
	__typeof__(hwloc_bitmap_iszero) *is_empty;
	__typeof__(hwloc_bitmap_list_snprintf) *print;
	__typeof__(hwloc_get_cpubind) *get_binding;
	__typeof__(hwloc_set_cpubind) *bind;
} lib;

static const struct {
	void **function;
	const char *name;
} symbols[] = {
	{(void **) &lib.init, "hwloc_topology_init"},
	{(void **) &lib.filter, "hwloc_topology_set_io_types_filter"},
	{(void **) &lib.load, "hwloc_topology_load"},
	{(void **) &lib.destroy, "hwloc_topology_destroy"},
	{(void **) &lib.count, "hwloc_get_nbobjs_by_depth"},
	{(void **) &lib.object, "hwloc_get_obj_by_depth"},
	{(void **) &lib.copy, "hwloc_bitmap_dup"},
	{(void **) &lib.new_set, "hwloc_bitmap_alloc"},
	{(void **) &lib.free_set, "hwloc_bitmap_free"},
	{(void **) &lib.common, "hwloc_bitmap_and"},
	{(void **) &lib.is_empty, "hwloc_bitmap_iszero"},
	{(void **) &lib.print, "hwloc_bitmap_list_snprintf"},
	{(void **) &lib.get_binding, "hwloc_get_cpubind"},
	{(void **) &lib.bind, "hwloc_set_cpubind"},
};

/* Stays till the end: it is the machine's, and looking for it takes tens of milliseconds. */
static hwloc_topology_t topology;

static bool load_library(void)
{
	void *handle = dlopen(HWLOC_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; handle && i < gamma_array_size(symbols); i++) {
		*symbols[i].function = dlsym(handle, symbols[i].name);
		if (!*symbols[i].function)
			handle = NULL;
	}
	if (!handle)
		GAMMA_INFO(DOMAIN, "progress threads run anywhere: %s\n", dlerror());
	return handle;
}

static void load_topology(void)
{
	if (!load_library() || lib.init(&topology))
		return;
	lib.filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	if (!lib.load(topology))
		return;
	lib.destroy(topology);
	topology = NULL;
	GAMMA_INFO(DOMAIN, "progress threads run anywhere: hwloc finds no topology\n");
}

/* The processors near an interface; NULL: not known. */
static hwloc_const_cpuset_t near(const char *interface)
{
	int depth = HWLOC_TYPE_DEPTH_OS_DEVICE, count = lib.count(topology, depth);

	for (int i = 0; i < count; i++) {
		hwloc_obj_t object = lib.object(topology, depth, i);

		if (!object->name || strcmp(object->name, interface))
			continue;
		while (object && !object->cpuset)
			object = object->parent;
		return object ? object->cpuset : NULL;
	}
	return NULL;
}

static void bind_to(const char *interface, hwloc_const_cpuset_t cpus)
{
	hwloc_cpuset_t set = lib.copy(cpus), allowed = lib.new_set();
	char text[128] = "";

	if (set && allowed && !lib.get_binding(topology, allowed, HWLOC_CPUBIND_PROCESS) &&
	    !lib.common(set, set, allowed) && !lib.is_empty(set) &&
	    !lib.bind(topology, set, HWLOC_CPUBIND_THREAD)) {
		lib.print(text, sizeof(text), set);
		GAMMA_INFO(DOMAIN, "%s: the progress thread runs on processors %s\n", interface,
			   text);
	} else {
		GAMMA_INFO(DOMAIN,
			   "%s: the progress thread runs anywhere: the process may not use the "
			   "processors near the NIC\n",
			   interface);
	}
	lib.free_set(set);
	lib.free_set(allowed);
}

void gamma_bind_near(const char *interface)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	hwloc_const_cpuset_t cpus;

	pthread_once(&once, load_topology);
	if (!topology)
		return;
	cpus = near(interface);
	if (cpus)
		bind_to(interface, cpus);
	else
		GAMMA_INFO(DOMAIN, "%s: the progress thread runs anywhere: hwloc does not know the "
				   "interface\n", interface);
}

void gamma_bind_cleanup(void)
{
	if (topology)
		lib.destroy(topology);
	topology = NULL;
}

#else /* built without hwloc */

void gamma_bind_near(const char *interface)
{
	GAMMA_INFO(DOMAIN, "%s: the progress thread runs anywhere: built without hwloc\n",
		   interface);
}

void gamma_bind_cleanup(void)
{
}

#endif
