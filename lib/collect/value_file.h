/*
 * Value files: files of one decimal number, such as those of hwmon, thermal zones and cpufreq, or
 * of several in a line, such as /proc/loadavg. An event has one, or one for each CPU. They stay
 * open.
 */
#ifndef COLLECT_VALUE_FILE_H
#define COLLECT_VALUE_FILE_H

#include "base/reading.h"

#include <stdint.h>

struct root;

/* row->collector of such rows. row->source is the path; with scope CPU, "%u" stands for the CPU's
 * number. The other collectors are indices of rows.h. */
enum { VALUE_FILE_COLLECTOR = UINT16_MAX };
/* row->field of such rows: 0: the number stands alone; else the number-th of the line, from 1 on,
 * which has that many digits behind a point: the value is of their unit. */
#define VALUE_FILE_FIELD(number, digits) ((number) | (digits) << 8)

struct value_file;

/* The files of one event. */
struct value_files {
	const struct root *root; /* borrowed, like source */
	const char *source;
	uint16_t field;
	struct value_file *files; /* owned */
	uint32_t nr;              /* 1, or one for each possible CPU */
};

/* nr_cpus 0: source is one path. Files of some CPUs may be missing (offline, or without cpufreq):
 * their readings are READING_FAILED. 0; -ENOMEM; -errno if no file exists, or if one exists but
 * cannot be opened: nothing is open then. */
int value_files_open(const struct root *root, const char *source, uint16_t field, uint32_t nr_cpus,
		     struct value_files *out);
void value_files_close(struct value_files *v); /* zeroes are fine */

/* Reads each open file once. A file that was removed (its CPU went offline) is opened again when it
 * is back. */
void value_files_read(struct value_files *v);
/* Of the last read of the first file: 0 or -errno. */
int value_files_status(const struct value_files *v);
/* As collect_get. READING_FAILED if the file cannot be read or is not a number. A negative number
 * (temperatures, unconnected sensors) is the bits of an int64_t; estimate/ reads it as such for an
 * EVENT_VALUE whose scale is not whole. */
void value_files_get(const struct value_files *v, uint32_t cpu, struct reading *out);

#endif
