/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opens and closes the links of an endpoint. */
#ifndef GAMMA_ENGINE_OPEN_H
#define GAMMA_ENGINE_OPEN_H

struct gamma_endpoint;
struct gamma_endpoint_attr;

/* Opens the links itself if it may, else asks gammad. Updates attr with the endpoint's identity.
 * After an error, too, gamma_open_close is to be called. */
int gamma_open_links(struct gamma_endpoint *endpoint, struct gamma_endpoint_attr *attr);
void gamma_open_close(struct gamma_endpoint *endpoint);

#endif /* GAMMA_ENGINE_OPEN_H */
