/* NOLINTBEGIN: made by scripts/generate of bpf/programs/latency.bpf.c */
#include "bpf/loading.h"

#include <linux/types.h>

struct latency_bpf {
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *obj;
	struct {
		struct bpf_map *tasks;
		struct bpf_map *histograms;
		struct bpf_map *empty;
		struct bpf_map *counts;
		struct bpf_map *requests;
		struct bpf_map *begins;
		struct bpf_map *rodata;
		struct bpf_map *bss;
	} maps;
	struct {
		struct bpf_program *on_fork;
		struct bpf_program *on_exec;
		struct bpf_program *seed;
		struct bpf_program *on_wakeup;
		struct bpf_program *on_new;
		struct bpf_program *on_switch;
		struct bpf_program *on_enter;
		struct bpf_program *on_exit;
		struct bpf_program *on_issue;
		struct bpf_program *on_issue_of_queue;
		struct bpf_program *on_complete;
		struct bpf_program *on_irq;
		struct bpf_program *on_irq_end;
		struct bpf_program *on_softirq;
		struct bpf_program *on_softirq_end;
	} progs;
	struct {
		struct bpf_link *on_fork;
		struct bpf_link *on_exec;
		struct bpf_link *seed;
		struct bpf_link *on_wakeup;
		struct bpf_link *on_new;
		struct bpf_link *on_switch;
		struct bpf_link *on_enter;
		struct bpf_link *on_exit;
		struct bpf_link *on_issue;
		struct bpf_link *on_issue_of_queue;
		struct bpf_link *on_complete;
		struct bpf_link *on_irq;
		struct bpf_link *on_irq_end;
		struct bpf_link *on_softirq;
		struct bpf_link *on_softirq_end;
	} links;
	struct latency_bpf__rodata {
		_Bool has_target;
		_Bool has_children;
		_Bool is_followed;
		char __pad0[5];
		__u64 cgroup_id;
		__u8 slot_of_kind[4];
		__u8 slot_of_syscall[512];
		_Bool has_cpus;
		__u64 measured_cpus[128];
	} *rodata;
	struct latency_bpf__bss {
		__u8 is_off[64];
	} *bss;
};

extern const char latency_object[], latency_object_end[];

static const struct loading_programs latency_programs = {
.name = "latency_bpf",
.maps = (const char *const[]){
	"tasks",
	"histograms",
	"empty",
	"counts",
	"requests",
	"begins",
	"latency_.rodata",
	"latency_.bss",
	NULL},
.programs = (const char *const[]){
	"on_fork",
	"on_exec",
	"seed",
	"on_wakeup",
	"on_new",
	"on_switch",
	"on_enter",
	"on_exit",
	"on_issue",
	"on_issue_of_queue",
	"on_complete",
	"on_irq",
	"on_irq_end",
	"on_softirq",
	"on_softirq_end",
	NULL},
.object = latency_object,
.end = latency_object_end,
.bytes = sizeof(struct latency_bpf),
};
/* NOLINTEND */
