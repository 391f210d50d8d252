/*
 * The files in which probes are looked for.
 */
#ifndef EVENT_USDT_FILES_H
#define EVENT_USDT_FILES_H

#include <stdbool.h>

struct elf_file;
struct elf_reader;
struct event_objects;
struct host;

/* A file of a target, while it is read. */
struct usdt_file {
	const char *path;
	struct elf_reader *reader; /* with which it was opened */
	bool is_program;           /* a process runs it, or will; else it is a library */
};

/* Whether files of a target are searched, or those of the machine. */
bool usdt_has_target(const struct event_objects *objects);
/* Calls fn for each file, once, whatever its names; files that cannot be read are skipped. Of a
 * target: what its programs map at their start, or what its processes map now. Without one (or
 * NULL): the libraries of the loader's cache. Stops at the first non-zero result and returns it;
 * else 0 or -ENOMEM. */
int usdt_files_each(const struct host *h, const struct event_objects *objects,
		    int (*fn)(const struct elf_file *f, const char *path, void *arg), void *arg);
/* Calls fn for one file, if it can be read. */
int usdt_files_read(const char *path,
		    int (*fn)(const struct elf_file *f, const char *path, void *arg), void *arg);
/* The same two for who asks for more of the file. */
int usdt_files_walk(const struct host *h, const struct event_objects *objects,
		    int (*fn)(const struct elf_file *f, const struct usdt_file *file, void *arg),
		    void *arg);
int usdt_files_walk_one(const char *path,
			int (*fn)(const struct elf_file *f, const struct usdt_file *file,
				  void *arg),
			void *arg);
/* Of the libraries of the loader's cache those whose paths are wanted: a program may load them
 * later. Both functions have the same arg. */
int usdt_files_walk_installed(const struct host *h, bool (*is_wanted)(const char *path, void *arg),
			      int (*fn)(const struct elf_file *f, const struct usdt_file *file,
					void *arg),
			      void *arg);

#endif
