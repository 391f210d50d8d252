/*
 * Sampling, over all CPUs of a session. The session's thread empties the rings and writes the
 * files; a second one reads misc events at the timebase's pace; a third one, for a moment after the
 * start, looks through /proc. They meet in three places, each with its lock: the collectors (the
 * pacer's), what was read and waits for the files (ticks.c), and the common file.
 */
#include "session/sampling.h"

#include "base/mem.h"
#include "session/internal.h"
#include "session/mapped.h"
#include "session/pacer.h"
#include "session/sampler.h"
#include "session/ticks.h"
#include "survey/looker.h"
#include "survey/survey.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
	NS_PER_S = 1000000000,
	DRAIN_EVERY_NS = 250000000,
	PACK_NS = 100000000, /* of each emptying of the rings */
	MIN_PACE_NS = 1000000,
	LAST_NS = 500000000, /* for files that were mapped at the end */
	LAST_PATIENCE_MS = 300,
	RESERVE_BYTES = 16 << 10, /* of each file, for its end on a full disk */
};

/* Of an error that ends the session: its source and message. */
#define UNSAVED_FORMAT "%s%s%s: what came after is missing in the files of the session"
#define UNSAVED_WHY(e) (e)->source, (e)->source[0] ? ": " : "", (e)->msg

/* The session's common file; two threads write it. */
struct common {
	pthread_mutex_t lock;
	struct trace_writer *writer; /* owned; NULL: nothing is saved */
	struct trace_packer *packer; /* owned; if nothing is packed, for symbols */
	struct trace_file *file;     /* owned */
	struct err error;            /* the first; sticks */
};

struct sampling {
	struct session *s; /* borrowed, like all below it */
	uint32_t nr_cpus;
	struct sampler *samplers;       /* owned */
	struct trace_sampling *results; /* owned */
	struct pollfd *fds;             /* owned; the session's stop, then two of each CPU */
	struct trace_packer *packer;    /* owned; NULL: not packed */
	struct common common;
	uint64_t ring_bytes, max_rate, files_bytes;
	struct err error; /* of a file of this thread; sticks */

	/* CPUs that sleep: /proc/stat */
	struct event idle_event;
	struct collect *idle;
	bool is_contained; /* in a PID namespace: the tasks outside have no pid, like the idle ones
			    */
	uint64_t *idle_ns; /* owned; of each CPU, at the last boundary; UINT64_MAX: not known */

	/* under the pacer's lock */
	struct pacer pacer;
	struct reading *scratch, *picked; /* owned; nr_parts */
	uint64_t gate_head;               /* of the first CPU's ring, at the last tick */
	struct session_things things;     /* of the last tick */

	struct ticks ticks;
	struct tick_counts {
		uint64_t taken, missed;
		struct ticks_dropped dropped;
	} before, now; /* at the start of the iteration, at its end */

	pthread_t survey;
	bool has_survey, has_told;
	unsigned nr_silent;
	atomic_bool survey_stop, survey_done;
	struct survey_result kernel, tasks;
	struct survey_looker looker; /* of the survey's thread, as is: */
	struct survey_identify_question question;
	struct buf silent, late; /* what did not answer, in words: in the survey, and after it */
	struct mapped mapped;
	struct trace_packer *symbols; /* owned by that thread; NULL: no memory */

	uint64_t started_ns, drain_due_ns, progress_due_ns;
	uint64_t pack_until_ns; /* a high level of zstd must not hold the rings up */
	int nice;               /* of this thread, before it was raised */
	bool is_raised;
};

static int common_init(struct common *c)
{
	return -pthread_mutex_init(&c->lock, NULL);
}

static void common_fini(struct common *c)
{
	trace_file_abandon(c->file);
	trace_writer_free(c->writer);
	trace_packer_free(c->packer);
	pthread_mutex_destroy(&c->lock);
}

static void common_lock(struct common *c)
{
	pthread_mutex_lock(&c->lock);
}

static void common_unlock(struct common *c)
{
	pthread_mutex_unlock(&c->lock);
}

/* The clock's period is a time; of other timebases the first CPU's ring shows the pace. */
static bool has_clock_pace(const struct plan *plan)
{
	const struct plan_event *t = plan->timebase;

	return t->asked->frequency || event_is_clock(&t->event);
}

static uint64_t pace_ns(const struct plan *plan)
{
	const struct plan_event *t = plan->timebase;
	uint64_t ns = MIN_PACE_NS;

	if (t && t->asked->frequency)
		ns = NS_PER_S / t->asked->frequency;
	else if (t && event_is_clock(&t->event))
		ns = t->asked->rate;
	return ns < MIN_PACE_NS ? MIN_PACE_NS : ns;
}

