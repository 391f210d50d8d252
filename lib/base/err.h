/*
 * An error for a person: what, where, why, and what to do.
 *
 * Functions that process a person's input fill a struct err besides returning -errno. The first
 * error wins: later calls on a filled err change nothing.
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
	bool is_closed; /* a later error was ignored; so is its hint */
};

/* Control characters in messages, sources and hints become '?': they quote untrusted text. */

/* Fills *e unless it is filled. e may be NULL. Always returns code (a negative errno), for `return
 * err_set(e, -EINVAL, …)`. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* As err_set, with a position. source may be NULL; line 0: no position. */
int err_set_at(struct err *e, int code, const char *source, unsigned line, unsigned column,
	       const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* Adds what to do, once; call it right after err_set. e may be NULL. */
void err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Empties *e. */
void err_clear(struct err *e);

/* "source:line:column: error: msg\n  hint: hint", without a final newline, truncated to size. */
void err_format(const struct err *e, char *buf, size_t size);

/* The errors in one text; at most ERR_LIST_MAX are stored, the rest counted. Zero-initialise; needs
 * no freeing. Too large for the stack: allocate it with err_list_new. */
enum { ERR_LIST_MAX = 32 };
struct err_list {
	size_t nr;      /* stored in item[] */
	size_t dropped; /* found when the list was full */
	struct err item[ERR_LIST_MAX];
};

/* An empty list; NULL without memory. */
struct err_list *err_list_new(void);
/* A variable of this kind is freed at the end of its scope. */
#define ERR_AUTO_LIST __attribute__((cleanup(err_list_cleanup))) struct err_list
void err_list_cleanup(struct err_list **l);
/* The next free item, emptied; NULL when the list is full (which err_set accepts). */
struct err *err_list_add(struct err_list *l);
/* Inserts a filled error by line and column, after those of the same position. Returns the item, or
 * NULL if the list is full of earlier ones. */
struct err *err_list_insert(struct err_list *l, const struct err *e);

#endif
