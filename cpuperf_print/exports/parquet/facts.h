/*
 * The rows of sessions and hosts.
 */
#ifndef CPUPERF_PRINT_EXPORTS_PARQUET_FACTS_H
#define CPUPERF_PRINT_EXPORTS_PARQUET_FACTS_H

#include "inputs.h"
#include "profile/about.h"

struct err;
struct store;

/* 0 or -errno with *e. */
int store_put_facts(struct store *s, const struct input *o, const struct profile_about *about,
		    struct err *e);

#endif
