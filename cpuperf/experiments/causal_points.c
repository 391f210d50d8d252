#include "experiments/causal_points.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/thread.h"
#include "bpf/probes.h"
#include "causal/rounds.h"
#include "event/function.h"
#include "experiments/causal_attached.h"
#include "experiments/causal_memory.h"
#include "functions/breakpoints.h"
#include "machine.h"
#include "marks/region_stream.h"
#include "trace/trace.h"
#include "wire/wire.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAMES = 4096, MAX_NAMES_BYTES = 1 << 20, MAX_OPEN = 1 << 16, MAX_WAIT_MS = 1000 };

/* A region of that name that is open: of a thread, at a depth. */
struct open_region {
	uint32_t pid, tid, depth;
	uint64_t begin_ns; /* 0: it has ended */
};

struct marks {
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t has_passed;
	struct dict names; /* struct name: all that were seen */
	uint32_t wanted;   /* the number of the point's; 0: it was not seen */
	struct region_stream stream;
	struct dict open;
	uint64_t until_ns; /* marks from that time on are of the next reading */
	uint64_t passed_ns;
	uint64_t nr_lost;
	struct causal_visits before, later;
};

struct name {
	const char *text;
};

struct causal_point {
	const char *name;
	const struct causal_attached *attached;
	struct marks marks;
	bool has_marks;          /* they are received */
	bool is_mark;            /* it is one, or coz's */
	struct causal_flow flow; /* of coz's */
	struct probes *probes;   /* owned; NULL: no function is counted */
	struct probes_config probes_config;
	struct probes_place *places; /* owned */
	struct event_functions functions;
	uint32_t nr_cpus;
	uint64_t rate;
};

/* --- marks, in the thread of the wire */

static void add_name(void *arg, uint32_t number, const char *text)
{
	struct causal_point *p = arg;

	pthread_mutex_lock(&p->marks.lock);
	(void)dict_add(&p->marks.names, text);
	if (p->is_mark && strcmp(text, p->name) == 0)
		p->marks.wanted = number;
	pthread_mutex_unlock(&p->marks.lock);
}

static void count(struct marks *m, uint64_t time_ns, uint64_t begin_ns)
{
	struct causal_visits *v = time_ns < m->until_ns ? &m->before : &m->later;

	v->nr++;
	v->nr_timed += begin_ns > 0;
	v->timed_ns += begin_ns && time_ns > begin_ns ? time_ns - begin_ns : 0;
}

static void on_nested(void *arg, uint32_t pid, uint32_t tid, const struct wire_mark *mark)
{
	struct marks *m = &((struct causal_point *)arg)->marks;
	const uint32_t key[] = {pid, tid, mark->depth};
	const bool is_wanted = m->wanted && mark->name == m->wanted;
	struct open_region *r;

	if (mark->kind == TRACE_MARK_BEGIN || mark->kind == TRACE_MARK_BEGIN_NUMBER) {
		r = is_wanted ? dict_get(&m->open, key) : NULL;
		if (r)
			r->begin_ns = mark->time_ns;
		m->before.lost += is_wanted && !r;
	} else if (mark->kind == TRACE_MARK_END) {
		r = dict_at(&m->open, dict_find(&m->open, key));
		if (r && r->begin_ns) {
			count(m, mark->time_ns, r->begin_ns);
			r->begin_ns = 0;
		}
	} else if (is_wanted &&
		   (mark->kind == TRACE_MARK_INSTANT || mark->kind == TRACE_MARK_INT)) {
		count(m, mark->time_ns, 0);
	}
}

static void add_marks(void *arg, const struct wire_marks *marks)
{
	struct marks *m = &((struct causal_point *)arg)->marks;

	pthread_mutex_lock(&m->lock);
	m->before.lost += marks->lost;
	m->nr_lost += marks->lost;
	region_stream_add(&m->stream, marks);
	pthread_mutex_unlock(&m->lock);
}

