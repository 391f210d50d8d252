/*
 * The descriptors of all processes that are open on GPUs: found by an iterator in the kernel, or by
 * the links of /proc/PID/fd, which are read again if the CPU clock of the process has moved.
 * Private to gpu/.
 */
#ifndef GPU_FIND_H
#define GPU_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct root;

enum { GPU_FIND_MAJOR = 226, GPU_FIND_MAX = 65536 }; /* of DRM; descriptors, more are ignored */

struct gpu_file {
	uint32_t pid, process; /* different: a thread with descriptors of its own */
	uint32_t fd, minor;
	uint64_t file; /* the same for descriptors of the same open file; 0: unknown */
};

struct gpu_find;

/* proc: the state of process_proc_reader, borrowed. major: of the devices. 0 or -errno. */
int gpu_find_open(const struct root *root, void *proc, unsigned major, struct gpu_find **out);
void gpu_find_close(struct gpu_find *f); /* NULL is fine */
/* From now on by the iterator, until it fails. 0 or -errno with *why. */
int gpu_find_use_kernel(struct gpu_find *f, struct err *why);
/* True if the last reading was by the iterator, or the next one will be. */
bool gpu_find_is_by_kernel(const struct gpu_find *f);

/*
 * Finds them anew. By links: a process is looked at again only after its CPU clock has moved, which
 * it does within a tick of what it opens; one without such descriptors that has as many as before
 * (since Linux 6.2) at each eighth of those readings only. Descriptors that a thread does not share
 * are not seen. 0, or -errno: there are none then.
 */
int gpu_find_read(struct gpu_find *f);
/* Those of the last reading, by thread and number, ascending. */
const struct gpu_file *gpu_find_list(const struct gpu_find *f, size_t *nr);
/* Of the last reading: processes whose links this user may not read, and those where it failed;
 * *error: of one of the latter. */
size_t gpu_find_nr_denied(const struct gpu_find *f);
size_t gpu_find_nr_failed(const struct gpu_find *f, int *error);
bool gpu_find_is_full(const struct gpu_find *f);

/* The text of /proc/PID/fdinfo/FD, NUL-terminated. Its length, or -errno (-EFBIG: longer). */
ssize_t gpu_find_load(const struct gpu_find *f, const struct gpu_file *file, char *text,
		      size_t size);

#endif
