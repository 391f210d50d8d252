#include "pcp/metrics.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "base/str.h"
#include "export/openmetrics.h"
#include "pcp/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_METRICS = 1 << 12,
	MAX_INSTANCES = 1 << 18,
	MAX_VALUES = 1 << 20,
	MAX_TEXTS_BYTES = 64 << 20,
	NAME_BYTES = 4096,
	MAX_TRIES = 64, /* for an identifier that no other has; further ones are made to collide */
	MAX_PID = 1 << 30, /* and other numbers that are identifiers */
	NS_DIGITS = 9,
};

static const uint64_t NS = 1000000000;
static const double MAX_REAL_SECONDS = 9e9;

/* Numbers, by the metric and the instance. */
struct value {
	uint32_t metric;
	int32_t instance;
	union pcp_value value;
};

/* An event, by the family, label and column of its lines. */
struct event {
	const char *key;
	const char *group, *name, *label, *unit;
};

/* How many events have one name. */
struct name {
	const char *name;
	uint32_t nr;
};

static bool is_label_of_event(const struct pcp_text_label *l)
{
	return strcmp(l->name, "event") == 0 || strcmp(l->name, "column") == 0;
}

/* --- names ----------------------------------------------------------------------------------- */

/* A part of a name in PCP's tree begins with a letter. */
static void add_part(struct buf *b, const char *text)
{
	size_t at = b->len;
	char first;

	openmetrics_add_name(b, text);
	first = buf_str(b)[at];
	if (!buf_error(b) && (first < 'a' || first > 'z')) {
		buf_cut(b, at);
		buf_addc(b, 'x');
		openmetrics_add_name(b, text);
	}
}

static void add_event_key(struct buf *b, const char *family, const struct pcp_text_line *line)
{
	const char *label = pcp_text_label(line, "event"), *column = pcp_text_label(line, "column");

	buf_adds(b, family);
	buf_addc(b, '\n');
	buf_adds(b, label ? label : "");
	buf_addc(b, '\n');
	buf_adds(b, column ? column : "");
}

static int add_event(struct pcp_metrics *m, const struct pcp_text_line *line)
{
	const char *family = pcp_text_label(line, "metric_family");
	const char *unit = pcp_text_label(line, "unit");
	struct event ev = {.group = pcp_text_label(line, "group"),
			   .name = pcp_text_label(line, "name"),
			   .label = pcp_text_label(line, "event")};
	BUF_AUTO(key, NAME_BYTES);
	BUF_AUTO(name, NAME_BYTES);
	struct event *added;
	struct name *shared;
	int rc;

	if (!family || !ev.group || !ev.name || !ev.label)
		return -EINVAL;
	if (m->events.nr == MAX_METRICS) {
		m->nr_skipped++;
		return 0;
	}
	add_event_key(&key, family, line);
	add_part(&name, ev.group);
	buf_addc(&name, '.');
	add_part(&name, ev.name);
	rc = buf_error(&key) ?: buf_error(&name);
	if (rc == -EFBIG) {
		m->nr_skipped++;
		return 0;
	}
	if (rc)
		return rc;
	shared = dict_at(&m->names, dict_add_text(&m->names, buf_str(&name), name.len));
	added = dict_at(&m->events, dict_add_text(&m->events, buf_str(&key), key.len));
	if (!shared || !added)
		return -ENOMEM;
	if (added->name) {
		m->nr_skipped++;
		return 0;
	}
	shared->nr++;
	added->name = shared->name;
	added->label = arena_strdup(&m->arena, ev.label);
	added->unit = arena_strdup(&m->arena, unit ? unit : "");
	return added->label && added->unit ? 0 : -ENOMEM;
}

static const struct event *event_of(const struct pcp_metrics *m, const struct pcp_text_line *line)
{
	BUF_AUTO(key, NAME_BYTES);

	add_event_key(&key, line->family, line);
	return buf_error(&key) ? NULL : dict_at(&m->events, dict_find(&m->events, buf_str(&key)));
}