static void pass(void *arg, uint64_t until_ns)
{
	struct marks *m = &((struct causal_point *)arg)->marks;

	pthread_mutex_lock(&m->lock);
	region_stream_pass(&m->stream, until_ns);
	m->passed_ns = until_ns;
	pthread_cond_broadcast(&m->has_passed);
	pthread_mutex_unlock(&m->lock);
}

/* Marks that are older than the reading come within ms. Without a program that has some, nothing
 * is passed. */
static void read_marks(struct marks *m, uint64_t now_ns, struct causal_visits *out)
{
	const uint64_t over_ns = now_ns + (uint64_t)MAX_WAIT_MS * 1000000;

	pthread_mutex_lock(&m->lock);
	m->until_ns = now_ns;
	while (m->names.nr && m->passed_ns < now_ns && clock_monotonic_ns() < over_ns)
		(void)thread_cond_wait(&m->has_passed, &m->lock, over_ns);
	m->until_ns = UINT64_MAX;
	out->nr += m->before.nr;
	out->nr_timed += m->before.nr_timed;
	out->timed_ns += m->before.timed_ns;
	out->lost += m->before.lost;
	m->before.nr += m->later.nr;
	m->before.nr_timed += m->later.nr_timed;
	m->before.timed_ns += m->later.timed_ns;
	m->later = (struct causal_visits){0};
	pthread_mutex_unlock(&m->lock);
}

static int open_marks(struct causal_point *p, const struct machine *machine, struct err *e)
{
	struct marks *m = &p->marks;
	int rc = thread_cond_init(&m->has_passed);

	(void)machine;
	if (rc)
		return err_set(e, rc, "marks cannot be received: %s", strerror(-rc));
	pthread_mutex_init(&m->lock, NULL);
	dict_init_texts(&m->names, sizeof(struct name), MAX_NAMES, MAX_NAMES_BYTES);
	dict_init(&m->open, sizeof(struct open_region), DICT_KEY(struct open_region, depth),
		  MAX_OPEN);
	region_stream_init(&m->stream, on_nested, p);
	m->until_ns = UINT64_MAX;
	p->has_marks = true;
	return 0;
}

static int open_mark(struct causal_point *p, const struct machine *machine, struct err *e)
{
	p->is_mark = true;
	return open_marks(p, machine, e);
}

/* --- functions */

static int find_places(struct causal_point *p, const struct machine *m, struct err *e)
{
	struct probes_config *c = &p->probes_config;
	int rc = event_functions_find(&m->events.catalogue, p->name, &p->functions, e);

	if (rc)
		return rc == -ENOMEM ? err_set(e, rc, "out of memory") : rc;
	p->places = mem_calloc(p->functions.nr ?: 1, sizeof(*p->places));
	if (!p->places)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < p->functions.nr; i++) {
		const struct functions_place *f = &p->functions.place[i];

		if (!f->refused)
			p->places[c->nr_places++] =
			    (struct probes_place){.path = f->path, .offset = f->offset};
	}
	c->places = p->places;
	return c->nr_places
		   ? 0
		   : err_set(e, -ENOENT, "--progress=function:%s: no call can be counted: %s",
			     p->name, p->functions.nr ? p->functions.place[0].refused : "none");
}

/* A breakpoint is set in each process that maps the file. */
static int check_patched(const struct causal_point *p, struct err *e)
{
	const size_t all = p->functions.nr;
	MEM_AUTO const struct functions_place **place = mem_calloc(all, sizeof(*place));
	size_t nr = 0;

	if (!place)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < all; i++)
		if (!p->functions.place[i].refused)
			place[nr++] = &p->functions.place[i];
	return functions_check_patched(0, place, nr, e);
}

