/*
 * Probes in programs (uprobes), counted and sampled by a program in the kernel. Only this room
 * sees libbpf.
 *
 * Why not perf events: one of a uprobe for each task loses hits if children inherit it, and one
 * for each CPU would run a handler for each CPU at each hit. So there is one breakpoint for each
 * place, in all processes, with one program: it counts the hits of measured tasks by event and
 * CPU, and sends every nth to the CPU's event bpf_output. Counts are read from mapped memory, as
 * those of waits.
 *
 * The target says which files a name means (event/usdt_files.h; elf/objects.h finds libraries as
 * the dynamic loader does). A row's `danger` says why a breakpoint may change what the program
 * computes: the plan refuses it without the flag unsafe.
 */
#ifndef BPF_PROBES_H
#define BPF_PROBES_H

#include "bpf/follow.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cpuset;
struct err;
struct probes;

enum { PROBES_MAX_EVENTS = 64 };

/* Strings are borrowed while it is opened. */
struct probes_place {
	uint32_t event; /* below nr_events */
	const char *path;
	uint64_t offset;    /* in the file */
	uint64_t semaphore; /* in the file: counts who listens; 0: none */
};

struct probes_config {
	size_t nr_events;      /* at most PROBES_MAX_EVENTS */
	const uint64_t *rates; /* per event: hits per sample; 0: not sampled */
	const struct probes_place *places;
	size_t nr_places;
	uint32_t pmu; /* the type of the PMU "uprobe" */
	uint32_t cpu; /* one that is online */
	struct follow_config follow;
	const struct cpuset *cpus; /* hits on other CPUs are not measured; NULL: all are */
};

/* Loads the program. 0 or -errno with *e: -EPERM: not permitted; -ENOTSUP: this kernel, or this
 * build, cannot do it; -ENOMEM. One thread. */
int probes_open(const struct probes_config *config, struct probes **out, struct err *e);
void probes_close(struct probes *p); /* sets no breakpoint any more; NULL is fine */
/* A process of the target, which exists already, or has ended, or is a thread. 0 or -errno. */
int probes_add_process(struct probes *p, pid_t process);
/* Sends the samples of the CPU to this event of type software:bpf_output, in place of an older one.
 * Borrows fd until the event is closed. 0 or -errno. */
int probes_add_output(struct probes *p, size_t event, uint32_t cpu, int fd);
/* Sets the breakpoints. 0 or -errno with *e, which names the place: -EPERM, -ENOENT, … */
int probes_start(struct probes *p, const struct probes_config *config, struct err *e);

/* Enables or disables an event: hits while it is disabled do not count. All are enabled at first.
 */
void probes_switch(struct probes *p, size_t event, bool is_enabled);
/* Hits on the CPU up to now, and samples that could not be sent. Any thread. */
uint64_t probes_count(const struct probes *p, size_t event, uint32_t cpu, uint64_t *lost);

#endif