static const char metric_prefix[] = "cpuperf_metric_", latency[] = "cpuperf_latency_seconds";

static bool is_of_metric(const struct pcp_text_line *line)
{
	return strncmp(line->family, metric_prefix, strlen(metric_prefix)) == 0;
}

/* Of the families that are about all events or the session, by their beginning; "cpuperf_push_cpu"
 * is push.cpu. */
static void add_other_name(struct buf *b, const struct pcp_text_line *line)
{
	static const struct {
		const char *family, *name;
	} begins[] = {{"cpuperf_session_", "session."},
		      {"cpuperf_session", "session"},
		      {"cpuperf_event_", "event."},
		      {"cpuperf_event", "event"},
		      {"cpuperf_samples_", "samples."},
		      {"cpuperf_samples", "samples.taken"},
		      {"cpuperf_records_", "records."},
		      {"cpuperf_readings_", "readings."},
		      {"cpuperf_readings", "readings.taken"},
		      {"cpuperf_push_", "push."},
		      {"cpuperf_max_own_", "own.max_"},
		      {"cpuperf_rate_", "own.rate_"},
		      {"process_", "own."}};
	size_t unit = strlen(line->unit), len = strlen(line->family), i = 0;
	char family[NAME_BYTES];
	const char *rest = family;
	bool is_open = true; /* a name ends in no dot */

	if (unit && len > unit + 1 && strcmp(line->family + len - unit, line->unit) == 0)
		len -= unit + 1;
	snprintf(family, sizeof(family), "%.*s", (int)len, line->family);
	while (i < ARRAY_NR(begins) &&
	       strncmp(family, begins[i].family, strlen(begins[i].family)) != 0)
		i++;
	if (i < ARRAY_NR(begins)) {
		rest += strlen(begins[i].family);
		is_open = begins[i].name[strlen(begins[i].name) - 1] == '.';
		buf_adds(b, begins[i].name);
	} else
		buf_adds(b, "other.");
	if (*rest || is_open)
		add_part(b, rest);
}

static void add_name(struct buf *b, const struct pcp_metrics *m, const struct pcp_text_line *line,
		     const struct event *ev)
{
	const char *label = pcp_text_label(line, "event");
	const struct name *name = ev ? dict_at(&m->names, dict_find(&m->names, ev->name)) : NULL;

	if (ev) {
		buf_adds(b, ev->name);
		if (name->nr > 1) {
			buf_addc(b, '.');
			add_part(b, ev->label);
		}
	} else if (is_of_metric(line) && label) {
		buf_adds(b, "metric.");
		add_part(b, label);
	} else if (strcmp(line->family, latency) == 0 && label) {
		buf_adds(b, "latency_time.");
		add_part(b, label);
		buf_addc(b, '.');
		add_part(b, line->suffix + (*line->suffix == '_'));
	} else
		add_other_name(b, line);
}

/* --- identifiers ----------------------------------------------------------------------------- */

/* The next number that no other has; kind: of metrics or of domains. 0: none. */
static uint32_t make_id(struct pcp_metrics *m, uint32_t kind, uint32_t hash)
{
	struct {
		uint32_t kind, id;
	} key = {kind, 0};
	const uint32_t nr_ids = (1u << PCP_ID_BITS) - PCP_FIRST_ID;

	for (uint32_t i = 0; i <= 2 * MAX_METRICS; i++) {
		key.id = PCP_FIRST_ID + (hash % nr_ids + i) % nr_ids;
		if (dict_find(&m->ids, &key) != DICT_NONE)
			continue;
		return dict_add(&m->ids, &key) == DICT_NONE ? 0 : key.id;
	}
	return 0;
}

/* --- instances ------------------------------------------------------------------------------- */

/* Whether a thing's first label is a number that identifies it. */
static bool is_number(const char *name)
{
	return strcmp(name, "pid") == 0 || strcmp(name, "irq") == 0 || strcmp(name, "vector") == 0;
}

/* Things of events whose names begin with one word are of one domain; all CPUs are, and all events;
 * else each metric has its own. False: the metric has none. */
