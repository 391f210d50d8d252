/*
 * The files of a process, or of one of its threads, below /proc. A number may be that of another
 * process by now: who must know compares start times (proc/stat.h), or keeps a file open.
 */
#ifndef PROC_PROC_H
#define PROC_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct root;
struct stat;

struct proc {
	const struct root *root;
	uint32_t pid;
	uint32_t tid; /* one of its threads; 0: the process */
	bool is_self; /* this process, whatever its number is there */
};

/* PROC(root, pid), or PROC(root, pid, tid): for a call. */
#define PROC(...)      (&(const struct proc){__VA_ARGS__})
#define PROC_SELF(...) (&(const struct proc){.is_self = true, .root = __VA_ARGS__})

enum { PROC_NAME_BYTES = 64 };

/* "12/name", or "12/task/13/name": below /proc. name: "stat"; "": the folder. The length, or
 * -ENAMETOOLONG. */
int proc_name(const struct proc *p, const char *name, char *out, size_t size);
/* The same with the root and /proc before it. */
int proc_path(const struct proc *p, const char *name, char *out, size_t size);

/* The file that shows what is mapped there: "map_files/1000-2000". */
void proc_map_file(uint64_t start, uint64_t end, char name[PROC_NAME_BYTES]);

/* Opens the file for reading. The descriptor or -errno. */
int proc_open(const struct proc *p, const char *name);
/* As root_load, root_load_line and root_load_text (base/root.h). */
int proc_load(const struct proc *p, const char *name, struct buf *out);
int proc_load_line(const struct proc *p, const char *name, char *line, size_t size);
int proc_load_text(const struct proc *p, const char *name, char *out, size_t size);
/* Where a link leads to, truncated to size, which has room for a NUL. The length or -errno. */
ssize_t proc_read_link(const struct proc *p, const char *name, char *out, size_t size);
/* fstatat of the file, or of where its link leads to. 0 or -errno. */
int proc_find(const struct proc *p, const char *name, struct stat *out);
/* As root_each, of a folder: "fd". */
int proc_each_name(const struct proc *p, const char *folder, int (*fn)(const char *name, void *arg),
		   void *arg);
/* False: it has ended, and was waited for. */
bool proc_is_there(const struct proc *p);

/* Adds "12 (sleep)" to a text. */
void proc_add_name(const struct proc *p, struct buf *out);

#endif
