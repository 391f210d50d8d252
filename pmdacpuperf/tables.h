/*
 * Metrics as libpcp_pmda wants them: tables of descriptions, domains and instances, and the tree of
 * names. What this program says of itself is in them with and without a session.
 */
#ifndef PMDACPUPERF_TABLES_H
#define PMDACPUPERF_TABLES_H

#include "pcp/metrics.h"

#include <pcp/pmapi.h>
/* after pmapi.h */
#include <pcp/pmda.h>
#include <stdint.h>

/* Of the agent, cpuperf.pmda.NAME: item numbers of cluster 0. */
enum tables_own {
	TABLES_CONNECTED,
	TABLES_READS,
	TABLES_FAILURES,
	TABLES_SKIPPED,
	TABLES_ADDRESS,
	TABLES_PROBLEM,
	TABLES_NR_OWN
};

/* All owned; names in them are those of the metrics. Zero-initialise. */
struct tables {
	pmdaMetric *metrics; /* m_user: the number in struct pcp_metrics, and 1; NULL: own */
	pmdaIndom *indoms;
	pmdaInstid *instances;
	pmdaNameSpace *names;
	int nr_metrics, nr_indoms;
	uint32_t
	    hash; /* of names and descriptions: another one if a client has to read them again */
};

/* m: borrowed, as long as the tables. 0 or -ENOMEM; tables_fini in any case. */
int tables_make(struct tables *t, const struct pcp_metrics *m, int domain);
void tables_fini(struct tables *t);
/* The help of one of our own metrics; NULL: there is none. */
const char *tables_own_help(unsigned item);

#endif