/* Of the first CPU that has one: it may be offline, or of another kind than the timebase's PMU. */
static const struct pmu_ring *first_ring(const struct sampling *g)
{
	for (uint32_t t = 0; t < g->nr_cpus; t++)
		if (g->samplers[t].ring.base)
			return &g->samplers[t].ring;
	return NULL;
}

static bool is_ahead(struct sampling *g)
{
	const struct pmu_ring *ring;
	uint64_t head;

	if (has_clock_pace(g->s->plan))
		return true;
	ring = first_ring(g);
	head = ring ? pmu_ring_head(ring) : g->gate_head;
	if (head == g->gate_head)
		return false;
	g->gate_head = head;
	return true;
}

static void tick_cpu(struct sampling *g, struct session_cpu *c)
{
	size_t nr = 0;

	session_cpu_read_alone(c, g->scratch);
	session_add_misc(g->s, c, g->scratch);
	for (size_t k = 0; k < g->s->plan->nr_parts; k++)
		if (g->scratch[k].state == READING_OK)
			g->picked[nr++] = g->scratch[k];
	ticks_add(&g->ticks, c->trace, g->picked, nr);
}

static void tick_things(struct sampling *g)
{
	if (!collect_nr_sets(g->s->collect))
		return;
	if (session_things_take(&g->things, g->s)) {
		ticks_drop(&g->ticks);
		return;
	}
	ticks_add_names(&g->ticks, &g->things);
	ticks_add(&g->ticks, 0, g->things.readings, g->things.nr_readings);
}

static bool tick(void *arg)
{
	struct sampling *g = arg;

	if (!is_ahead(g))
		return false;
	collect_read(g->s->collect);
	for (uint32_t t = 0; t < g->nr_cpus; t++)
		tick_cpu(g, &g->s->cpus[t]);
	tick_things(g);
	return true;
}

void sampling_boundary(struct sampling *g)
{
	g->now = (struct tick_counts){g->pacer.ticks, g->pacer.missed, ticks_dropped(&g->ticks)};
}

void sampling_lock(struct sampling *g)
{
	pacer_lock(&g->pacer);
}

void sampling_unlock(struct sampling *g)
{
	pacer_unlock(&g->pacer);
}

static int make_memory(struct sampling *g)
{
	size_t nr = g->nr_cpus;

	g->samplers = mem_calloc(nr, sizeof(*g->samplers));
	g->results = mem_calloc(nr, sizeof(*g->results));
	g->fds = mem_calloc(1 + 2 * nr, sizeof(*g->fds));
	g->idle_ns = mem_calloc(nr, sizeof(*g->idle_ns));
	g->scratch = mem_calloc(g->s->plan->nr_parts, sizeof(*g->scratch));
	g->picked = mem_calloc(g->s->plan->nr_parts, sizeof(*g->picked));
	if (!g->samplers || !g->results || !g->fds || !g->idle_ns || !g->scratch || !g->picked)
		return -ENOMEM;
	/* a set has an event at least */
	return ticks_init(&g->ticks, g->nr_cpus, (uint32_t)g->s->plan->nr_events);
}

/* The first PID namespace has a fixed number: PROC_PID_INIT_INO in include/linux/proc_ns.h. */
static bool is_in_pid_namespace(void)
{
	char text[64] = "";

	return readlink("/proc/self/ns/pid", text, sizeof(text) - 1) > 0 &&
	       strcmp(text, "pid:[4026531836]") != 0;
}

/* cpu_utilization is the busy part of all time: the rest of its base is what the CPU slept. */
static int open_idle(struct sampling *g)
{
	int state;

	g->is_contained = is_in_pid_namespace();
	for (size_t i = 0; i < collect_misc_group.nr_rows; i++)
		if (strcmp(collect_misc_group.rows[i].name, "cpu_utilization") == 0)
			g->idle_event =
			    (struct event){&collect_misc_group, &collect_misc_group.rows[i]};
	return collect_open(&g->s->plan->host->root, &g->idle_event, NULL, 1, &g->idle, &state);
}

static int init_cpus(struct sampling *g)
{
	int rc = 0;

	for (uint32_t t = 0; t < g->nr_cpus && rc == 0; t++) {
		g->s->traces[t].sampling = &g->results[t];
		rc = sampler_init(&g->samplers[t], &g->s->cpus[t], &g->pack_until_ns);
	}
	return rc;
}