static bool add_indom_key(struct buf *b, const struct pcp_text_line *line, const char *metric,
			  const struct event *ev, bool is_of_event)
{
	const struct pcp_text_label *last = NULL;
	const char *name = ev ? strchr(ev->name, '.') + 1 : "";
	bool is_of_cpu, are_events = !is_of_event;

	for (size_t i = 0; i < line->nr_labels; i++) {
		if (!is_of_event || !is_label_of_event(&line->labels[i]))
			last = &line->labels[i];
		are_events &= is_label_of_event(&line->labels[i]);
	}
	if (!last)
		return false;
	is_of_cpu = strcmp(last->name, "cpu") == 0 && (ev || line->nr_labels == 1);
	if (is_of_cpu || are_events)
		buf_adds(b, is_of_cpu ? "cpu" : "event");
	else if (ev)
		buf_printf(b, "%.*s.%s", (int)strcspn(name, "_"), name, last->name);
	else
		buf_adds(b, metric);
	return true;
}

static void add_instance_part(struct buf *b, const struct pcp_text_label *l, bool may_have_spaces)
{
	if (strcmp(l->name, "cpu") == 0)
		buf_adds(b, "cpu");
	else if (strcmp(l->name, "le") == 0)
		buf_adds(b, "le=");
	for (const char *s = l->value; *s; s++)
		buf_addc(b, *s == ' ' && !may_have_spaces ? '_' : *s);
}

/* "cpu0", "17 comm of a process", "eth0", "task_clock:cpu0:ok". The number that identifies it, or
 * -1.
 */
static int64_t add_instance_name(struct buf *b, const struct pcp_text_line *line, bool is_of_event)
{
	int64_t id = -1;
	uint64_t number;

	for (size_t i = 0; i < line->nr_labels; i++) {
		const struct pcp_text_label *l = &line->labels[i];

		if (is_of_event && is_label_of_event(l))
			continue;
		if (b->len)
			buf_addc(b, id < 0 ? ':' : ' ');
		add_instance_part(b, l, id >= 0);
		if (!is_of_event && line->nr_labels > 1)
			continue;
		if ((is_number(l->name) || strcmp(l->name, "cpu") == 0) &&
		    str_parse_u64(l->value, &number) == 0 && number < MAX_PID)
			id = (int64_t)number;
	}
	return id;
}

/* An instance of a domain, made if need be. Its id, or -1: no room. */
static int32_t find_instance(struct pcp_metrics *m, uint32_t indom, const char *name,
			     int64_t number)
{
	struct {
		uint32_t indom;
		int32_t id;
	} key = {indom, (int32_t)number};
	uint32_t hash = crc32c(0, name, strlen(name));
	struct pcp_instance *it;

	for (uint32_t i = 0; i < MAX_TRIES; i++) {
		if (number < 0)
			key.id = (int32_t)(MAX_PID | ((hash + i) & (MAX_PID - 1)));
		it = dict_get(&m->instances, &key);
		if (!it)
			return -1;
		if (!it->name) {
			it->name = arena_strdup(&m->arena, name);
			((struct pcp_indom *)dict_at(&m->indoms, indom))->nr_instances++;
			return it->name ? key.id : -1;
		}
		if (number >= 0 || strcmp(it->name, name) == 0)
			return key.id;
	}
	return -1;
}

/* --- values ---------------------------------------------------------------------------------- */

static int scan_real(const char *s, double *out)
{
	char *end;

	*out = strtod(s, &end);
	return *end || end == s ? -EINVAL : 0;
}

/* Decimal seconds in ns: exactly, if they have at most nine decimals. */
static int scan_ns(const char *text, uint64_t *out)
{
	const char *s = text, *end = s + strlen(s);
	uint64_t whole, part = 0;
	int rc = str_scan_u64(&s, end, &whole);
	double real;

	if (rc == 0 && *s == '.') {
		for (int i = 0; i < NS_DIGITS; i++) {
			bool is_digit = s[1] >= '0' && s[1] <= '9';

			s += is_digit;
			part = part * 10 + (is_digit ? (uint64_t)(*s - '0') : 0);
		}
		s++;
	}
	if (rc == 0 && !*s)
		return __builtin_mul_overflow(whole, NS, &whole) ||
			       __builtin_add_overflow(whole, part, out)
			   ? -ERANGE
			   : 0;
	rc = scan_real(text, &real);
	if (rc || !(real >= 0 && real < MAX_REAL_SECONDS))
		return -ERANGE;
	*out = (uint64_t)(real * (double)NS + 0.5);
	return 0;
}

