/*
 * Writes records one after the other. Names of addresses are cached in a small table, in the text
 * of the form, because the same few recur.
 */
#include "report/records_state.h"

#include "base/buf.h"
#include "base/mem.h"
#include "profile/fields.h"
#include "symbol/symbols.h"

#include <errno.h>
#include <string.h>

enum {
	NR_SHELVES = 1 << 16, /* a power of two */
	LINE_BYTES = 64,
	FLUSH_BYTES = 256 << 10,
	MAX_TEXT_BYTES = 128 << 20,
	MAX_SCRATCH_BYTES = 16 << 20,
};

static uint32_t process_at(const struct records_item *s, bool is_kernel)
{
	return is_kernel ? UINT32_MAX : s->task.process->number;
}

static struct records_shelf *shelf_of(const struct records_item *s, uint64_t address,
				      bool is_kernel)
{
	uint64_t key = address ^ (uint64_t)process_at(s, is_kernel) << 40;

	return &s->all->shelves[key * 0x9e3779b97f4a7c15 >> 40 & (NR_SHELVES - 1)];
}

/* Clears the cache when it is too large. */
static void clear_texts(struct records_state *l)
{
	struct records_texts *const all[] = {&l->functions, &l->comms, &l->events};

	memset(l->shelves, 0, NR_SHELVES * sizeof(*l->shelves));
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i]->nr)
			memset(all[i]->item, 0, all[i]->nr * sizeof(*all[i]->item));
	arena_fini(&l->arena);
	arena_init(&l->arena, MAX_TEXT_BYTES);
}

/* Makes room for the number's text. */
static bool grow_texts(struct records_texts *t, uint32_t number)
{
	size_t nr = 2 * (size_t)number + 64;
	struct records_text *item;

	if (number < t->nr)
		return true;
	item = mem_resize(t->item, nr * sizeof(*item));
	if (!item)
		return false;
	memset(item + t->nr, 0, (nr - t->nr) * sizeof(*item));
	t->item = item;
	t->nr = nr;
	return true;
}

static char *store_text(struct records_state *l, const struct buf *scratch)
{
	char *text =
	    buf_error(scratch) ? NULL : arena_strndup(&l->arena, buf_str(scratch), scratch->len);

	if (text || buf_error(scratch))
		return text;
	clear_texts(l);
	return arena_strndup(&l->arena, buf_str(scratch), scratch->len);
}

struct records_text records_text(struct records_state *l, struct records_texts *texts,
				 uint32_t number,
				 size_t (*make)(struct buf *scratch, const void *of),
				 const void *of)
{
	struct records_text t = {.text = ""};
	struct buf scratch;
	char *text = NULL;

	if (number < texts->nr && texts->item[number].text)
		return texts->item[number];
	buf_init(&scratch, MAX_SCRATCH_BYTES);
	t.more_len = (uint32_t)make(&scratch, of);
	if (grow_texts(texts, number))
		text = store_text(l, &scratch);
	if (text) {
		t.len = (uint32_t)scratch.len - t.more_len;
		t.text = text;
		texts->item[number] = t;
	} else {
		t.more_len = 0;
		l->error = -ENOMEM;
	}
	buf_fini(&scratch);
	return t;
}

static bool is_name(const struct records_name *n, const struct records_name *asked)
{
	return n->text && n->address == asked->address && n->process == asked->process &&
	       n->epoch == asked->epoch;
}

const struct records_name *records_name(const struct records_item *s, uint64_t address,
					bool is_kernel)
{
	struct records_shelf *shelf = shelf_of(s, address, is_kernel);
	struct records_name asked = {.address = address,
				     .process = process_at(s, is_kernel),
				     .epoch = is_kernel ? s->all->kernel_epoch : s->epoch};
	const struct report_names *names = s->all->config->names;
	const struct symbol_function *f;
	struct records_text t;

	if (is_name(&shelf->name[0], &asked))
		return &shelf->name[0];
	if (is_name(&shelf->name[1], &asked)) {
		asked = shelf->name[1];
	} else {
		f = is_kernel ? names->kernel(names->arg, address, s->item->time_ns)
			      : names->user(names->arg, s->task.process, address, s->item->time_ns);
		t = records_text(s->all, &s->all->functions, f->number, s->all->form->function, f);
		asked.text = t.text;
		asked.len = t.len;
		asked.more_len = t.more_len;
	}
	shelf->name[1] = shelf->name[0];
	shelf->name[0] = asked;
	return &shelf->name[0];
}

