/*
 * One error, told to a person: what, where, why, and what to do.
 *
 * Functions that meet a person's input fill a struct err besides returning
 * -errno. The first error wins: later calls on a filled err change nothing.
 * Knows nothing of who prints it.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>
#include <stddef.h>

struct err {
	int code;         /* -errno; 0: no error */
	unsigned line;    /* from 1; 0: no position */
	unsigned column;  /* from 1, in characters (UTF-8 code points) */
	char source[256]; /* file, option or kernel interface; "" if none */
	char msg[512];
	char hint[512]; /* what to do; "" if none */
	bool is_closed; /* a later error was refused: its hint is too */
};

/* Control characters in messages, sources and hints become '?': text from outside is quoted there,
 * and a terminal must not obey it. */

/* Fills *e unless it is filled already. Returns code (a negative errno), always, so that
 * `return err_set(e, -EINVAL, …)` is the idiom. e may be NULL. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* As err_set, with a place. source may be NULL; line 0 means no position. */
int err_set_at(struct err *e, int code, const char *source, unsigned line, unsigned column,
	       const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* Adds what to do about it, once; call it right after err_set. e may be NULL. */
void err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Empties *e. */
void err_clear(struct err *e);

/* "source:line:column: error: msg\n  hint: hint" without a final newline, cut at size. */
void err_format(const struct err *e, char *buf, size_t size);

/* Errors of one text, in the order they were found; at most ERR_LIST_MAX are stored and the rest
 * only counted. Zero-initialise; nothing to free. It is too large for the stack of a program:
 * allocate it with err_list_new. */
enum { ERR_LIST_MAX = 32 };
struct err_list {
	size_t nr;      /* kept in item[] */
	size_t dropped; /* found after the list was full */
	struct err item[ERR_LIST_MAX];
};

/* An empty list; NULL without memory. */
struct err_list *err_list_new(void);
/* A variable of this kind is freed at the end of its scope. */
#define ERR_AUTO_LIST __attribute__((cleanup(err_list_cleanup))) struct err_list
void err_list_cleanup(struct err_list **l);
/* The next free slot, emptied; NULL when the list is full (err_set takes NULL). */
struct err *err_list_add(struct err_list *l);
/* Puts a filled error at its place by line and column, behind others of the same place. Returns
 * where it is, or NULL if the list is full of earlier ones. */
struct err *err_list_insert(struct err_list *l, const struct err *e);

#endif
