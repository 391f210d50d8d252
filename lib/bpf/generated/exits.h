/* NOLINTBEGIN: made by scripts/generate of bpf/programs/exits.bpf.c */
#include "bpf/loading.h"

#include <linux/types.h>

struct exits_bpf {
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *obj;
	struct {
		struct bpf_map *tasks;
		struct bpf_map *recent;
		struct bpf_map *older;
		struct bpf_map *commands;
		struct bpf_map *others;
		struct bpf_map *rodata;
		struct bpf_map *bss;
	} maps;
	struct {
		struct bpf_program *on_fork;
		struct bpf_program *on_exec;
		struct bpf_program *on_exit;
		struct bpf_program *on_free;
	} progs;
	struct {
		struct bpf_link *on_fork;
		struct bpf_link *on_exec;
		struct bpf_link *on_exit;
		struct bpf_link *on_free;
	} links;
	struct exits_bpf__rodata {
		_Bool has_target;
		_Bool has_children;
		_Bool is_followed;
		char __pad0[5];
		__u64 cgroup_id;
	} *rodata;
	struct exits_bpf__bss {
		__u64 read_ns;
		__u64 nr_commands;
		__u64 nr_lost;
	} *bss;
};

extern const char exits_object[], exits_object_end[];

static const struct loading_programs exits_programs = {
.name = "exits_bpf",
.maps = (const char *const[]){
	"tasks",
	"recent",
	"older",
	"commands",
	"others",
	"exits_bp.rodata",
	"exits_bp.bss",
	NULL},
.programs = (const char *const[]){
	"on_fork",
	"on_exec",
	"on_exit",
	"on_free",
	NULL},
.object = exits_object,
.end = exits_object_end,
.bytes = sizeof(struct exits_bpf),
};
/* NOLINTEND */
