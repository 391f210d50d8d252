/*
 * Warnings of a session: passed on as they happen, and stored for the traces of the iteration. One
 * thread uses them.
 */
#ifndef PLAN_NOTES_H
#define PLAN_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_writer;

enum {
	NOTES_TEXT_BYTES = 4096, /* longer texts are cut */
	NOTES_MAX = 256,         /* stored per iteration; further ones are only passed on */
	NOTES_NR_KINDS = 32,
};

struct note {
	uint32_t trace;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	char *text;       /* owned */
};

struct notes {
	void (*on_note)(const char *text, bool is_essential, void *arg); /* may be NULL */
	void (*on_late)(const char *text, void *arg);                    /* may be NULL */
	void *arg;
	struct note item[NOTES_MAX];
	size_t nr;
	struct {
		const char *fmt;
		uint64_t nr;
	} kind[NOTES_NR_KINDS];
};

/* Stores the text for the trace and passes it on. Recurring notes are passed on less and less: of
 * those with one fmt (other than "%s") the first three, then those whose number is a power of two,
 * with that number. */
void notes_add(struct notes *n, uint32_t trace, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a text that states where the session's files are. */
void notes_add_essential(struct notes *n, uint32_t trace, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Only passes the text on: the traces are complete. */
void notes_add_late(const struct notes *n, const char *text);
/* Appends the stored notes of the trace to what the writer has gathered. */
void notes_write(const struct notes *n, uint32_t trace, struct trace_writer *w);
/* Drops the stored notes: the iteration is written. */
void notes_drop(struct notes *n);

#endif