static int open_function(struct causal_point *p, const struct machine *m, struct err *e)
{
	const struct host_pmu *pmu = host_find_pmu(&m->host, "uprobe");
	struct err why = {0};
	int rc = find_places(p, m, e);

	if (rc)
		return rc;
	p->probes_config.nr_events = 1;
	p->probes_config.rates = &p->rate;
	p->probes_config.pmu = pmu ? pmu->type : 0;
	p->probes_config.cpu = (uint32_t)cpuset_next(&m->host.online, 0);
	p->probes_config.follow = (struct follow_config){.has_target = true, .has_children = true};
	rc = pmu ? check_patched(p, &why)
		       ?: probes_open(&p->probes_config, &p->probes, &why)
		       ?: probes_start(p->probes, &p->probes_config, &why)
		 : err_set(&why, -ENOTSUP, "this kernel has no uprobes");
	if (rc == 0)
		return 0;
	err_set(e, rc, "--progress=function:%s: calls cannot be counted: %s", p->name, why.msg);
	err_hint(e, "mark the point in the program: CPUPERF_INSTANT(\"name\") of cpuperf/mark.h, "
		    "and --progress=name");
	return rc;
}

static void read_function(const struct causal_point *p, struct causal_visits *out)
{
	uint64_t lost;

	for (uint32_t cpu = 0; cpu < CPUSET_MAX_CPU && p->probes; cpu++)
		out->nr += probes_count(p->probes, 0, cpu, &lost);
}

/* --- coz's */

static uint64_t count_kind(const struct causal_point *p, const struct causal_shared *s,
			   enum causal_memory_kind wanted)
{
	const struct causal_memory_point *point = causal_shared_points(s);
	uint64_t nr = 0;

	for (size_t i = 0; i < CAUSAL_MEMORY_POINTS; i++)
		if (__atomic_load_n(&point[i].kind, __ATOMIC_ACQUIRE) == (uint32_t)wanted &&
		    strncmp(point[i].name, p->name, CAUSAL_MEMORY_NAME_BYTES) == 0)
			nr += __atomic_load_n(&point[i].count, __ATOMIC_ACQUIRE);
	return nr;
}

/* Some may end while those are counted that have begun: half of them count as ended. */
static void read_regions(struct causal_point *p, const struct causal_shared *s, uint64_t now_ns,
			 struct causal_visits *out)
{
	const uint64_t before = count_kind(p, s, CAUSAL_MEMORY_END),
		       begun = count_kind(p, s, CAUSAL_MEMORY_BEGIN),
		       after = count_kind(p, s, CAUSAL_MEMORY_END);
	const double ended = ((double)before + (double)after) / 2;

	out->nr += after;
	if (!begun)
		return;
	causal_flow_look(&p->flow, now_ns, begun, ended);
	/* at the ends of a round some are whole that are not, and the other way round */
	out->nr_timed += ((double)begun + ended) / 2;
	out->timed_ns += p->flow.under_ns;
	out->looks = p->flow.looks;
	out->met = p->flow.met;
	out->late = p->flow.late;
}

static void read_counters(struct causal_point *p, const struct causal_shared *s, uint64_t now_ns,
			  struct causal_visits *out)
{
	out->nr += count_kind(p, s, CAUSAL_MEMORY_POINT);
	read_regions(p, s, now_ns, out);
}

uint64_t causal_point_look(struct causal_point *p, const struct causal_shared *s)
{
	struct causal_visits ignored = {0};

	if (p->is_mark)
		read_regions(p, s, clock_monotonic_ns(), &ignored);
	return ignored.looks ? causal_flow_next(&p->flow) : UINT64_MAX;
}

/* --- the whole */

static const struct {
	const char *prefix;
	int (*open)(struct causal_point *p, const struct machine *m, struct err *e);
} kinds[] = {
    {"function:", open_function}, {"", open_mark}, /* and coz's: the program says which it has */
};

static size_t find_kind(const char *text)
{
	size_t i = 0;

	while (strncmp(text, kinds[i].prefix, strlen(kinds[i].prefix)) != 0)
		i++;
	return i;
}

const char *causal_point_region(const char *text)
{
	return text && kinds[find_kind(text)].open == open_mark ? text : NULL;
}

