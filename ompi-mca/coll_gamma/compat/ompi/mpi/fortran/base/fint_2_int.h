/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * In the place of a header that Open MPI's op.h includes and Debian does not install. There the
 * integers of Fortran are C's int, and only an inline function that nobody calls here converts.
 */
#ifndef GAMMA_COLL_COMPAT_FINT_H
#define GAMMA_COLL_COMPAT_FINT_H

#define OMPI_FINT_2_INT(a)   (a)
#define OMPI_INT_2_FINT(a)   (a)
#define OMPI_PFINT_2_PINT(a) (a)

#endif