/* The shelf of frame i of the current stack. Prefetched for all frames, so that the CPU waits for
 * them together. */
static const struct records_shelf *shelf_at(const struct records_item *s, size_t i)
{
	return shelf_of(s, s->all->stack.address[i], i < s->all->stack.nr_kernel);
}

/* Inlined, because gcc removes calls of functions that only prefetch. */
static inline __attribute__((always_inline)) void fetch_shelves(const struct records_item *s)
{
	for (size_t i = 0; i < s->all->stack.nr; i++)
		__builtin_prefetch(shelf_at(s, i));
}

static enum report_start start_of(void *arg, uint64_t address)
{
	const struct records_item *s = arg;
	const struct report_names *names = s->all->config->names;
	const struct symbol_function *f =
	    names->user(names->arg, s->task.process, address, s->item->time_ns);

	return report_start_of(f->name, f->object, f->is_known);
}

bool records_is_rest(const struct records_item *s)
{
	return profile_samples_is_rest(s->item->layout, s->item->id->id);
}

void records_make_stack(const struct records_item *s)
{
	struct profile_sample *sample = &s->all->sample;

	sample->id = s->item->id;
	sample->layout = s->item->layout;
	sample->record = *s->r;
	sample->time_ns = s->item->time_ns;
	report_stack_make(s->all->config->unwinder, s->task.process, sample, true, &s->all->stack);
	if (s->all->stack.end == REPORT_END_PIECE) /* other ends are not printed */
		report_stack_finish(s->all->config->unwinder, s->task.process, sample, start_of,
				    (void *)s, &s->all->stack);
	fetch_shelves(s);
}

void records_fetch_names(const struct records_item *s)
{
	for (size_t i = 0; i < s->all->stack.nr; i++)
		__builtin_prefetch(shelf_at(s, i)->name[0].text);
}

void records_add_fields(const struct records_item *s, struct buf *out)
{
	const char *format = s->event->format;
	struct profile_field f;
	struct profile_value v;

	while (profile_field_next(&format, &f)) {
		if (!profile_field_value(&f, s->r->raw, s->r->raw_len, &v))
			continue;
		buf_addc(out, ' ');
		buf_shown(out, f.name, f.name_len);
		buf_addc(out, '=');
		records_add_value(&f, &v, out);
	}
}

const char *records_member_name(const struct records_item *s, uint64_t i)
{
	const struct profile_facts *f = profile_session_facts(s->all->config->session);
	const struct trace_id *id = NULL;

	if (s->trace && s->item->layout)
		id = profile_counted(s->trace->ids, s->trace->nr_ids, s->item, i);
	else if (s->r->nr_read == 1)
		id = s->item->id;
	return id && id->event < f->nr_events ? f->events[id->event].label : "unknown event";
}

void records_add_counts(const struct records_item *s, struct buf *out)
{
	for (uint64_t i = 0; i < s->r->nr_read; i++) {
		buf_addc(out, ' ');
		buf_adds(out, records_member_name(s, i));
		buf_addc(out, '=');
		buf_u64(out, trace_word(s->r->read_values, i * s->r->read_stride));
	}
}

void records_add_namespaces(const struct records_item *s, struct buf *out)
{
	const struct trace_record *r = s->r;
	/* NET_NS_INDEX … CGROUP_NS_INDEX of linux/perf_event.h */
	static const char *const names[] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};

	for (uint64_t i = 0; i < r->nr_namespaces; i++) {
		buf_addc(out, ' ');
		if (i < sizeof(names) / sizeof(names[0]))
			buf_adds(out, names[i]);
		else
			buf_u64(out, i);
		buf_addc(out, '=');
		buf_u64(out, trace_word(r->namespaces, 2 * i));
		buf_addc(out, ':');
		buf_u64(out, trace_word(r->namespaces, 2 * i + 1));
	}
}

void records_add_aux_flags(const struct records_item *s, struct buf *out)
{
	static const struct {
		uint32_t flag;
		const char *text;
	} flags[] = {{PERF_AUX_FLAG_TRUNCATED, " truncated"},
		     {PERF_AUX_FLAG_OVERWRITE, " overwrite"},
		     {PERF_AUX_FLAG_PARTIAL, " partial"},
		     {PERF_AUX_FLAG_COLLISION, " collision"}};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		buf_adds(out, s->r->flags & flags[i].flag ? flags[i].text : "");
}

