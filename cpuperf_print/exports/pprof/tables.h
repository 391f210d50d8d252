/*
 * The tables of a profile.proto: texts, functions and locations, written on first use, and
 * mappings, written at the end.
 *
 * Processes map files at different addresses, so each file gets an address range of its own here:
 * an address is the range's start plus the offset in the file. The kernel keeps its addresses.
 */
#ifndef CPUPERF_PRINT_EXPORTS_PPROF_TABLES_H
#define CPUPERF_PRINT_EXPORTS_PPROF_TABLES_H

#include "base/buf.h"
#include "base/dict.h"
#include "report/entry.h"

/* Fields of Profile, by the public profile.proto. */
enum pprof_field {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE,
	PPROF_MAPPING,
	PPROF_LOCATION,
	PPROF_FUNCTION,
	PPROF_STRING,
	PPROF_TIME_NANOS = 9,
	PPROF_DURATION_NANOS,
	PPROF_PERIOD_TYPE,
	PPROF_PERIOD,
	PPROF_COMMENT,
	PPROF_DEFAULT_SAMPLE_TYPE,
};

enum { PPROF_MAX_INLINED = 64 };

struct pprof_tables {
	struct buf out;        /* messages that are written; the caller takes them away */
	int error;             /* -ENOMEM: the first failure */
	bool is_full;          /* there are too many places: later ones have no address */
	bool has_several;      /* set by the caller: sessions, which have objects of their own */
	struct dict texts;     /* const char * */
	struct dict functions; /* struct pprof_function; ids are numbers and 1, as of those below */
	struct dict mappings;  /* struct pprof_mapping */
	struct dict paths;     /* const char *; of mappings */
	struct dict
	    places; /* struct pprof_place: frames, each in the one that it is inlined into */
	uint32_t *mapping_of; /* owned; of each location */
	size_t nr_locations, locations_room;
};

void pprof_tables_init(struct pprof_tables *t);
void pprof_tables_fini(struct pprof_tables *t);

/* A text's number: 0 of "", and after a failure. */
uint64_t pprof_text(struct pprof_tables *t, const char *text);
/* The id of a place and the functions there, 1 to PPROF_MAX_INLINED: those that are inlined into
 * the next, and that. 0 after a failure. */
uint64_t pprof_location(struct pprof_tables *t, const struct report_frame *frames, size_t nr);
/* A sample was at that location: what has most of them is the profile's main binary. */
void pprof_count(struct pprof_tables *t, uint64_t location, uint64_t samples);
void pprof_put_mappings(struct pprof_tables *t, bool has_inlined);

#endif
