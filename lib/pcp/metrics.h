/*
 * The metrics of a session as Performance Co-Pilot has them, made of the text that the session
 * serves: names in a tree, units, semantics, instance domains, numbers that identify them. Knows
 * nothing of PCP's libraries.
 *
 *	cpuperf.GROUP.EVENT, or .EVENT.LABEL where several have one name	events
 *	cpuperf.metric.NAME							metrics of the spec
 *	cpuperf.latency_time.EVENT.bucket, .count, .sum				histograms
 *	cpuperf.session, .event, .samples, .records, .readings, .push, .own	the rest; .other:
 *families of no known beginning
 *
 * Identifiers are hashes of names: those of one spec are the same in each session.
 */
#ifndef PCP_METRICS_H
#define PCP_METRICS_H

#include "base/dict.h"

#include <stdbool.h>
#include <stdint.h>

enum pcp_type { PCP_U64, PCP_DOUBLE, PCP_STRING };
enum pcp_semantics { PCP_COUNTER, PCP_INSTANT, PCP_DISCRETE };
/* Shares have none: 1 is the whole. */
enum pcp_unit {
	PCP_NONE,
	PCP_COUNT,
	PCP_BYTES,
	PCP_MEBIBYTES,
	PCP_NS,
	PCP_SECONDS,
	PCP_PER_SECOND
};

enum { PCP_NO_INDOM = UINT32_MAX, PCP_FIRST_ID = 1024, PCP_ID_BITS = 22 };

union pcp_value {
	uint64_t u64;
	double real;
	const char *text;
};

struct pcp_metric {
	const char *name; /* the key: without "cpuperf." */
	const char *family, *help;
	enum pcp_type type;
	enum pcp_semantics semantics;
	enum pcp_unit unit;
	uint32_t indom; /* number of its instance domain, or PCP_NO_INDOM */
	uint32_t id;    /* unique; at least PCP_FIRST_ID, of PCP_ID_BITS */
};

struct pcp_indom {
	const char *key;
	uint32_t id; /* unique; as of metrics */
	uint32_t nr_instances;
};

struct pcp_instance {
	uint32_t indom;
	int32_t id; /* not negative: the number of a CPU or process, or a hash */
	/* Unique up to the first space. */
	const char *name;
};

/* Texts live in it. */
struct pcp_metrics {
	struct dict metrics;   /* struct pcp_metric */
	struct dict indoms;    /* struct pcp_indom */
	struct dict instances; /* struct pcp_instance */
	uint64_t nr_skipped;   /* lines that are not unique, of a wrong kind, or beyond a limit */
	/* private */
	struct dict values, ids, events, names;
	struct arena arena;
};

/* Reads a whole text into *out. 0; -EINVAL: no valid OpenMetrics text, or not of cpuperf; -ENOMEM.
 * pcp_metrics_fini in any case. */
int pcp_metrics_parse(struct pcp_metrics *out, const char *text, size_t len);
void pcp_metrics_fini(struct pcp_metrics *m);
/* The value of an instance of a metric, by their numbers; instance 0 if it has no domain. NULL:
 * none.
 */
const union pcp_value *pcp_metrics_value(const struct pcp_metrics *m, uint32_t metric,
					 int32_t instance);

#endif
