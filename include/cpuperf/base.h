/*
 * What all headers of libcpuperf share: how names are exported, and errors.
 */
#ifndef CPUPERF_BASE_H
#define CPUPERF_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__has_attribute)
#if __has_attribute(noplt)
/* Bound when the program is loaded: the first call costs what every call costs. */
#define CPUPERF_EAGER __attribute__((visibility("default"), noplt))
#endif
#endif
#define CPUPERF_INLINE __attribute__((unused)) static inline
#define CPUPERF_PUBLIC __attribute__((visibility("default")))
#ifndef CPUPERF_EAGER
#define CPUPERF_EAGER CPUPERF_PUBLIC
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0" */
CPUPERF_PUBLIC const char *cpuperf_version(void);

/*
 * What went wrong. Initialise it with CPUPERF_ERROR_INIT. Functions that can fail return 0 or a
 * negative errno and describe the error here; after success it is empty. A pointer to it may always
 * be NULL.
 */
struct cpuperf_error {
	size_t size;       /* sizeof(struct cpuperf_error) of the program */
	int code;          /* negative errno; 0: none. The other fields are of the first error */
	unsigned line;     /* in source, from 1; 0: unknown */
	unsigned column;   /* from 1 */
	char source[256];  /* where: a file, "text", a parameter; "" */
	char message[512]; /* what, and why */
	char hint[512];    /* what to do; "" */
	char text[2048]; /* all errors as lines: "source:line:column: error: …", "  hint: …" */
};

#define CPUPERF_ERROR_INIT                                                                         \
	{                                                                                          \
		sizeof(struct cpuperf_error), 0, 0, 0, "", "", "", ""                              \
	}

/* The meaning of an event's value. */
enum cpuperf_kind {
	CPUPERF_COUNT = 1, /* occurrences */
	CPUPERF_VALUE = 2, /* a reading */
	CPUPERF_SHARE = 3, /* a part of a whole, in percent */
	CPUPERF_METRIC = 4 /* computed from events by the spec's "metrics"; has no raw */
};

/* An event, or a metric: then group is "metric". The library's; valid as long as what it is of. */
struct cpuperf_event {
	size_t size; /* of the library's struct: a later version appends fields */
	const char *group, *name;
	const char *label;       /* the heading of its column; unique */
	const char *unit;        /* "cycles", "ns", "B", "%" … */
	const char *description; /* "" if it is not known */
	enum cpuperf_kind kind;
	int works;          /* 0: it cannot be measured here */
	const char *reason; /* why it cannot, or on which CPUs; NULL */
	const char *hint;   /* what to do about that; NULL */
};

#ifdef __cplusplus
}
#endif

#endif
