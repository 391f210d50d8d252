/* NOLINTBEGIN: made by scripts/generate of bpf/programs/tasks.bpf.c */
#include "bpf/loading.h"

#include <linux/types.h>

struct tasks_bpf {
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *obj;
	struct {
		struct bpf_map *somewhere;
		struct bpf_map *rodata;
		struct bpf_map *bss;
	} maps;
	struct {
		struct bpf_program *visit;
	} progs;
	struct {
		struct bpf_link *visit;
	} links;
	struct tasks_bpf__rodata {
		_Bool has_memory;
		_Bool has_threads;
		_Bool has_io;
		__u32 nr_cpus;
	} *rodata;
	struct tasks_bpf__bss {
		_Bool has_cpus;
		char __pad0[7];
		__u64 now_nr;
		__u64 now_ns;
		__u64 cpu_at[8192];
	} *bss;
};

extern const char tasks_object[], tasks_object_end[];

static const struct loading_programs tasks_programs = {
.name = "tasks_bpf",
.maps = (const char *const[]){
	"somewhere",
	"tasks_bp.rodata",
	"tasks_bp.bss",
	NULL},
.programs = (const char *const[]){
	"visit",
	NULL},
.object = tasks_object,
.end = tasks_object_end,
.bytes = sizeof(struct tasks_bpf),
};
/* NOLINTEND */
