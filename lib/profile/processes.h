/*
 * The tasks and mappings of a session: a table built once from the records of the common file, then
 * constant, so that any number of threads look up samples in any order. Independent of symbols.
 *
 * - The mapping of an address at a time is the one that covers it and began last before then: the
 *   kernel does not record when a mapping ends.
 * - A fork begins with a copy of its parent's mappings, an exec with none. A reused pid is another
 *   process.
 * - While an exec is under way (up to its last mapping, the vdso), addresses belong to the calling
 *   program. From then until the new program maps a file itself, addresses that it has not mapped
 *   are looked up in the calling one; of a program that maps none, always. So an answer does not
 *   depend on what the kernel records after its time, and an iteration whose end is within an exec
 *   is read alike during the session and afterwards.
 * - Threads of a process are numbered in the order of their creation. A fork and an exec begin
 * anew, with the main thread. Threads that the session neither recorded nor found have no number.
 * - A fork begins with its parent's command line, an exec with one that is known if it could be
 *   read.
 * - Surveyed records describe what existed before the session: they apply from its beginning,
 *   unless a record of the kernel contradicts them.
 */
#ifndef PROFILE_PROCESSES_H
#define PROFILE_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

struct err;
struct profile_session;
struct profile_processes;
struct range;

enum profile_object_kind {
	PROFILE_OBJECT_FILE = 1,
	PROFILE_OBJECT_ANON, /* memory without a file ("//anon", "[heap]", "[stack]"): code made
				at run time */
	PROFILE_OBJECT_VDSO,
	PROFILE_OBJECT_DELETED, /* no build-id, and the name ends in " (deleted)": a file if it is
				   found by its name, else as PROFILE_OBJECT_ANON */
};

enum { PROFILE_MAX_BUILD_ID_BYTES = 20 };

/* A mapped object: one for each path and build-id (or device and inode) of the session. A path may
 * have one of each: where the kernel could not read the build-id, the file may be another one. */
struct profile_object {
	uint32_t number; /* from 0, dense: an index for callers' tables */
	enum profile_object_kind kind;
	const char *path;       /* as recorded, for opening; not safe to show */
	const char *name;       /* the path after its last slash (all of "//anon"); safe to print */
	const char *shown_path; /* safe to show */
	uint8_t build_id_len;   /* 0: not recorded */
	uint8_t build_id[PROFILE_MAX_BUILD_ID_BYTES];
	uint32_t major, minor; /* with inode 0: not recorded */
	uint64_t inode, inode_generation;
};

/* True if a file may be found for it. */
static inline bool profile_object_is_file(const struct profile_object *o)
{
	return o->kind == PROFILE_OBJECT_FILE || o->kind == PROFILE_OBJECT_DELETED;
}

/* Parts of the file of an object, which the session stored as its path did not lead to it. */
struct profile_file_parts {
	uint32_t major, minor;
	uint64_t inode, file_bytes;
	uint8_t build_id_len, build_id[PROFILE_MAX_BUILD_ID_BYTES];
	const char *path;
	const struct range *part;
	size_t nr;
	const uint8_t *bytes;
};

struct profile_mapping {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* of start, in the object's file */
	uint64_t from_ns;    /* CLOCK_MONOTONIC */
	uint32_t prot;       /* PROT_… bits */
	uint32_t pid;        /* its process: code made at run time is named by process */
	const struct profile_object *object;
};
static inline bool profile_mapping_is_code(const struct profile_mapping *m)
{
	return !m->prot || m->prot & PROT_EXEC; /* 0: not recorded */
}

/* One life of an address space: from a fork or an exec to the exit or the next exec. */
struct profile_process {
	uint32_t number; /* from 0, dense; all unknown processes share the last */
	uint32_t pid;
	uint64_t from_ns, to_ns; /* to_ns UINT64_MAX: alive at the end */
	uint32_t cmdline;        /* number of its command line; 0: not known */
};

/* The name of a task; each text once. */
struct profile_comm {
	const char *name; /* safe to show */
	uint32_t number;  /* from 0, dense */
};

/* The task of a sample. No pointer is NULL: unknown tasks have entries of their own (a process of
 * that pid without mappings; "[unknown]"; the idle task, pid 0, is "swapper"; a thread that had
 * ended, and has no number any more, is "[ended]"). */
struct profile_task {
	const struct profile_process *process;
	const struct profile_comm *comm; /* the thread's */
	uint32_t thread; /* its number in the process, from PROFILE_MAIN_THREAD on; TRACE_UNKNOWN */
};

enum { PROFILE_MAIN_THREAD = 1 };

/* Kernel code that was loaded or unloaded: BPF programs, trampolines, from ksymbol records. */
struct profile_ksymbol {
	uint64_t start, len;
	uint64_t from_ns, to_ns;
	const char *name; /* safe to show */
};

/* Symbols of the kernel that are still packed in the file: those between two addresses. */
struct profile_symbol_part {
	uint64_t first, last;
	uint64_t offset; /* for profile_symbol_text */
};

/*
 * Reads the session's common file. 0, also without the file: that is reported, and all tasks are
 * unknown; -ENOMEM; or the result of kallsyms. kallsyms (may be NULL) receives the file's text of
 * /proc/kallsyms in pieces, which may end within a line; a result other than 0 ends the reading.
 * What has a range is not passed: it is read when it is needed.
 * Tasks, mappings and symbols beyond a limit are skipped, and that is reported.
 */
