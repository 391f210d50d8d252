/*
 * Reads a text into a model: the parsed JSON with the positions of its keys and values, and objects
 * by the rows of the key table. Rules between keys are in check.c.
 */
#ifndef SPEC_DOC_H
#define SPEC_DOC_H

#include "spec/json.h"
#include "spec/keys.h"
#include "spec/scan.h"

struct err_list;
struct spec;

struct doc {
	const char *source; /* borrowed */
	bool is_stored; /* by spec_to_json, perhaps of a later version; the doc's maker sets it */
	struct err_list *errs;
	struct arena *arena; /* of the model, for its strings; borrowed */
	struct scan scan;
	json_t *root; /* an object; owned */
};

/* Parses the text; duplicate keys and a root that is no object are reported, but only syntax stops.
 * 0, -EINVAL or -ENOMEM, reported. level is that of the root. Call doc_close in any case. */
int doc_open(struct doc *d, const char *text, size_t len, enum key_level level);
void doc_close(struct doc *d);

/* Reads the object of a node into target, by the rows of level. Reports wrong values and leaves
 * their fields unchanged. 0 or -ENOMEM, reported. */
int doc_read(struct doc *d, const json_t *object, int node, enum key_level level, void *target);
/* The items of a KEY_EVENTS row into a struct spec (events.c), and of a KEY_METRICS row
 * (metrics.c).
 */
int doc_read_events(struct doc *d, const json_t *array, int node, void *target);
int doc_read_metrics(struct doc *d, const json_t *array, int node, void *target);
/* Sets what events have from the key sampling, and their other defaults. */
void doc_complete_events(struct spec *s);
/* The text of the member, a string that was read as value, has escapes, beside \" and \\ alone:
 * offsets in value are not those of the file (diag_within). */
bool doc_has_escapes(const struct doc *d, int node, const char *member, const char *value);
/* Reports "must be …, not …" at the node's value. */
void doc_report_wrong(struct doc *d, const struct key_row *row, const json_t *value, int node);

/* Appends a file to *text. 0 or -errno, reported. What a path may name is io_open_input's rule. */
struct buf;
int doc_load(const char *path, struct buf *text, struct err_list *errs);
int doc_load_fd(int fd, const char *path, struct buf *text, struct err_list *errs);

#endif
