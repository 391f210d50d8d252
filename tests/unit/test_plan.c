/*
 * From a spec to a plan: what is refused because the machine or the kernel would silently do
 * something else, the headings of columns, and what a target changes.
 */
#include "kit.h"
#include "test_session.h"

static struct rig rig;

#define WITH(group, name, more)                                                                    \
	"{\"group_name\":\"" group "\",\"event_name\":\"" name "\"," more "},"
#define BOTH "\"flags\":[\"os\",\"user\"]"
#define OS   "\"flags\":[\"os\"]"
#define USER "\"flags\":[\"user\"]"

/* Makes the plan for a machine that samples at most 2,000 times a second. */
static int plan(const char *events)
{
	static struct err_list errs;
	char text[4096];
	int len = snprintf(text, sizeof(text), "{\"events\":[%s]}", events), rc;

	errs = (struct err_list){.nr = 0};
	rig_init(&rig, 2, "", SOFTWARE_1);
	rig_with_proc(&rig);
	tree_text(&rig.folder, "/proc/sys/kernel/perf_event_max_sample_rate", "2000\n");
	plan_fini(&rig.plan);
	spec_fini(&rig.spec);
	spec_init(&rig.spec);
	if (spec_parse(text, (size_t)len, "spec", &rig.spec, &errs))
		fail_msg("%s", errs.item[0].msg);
	rc = rig_plan(&rig, 2, &errs);
	assert_int_equal(rc != 0, errs.nr != 0);
	return rc;
}

/* The first error; "" if there is none. */
static const char *error_of(const char *events)
{
	static struct err_list errs;
	static char text[1024];
	struct plan unused;

	if (plan(events) == 0)
		return "";
	errs = (struct err_list){.nr = 0};
	(void)plan_make(&rig.spec, &rig_catalogue, &rig.host, &unused, &errs);
	snprintf(text, sizeof(text), "%s", errs.item[0].msg);
	return text;
}

