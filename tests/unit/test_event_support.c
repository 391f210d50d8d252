/*
 * What works on which machine and why not; CPU models.
 */
#include "kit.h"

#include "collect/collect.h"
#include "event/catalogue.h"
#include "event/model.h"
#include "host/host.h"
#include "spec/spec.h"

static const struct event_group *const groups[] = {&event_arch_group, &event_fixed_group,
						   &collect_misc_group, &event_software_group};
static const struct catalogue catalogue = {groups, NR(groups)};

static struct event find(const char *spelled)
{
	struct err e = {0};
	struct event ev;

	assert_int_equal(catalogue_find_spelled(&catalogue, spelled, &ev, &e), 0);
	return ev;
}

#define HW   "fixed:instructions_retired"
#define SW   "software:page_faults"
#define STAT "misc:cpu_user"
#define BOTH (SPEC_OS | SPEC_USER)

#define NO_PMU        "this machine has no hardware PMU (a virtual machine without one?)"
#define RUN_ON        "run on hardware or enable the VM's virtual PMU; the group software works everywhere"
#define DENIED        "measuring whole CPUs is not permitted (perf_event_paranoid is %d)"
#define ONLY_HARDWARE "only hardware events record branches"
#define RECORDS       "last_branch needs Intel LBR, AMD LbrExtV2 or BRS, or ARM BRBE"
#define NO_PERF       "this kernel has no perf events"
#define GRANT         "run as root, grant CAP_PERFMON (setcap), or set kernel.perf_event_paranoid to 0"

static const struct {
	const char *tree, *event;
	unsigned flags;
	enum reading_state state;
	const char *reason, *hint; /* printf forms of perf_event_paranoid */
} checks[] = {
    /* no PMU: hardware cannot, whoever asks; software only with permission; /proc as ever */
    {"x86-vm", HW, 0, READING_NOT_SUPPORTED, NO_PMU, RUN_ON},
    {"x86-vm", SW, 0, READING_NO_PERMISSION, DENIED, GRANT},
    {"x86-vm", SW, SPEC_USER, READING_NO_PERMISSION, DENIED, GRANT},
    {"x86-vm", STAT, BOTH, READING_OK, "", ""},
    /* paranoid -1 and all capabilities */
    {"intel-uncore", HW, 0, READING_OK, "", ""},
    {"intel-uncore", SW, SPEC_OS, READING_OK, "", ""},
    {"intel-uncore", STAT, 0, READING_NOT_SUPPORTED,
     "/proc/stat cannot be read: No such file or directory", ""},
    {"intel-uncore", HW, SPEC_LAST_BRANCH, READING_OK, "", ""},
    {"intel-uncore", SW, SPEC_LAST_BRANCH, READING_NOT_SUPPORTED, ONLY_HARDWARE, RECORDS},
    {"intel-hybrid", HW, SPEC_LAST_BRANCH, READING_NOT_SUPPORTED,
     "this CPU or its driver records no branches", RECORDS},
    /* paranoid 4, but CAP_PERFMON */
    {"intel-hybrid", HW, BOTH, READING_OK, "", ""},
    /* paranoid 1: the kernel's side would be free, whole CPUs are not */
    {"arm64-big-little", HW, 0, READING_NO_PERMISSION, DENIED, GRANT},
    {"arm64-big-little", SW, SPEC_USER, READING_NO_PERMISSION, DENIED, GRANT},
    {"arm64-big-little", STAT, 0, READING_OK, "", ""},
    /* paranoid 0, no capability */
    {"sparse-offline", HW, SPEC_OS, READING_OK, "", ""},
    {"sparse-offline", SW, SPEC_USER, READING_OK, "", ""},
};

/* The form with the level put in, whether it has a place for it or not. */
static void expect_text(const char *got, const char *form, int paranoid)
{
	const char *place = strstr(form, "%d");
	char want[512];

	snprintf(want, sizeof(want), "%s", form);
	if (place)
		snprintf(want + (place - form), sizeof(want) - (size_t)(place - form), "%d%s",
			 paranoid, place + 2);
	assert_string_equal(got, want);
}