int sampling_new(struct session *s, struct sampling **out)
{
	struct sampling *g = mem_zalloc(sizeof(*g));
	int rc;

	if (!g)
		return -ENOMEM;
	*g = (struct sampling){.s = s, .nr_cpus = s->nr_cpus};
	session_things_init(&g->things);
	buf_init(&g->silent, SESSION_NOTE_BYTES);
	buf_init(&g->late, SESSION_NOTE_BYTES);
	rc = common_init(&g->common);
	if (rc == 0)
		rc = mapped_init(&g->mapped);
	if (rc == 0)
		rc = pacer_init(&g->pacer, pace_ns(s->plan), tick, g);
	if (rc) { /* cannot be with the mutexes of Linux */
		mem_free(g);
		return rc;
	}
	rc = make_memory(g);
	if (rc == 0)
		rc = init_cpus(g);
	if (rc == 0)
		rc = open_idle(g);
	if (rc) {
		sampling_free(g);
		return rc;
	}
	*out = g;
	return 0;
}

void sampling_free(struct sampling *g)
{
	if (!g)
		return;
	sampling_close_files(g);
	for (uint32_t t = 0; g->samplers && t < g->nr_cpus; t++)
		sampler_fini(&g->samplers[t]);
	collect_close(g->idle);
	pacer_fini(&g->pacer);
	common_fini(&g->common);
	mem_free(g->samplers);
	mem_free(g->results);
	mem_free(g->fds);
	mem_free(g->idle_ns);
	mem_free(g->scratch);
	mem_free(g->picked);
	session_things_fini(&g->things);
	buf_fini(&g->silent);
	buf_fini(&g->late);
	mapped_fini(&g->mapped);
	ticks_fini(&g->ticks);
	mem_free(g);
}

int sampling_open_rings(struct sampling *g, uint64_t ring_bytes)
{
	int rc = 0;

	g->ring_bytes = ring_bytes;
	for (uint32_t t = 0; t < g->nr_cpus && rc == 0; t++)
		if (g->s->cpus[t].is_open)
			rc = sampler_open(&g->samplers[t], &g->s->probe, ring_bytes);
	if (rc)
		sampling_close_rings(g);
	return rc;
}

void sampling_close_rings(struct sampling *g)
{
	for (uint32_t t = 0; t < g->nr_cpus; t++)
		sampler_close(&g->samplers[t]);
}

int sampling_reopen(struct sampling *g, uint32_t trace)
{
	sampler_close(&g->samplers[trace]);
	return sampler_open(&g->samplers[trace], &g->s->probe, g->ring_bytes);
}

static int survey_records(const void *records, size_t len, void *arg)
{
	struct sampling *g = arg;
	struct common *c = &g->common;
	struct trace_span span = {.part = {records, NULL}, .len = {len, 0}};
	int rc = 0;

	common_lock(c);
	if (c->file)
		rc = trace_file_records(c->file, TRACE_RING_MADE, UINT32_MAX, &span, &c->error);
	common_unlock(c);
	return rc;
}

static int survey_kallsyms(const char *text, size_t len, void *arg)
{
	struct sampling *g = arg;
	struct common *c = &g->common;
	int rc = 0;

	common_lock(c);
	if (c->file) {
		trace_writer_more(c->writer);
		trace_writer_kallsyms(c->writer, text, len);
		rc = trace_file_append(c->file, c->writer, &c->error);
	}
	common_unlock(c);
	return rc;
}

static bool survey_pack(const char *text, size_t len, const void **piece, size_t *piece_len,
			void *arg)
{
	struct sampling *g = arg;

	return trace_packer_kallsyms(g->symbols, text, len, piece, piece_len);
}

static int survey_packed(const void *piece, size_t len, void *arg)
{
	struct sampling *g = arg;
	struct common *c = &g->common;
	int rc = 0;

	common_lock(c);
	if (c->file)
		rc = trace_file_kallsyms(c->file, piece, len, &c->error);
	common_unlock(c);
	return rc;
}

/* Some event takes samples in the kernel. */
static bool wants_kernel(const struct plan *plan)
{
	for (size_t i = 0; i < plan->nr_events; i++) {
		const struct spec_event *e = plan->events[i].asked;

		if (spec_event_is_sampled(e) && (e->flags & (SPEC_OS | SPEC_USER)) != SPEC_USER)
			return true;
	}
	return false;
}

/* A ring that is not emptied in time loses samples: the little that it takes comes before what is
 * measured, where we may ask for that. Of this thread and those that it starts. */
static void raise_priority(struct sampling *g)
{
	enum { NICE = -10 };

	g->nice = getpriority(PRIO_PROCESS, 0);
	/* who was made nice on purpose stays so */
	g->is_raised = g->nice <= 0 && g->nice > NICE && setpriority(PRIO_PROCESS, 0, NICE) == 0;
}

static void lower_priority(const struct sampling *g)
{
	if (g->is_raised)
		(void)setpriority(PRIO_PROCESS, 0, g->nice);
}