TEST(refused)
{
	static const struct {
		const char *events, *text; /* "": not refused */
	} cases[] = {
	    {WITH("software", "context_switches", OS), ""},
	    {WITH("software", "context_switches", USER), "the event occurs in the kernel only"},
	    {WITH("software", "context_switches", BOTH), ""},
	    {WITH("software", "cpu_clock", USER), "user and kernel cannot be separated"},
	    {WITH("software", "cpu_clock", OS), "user and kernel cannot be separated"},
	    {WITH("software", "cpu_clock", "\"rate\":1000000," USER), ""},
	    {WITH("software", "page_faults", USER), ""},
	    {WITH("software", "cpu_clock", "\"rate\":9999"), "the kernel takes 10000 ns instead"},
	    {WITH("software", "cpu_clock", "\"rate\":10000"),
	     "100000 samples per second are above"},
	    {WITH("software", "cpu_clock", "\"rate\":400000"), "2500 samples per second are above"},
	    {WITH("software", "cpu_clock", "\"rate\":500000"), ""},
	    {WITH("software", "page_faults", "\"rate\":1"), ""}, /* how often is not known */
	    {WITH("software", "page_faults", "\"frequency\":2000"), ""},
	    {WITH("software", "page_faults", "\"frequency\":2001"), "limit of 2000"},
	    {WITH("misc", "disk_read_bytes", "\"devices\":[\"sda\"]"), ""},
	    {WITH("misc", "disk_read_bytes", "\"pids\":[\"1\"]"), "has no pids"},
	    {WITH("heap", "live", "\"rate\":1") WITH("heap", "freed", "\"rate\":1")
		 EV("heap", "live"),
	     ""},
	    {WITH("heap", "live", "\"rate\":1") WITH("heap", "freed", "\"rate\":2"),
	     "heap:freed has another rate than heap:live"},
	    {WITH("heap", "live", "\"rate\":1,\"flags\":[\"callchain\",\"pc\"]"), ""},
	    {WITH("heap", "live", "\"rate\":1,\"flags\":[\"user_stack\"]"),
	     "of flags only \"pc\", \"callchain\" and \"adaptive\" have a meaning"},
	    {WITH("heap", "live", "\"rate\":4096,\"flags\":[\"adaptive\"]"), ""},
	    {WITH("resource", "fd_opened", "\"rate\":1,\"flags\":[\"adaptive\"]"),
	     "of flags only \"pc\" and \"callchain\" have a meaning"},
	    {WITH("software", "page_faults", "\"rate\":1,\"flags\":[\"adaptive\"]"),
	     "the flag \"adaptive\" is for events of the group heap"},
	    {WITH("heap", "live", "\"rate\":1," USER), "user and kernel cannot be separated"},
	    {WITH("heap", "live", "\"frequency\":1"), "has no frequency"},
	    {WITH("heap", "live", "\"rate\":1099511627777"), "the rate is at most"},
	    {WITH("heap", "allocations", "\"rate\":1"), "can be counted, not sampled"},
	    {WITH("heap", "live", "\"rate\":1,\"flags\":[\"timebase\"]"), "cannot be the timebase"},
	    {WITH("heap", "live", "\"rate\":1,\"aggregate\":true,\"flags\":[\"callchain\"]"),
	     "samples of this group cannot be added up"},
	    {WITH("heap", "unreachable", "\"rate\":2"), "heap:unreachable requires a rate of 1"},
	    {WITH("resource", "fd_opened", "\"rate\":2"), "the rate is 1, as each is a sample"},
	    {WITH("resource", "cpu_time", "\"rate\":99999"), "at most 10000 samples per second"},
	    {WITH("resource", "cpu_time", "\"rate\":4398046511105"), "the rate is at most"},
	    {EV("sched", "off_cpu_time") EV("latency", "run_queue"), ""},
	    {WITH("sched", "off_cpu_time", "\"rate\":1,\"flags\":[\"waker\"]"), ""},
	    {WITH("sched", "run_queue_time", "\"rate\":1,\"flags\":[\"waker\"]"),
	     "sched:run_queue_time has no waker"},
	    {WITH("sched", "off_cpu_time", "\"frequency\":1"), "its rate is the ns of waiting"},
	    {WITH("sched", "off_cpu_time", "\"rate\":4398046511105"), "the rate is at most"},
	    {WITH("sched", "off_cpu_time", "\"rate\":1")
		 WITH("sched", "off_cpu_time", "\"rate\":2"),
	     "can be sampled at one rate only"},
	    {WITH("sched", "wakeups", "\"rate\":1"), "can be counted, not sampled"},
	    {WITH("latency", "run_queue", "\"rate\":1"), "can be counted, not sampled"},
	    {WITH("software", "page_faults", "\"rate\":1,\"flags\":[\"unsafe\"]"),
	     "the flag \"unsafe\" is for events of the groups usdt and function"},
	    {EV("software", "minor_faults") EV("software", "page_faults_min"),
	     "is the same event as software:minor_faults"},
	    {EV("software", "minor_faults") WITH("software", "page_faults_min", USER), ""},
	    {WITH("software", "page_faults", USER) WITH("software", "page_faults", OS)
		 WITH("software", "cpu_clock", "\"label\":\"page_faults:os\""),
	     "is already used by another column"},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		const char *text = error_of(cases[i].events);

		if (*cases[i].text ? !strstr(text, cases[i].text) : *text)
			fail_msg("%s: \"%s\"", cases[i].events, text);
		if (*text)
			rig.plan = (struct plan){.nr_events = 0};
		rig_fini(&rig);
	}
}

TEST(headings)
{
	static const char *const labels[] = {"page_faults:user",
					     "page_faults:os:500",
					     "software:context_switches",
					     "misc:context_switches",
					     "mine",
					     "cpu_clock",
					     "gpu:busy",
					     "load"};

	assert_int_equal(plan(WITH("software", "page_faults", USER) WITH("software", "page_faults",
									 "\"rate\":500," OS)
				  EV("software", "context_switches") EV("misc", "context_switches")
				      WITH("misc", "cpu_user", "\"label\":\"mine\"")
					  EV("software", "cpu_clock") EV("gpu", "busy")
					      WITH("gpu", "power", "\"label\":\"load\"")),
			 0);
	for (size_t i = 0; i < NR(labels); i++)
		assert_string_equal(rig.plan.events[i].label, labels[i]);
	rig_fini(&rig);
}

