#include "bpf/loading.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/privilege.h"
#include "base/root.h"
#include "base/sys.h"
#include "bpf/btf_types.h"
#include "bpf/follow.h"
#include "bpf/kernel_functions.h"
#include "bpf/reduced_types.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* The first line of libbpf's messages. */
static _Thread_local char complaint[200];
static libbpf_print_fn_t print_before; /* of the whole process, so one thread loads at a time */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((format(printf, 2, 0))) static int keep_complaint(enum libbpf_print_level level,
								const char *format, va_list args)
{
	char text[sizeof(complaint)];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(text, sizeof(text), format, args);
	text[strcspn(text, "\n")] = '\0';
	if (text[0] && !complaint[0]) /* the first one names the cause */
		memcpy(complaint, text, sizeof(complaint));
	return 0;
}

/* --- sections of our own --------------------------------------------------------------------- */

enum { TYPE_BYTES = 128, MAX_PROGRAMS = 32, MAX_TYPES_BYTES = 16 << 20 };

/* The object that is loaded. */
static _Thread_local struct {
	int types; /* a file in memory, of its reduced types; -1: none */
	char path[32];
	struct bpf_object_open_opts options;
	struct reduced_types_number function[KERNEL_NR_FUNCTIONS + MAX_PROGRAMS]; /* and others */
	char name[MAX_PROGRAMS][TYPE_BYTES]; /* of the others */
	size_t nr;
} object;

static const char *const functions[] = {
    [KERNEL_ITER_TASK_NEW] = "bpf_iter_task_new",
    [KERNEL_ITER_TASK_NEXT] = "bpf_iter_task_next",
    [KERNEL_ITER_TASK_DESTROY] = "bpf_iter_task_destroy",
    [KERNEL_RCU_READ_LOCK] = "bpf_rcu_read_lock",
    [KERNEL_RCU_READ_UNLOCK] = "bpf_rcu_read_unlock",
    [KERNEL_SESSION_IS_RETURN] = "bpf_session_is_return",
};

enum section { TRACE, ITER, SLEEPABLE_ITER, SESSION };

static const struct {
	const char *name; /* with / and what follows */
	enum bpf_attach_type attach_type;
	const char *type; /* of the kernel: the prefix of its name, and kind; NULL: none */
	uint8_t kind;
	uint32_t flags; /* of the program */
	enum bpf_prog_type program;
} sections[] = {
    [TRACE] = {"cpuperf_trace/", BPF_TRACE_RAW_TP, "btf_trace_", BTF_KIND_TYPEDEF, 0,
	       BPF_PROG_TYPE_TRACING},
    [ITER] = {"cpuperf_iter/", BPF_TRACE_ITER, "bpf_iter_", BTF_KIND_FUNC, 0,
	      BPF_PROG_TYPE_TRACING},
    [SLEEPABLE_ITER] = {"cpuperf_iter.s/", BPF_TRACE_ITER, "bpf_iter_", BTF_KIND_FUNC,
			BPF_F_SLEEPABLE, BPF_PROG_TYPE_TRACING},
    [SESSION] = {"cpuperf_session", (enum bpf_attach_type)LOADING_UPROBE_SESSION, NULL, 0, 0,
		 BPF_PROG_TYPE_KPROBE},
};

/* The type that the program is of. False: its section is not of ours. */
static bool find_type(const struct bpf_program *p, char type[static TYPE_BYTES], uint8_t *kind)
{
	const char *section = bpf_program__section_name(p);

	for (size_t i = 0; i < ARRAY_NR(sections); i++) {
		size_t len = strlen(sections[i].name);

		if (!sections[i].type || strncmp(section, sections[i].name, len) != 0)
			continue;
		snprintf(type, TYPE_BYTES, "%s%s", sections[i].type, section + len);
		*kind = sections[i].kind;
		return true;
	}
	return false;
}

static uint32_t number_of(const char *type, uint8_t kind)
{
	for (size_t i = 0; i < object.nr; i++)
		if (object.function[i].kind == kind && strcmp(object.function[i].name, type) == 0)
			return object.function[i].number;
	return 0;
}