/* By itself, and first: it waits for nobody. */
static int survey_kernel(struct sampling *g)
{
	struct survey_config config = {.root = &g->s->plan->host->root,
				       .wants_kernel = wants_kernel(g->s->plan),
				       .records = survey_records,
				       .kallsyms = survey_kallsyms,
				       .packed = survey_packed,
				       .arg = g,
				       .stop = &g->survey_stop};
	int rc;

	g->symbols = trace_packer_new(0);
	if (g->symbols)
		config.pack = survey_pack;
	rc = survey_run(&config, &g->kernel);
	trace_packer_free(g->symbols);
	return rc;
}

static int survey_tasks(struct sampling *g)
{
	int rc = survey_looker_survey(&g->looker, &g->tasks);

	g->nr_silent = survey_looker_note(&g->looker, 0, &g->silent);
	return rc;
}

static int add_build_id(struct sampling *g, const struct survey_identify_answer *a)
{
	const struct survey_identify_question *q = &g->question;
	const struct trace_build_id id = {
	    .major = q->major,
	    .minor = q->minor,
	    .inode = q->inode,
	    .inode_generation = q->generation,
	    .from_ns = a->from_ns,
	    .to_ns = a->to_ns,
	    .id = a->id.bytes,
	    .id_len = a->id.len,
	    .path = q->path,
	    .path_len = (uint32_t)strlen(q->path),
	};
	struct common *c = &g->common;
	int rc = 0;

	common_lock(c);
	if (c->file) {
		trace_writer_more(c->writer);
		trace_writer_build_id(c->writer, &id);
		rc = trace_file_append(c->file, c->writer, &c->error);
	}
	common_unlock(c);
	return rc;
}

/* One question. False: no further one is to be asked. */
static bool identify_one(struct sampling *g, uint32_t number)
{
	struct survey_identify_answer a = {0};
	int rc = survey_looker_ask(&g->looker, &g->question, &a);

	mapped_answered(&g->mapped, number, (enum survey_identify_state)a.state, rc == -ETIMEDOUT);
	if (rc == 0 && a.state == SURVEY_IDENTIFY_FOUND)
		rc = add_build_id(g, &a);
	return rc == 0 || rc == -ETIMEDOUT;
}

/* Until the session ends: a person who waits for that does not wait long for what is left. */
static void identify_mapped(struct sampling *g)
{
	uint64_t until_ns = 0;
	uint32_t number;

	g->looker.config.stop = NULL;
	while (mapped_next(&g->mapped, &g->question, &number)) {
		if (!until_ns && mapped_is_ending(&g->mapped)) {
			until_ns = clock_monotonic_ns() + LAST_NS;
			g->looker.config.patience_ms = LAST_PATIENCE_MS;
		}
		if (!identify_one(g, number) || (until_ns && clock_monotonic_ns() > until_ns))
			break;
	}
	survey_looker_note(&g->looker, g->nr_silent, &g->late);
	if (g->mapped.nr_foreign)
		buf_printf(&g->late,
			   "%sno build-ids of %u files that were mapped: their file "
			   "systems may never answer",
			   g->late.len ? "; " : "", g->mapped.nr_foreign);
	if (g->mapped.is_full)
		buf_printf(&g->late, "%sno build-ids of files beyond the ceiling",
			   g->late.len ? "; " : "");
}

static void note_failure(struct survey_result *r, int rc, const char *what)
{
	if (rc && !r->note[0])
		snprintf(r->note, sizeof(r->note), "%s of before the start are missing: %s", what,
			 rc == -ECANCELED ? "stopped" : strerror(-rc));
}

static void *survey(void *arg)
{
	const struct survey_looker_config config = {
	    .root = &((struct sampling *)arg)->s->plan->host->root,
	    .records = survey_records,
	    .arg = arg,
	    .stop = &((struct sampling *)arg)->survey_stop};
	struct sampling *g = arg;
	int rc;

	lower_priority(g);
	note_failure(&g->kernel, survey_kernel(g), "symbols");
	rc = survey_looker_init(&g->looker, &config);
	note_failure(&g->tasks, rc ? rc : survey_tasks(g), "tasks");
	atomic_store(&g->survey_done, true);
	if (rc)
		return NULL;
	identify_mapped(g);
	survey_looker_fini(&g->looker);
	return NULL;
}

enum { NR_SURVEY_NOTES = 3 }; /* and what comes later */

static const char *survey_note(const struct sampling *g, int i)
{
	const char *const notes[] = {g->kernel.note, g->tasks.note, buf_str(&g->silent),
				     buf_str(&g->late)};

	return notes[i];
}

/* What it has to say, once it is through. */
static void tell_survey(struct sampling *g)
{
	for (int i = 0; i < NR_SURVEY_NOTES && !g->has_told; i++)
		if (*survey_note(g, i))
			session_note(g->s, 0, "%s", survey_note(g, i));
	g->has_told = true;
}

