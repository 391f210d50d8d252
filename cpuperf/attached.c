/*
 * A target that was running already.
 *
 * New threads inherit the events of the thread that creates them. One that is created while the
 * events are opened may have inherited some of them or none, and cannot be told from one that has
 * all; so the caller compares the threads before and after, and opens the events again.
 */
#include "attached.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/privilege.h"
#include "base/root.h"
#include "base/str.h"
#include "plan/plan.h"
#include "pmu/group.h"
#include "proc/proc.h"
#include "spec/spec.h"
#include "target/children.h"
#include "target/memory.h"
#include "target/watch.h"
#include "things/cgroup_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

enum { MAX_MOUNTS_BYTES = 16 << 20, NR_NAMED = 8, NR_REFUSED_NAMED = 4 };

/* The error is of the option, or of the key. */
static int blame(const struct attached *a, const char *option, struct err *e)
{
	const struct spec *spec = a->spec;

	snprintf(e->source, sizeof(e->source), "%s", a->is_of_options ? option : spec->source);
	e->line = a->is_of_options ? 0 : spec->target_pos.line;
	e->column = spec->target_pos.column;
	return e->code;
}

/* The group, or the folder, that is called path. Its descriptor, or -errno; mount: where groups
 * are, or "". */
static int find_cgroup_folder(const char *path, char mount[PATH_MAX])
{
	char full[2 * PATH_MAX];
	struct buf text;
	int fd = -1, rc;

	*mount = '\0';
	buf_init(&text, MAX_MOUNTS_BYTES);
	rc = root_load(&root_live, "/proc/self/mountinfo", &text);
	if (rc == 0 && cgroup_find_mount(buf_str(&text), text.len, mount, PATH_MAX) == 0) {
		snprintf(full, sizeof(full), "%s/%s", mount, path);
		fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	buf_fini(&text);
	if (fd < 0)
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int refuse_path(const char *path, const char *mount, int rc, struct err *e)
{
	if (rc != -ENOENT && rc != -ENOTDIR)
		err_set(e, rc, "%s: %s", path, strerror(-rc));
	else if (*mount)
		err_set(e, rc, "%s: no such control group, neither below %s nor as a folder", path,
			mount);
	else
		err_set(e, rc, "%s: no such folder, and no cgroup2 is mounted", path);
	err_hint(e, "/proc/PID/cgroup shows the group of a process%s%s",
		 *mount ? "; all are folders below " : "", mount);
	return rc;
}

static int open_cgroup_folder(const char *path, struct err *e)
{
	char mount[PATH_MAX];
	struct statfs fs;
	struct stat st;
	int fd = find_cgroup_folder(path, mount);

	if (fd < 0)
		return refuse_path(path, mount, fd, e);
	if (fstatfs(fd, &fs) == 0 &&
	    (fs.f_type == CGROUP2_SUPER_MAGIC || fs.f_type == CGROUP_SUPER_MAGIC)) {
		if (!privilege_is_held() || (fstat(fd, &st) == 0 && st.st_uid == getuid()))
			return fd;
		close(fd);
		return err_set(e, -EACCES, "%s: this control group belongs to another user", path);
	}
	close(fd);
	err_set(e, -EINVAL, "%s: this folder is not a control group", path);
	err_hint(e, "/proc/PID/cgroup shows the group of a process%s%s",
		 *mount ? "; all are folders below " : "", mount);
	return -EINVAL;
}

static int open_cgroup(struct attached *a, struct err *e)
{
	const char *path = a->spec->target.cgroups.item[0];
	int rc;

	a->cgroup = open_cgroup_folder(path, e);
	if (a->cgroup < 0)
		return blame(a, "--cgroup", e);
	snprintf(a->text, sizeof(a->text), "cgroup %s", path);
	rc = target_watch_new_cgroup(a->cgroup, &a->watch, e);
	if (rc == 0 && !target_watch_has_begun(a->watch))
		log_info("cgroup %s is empty: measuring what enters it", path);
	return rc == -ENOENT && !e->code ? 0 : rc;
}

/* "12 (gcc), 13 (cc1), ..." */
static void add_names(struct buf *to, const pid_t *pids, size_t nr, size_t max)
{
	for (size_t i = 0; i < nr && i < max; i++) {
		buf_adds(to, i ? ", " : "");
		proc_add_name(PROC(&root_live, (uint32_t)pids[i]), to);
	}
	if (nr > max)
		buf_adds(to, ", ...");
}

static void add_refused(const struct target_tasks *t, struct buf *to)
{
	buf_printf(to, "%zu not measured (of other users, or with more rights): ", t->nr_refused);
	add_names(to, t->refused, t->nr_refused, NR_REFUSED_NAMED);
}

/* "process 12 (gcc)", "3 processes: 12 (gcc), 13 (cc1), ...; 2 not measured …" */
static void describe(struct attached *a)
{
	size_t nr = a->tasks.nr_processes;
	struct buf text;

	buf_init(&text, MAX_MOUNTS_BYTES);
	if (nr > 1)
		buf_printf(&text, "%zu processes: ", nr);
	else
		buf_adds(&text, "process ");
	add_names(&text, a->tasks.processes, nr, NR_NAMED);
	if (a->tasks.nr_refused) {
		buf_adds(&text, "; ");
		add_refused(&a->tasks, &text);
	}
	snprintf(a->text, sizeof(a->text), "%s", buf_str(&text));
	str_disarm(a->text);
	buf_fini(&text);
}

static const char *option_of(const struct attached *a)
{
	const struct spec_target *t = &a->spec->target;

	return !t->comms.nr ? "--pid" : !t->pids.nr ? "--comm" : "--pid and --comm";
}

static bool may_measure(pid_t pid)
{
	const struct target_tasks one = {.processes = &pid, .nr_processes = 1};
	struct err ignored = {0};

	return privilege_is_held() ? target_tasks_check_own(&root_live, &one, &ignored) != -EACCES
				   : pmu_may_measure(&pmu_kernel_ops, pid);
}

/* The processes and their threads, as they are now. Where this user may not even measure his own
 * processes, opening the events reports why. */
static int find(const struct attached *a, struct target_tasks *out, struct err *e)
{
	const struct spec_target *t = &a->spec->target;
	const struct target_choice choice = {
	    .pids = t->pids.item,
	    .nr_pids = t->pids.nr,
	    .comms = t->comms.item,
	    .nr_comms = t->comms.nr,
	    .has_children = t->has_children,
	    .may_measure = pmu_may_measure(&pmu_kernel_ops, 0) ? may_measure : NULL};
	int rc = target_tasks_find(&root_live, &choice, out, e);

	if (rc == -EACCES)
		err_hint(e,
			 privilege_is_held()
			     ? "the rights of cpuperf's file are for one's own processes, and for "
			       "the whole machine"
			     : "root may measure them: sudo cpuperf ...");
	if (rc)
		blame(a, option_of(a), e);
	return rc;
}

void attached_warn_refused(const struct attached *a)
{
	struct buf text;

	buf_init(&text, MAX_MOUNTS_BYTES);
	add_refused(&a->tasks, &text);
	if (a->tasks.nr_refused && buf_error(&text) == 0)
		log_warning("%s", buf_str(&text));
	buf_fini(&text);
}

int attached_open(struct attached *a, const struct spec *spec, bool is_of_options, struct err *e)
{
	int rc;

	*a = (struct attached){.spec = spec, .is_of_options = is_of_options, .cgroup = -1};
	rc = spec->target.cgroups.nr ? open_cgroup(a, e) : 0;
	if (rc)
		attached_close(a);
	return rc;
}

void attached_close(struct attached *a)
{
	target_watch_free(a->watch);
	target_tasks_fini(&a->tasks);
	mem_free(a->members);
	if (a->cgroup >= 0)
		close(a->cgroup);
	*a = (struct attached){.cgroup = -1};
}

static int add_member(uint32_t pid, void *arg)
{
	struct attached *a = arg;
	pid_t *place;

	if ((pid_t)pid == getpid())
		return 0;
	place = MEM_ADD(a->members, a->nr_members, a->member_room);
	if (place)
		*place = (pid_t)pid;
	return place ? 0 : -ENOMEM;
}

/* What gets the agent. */
static int list_agents(struct attached *a, struct plan *plan, struct err *e)
{
	int rc = 0;

	plan->target.agents = a->tasks.chosen;
	plan->target.nr_agents = a->tasks.nr_chosen;
	if (!plan->target.is_cgroup || !plan->target.has_agent)
		return 0;
	a->nr_members = 0;
	rc = target_each_of_cgroup(a->cgroup, add_member, a);
	plan->target.agents = a->members;
	plan->target.nr_agents = a->nr_members;
	return rc ? err_set(e, rc, "out of memory") : 0;
}

int attached_list(struct attached *a, struct plan *plan, struct err *e)
{
	struct target_tasks tasks;
	int rc;

	plan->target.is_cgroup = a->spec->target.cgroups.nr;
	plan->target.ids = &a->cgroup;
	plan->target.nr_ids = 1;
	if (plan->target.is_cgroup)
		return list_agents(a, plan, e);
	rc = find(a, &tasks, e);
	if (rc)
		return rc;
	target_watch_free(a->watch);
	a->watch = NULL;
	target_tasks_fini(&a->tasks);
	a->tasks = tasks;
	rc = target_watch_new(tasks.chosen, tasks.nr_chosen, &a->watch, e);
	if (rc)
		return rc;
	rc = attached_check_own(a, e);
	if (rc == -EACCES)
		return rc;
	err_clear(e);
	describe(a);
	plan->target.ids = a->tasks.threads;
	plan->target.nr_ids = a->tasks.nr_threads;
	plan->target.has_all_threads = true;
	return list_agents(a, plan, e);
}

int attached_check_own(const struct attached *a, struct err *e)
{
	if (!privilege_is_held() || a->spec->target.cgroups.nr)
		return 0;
	return target_tasks_check_own(&root_live, &a->tasks, e) ? blame(a, option_of(a), e) : 0;
}

size_t attached_nr_new(const struct attached *a)
{
	struct target_tasks now;
	struct err ignored = {0};
	size_t nr;

	if (a->spec->target.cgroups.nr || find(a, &now, &ignored))
		return 0;
	nr = target_tasks_new(&a->tasks, &now);
	target_tasks_fini(&now);
	return nr;
}

void attached_add_agents(struct attached *a, size_t nr, size_t nr_all)
{
	size_t len = strlen(a->text);

	snprintf(a->text + len, sizeof(a->text) - len, ", heap and descriptors");
	len = strlen(a->text);
	if (nr < nr_all)
		snprintf(a->text + len, sizeof(a->text) - len, " of %zu of %zu", nr, nr_all);
	len = strlen(a->text);
	snprintf(a->text + len, sizeof(a->text) - len, " from when cpuperf attached");
}

int attached_start(struct attached *a, void (*on_end)(void *arg), void *arg, struct err *e)
{
	return a->watch ? target_watch_start(a->watch, on_end, arg, e) : 0;
}

void attached_describe(struct attached *a, struct trace_target *out)
{
	bool has_ended = a->watch && target_watch_has_ended(a->watch);
	bool has_begun = !a->watch || target_watch_has_begun(a->watch);

	*out = (struct trace_target){.flags = TRACE_TARGET_IS_ATTACHED |
					      (has_ended ? TRACE_TARGET_HAS_ENDED : 0) |
					      (has_begun ? 0 : TRACE_TARGET_IS_EMPTY),
				     .pid = a->tasks.nr_chosen ? (uint32_t)a->tasks.chosen[0] : 0};
	snprintf(out->text, sizeof(out->text), "%s", a->text);
}

void attached_set_memory(const struct attached *a, struct target_memory_config *out)
{
	out->pids = a->tasks.processes;
	out->nr_pids = a->tasks.nr_processes;
	out->cgroup = a->cgroup;
}

int attached_check_no_children(struct err *e)
{
	if (pmu_has_inherit_thread(&pmu_kernel_ops))
		return 0;
	err_set(e, -ENOTSUP, "--no-children: this kernel cannot measure threads without processes");
	err_hint(e, "Linux 5.13 and later can");
	return -ENOTSUP;
}
