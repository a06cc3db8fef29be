// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* hwloc, by the few functions that are needed of it, and what it says of interfaces. */
#include "base/topology.h"
#include "base/base.h"

#ifdef GAMMA_HWLOC
#include <dlfcn.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#define HWLOC_LIBRARY "libhwloc.so.15" /* the ABI of hwloc 2 */

static struct {
	__typeof__(hwloc_topology_init) *init;
	__typeof__(hwloc_topology_set_io_types_filter) *filter;
	__typeof__(hwloc_topology_load) *load;
	__typeof__(hwloc_topology_destroy) *destroy;
	__typeof__(hwloc_get_nbobjs_by_depth) *count;
	__typeof__(hwloc_get_obj_by_depth) *object;
	__typeof__(hwloc_bitmap_alloc) *new_set;
	__typeof__(hwloc_bitmap_free) *free_set;
	__typeof__(hwloc_bitmap_and) *common;
	__typeof__(hwloc_bitmap_intersects) *intersect;
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
	{(void **) &lib.new_set, "hwloc_bitmap_alloc"},
	{(void **) &lib.free_set, "hwloc_bitmap_free"},
	{(void **) &lib.common, "hwloc_bitmap_and"},
	{(void **) &lib.intersect, "hwloc_bitmap_intersects"},
	{(void **) &lib.print, "hwloc_bitmap_list_snprintf"},
	{(void **) &lib.get_binding, "hwloc_get_cpubind"},
	{(void **) &lib.bind, "hwloc_set_cpubind"},
};

struct gamma_topology {
	hwloc_topology_t machine;
	hwloc_bitmap_t ours; /* processors that the process may use */
};

static bool load_library(void)
{
	void *handle = dlopen(HWLOC_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	size_t i;

	for (i = 0; handle && i < gamma_array_size(symbols); i++) {
		*symbols[i].function = dlsym(handle, symbols[i].name);
		if (!*symbols[i].function)
			handle = NULL;
	}
	return handle;
}

static const char *read_machine(struct gamma_topology *topology)
{
	if (!load_library())
		return HWLOC_LIBRARY " is not installed";
	if (lib.init(&topology->machine)) {
		topology->machine = NULL;
		return "hwloc does not start";
	}
	lib.filter(topology->machine, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	topology->ours = lib.new_set();
	if (!topology->ours || lib.load(topology->machine))
		return "hwloc finds no topology";
	if (lib.get_binding(topology->machine, topology->ours, HWLOC_CPUBIND_PROCESS))
		return "hwloc does not know where the process may run";
	return NULL;
}

struct gamma_topology *gamma_topology_load(const char **why)
{
	struct gamma_topology *topology = calloc(1, sizeof(*topology));

	*why = topology ? read_machine(topology) : "out of memory";
	if (!*why)
		return topology;
	gamma_topology_free(topology);
	return NULL;
}

void gamma_topology_free(struct gamma_topology *topology)
{
	if (!topology)
		return;
	if (topology->machine)
		lib.destroy(topology->machine);
	if (topology->ours)
		lib.free_set(topology->ours);
	free(topology);
}

/* The part of the machine that an interface is plugged into; NULL: not known. */
static hwloc_obj_t part_with(const struct gamma_topology *topology, const char *interface)
{
	const int depth = HWLOC_TYPE_DEPTH_OS_DEVICE, count = lib.count(topology->machine, depth);
	int i;

	for (i = 0; i < count; i++) {
		hwloc_obj_t object = lib.object(topology->machine, depth, (unsigned int) i);

		if (!object->name || strcmp(object->name, interface))
			continue;
		while (object && !object->cpuset)
			object = object->parent;
		return object;
	}
	return NULL;
}

int gamma_topology_distance(const struct gamma_topology *topology, const char *interface)
{
	hwloc_obj_t part = part_with(topology, interface);
	int levels = 0;

	for (; part && !lib.intersect(part->cpuset, topology->ours); part = part->parent)
		levels++;
	return part ? levels : -1;
}

const char *gamma_topology_bind(const struct gamma_topology *topology, const char *interface,
				char *cpus, size_t size)
{
	hwloc_obj_t part = part_with(topology, interface);
	const char *why = NULL;
	hwloc_bitmap_t set;

	if (!part)
		return "hwloc does not know the interface";
	if (!lib.intersect(part->cpuset, topology->ours))
		return "the process may not use the processors near the NIC";
	set = lib.new_set();
	if (!set || lib.common(set, part->cpuset, topology->ours) ||
	    lib.bind(topology->machine, set, HWLOC_CPUBIND_THREAD))
		why = "the kernel refuses the processors near the NIC";
	else
		lib.print(cpus, size, set);
	lib.free_set(set);
	return why;
}

#else /* built without hwloc */

struct gamma_topology *gamma_topology_load(const char **why)
{
	*why = "built without hwloc";
	return NULL;
}

void gamma_topology_free(struct gamma_topology *topology)
{
	(void) topology;
}

int gamma_topology_distance(const struct gamma_topology *topology, const char *interface)
{
	(void) topology, (void) interface;
	return -1;
}

const char *gamma_topology_bind(const struct gamma_topology *topology, const char *interface,
				char *cpus, size_t size)
{
	(void) topology, (void) interface, (void) cpus, (void) size;
	return "built without hwloc";
}

#endif
