// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Pi by the calls of the original GAMMA: each node integrates a part, a handler of node 0 adds what
 * comes in, and all nodes get the result by one broadcast.
 *
 *	node01$ LIBGAMMA_NODES=node01,node02 LIBGAMMA_NODE=0 ./libgamma_pi
 *	node02$ LIBGAMMA_NODES=node01,node02 LIBGAMMA_NODE=1 ./libgamma_pi
 *
 * or, if libgamma was built with PMIx, mpirun --host node01,node02 ./libgamma_pi
 */
#include <stdio.h>

#include <gamma/libgamma.h>

enum {
	PARTS = 1, /* ports */
	RESULT,
	PART_HERE = 1, /* semaphores */
	RESULT_HERE,
	STEPS = 1000000,
};

static double part, pi; /* what has come in; the sum */

static void on_part(void)
{
	pi += part;
}

static double integrate(int node, int nodes)
{
	double sum = 0, x;

	for (int step = node; step < STEPS; step += nodes) {
		x = (step + 0.5) / STEPS;
		sum += 4 / (1 + x * x) / STEPS;
	}
	return sum;
}

int main(int argc, char **argv)
{
	int node, nodes;
	double own;

	if (gamma_init(0, argc, argv))
		return 1;
	node = gamma_my_node();
	nodes = gamma_how_many_nodes();
	gamma_set_active_port(PARTS, 0, 0, PARTS, on_part, PART_HERE, GO_BACK, &part, sizeof(part));
	gamma_set_active_port(RESULT, GAMMA_ALL_NODES, 0, RESULT, NULL, RESULT_HERE, GO_BACK, &pi,
			      sizeof(pi));
	gamma_sync(); /* all ports are set */
	own = integrate(node, nodes);
	if (node) {
		gamma_send_flowctl(PARTS, &own, sizeof(own));
		gamma_wait(RESULT_HERE, 1);
	} else {
		gamma_wait(PART_HERE, nodes - 1);
		pi += own;
		gamma_send_flowctl(RESULT, &pi, sizeof(pi));
	}
	printf("node %d of %d: pi is %.6f\n", node, nodes, pi);
	return gamma_exit();
}
