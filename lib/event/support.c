/*
 * Why an event does not work on this machine, and what the user can do.
 */
#include "base/buf.h"
#include "base/root.h"
#include "base/sys.h"
#include "event/event.h"
#include "host/host.h"
#include "spec/spec.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static void set(struct event_support *out, enum reading_state state, const char *reason,
		const char *hint)
{
	out->state = state;
	snprintf(out->reason, sizeof(out->reason), "%s", reason);
	snprintf(out->hint, sizeof(out->hint), "%s", hint);
}

/* perf_event_open(2) names this file as the way to detect perf events. */
static bool has_perf_events(const struct host *h)
{
	return h->perf_event_paranoid != INT_MAX;
}

static void set_no_perf_events(struct event_support *out)
{
	set(out, READING_NOT_SUPPORTED, "this kernel has no perf events",
	    "use a kernel with CONFIG_PERF_EVENTS");
}

void event_support_hint_rights(const struct host *h, int paranoid, struct event_support *out)
{
	static const struct {
		const char *before, *after, *where;
	} hints[] = {
	    [HOST_GRANT_FILE] = {"run as root, grant ", " (setcap), or", ""},
	    [HOST_GRANT_CONTAINER] = {"start the container with ", " (--cap-add), or", ""},
	    [HOST_GRANT_NONE] = {"", " has no effect in a user namespace:", " outside of it"},
	};

	snprintf(out->hint, sizeof(out->hint), "%s%s%s set kernel.perf_event_paranoid to %d%s",
		 hints[h->grant].before, h->has_cap_perfmon ? "CAP_PERFMON" : "CAP_SYS_ADMIN",
		 hints[h->grant].after, paranoid, hints[h->grant].where);
}

static void set_no_permission(const struct host *h, struct event_support *out)
{
	if (host_may_measure_cpus(h)) {
		set(out, READING_NO_PERMISSION,
		    "perf_event_open fails although perf_event_paranoid or capabilities "
		    "permit it",
		    "permit it in the container's seccomp profile, user namespace or "
		    "security module");
		return;
	}
	set(out, READING_NO_PERMISSION, "", "");
	snprintf(out->reason, sizeof(out->reason),
		 "measuring whole CPUs is not permitted (perf_event_paranoid is %d)",
		 h->perf_event_paranoid);
	event_support_hint_rights(h, 0, out);
}

static void set_no_pmu(struct event_support *out)
{
	set(out, READING_NOT_SUPPORTED,
	    "this machine has no hardware PMU (a virtual machine without one?)",
	    "run on hardware or enable the VM's virtual PMU; the group software "
	    "works everywhere");
}

static bool is_hardware(const struct event *ev)
{
	return ev->group->id == EVENT_GROUP_FIXED || ev->group->id == EVENT_GROUP_ARCH ||
	       ev->group->id == EVENT_GROUP_MODEL;
}

/* PMUs with branch records publish their number: branches_show() in arch/x86/events. */
static bool has_branch_records(const struct host *h)
{
	for (size_t i = 0; i < h->nr_pmus; i++) {
		char path[128];
		uint64_t nr;

		snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/caps/branches",
			 h->pmus[i].name);
		if (h->pmus[i].is_core && root_load_u64(&h->root, path, &nr) == 0 && nr > 0)
			return true;
	}
	return false;
}

#define BRANCHES_NEED "last_branch needs Intel LBR, AMD LbrExtV2 or BRS, or ARM BRBE"
#define PRECISE_NEEDS                                                                              \
	"precise needs Intel PEBS or AMD IBS, and an event that they support; omit the flag"

/* attr.precise_ip is ignored by software PMUs and by ARM's (armpmu_event_init() in
 * drivers/perf/arm_pmu.c). */
static bool ignores_precise(const struct host *h, const struct event *ev)
{
	return !is_hardware(ev) || strcmp(h->machine, "aarch64") == 0;
}

/* attr.exclude_host: software events always count on the host. */
static bool ignores_guest(const struct host *h, const struct event *ev)
{
	(void)h;
	return !is_hardware(ev);
}

/* attr.exclude_idle: only perf_swevent_hrtimer() in kernel/events/core.c honours it; PMUs refuse or
 * ignore it. */
static bool ignores_no_idle(const struct host *h, const struct event *ev)
{
	(void)h;
	return !event_is_clock(ev);
}

/* Flags that the kernel would silently ignore. */
static const struct {
	unsigned flag, not_with;
	bool (*is_ignored)(const struct host *h, const struct event *ev);
	const char *reason, *hint;
} ignorable[] = {
    {SPEC_PRECISE, 0, ignores_precise, "this kind of event has no precise samples here",
     PRECISE_NEEDS},
    {SPEC_GUEST, SPEC_HOST, ignores_guest, "only hardware events distinguish virtual machines",
     "omit guest"},
    {SPEC_NO_IDLE, 0, ignores_no_idle, "only clock samples can omit idle CPUs",
     "omit no_idle, or sample software:cpu_clock"},
};

static bool set_ignored(const struct host *h, const struct event *ev, unsigned flags,
			struct event_support *out)
{
	for (size_t i = 0; i < sizeof(ignorable) / sizeof(ignorable[0]); i++) {
		if (!(flags & ignorable[i].flag) || flags & ignorable[i].not_with ||
		    !ignorable[i].is_ignored(h, ev))
			continue;
		set(out, READING_NOT_SUPPORTED, ignorable[i].reason, ignorable[i].hint);
		return true;
	}
	return false;
}

