// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Which rail a frame takes, and how long frames take by each. */
#ifndef GAMMA_FLOW_RAILS_CHOICE_H
#define GAMMA_FLOW_RAILS_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

struct gamma_flow;
struct gamma_rails;
struct gamma_sent;

/* None of these is inlined: most flows have one rail, and their path stays as short as it is. */

/* The rail of the next DATA frame; spread: its bytes have a place at the receiver already, so that
 * its order does not matter. Until gamma_rails_choice_polled, frames may be as large as that rail
 * takes.
 */
GAMMA_NOINLINE uint8_t gamma_rails_choice_next(struct gamma_flow *flow, bool spread);
/* How many more frames like the last one, which took this rail, would take it too, if nothing
 * happens meanwhile: `most` at most. They count as chosen. */
GAMMA_NOINLINE unsigned gamma_rails_choice_run(struct gamma_flow *flow, uint8_t rail,
					       unsigned most);
/* The same of a frame that left before. */
GAMMA_NOINLINE uint8_t gamma_rails_choice_again(struct gamma_flow *flow, struct gamma_sent *sent,
						bool spread);
/* Whether a long message's next frame may leave by another rail than the last one. */
GAMMA_NOINLINE bool gamma_rails_choice_turn_is_over(const struct gamma_flow *flow);
/* Whether a rail over UDP takes frames in trains now; if so, whether the peer is expecting some. */
GAMMA_NOINLINE bool gamma_rails_choice_has_trains(const struct gamma_flow *flow);
GAMMA_NOINLINE bool gamma_rails_choice_is_expected(const struct gamma_flow *flow, uint64_t now);
GAMMA_NOINLINE void gamma_rails_choice_use(struct gamma_flow *flow, uint8_t rail);
GAMMA_NOINLINE void gamma_rails_choice_polled(struct gamma_flow *flow);
/* The rail of an acknowledgement of its own. */
GAMMA_NOINLINE uint8_t gamma_rails_choice_of_ack(struct gamma_flow *flow);
/* What is ordered may leave by another rail from now on. */
GAMMA_NOINLINE void gamma_rails_choice_of_ordered(struct gamma_flow *flow);

/* How long a frame takes by that rail while there is one, ns. */
GAMMA_NOINLINE uint64_t gamma_rails_choice_frame_time(const struct gamma_rails *rails, unsigned r);
/* A DATA frame has arrived, as was heard at that time, ns. */
GAMMA_NOINLINE void gamma_rails_choice_measure(struct gamma_rails *rails,
					       const struct gamma_sent *sent, uint64_t heard);

#endif /* GAMMA_FLOW_RAILS_CHOICE_H */
