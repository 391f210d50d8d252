/* NOLINTBEGIN: made by scripts/generate of bpf/programs/selected.bpf.c */
#include "bpf/loading.h"

#include <linux/types.h>

struct selected_bpf {
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *obj;
	struct {
		struct bpf_map *next;
		struct bpf_map *tasks;
		struct bpf_map *rodata;
	} maps;
	struct {
		struct bpf_program *on_fork;
		struct bpf_program *on_exec;
		struct bpf_program *seed;
		struct bpf_program *selected;
	} progs;
	struct {
		struct bpf_link *on_fork;
		struct bpf_link *on_exec;
		struct bpf_link *seed;
		struct bpf_link *selected;
	} links;
	struct selected_bpf__rodata {
		_Bool has_target;
		_Bool has_children;
		_Bool is_followed;
		char __pad0[5];
		__u64 cgroup_id;
	} *rodata;
};

extern const char selected_object[], selected_object_end[];

static const struct loading_programs selected_programs = {
.name = "selected_bpf",
.maps = (const char *const[]){
	"next",
	"tasks",
	"selected.rodata",
	NULL},
.programs = (const char *const[]){
	"on_fork",
	"on_exec",
	"seed",
	"selected",
	NULL},
.object = selected_object,
.end = selected_object_end,
.bytes = sizeof(struct selected_bpf),
};
/* NOLINTEND */