static void show(struct records_state *l, const struct profile_merged_item *m)
{
	const struct report_records_config *c = l->config;
	const struct report_names *names = c->names;
	const struct profile_facts *f = profile_session_facts(c->session);
	bool is_reading = m->item->kind == PROFILE_READING;
	struct records_item s = {
	    .all = l, .item = m->item, .trace = m->trace, .r = &m->item->record};
	uint32_t event = is_reading    ? m->item->reading.event
			 : m->item->id ? m->item->id->event
				       : UINT32_MAX;

	s.event = event < f->nr_events ? &f->events[event] : NULL;
	s.line = (struct records_line){m->item, l->out, l->form->unknown, " ", l->form->own, &s};
	names->task(names->arg, is_reading ? 0 : s.r->pid, is_reading ? 0 : s.r->tid,
		    m->item->time_ns, &s.task);
	if (!is_reading && s.r->kind == PERF_RECORD_KSYMBOL)
		l->kernel_epoch++;
	else if (!is_reading && s.r->kind == PERF_RECORD_SAMPLE)
		s.epoch = names->epoch(names->arg, s.task.process, m->item->time_ns);
	if (c->is_shown && !c->is_shown(c->arg, m, &s.task))
		return;
	l->nr_shown++;
	(is_reading ? l->form->reading : l->form->record)(&s);
}

static int flush(const struct records_state *l)
{
	const struct report_records_config *c = l->config;

	if (l->error || buf_error(&l->scratch))
		return l->error ? l->error : buf_error(&l->scratch);
	if (buf_error(c->out))
		return buf_error(c->out);
	return c->out->len >= FLUSH_BYTES ? c->flush(c->arg) : 0;
}

static int show_all(struct records_state *l, struct profile_merged *m, uint64_t *nr_records)
{
	struct profile_merged_item item;
	uint64_t nr = 0;
	int rc;

	l->start_ns = profile_merged_start_ns(m);
	while ((rc = profile_merged_next(m, &item)) == 1) {
		show(l, &item);
		nr++;
		rc = flush(l);
		if (rc)
			return rc;
		if (l->nr_shown && l->nr_shown == l->config->max_shown)
			break;
	}
	*nr_records = nr;
	return rc < 0 ? rc : 0;
}

static int make_shelves(struct records_state *l)
{
	_Static_assert(sizeof(struct records_shelf) == LINE_BYTES, "a shelf fills a line");
	l->memory = mem_zalloc(NR_SHELVES * sizeof(*l->shelves) + LINE_BYTES);
	if (!l->memory)
		return -ENOMEM;
	l->shelves = (struct records_shelf *)(void *)((char *)l->memory + LINE_BYTES -
						      (uintptr_t)l->memory % LINE_BYTES);
	return 0;
}

int report_records(const struct report_records_config *config, uint64_t *nr_records)
{
	static const struct records_form *const forms[] = {
	    [REPORT_RECORDS_TEXT] = &records_form_text,
	    [REPORT_RECORDS_CSV] = &records_form_csv,
	    [REPORT_RECORDS_NDJSON] = &records_form_ndjson,
	};
	struct records_state *l = mem_zalloc(sizeof(*l));
	struct profile_merged *m;
	int rc = l ? profile_merged_open(config->session, config->problem, config->problem_arg, &m)
		   : -ENOMEM;

	if (rc) {
		mem_free(l);
		return rc;
	}
	l->config = config;
	l->form = forms[config->form];
	l->out = config->out;
	arena_init(&l->arena, MAX_TEXT_BYTES);
	buf_init(&l->scratch, MAX_SCRATCH_BYTES);
	buf_init(&l->lead, MAX_SCRATCH_BYTES);
	rc = make_shelves(l);
	if (rc == 0 && l->form->begin)
		l->form->begin(l);
	rc = rc ?: buf_error(&l->lead) ?: show_all(l, m, nr_records);
	arena_fini(&l->arena);
	mem_free(l->functions.item);
	mem_free(l->comms.item);
	mem_free(l->events.item);
	buf_fini(&l->scratch);
	buf_fini(&l->lead);
	mem_free(l->memory);
	mem_free(l);
	profile_merged_close(m);
	return rc;
}
