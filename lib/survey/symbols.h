/*
 * The kernel's symbols, as text of /proc/kallsyms. The kernel formats its 100,000 lines on each
 * read, which takes longer than everything else at the start of a session. So the part that does
 * not change until the next boot is cached in a file (symbols_cache.h), packed by the caller.
 *
 * Source: kernel/kallsyms.c. Symbols that change while the machine runs follow those of the kernel
 * and its modules, as [__builtin__ftrace], [bpf] and [__builtin__kprobes].
 *
 * It is in /run/cpuperf or $XDG_RUNTIME_DIR/cpuperf, one for a boot and set of modules. BPF
 * programs change at run time, so they are queried (bpf.h) and become ksymbol records; if the
 * kernel does not answer, all symbols are read again.
 */
#ifndef SURVEY_SYMBOLS_H
#define SURVEY_SYMBOLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct root;

/* Per piece of text: a report unpacks those that have what it asks for. */
enum { SURVEY_SYMBOLS_PIECE_BYTES = 1 << 17 };

struct survey_symbols_config {
	const struct root *root; /* of /proc */
	/* Also passes the lines that may change; disables the cache. */
	bool wants_changing;
	/* Passes complete lines, valid during the call. Non-zero ends the reading. */
	int (*pass_text)(const char *text, size_t len, void *arg);

	const char *folder; /* of the cache; NULL: none */
	/* Required with folder. pack packs complete lines into a piece, valid until the next call;
	 * false: not possible. pass_packed is called with pieces from the cache or from pack,
	 * instead of pass_text. */
	bool (*pack)(const char *text, size_t len, const void **piece, size_t *piece_len,
		     void *arg);
	int (*pass_packed)(const void *piece, size_t len, void *arg);

	void *arg;
	const atomic_bool *stop; /* NULL, or polled between reads */
};

/*
 * Passes the symbols. 0; -EACCES: addresses are hidden, nothing was passed; -ECANCELED: stopped;
 * -EFBIG: a line without an end; -errno of opening or reading; or the result of a callback. What
 * was read before a failure was passed. Failures of the cache are only logged.
 */
int survey_symbols_run(const struct survey_symbols_config *c);

/* The lowest and the highest address of lines. False: none has one. */
bool survey_symbols_range(const char *text, size_t len, uint64_t *first, uint64_t *last);

/* The folder of the cache: /run/cpuperf for root, else $XDG_RUNTIME_DIR/cpuperf. False: none. */
bool survey_symbols_folder(char *path, size_t size);

#endif