TEST(check)
{
	for (size_t i = 0; i < NR(checks); i++) {
		struct root r = tree_captured(checks[i].tree);
		struct event ev = find(checks[i].event);
		struct event_support s;
		struct err e = {0};
		struct host h;

		print_message("%s %s\n", checks[i].tree, checks[i].event);
		assert_int_equal(host_load(&r, &h, &e), 0);
		memset(&s, 0x55, sizeof(s));
		event_support_check(&h, &ev, checks[i].flags, &s);
		assert_int_equal(s.state, checks[i].state);
		expect_text(s.reason, checks[i].reason, h.perf_event_paranoid);
		expect_text(s.hint, checks[i].hint, h.perf_event_paranoid);
		host_fini(&h);
	}
}

TEST(no_perf_events)
{
	static const char *const events[] = {SW, HW};
	struct root r = tree_make();
	struct event_support s;
	struct err e = {0};
	struct host h;

	tree_put(&r, "/sys/devices/system/cpu/online", "0\n", 2);
	tree_put(&r, "/proc/self/status", "CapEff:\t000001ffffffffff\n", 25);
	assert_int_equal(host_load(&r, &h, &e), 0);
	for (size_t i = 0; i < NR(events); i++) {
		struct event ev = find(events[i]);

		event_support_check(&h, &ev, 0, &s); /* root is of no help here */
		assert_int_equal(s.state, READING_NOT_SUPPORTED);
		assert_string_equal(s.reason, NO_PERF);
		assert_string_equal(s.hint, "use a kernel with CONFIG_PERF_EVENTS");
		event_support_explain(&h, &ev, EACCES, &s);
		assert_int_equal(s.state, READING_NOT_SUPPORTED);
	}
	host_fini(&h);
	tree_remove(&r);
}

static const struct {
	const char *tree, *event;
	int error;
	enum reading_state state;
	const char *reason, *hint; /* parts of them; hint "": empty */
} explanations[] = {
    {"arm64-big-little", SW, EACCES, READING_NO_PERMISSION, "(perf_event_paranoid is 1)", "setcap"},
    {"arm64-big-little", HW, EPERM, READING_NO_PERMISSION, "(perf_event_paranoid is 1)", "setcap"},
    /* allowed by all that can be seen, and yet refused: not to be told to run as root */
    {"intel-uncore", SW, EPERM, READING_NO_PERMISSION, "although", "container"},
    {"sparse-offline", SW, EACCES, READING_NO_PERMISSION, "although", "container"},
    {"x86-vm", HW, ENOENT, READING_NOT_SUPPORTED, NO_PMU, RUN_ON},
    {"x86-vm", HW, EACCES, READING_NOT_SUPPORTED, NO_PMU, RUN_ON}, /* a right would not help */
    {"x86-vm", HW, EOPNOTSUPP, READING_NOT_SUPPORTED, NO_PMU, RUN_ON},
    {"intel-uncore", HW, ENOENT, READING_NOT_SUPPORTED,
     "the kernel rejects PERF_COUNT_HW_INSTRUCTIONS here: No such file "
     "or directory",
     "the CPU has no such event"},
    {"x86-vm", SW, EINVAL, READING_NOT_SUPPORTED,
     "the kernel rejects PERF_COUNT_SW_PAGE_FAULTS here: Invalid "
     "argument",
     ""},
    {"x86-vm", SW, EMFILE, READING_LIMIT, "no file descriptors left", "ulimit -n"},
    {"x86-vm", SW, ENOSYS, READING_NOT_SUPPORTED, "is hidden here", "seccomp"},
    {"x86-vm", SW, ENFILE, READING_LIMIT, "no file descriptors left", "ulimit -n"},
    {"x86-vm", HW, ENOSPC, READING_LIMIT, "out of memory or counters", ""},
    {"x86-vm", HW, ENOMEM, READING_LIMIT, "out of memory or counters", ""},
    {"x86-vm", STAT, EACCES, READING_NO_PERMISSION, "/proc/stat cannot be read: Permission denied",
     "run as a user who may read it"},
    {"x86-vm", STAT, EPERM, READING_NO_PERMISSION, "/proc/stat cannot be read: ", "run as a user"},
    {"x86-vm", STAT, ENOENT, READING_NOT_SUPPORTED, "/proc/stat cannot be read: ", ""},
    {"x86-vm", STAT, EMFILE, READING_LIMIT, "no file descriptors left", "ulimit -n"},
};

