// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Reads the performance variables of btl gamma through MPI_T, around a known number of messages,
 * for test_btl.sh. Prints how many variables there are and by how much two of them have grown.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGES = 100, NAME = 256 };

static MPI_T_pvar_session session;

/* The index of a variable; -1: there is none. Counts those of gamma. */
static int find(const char *wanted, int *count)
{
	int all, found = -1;

	*count = 0;
	MPI_T_pvar_get_num(&all);
	for (int i = 0; i < all; i++) {
		char name[NAME], text[NAME];
		int name_len = NAME, text_len = NAME, level, class, bind, readonly, continuous;
		int atomic;
		MPI_Datatype type;
		MPI_T_enum values;

		if (MPI_T_pvar_get_info(i, name, &name_len, &level, &class, &type, &values, text,
					&text_len, &bind, &readonly, &continuous, &atomic))
			continue;
		*count += !strncmp(name, "btl_gamma_", 10);
		if (!strcmp(name, wanted))
			found = i;
	}
	return found;
}

static MPI_T_pvar_handle open_variable(const char *name)
{
	MPI_T_pvar_handle handle;
	int values, count, index = find(name, &count);

	if (index < 0 || MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &values)) {
		printf("no variable %s\n", name);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return handle;
}

static unsigned long long read_variable(MPI_T_pvar_handle handle)
{
	unsigned long long value = 0;

	if (MPI_T_pvar_read(session, handle, &value))
		printf("a variable cannot be read\n");
	return value;
}

int main(int argc, char **argv)
{
	int provided, rank, count, data = 0;
	MPI_T_pvar_handle out, in;
	unsigned long long out_before, in_before;

	MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_T_pvar_session_create(&session);
	out = open_variable("btl_gamma_messages_out");
	in = open_variable("btl_gamma_messages_in");
	out_before = read_variable(out);
	in_before = read_variable(in);
	/* Else the messages may have arrived before the variable was read. */
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < MESSAGES; i++) {
		if (rank == 0)
			MPI_Send(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
		else
			MPI_Recv(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	find("", &count);
	printf("rank %d: %d variables, %llu messages out, %llu in\n", rank, count,
	       read_variable(out) - out_before, read_variable(in) - in_before);
	MPI_T_pvar_handle_free(session, &out);
	MPI_T_pvar_handle_free(session, &in);
	MPI_T_pvar_session_free(&session);
	MPI_T_finalize(); /* behind MPI_Finalize Open MPI 4.1 crashes in it */
	MPI_Finalize();
	return 0;
}