/* Calls of KERNEL_FUNCTION become calls of the functions; of number 0 where there is none. */
static int set_calls(struct bpf_program *p)
{
	const int32_t first = (int32_t)(uintptr_t)KERNEL_FUNCTION(0);
	size_t nr = bpf_program__insn_cnt(p);
	struct bpf_insn *copy = mem_calloc(nr, sizeof(*copy));
	int rc;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, bpf_program__insns(p), nr * sizeof(*copy));
	for (struct bpf_insn *i = copy; i < copy + nr; i++) {
		if (i->code != (BPF_JMP | BPF_CALL) || i->src_reg || i->imm < first ||
		    i->imm - first >= KERNEL_NR_FUNCTIONS)
			continue;
		i->src_reg = BPF_PSEUDO_KFUNC_CALL;
		i->imm = (int32_t)object.function[i->imm - first].number;
	}
	rc = bpf_program__set_insns(p, copy, nr);
	mem_free(copy);
	return rc;
}

/* Called by libbpf for each program of the sections, before it passes that to the kernel. */
static int prepare(struct bpf_program *p, struct bpf_prog_load_opts *options, long section)
{
	bool has_type = sections[section].type;
	char type[TYPE_BYTES];
	uint8_t kind = 0;
	int rc;

	if (has_type && !find_type(p, type, &kind))
		return -EINVAL;
	options->attach_btf_id = has_type ? number_of(type, kind) : 0;
	options->prog_flags |= sections[section].flags;
	if (has_type && !options->attach_btf_id) {
		snprintf(complaint, sizeof(complaint), "prog '%s': there is no %s",
			 bpf_program__name(p), type);
		return -ENOENT;
	}
	rc = set_calls(p);
	/* only now: of such programs libbpf would have read all types */
	return rc ?: bpf_program__set_type(p, sections[section].program);
}

static void register_sections(void)
{
	for (size_t i = 0; i < ARRAY_NR(sections); i++) {
		LIBBPF_OPTS(libbpf_prog_handler_opts, options, .cookie = (long)i,
			    .prog_prepare_load_fn = prepare);

		(void)libbpf_register_prog_handler(sections[i].name, BPF_PROG_TYPE_RAW_TRACEPOINT,
						   sections[i].attach_type, &options);
	}
}

void loading_begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_sections);
	pthread_mutex_lock(&mutex);
	print_before = libbpf_set_print(keep_complaint);
	complaint[0] = '\0';
	object.types = -1;
	privilege_raise();
}

void loading_end(void)
{
	privilege_lower();
	libbpf_set_print(print_before);
	io_close(&object.types);
	pthread_mutex_unlock(&mutex);
}

/* NULL: there is no memory for them: libbpf then reads all of the kernel's types. */
static const struct bpf_object_open_opts *make_options(void)
{
	io_close(&object.types); /* that of a try before */
	object.types = memfd_create("cpuperf-types", MFD_CLOEXEC);
	snprintf(object.path, sizeof(object.path), "/proc/self/fd/%d", object.types);
	object.options = (struct bpf_object_open_opts){.sz = sizeof(object.options),
						       .btf_custom_path = object.path};
	return object.types < 0 ? NULL : &object.options;
}

static size_t count_names(const char *const *names)
{
	size_t nr = 0;

	while (names[nr])
		nr++;
	return nr;
}

/* Where the pointers are that libbpf sets. libbpf frees the tables by free(). */
static struct bpf_object_skeleton *make_skeleton(const struct loading_programs *of, void **at)
{
	struct bpf_object_skeleton *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct bpf_object_skeleton){
	    .sz = sizeof(*s),
	    .name = of->name,
	    .data = (void *)of->object,
	    .data_sz = (size_t)(of->end - of->object),
	    .obj = (struct bpf_object **)at++,
	    .map_skel_sz = sizeof(*s->maps),
	    .prog_skel_sz = sizeof(*s->progs),
	    .maps = calloc(count_names(of->maps) + 1, sizeof(*s->maps)),
	    .progs = calloc(count_names(of->programs) + 1, sizeof(*s->progs)),
	};
	if (!s->maps || !s->progs) {
		bpf_object__destroy_skeleton(s);
		return NULL; /* NOLINT(clang-analyzer-unix.Malloc): libbpf has freed s */
	}
	for (; of->maps[s->map_cnt]; s->map_cnt++, at++) {
		s->maps[s->map_cnt].name = of->maps[s->map_cnt];
		s->maps[s->map_cnt].map = (struct bpf_map **)at;
	}
	while (of->programs[s->prog_cnt])
		s->prog_cnt++;
	for (int i = 0; i < s->prog_cnt; i++, at++) {
		s->progs[i].name = of->programs[i];
		s->progs[i].prog = (struct bpf_program **)at;
		s->progs[i].link = (struct bpf_link **)(at + s->prog_cnt);
	}
	at += s->prog_cnt;
	for (int i = 0; i < s->map_cnt; i++)
		if (strchr(s->maps[i].name, '.'))
			s->maps[i].mmaped = at++;
	return s;
}

