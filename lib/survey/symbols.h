/*
 * The kernel's symbols, as text of /proc/kallsyms. The kernel formats each of its 100,000 lines
 * when it is read, which takes longer than all else that a session does at its start; so the text
 * is kept for later sessions in a file (symbols_cache.h), as far as it holds for the whole boot,
 * and packed as the caller wants it.
 *
 * Source: kernel/kallsyms.c. What changes while the machine runs comes last there, behind the
 * kernel and its modules, under names that no module has: [__builtin__ftrace], [bpf],
 * [__builtin__kprobes].
 */
#ifndef SURVEY_SYMBOLS_H
#define SURVEY_SYMBOLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct root;

enum { SURVEY_SYMBOLS_PIECE_BYTES = 1 << 20 }; /* of text given or packed at once, at most */

struct survey_symbols_config {
	const struct root *root; /* of /proc */
	/* The lines of what changes are wanted too: nothing is kept then, nor taken from there. */
	bool wants_changing;
	/* Whole lines; copied or written before it returns. Non-zero ends it. */
	int (*give)(const char *text, size_t len, void *arg);

	const char *folder; /* where it is kept; NULL: nowhere */
	/* If it is kept, and not NULL then. pack makes a piece of whole lines, which lives until it
	 * is called again; false: it cannot. Pieces are then given in place of text, whether they
	 * were kept or have just been made. */
	bool (*pack)(const char *text, size_t len, const void **piece, size_t *piece_len,
		     void *arg);
	int (*pass_packed)(const void *piece, size_t len, void *arg);

	void *arg;
	const atomic_bool *stop; /* NULL, or looked at between reads */
};

/*
 * Gives the text. 0; -EACCES: addresses are hidden from us, nothing is given; -ECANCELED: stopped;
 * -EFBIG: a line without end; -errno of opening or reading; or what a callback returned. What was
 * read before a failure is given. That the text cannot be kept is no failure.
 */
int survey_symbols_run(const struct survey_symbols_config *c);

/* Where this process may keep it: /run/cpuperf for root, else cpuperf in $XDG_RUNTIME_DIR. False:
 * nowhere. */
bool survey_symbols_folder(char *path, size_t size);

#endif
