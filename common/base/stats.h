/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An endpoint's counters, which every layer counts in. The list is written once, as a table of
 * (field, meaning), so that structure, JSON line of FI_GAMMA_STATS and man page cannot drift apart.
 */
#ifndef GAMMA_STATS_H
#define GAMMA_STATS_H

#include <stdint.h>

#define GAMMA_STATS_TABLE(X)                                                                      \
	X(frames_out, "frames handed to a link")                                                  \
	X(bytes_out, "bytes of those frames, Ethernet header included")                           \
	X(frames_in, "frames taken from a link")                                                  \
	X(bytes_in, "bytes of those frames, Ethernet header included")                            \
	X(data_frames_out, "DATA frames sent for the first time")                                 \
	X(data_frames_in, "DATA frames that arrived for the first time")                          \
	X(datagrams_out, "best-effort frames sent")                                               \
	X(datagrams_in, "best-effort frames delivered")                                           \
	X(acks_out, "acknowledgements in frames of their own")                                    \
	X(acks_in, "such frames received")                                                        \
	X(retransmissions, "DATA frames sent again, parts of frames included")                    \
	X(parts_out, "parts of DATA frames sent because the path carries the whole no more")      \
	X(parts_in, "such parts received")                                                        \
	X(probes_out, "probes sent because nothing was heard in time")                            \
	X(probes_in, "probes received")                                                           \
	X(mtu_probes_out, "padded probes sent to learn the path's MTU")                           \
	X(requests_out, "requests for credit sent")                                               \
	X(requests_in, "requests for credit received")                                            \
	X(reclaims_out, "grants asked back")                                                      \
	X(duplicates, "DATA frames that arrived again")                                           \
	X(out_of_order, "DATA frames that arrived before an earlier one")                         \
	X(ring_drops, "frames the kernel dropped because the receive ring was full")              \
	X(credit_stalls, "times data waited because the peer had granted no credit")              \
	X(slow_port_bounds,                                                                       \
	  "times that senders were bounded for short messages behind a slow port's queue")        \
	X(send_stalls,                                                                            \
	  "times a link took no frame: full, no carrier, or larger than the peer's MTU")          \
	X(resets_out, "RESET frames sent")                                                        \
	X(resets_in, "RESET frames accepted")                                                     \
	X(lookups_out, "LOOKUP questions sent")                                                   \
	X(lookups_in, "LOOKUP questions received")                                                \
	X(malformed, "frames that are not of this protocol, or damaged")                          \
	X(corrupt, "frames whose payload does not have the checksum it came with")                \
	X(stray, "frames for another epoch or tenant, or of no known flow")                       \
	X(peer_timeouts, "peers given up because nothing was heard of them")                      \
	X(messages_out, "messages whose sending is complete")                                     \
	X(messages_in, "messages received")                                                       \
	X(unexpected, "messages that arrived before their receive was posted")                    \
	X(demoted, "such messages whose bytes were left with the sender for want of memory")      \
	X(remote_out, "operations on peers' memory that are complete")                            \
	X(remote_in, "peers' operations on memory here that were carried out")                    \
	X(remote_refused, "peers' operations on memory here that were refused")                   \
	X(messages_self, "messages to the own endpoint that needed no frames")                    \
	X(batched, "messages and operations sent in frames shared with others")                   \
	X(send_calls, "system calls to send")                                                     \
	X(receive_calls, "system calls to receive (the ring needs none)")                         \
	X(shm_frames_out, "frames handed to a neighbour through shared memory")                   \
	X(shm_frames_in, "frames taken from shared memory")                                       \
	X(shm_records_out,                                                                        \
	  "short messages, and what is said of large ones, for a neighbour, no frames")           \
	X(shm_records_in, "such ones taken")                                                      \
	X(shm_wakes, "system calls to wake a neighbour that slept")                               \
	X(shm_refused, "neighbours that frames go to through a socket for want of shared memory") \
	X(chunks_in, "chunks of large messages taken that a neighbour has written")               \
	X(cma_bytes, "bytes of large messages read straight from a neighbour's memory")           \
	X(cma_failures, "times that was tried in vain")                                           \
	X(bytes_copied_out, "bytes copied in user space on the way out")                          \
	X(bytes_copied_in, "bytes copied in user space on the way in")

struct gamma_stats {
#define GAMMA_STATS_FIELD(name, meaning) uint64_t name;
	GAMMA_STATS_TABLE(GAMMA_STATS_FIELD)
#undef GAMMA_STATS_FIELD
};

#endif /* GAMMA_STATS_H */