TEST(explain)
{
	for (size_t i = 0; i < NR(explanations); i++) {
		struct root r = tree_captured(explanations[i].tree);
		struct event ev = find(explanations[i].event);
		struct event_support s;
		struct err e = {0};
		struct host h;

		print_message("%s %s %s\n", explanations[i].tree, explanations[i].event,
			      strerror(explanations[i].error));
		assert_int_equal(host_load(&r, &h, &e), 0);
		event_support_explain(&h, &ev, explanations[i].error, &s);
		assert_int_equal(s.state, explanations[i].state);
		assert_non_null(strstr(s.reason, explanations[i].reason));
		assert_non_null(strstr(s.hint, explanations[i].hint));
		assert_int_equal(s.hint[0] == 0, explanations[i].hint[0] == 0);
		host_fini(&h);
	}
}

/* Every event of the catalogue, on every error: some words, and never OK. */
static int explain_all(const struct event *ev, void *arg)
{
	for (int error = 1; error < 134; error++) {
		struct event_support s = {0};

		event_support_explain(arg, ev, error, &s);
		assert_true(s.state >= READING_NOT_SUPPORTED && s.state <= READING_LIMIT);
		assert_true(s.reason[0]);
	}
	return 0;
}

TEST(explain_all)
{
	struct root r = tree_captured("linux-4.14");
	struct err e = {0};
	struct host h;

	assert_int_equal(host_load(&r, &h, &e), 0);
	assert_int_equal(catalogue_each(&catalogue, explain_all, &h), 0);
	host_fini(&h);
}

static const struct {
	const char *tree, *event;
	unsigned flags;
	int error;
	enum reading_state state;
	const char *reason, *hint; /* parts of them */
} refusals[] = {
    {"intel-uncore", HW, SPEC_PRECISE, EOPNOTSUPP, READING_NOT_SUPPORTED,
     "the kernel rejects PERF_COUNT_HW_INSTRUCTIONS with precise here: "
     "Operation not supported",
     "Intel PEBS or AMD IBS"},
    {"intel-uncore", HW, SPEC_PRECISE | SPEC_LAST_BRANCH, EINVAL, READING_NOT_SUPPORTED,
     "with precise, last_branch here: Invalid argument", "Intel PEBS or AMD IBS"},
    {"intel-uncore", HW, SPEC_LAST_BRANCH | SPEC_PC, EINVAL, READING_NOT_SUPPORTED,
     "with last_branch here", RECORDS ", and not all of them support every branch_filter"},
    {"intel-uncore", HW, SPEC_GUEST, EINVAL, READING_NOT_SUPPORTED, "with guest here",
     "omit guest"},
    {"intel-uncore", HW, SPEC_HOST, EINVAL, READING_NOT_SUPPORTED, "with host here", "omit host"},
    /* what ARM's PMU says of no_idle is no question of rights, if those are had */
    {"intel-uncore", HW, SPEC_NO_IDLE, EPERM, READING_NOT_SUPPORTED, "with no_idle here",
     "omit no_idle"},
    {"arm64-big-little", HW, SPEC_NO_IDLE, EPERM, READING_NO_PERMISSION,
     "(perf_event_paranoid is 1)", "setcap"},
    {"intel-uncore", HW, SPEC_PRECISE, EPERM, READING_NO_PERMISSION, "although", "container"},
    /* other flags, other errors: as without flags */
    {"intel-uncore", HW, BOTH | SPEC_PC | SPEC_CALLCHAIN | SPEC_PINNED, EINVAL,
     READING_NOT_SUPPORTED,
     "the kernel rejects PERF_COUNT_HW_INSTRUCTIONS here: ", "the CPU has no such event"},
    {"intel-uncore", HW, SPEC_PRECISE, ENOENT, READING_NOT_SUPPORTED,
     "INSTRUCTIONS here: ", "the CPU has no such event"},
    {"intel-uncore", HW, SPEC_PRECISE, EMFILE, READING_LIMIT, "no file descriptors", "ulimit -n"},
    {"x86-vm", HW, SPEC_PRECISE, EOPNOTSUPP, READING_NOT_SUPPORTED, NO_PMU, RUN_ON},
};

TEST(explain_use)
{
	for (size_t i = 0; i < NR(refusals); i++) {
		struct root r = tree_captured(refusals[i].tree);
		struct event ev = find(refusals[i].event);
		struct event_support s;
		struct err e = {0};
		struct host h;

		print_message("%s %#x %s\n", refusals[i].tree, refusals[i].flags,
			      strerror(refusals[i].error));
		assert_int_equal(host_load(&r, &h, &e), 0);
		memset(&s, 0x55, sizeof(s));
		event_support_explain_use(&h, &ev, refusals[i].flags, refusals[i].error, &s);
		assert_int_equal(s.state, refusals[i].state);
		assert_non_null(strstr(s.reason, refusals[i].reason));
		assert_non_null(strstr(s.hint, refusals[i].hint));
		host_fini(&h);
	}
}

