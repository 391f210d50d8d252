/*
 * libcpuperf: what to measure. A spec comes from a file, from text, or is built by calls.
 * cpspec(5) describes the text.
 */
#ifndef CPUPERF_SPEC_H
#define CPUPERF_SPEC_H

#include "cpuperf/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One thread at a time. What is opened from a spec does not need it any more. */
struct cpuperf_spec;

/* A spec without events, that saves no files and is measured until the session is stopped;
 * cpuperf_spec_add and cpuperf_spec_set fill it. */
CPUPERF_PUBLIC int cpuperf_spec_new(struct cpuperf_spec **out, struct cpuperf_error *e);
/* From a file, as cpuperf --spec-file reads it by its path. Files are saved as it says. */
CPUPERF_PUBLIC int cpuperf_spec_load(struct cpuperf_spec **out, const char *path,
				     struct cpuperf_error *e);
/* The same from len bytes of text, which need no end mark and are not needed afterwards. If the
 * text names no output files, none are saved. */
CPUPERF_PUBLIC int cpuperf_spec_parse(struct cpuperf_spec **out, const char *text, size_t len,
				      struct cpuperf_error *e);
/* NULL is fine. */
CPUPERF_PUBLIC void cpuperf_spec_free(struct cpuperf_spec *spec);

/* Adds events, separated by commas, as cpuperf --event spells them: "page_faults",
 * "software:cpu_clock", "cpu_clock@997Hz", "page_faults@100". On failure the spec may have those
 * before the wrong one. */
CPUPERF_PUBLIC int cpuperf_spec_add(struct cpuperf_spec *spec, const char *events,
				    struct cpuperf_error *e);
/* Sets a key that is also an option ("duration" to "500ms", "num_iterations" to "10" …), or one
 * that is true or false ("regions" to "true"). */
CPUPERF_PUBLIC int cpuperf_spec_set(struct cpuperf_spec *spec, const char *key, const char *value,
				    struct cpuperf_error *e);

#ifdef __cplusplus
}
#endif

#endif
