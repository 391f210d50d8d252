/*
 * libcpuperf: the samples of a session as rows, in order of time, with their stacks.
 *
 *	cpuperf_samples_of(&samples, session, 0, &e);
 *	while ((row = cpuperf_samples_next(samples)))
 *		for (size_t i = 0; i < row->nr_frames; i++)
 *			puts(cpuperf_samples_frame(samples, i)->function);
 */
#ifndef CPUPERF_SAMPLES_H
#define CPUPERF_SAMPLES_H

#include "cpuperf/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All samples of a session, in memory. One thread at a time. */
struct cpuperf_samples;

enum {
	CPUPERF_LINES = 1, /* a flag: frames have file and line, from debugging information: slow */
	CPUPERF_INLINED = 2 /* a flag: inlined functions are frames; slow too */
};

enum { CPUPERF_UNKNOWN = -1 }; /* as uint32_t: a number that was not recorded */

/* A sample, or several of one stack that the kernel added up. */
struct cpuperf_sample {
	size_t size;       /* of the library's struct */
	size_t event;      /* its index: cpuperf_samples_event */
	uint64_t time_ns;  /* CLOCK_MONOTONIC of the recorded machine */
	uint64_t weight;   /* what it stands for, in the event's unit: ns, faults … */
	uint64_t nr;       /* how many samples; 1, unless they were added up */
	uint32_t pid, tid; /* CPUPERF_UNKNOWN */
	uint32_t cpu, iteration;
	const char *comm; /* the thread's name; "" if it is not known */
	size_t nr_frames;
};

/* A function of a stack. Texts are valid as long as the samples. */
struct cpuperf_frame {
	size_t size;          /* of the library's struct */
	const char *function; /* "[unknown] (libx.so+0x12)" without a symbol */
	const char *object;   /* "libc.so.6", "[kernel]" … */
	const char *file;     /* NULL: not known, or without CPUPERF_LINES */
	unsigned line;        /* 0: not known */
	int is_kernel, is_inlined;
	uint64_t address; /* an offset in the object's file; in the kernel and in code made at run
			   * time the address itself; 0: not known */
};

/* Reads the samples of a saved session, and looks up their functions. What is missing or damaged is
 * skipped; then the result is 0, and *e names it, with the code -EBADMSG. Above 16 Mi rows: -EFBIG.
 */
CPUPERF_PUBLIC int cpuperf_samples_open(struct cpuperf_samples **out, const char *cpsession_path,
					unsigned flags, struct cpuperf_error *e);
/* The same of a session that has ended (cpuperf_session_wait), also of one in memory. They remain
 * when it is closed. Of a session that runs: -EBUSY, since samples are put in order, and their
 * functions looked up, when all are there; for samples of the last seconds open a session for each
 * span. */
CPUPERF_PUBLIC int cpuperf_samples_of(struct cpuperf_samples **out, struct cpuperf_session *s,
				      unsigned flags, struct cpuperf_error *e);
/* NULL is fine. */
CPUPERF_PUBLIC void cpuperf_samples_close(struct cpuperf_samples *s);

CPUPERF_PUBLIC size_t cpuperf_samples_nr_events(const struct cpuperf_samples *s);
CPUPERF_PUBLIC const struct cpuperf_event *cpuperf_samples_event(const struct cpuperf_samples *s,
								 size_t i);
/* How many rows there are; and how many records the kernel reported as lost. */
CPUPERF_PUBLIC uint64_t cpuperf_samples_nr(const struct cpuperf_samples *s);
CPUPERF_PUBLIC uint64_t cpuperf_samples_lost(const struct cpuperf_samples *s);

/* The next row, valid until the next call; NULL: after the last one. */
CPUPERF_PUBLIC const struct cpuperf_sample *cpuperf_samples_next(struct cpuperf_samples *s);
/* Goes back before the first row. */
CPUPERF_PUBLIC void cpuperf_samples_rewind(struct cpuperf_samples *s);
/* Frame i of the row that next returned, 0 being the sampled function, 1 its caller …; valid until
 * the next call of it. NULL: there are not so many. */
CPUPERF_PUBLIC const struct cpuperf_frame *cpuperf_samples_frame(struct cpuperf_samples *s,
								 size_t i);

#ifdef __cplusplus
}
#endif

#endif
