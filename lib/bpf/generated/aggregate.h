/* NOLINTBEGIN: made by scripts/generate of bpf/programs/aggregate.bpf.c */
#include "bpf/loading.h"

#include <linux/types.h>

struct aggregate_bpf {
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *obj;
	struct {
		struct bpf_map *lines;
		struct bpf_map *tables;
		struct bpf_map *stacks;
		struct bpf_map *rows;
		struct bpf_map *rodata;
	} maps;
	struct {
		struct bpf_program *aggregate;
	} progs;
	struct {
		struct bpf_link *aggregate;
	} links;
	struct aggregate_bpf__rodata {
		__u32 max_stack;
		__u32 nr_lines;
		__u32 nr_slots;
		char __pad0[4];
		__u64 in_step;
		__u32 has_own_clocks;
	} *rodata;
};

extern const char aggregate_object[], aggregate_object_end[];

static const struct loading_programs aggregate_programs = {
.name = "aggregate_bpf",
.maps = (const char *const[]){
	"lines",
	"tables",
	"stacks",
	"rows",
	"aggregat.rodata",
	NULL},
.programs = (const char *const[]){
	"aggregate",
	NULL},
.object = aggregate_object,
.end = aggregate_object_end,
.bytes = sizeof(struct aggregate_bpf),
};
/* NOLINTEND */
