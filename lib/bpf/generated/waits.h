/* NOLINTBEGIN: made by scripts/generate of bpf/programs/waits.bpf.c */
#include "bpf/loading.h"

#include <linux/types.h>

struct waits_bpf {
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *obj;
	struct {
		struct bpf_map *works;
		struct bpf_map *interpreted_stacks;
		struct bpf_map *next;
		struct bpf_map *lasting;
		struct bpf_map *lasting_interpreted;
		struct bpf_map *lines;
		struct bpf_map *tables;
		struct bpf_map *stacks;
		struct bpf_map *tasks;
		struct bpf_map *rings;
		struct bpf_map *processes;
		struct bpf_map *threads;
		struct bpf_map *seen;
		struct bpf_map *messages;
		struct bpf_map *sums;
		struct bpf_map *off_cpu;
		struct bpf_map *run_queue;
		struct bpf_map *wakers;
		struct bpf_map *lasting_work;
		struct bpf_map *rodata;
		struct bpf_map *bss;
	} maps;
	struct {
		struct bpf_program *on_fork;
		struct bpf_program *on_exec;
		struct bpf_program *on_switch;
		struct bpf_program *on_waking;
		struct bpf_program *on_wakeup;
		struct bpf_program *on_new;
		struct bpf_program *on_exit;
		struct bpf_program *on_plain_exit;
		struct bpf_program *selected;
		struct bpf_program *on_move;
		struct bpf_program *read_tasks;
		struct bpf_program *count_waiting;
		struct bpf_program *sample_tasks;
	} progs;
	struct {
		struct bpf_link *on_fork;
		struct bpf_link *on_exec;
		struct bpf_link *on_switch;
		struct bpf_link *on_waking;
		struct bpf_link *on_wakeup;
		struct bpf_link *on_new;
		struct bpf_link *on_exit;
		struct bpf_link *on_plain_exit;
		struct bpf_link *selected;
		struct bpf_link *on_move;
		struct bpf_link *read_tasks;
		struct bpf_link *count_waiting;
		struct bpf_link *sample_tasks;
	} links;
	struct waits_bpf__rodata {
		_Bool asks;
		_Bool interprets_asleep;
		__u32 max_stack;
		__u32 nr_lines;
		__u32 nr_slots;
		_Bool has_target;
		_Bool has_children;
		_Bool is_followed;
		char __pad0[5];
		__u64 cgroup_id;
		__u32 languages;
		_Bool has_callchain;
		__u32 stack_bytes;
		__u32 regs_bytes;
		__u32 frame_reg;
		__u32 sp_reg_word;
		__u16 reg_at[16];
		__u32 nr_regs;
		__u32 sp_reg;
		__u64 reg_bits;
		__u32 waker_pieces;
		_Bool has_wakers;
		__u16 call_at;
		__u16 argument_at[3];
		__u16 mode_at;
		__u32 mode_64;
		__u32 futex_call;
		__u64 mean_ns[2];
		__u32 max_in_span[2];
		_Bool counts_wakeups;
		_Bool has_exit;
		_Bool has_iter_task;
		_Bool is_added_up[2];
		_Bool interprets;
		__u32 nr_cpus;
		__u32 weights[513];
	} *rodata;
	struct waits_bpf__bss {
		__u64 nr_waiting;
		__u64 nr_wakers;
		__u64 enabled_ns[3];
		__u64 disabled_ns[3];
	} *bss;
};

extern const char waits_object[], waits_object_end[];

static const struct loading_programs waits_programs = {
.name = "waits_bpf",
.maps = (const char *const[]){
	"works",
	"interpreted_stacks",
	"next",
	"lasting",
	"lasting_interpreted",
	"lines",
	"tables",
	"stacks",
	"tasks",
	"rings",
	"processes",
	"threads",
	"seen",
	"messages",
	"sums",
	"off_cpu",
	"run_queue",
	"wakers",
	"lasting_work",
	"waits_bp.rodata",
	"waits_bp.bss",
	NULL},
.programs = (const char *const[]){
	"on_fork",
	"on_exec",
	"on_switch",
	"on_waking",
	"on_wakeup",
	"on_new",
	"on_exit",
	"on_plain_exit",
	"selected",
	"on_move",
	"read_tasks",
	"count_waiting",
	"sample_tasks",
	NULL},
.object = waits_object,
.end = waits_object_end,
.bytes = sizeof(struct waits_bpf),
};
/* NOLINTEND */
