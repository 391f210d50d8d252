/*
 * The traces of a session one after another, by iteration and trace number. Several iterators may
 * read one session at once; each has its own position and memory. A problem with a file is reported
 * each time an iterator reads the file.
 */
#ifndef PROFILE_ITERATOR_H
#define PROFILE_ITERATOR_H

#include "profile/session.h"

struct profile_iterator;

/* The iterator is before the first trace. The session is borrowed. NULL: no memory;
 * profile_iterator_next and _free accept it. */
struct profile_iterator *profile_iterator_new(const struct profile_session *s);
void profile_iterator_free(struct profile_iterator *it);

/* The next readable trace: 1; 0 after the last; -ENOMEM, also if it is NULL. Files that cannot be
 * read are reported and skipped. *out is borrowed until the next call. */
int profile_iterator_next(struct profile_iterator *it, struct profile_trace *out);
/* Moves before the first trace of that iteration or of a later one. */
void profile_iterator_seek(struct profile_iterator *it, uint32_t iteration);
/* The iteration of the next file; UINT32_MAX: there is none. */
uint32_t profile_iterator_ahead(const struct profile_iterator *it);

/* The records of the trace that profile_iterator_next returned last; valid until the next trace.
 * 1: close them with profile_records_close; 0: they cannot be read, and why is reported;
 * -ENOMEM. */
int profile_iterator_records(struct profile_iterator *it, struct profile_records **out);

#endif