/* Waits for its thread. */
static void end_survey(struct sampling *g)
{
	if (!g->has_survey)
		return;
	mapped_end(&g->mapped);
	pthread_join(g->survey, NULL);
	g->has_survey = false;
	tell_survey(g);
	if (g->late.len)
		session_note(g->s, 0, "%s", buf_str(&g->late));
}

static int begin_common(struct sampling *g, struct err *e)
{
	struct session *s = g->s;
	struct common *c = &g->common;
	struct trace_head head;
	int rc;

	session_make_head(s, TRACE_COMMON, TRACE_COMMON, UINT32_MAX, &head);
	rc = session_writer_new(s, &c->writer, e);
	rc = rc ? rc : trace_writer_begin(c->writer, &head);
	return rc ? err_set(e, rc, "the common file cannot be made: %s", strerror(-rc)) : 0;
}

int sampling_open_files(struct sampling *g, struct err *e)
{
	struct common *c = &g->common;
	struct clock_triple now;

	if (!c->writer)
		return 0;
	session_output_reserve(g->s->output, (uint64_t)RESERVE_BYTES * (g->nr_cpus + 1));
	clock_triple_now(&now);
	trace_writer_clocks(c->writer, &now);
	return session_output_create(g->s->output, c->writer, TRACE_COMMON, TRACE_COMMON, c->packer,
				     &c->file, e);
}

int sampling_prepare_files(struct sampling *g, struct err *e)
{
	int level = spec_zstd_level(g->s->plan->spec);

	if (!g->s->writer)
		return 0;
	g->common.packer = trace_packer_new(level);
	if (level)
		g->packer = trace_packer_new(level);
	if (!g->common.packer || (level && !g->packer))
		return err_set(e, -ENOMEM, "no memory to compress with");
	return begin_common(g, e);
}

static void note_unsaved(struct trace_writer *w, const struct err *why)
{
	char text[SESSION_NOTE_BYTES];

	snprintf(text, sizeof(text), UNSAVED_FORMAT, UNSAVED_WHY(why));
	trace_writer_note(w, &(struct trace_note){.time_ns = clock_monotonic_ns(), .text = text});
}

/* The end of the common file; its totals are those of the whole session. */
static int finish_common(struct sampling *g, struct err *e)
{
	struct common *c = &g->common;
	struct trace_totals totals = {.start_ns = g->started_ns, .end_ns = clock_monotonic_ns()};
	struct trace_file *file = c->file;

	c->file = NULL;
	trace_writer_more(c->writer);
	for (int i = 0; i <= NR_SURVEY_NOTES; i++)
		if (*survey_note(g, i))
			trace_writer_note(c->writer,
					  &(struct trace_note){.time_ns = totals.end_ns,
							       .text = survey_note(g, i)});
	if (c->error.code)
		note_unsaved(c->writer, &c->error);
	return trace_file_finish(file, c->writer, &totals, e);
}

/* Ends what runs beside this thread. */
static void end_threads(struct sampling *g)
{
	pacer_stop(&g->pacer);
	end_survey(g);
}

/* A person who stops the session does not wait for what a busy machine has not surveyed by then. */
int sampling_finish(struct sampling *g, struct err *e)
{
	if (atomic_load(&g->s->stop))
		atomic_store(&g->survey_stop, true);
	end_threads(g);
	return g->common.file ? finish_common(g, e) : 0;
}

void sampling_close_files(struct sampling *g)
{
	atomic_store(&g->survey_stop, true);
	end_threads(g);
	lower_priority(g);
	g->is_raised = false;
	if (g->common.file) { /* the session failed */
		session_output_release(g->s->output);
		(void)finish_common(g, NULL);
	}
	trace_packer_free(g->packer);
	g->packer = NULL;
}

void sampling_enable(const struct sampling *g, uint32_t trace)
{
	sampler_enable(&g->samplers[trace]);
}

/* When the CPU's samplers were read, which ends the iteration for it; without samplers: when the
 * boundary was. */
static uint64_t cut_ns(const struct sampling *g, uint32_t trace)
{
	const struct sampler *m = &g->samplers[trace];
	uint64_t latest_ns = 0;

	for (uint32_t i = 0; i < m->scan.nr_events; i++) {
		uint64_t ns = m->cpu->end[m->events[i].part].time_ns;

		latest_ns = ns > latest_ns ? ns : latest_ns;
	}
	return latest_ns ? latest_ns : g->s->boundary_ns;
}