static int scan_value(const struct pcp_metric *metric, const char *s, union pcp_value *out)
{
	if (metric->type == PCP_DOUBLE)
		return scan_real(s, &out->real);
	return metric->unit == PCP_NS ? scan_ns(s, &out->u64) : str_parse_u64(s, &out->u64);
}

static void set_value(struct pcp_metrics *m, uint32_t metric, int32_t instance,
		      const union pcp_value *value)
{
	struct {
		uint32_t metric;
		int32_t instance;
	} key = {metric, instance};
	size_t before = m->values.nr;
	struct value *v = dict_get(&m->values, &key);

	if (v && m->values.nr > before)
		v->value = *value;
	else
		m->nr_skipped++;
}

const union pcp_value *pcp_metrics_value(const struct pcp_metrics *m, uint32_t metric,
					 int32_t instance)
{
	struct {
		uint32_t metric;
		int32_t instance;
	} key = {metric, instance};
	const struct value *v = dict_at(&m->values, dict_find(&m->values, &key));

	return v ? &v->value : NULL;
}

/* --- metrics --------------------------------------------------------------------------------- */

/* Units that are not a word for what is counted. */
static enum pcp_unit unit_of(const struct pcp_text_line *line, const struct event *ev)
{
	static const struct {
		const char *text;
		enum pcp_unit unit;
	} units[] = {{"seconds", PCP_NS},       {"bytes", PCP_BYTES},
		     {"MiB", PCP_MEBIBYTES},    {"mib", PCP_MEBIBYTES},
		     {"hertz", PCP_PER_SECOND}, {"ratio", PCP_NONE},
		     {"joules", PCP_NONE},      {"watts", PCP_NONE},
		     {"volts", PCP_NONE},       {"amperes", PCP_NONE},
		     {"celsius", PCP_NONE},     {"revolutions_per_minute", PCP_NONE}};
	const char *text = *line->unit ? line->unit : ev ? ev->unit : "";

	if (line->type == PCP_TEXT_HISTOGRAM && strcmp(line->suffix, "_sum") != 0)
		return PCP_COUNT;
	for (size_t i = 0; i < ARRAY_NR(units); i++)
		if (strcmp(units[i].text, text) == 0)
			return units[i].unit == PCP_NS && is_of_metric(line) ? PCP_SECONDS
									     : units[i].unit;
	return is_of_metric(line) ? PCP_NONE : PCP_COUNT;
}

/* Numbers of an event are written alike: with decimals, or all without; those of a formula may be
 * any.
 */
static enum pcp_type type_of(const struct pcp_text_line *line, enum pcp_unit unit)
{
	if (line->type == PCP_TEXT_INFO)
		return PCP_STRING;
	return is_of_metric(line) || (unit != PCP_NS && strpbrk(line->value, ".eEnN-")) ? PCP_DOUBLE
											: PCP_U64;
}

static uint32_t find_indom(struct pcp_metrics *m, const char *key)
{
	uint32_t at = dict_add_text(&m->indoms, key, strlen(key));
	struct pcp_indom *indom = dict_at(&m->indoms, at);

	if (indom && !indom->id)
		indom->id = make_id(m, 1, crc32c(0, key, strlen(key)));
	return at;
}

/* A PMID never changes its meaning: what it identifies is a part of it. */
static uint32_t hash_metric(const struct pcp_metric *it, const char *indom)
{
	const uint32_t words[] = {(uint32_t)it->type, (uint32_t)it->semantics, (uint32_t)it->unit};
	uint32_t hash = crc32c(0, it->name, strlen(it->name));

	return crc32c(crc32c(hash, words, sizeof(words)), indom, strlen(indom));
}