int loading_open(const struct loading_programs *programs, void *out)
{
	void **opened = mem_zalloc(programs->bytes);
	struct bpf_object_skeleton *s = opened ? make_skeleton(programs, opened + 1) : NULL;
	int rc = s ? bpf_object__open_skeleton(s, make_options()) : -ENOMEM;

	if (rc) {
		if (s)
			bpf_object__destroy_skeleton(s);
		mem_free(opened); /* NOLINT(clang-analyzer-unix.Malloc): libbpf has freed s */
		return rc;
	}
	*opened = s;
	memcpy(out, &opened, sizeof(opened));
	return 0; /* NOLINT(clang-analyzer-unix.Malloc): libbpf frees s */
}

void loading_close(void *opened)
{
	if (!opened)
		return;
	bpf_object__destroy_skeleton(*(void **)opened);
	mem_free(opened);
}

/* Adds to the functions that every program needs the types that the object's programs attach to. */
static void choose_types(struct bpf_object *o)
{
	struct bpf_program *p;
	uint8_t kind = 0;

	for (object.nr = 0; object.nr < KERNEL_NR_FUNCTIONS; object.nr++)
		object.function[object.nr] = (struct reduced_types_number){
		    .name = functions[object.nr], .kind = BTF_KIND_FUNC};
	bpf_object__for_each_program(p, o)
	{
		char *name = object.name[object.nr - KERNEL_NR_FUNCTIONS];

		if (object.nr >= ARRAY_NR(object.function) || !bpf_program__autoload(p) ||
		    !find_type(p, name, &kind))
			continue;
		object.function[object.nr++] =
		    (struct reduced_types_number){.name = name, .kind = kind};
	}
}

typedef int types_fn(const void *kernel, size_t len, void *arg);

/* Calls fn with the kernel's types: from its file, or, as libbpf finds them, beside it. */
static int with_types(types_fn *fn, void *arg)
{
	struct btf_types kernel;
	int rc = btf_types_open(&root_live, &kernel);
	struct btf *btf;
	const void *data;
	__u32 len = 0;

	if (rc == 0) {
		rc = fn(kernel.data, kernel.len, arg);
		btf_types_close(&kernel);
		return rc;
	}
	btf = btf__load_vmlinux_btf();
	data = btf ? btf__raw_data(btf, &len) : NULL;
	rc = data ? fn(data, len, arg) : -ENOENT;
	btf__free(btf);
	return rc;
}

/* An object, and the part of the kernel's types that it names. */
struct reduction {
	struct bpf_object *of;
	struct buf *types;
};

static int reduce(const void *kernel, size_t len, void *arg)
{
	const struct reduction *r = arg;
	__u32 program_len = 0;
	const void *program = btf__raw_data(bpf_object__btf(r->of), &program_len);

	choose_types(r->of);
	return reduced_types_make(kernel, len, program, program_len, object.function, object.nr,
				  r->types);
}

static int find_number(const void *kernel, size_t len, void *number)
{
	return reduced_types_make(kernel, len, NULL, 0, number, 1, NULL);
}

/* For an object of maps alone. */
static int add_no_types(struct buf *types)
{
	const struct btf_header h = {
	    .magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(h), .str_len = 1};

	buf_add(types, &h, sizeof(h));
	buf_addc(types, '\0');
	return buf_error(types);
}

static bool has_programs(struct bpf_object *o)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, o)
	{
		if (bpf_program__autoload(p))
			return true;
	}
	return false;
}

int loading_load(struct bpf_object_skeleton *s)
{
	BUF_AUTO(types, MAX_TYPES_BYTES);
	struct reduction reduction = {*s->obj, &types};
	int rc = has_programs(*s->obj) ? with_types(reduce, &reduction) : add_no_types(&types);

	if (rc == 0 && object.types >= 0)
		rc = io_write_full(object.types, types.data, types.len);
	return rc ?: bpf_object__load_skeleton(s);
}