/* What each CPU slept since the last boundary. */
static void read_idle(struct sampling *g)
{
	collect_read(g->idle);
	for (uint32_t t = 0; t < g->nr_cpus; t++) {
		uint64_t before_ns = g->idle_ns[t], hz = g->s->plan->host->user_hz;
		struct reading r = {0};

		collect_get(g->idle, 0, g->s->cpus[t].cpu, &r);
		g->idle_ns[t] = !g->is_contained && r.state == READING_OK && r.base >= r.raw && hz
				    ? (r.base - r.raw) * (NS_PER_S / hz)
				    : UINT64_MAX;
		g->results[t].idle_ns = before_ns <= g->idle_ns[t] && g->idle_ns[t] != UINT64_MAX
					    ? g->idle_ns[t] - before_ns
					    : UINT64_MAX;
	}
}

/* There is something to read at the timebase's pace. */
static bool has_ticks(const struct session *s)
{
	for (size_t i = 0; i < s->plan->nr_events; i++)
		if (s->plan->events[i].set == PLAN_ALONE && s->events[i].nr_cpus)
			return true;
	return s->nr_misc > 0;
}

int sampling_start(struct sampling *g, struct err *e)
{
	int rc = 0;

	raise_priority(g);
	if (g->is_contained)
		session_note(g->s, 0,
			     "in a PID namespace: tasks outside of it have no pid, and idle "
			     "CPUs cannot be told from theirs");
	g->started_ns = clock_monotonic_ns();
	g->drain_due_ns = g->started_ns + DRAIN_EVERY_NS;
	g->progress_due_ns = g->started_ns + NS_PER_S;
	g->max_rate = host_max_sample_rate(g->s->plan->host);
	g->pack_until_ns = g->started_ns + PACK_NS;
	read_idle(g);
	for (uint32_t t = 0; t < g->nr_cpus && rc == 0; t++)
		rc = sampler_cut(&g->samplers[t], cut_ns(g, t), false, e);
	if (rc == 0 && g->common.file)
		g->has_survey = pacer_thread(&g->survey, survey, g) == 0;
	if (g->common.file && !g->has_survey)
		session_note(g->s, 0,
			     "no thread: tasks and symbols of before the start are missing");
	if (rc == 0 && g->s->writer && g->s->plan->timebase && has_ticks(g->s))
		rc = pacer_start(&g->pacer);
	return rc ? err_set(e, rc, "sampling cannot start: %s", strerror(-rc)) : 0;
}

/* Each iteration's first trace names its things itself. */
static void begin_things(struct sampling *g, struct trace_writer *w)
{
	const struct session *s = g->s;

	session_add_things(w, TRACE_START, &s->things_start);
	session_things_write(&s->things_start, s, w, UINT64_MAX);
	ticks_skip_names(&g->ticks, &s->things_start);
}

static int create_trace(struct sampling *g, uint32_t iteration, uint32_t t, struct trace_file **out,
			struct err *e)
{
	struct session *s = g->s;
	struct trace_writer *w = s->writer;
	struct clock_triple now;
	struct trace_head head;
	int rc;

	session_make_head(s, iteration, t, s->cpus[t].cpu, &head);
	rc = trace_writer_begin(w, &head);
	if (rc)
		return err_set(e, rc, "a trace cannot be made: %s", strerror(-rc));
	clock_triple_now(&now);
	trace_writer_ids(w, g->samplers[t].ids, g->samplers[t].nr_ids);
	trace_writer_clocks(w, &now);
	session_add_readings(s, w, TRACE_START, s->cpus[t].start);
	if (t == 0)
		begin_things(g, w);
	return session_output_create(s->output, w, iteration, t, g->packer, out, e);
}

int sampling_begin(struct sampling *g, uint32_t iteration, struct err *e)
{
	int rc = 0;

	for (uint32_t t = 0; t < g->nr_cpus && rc == 0; t++) {
		struct trace_file *file = NULL;
		struct err why = {0};

		if (g->s->writer)
			rc = create_trace(g, iteration, t, &file, &why);
		rc = session_go_on_without(g->s, rc, &why, e);
		if (rc == 0)
			rc = sampler_begin(&g->samplers[t], file, e);
	}
	return rc;
}

const struct err *sampling_failed(const struct sampling *g)
{
	return g->error.code ? &g->error : NULL;
}

/* Where the trace has no file, because its name was taken, what was gathered goes nowhere. */
static int append(struct trace_file *file, struct trace_writer *w, struct err *e)
{
	return file ? trace_file_append(file, w, e) : 0;
}

/* What waits and was read up to that time, names first: what is left of the last time, and then
 * what came since. Each goes to the file before the next is gathered, for a writer has a ceiling.
 */