/* What of a plan follows a target: perf events but those of the machine; the tasks' counters
 * wherever they run, if no CPUs were chosen. */
TEST(target)
{
	enum { FAULTS, CLOCK, SAMPLED, HARDWARE, MISC_USER, NR_EVENTS };
	static const pid_t ids[] = {7};
	static const struct {
		struct plan_target target;
		bool has_cpus; /* CPUs were chosen */
		const char *is_of_target, *is_of_tasks, *is_anywhere, *has_os, *is_refused;
	} cases[] = {
	    {{.nr_ids = 0}, false, "-----", "-----", "-----", "xxxxx", "-----"},
	    {{.nr_ids = 1}, false, "xxxx-", "xxxx-", "xx-x-", "xxxxx", "-----"},
	    {{.nr_ids = 1}, true, "xxxx-", "xxxx-", "-----", "xxxxx", "-----"},
	    {{.nr_ids = 1, .is_cgroup = true}, false, "xxxx-", "-----", "-----", "xxxxx", "-----"},
	    /* an event of the kernel would count nothing, but a clock counts */
	    {{.nr_ids = 1, .is_user_only = true},
	     false,
	     "xxxx-",
	     "xxxx-",
	     "xx-x-",
	     "----x",
	     "x----"},
	};

	assert_int_equal(plan(WITH("software", "page_faults", BOTH)
				  WITH("software", "cpu_clock", BOTH)
				      WITH("software", "task_clock", "\"rate\":1000000," BOTH)
					  WITH("fixed", "instructions_retired", BOTH)
					      WITH("misc", "cpu_user", "\"label\":\"u\"")),
			 0);
	for (size_t i = 0; i < NR(cases); i++) {
		rig.plan.target = cases[i].target;
		rig.plan.target.ids = ids;
		rig.plan.has_all_cpus = !cases[i].has_cpus;
		assert_int_equal(plan_nr_traces(&rig.plan), 2 + (cases[i].target.nr_ids != 0));
		for (size_t k = 0; k < NR_EVENTS; k++) {
			const struct plan_event *p = &rig.plan.events[k];
			const struct plan_part *part = &rig.plan.parts[p->first_part];
			bool is_anywhere = cases[i].is_anywhere[k] == 'x';

			assert_int_equal(plan_is_of_target(&rig.plan, p),
					 cases[i].is_of_target[k] == 'x');
			assert_int_equal(plan_is_of_tasks(&rig.plan, p),
					 cases[i].is_of_tasks[k] == 'x');
			assert_int_equal(plan_part_is_on(&rig.plan, part, PLAN_ANY_CPU),
					 is_anywhere);
			assert_int_equal(plan_part_is_on(&rig.plan, part, 1), !is_anywhere);
			if (k != MISC_USER)
				assert_int_equal(plan_flags(&rig.plan, p), cases[i].has_os[k] == 'x'
									       ? SPEC_OS | SPEC_USER
									       : SPEC_USER);
			assert_int_equal(plan_is_refused(&rig.plan, p),
					 cases[i].is_refused[k] == 'x');
		}
	}
	rig.plan.target = (struct plan_target){.nr_ids = 0};
	rig_fini(&rig);
}

/* Faults alone can be counted of user mode, where that is asked for. */
TEST(in_user_mode)
{
	static const bool refused[] = {false, true, true};

	assert_int_equal(plan(WITH("software", "minor_faults", USER)
				  WITH("software", "page_faults", OS)
				      WITH("software", "context_switches", BOTH)),
			 0);
	rig.plan.target = (struct plan_target){.nr_ids = 1, .is_user_only = true};
	for (size_t i = 0; i < NR(refused); i++)
		assert_int_equal(plan_is_refused(&rig.plan, &rig.plan.events[i]), refused[i]);
	rig.plan.target = (struct plan_target){.nr_ids = 0};
	rig_fini(&rig);
}
