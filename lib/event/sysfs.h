/*
 * PMUs as sysfs publishes them: events, formats, scale and unit, packed into a part. Text from the
 * kernel, read through the path root and trusted no further.
 * Source: Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format}.
 */
#ifndef EVENT_SYSFS_H
#define EVENT_SYSFS_H

#include "event/event.h"
#include "host/host.h"

/* Packs terms ("event=0xc0,umask=0x1", a bare name meaning 1) by the PMU's format files
 * (config:0-7,32-35) into out: pmu, type, config…, cpus (host's, borrowed; NULL if the PMU has
 * neither cpus nor cpumask). 0; -ENOENT no such PMU; -EINVAL unknown term, value too large or
 * malformed, with *e naming the term and the ones there are. */
int sysfs_encode(const struct host *h, const struct host_pmu *pmu, const char *terms,
		 struct event_part *out, struct err *e);

/* A published event. */
struct sysfs_event {
	char name[128];
	char terms[256]; /* "event=0x3c" */
	double scale;    /* of NAME.scale; 1 without */
	char unit[32];   /* of NAME.unit; "" without */
};
/* The PMU's published event of that name (any case). 0, -ENOENT, -errno. */
int sysfs_find_event(const struct host *h, const struct host_pmu *pmu, const char *name,
		     struct sysfs_event *out);
/* Each of them, in byte order of name; stops at the first non-zero result. */
int sysfs_each_event(const struct host *h, const struct host_pmu *pmu,
		     int (*fn)(const struct sysfs_event *ev, void *arg), void *arg);

#endif