/* Adds a metric, or finds it. DICT_NONE: no room, or it differs from what has this name. */
static uint32_t find_metric(struct pcp_metrics *m, const struct pcp_text_line *line,
			    const struct event *ev, const char *name, const char *help,
			    const char *indom)
{
	static const enum pcp_semantics semantics[] = {[PCP_TEXT_GAUGE] = PCP_INSTANT,
						       [PCP_TEXT_COUNTER] = PCP_COUNTER,
						       [PCP_TEXT_INFO] = PCP_DISCRETE,
						       [PCP_TEXT_HISTOGRAM] = PCP_COUNTER};
	uint32_t domain = indom ? find_indom(m, indom) : PCP_NO_INDOM;
	uint32_t at = DICT_NONE;
	struct pcp_metric *it;

	if (!indom || domain != DICT_NONE)
		at = dict_add_text(&m->metrics, name, strlen(name));
	it = dict_at(&m->metrics, at);
	if (!it)
		return DICT_NONE;
	if (it->id)
		return it->indom == domain && strcmp(it->family, line->family) == 0 ? at
										    : DICT_NONE;
	it->unit = line->type == PCP_TEXT_INFO ? PCP_NONE : unit_of(line, ev);
	it->type = type_of(line, it->unit);
	it->semantics = semantics[line->type];
	it->indom = domain;
	it->family = arena_strdup(&m->arena, line->family);
	it->help = arena_strdup(&m->arena, help);
	it->id = it->family && it->help ? make_id(m, 0, hash_metric(it, indom ? indom : "")) : 0;
	return it->id ? at : DICT_NONE;
}

static void add_value(struct pcp_metrics *m, const struct pcp_text_line *line,
		      const struct event *ev, const char *name, const char *text)
{
	BUF_AUTO(indom, NAME_BYTES);
	BUF_AUTO(instance, NAME_BYTES);
	bool is_of_event = ev || is_of_metric(line) || line->type == PCP_TEXT_HISTOGRAM;
	bool has_indom = add_indom_key(&indom, line, name, ev, is_of_event);
	union pcp_value value = {.text = text};
	uint32_t at = DICT_NONE;
	int64_t number;
	int32_t id = 0;

	number = add_instance_name(&instance, line, is_of_event);
	if (!buf_error(&indom) && !buf_error(&instance) && (instance.len || !has_indom))
		at = find_metric(m, line, ev, name, line->help, has_indom ? buf_str(&indom) : NULL);
	if (at != DICT_NONE && has_indom) {
		str_disarm(instance.data);
		id = find_instance(m, ((struct pcp_metric *)dict_at(&m->metrics, at))->indom,
				   buf_str(&instance), number);
	}
	if (at == DICT_NONE || id < 0 ||
	    (!text && scan_value(dict_at(&m->metrics, at), line->value, &value)))
		m->nr_skipped++;
	else
		set_value(m, at, id, &value);
}

/* Each label is a text of its own. */
static int add_info(struct pcp_metrics *m, const struct pcp_text_line *line)
{
	struct pcp_text_line of = *line;
	BUF_AUTO(name, NAME_BYTES);
	const char *text;

	of.nr_labels = 0;
	for (size_t i = 0; i < line->nr_labels; i++)
		if (is_label_of_event(&line->labels[i]))
			of.labels[of.nr_labels++] = line->labels[i];
	for (size_t i = 0; i < line->nr_labels; i++) {
		if (is_label_of_event(&line->labels[i]))
			continue;
		buf_reset(&name);
		add_other_name(&name, line);
		buf_addc(&name, '.');
		add_part(&name, line->labels[i].name);
		if (buf_error(&name) == -EFBIG) {
			m->nr_skipped++;
			continue;
		}
		text = arena_strdup(&m->arena, line->labels[i].value);
		if (buf_error(&name) || !text)
			return -ENOMEM;
		add_value(m, &of, NULL, buf_str(&name), text);
	}
	return 0;
}