typedef int profile_kallsyms_fn(void *arg, const char *text, size_t len);
int profile_processes_load(struct profile_session *s, profile_kallsyms_fn *kallsyms, void *arg,
			   struct profile_processes **out);
void profile_processes_free(struct profile_processes *p); /* NULL is fine */

size_t profile_nr_objects(const struct profile_processes *p);
const struct profile_object *profile_object(const struct profile_processes *p, uint32_t number);
/* Those that are known. number: below the count. */
size_t profile_nr_processes(const struct profile_processes *p);
const struct profile_process *profile_process(const struct profile_processes *p, uint32_t number);
/* What the session stored of its file, found by the build-id, or without one by path, device and
 * inode, deleted or not. NULL: nothing. */
const struct profile_file_parts *profile_find_file_parts(const struct profile_processes *p,
							 const struct profile_object *o);
/* All mappings of all processes, in no order. */
size_t profile_nr_mappings(const struct profile_processes *p);
const struct profile_mapping *profile_mapping(const struct profile_processes *p, size_t i);
/* The process that made a mapping, which those that it forked have as well; NULL: not known. */
const struct profile_process *profile_process_of(const struct profile_processes *p,
						 const struct profile_mapping *m);
/* Whose mappings a process began with, by a fork; NULL: nobody's. */
const struct profile_process *profile_forked_from(const struct profile_processes *p,
						  const struct profile_process *process);
size_t profile_nr_comms(const struct profile_processes *p);
const struct profile_comm *profile_comm(const struct profile_processes *p, uint32_t number);
/* Arguments joined by spaces, safe to show; number 0 is "[unknown]". The process may have changed
 * its command line later. */
size_t profile_nr_cmdlines(const struct profile_processes *p);
const char *profile_cmdline(const struct profile_processes *p, uint32_t number);
/* The next process from *at on (start with 0) that a task of the session made at or after from_ns,
 * and that had not ended with the records; NULL: there is none. It steps *at. */
const struct profile_process *profile_next_alive(const struct profile_processes *p, size_t *at,
						 uint64_t from_ns);
/* The same for a process whose events the kernel ended at its exec: the program has more rights
 * than its caller, or its file may not be read. Its from_ns is that of the exec. */
const struct profile_process *profile_next_hidden(const struct profile_processes *p, size_t *at,
						  uint64_t from_ns);
/* The time that the threads of a command's processes existed, together, and their number: the
 * process, from start_ns to end_ns, when its end was seen, and what it created meanwhile. 0;
 * -ENODATA: the command's exec is not recorded, or the end of a set-user-ID program; -ENOMEM. */
struct profile_lifetime {
	uint64_t nr_threads, ns;
	uint64_t nr_processes, nr_leaves; /* leaves: that made no process */
	/* The time in which there was one process besides those that had a child; and that of those
	 * that had one, together. */
	uint64_t alone_ns, parents_ns;
};
int profile_lifetime(const struct profile_processes *p, uint32_t pid, uint64_t start_ns,
		     uint64_t end_ns, struct profile_lifetime *out);
/* In the order of the file. */
size_t profile_nr_symbol_parts(const struct profile_processes *p);
const struct profile_symbol_part *profile_symbol_part(const struct profile_processes *p, size_t i);
/* Reads one of the session's and passes its text. 0, also where it cannot be read any more; or the
 * result of kallsyms; -ENOMEM. For any thread. */
int profile_symbol_text(const struct profile_session *s, const struct profile_symbol_part *part,
			profile_kallsyms_fn *kallsyms, void *arg);
size_t profile_nr_ksymbols(const struct profile_processes *p);
const struct profile_ksymbol *profile_ksymbol(const struct profile_processes *p, size_t i);

/* The lookups of one thread: caches the last answers. Not thread-safe. */
struct profile_lookup;
struct profile_lookup *profile_lookup_new(const struct profile_processes *p); /* NULL: no memory */
void profile_lookup_free(struct profile_lookup *l);                           /* NULL is fine */
const struct profile_processes *profile_lookup_processes(const struct profile_lookup *l);

void profile_lookup_task(struct profile_lookup *l, uint32_t pid, uint32_t tid, uint64_t time_ns,
			 struct profile_task *out);
/* The last name of the thread, which ran at that time: until another one has its number. NULL: not
 * known. */
const char *profile_lookup_last_name(struct profile_lookup *l, uint32_t pid, uint32_t tid,
				     uint64_t time_ns);
/* The number of the process's mappings that began until then: while it is the same, so are the
 * mappings of all addresses. */
uint32_t profile_lookup_epoch(struct profile_lookup *l, const struct profile_process *process,
			      uint64_t time_ns);
/* NULL: no mapping is known at that address and time. */
const struct profile_mapping *profile_lookup_mapping(struct profile_lookup *l,
						     const struct profile_process *process,
						     uint64_t address, uint64_t time_ns);
/* The same for an address of a stack: NULL also if the mapping is known to be data, to which a
 * stack walked without frame pointers may lead. */
const struct profile_mapping *profile_lookup_code(struct profile_lookup *l,
						  const struct profile_process *process,
						  uint64_t address, uint64_t time_ns);

#endif
