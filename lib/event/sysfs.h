/*
 * PMUs as sysfs publishes them: events, formats, scale and unit, packed into a part. Text from the
 * kernel, read through the path root and trusted no further.
 * Source: Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format}.
 */
#ifndef EVENT_SYSFS_H
#define EVENT_SYSFS_H

#include "event/catalogue.h"
#include "host/host.h"

/* Packs terms ("event=0xc0,umask=0x1", a bare name meaning 1) by the PMU's format files
 * (config:0-7,32-35) into out: pmu, type, config…, cpus (host's, borrowed; NULL if the PMU has
 * neither cpus nor cpumask). config, config1 and config2 are terms too: the whole word, where the
 * PMU has no format of that name. 0; -ENOENT no such PMU (pmu NULL); -EINVAL unknown, repeated or
 * malformed term, value too large, with *e naming the term and the ones there are; -ENOTSUP a
 * format that event_part has no room for (config3). */
int sysfs_encode(const struct host *h, const struct host_pmu *pmu, const char *terms,
		 struct event_part *out, struct err *e);

/* A published event. */
struct sysfs_event {
	char name[128];
	char terms[256];     /* "event=0x3c" */
	double scale;        /* of NAME.scale; 1 without */
	char unit[32];       /* of NAME.unit; "" without */
	bool is_snapshot;    /* NAME.snapshot: each reading is a value, not a count */
	const char *problem; /* why it cannot be used ("its file cannot be read"); NULL: it can */
};
/* The PMU's published event of that name (any case; the exact one before others). 0, -ENOENT,
 * -errno. */
int sysfs_find_event(const struct host *h, const struct host_pmu *pmu, const char *name,
		     struct sysfs_event *out);
/* Each of them, in byte order of name; stops at the first non-zero result. A PMU without any: 0.
 * Names that are not plain (spaces, control characters, over 127 bytes) are no events. */
int sysfs_each_event(const struct host *h, const struct host_pmu *pmu,
		     int (*fn)(const struct sysfs_event *ev, void *arg), void *arg);

#endif
