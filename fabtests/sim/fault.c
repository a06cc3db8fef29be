// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Faults on the cables: by rule, or by chance until the network heals. */
#include "internal.h"

#include <stdlib.h>

enum { MILLION = 1000000, REMEMBER_EVERY = 7 };

const char *const sim_fault_names[SIM_FAULTS] = {
	[SIM_PASS] = "pass",
	[SIM_LOSS] = "random loss",
	[SIM_BURST_LOSS] = "burst loss",
	[SIM_RULE] = "loss by rule",
	[SIM_DUPLICATE] = "duplicate",
	[SIM_REPLAY] = "replay",
	[SIM_REORDER] = "reorder",
	[SIM_HEADER_DAMAGE] = "header damage",
	[SIM_PAYLOAD_DAMAGE] = "payload damage",
	[SIM_CUT] = "partition",
	[SIM_MTU_DROP] = "beyond the switch's MTU",
	[SIM_SWITCH_DROP] = "switch buffer full",
	[SIM_RING_DROP] = "receive ring full",
	[SIM_NOBODY] = "endpoint gone",
	[SIM_REFUSED] = "link refused",
	[SIM_PARTLY] = "burst taken partly",
	[SIM_FORGED] = "forged",
	[SIM_FOREIGN] = "foreign",
	[SIM_TRAIN_CUT] = "train cut short",
	[SIM_TRAIN_REORDER] = "train overtaken",
	[SIM_EARLY] = "too many early",
};

void fault_count(struct sim *sim, enum sim_fault fault)
{
	sim->totals.faults[fault]++;
}

uint64_t sim_fault_count(const struct sim *sim, enum sim_fault fault)
{
	return sim->totals.faults[fault];
}

struct sim_chances *sim_chances(struct sim *sim)
{
	return &sim->chances;
}

bool fault_now(const struct sim *sim, uint32_t per_million_set)
{
	return per_million_set && sim->now < sim->chances.until;
}

bool fault_chance(struct sim *sim, uint32_t per_million)
{
	return fault_now(sim, per_million) && sim_random(sim) % MILLION < per_million;
}

/* ---- rules ---- */

struct sim_rule *sim_rule(struct sim *sim, struct sim_rule rule)
{
	if (sim->rule_count == RULES_MAX)
		abort();
	sim->rules[sim->rule_count] = rule;
	return &sim->rules[sim->rule_count++];
}

static bool applies(const struct sim_rule *rule, const struct frame *frame)
{
	const struct gamma_fields *fields = &frame->fields;

	return (rule->from == SIM_ANY_NODE || rule->from == frame->from) &&
	       (rule->to == SIM_ANY_NODE || rule->to == frame->to) &&
	       (!rule->kind || rule->kind == fields->kind) &&
	       (rule->op == SIM_ANY_OP || rule->op == fields->op) &&
	       (rule->seq == SIM_ANY_SEQ || rule->seq == fields->seq);
}

static enum sim_fault by_rule(struct sim *sim, const struct frame *frame, uint64_t *delay)
{
	for (unsigned i = 0; i < sim->rule_count; i++) {
		struct sim_rule *rule = &sim->rules[i];

		if (!applies(rule, frame) || (rule->times && rule->met == rule->times))
			continue;
		if (rule->skip) {
			rule->skip--;
			continue;
		}
		rule->met++;
		*delay = rule->delay;
		return rule->fate;
	}
	return SIM_PASS;
}

/* ---- chance ---- */

/* A cable turns bad and good again; while bad it loses many frames (Gilbert's model). */
static bool burst(struct sim *sim, struct node *node)
{
	if (node->bad_cable)
		node->bad_cable = !fault_chance(sim, sim->chances.burst_end) &&
				  fault_now(sim, sim->chances.burst_begin);
	else
		node->bad_cable = fault_chance(sim, sim->chances.burst_begin);
	return node->bad_cable && fault_chance(sim, sim->chances.burst_loss);
}

static uint64_t up_to(struct sim *sim, uint64_t most)
{
	return most ? sim_random(sim) % most : 0;
}

static enum sim_fault by_chance(struct sim *sim, const struct frame *frame, uint64_t *delay)
{
	const struct sim_chances *chances = &sim->chances;

