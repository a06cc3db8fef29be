/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Small things that every layer uses: intrusive lists, helpers on numbers, the log
 * hook, and words to be shown. Nothing here knows of frames, flows or libfabric.
 */
#ifndef GAMMA_BASE_H
#define GAMMA_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define gamma_likely(x)                       __builtin_expect(!!(x), 1)
#define gamma_unlikely(x)                     __builtin_expect(!!(x), 0)
/* A step that every short message takes: what it calls is compiled into it, ... */
#define GAMMA_FLATTEN                         __attribute__((flatten))
/* ... but for this, which few messages need. */
#define GAMMA_NOINLINE                        __attribute__((noinline))
#define gamma_container_of(ptr, type, member) ((type *) ((char *) (ptr) -offsetof(type, member)))
#define gamma_array_size(a)                   (sizeof(a) / sizeof((a)[0]))

#define GAMMA_NS_PER_US 1000ull
#define GAMMA_NS_PER_MS 1000000ull
#define GAMMA_NS_PER_S  1000000000ull
/* "Never", as a time of the monotonic clock in ns. */
#define GAMMA_NEVER     UINT64_MAX

static inline uint64_t gamma_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t) now.tv_sec * GAMMA_NS_PER_S + (uint64_t) now.tv_nsec;
}

/* ns of the clock that all deadlines are counted on. */
static inline uint64_t gamma_now(void)
{
	return gamma_clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t gamma_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t gamma_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Sequence numbers wrap: a is before b if the way from a to b is shorter. */
static inline bool gamma_seq_before(uint32_t a, uint32_t b)
{
	return (int32_t) (a - b) < 0;
}

/* ---- a doubly linked list with a head; an unlinked entry points to itself ---- */

struct gamma_list {
	struct gamma_list *next, *prev;
};

static inline void gamma_list_init(struct gamma_list *entry)
{
	entry->next = entry->prev = entry;
}

static inline bool gamma_list_empty(const struct gamma_list *head)
{
	return head->next == head;
}

static inline void gamma_list_append(struct gamma_list *head, struct gamma_list *entry)
{
	entry->prev = head->prev;
	entry->next = head;
	head->prev->next = entry;
	head->prev = entry;
}

static inline void gamma_list_remove(struct gamma_list *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	gamma_list_init(entry);
}

#define gamma_list_entry(ptr, type, member)  gamma_container_of(ptr, type, member)
#define gamma_list_first(head, type, member) gamma_list_entry((head)->next, type, member)
#define gamma_list_for_each(pos, head) \
	for ((pos) = (head)->next; (pos) != (head); (pos) = (pos)->next)
/* The same when the entry may be removed in the body. */
#define gamma_list_for_each_safe(pos, tmp, head)                         \
	for ((pos) = (head)->next, (tmp) = (pos)->next; (pos) != (head); \
	     (pos) = (tmp), (tmp) = (pos)->next)

/* ---- log: the interface layer says where lines go ---- */

enum gamma_log_level {
	GAMMA_LOG_ERROR, /* a warning without which the program would wait or fail unexplained */
	GAMMA_LOG_WARN,  /* something the user should act on: cause and cure in one line */
	GAMMA_LOG_INFO,  /* a choice made, for instance a NIC left out and why */
};

/* Receives one finished line without newline. The default drops everything. */
typedef void (*gamma_log_fn)(enum gamma_log_level level, const char *line);

void gamma_log_set_sink(gamma_log_fn fn);
void gamma_log(enum gamma_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define gamma_error(...) gamma_log(GAMMA_LOG_ERROR, __VA_ARGS__)
#define gamma_warn(...)  gamma_log(GAMMA_LOG_WARN, __VA_ARGS__)
#define gamma_info(...)  gamma_log(GAMMA_LOG_INFO, __VA_ARGS__)

/* ---- text of other programs, in a message ---- */

/* A word made fit to be shown: short, and of printable characters alone. */
struct gamma_printable {
	char text[48];
};

struct gamma_printable gamma_printable(const char *word);

#endif /* GAMMA_BASE_H */
