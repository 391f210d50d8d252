/*
 * jit-PID.dump, in which a JIT compiler writes its code and what it is named, when (the format is
 * the kernel's tools/perf/Documentation/jitdump-specification.txt). The file is hostile, and may
 * grow: each reading goes on behind the last record that was complete.
 *
 * A dump is an index of places, each from a time on; a cover (base/cover.h) finds the last one
 * until a sample's time. Code bytes and lines stay in the file until annotate asks for them. A
 * sample's epoch counts the places that began (symbols_epoch), so that caches by address and epoch
 * stay right. For annotate and exports the place of such code is its offset in the dump, which two
 * functions at one address do not share. Which process wrote which dump, its executable mapping
 * says (dumps.c). V8's lines are shifted by an ELF header, and may have names that it had freed
 * (jitdump_lines.c).
 */
#ifndef SYMBOL_JITDUMP_H
#define SYMBOL_JITDUMP_H

#include "base/buf.h"
#include "base/cover.h"

#include <byteswap.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct symbol_function;

enum {
	JITDUMP_MAX_CODES = 1 << 20,
	JITDUMP_MAX_NAME_BYTES = 4096,
	JITDUMP_MAX_NAMES_BYTES = 256 << 20,
	JITDUMP_MAX_LINES_BYTES = 16 << 20, /* of one function; the rest is not read */
	JITDUMP_MAX_TABLE_BYTES = 64
				  << 10, /* of one function's unwind table; a longer one is none */
	JITDUMP_NO_CODE = UINT32_MAX,
	JITDUMP_LINE_FILE = 16, /* where the name of the file is in the entry of a line */
	/* V8 writes the addresses of lines as they are behind the header of the ELF file that perf
	 * makes of a function. */
	JITDUMP_ELF_HEADER_BYTES = 64,
};

/* Reads bytes [offset, offset + len), which the file has. 0 or -errno. */
typedef int jitdump_read_fn(void *arg, uint64_t offset, size_t len, void *out);
struct jitdump_source {
	jitdump_read_fn *read;
	bool (*pay)(void *arg, uint64_t bytes); /* for memory; false: over the budget */
	void *arg;
};

/* A function as it was loaded. */
struct jitdump_code {
	uint64_t time_ns, start, size;
	uint64_t offset; /* of its bytes in the file */
	uint32_t name;   /* offset in names */
	uint32_t nr_lines;
	uint64_t lines_offset, lines_len; /* of its lines in the file; len 0: there are none */
	uint64_t table_offset;            /* of its unwind table (.eh_frame) in the file */
	uint32_t table_len;               /* 0: there is none */
	_Atomic(const struct symbol_function *) function; /* NULL at first: for the caller */
	struct jitdump_lines *lines; /* NULL at first: for the caller, who owns it */
	_Atomic(uint8_t *) table;    /* the same */
};

/* The code that is at some addresses from a time on. */
struct jitdump_place {
	uint64_t time_ns, start, end;
	uint32_t code;  /* JITDUMP_NO_CODE: it has no name, or was moved away */
	uint32_t order; /* of the records */
	bool is_move;
	uint64_t from;   /* of a move: where it was */
	uint64_t offset; /* from an address here to that of the code as loaded */
};

/* Zero-initialise. Constant but between readings. */
struct jitdump {
	bool is_open, is_swapped, is_arch_time, has_plain_lines;
	uint16_t machine;           /* EM_… */
	uint64_t next;              /* the offset of the next record */
	const char *fault;          /* NULL, or why nothing from there on is read */
	uint64_t nr_bad;            /* records that were skipped */
	uint32_t nr_late;           /* read after ones of a later time had been arranged */
	struct jitdump_code *codes; /* owned; in the order of the file */
	size_t nr_codes, codes_room;
	struct jitdump_place *places; /* owned; in order of time */
	size_t nr_places, places_room;
	struct buf names;
	struct cover cover; /* of places */
	/* lines, for the next load of their address */
	uint64_t lines_address, lines_offset, lines_len;
	uint32_t nr_lines;
	/* an unwind table, for the next load */
	uint64_t table_offset;
	uint32_t table_len;
};

static inline uint32_t jitdump_32(const struct jitdump *d, const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return d->is_swapped ? bswap_32(v) : v;
}

static inline uint64_t jitdump_64(const struct jitdump *d, const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return d->is_swapped ? bswap_64(v) : v;
}

/* Reads what was added to the file of size bytes; a record that is not whole is not read. 0, also
 * with d->fault; -ENOMEM; -EOVERFLOW: over a limit; or the result of source->read. */
int jitdump_read(struct jitdump *d, const struct jitdump_source *source, uint64_t size);
void jitdump_fini(struct jitdump *d);

/* The place of an address at a time, by the last record until then; UINT64_MAX: by the last one.
 * NULL: none. */
const struct jitdump_place *jitdump_find(const struct jitdump *d, uint64_t address,
					 uint64_t time_ns);
/* How many places began until a time. */
uint32_t jitdump_nr_until(const struct jitdump *d, uint64_t time_ns);
/* The code that has the byte at an offset of the file; NULL: none. */
struct jitdump_code *jitdump_code_at(const struct jitdump *d, uint64_t offset);
const char *jitdump_name(const struct jitdump *d, const struct jitdump_code *c);

/* The address of the code's unwind table, as of the code as loaded: perf's reader and the writers
 * agree that it is behind the code. */
static inline uint64_t jitdump_table_address(const struct jitdump_code *c)
{
	return c->start + ((c->size + 7) & ~(uint64_t)7);
}

/* Source lines by address, as of the code as loaded. */
struct jitdump_line {
	uint64_t address;
	const char *file; /* as in text, not safe to show */
	uint32_t line;    /* 0: not known */
	uint32_t order;   /* in the file */
};
struct jitdump_lines {
	struct jitdump_line *item; /* owned; by address */
	size_t nr, room;
	char *text; /* owned */
};
/* Without lines if their entries are not of the code. 0; -ENOMEM; or the result of source->read. */
int jitdump_lines_read(const struct jitdump *d, const struct jitdump_code *c,
		       const struct jitdump_source *source, struct jitdump_lines *out);
void jitdump_lines_fini(struct jitdump_lines *l);
/* NULL: none is known. */
const struct jitdump_line *jitdump_lines_find(const struct jitdump_lines *l, uint64_t address);

#endif