/* What the kernel would ignore without a word must be said before. */
TEST(ignored_flags)
{
#define PRECISE "this kind of event has no precise samples here"
#define GUEST   "only hardware events distinguish virtual machines"
#define NO_IDLE "only clock samples can omit idle CPUs"
#define CLOCK   "software:cpu_clock"
	static const struct {
		const char *machine, *event;
		unsigned flags;
		const char *reason;
	} cases[] = {
	    {"x86_64", HW, SPEC_PRECISE, ""},
	    {"aarch64", HW, SPEC_PRECISE, PRECISE},
	    {"x86_64", SW, SPEC_PRECISE, PRECISE},
	    {"aarch64", SW, SPEC_PRECISE, PRECISE},
	    {"x86_64", HW, SPEC_GUEST, ""},
	    {"x86_64", HW, SPEC_HOST, ""},
	    {"x86_64", SW, SPEC_GUEST, GUEST},
	    {"x86_64", CLOCK, SPEC_GUEST, GUEST},
	    {"x86_64", SW, SPEC_HOST, ""},
	    {"x86_64", SW, SPEC_GUEST | SPEC_HOST, ""},
	    {"x86_64", HW, SPEC_NO_IDLE, NO_IDLE},
	    {"x86_64", SW, SPEC_NO_IDLE, NO_IDLE},
	    {"x86_64", CLOCK, SPEC_NO_IDLE, ""},
	    {"x86_64", "software:task_clock", SPEC_NO_IDLE, ""},
	    {"x86_64", HW, SPEC_PINNED | SPEC_PC | SPEC_CALLCHAIN, ""},
	};
	struct root r = tree_captured("intel-uncore");
	struct err e = {0};
	struct host h;

	assert_int_equal(host_load(&r, &h, &e), 0);
	for (size_t i = 0; i < NR(cases); i++) {
		struct event ev = find(cases[i].event);
		struct event_support s;

		print_message("%s %s %#x\n", cases[i].machine, cases[i].event, cases[i].flags);
		snprintf(h.machine, sizeof(h.machine), "%s", cases[i].machine);
		memset(&s, 0x55, sizeof(s));
		event_support_check(&h, &ev, BOTH | cases[i].flags, &s);
		assert_string_equal(s.reason, cases[i].reason);
		assert_int_equal(s.state, *cases[i].reason ? READING_NOT_SUPPORTED : READING_OK);
		assert_int_equal(s.hint[0] != 0, *cases[i].reason != 0);
	}
	host_fini(&h);
}

/* libpfm4 has the models of the architecture that it was built for. */
#if defined(__aarch64__)
#define MODEL "arm_ac57"
#else
#define MODEL "amd64_fam17h_zen1"
#endif

TEST(models)
{
	static const struct {
		const char *name;
		int rc;
		const char *hint;
	} rows[] = {
	    {"", 0, ""},
	    {"default", 0, ""},
	    {MODEL, 0, ""},
	    {MODEL "s", -ENOENT,
	     "did you mean \"" MODEL "\"? Omit model_name for the detected CPU"},
	    {"perf", -ENOENT, NULL}, /* libpfm4's generic tables are no CPU */
	    {"perf_raw", -ENOENT, NULL},
	    {"a model that never was", -ENOENT, "omit model_name for the detected CPU"},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct err e = {0};
		char want[100];

		assert_int_equal(event_model_check(rows[i].name, &e), rows[i].rc);
		assert_int_equal(e.code, rows[i].rc);
		snprintf(want, sizeof(want), "Unknown model: %s", rows[i].name);
		assert_string_equal(e.msg, rows[i].rc ? want : "");
		if (rows[i].hint)
			assert_string_equal(e.hint, rows[i].hint);
		assert_int_equal(e.hint[0] != 0, rows[i].rc != 0);
	}
}

/* Whatever CPU this is: a name that is a model's, or none; cut at the size. */
TEST(detected)
{
	char name[64], one[1] = {'x'};
	struct err e = {0};

	event_model_detect(name, sizeof(name));
	assert_int_equal(event_model_check(name, &e), 0);
	event_model_detect(one, sizeof(one));
	assert_int_equal(one[0], 0);
}
