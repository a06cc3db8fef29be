/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An endpoint's counters, which all layers increment. The list is written once, as a table of
 * (field, meaning), so that the structure, the JSON line of FI_GAMMA_STATS and the man page cannot
 * differ. Counters that the same path increments are next to each other, in few cache lines.
 */
#ifndef GAMMA_STATS_H
#define GAMMA_STATS_H

#include <stdint.h>

#define GAMMA_STATS_TABLE(X)                                                                      \
	X(frames_out, "frames handed to a link")                                                  \
	X(bytes_out, "bytes of those frames, Ethernet header included")                           \
	X(frames_in, "frames received from a link")                                               \
	X(bytes_in, "bytes of those frames, Ethernet header included")                            \
	X(messages_out, "messages whose sending is complete")                                     \
	X(tx_self, "messages to the own endpoint: no frame")                                      \
	X(tx_shm_inline, "messages copied into shared memory: no frame")                          \
	X(tx_shm_rndv, "messages announced in shared memory, to be read by the peer: no frame")   \
	X(tx_direct, "messages sent at once in a frame of their own: the fast path")              \
	X(tx_coalesced, "messages copied at once into a frame that others share")                 \
	X(tx_queued, "messages queued for frames: the ordinary path")                             \
	X(tx_run, "DATA frames of long messages made together with others of their train")        \
	X(messages_in, "messages received")                                                       \
	X(rx_fast,                                                                                \
	  "messages delivered before the rest of their frame was processed: the fast path")       \
	X(rx_ordinary, "DATA frames received on the ordinary path")                               \
	X(rx_run, "DATA frames of long messages received together with others of their train")    \
	X(rx_shm_inline, "messages that arrived in shared memory without a frame")                \
	X(rx_shm_rndv, "messages that a peer of this host announced in shared memory")            \
	X(ports_in, "messages handled by an active port")                                         \
	X(ports_in_place, "of these, those handled where they arrived, without a copy")           \
	X(datagrams_out, "best-effort frames sent")                                               \
	X(datagrams_in, "best-effort frames delivered")                                           \
	X(multicast_out, "frames of collective operations sent by multicast for the first time")  \
	X(multicast_in, "frames of collective operations taken from multicast")                   \
	X(multicast_asks, "questions for such frames where later ones had come")                  \
	X(multicast_again, "such frames sent again, by multicast or to one receiver")             \
	X(data_frames_out, "DATA frames sent for the first time")                                 \
	X(data_frames_in, "DATA frames that arrived for the first time")                          \
	X(acks_out, "acknowledgements sent in frames of their own")                               \
	X(acks_in, "acknowledgements received in frames of their own")                            \
	X(retransmissions, "DATA frames sent again, parts of frames included")                    \
	X(spurious, "times a frame was sent again that had arrived")                              \
	X(parts_out,                                                                              \
	  "parts of DATA frames sent because the path no longer carries the whole frame")         \
	X(parts_in, "parts of DATA frames received")                                              \
	X(probes_out, "probes sent because nothing was received in time")                         \
	X(probes_in, "probes received")                                                           \
	X(mtu_probes_out, "padded probes sent to find the path's MTU")                            \
	X(rails_proven, "times a NIC, but the first, began to be used toward a peer, or again")   \
	X(rails_doubted, "times a NIC ceased to be used toward a peer that another one reaches")  \
	X(requests_out, "requests for credit sent")                                               \
	X(requests_in, "requests for credit received")                                            \
	X(reclaims_out, "requests to return unused credit sent")                                  \
	X(duplicates, "DATA frames that arrived again")                                           \
	X(out_of_order, "DATA frames that arrived before an earlier one")                         \
	X(ring_drops, "frames the kernel dropped because the receive ring was full")              \
	X(credit_stalls, "times data waited for credit from the peer")                            \
	X(slow_port_bounds,                                                                       \
	  "times senders were limited so that short messages do not wait in a slow port's queue") \
	X(window_reductions,                                                                      \
	  "times a sender's window toward another subnet shrank after a loss or a mark")          \
	X(ecn_marked, "DATA frames that a router had marked because of congestion")               \
	X(send_stalls,                                                                            \
	  "times a link refused a frame: full, no carrier, or too large for the peer")            \
	X(resets_out, "RESET frames sent, but for those that confirm an own BYE")                 \
	X(resets_in, "RESET frames that ended a connection in error")                             \
	X(unreachable, "ICMP errors received that say that no process has a peer's UDP port")     \
	X(lookups_out, "LOOKUP requests sent")                                                    \
	X(lookups_in, "LOOKUP requests received")                                                 \
	X(malformed, "frames that are damaged or not of this protocol")                           \
	X(corrupt, "frames whose payload does not match its checksum")                            \
	X(stray, "frames for another epoch or tenant, of no known flow or no member")             \
	X(peer_timeouts, "peers declared dead because nothing was received from them")            \
	X(unexpected, "messages that arrived before their receive was posted")                    \
	X(demoted, "unexpected messages whose bytes stayed with the sender for lack of memory")   \
	X(remote_out, "RMA and atomic operations completed")                                      \
	X(remote_in, "peers' RMA and atomic operations carried out here")                         \
	X(remote_refused, "peers' RMA and atomic operations refused here")                        \
	X(batched, "messages and operations sent in frames shared with others")                   \
	X(send_calls, "system calls to send")                                                     \
	X(connected_calls, "of these, by the UDP socket that is connected to one peer")           \
	X(receive_calls, "system calls to receive (the ring needs none)")                         \
	X(shm_frames_out, "frames sent through shared memory")                                    \
	X(shm_frames_in, "frames received through shared memory")                                 \
	X(shm_records_out, "records other than frames written into shared memory")                \
	X(shm_records_in, "such records read")                                                    \
	X(shm_wakes, "system calls to wake a sleeping peer of this host")                         \
	X(shm_refused, "peers of this host reached through a socket for lack of shared memory")   \
	X(chunks_in, "chunks of large messages received through shared memory")                   \
	X(cma_bytes, "bytes of large messages read from a peer's memory by the kernel")           \
	X(cma_failures, "such reads that failed")                                                 \
	X(bytes_copied_out, "bytes copied in user space while sending")                           \
	X(bytes_copied_in, "bytes copied in user space while receiving")

struct gamma_stats {
#define GAMMA_STATS_FIELD(name, meaning) uint64_t name;
	GAMMA_STATS_TABLE(GAMMA_STATS_FIELD)
#undef GAMMA_STATS_FIELD
};

#endif /* GAMMA_STATS_H */