	if (sim->now >= chances->until)
		return SIM_PASS;
	if (burst(sim, node_of(sim, frame->from)))
		return SIM_BURST_LOSS;
	if (fault_chance(sim, chances->loss) ||
	    fault_chance(sim, sim->config.rails[frame->rail].loss))
		return SIM_LOSS;
	*delay = up_to(sim, chances->reorder_delay);
	if (fault_chance(sim, chances->duplicate))
		return SIM_DUPLICATE;
	if (fault_chance(sim, chances->reorder))
		return SIM_REORDER;
	if (fault_chance(sim, chances->header_damage))
		return SIM_HEADER_DAMAGE;
	if (frame->fields.extensions & GAMMA_EXT_PAYLOAD_CRC &&
	    fault_chance(sim, chances->payload_damage))
		return SIM_PAYLOAD_DAMAGE;
	if (sim->old_count && fault_chance(sim, chances->replay)) {
		*delay = up_to(sim, chances->replay_delay);
		return SIM_REPLAY;
	}
	return SIM_PASS;
}

enum sim_fault fault_of(struct sim *sim, const struct frame *frame, uint64_t *delay)
{
	enum sim_fault fault = by_rule(sim, frame, delay);

	return fault == SIM_PASS ? by_chance(sim, frame, delay) : fault;
}

/* One to three bits flip. */
void fault_damage(struct sim *sim, struct frame *frame, enum sim_fault how)
{
	uint8_t *at = frame->bytes + GAMMA_ETH_LEN;
	uint64_t bits = 8u * frame->fields.header_len;

	if (how == SIM_PAYLOAD_DAMAGE) {
		at += frame->fields.header_len;
		bits = 8u * frame->fields.payload_len;
	}
	frame->damaged = true;
	for (uint64_t i = sim_between(sim, 1, 3); i && bits; i--) {
		uint64_t bit = sim_random(sim) % bits;

		at[bit / 8] ^= (uint8_t) (1u << bit % 8);
	}
}

/* Some frames are kept and replayed much later. */
void fault_remember(struct sim *sim, const struct frame *frame)
{
	struct frame **slot;

	if (!fault_now(sim, sim->chances.replay) || sim_random(sim) % REMEMBER_EVERY)
		return;
	slot = &sim->old[sim->old_count++ % OLD_FRAMES];
	if (*slot)
		wire_frame_free(sim, *slot);
	*slot = wire_frame_copy(sim, frame);
	(*slot)->landed = sim->now; /* in the store */
}

/* No network keeps frames for as long as peers that are gone are remembered. */
const struct frame *fault_recall(struct sim *sim, uint64_t delay)
{
	const struct frame *frame =
		sim->old[sim_random(sim) % gamma_min(sim->old_count, OLD_FRAMES)];

	return sim->now + delay - frame->landed < sim->config.forget ? frame : NULL;
}

/* ---- partitions, refusals ---- */

void sim_cut_one_way(struct sim *sim, unsigned a, unsigned b, uint64_t until)
{
	sim->totals.cuts++;
	sim->nodes[a].cut_until[b] = until;
	if (sim->verbose)
		sim_note(sim, "cut %u -> %u until %.6f", a, b, (double) until / 1e9);
}

void sim_cut(struct sim *sim, unsigned a, unsigned b, uint64_t until)
{
	sim_cut_one_way(sim, a, b, until);
	sim_cut_one_way(sim, b, a, until);
}

void sim_unplug(struct sim *sim, unsigned node, uint64_t until)
{
	for (unsigned i = 0; i < sim->config.nodes; i++)
		if (i != node)
			sim_cut(sim, node, i, until);
}

void sim_rail_cut(struct sim *sim, unsigned node, unsigned nic, uint64_t until)
{
	sim->totals.rails_cut++;
	sim->quiet = false;
	sim->nodes[node].nics[nic].cable->cut_until = until;
	sim_note(sim, "NIC %u of %u is cut off until %.6f", nic, node, (double) until / 1e9);
}

void sim_rail_down(struct sim *sim, unsigned node, unsigned nic, uint64_t until)
{
	sim->totals.rails_down++;
	sim->quiet = false;
	sim->nodes[node].nics[nic].cable->down_until = until;
	sim_note(sim, "NIC %u of %u is down until %.6f", nic, node, (double) until / 1e9);
}

void sim_refuse(struct sim *sim, unsigned node, uint64_t until)
{
	sim->totals.refusals++;
	/* Of several NICs one that takes nothing for a millisecond is left, and what it had in
	 * flight is sent again. */
	if (sim->config.nics[node] > 1)
		sim->quiet = false;
	sim->nodes[node].refuses = until;
}
