/*
 * The marks that programs write (cpuperf/mark.h), received into the common file by a thread of the
 * wire's.
 */
#ifndef SESSION_REGIONS_H
#define SESSION_REGIONS_H

#include "base/dict.h"
#include "base/err.h"

struct common;
struct tracefs;
struct wire;

enum { SESSION_REGIONS_NR_NOTES = 8, SESSION_REGIONS_NOTE_BYTES = 200 };

struct session_regions {
	struct wire *wire;       /* owned; NULL: no marks are received */
	struct common *common;   /* borrowed */
	struct tracefs *tracefs; /* borrowed; NULL: regions are not written there */
	struct dict names;       /* of regions, by number; if they are written there */
	char notes[SESSION_REGIONS_NR_NOTES][SESSION_REGIONS_NOTE_BYTES];
};

/* Opens the socket. tracefs may be NULL. 0 or -errno with *e. */
int session_regions_open(struct session_regions *r, struct common *common, struct tracefs *tracefs,
			 struct err *e);
/* The value of CPUPERF_MARKS; NULL: no marks are received. */
const char *session_regions_name(const struct session_regions *r);
/* Begins to receive. 0 or -errno with *e. */
int session_regions_start(struct session_regions *r, struct err *e);
/* Receives what was written so far, and ends. notes: what was lost, in words, borrowed; "":
 * nothing.
 */
void session_regions_end(struct session_regions *r, const char *notes[SESSION_REGIONS_NR_NOTES]);

#endif
