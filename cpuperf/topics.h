/*
 * The topics of the manual: one table for cpuperf help, --manual, and the lists in man pages.
 */
#ifndef CPUPERF_TOPICS_H
#define CPUPERF_TOPICS_H

#include <stddef.h>

struct buf;

struct topic {
	const char *name;    /* "waits" */
	const char *page;    /* of man: "cpuperf-waits" */
	char section;        /* '7' */
	const char *summary; /* as in the page's NAME */
	const char *manual;  /* its page of the manual, without .html */
	const char *words;   /* that people look for, separated by spaces; "": none */
};

extern const struct topic topics[];
extern const size_t nr_topics;

/* By its name, that of a page of man or of the manual, or one of its words. NULL: none. */
const struct topic *topic_find(const char *word);
/* The nearest of all these; NULL: none is near. */
const char *topic_nearest(const char *word);
/* The topics as a list in man(7) markup. */
void topics_to_man(struct buf *out);

#endif
