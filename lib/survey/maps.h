/*
 * The executable mappings of a process, asked for one by one: most mappings are others, and the
 * kernel writes a line of text for each of them. Source: PROCMAP_QUERY (Linux 6.11) in linux/fs.h,
 * do_procmap_query in fs/proc/task_mmu.c. fd is that of /proc/PID/maps.
 */
#ifndef SURVEY_MAPS_H
#define SURVEY_MAPS_H

#include <stdint.h>

struct elf_build_id;
struct proc_mapping;

enum { SURVEY_PATH_BYTES = 4096 }; /* PATH_MAX: no name is longer */

/* The first one that ends behind from; its name goes to name and is as it is, a newline too. 0;
 * -ENOENT: there is none; another -errno: it cannot be asked for (-ENOTTY: before 6.11). */
int survey_maps_next(int fd, uint64_t from, char name[SURVEY_PATH_BYTES], struct proc_mapping *out);

/* The build-id of the file of a mapping, as the kernel puts it into its own records. 0; -ENODATA:
 * the kernel finds none; another -errno: it cannot be asked for. */
int survey_maps_build_id(int fd, const struct proc_mapping *m, struct elf_build_id *out);

#endif
