/* NOLINTBEGIN: made by scripts/generate of bpf/programs/interpreted.bpf.c */
#include "bpf/loading.h"

#include <linux/types.h>

struct interpreted_bpf {
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *obj;
	struct {
		struct bpf_map *works;
		struct bpf_map *interpreted_stacks;
		struct bpf_map *walks;
		struct bpf_map *rings;
		struct bpf_map *processes;
		struct bpf_map *threads;
		struct bpf_map *seen;
		struct bpf_map *messages;
		struct bpf_map *rodata;
	} maps;
	struct {
		struct bpf_program *interpreted;
		struct bpf_program *interpreted_walk;
	} progs;
	struct {
		struct bpf_link *interpreted;
		struct bpf_link *interpreted_walk;
	} links;
	struct interpreted_bpf__rodata {
		__u32 languages;
	} *rodata;
};

extern const char interpreted_object[], interpreted_object_end[];

static const struct loading_programs interpreted_programs = {
.name = "interpreted_bpf",
.maps = (const char *const[]){
	"works",
	"interpreted_stacks",
	"walks",
	"rings",
	"processes",
	"threads",
	"seen",
	"messages",
	"interpre.rodata",
	NULL},
.programs = (const char *const[]){
	"interpreted",
	"interpreted_walk",
	NULL},
.object = interpreted_object,
.end = interpreted_object_end,
.bytes = sizeof(struct interpreted_bpf),
};
/* NOLINTEND */