static int add_line(struct pcp_metrics *m, const struct pcp_text_line *line)
{
	const struct event *ev = event_of(m, line);
	BUF_AUTO(name, NAME_BYTES);

	if (line->type == PCP_TEXT_INFO)
		return add_info(m, line);
	add_name(&name, m, line, ev);
	if (buf_error(&name))
		m->nr_skipped++;
	else
		add_value(m, line, ev, buf_str(&name), NULL);
	return 0;
}

/* Of one family, without which no other can be named. */
static int add_events(struct pcp_metrics *m, struct pcp_text *t, const char *text, size_t len)
{
	static const char head[] = "\n# TYPE cpuperf_event info\n";
	const char *at = memmem(text, len, head, strlen(head));
	struct pcp_text_line line;
	int rc;

	if (!at)
		return 0;
	pcp_text_init(t, at + 1, (size_t)(text + len - at - 1));
	while ((rc = pcp_text_next(t, &line)) > 0 && strcmp(line.family, "cpuperf_event") == 0) {
		rc = add_event(m, &line);
		if (rc)
			return rc;
	}
	return rc < 0 ? rc : 0;
}

static int add_lines(struct pcp_metrics *m, struct pcp_text *t, const char *text, size_t len)
{
	struct pcp_text_line line;
	int rc;

	pcp_text_init(t, text, len);
	while ((rc = pcp_text_next(t, &line)) > 0) {
		rc = add_line(m, &line);
		if (rc)
			return rc;
	}
	return rc;
}

/* Whether nothing was refused by the heap. */
static bool is_whole(const struct pcp_metrics *m)
{
	bool is = true;

	for (uint32_t i = 0; i < m->metrics.nr; i++)
		is &= ((struct pcp_metric *)dict_at(&m->metrics, i))->id != 0;
	for (uint32_t i = 0; i < m->indoms.nr; i++)
		is &= ((struct pcp_indom *)dict_at(&m->indoms, i))->id != 0;
	for (uint32_t i = 0; i < m->instances.nr; i++)
		is &= ((struct pcp_instance *)dict_at(&m->instances, i))->name != NULL;
	return is;
}

int pcp_metrics_parse(struct pcp_metrics *out, const char *text, size_t len)
{
	struct pcp_text *t = mem_alloc(sizeof(*t));
	int rc;

	*out = (struct pcp_metrics){.arena.max_bytes = MAX_TEXTS_BYTES};
	dict_init_texts(&out->metrics, sizeof(struct pcp_metric), MAX_METRICS, MAX_TEXTS_BYTES);
	dict_init_texts(&out->indoms, sizeof(struct pcp_indom), MAX_METRICS, MAX_TEXTS_BYTES);
	dict_init_texts(&out->events, sizeof(struct event), MAX_METRICS, MAX_TEXTS_BYTES);
	dict_init_texts(&out->names, sizeof(struct name), MAX_METRICS, MAX_TEXTS_BYTES);
	dict_init(&out->instances, sizeof(struct pcp_instance), DICT_KEY(struct pcp_instance, id),
		  MAX_INSTANCES);
	dict_init(&out->values, sizeof(struct value), DICT_KEY(struct value, instance), MAX_VALUES);
	dict_init(&out->ids, 2 * sizeof(uint32_t), 2 * sizeof(uint32_t), 2 * MAX_METRICS);
	if (!t)
		return -ENOMEM;
	rc = add_events(out, t, text, len) ?: add_lines(out, t, text, len);
	mem_free(t);
	if (rc == 0 && !out->metrics.nr)
		return -EINVAL;
	return rc ?: is_whole(out) ? 0 : -ENOMEM;
}

void pcp_metrics_fini(struct pcp_metrics *m)
{
	struct dict *const dicts[] = {&m->metrics, &m->indoms, &m->instances, &m->values,
				      &m->ids,     &m->events, &m->names};

	for (size_t i = 0; i < ARRAY_NR(dicts); i++)
		dict_fini(dicts[i]);
	arena_fini(&m->arena);
}
