/*
 * Common words for what people want to measure, and the events and specs that answer them.
 */
#ifndef EVENT_SYNONYMS_H
#define EVENT_SYNONYMS_H

struct event;

struct event_synonym {
	const char *words;  /* separated by '|'; in lower case, singular, with blanks */
	const char *events; /* globs of "group:name", separated by ','; the best one first */
	const char *specs;  /* names without .cpspec, separated by ", "; "" */
};

/* The row that has the word, written with blanks, '_', '-' or '.', in the plural or not; NULL:
 * there is none. */
const struct event_synonym *event_synonym_find(const char *word);
enum { EVENT_SYNONYM_MAX_PARTS = 8 }; /* of events */
/* Which part of s->events names the event, from 0; -1: none does. */
int event_synonym_part(const struct event_synonym *s, const struct event *ev);

#endif
