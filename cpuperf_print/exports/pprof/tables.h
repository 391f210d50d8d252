/*
 * The tables of a profile.proto: texts, functions and locations, written on first use, and
 * mappings, written at the end.
 *
 * Processes map files at different addresses, so each file gets its own address range here: an
 * address is the range's start plus the offset in the file. The kernel keeps its addresses.
 */
#ifndef CPUPERF_PRINT_EXPORTS_PPROF_TABLES_H
#define CPUPERF_PRINT_EXPORTS_PPROF_TABLES_H

#include "base/buf.h"
#include "base/dict.h"
#include "report/entry.h"

/* Fields of Profile in the public profile.proto. */
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

/* The numbers of the fields in which a format has the tables; 0: it has no such field. */
struct pprof_fields {
	uint32_t string, function, location, mapping;
	uint32_t function_id, function_name, function_system_name, function_file;
	uint32_t location_id, location_mapping, location_address, location_line;
	uint32_t mapping_id, mapping_start, mapping_limit, mapping_file, mapping_build_id;
	uint32_t location_attributes, mapping_attributes;
	uint32_t mapping_has_functions, mapping_has_files, mapping_has_lines, mapping_has_inlined;
};
/* Of profile.proto. */
extern const struct pprof_fields pprof_fields;

/* Numbers of what else a format has of a place and of a file, in the fields above. */
struct pprof_attributes {
	uint64_t (*location)(void *arg, const struct report_frame *frame); /* NULL: nothing */
	/* object NULL: the kernel; 0: nothing */
	uint64_t (*mapping)(void *arg, const struct profile_object *object);
	void *arg;
};

struct pprof_tables {
	const struct pprof_fields *fields;
	struct pprof_attributes attributes; /* set by the caller */
	struct buf out;                     /* written messages; the caller empties it */
	int error;                          /* -ENOMEM: the first failure */
	bool is_full;                       /* too many places: later ones have no address */
	bool has_several;      /* set by the caller: several sessions, each with its own objects */
	struct dict texts;     /* const char * */
	struct dict functions; /* struct pprof_function; ids are indices plus 1, as below */
	struct dict contents; /* of a format without ids, whose functions differ: what is in them */
	struct dict mappings; /* struct pprof_mapping */
	struct dict paths;    /* const char *; paths of mappings */
	struct dict places; /* struct pprof_place: frames by the place that they are inlined into */
	uint32_t *mapping_of; /* owned; by location */
	size_t nr_locations, locations_room;
};

/* fields are borrowed. */
void pprof_tables_init(struct pprof_tables *t, const struct pprof_fields *fields);
void pprof_tables_fini(struct pprof_tables *t);

/* The index of a text; 0 for "" and after a failure. */
uint64_t pprof_text(struct pprof_tables *t, const char *text);
/* The id of a place and its nr functions (1 to PPROF_MAX_INLINED), innermost first, each inlined
 * into the next. 0 after a failure. */
uint64_t pprof_location(struct pprof_tables *t, const struct report_frame *frames, size_t nr);
/* Counts samples at a location: the mapping with most of them is the profile's main binary. */
void pprof_count(struct pprof_tables *t, uint64_t location, uint64_t samples);
/* in_order: by their ids, as some readers require; else the main binary is the first. */
void pprof_put_mappings(struct pprof_tables *t, bool has_inlined, bool in_order);

#endif