int causal_point_open(const char *text, bool needs_marks, const struct machine *m,
		      struct causal_point **out, struct err *e)
{
	struct causal_point *p = mem_zalloc(sizeof(*p));
	const size_t i = find_kind(text ?: "");
	int rc;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->name = text ? text + strlen(kinds[i].prefix) : "";
	rc = *p->name || !text ? kinds[i].open(p, m, e)
			       : err_set(e, -EINVAL, "--progress=%s: names no point", text);
	if (rc == 0 && needs_marks && !p->has_marks)
		rc = open_marks(p, m, e);
	if (rc) {
		causal_point_close(p);
		return rc;
	}
	*out = p;
	return 0;
}

bool causal_point_has_marks(struct causal_point *p)
{
	bool has;

	if (!p->has_marks)
		return false;
	pthread_mutex_lock(&p->marks.lock);
	has = p->marks.names.nr;
	pthread_mutex_unlock(&p->marks.lock);
	return has;
}

uint64_t causal_point_lost(struct causal_point *p)
{
	uint64_t nr;

	if (!p->has_marks)
		return 0;
	pthread_mutex_lock(&p->marks.lock);
	nr = p->marks.nr_lost;
	pthread_mutex_unlock(&p->marks.lock);
	return nr;
}

void causal_point_close(struct causal_point *p)
{
	if (!p)
		return;
	if (p->has_marks) {
		region_stream_fini(&p->marks.stream);
		dict_fini(&p->marks.names);
		dict_fini(&p->marks.open);
		pthread_cond_destroy(&p->marks.has_passed);
		pthread_mutex_destroy(&p->marks.lock);
	}
	probes_close(p->probes);
	mem_free(p->places);
	mem_free(p->functions.place);
	mem_free(p);
}

static bool may_connect(void *arg, uint32_t pid)
{
	return causal_attached_has(((struct causal_point *)arg)->attached, pid);
}

void causal_point_listen(struct causal_point *p, const struct causal_attached *attached,
			 struct wire_config *config)
{
	p->attached = attached;
	config->arg = p;
	config->may_connect = may_connect;
	if (!p->has_marks)
		return;
	config->name = add_name;
	config->marks = add_marks;
	config->passed = pass;
}

void causal_point_begin_run(struct causal_point *p, pid_t pid)
{
	p->flow = (struct causal_flow){0};
	if (p->probes)
		(void)probes_add_process(p->probes, pid);
}

uint64_t causal_point_read(struct causal_point *p, const struct causal_shared *s,
			   struct causal_visits *out)
{
	const uint64_t now_ns = clock_monotonic_ns();

	*out = (struct causal_visits){.paid_ns = p->has_marks ? causal_shared_paid(s, p->name) : 0};
	read_function(p, out);
	if (p->is_mark)
		read_counters(p, s, now_ns, out);
	if (p->has_marks)
		read_marks(&p->marks, now_ns, out);
	return now_ns;
}

void causal_points_list(struct causal_point *p, const struct causal_shared *s, struct buf *out)
{
	const struct causal_memory_point *point = causal_shared_points(s);

	if (p->has_marks)
		pthread_mutex_lock(&p->marks.lock);
	for (size_t i = 0; i < CAUSAL_MEMORY_POINTS; i++) {
		if (point[i].kind < CAUSAL_MEMORY_POINT || point[i].kind == CAUSAL_MEMORY_BEGIN)
			continue;
		buf_adds(out, out->len ? ", " : "");
		buf_shown(out, point[i].name, strnlen(point[i].name, CAUSAL_MEMORY_NAME_BYTES));
	}
	for (size_t i = 0; p->has_marks && i < p->marks.names.nr; i++) {
		const struct name *n = dict_at(&p->marks.names, (uint32_t)i);

		buf_adds(out, out->len ? ", " : "");
		buf_shown(out, n->text, strlen(n->text));
	}
	if (p->has_marks)
		pthread_mutex_unlock(&p->marks.lock);
}
