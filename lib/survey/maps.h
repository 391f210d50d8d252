/*
 * The executable mappings of a process, queried one by one, because most mappings are not
 * executable and the kernel would format a line of text for each. Source: PROCMAP_QUERY (Linux
 * 6.11) in linux/fs.h, do_procmap_query in fs/proc/task_mmu.c. fd: /proc/PID/maps, open.
 */
#ifndef SURVEY_MAPS_H
#define SURVEY_MAPS_H

#include <stdint.h>

struct elf_build_id;
struct proc_mapping;
struct root;

enum { SURVEY_PATH_BYTES = 4096 }; /* PATH_MAX: the longest name */

/* The first executable mapping that ends after from. Its name is stored in name, not escaped. 0;
 * -ENOENT: none; -errno: the query failed (-ENOTTY: before Linux 6.11). */
int survey_maps_next(int fd, uint64_t from, char name[SURVEY_PATH_BYTES], struct proc_mapping *out);

/* The mapping at an address, of any protection; else as above. */
int survey_maps_at(int fd, uint64_t address, char name[SURVEY_PATH_BYTES],
		   struct proc_mapping *out);

/* The build-id of the mapped file, as in the kernel's own records. 0; -ENODATA: it has none;
 * -errno: the query failed. */
int survey_maps_build_id(int fd, const struct proc_mapping *m, struct elf_build_id *out);

/* Opens the mapped file for reading, through /proc/PID/map_files, or /proc/PID/exe if that has the
 * expected inode: the process's program also its owner may open. inode 0: any, of map_files. The
 * descriptor; -EINVAL: another inode, or not a regular file; -errno. */
int survey_maps_open(const struct root *root, uint32_t pid, uint64_t start, uint64_t end,
		     uint64_t inode);

#endif