static int drain_ticks(struct sampling *g, uint32_t t, uint64_t until_ns, struct err *e)
{
	struct trace_file *file = g->samplers[t].file;
	struct trace_writer *w = g->s->writer;
	const struct reading *readings;
	int rc = 0;

	if (!w)
		return 0;
	trace_writer_more(w);
	if (t == 0 && ticks_take_names(&g->ticks, g->s, w, until_ns))
		rc = append(file, w, e);
	for (int i = 0; i < 2 && rc == 0; i++) {
		size_t nr = ticks_take(&g->ticks, t, until_ns, &readings);

		if (!nr)
			break;
		trace_writer_more(w);
		trace_writer_readings(w, TRACE_TICK, readings, nr);
		rc = append(file, w, e);
	}
	return rc;
}

static void drain_side_band(struct sampling *g, uint32_t t)
{
	common_lock(&g->common);
	if (sampler_drain_side_band(&g->samplers[t], g->common.file, &g->mapped,
				    &g->common.error) &&
	    !g->error.code)
		g->error = g->common.error;
	common_unlock(&g->common);
}

/* Errors stick in g->error. */
static void drain_cpu(struct sampling *g, uint32_t t)
{
	drain_side_band(g, t);
	if (!g->error.code)
		(void)sampler_drain(&g->samplers[t], &g->error);
}

static void drain_all(struct sampling *g)
{
	for (uint32_t t = 0; t < g->nr_cpus && !g->error.code; t++) {
		drain_cpu(g, t);
		if (!g->error.code)
			(void)drain_ticks(g, t, UINT64_MAX, &g->error);
	}
}

/* A descriptor below 0 is passed over by poll. */
static void set_fds(struct sampling *g)
{
	g->fds[0] = (struct pollfd){.fd = g->s->stop_fd, .events = POLLIN};
	for (uint32_t t = 0; t < g->nr_cpus; t++) {
		const struct sampler *m = &g->samplers[t];
		bool is_there = m->cpu->is_open && !m->is_hung_up;

		g->fds[1 + 2 * t] = (struct pollfd){
		    .fd = is_there && m->ring.base ? m->ring.fd : -1, .events = POLLIN};
		g->fds[2 + 2 * t] =
		    (struct pollfd){.fd = is_there ? m->side_band_fd : -1, .events = POLLIN};
	}
}

/* A CPU that goes offline hangs up, and would wake us for ever. */
static void drain_woken(struct sampling *g)
{
	for (uint32_t t = 0; t < g->nr_cpus && !g->error.code; t++) {
		short revents = g->fds[1 + 2 * t].revents | g->fds[2 + 2 * t].revents;

		g->samplers[t].is_hung_up |= (revents & ~POLLIN) != 0;
		if (revents)
			drain_cpu(g, t);
	}
}

static void tell_progress(struct sampling *g, uint64_t now_ns)
{
	const struct spec *spec = g->s->plan->spec;
	uint64_t whole_ns = spec->duration_ns * spec->num_iterations;
	struct session_progress p = {.bytes_written = g->files_bytes,
				     .elapsed_ns = now_ns - g->started_ns};

	g->progress_due_ns = now_ns + NS_PER_S;
	if (!g->s->config.on_progress)
		return;
	p.left_ns = whole_ns > p.elapsed_ns ? whole_ns - p.elapsed_ns : 0;
	for (uint32_t t = 0; t < g->nr_cpus; t++) {
		p.samples += sampler_samples(&g->samplers[t]);
		p.lost += sampler_lost(&g->samplers[t]);
		if (g->samplers[t].file)
			p.bytes_written += trace_file_bytes(g->samplers[t].file);
	}
	g->s->config.on_progress(&p, g->s->config.arg);
}

void sampling_wait(struct sampling *g, uint64_t deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t until_ns = deadline_ns < g->drain_due_ns ? deadline_ns : g->drain_due_ns;
	uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec left = {.tv_sec = (time_t)(left_ns / NS_PER_S),
				.tv_nsec = (long)(left_ns % NS_PER_S)};
	int rc;

	set_fds(g);
	rc = ppoll(g->fds, 1 + 2 * (nfds_t)g->nr_cpus, &left, NULL);
	now_ns = clock_monotonic_ns();
	g->pack_until_ns = now_ns + PACK_NS;
	if (rc > 0)
		drain_woken(g);
	if (now_ns >= g->drain_due_ns) {
		drain_all(g);
		g->drain_due_ns = now_ns + DRAIN_EVERY_NS;
	}
	if (now_ns >= g->progress_due_ns)
		tell_progress(g, now_ns);
}

static void sum_up(struct sampling *g, uint32_t t)
{
	const struct sampler *m = &g->samplers[t];
	struct trace_sampling *r = &g->results[t];

	r->ring_bytes = m->ring.base ? g->ring_bytes : 0;
	r->max_rate_start = g->max_rate;
	r->lost = m->scan.lost;
	r->ticks = g->now.taken - g->before.taken;
	r->ticks_missed = g->now.missed - g->before.missed;
	r->item = m->sampled;
	r->nr = m->scan.nr_events;
}

