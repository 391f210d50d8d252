/* Counters of GPUs by CUPTI, with a stand-in for the vendor's libraries (tests/cuda/standin.c). */
#include "kit.h"
#include "paths.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "collect/collect.h"
#include "event/catalogue.h"
#include "gpu/pm.h"
#include "gpu/pm_clock.h"
#include "gpu/pm_link.h"
#include "host/host.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define BUSY "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
#define MS   UINT64_C(1000000)

enum { OFFSET = 5000 }; /* seconds */

static void nap_ms(unsigned ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	nanosleep(&t, NULL);
}

HOOK(before_each)
{
	setenv("CPUPERF_CUDA_PATH", CUDA_DIR, 1);
	unsetenv("CPUPERF_STANDIN");
	unsetenv("CUDA_VISIBLE_DEVICES");
	pm_set_patience(0, 0);
	pm_set_root(NULL);
	pm_link_set_program(NULL);
}

static int open_named(const char *const *names, size_t nr, uint64_t every_ns,
		      const struct things_choice *choice, void **state, struct err *e)
{
	static const double scales[THINGS_MAX_FIELDS] = {[0 ... THINGS_MAX_FIELDS - 1] = 1e-6};
	static const struct things_choice everything;
	struct things_named named = {names, scales, nr, every_ns};

	return pm_source.open_named(&root_live, choice ? choice : &everything, &named, state, e);
}

static int open_busy(void **state, struct err *e)
{
	static const char *const names[] = {BUSY};

	return open_named(names, 1, MS, NULL, state, e);
}

