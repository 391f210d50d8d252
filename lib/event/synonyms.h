/*
 * Common words for what people want to measure, and the events and specs that answer them.
 */
#ifndef EVENT_SYNONYMS_H
#define EVENT_SYNONYMS_H

#include <stdbool.h>

struct event;

struct event_synonym {
	const char *words;  /* separated by '|'; in lower case, singular, with blanks */
	const char *events; /* globs of "group:name", separated by ','; the best one first */
	const char *specs;  /* names without .cpspec, separated by ", "; "" */
};

/* The row that has the word, written with blanks, '_', '-' or '.', in the plural or not; NULL:
 * there is none. */
const struct event_synonym *event_synonym_find(const char *word);
/* True if it names the event. */
bool event_synonym_has(const struct event_synonym *s, const struct event *ev);

#endif
