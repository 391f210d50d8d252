/* NOLINTBEGIN: made by scripts/generate of bpf/programs/hits.bpf.c */
#include "bpf/loading.h"

#include <linux/types.h>

struct hits_bpf {
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *obj;
	struct {
		struct bpf_map *tasks;
		struct bpf_map *captures;
		struct bpf_map *numbers;
		struct bpf_map *values;
		struct bpf_map *value_sums;
		struct bpf_map *open_values;
		struct bpf_map *whens;
		struct bpf_map *patterns;
		struct bpf_map *counts;
		struct bpf_map *outputs;
		struct bpf_map *places;
		struct bpf_map *sums;
		struct bpf_map *buckets;
		struct bpf_map *returns;
		struct bpf_map *ended;
		struct bpf_map *rodata;
		struct bpf_map *bss;
	} maps;
	struct {
		struct bpf_program *on_fork;
		struct bpf_program *on_exec;
		struct bpf_program *on_new_program;
		struct bpf_program *on_session;
		struct bpf_program *on_entry;
		struct bpf_program *on_return;
		struct bpf_program *on_switch;
	} progs;
	struct {
		struct bpf_link *on_fork;
		struct bpf_link *on_exec;
		struct bpf_link *on_new_program;
		struct bpf_link *on_session;
		struct bpf_link *on_entry;
		struct bpf_link *on_return;
		struct bpf_link *on_switch;
	} links;
	struct hits_bpf__rodata {
		_Bool has_target;
		_Bool has_children;
		_Bool is_followed;
		char __pad0[5];
		__u64 cgroup_id;
		__u32 max_values;
		_Bool has_returns;
		__u32 nr_cpus;
		__u32 nr_blocks;
		__u32 bits;
		__u32 nr_buckets;
		__u64 rates[64];
		_Bool has_cpus;
		char __pad1[7];
		__u64 measured_cpus[128];
		__u64 ended_events;
	} *rodata;
	struct hits_bpf__bss {
		__u32 nr_values;
		char __pad0[4];
		__u64 values_lost;
		__u64 disabled;
		__u32 generation;
	} *bss;
};

extern const char hits_object[], hits_object_end[];

static const struct loading_programs hits_programs = {
.name = "hits_bpf",
.maps = (const char *const[]){
	"tasks",
	"captures",
	"numbers",
	"values",
	"value_sums",
	"open_values",
	"whens",
	"patterns",
	"counts",
	"outputs",
	"places",
	"sums",
	"buckets",
	"returns",
	"ended",
	"hits_bpf.rodata",
	"hits_bpf.bss",
	NULL},
.programs = (const char *const[]){
	"on_fork",
	"on_exec",
	"on_new_program",
	"on_session",
	"on_entry",
	"on_return",
	"on_switch",
	NULL},
.object = hits_object,
.end = hits_object_end,
.bytes = sizeof(struct hits_bpf),
};
/* NOLINTEND */
