/*
 * Lists of events as the option --event spells them.
 */
#ifndef API_NAMES_H
#define API_NAMES_H

#include "event/catalogue.h"
#include "spec/spec.h"

struct buf;

/* Adds the events of the list to the spec. origin: where the list is from, for messages; found:
 * receives what was chosen for names without a group; may be NULL. 0, or -errno with errors in
 * *errs; the spec then has the events that were found. */
int api_names_add(const char *list, const char *origin, const struct catalogue *c,
		  struct spec *spec, struct buf *found, struct err_list *errs);

#endif
