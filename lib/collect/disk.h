/*
 * Disks and other block devices, by /sys/class/block/NAME/{stat,inflight}. Source: block/genhd.c
 * (part_stat_show, part_inflight_show), Documentation/block/stat.rst.
 *
 * words: names as in sysfs (where '!' stands for a slash), globs of them, or "all": all entries,
 * also partitions, loops, RAM disks, device-mapper and md. Without words: whole physical disks,
 * which are the entries of /sys/block that have a device. Loops, RAM, zram, device-mapper, md and
 * the like have none; their bytes are counted again on the disks below. Nor has a multipath NVMe
 * disk: its paths, which are physical, count on every kernel, the disk itself on newer ones only.
 *
 * A disk that is removed and added again is a new thing even under its old name and between two
 * readings (the next reading skips it then): its counters begin at 0. /proc/diskstats does not show
 * that, and formats every device for each reading.
 */
#ifndef COLLECT_DISK_H
#define COLLECT_DISK_H

#include "things/many.h"

/* Cumulative, but for the queues. The kernel's times are milliseconds in 32 bits: each wraps after
 * 49.7 days. A sector is 512 bytes, whatever the disk's size is. */
enum disk_field {
	DISK_READ_BYTES,
	DISK_WRITE_BYTES,
	DISK_READ_OPS,
	DISK_WRITE_OPS,
	DISK_READ_TIME,  /* ns, summed over requests */
	DISK_WRITE_TIME, /* ns */
	DISK_BUSY_TIME,  /* ns with at least one request in flight */
	DISK_READ_QUEUE, /* requests in flight, now */
	DISK_WRITE_QUEUE,
	DISK_DISCARD_BYTES, /* from Linux 4.18 on */
	DISK_NR_FIELDS
};

extern const struct things_source collect_disk_source;

/* Parsers for struct things_file: of stat (11, 15, 17 or more numbers), and of inflight. */
int disk_parse_stat(const char *text, size_t len, uint64_t *values, uint32_t *has);
int disk_parse_inflight(const char *text, size_t len, uint64_t *values, uint32_t *has);

#endif