int loading_attach(struct bpf_object_skeleton *s)
{
	char type[TYPE_BYTES];
	uint8_t kind = 0;

	for (int i = 0; i < s->prog_cnt; i++) {
		struct bpf_program *p = *s->progs[i].prog;
		struct bpf_link **link = s->progs[i].link;

		if (*link || bpf_program__fd(p) < 0 || !find_type(p, type, &kind))
			continue;
		*link = kind == BTF_KIND_FUNC ? bpf_program__attach_iter(p, NULL)
					      : bpf_program__attach_trace(p);
		if (!*link)
			return -errno;
	}
	return 0;
}

/* --- refusals -------------------------------------------------------------------------------- */

/* Linux 5.12 gave tracing programs a task's storage, and a member of the task that names it; and
 * all programs atomic operations that return a value. */
static bool is_before_5_12(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT) : -1;
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;
	bool is_found = !t; /* unknown */

	for (__u32 i = 0; t && i < btf_vlen(t) && !is_found; i++)
		is_found =
		    !strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), "bpf_storage");
	btf__free(btf);
	return !is_found;
}

int loading_refuse(int rc, struct err *e)
{
	if (rc == -ENOMEM)
		return err_set(e, rc, "out of memory");
	/* the verifier, too, says EACCES: of a program, when maps had been permitted */
	if (rc == -EPERM || (rc == -EACCES && !strstr(complaint, "prog '")))
		return err_set(e, -EPERM, "programs in the kernel (BPF) are not permitted");
	if (is_before_5_12())
		return err_set(e, -ENOTSUP,
			       "programs in the kernel need Linux 5.12 (task storage, and atomic "
			       "operations that return a value)");
	return err_set(e, -ENOTSUP, "the kernel does not accept the programs: %s",
		       complaint[0] ? complaint : strerror(-rc));
}

/* The type whose arguments are those of the tracepoint. */
static const char *type_of_trace(const char *name, char type[static TYPE_BYTES])
{
	snprintf(type, TYPE_BYTES, "btf_trace_%s", name);
	return type;
}

bool loading_has_trace(const char *name)
{
	char type[TYPE_BYTES];
	int rc = btf_types_have_name(&root_live, type_of_trace(name, type));

	/* libbpf also looks for the types beside the kernel's file */
	return rc < 0 ? libbpf_find_vmlinux_btf_id(name, BPF_TRACE_RAW_TP) > 0 : rc > 0;
}

int loading_update(const struct bpf_map *map, const void *key, const void *value)
{
	int rc;

	privilege_raise();
	rc = bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY);
	privilege_lower();
	return rc;
}

int loading_add_process(const struct bpf_map *tasks, pid_t process, const void *value)
{
	int fd = sys()->pidfd_open(process), rc = fd;

	if (fd >= 0) {
		rc = loading_update(tasks, &fd, value);
		sys()->close(fd);
	}
	return rc == -ESRCH || rc == -EINVAL || rc == -ENOENT ? 0 : rc;
}

/* The number of a group's folder is its id in the kernel, since Linux 5.5. */
static int find_cgroup(int folder, unsigned long long *id, struct err *e)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(folder, &fs) || fstat(folder, &st))
		return err_set(e, -errno, "the control group cannot be read: %s", strerror(errno));
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return err_set(e, -ENOTSUP,
			       "programs in the kernel follow control groups of version 2, and "
			       "this one is of version 1");
	*id = st.st_ino;
	return 0;
}

int loading_follow(const struct bpf_object *programs, const struct follow_config *config,
		   bool needs_tasks, unsigned long long *cgroup_id, struct err *e)
{
	bpf_program__set_autoload(bpf_object__find_program_by_name(programs, "on_fork"),
				  needs_tasks);
	bpf_program__set_autoload(bpf_object__find_program_by_name(programs, "on_exec"),
				  needs_tasks && config->is_command);
	return config->has_cgroup ? find_cgroup(config->cgroup, cgroup_id, e) : 0;
}

int loading_run(int fd)
{
	char unused[64];
	ssize_t n;

	if (fd < 0)
		return fd;
	do
		n = sys()->read(fd, unused, sizeof(unused));
	while (n > 0 || n == -EAGAIN || n == -EINTR);
	sys()->close(fd);
	return (int)n;
}

/* The type is a pointer to a function whose first argument is not the tracepoint's. */
int loading_nr_arguments(const char *name)
{
	char type[TYPE_BYTES];
	struct reduced_types_number number = {.name = type_of_trace(name, type),
					      .kind = BTF_KIND_TYPEDEF};
	int rc = with_types(find_number, &number);

	return rc || !number.nr_parameters ? -1 : (int)number.nr_parameters - 1;
}