TEST(clock_line)
{
	static const struct {
		struct pm_clock a, b;
		uint64_t gpu_ns, ns;
	} cases[] = {
	    {{1000, 5000}, {2000, 6000}, 1500, 5500},
	    {{1000, 5000}, {3000, 6000}, 2000, 5500}, /* a GPU that is fast */
	    {{1000, 5000}, {2000, 6500}, 1000, 5000},
	    {{1000, 5000}, {2000, 6500}, 2000, 6500},
	    {{1000, 5000}, {2000, 6500}, 3000, 8000},     /* beyond them */
	    {{2000, 6000}, {2000, 6000}, 1500, 5500},     /* one pair */
	    {{9000, 5000}, {2000, 6000}, 1500, 5500},     /* it was set back */
	    {{1000, 5000}, {901000, 6000}, 900000, 5000}, /* or ahead */
	    {{1, 1}, {UINT64_MAX, 10}, UINT64_MAX - 2, 8},
	    {{0, 10}, {100, 110}, UINT64_MAX, UINT64_MAX}, /* 2^64 + 9 is no time */
	    {{1000, 10}, {1100, 110}, 0, 0},               /* nor is -990 */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (pm_clock_convert(&cases[i].a, &cases[i].b, cases[i].gpu_ns) != cases[i].ns)
			fail_msg("case %zu: %" PRIu64, i,
				 pm_clock_convert(&cases[i].a, &cases[i].b, cases[i].gpu_ns));
}

/* What the stand-in's value says of when its sample ended: microseconds in the GPU's second. */
static double microseconds_off(const struct things_sample *s, uint64_t offset_ns, double ppm)
{
	double gpu =
	    fmod((double)(s->time_ns + offset_ns) + (double)s->time_ns * ppm / 1e6, 1e9) / 1e3;
	double off = gpu - (double)s->values[0] / 1e6 * 1e4;

	return off > 5e5 ? off - 1e6 : off < -5e5 ? off + 1e6 : off;
}

/* Values and times come out as they went in, though the GPU's clock is fast by 200 ppm. */
TEST(values_and_times)
{
	struct things_sample s;
	struct things_clock c;
	struct things_one thing;
	struct err e = {0};
	uint64_t last_ns = 0, nr = 0, nr_clocks = 0;
	double worst = 0, unsure = 0;
	void *state;

	setenv("CPUPERF_STANDIN", "offset=5000000000000,ppm=200", 1);
	assert_int_equal(open_busy(&state, &e), 0);
	for (int i = 0; i < 3; i++) {
		uint64_t until_ns;

		nap_ms(120);
		until_ns = clock_monotonic_ns();
		assert_int_equal(pm_source.read(state), 0);
		pm_source.flush(state);
		while (pm_source.sample(state, until_ns, &s)) {
			pm_source.get(state, 0, &thing); /* it has the sample's */
			assert_int_equal(thing.time_ns, s.time_ns);
			assert_int_equal(thing.values[0], s.values[0]);
			assert_int_equal(s.number, 0);
			assert_int_equal(s.has, 1);
			assert_true(s.time_ns > last_ns && s.time_ns <= until_ns);
			worst = fmax(
			    worst, fabs(microseconds_off(&s, OFFSET * UINT64_C(1000000000), 200)));
			last_ns = s.time_ns;
			nr++;
		}
		/* the newest but those of the last millisecond */
		assert_true(until_ns - last_ns < 10 * MS);
		while (pm_source.clock(state, until_ns + 100 * MS, &c)) {
			assert_false(c.is_arrival);
			assert_true(c.before_ns <= c.after_ns);
			unsure = fmax(unsure, (double)(c.after_ns - c.before_ns) / 2e3);
			nr_clocks++;
		}
	}
	/* the value has whole microseconds; between a clock's two times others may run */
	if (worst > 100 + unsure)
		fail_msg("%f us off, of clocks within %f us", worst, unsure);
	assert_true(nr > 300 && nr_clocks >= 4); /* of the start, and of each reading */
	assert_int_equal(pm_source.read(state), 0);
	pm_source.get(state, 0, &thing);
	assert_string_equal(thing.name, "nvidia0");
	assert_int_equal(thing.has, 1);
	assert_null(pm_source.note(state));
	pm_source.close(state);
}

/* A data image of 3 samples is decoded as often as needed. */
TEST(small_images)
{
	struct things_sample s;
	struct err e = {0};
	size_t nr = 0;
	void *state;

	setenv("CPUPERF_STANDIN", "image=3", 1);
	assert_int_equal(open_busy(&state, &e), 0);
	nap_ms(200);
	pm_source.read(state);
	pm_source.flush(state);
	while (pm_source.sample(state, UINT64_MAX, &s))
		nr++;
	assert_true(nr >= 200);
	assert_null(pm_source.note(state));
	pm_source.close(state);
}

TEST(several_gpus)
{
	const char *const names[] = {BUSY, "dram__bytes_read.sum.per_second"};
	const char *words[] = {"nvidia2", "nvidia0"};
	const struct things_choice choice = {.words = words, .nr = 2};
	struct things_sample s;
	struct things_one thing;
	struct err e = {0};
	size_t nr[3] = {0};
	uint64_t until_ns;
	void *state;

	setenv("CPUPERF_STANDIN", "devices=4", 1);
	assert_int_equal(open_named(names, 2, MS, &choice, &state, &e), 0);
	nap_ms(200);
	until_ns = clock_monotonic_ns() - 100 * MS; /* what was sampled until here is read */
	pm_source.read(state);
	assert_int_equal(pm_source.nr(state), 2);
	pm_source.get(state, 1, &thing);
	assert_string_equal(thing.name, "nvidia2");
	pm_source.flush(state);
	while (pm_source.sample(state, until_ns, &s)) {
		assert_true(s.time_ns <= until_ns && s.number < 2 && s.has == 3);
		nr[s.number]++;
	}
	assert_true(nr[0] > 50 &&
		    nr[1] > 50); /* none waits for those of the other that are later */
	while (pm_source.sample(state, UINT64_MAX, &s)) {
		assert_true(s.time_ns > until_ns);
		nr[2]++;
	}
	assert_true(nr[2] >= 150);
	pm_source.close(state);
}

/* Each thing that may go wrong at the start is one line, with what to do. */
TEST(refusals)
{
	static const struct {
		const char *standin, *path, *metric;
		int code;
		const char *msg, *hint;
	} cases[] = {
	    {"cuptiPmSamplingEnable=35", CUDA_DIR, BUSY, -EPERM, "reserved for administrators",
	     "NVreg_RestrictProfilingToAdminUsers=0"},
	    {"cuptiPmSamplingGetCounterAvailability=27", CUDA_DIR, BUSY, -EOPNOTSUPP,
	     "nvidia0: this GPU, or its driver, has no PM sampling", "Turing"},
	    {"cuptiPmSamplingSetConfig=26", CUDA_DIR, BUSY, -EBUSY, "in use by another program",
	     ""},
	    {"cuptiPmSamplingStart=999", CUDA_DIR, BUSY, -EIO, "cuptiPmSamplingStart failed", ""},
	    {"passes=3", CUDA_DIR, BUSY, -EINVAL, "they need 3 passes): " BUSY, "fewer"},
	    {"passes=1", CUDA_DIR, "nosuch", -EINVAL, "nvidia0 has no metric nosuch", "ncu"},
	    {"devices=0", CUDA_DIR, BUSY, -ENODEV, "no GPU that CUDA can use", ""},
	    {"cuInit=100", CUDA_DIR, BUSY, -ENODEV, "no GPU that CUDA can use", ""},
	    {"cuInit=999", CUDA_DIR, BUSY, -EIO, "CUDA does not start (cuInit: 999)", ""},
	    {"cuptiProfilerInitialize=8", CUDA_DIR, BUSY, -EIO, "CUPTI does not start", ""},
	    {"", CUDA_DIR "_old:" CUDA_DIR, BUSY, -ENOSYS, "this CUPTI has no cupti",
	     "CPUPERF_CUDA_PATH"},
	    {"crash=cuptiPmSamplingStart", CUDA_DIR, BUSY, -EIO, "ended cpuperf-gpu-pm", ""},
	    {"hang=cuptiPmSamplingStart", CUDA_DIR, BUSY, -EIO, "did not begin", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e = {0};
		void *state;
		int rc;

		setenv("CPUPERF_STANDIN", cases[i].standin, 1);
		setenv("CPUPERF_CUDA_PATH", cases[i].path, 1);
		/* a short one only where it is waited for to the end */
		pm_set_patience(strncmp(cases[i].standin, "hang", 4) == 0 ? 1000 : 0, 0);
		rc = open_named(&cases[i].metric, 1, MS, NULL, &state, &e);
		if (rc != cases[i].code || e.code != rc || !strstr(e.msg, cases[i].msg) ||
		    !strstr(e.hint, cases[i].hint) || strchr(e.msg, '\n'))
			fail_msg("case %zu: %d: %s\n%s", i, rc, e.msg, e.hint);
	}
}

/* Of two GPUs one may be unable to sample. */
TEST(only_one_works)
{
	struct err e = {0};
	const char *words[] = {"nvidia7"};
	const struct things_choice choice = {.words = words, .nr = 1};
	const char *const names[] = {BUSY};
	void *state;

	assert_int_equal(open_named(names, 1, MS, &choice, &state, &e), -ENODEV);
	assert_non_null(strstr(e.msg, "no GPU of that number"));
}

/* What failed at the start is a thing without numbers, and a note. */
TEST(one_does_not_begin)
{
	const char *const names[] = {BUSY};
	const char *words[] = {"nvidia[0-2]"};
	const struct things_choice choice = {.words = words, .nr = 1};
	struct things_one thing;
	struct err e = {0};
	const char *note;
	void *state;

	setenv("CPUPERF_STANDIN", "devices=3,broken=1", 1);
	assert_int_equal(open_named(names, 1, MS, &choice, &state, &e), 0);
	assert_int_equal(pm_source.read(state), 0);
	assert_int_equal(pm_source.nr(state), 3);
	pm_source.get(state, 1, &thing);
	assert_string_equal(thing.name, "nvidia1");
	assert_int_equal(thing.failed, 1);
	note = pm_source.note(state);
	assert_non_null(note);
	assert_non_null(strstr(note, "nvidia1: cuptiPmSamplingEnable failed"));
	assert_non_null(strstr(note, "it is not sampled"));
	assert_null(pm_source.note(state));
	pm_source.close(state);
}

TEST(unmatched_words)
{
	const char *const names[] = {BUSY};
	const char *words[] = {"nvidia0", "nvidia7", "foo"};
	const struct things_choice choice = {.words = words, .nr = 3};
	struct err e = {0};
	const char *note;
	void *state;

	assert_int_equal(open_named(names, 1, MS, &choice, &state, &e), 0);
	note = pm_source.note(state);
	assert_non_null(note);
	assert_non_null(strstr(note, "no GPU \"nvidia7\""));
	note = pm_source.note(state);
	assert_non_null(note);
	assert_non_null(strstr(note, "no GPU \"foo\""));
	assert_null(pm_source.note(state));
	pm_source.close(state);
}

/* What a user hides from CUDA programs is not hidden here, nor numbered anew. */
TEST(visible_devices)
{
	struct err e = {0};
	void *state;

	setenv("CUDA_VISIBLE_DEVICES", "", 1);
	assert_int_equal(open_busy(&state, &e), 0);
	pm_source.close(state);
}

static void add_gpu(const struct root *root, const char *address, const char *minor,
		    const char *status)
{
	char path[128], text[64];

	snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%s/information", address);
	snprintf(text, sizeof(text), "Model: \t\t GPU\nDevice Minor: \t %s\n", minor);
	tree_text(root, path, text);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/power/runtime_status", address);
	snprintf(text, sizeof(text), "%s\n", status);
	tree_text(root, path, text);
}

/* CUDA's numbers are those of the bus; names are those of the files in /dev. */
TEST(names_and_sleep)
{
	const char *const names[] = {BUSY};
	const char *words[] = {"nvidia2"};
	const struct things_choice choice = {.words = words, .nr = 1};
	struct things_one thing;
	struct root root;
	struct err e = {0};
	const char *note;
	void *state;

	root = tree_make();
	add_gpu(&root, "0000:01:00.0", "1", "active");
	add_gpu(&root, "0000:41:00.0", "2", "suspended");
	add_gpu(&root, "0000:81:00.0", "0", "active");
	tree_text(&root, "/proc/driver/nvidia/gpus/by name/information", "Device Minor: 4\n");
	pm_set_root(&root);
	setenv("CPUPERF_STANDIN", "devices=3", 1);
	assert_int_equal(open_named(names, 1, MS, NULL, &state, &e), 0);
	pm_source.read(state);
	assert_int_equal(pm_source.nr(state), 2);
	pm_source.get(state, 0, &thing);
	assert_string_equal(thing.name, "nvidia1");
	pm_source.get(state, 1, &thing);
	assert_string_equal(thing.name, "nvidia0");
	note = pm_source.note(state);
	assert_non_null(note);
	assert_non_null(strstr(note, "nvidia2 is suspended"));
	assert_null(pm_source.note(state));
	pm_source.close(state);
	assert_int_equal(open_named(names, 1, MS, &choice, &state, &e), 0);
	pm_source.read(state);
	assert_int_equal(pm_source.nr(state), 1);
	pm_source.get(state, 0, &thing);
	assert_string_equal(thing.name, "nvidia2");
	pm_source.close(state);
	setenv("CPUPERF_STANDIN", "devices=3,broken=1", 1);
	assert_int_equal(open_named(names, 1, MS, &choice, &state, &e), -EIO);
	assert_non_null(strstr(e.msg, "nvidia2: "));
	tree_remove(&root);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* A signal is no end of the time. */
TEST(a_signal_at_the_start)
{
	const struct sigaction action = {.sa_handler = on_alarm};
	struct itimerval often = {.it_interval = {.tv_usec = 500}, .it_value = {.tv_usec = 500}};
	struct err e = {0};
	void *state;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	if (open_busy(&state, &e))
		fail_msg("%s", e.msg);
	often = (struct itimerval){0};
	setitimer(ITIMER_REAL, &often, NULL);
	pm_source.close(state);
}

/* Notes after so many readings; the events are failed then. */
static void check_end(const char *standin, const char *note)
{
	struct things_one thing = {0};
	struct err e = {0};
	const char *text = NULL;
	void *state;

	setenv("CPUPERF_STANDIN", standin, 1);
	pm_set_patience(0, 1000);
	assert_int_equal(open_busy(&state, &e), 0);
	for (int i = 0; i < 50 && !text; i++) {
		nap_ms(30);
		assert_int_equal(pm_source.read(state), 0);
		text = pm_source.note(state);
		pm_source.flush(state);
	}
	if (!text || !strstr(text, note))
		fail_msg("%s: %s", standin, text ? text : "no note");
	assert_null(pm_source.note(state));
	pm_source.read(state);
	assert_null(pm_source.note(state));
	pm_source.get(state, 0, &thing);
	assert_int_equal(thing.failed, 1);
	assert_int_equal(thing.has, 0);
	pm_source.close(state);
}

TEST(it_ends)
{
	check_end("crash=cuptiPmSamplingDecodeData,from=4", "has ended");
	check_end("hang=cuptiPmSamplingDecodeData,from=4", "does not answer");
	check_end("cuptiPmSamplingDecodeData=9,from=4", "nvidia0: the GPU is lost");
}

/* One that computes answers later, as one that has no CPU does. */
TEST(it_is_busy)
{
	struct things_one thing = {0};
	struct things_sample s;
	struct err e = {0};
	uint64_t last_ns = 0;
	void *state;

	setenv("CPUPERF_STANDIN", "busy=4", 1); /* for a second */
	pm_set_patience(0, 600);
	assert_int_equal(open_busy(&state, &e), 0);
	for (uint64_t begun_ns = clock_monotonic_ns(); last_ns < begun_ns + 1500 * MS;) {
		nap_ms(30);
		assert_int_equal(pm_source.read(state), 0);
		assert_null(pm_source.note(state));
		pm_source.flush(state);
		while (pm_source.sample(state, UINT64_MAX, &s))
			last_ns = s.time_ns;
	}
	assert_int_equal(pm_source.read(state), 0);
	pm_source.get(state, 0, &thing);
	assert_int_equal(thing.failed, 0);
	pm_source.close(state);
}

TEST(overflow)
{
	struct things_sample s;
	struct err e = {0};
	const char *note = NULL;
	unsigned long long lost = 0;
	char *end;
	uint64_t first_ns = 0, last_ns = 0, nr = 0;
	void *state;

	setenv("CPUPERF_STANDIN", "overflow=4", 1);
	assert_int_equal(open_busy(&state, &e), 0);
	for (int i = 0; i < 2000 && !note; i++) {
		nap_ms(30);
		pm_source.read(state);
		pm_source.flush(state);
		while (pm_source.sample(state, UINT64_MAX, &s)) {
			first_ns = first_ns ? first_ns : s.time_ns;
			last_ns = s.time_ns;
			nr++;
		}
		note = pm_source.note(state);
	}
	assert_non_null(note);
	lost = strtoull(note, &end, 10);
	assert_int_equal(strncmp(end, " samples of nvidia0 were lost", 29), 0);
	assert_true(lost > 0);
	/* what came and what did not is what there was */
	assert_true(llabs((long long)(nr + lost) -
			  (long long)((last_ns - first_ns + MS / 2) / MS + 1)) <= 1);
	pm_source.close(state);
}

/* What is missing though nothing was full. */
TEST(gap)
{
	struct err e = {0};
	const char *note = NULL;
	void *state;

	setenv("CPUPERF_STANDIN", "gap=4", 1);
	assert_int_equal(open_busy(&state, &e), 0);
	for (int i = 0; i < 2000 && !note; i++) {
		nap_ms(30);
		pm_source.read(state);
		note = pm_source.note(state);
	}
	assert_non_null(note);
	assert_non_null(strstr(note, "samples of nvidia0 were lost"));
	assert_null(strstr(note, "full"));
	pm_source.close(state);
}

/* Samples of a clock that is not the one that is read: they have the times of their arrival. */
TEST(another_clock)
{
	struct things_sample s = {0};
	struct things_clock c = {0};
	struct err e = {0};
	const char *note;
	uint64_t from_ns, nr = 0;
	void *state;

	setenv("CPUPERF_STANDIN", "samples=7000000000", 1);
	from_ns = clock_monotonic_ns();
	assert_int_equal(open_busy(&state, &e), 0);
	nap_ms(100);
	pm_source.read(state);
	pm_source.flush(state);
	while (pm_source.sample(state, UINT64_MAX, &s)) {
		assert_true(s.time_ns >= from_ns && s.time_ns <= clock_monotonic_ns());
		nr++;
	}
	assert_true(nr > 50);
	while (pm_source.clock(state, UINT64_MAX, &c))
		;
	assert_true(c.is_arrival);
	pm_source.read(state);
	note = pm_source.note(state);
	assert_non_null(note);
	assert_non_null(strstr(note, "not by the clock"));
	pm_source.close(state);
}

TEST(cycles)
{
	struct things_sample s;
	struct err e = {0};
	const char *note;
	void *state;
	size_t nr = 0;

	setenv("CPUPERF_STANDIN", "major=8,minor=0", 1);
	assert_int_equal(open_busy(&state, &e), 0);
	note = pm_source.note(state);
	assert_non_null(note);
	assert_non_null(strstr(note, "in cycles"));
	nap_ms(100);
	pm_source.read(state);
	pm_source.flush(state);
	while (pm_source.sample(state, UINT64_MAX, &s))
		nr++;
	assert_true(nr > 50);
	pm_source.close(state);
}

static struct catalogue *catalogue_of(struct host *host, struct arena *arena)
{
	static const struct event_group *const groups[] = {&collect_gpu_group};
	static struct catalogue c;

	arena_init(arena, 1 << 20);
	c = (struct catalogue){.groups = groups, .nr_groups = 1, .host = host, .arena = arena};
	return &c;
}

TEST(names)
{
	static const struct {
		const char *name, *unit;
		unsigned number;
		enum event_total total;
	} cases[] = {
	    {"pm/" BUSY, "%", 101, EVENT_TOTAL_MEAN},
	    {"PM/SM__cycles_active.avg.pct_of_peak_sustained_elapsed", "%", 101, EVENT_TOTAL_MEAN},
	    {"pm/dram__bytes_read.sum.per_second", "B/s", 113, EVENT_TOTAL_SUM},
	    {"pm/l1tex__data_bank_reads.sum.per_second", "1/s", 0, EVENT_TOTAL_SUM},
	    {"pm/sm__cycles_elapsed.max", "cycles", 0, EVENT_TOTAL_SUM},
	    {"pm/sm__inst_executed.avg.per_cycle_elapsed", "per cycle", 0, EVENT_TOTAL_MEAN},
	    {"pm/smsp__sass_thread_inst.ratio", "", 0, EVENT_TOTAL_MEAN},
	};
	static const char *const others[] = {"pm/", "pm/busy", "pm/a__b c", "pm/a__b;c", "p/a__b"};
	struct host host = {.root = root_live};
	struct arena arena;
	struct catalogue *c = catalogue_of(&host, &arena);
	struct event ev;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err e = {0};

		assert_int_equal(catalogue_find(c, "gpu", cases[i].name, &ev, &e), 0);
		assert_string_equal(ev.row->unit, cases[i].unit);
		assert_int_equal(ev.row->number, cases[i].number);
		assert_int_equal(ev.row->total, cases[i].total);
		assert_true(collect_is_many(&ev));
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct err e = {0};

		assert_int_equal(catalogue_find(c, "gpu", others[i], &ev, &e), -ENOENT);
	}
	arena_fini(&arena);
}

/* By collect.h: events of one session are one set, and each has its own values. */
TEST(two_events)
{
	struct host host = {.root = root_live};
	struct arena arena;
	struct catalogue *c = catalogue_of(&host, &arena);
	struct event events[2];
	struct things_choice choices[2] = {{.every_ns = 5 * MS}, {.every_ns = MS}};
	struct things_sample s;
	struct reading a, b;
	struct collect *collect;
	int states[2];
	size_t nr = 0;

	assert_int_equal(
	    catalogue_find(c, "gpu",
			   "pm/sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed",
			   &events[0], NULL),
	    0);
	assert_int_equal(catalogue_find(c, "gpu", "pm/" BUSY, &events[1], NULL), 0);
	assert_int_equal(collect_open(&root_live, events, choices, 2, &collect, states), 0);
	assert_int_equal(states[0], 0);
	assert_int_equal(states[1], 0);
	assert_int_equal(collect_nr_sets(collect), 1);
	assert_true(collect_has_samples(collect, 0));
	nap_ms(100);
	collect_read(collect);
	collect_flush(collect);
	while (collect_sample(collect, 0, UINT64_MAX, &s)) {
		assert_true(collect_get_of_sample(collect, 0, &s, &a));
		assert_true(collect_get_of_sample(collect, 1, &s, &b));
		assert_int_equal(a.raw, 0);
		assert_true(b.raw <= 100000000 && b.time_ns == a.time_ns && b.state == READING_OK);
		nr++;
	}
	assert_true(nr > 50); /* the shorter pace is that of both */
	collect_close(collect);
	arena_fini(&arena);
}

/* Not of a captured machine. */
TEST(another_root)
{
	const char *const names[] = {BUSY};
	static const double scale = 1;
	const struct things_choice everything = {0};
	struct things_named named = {names, &scale, 1, 0};
	struct root root;
	struct err e = {0};
	void *state;

	assert_int_equal(root_init(&root, TEST_DATA_DIR), 0);
	assert_int_equal(pm_source.open_named(&root, &everything, &named, &state, &e), -ENODEV);
	pm_link_set_program("/nonexistent/cpuperf-gpu-pm");
	err_clear(&e);
	assert_int_equal(open_busy(&state, &e), -ENOENT);
	pm_link_set_program("/bin/true");
	err_clear(&e);
	assert_int_equal(open_busy(&state, &e), -EIO);
}
