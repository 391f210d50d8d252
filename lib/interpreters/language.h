/*
 * A language: how an interpreter of it is recognised, and where it has what a program of the kernel
 * reads (bpf/programs/interpreted_NAME.bpf.h). Private to interpreters/.
 */
#ifndef INTERPRETERS_LANGUAGE_H
#define INTERPRETERS_LANGUAGE_H

#include "bpf/interpreted_shared.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct trace_code;

enum { INTERPRETERS_MAX_SYMBOLS = 128 }; /* of a language */

/* Its address in the file, and its bytes. value 0: the file does not define it. */
struct interpreters_symbol {
	uint64_t value, size;
};

struct interpreters_language {
	uint32_t number;  /* BPF_INTERPRETED_…, which is that of enum trace_language */
	const char *file; /* is in the names of its programs and libraries; NULL: nothing */
	/* Of each program with such a section: it is looked at when it is met first, and for no
	 * other language. NULL: none has. */
	const char *section;
	const char *const *symbols; /* that read is interested in; ends with NULL */
	bool has_local;             /* some of them are only in files that are not stripped */
	/* By what was found of each of the symbols: fills the part of *out that is the language's,
	 * loop_begin and loop_end, with addresses in the file. False: it is no interpreter, or one
	 * that is not known. */
	bool (*read)(const struct elf_file *f, const struct interpreters_symbol *found,
		     struct bpf_interpreted_process *out);
	/* Adds base to the addresses of the language's part. */
	void (*move)(struct bpf_interpreted_process *p, uint64_t base);
	/* Changes names to what people write; NULL: they are. lines: room for others than the
	 * program's. */
	void (*name)(struct trace_code *code, uint8_t lines[BPF_INTERPRETED_LINES_BYTES]);
	/* Fills *out, as the kernel's program does. False: it cannot be read, or other code is
	 * there now. NULL: the kernel's program reads all. */
	bool (*far)(const struct bpf_interpreted_far *far,
		    const struct bpf_interpreted_process *process,
		    struct bpf_interpreted_code *out);
};

extern const struct interpreters_language interpreters_go, interpreters_javascript,
    interpreters_perl, interpreters_php, interpreters_python, interpreters_ruby;

/* All of them; ends with NULL. */
extern const struct interpreters_language *const interpreters_languages[];
/* NULL: there is none. */
const struct interpreters_language *interpreters_find_language(uint32_t number);

/* Writes the character, 4 bytes at most, without a zero byte; what is none as U+FFFD. Returns how
 * many bytes. */
size_t interpreters_add_utf8(char *to, uint32_t c);
/* Of a text that the programs may have cut at its end, how many bytes are whole characters; all, if
 * it is no UTF-8. */
size_t interpreters_whole(const char *text, size_t len);

/* Reads memory of the process. False: not all of it can be read. */
bool interpreters_far_load(const struct bpf_interpreted_far *far, void *to, size_t bytes,
			   uint64_t at);
/* Copies a UTF-8 text of length bytes to room for BPF_INTERPRETED_NAME_BYTES: a long one keeps its
 * end if it is a path, and else its beginning. False: it cannot be read. */
bool interpreters_far_text(const struct bpf_interpreted_far *far, uint64_t at, uint64_t length,
			   bool is_path, struct bpf_interpreted_text *out, uint8_t *to);

bool interpreters_go_far(const struct bpf_interpreted_far *far,
			 const struct bpf_interpreted_process *process,
			 struct bpf_interpreted_code *out);
bool interpreters_php_far(const struct bpf_interpreted_far *far,
			  const struct bpf_interpreted_process *process,
			  struct bpf_interpreted_code *out);
bool interpreters_python_far(const struct bpf_interpreted_far *far,
			     const struct bpf_interpreted_process *process,
			     struct bpf_interpreted_code *out);
bool interpreters_ruby_far(const struct bpf_interpreted_far *far,
			   const struct bpf_interpreted_process *process,
			   struct bpf_interpreted_code *out);

#endif
