/*
 * A number as it is written in a spec or a manifest.
 */
#ifndef ESTIMATE_LIMIT_H
#define ESTIMATE_LIMIT_H

/* text NULL: none. */
struct metric_limit {
	const char *text;
	double value;
};

#endif
