/*
 * Disks and other block devices, by /sys/class/block/NAME/{stat,inflight}. Source: block/genhd.c
 * (part_stat_show, part_inflight_show), Documentation/block/stat.rst.
 *
 * words: names as sysfs has them (a slash in one is '!' there), globs of them, "all": whatever the
 * folder has, partitions, loops, RAM disks, device-mapper and md too. Without words: the whole
 * physical disks, which are those of /sys/block that have a device below them. Loops, RAM, zram,
 * device-mapper, md and their like have none; their bytes count again on the disks below. Neither
 * has an NVMe disk of several paths: its paths, which are physical, count on every kernel, it only
 * on newer ones.
 *
 * A disk that went and came back is another one, under its old name too and even between two
 * readings (then the next one does without it): its counters begin anew. (/proc/diskstats could not
 * tell that, and would make text of every device for each reading.)
 */
#ifndef COLLECT_DISK_H
#define COLLECT_DISK_H

#include "collect/many.h"

/* Cumulative but the queues. The kernel tells times in milliseconds, of 32 bits: each starts again
 * after 49.7 days of it. A sector is 512 bytes whatever the disk's are. */
enum disk_field {
	DISK_READ_BYTES,
	DISK_WRITE_BYTES,
	DISK_READ_OPS,
	DISK_WRITE_OPS,
	DISK_READ_TIME,  /* ns, summed over requests */
	DISK_WRITE_TIME, /* ns */
	DISK_BUSY_TIME,  /* ns in which there was any request */
	DISK_READ_QUEUE, /* requests in flight, now */
	DISK_WRITE_QUEUE,
	DISK_DISCARD_BYTES, /* from Linux 4.18 on */
	DISK_NR_FIELDS
};

extern const struct collect_many_source collect_disk_source;

/* Parsers, as struct things_file has them: of stat (of 11, 15 or 17 numbers, or more), and of
 * inflight. */
int disk_parse_stat(const char *text, size_t len, uint64_t *values, uint32_t *has);
int disk_parse_inflight(const char *text, size_t len, uint64_t *values, uint32_t *has);

#endif