static uint64_t throttled(const struct trace_sampling *r)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < r->nr; i++)
		nr += r->item[i].throttled;
	return nr;
}

/* Ends the file, whatever happens. */
static int finish_trace(struct sampling *g, const struct session_iteration *it, uint32_t t,
			struct err *e)
{
	struct session *s = g->s;
	struct trace_file *file = g->samplers[t].file;
	const struct trace_sampling *r = &g->results[t];
	struct trace_totals totals = {.start_ns = it->start_ns,
				      .end_ns = it->end_ns,
				      .is_cut = it->is_cut,
				      .lost = r->lost,
				      .throttled = throttled(r)};

	if (!file)
		return 0;
	g->samplers[t].file = NULL;
	g->files_bytes += trace_file_bytes(file);
	trace_writer_more(s->writer);
	trace_writer_clocks(s->writer, &it->clocks);
	session_add_readings(s, s->writer, TRACE_END, it->traces[t].end);
	if (t == 0) {
		session_add_things(s->writer, TRACE_END, it->things_end);
		session_things_write(it->things_end, s, s->writer, UINT64_MAX);
	}
	trace_writer_sampling(s->writer, r);
	session_add_notes(s, s->writer, t);
	return trace_file_finish(file, s->writer, &totals, e);
}

/* What was sampled and read until the end of the iteration. */
static int record_cpu(struct sampling *g, uint32_t t, struct err *e)
{
	uint64_t until_ns = cut_ns(g, t);
	int rc = sampler_cut(&g->samplers[t], until_ns, true, e);

	rc = rc ? rc : drain_ticks(g, t, until_ns, e);
	sum_up(g, t);
	return rc;
}

/* Each reading took longer than the period, or the machine held them up. */
static void note_missed(struct sampling *g, uint32_t iteration)
{
	uint64_t missed = g->now.missed - g->before.missed;
	uint64_t taken = g->now.taken - g->before.taken;

	if (missed)
		session_note(g->s, 0,
			     "%llu of %llu readings of iteration %u at the timebase's pace were "
			     "passed by: the one before took too long",
			     (unsigned long long)missed, (unsigned long long)taken + missed,
			     iteration);
}

/* Of the iteration that ends. */
static void note_dropped(struct sampling *g, uint32_t iteration)
{
	const struct ticks_dropped *a = &g->before.dropped, *b = &g->now.dropped;
	const struct {
		uint64_t nr;
		const char *why;
	} causes[] = {
	    {b->full - a->full, "were dropped: the files are written too slowly for them"},
	    {b->no_memory - a->no_memory, "were dropped: there was no memory for them"},
	};

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (causes[i].nr)
			session_note(g->s, 0,
				     "%llu readings of iteration %u at the timebase's pace %s",
				     (unsigned long long)causes[i].nr, iteration, causes[i].why);
}

static void note_losses(struct sampling *g, uint32_t iteration)
{
	uint64_t lost = 0;

	for (uint32_t t = 0; t < g->nr_cpus; t++)
		lost += g->samplers[t].side_band_lost;
	if (lost)
		session_note(g->s, 0,
			     "%llu records of tasks and mappings were lost: some samples will have "
			     "no name",
			     (unsigned long long)lost);
	note_missed(g, iteration);
	note_dropped(g, iteration);
}

/* Samples first, and then the ends of all files: on a full disk these have what was kept for them.
 */
static int record_all(struct sampling *g, const struct session_iteration *it, struct err *why)
{
	uint64_t max_rate = host_max_sample_rate(g->s->plan->host);
	int rc = why->code, one;

	for (uint32_t t = 0; t < g->nr_cpus; t++) {
		g->results[t].max_rate_end = max_rate;
		one = record_cpu(g, t, why);
		rc = rc ? rc : one;
	}
	g->max_rate = max_rate;
	if (rc && g->s->writer) {
		session_output_release(g->s->output);
		session_note(g->s, 0, UNSAVED_FORMAT, UNSAVED_WHY(why));
	}
	for (uint32_t t = 0; t < g->nr_cpus; t++) {
		one = finish_trace(g, it, t, why);
		rc = rc ? rc : one;
	}
	return rc;
}

int sampling_record(struct sampling *g, const struct session_iteration *it, struct err *e)
{
	struct err why;
	int rc;

	if (atomic_load(&g->survey_done))
		tell_survey(g);
	g->pack_until_ns = clock_monotonic_ns() + PACK_NS;
	read_idle(g);
	for (uint32_t t = 0; t < g->nr_cpus; t++)
		drain_side_band(g, t);
	note_losses(g, it->iteration);
	why = g->error;
	rc = record_all(g, it, &why);
	if (rc && e)
		*e = why;
	g->before = g->now;
	return rc;
}
