/*
 * The address space of another process: its objects, their symbols and tables of unwinding, as they
 * are in its memory. All of it is hostile.
 */
#ifndef ATTACH_SPACE_H
#define ATTACH_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum attach_kind {
	ATTACH_OTHER,
	ATTACH_LOADER,
	ATTACH_LIBC,
	ATTACH_ALLOCATOR, /* another malloc than the C library's */
	ATTACH_AGENT,
};

struct attach_mapping {
	uint64_t start, end, offset, inode;
	uint32_t major, minor; /* of the file's device */
	bool is_readable, is_writable, is_executable;
	const char *name; /* borrowed from the space; "" */
};

struct attach_object {
	const char *name; /* of its file */
	uint64_t inode, start, end;
	uint64_t bias; /* what is added to addresses of the file */
	enum attach_kind kind;
	/* the segment with the tables of unwinding; owned */
	uint8_t *tables;
	uint64_t tables_at, tables_bytes, header_at;
	/* names of functions; owned */
	uint8_t *symbols;
	char *strings;
	size_t nr_symbols, strings_bytes;
};

struct attach_space {
	pid_t pid;
	int memory;
	char *text; /* owned: the kernel's list */
	struct attach_mapping *mapping;
	size_t nr, room;
	struct attach_object *object;
	size_t nr_objects, object_room;
};

/* 0 or -errno: -ESRCH if it has ended. */
int attach_space_open(struct attach_space *s, pid_t pid);
void attach_space_close(struct attach_space *s);

bool attach_space_read(const struct attach_space *s, uint64_t address, void *to, size_t bytes);
bool attach_space_write(const struct attach_space *s, uint64_t address, const void *from,
			size_t bytes);
const struct attach_mapping *attach_space_mapping(const struct attach_space *s, uint64_t address);
/* NULL: no file with a valid header is there. */
struct attach_object *attach_space_object(struct attach_space *s, uint64_t address);
struct attach_object *attach_space_of_kind(struct attach_space *s, enum attach_kind kind);

/* What the object defines: its address; 0: nothing. *bytes: its size; NULL is fine. */
uint64_t attach_symbol(const struct attach_space *s, struct attach_object *o, const char *name,
		       uint64_t *bytes);
/* Loads the tables of unwinding. False: it has none. */
bool attach_tables(const struct attach_space *s, struct attach_object *o);
/* The address of bytes in the code between start and end; 0: they are not there. */
uint64_t attach_code(const struct attach_space *s, uint64_t start, uint64_t end, const void *bytes,
		     size_t len);

#endif
