/*
 * Network interfaces of this network namespace, by /proc/net/dev. Source: net/core/net-procfs.c
 * (dev_seq_printf_stats).
 *
 * words: names ("eth0"), globs of them, or "all". Without words: all but lo. An interface that is
 * missing from a reading is a new thing when it is back. Counters are the driver's: some old ones
 * have 32 bits and wrap to 0, which the reader of the trace reports.
 */
#ifndef COLLECT_NET_H
#define COLLECT_NET_H

#include "things/many.h"

/* All are cumulative. */
enum net_field {
	NET_RX_BYTES,
	NET_RX_PACKETS,
	NET_RX_ERRORS,
	NET_RX_DROPS, /* no room or no receiver, in the kernel or in the device */
	NET_TX_BYTES,
	NET_TX_PACKETS,
	NET_TX_ERRORS,
	NET_TX_DROPS,
	NET_NR_FIELDS
};

extern const struct things_source collect_net_source;

struct net_line {
	const char *name; /* in the line, not terminated, without NUL */
	size_t name_len;
	uint64_t values[NET_NR_FIELDS];
};

/* A line of the file, without its newline. 0; -ENOENT if it is of no interface (the headings);
 * -EINVAL or -ERANGE. */
int net_parse_line(const char *line, size_t len, struct net_line *out);

#endif
