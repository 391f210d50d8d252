#include "bpf/loading.h"

#ifdef CPUPERF_HAS_BPF

#include "base/privilege.h"
#include "base/root.h"
#include "base/sys.h"
#include "bpf/follow.h"
#include "bpf/kernel_types.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* The first line of libbpf's messages. */
static _Thread_local char complaint[200];
static _Thread_local libbpf_print_fn_t print_before;

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

void loading_begin(void)
{
	print_before = libbpf_set_print(keep_complaint); /* of the whole process */
	complaint[0] = '\0';
	privilege_raise();
}

void loading_end(void)
{
	privilege_lower();
	libbpf_set_print(print_before);
}

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

enum { TYPE_BYTES = 128 };

/* The type whose arguments are those of the tracepoint. */
static const char *type_of_trace(const char *name, char type[static TYPE_BYTES])
{
	snprintf(type, TYPE_BYTES, "btf_trace_%s", name);
	return type;
}

bool loading_has_trace(const char *name)
{
	char type[TYPE_BYTES];
	int rc = kernel_types_have_name(&root_live, type_of_trace(name, type));

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
	int fd = sys()->pidfd_open(process), rc;

	if (fd < 0)
		return fd;
	rc = loading_update(tasks, &fd, value);
	sys()->close(fd);
	return rc;
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
	struct btf *btf = btf__load_vmlinux_btf();
	int id =
	    btf ? btf__find_by_name_kind(btf, type_of_trace(name, type), BTF_KIND_TYPEDEF) : -1;
	const struct btf_type *t = NULL;
	int nr = -1;

	if (id > 0)
		t = btf__type_by_id(btf, btf__type_by_id(btf, (__u32)id)->type);
	if (t && btf_is_ptr(t))
		t = btf__type_by_id(btf, t->type);
	if (t && btf_is_func_proto(t))
		nr = btf_vlen(t) - 1;
	btf__free(btf);
	return nr;
}

#endif
