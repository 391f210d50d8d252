/*
 * PMUs in sysfs: events, formats, scale and unit, packed into an event part. Files are read through
 * the path root; lengths and syntax are checked. Source:
 * Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format}.
 */
#ifndef EVENT_SYSFS_H
#define EVENT_SYSFS_H

#include "event/catalogue.h"
#include "host/host.h"

/* Packs terms ("event=0xc0,umask=0x1"; a bare name means 1) by the PMU's format files
 * (config:0-7,32-35) into *out: pmu, type, config words, cpus (the host's, borrowed; NULL if the
 * PMU has neither cpus nor cpumask). config, config1 and config2 are terms for whole words unless
 * the PMU has a format of that name. 0; -ENOENT if pmu is NULL; -EINVAL with *e for an unknown,
 * repeated or malformed term or a value too large, listing the known terms; -ENOTSUP for a format
 * outside the three words (config3). */
int sysfs_encode(const struct host *h, const struct host_pmu *pmu, const char *terms,
		 struct event_part *out, struct err *e);

/* A published event. */
struct sysfs_event {
	char name[128];
	char terms[256];     /* "event=0x3c" */
	double scale;        /* from NAME.scale; default 1 */
	char unit[32];       /* from NAME.unit; default "" */
	bool is_snapshot;    /* NAME.snapshot: readings are values, not counts */
	const char *problem; /* why it cannot be used ("its file cannot be read"); NULL */
};
/* Finds a published event, ignoring case but preferring an exact match. 0, -ENOENT or -errno. */
int sysfs_find_event(const struct host *h, const struct host_pmu *pmu, const char *name,
		     struct sysfs_event *out);
/* Calls fn for each published event, in byte order of name; stops at the first non-zero result and
 * returns it. 0 for a PMU without events. Skips names with spaces or control characters and those
 * over 127 bytes. */
int sysfs_each_event(const struct host *h, const struct host_pmu *pmu,
		     int (*fn)(const struct sysfs_event *ev, void *arg), void *arg);

#endif
