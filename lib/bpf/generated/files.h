/* NOLINTBEGIN: made by scripts/generate of bpf/programs/files.bpf.c */
#include "bpf/loading.h"

#include <linux/types.h>

struct files_bpf {
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *obj;
	struct {
		struct bpf_map *bss;
		struct bpf_map *rodata;
	} maps;
	struct {
		struct bpf_program *visit;
	} progs;
	struct {
		struct bpf_link *visit;
	} links;
	struct files_bpf__bss {
	} *bss;
	struct files_bpf__rodata {
		__u32 major;
	} *rodata;
};

extern const char files_object[], files_object_end[];

static const struct loading_programs files_programs = {
.name = "files_bpf",
.maps = (const char *const[]){
	"files_bp.bss",
	"files_bp.rodata",
	NULL},
.programs = (const char *const[]){
	"visit",
	NULL},
.object = files_object,
.end = files_object_end,
.bytes = sizeof(struct files_bpf),
};
/* NOLINTEND */
