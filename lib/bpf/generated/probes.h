/* NOLINTBEGIN: made by scripts/generate of bpf/programs/probes.bpf.c */
#include "bpf/loading.h"

#include <linux/types.h>

struct probes_bpf {
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *obj;
	struct {
		struct bpf_map *counts;
		struct bpf_map *outputs;
		struct bpf_map *tasks;
		struct bpf_map *rodata;
		struct bpf_map *bss;
	} maps;
	struct {
		struct bpf_program *on_fork;
		struct bpf_program *on_exec;
		struct bpf_program *on_hit;
	} progs;
	struct {
		struct bpf_link *on_fork;
		struct bpf_link *on_exec;
		struct bpf_link *on_hit;
	} links;
	struct probes_bpf__rodata {
		__u32 nr_cpus;
		_Bool has_cpus;
		__u64 measured_cpus[128];
		__u64 rates[64];
		_Bool has_target;
		_Bool has_children;
		_Bool is_followed;
		char __pad0[5];
		__u64 cgroup_id;
	} *rodata;
	struct probes_bpf__bss {
		__u8 is_off[64];
	} *bss;
};

extern const char probes_object[], probes_object_end[];

static const struct loading_programs probes_programs = {
.name = "probes_bpf",
.maps = (const char *const[]){
	"counts",
	"outputs",
	"tasks",
	"probes_b.rodata",
	"probes_b.bss",
	NULL},
.programs = (const char *const[]){
	"on_fork",
	"on_exec",
	"on_hit",
	NULL},
.object = probes_object,
.end = probes_object_end,
.bytes = sizeof(struct probes_bpf),
};
/* NOLINTEND */
