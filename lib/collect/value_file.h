/*
 * Value files: files of one decimal number, as hwmon, thermal zones and cpufreq have them. One for
 * an event, or one for each CPU. They are opened once and kept open.
 */
#ifndef COLLECT_VALUE_FILE_H
#define COLLECT_VALUE_FILE_H

#include "base/reading.h"

#include <stdint.h>

struct root;

/* row->collector of rows that are read so; row->source is the path, of rows of scope CPU with one
 * "%u" in the number's place. The other collectors are indices of collect.c's table. */
enum { VALUE_FILE_COLLECTOR = UINT16_MAX };

struct value_file;

/* The files of one event. */
struct value_files {
	const struct root *root; /* borrowed, like source */
	const char *source;
	struct value_file *files; /* owned */
	uint32_t nr;              /* 1, or one for each possible CPU */
};

/* nr_cpus 0: source is one path. Of the files for CPUs some may be missing (CPUs that are offline,
 * or without cpufreq): they yield READING_FAILED. 0; -ENOMEM; -errno if no file is there, or if
 * one is there that cannot be opened: then nothing is open. */
int value_files_open(const struct root *root, const char *source, uint32_t nr_cpus,
		     struct value_files *out);
void value_files_close(struct value_files *v); /* zeroes are fine */

/* Reads each open file once. One that has gone (its CPU went offline) is opened anew when it is
 * back. */
void value_files_read(struct value_files *v);
/* As collect_get. READING_FAILED for what cannot be read or is no number. A number below 0 (hwmon
 * and thermal zones have such, in the cold and where nothing is connected) is raw as an int64_t,
 * which estimate/ reads where the row is an EVENT_VALUE of a broken scale. */
void value_files_get(const struct value_files *v, uint32_t cpu, struct reading *out);

#endif