static void check_file(const struct host *h, const struct event *ev, struct event_support *out)
{
	int fd;

	if (strstr(ev->row->source, "%u") || ev->row->scope == EVENT_SCOPE_THINGS)
		return; /* per-CPU files were checked when the row was made; things come and go */
	fd = root_open(&h->root, ev->row->source);
	if (fd >= 0) {
		sys()->close(fd);
		return;
	}
	event_support_explain(h, ev, -fd, out);
}

const char *event_support_word(const struct event_support *s)
{
	if (s->state != READING_OK)
		return reading_state_name(s->state);
	return s->reason[0] ? "works partly" : "works";
}

void event_support_check(const struct host *h, const struct event *ev, unsigned flags,
			 struct event_support *out)
{
	bool wants_kernel = flags & SPEC_OS || !(flags & SPEC_USER);

	set(out, READING_OK, "", "");
	if (ev->row->missing)
		set(out, READING_NOT_SUPPORTED, ev->row->missing, "");
	else if (!event_is_perf(ev))
		check_file(h, ev, out);
	else if (!has_perf_events(h))
		set_no_perf_events(out);
	else if (flags & SPEC_LAST_BRANCH && !(is_hardware(ev) && has_branch_records(h)))
		set(out, READING_NOT_SUPPORTED,
		    is_hardware(ev) ? "this CPU or its driver records no branches"
				    : "only hardware events record branches",
		    BRANCHES_NEED);
	else if (is_hardware(ev) && !host_has_core_pmu(h, -1))
		set_no_pmu(out);
	else if (set_ignored(h, ev, flags, out))
		return;
	else if (!host_may_measure_cpus(h) || (wants_kernel && !host_may_measure_kernel(h)))
		set_no_permission(h, out);
}

static void explain_file(const struct event *ev, int error, struct event_support *out)
{
	bool denied = error == EACCES || error == EPERM;

	set(out, denied ? READING_NO_PERMISSION : READING_NOT_SUPPORTED, "", "");
	if (error == ENODATA)
		snprintf(out->reason, sizeof(out->reason), "%s does not have it", ev->row->source);
	else
		snprintf(out->reason, sizeof(out->reason), "%s cannot be read: %s", ev->row->source,
			 strerror(error));
	if (denied)
		snprintf(out->hint, sizeof(out->hint), "run as a user who may read it");
}

/* Flags that a PMU may refuse, likeliest cause first. */
static const struct {
	unsigned flag;
	const char *hint;
} refusable[] = {
    {SPEC_PRECISE, PRECISE_NEEDS},
    {SPEC_LAST_BRANCH, BRANCHES_NEED ", and not all of them support every branch_filter"},
    {SPEC_GUEST, "not every PMU distinguishes virtual machines: omit guest"},
    {SPEC_HOST, "not every PMU distinguishes virtual machines: omit host"},
    {SPEC_NO_IDLE, "only clock samples can omit idle CPUs: omit no_idle"},
};

/* EPERM: ARM's PMU refused no_idle with it before it used EOPNOTSUPP (armv8pmu_set_event_filter()).
 */
static bool may_be_a_flag(const struct host *h, unsigned flags, int error)
{
	return error == EOPNOTSUPP || error == EINVAL ||
	       (error == EPERM && flags & SPEC_NO_IDLE && host_may_measure_cpus(h));
}

/* False if no flag can be the cause. */
static bool explain_flags(const struct event *ev, unsigned flags, int error,
			  struct event_support *out)
{
	const char *hint = NULL;
	BUF_AUTO(names, sizeof(out->reason));

	for (size_t i = 0; i < sizeof(refusable) / sizeof(refusable[0]); i++) {
		if (!(flags & refusable[i].flag))
			continue;
		buf_printf(&names, "%s%s", hint ? ", " : "",
			   spec_flag_name((enum spec_flag)refusable[i].flag));
		hint = hint ? hint : refusable[i].hint;
	}
	if (!hint)
		return false;
	set(out, READING_NOT_SUPPORTED, "", hint);
	snprintf(out->reason, sizeof(out->reason), "the kernel rejects %s with %s here: %s",
		 ev->row->source, buf_str(&names), strerror(error));
	return true;
}

void event_support_explain_use(const struct host *h, const struct event *ev, unsigned flags,
			       int error, struct event_support *out)
{
	if (error == EMFILE || error == ENFILE)
		set(out, READING_LIMIT, "no file descriptors left (one per event and CPU)",
		    "raise the limit: ulimit -n, or LimitNOFILE= of the service");
	else if (!event_is_perf(ev))
		explain_file(ev, error, out);
	else if (!has_perf_events(h))
		set_no_perf_events(out);
	else if (error == ENOMEM || error == ENOSPC)
		set(out, READING_LIMIT, "the kernel is out of memory or counters for it", "");
	else if (is_hardware(ev) && !host_has_core_pmu(h, -1))
		set_no_pmu(out); /* also for EPERM: permission would not help */
	else if (error == ENOSYS)
		set(out, READING_NOT_SUPPORTED,
		    "perf_event_open is hidden here, though the kernel has perf events",
		    "permit it in the container's seccomp profile");
	else if (may_be_a_flag(h, flags, error) && explain_flags(ev, flags, error, out))
		return;
	else if (error == EACCES || error == EPERM)
		set_no_permission(h, out);
	else {
		set(out, READING_NOT_SUPPORTED, "",
		    is_hardware(ev)
			? "the CPU has no such event, or its kernel driver does not map it"
			: "");
		snprintf(out->reason, sizeof(out->reason), "the kernel rejects %s here: %s",
			 ev->row->source, strerror(error));
	}
}

void event_support_explain(const struct host *h, const struct event *ev, int error,
			   struct event_support *out)
{
	event_support_explain_use(h, ev, 0, error, out);
}
