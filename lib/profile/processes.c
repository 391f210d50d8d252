/*
 * Collects the records of a common file, then builds the tables from them. Must not look into the
 * tables.
 */
#include "profile/processes.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"
#include "profile/processes_internal.h"
#include "profile/regions_internal.h"
#include "profile/session_internal.h"
#include "trace/reader.h"
#include "trace/record.h"

#include <errno.h>
#include <string.h>

enum {
	PROT_EXECUTE = 4,
	KSYMBOL_UNREGISTER = 1,
	KSYMBOL_MAX_BYTES = 512,
	MAX_LOOK_NS = 1000000000, /* the longest time the survey reads one process */
};

struct load {
	struct profile_processes *p;
	struct profile_gathered *g;
	struct profile_faults *faults;
	profile_kallsyms_fn *kallsyms; /* NULL: not wanted */
	void *arg;
	struct trace_reader *leaves; /* it leaves symbols packed that have a range; NULL: none */
	struct trace_symbol_range range; /* of the next frame of symbols */
	bool has_range;                  /* it has one */
	struct trace_layout layout;
	struct trace_record record; /* the current one */
	bool is_made;
};

static int add_change(struct load *l, enum profile_change_kind kind, uint32_t what)
{
	struct profile_gathered *g = l->g;
	struct profile_change *c;

	if (g->nr_changes == PROFILE_MAX_CHANGES) {
		l->p->has_left_out = true;
		return 0;
	}
	c = MEM_ADD(g->changes, g->nr_changes, g->changes_room);
	if (!c)
		return -ENOMEM;
	*c = (struct profile_change){
	    .time_ns = l->record.time_ns,
	    .pid = l->record.pid,
	    .tid = l->record.tid,
	    .what = what,
	    .other = l->record.ptid,
	    .place = g->place++,
	    .kind = (uint8_t)kind,
	    .is_made = l->is_made,
	};
	return 0;
}

/* Notes when the survey read a process, or the kernel: its records have that time. */
static int add_looked(struct load *l)
{
	struct profile_gathered *g = l->g;
	uint64_t *looked_ns;

	if (g->nr_looked && g->looked_ns[g->nr_looked - 1] == l->record.time_ns)
		return 0;
	looked_ns = MEM_ADD(g->looked_ns, g->nr_looked, g->looked_room);
	if (!looked_ns)
		return -ENOMEM;
	*looked_ns = l->record.time_ns;
	return 0;
}

static int add_fork(struct load *l)
{
	int rc = l->is_made ? add_looked(l) : 0;

	return rc ? rc : add_change(l, PROFILE_FORK, l->record.ppid);
}

static int add_exit(struct load *l)
{
	return add_change(l, PROFILE_EXIT, 0);
}

static int add_comm(struct load *l)
{
	bool is_exec = l->record.misc & PERF_RECORD_MISC_COMM_EXEC && !l->is_made;
	uint32_t comm = PROFILE_COMM_UNKNOWN;
	int rc = profile_comms_add(&l->p->comms, l->record.name, &comm);

	if (rc && rc != -EFBIG)
		return rc;
	return add_change(l, is_exec ? PROFILE_EXEC : PROFILE_COMM, comm);
}

/* Skips mappings of other modes than user. */
static int add_map(struct load *l)
{
	const struct trace_record *r = &l->record;
	struct profile_mapping m = {
	    .start = r->start,
	    .end = r->length > UINT64_MAX - r->start ? UINT64_MAX : r->start + r->length,
	    .offset = r->offset,
	    .from_ns = r->time_ns,
	    .prot = r->kind == PERF_RECORD_MMAP2 ? r->prot : PROT_EXECUTE,
	    .pid = r->pid,
	};
	bool is_user =
	    r->cpumode == PERF_RECORD_MISC_USER || r->cpumode == PERF_RECORD_MISC_CPUMODE_UNKNOWN;
	struct profile_gathered *g = l->g;
	struct profile_mapping_record *map;
	int rc = -EFBIG;

	if (m.start >= m.end || !is_user)
		return 0;
	if (g->nr_maps < PROFILE_MAX_MAPPINGS)
		rc = profile_objects_add(&l->p->objects, r, &m.object);
	l->p->has_left_out |= rc == -EFBIG;
	if (rc)
		return rc == -EFBIG ? 0 : rc;
	map = MEM_ADD(g->maps, g->nr_maps, g->maps_room);
	if (!map)
		return -ENOMEM;
	*map = (struct profile_mapping_record){.mapping = m, .is_made = l->is_made};
	return add_change(l, PROFILE_MAP, (uint32_t)g->nr_maps - 1);
}

static int add_ksymbol(struct load *l)
{
	struct profile_gathered *g = l->g;
	const struct trace_record *r = &l->record;
	struct profile_ksymbol_record *k;
	char *name;

	if (l->is_made && add_looked(l))
		return -ENOMEM;
	if (g->nr_ksymbols == PROFILE_MAX_KSYMBOLS ||
	    l->p->ksymbol_names.used_bytes > (size_t)PROFILE_TEXT_MAX_BYTES - 4096) {
		l->p->has_left_out = true;
		return 0;
	}
	name = arena_strndup(&l->p->ksymbol_names, r->name, strnlen(r->name, KSYMBOL_MAX_BYTES));
	k = name ? MEM_ADD(g->ksymbols, g->nr_ksymbols, g->ksymbols_room) : NULL;
	if (!k)
		return -ENOMEM;
	str_disarm(name);
	*k = (struct profile_ksymbol_record){
	    .start = r->start,
	    .len = (uint32_t)r->length,
	    .time_ns = l->record.time_ns,
	    .name = name,
	    .place = g->place++,
	    .is_made = l->is_made,
	    .is_gone = r->flags & KSYMBOL_UNREGISTER,
	};
	return 0;
}

static int (*const adders[])(struct load *l) = {
    [PERF_RECORD_MMAP] = add_map,  [PERF_RECORD_COMM] = add_comm,
    [PERF_RECORD_EXIT] = add_exit, [PERF_RECORD_FORK] = add_fork,
    [PERF_RECORD_MMAP2] = add_map, [PERF_RECORD_KSYMBOL] = add_ksymbol,
};

/* Appends; sorting follows when all are collected. */
static int add_record(struct load *l, const uint8_t *p, size_t len)
{
	struct trace_record *r = &l->record;

	if (trace_record_decode(&l->layout, p, len, r)) {
		l->g->nr_senseless++;
		return 0;
	}
	if (r->kind >= sizeof(adders) / sizeof(adders[0]) || !adders[r->kind])
		return 0;
	return adders[r->kind](l);
}

static int add_records(struct load *l, const struct trace_frame *f)
{
	enum trace_ring ring;
	const uint8_t *p;
	uint32_t cpu;
	size_t len;
	int rc = trace_decode_records(f, &ring, &cpu, &p, &len);

	if (rc || ring == TRACE_RING_SAMPLES)
		return rc;
	l->is_made = ring == TRACE_RING_MADE;
	trace_layout_side_band(&l->layout, l->is_made);
	while (len && rc == 0) {
		rc = add_record(l, p, len);
		if (!l->record.len) /* even its size is invalid */
			break;
		p += l->record.len;
		len -= l->record.len;
	}
	return rc;
}

/* The name that a thread gives itself by a mark is as one by prctl(PR_SET_NAME). */
static int add_thread_names(struct load *l, const struct trace_marks *marks)
{
	int rc = 0;

	l->record = (struct trace_record){.pid = marks->pid, .tid = marks->tid};
	l->is_made = false;
	for (size_t i = 0; i < marks->nr && rc == 0; i++) {
		const struct trace_mark *m = &marks->mark[i];
		const char *name = m->kind == TRACE_MARK_THREAD_NAME
				       ? profile_regions_find_name(l->p->regions, m->name)
				       : NULL;

		l->record.time_ns = m->time_ns;
		l->record.name = name;
		rc = name ? add_comm(l) : 0;
	}
	return rc;
}

static int add_marks(struct load *l, const struct trace_frame *f)
{
	struct trace_marks marks;
	int rc = trace_decode_marks(f, &marks);

	if (rc)
		return rc;
	l->g->has_marks = true;
	rc = profile_regions_add(l->p->regions, &marks) ?: add_thread_names(l, &marks);
	trace_marks_fini(&marks);
	return rc;
}

static int add_note(struct load *l, const struct trace_frame *f)
{
	char text[PROFILE_NOTE_BYTES];
	struct trace_note note;

	return trace_decode_note(f, &note, text, sizeof(text))
		   ?: profile_regions_note(l->p->regions, note.text);
}

static int add_file_parts(struct load *l, const struct trace_frame *f)
{
	struct trace_file_parts parts;
	int rc = trace_decode_file_parts(f, &parts);

	if (rc)
		return rc;
	rc = profile_stored_add(&l->p->stored, &parts);
	trace_file_parts_fini(&parts);
	l->p->has_left_out |= rc == -EFBIG;
	return rc == -EFBIG ? 0 : rc;
}

/* From now on the reader does not unpack symbols: those without a range are not packed. */
static int begin_part(struct load *l, const struct trace_frame *f)
{
	if (!l->leaves)
		return 0;
	trace_reader_omit(l->leaves, TRACE_FRAME_KALLSYMS);
	l->has_range = trace_decode_symbol_range(f, &l->range) == 0;
	return l->has_range ? 0 : -EINVAL;
}

static int add_part(struct load *l, const struct trace_frame *f)
{
	struct profile_processes *p = l->p;
	struct profile_symbol_part *part;

	if (!l->has_range)
		return -EINVAL;
	if (p->nr_symbol_parts == PROFILE_MAX_SYMBOL_PARTS) {
		p->has_left_out = true;
		return 0;
	}
	part = MEM_ADD(p->symbol_parts, p->nr_symbol_parts, p->symbol_parts_room);
	if (!part)
		return -ENOMEM;
	*part = (struct profile_symbol_part){l->range.first, l->range.last, f->offset};
	l->has_range = false;
	return 0;
}

static int add_kallsyms(struct load *l, const struct trace_frame *f)
{
	const char *text;
	size_t len;
	int rc;

	if (f->is_packed && !f->length) /* it was left */
		return add_part(l, f);
	rc = trace_decode_kallsyms(f, &text, &len);
	return rc || !l->kallsyms ? rc : l->kallsyms(l->arg, text, len);
}

static int add_frame(struct load *l, const struct trace_frame *f)
{
	struct trace_mark_name name;
	struct trace_build_id id;
	struct trace_cmdline cmdline;
	struct trace_switch change;
	struct trace_code code;
	struct trace_compiled compiled;
	int rc;

	switch (f->kind) {
	case TRACE_FRAME_RECORDS:
		return add_records(l, f);
	case TRACE_FRAME_RANGE:
		return begin_part(l, f);
	case TRACE_FRAME_KALLSYMS:
		return add_kallsyms(l, f);
	case TRACE_FRAME_BUILD_ID:
		rc = trace_decode_build_id(f, &id) ?: profile_build_ids_add(&l->g->build_ids, &id);
		l->p->has_left_out |= rc == -EFBIG;
		return rc == -EFBIG ? 0 : rc;
	case TRACE_FRAME_CMDLINE:
		rc = trace_decode_cmdline(f, &cmdline)
			 ?: profile_cmdlines_add(&l->p->cmdlines, l->g, &cmdline);
		l->p->has_left_out |= rc == -EFBIG;
		return rc == -EFBIG ? 0 : rc;
	case TRACE_FRAME_CODE:
		rc = trace_decode_code(f, &code)
			 ?: profile_regions_add_labels(l->p->regions, &code)
			 ?: profile_codes_add(&l->p->codes, &code);
		l->p->has_left_out |= rc == -EFBIG;
		return rc == -EFBIG ? 0 : rc;
	case TRACE_FRAME_COMPILED:
		rc = trace_decode_compiled(f, &compiled)
			 ?: profile_compiled_add(&l->p->compiled, &l->p->codes, &compiled);
		l->p->has_left_out |= rc == -EFBIG;
		return rc == -EFBIG ? 0 : rc;
	case TRACE_FRAME_FILE_PARTS:
		return add_file_parts(l, f);
	case TRACE_FRAME_NOTE:
		return add_note(l, f);
	case TRACE_FRAME_MARK_NAME:
		return trace_decode_mark_name(f, &name)
			   ?: profile_regions_name(l->p->regions, &name);
	case TRACE_FRAME_SWITCH:
		return trace_decode_switch(f, &change)
			   ?: profile_span_switches_add(&l->g->switches, &change);
	case TRACE_FRAME_LONG_MARKS:
	case TRACE_FRAME_MARKS:
		return add_marks(l, f);
	default:
		return 0;
	}
}

void profile_gathered_report(const struct profile_processes *p, const struct profile_gathered *g,
			     struct profile_faults *faults, const struct trace_reader *r)
{
	if (trace_reader_is_short(r))
		profile_faults_short(faults);
	profile_faults_end(faults, trace_reader_is_whole(r));
	if (p->has_left_out || p->objects.is_full || p->comms.is_full)
		profile_faults_lose(
		    faults, -EFBIG,
		    "has more tasks, mappings or symbols than can be stored: the rest is skipped");
	profile_faults_count(faults, true, g->nr_senseless, "record is invalid: skipped",
			     "records are invalid: skipped");
}

/* Reads to the end of the file, damaged or not. 0; -ENOMEM; or the result of kallsyms. */
static int add_all(struct load *l, struct trace_reader *r)
{
	struct trace_frame f;
	int rc;

	for (;;) {
		struct err e = {0};

		l->g->read_bytes = trace_reader_bytes(r);
		rc = trace_reader_next(r, &f, &e);
		if (rc == 0 || rc == -ENOMEM)
			return rc;
		if (rc < 0)
			profile_faults_add(l->faults, &e);
		if (rc < 0 && rc != -EILSEQ)
			return 0;
		rc = rc == 1 ? add_frame(l, &f) : 0;
		if (rc == -EINVAL)
			profile_faults_add_frame(l->faults, &f);
		else if (rc)
			return rc;
	}
}

uint64_t profile_looked_until(const struct profile_gathered *g, uint64_t time_ns)
{
	size_t next = ORDER_FIRST(i, g->nr_looked, g->looked_ns[i] > time_ns);

	if (next < g->nr_looked && g->looked_ns[next] - time_ns < MAX_LOOK_NS)
		return g->looked_ns[next];
	return time_ns < UINT64_MAX - MAX_LOOK_NS ? time_ns + MAX_LOOK_NS : UINT64_MAX;
}

int profile_processes_make(struct profile_processes *p, struct profile_gathered *g,
			   const struct profile_session *session)
{
	profile_codes_sort(&p->codes);
	order_sort(g->looked_ns, g->nr_looked, sizeof(*g->looked_ns), order_numbers);
	return profile_compiled_make(&p->compiled)
		   ?: profile_build_ids_resolve(p, g)
		   ?: profile_lives_make(p, g)
		   ?: (profile_cmdlines_assign(p, g), 0)
		   ?: profile_spaces_make(p, g)
		   ?: profile_begins_make(p)
		   ?: profile_namings_make(p, g)
		   ?: profile_threads_make(p, g)
		   ?: profile_regions_make(p, g, session)
		   ?: profile_ksymbols_make(p, g);
}

struct profile_processes *profile_processes_new(void)
{
	struct profile_processes *p = mem_zalloc(sizeof(*p));

	if (!p)
		return NULL;
	profile_objects_init(&p->objects);
	arena_init(&p->ksymbol_names, PROFILE_TEXT_MAX_BYTES);
	p->strangers = profile_strangers_new();
	p->regions = profile_regions_new();
	if (p->strangers && p->regions && profile_comms_init(&p->comms) == 0 &&
	    profile_cmdlines_init(&p->cmdlines) == 0)
		return p;
	profile_processes_free(p);
	return NULL;
}

void profile_processes_unmake(struct profile_processes *p)
{
	profile_trees_fini(p);
	mem_free(p->lives);
	mem_free(p->mappings);
	mem_free(p->begins);
	mem_free(p->clusters);
	mem_free(p->namings);
	mem_free(p->threads);
	mem_free(p->ksymbols);
	p->lives = NULL;
	p->mappings = NULL;
	p->begins = NULL;
	p->clusters = NULL;
	p->namings = NULL;
	p->threads = NULL;
	p->ksymbols = NULL;
	p->nr_lives = p->lives_room = p->nr_mappings = p->mappings_room = 0;
	p->nr_clusters = p->clusters_room = p->nr_namings = p->namings_room = 0;
	p->nr_threads = p->nr_ksymbols = p->ksymbols_room = 0;
}

void profile_processes_free(struct profile_processes *p)
{
	if (!p)
		return;
	profile_objects_fini(&p->objects);
	profile_stored_fini(&p->stored);
	profile_comms_fini(&p->comms);
	dict_fini(&p->cmdlines);
	profile_processes_unmake(p);
	profile_strangers_free(p->strangers);
	profile_regions_free(p->regions);
	profile_spans_fini(&p->spans);
	arena_fini(&p->ksymbol_names);
	profile_codes_fini(&p->codes);
	profile_compiled_fini(&p->compiled);
	mem_free(p->symbol_parts);
	mem_free(p);
}

void profile_gathered_fini(struct profile_gathered *g)
{
	mem_free(g->changes);
	mem_free(g->maps);
	mem_free(g->ksymbols);
	mem_free(g->looked_ns);
	mem_free(g->of_lives);
	profile_span_switches_fini(&g->switches);
	mem_free(g->cmdlines);
	profile_build_ids_fini(&g->build_ids);
}

int profile_gather(struct profile_processes *p, struct profile_gathered *g, struct trace_reader *r,
		   struct profile_faults *faults, profile_kallsyms_fn *kallsyms, void *arg)
{
	struct load l = {.p = p, .g = g, .faults = faults, .kallsyms = kallsyms, .arg = arg};

	return add_all(&l, r);
}

int profile_processes_read(struct trace_reader *r, const struct profile_session *session,
			   struct profile_faults *faults, profile_kallsyms_fn *kallsyms, void *arg,
			   struct profile_processes **out)
{
	struct profile_processes *p = profile_processes_new();
	struct profile_gathered g = {0};
	int rc;

	if (!p)
		return -ENOMEM;
	profile_build_ids_init(&g.build_ids);
	rc = (r ? add_all(&(struct load){.p = p,
					 .g = &g,
					 .faults = faults,
					 .kallsyms = kallsyms,
					 .arg = arg,
					 .leaves = r},
			  r)
		: 0)
		 ?: profile_processes_make(p, &g, session);
	if (rc == 0 && r)
		profile_gathered_report(p, &g, faults, r);
	profile_gathered_fini(&g);
	if (rc)
		profile_processes_free(p);
	else
		*out = p;
	return rc;
}

int profile_processes_load(struct profile_session *s, profile_kallsyms_fn *kallsyms, void *arg,
			   struct profile_processes **out)
{
	struct profile_processes *p = NULL;
	struct trace_reader *r = NULL;
	struct profile_faults faults;
	int rc = profile_session_open_common(s, &faults, &r);

	if (rc < 0)
		return rc;
	rc = profile_processes_read(r, s, &faults, kallsyms, arg, &p);
	trace_reader_close(r);
	if (rc)
		profile_processes_free(p);
	else
		*out = p;
	return rc;
}

size_t profile_nr_symbol_parts(const struct profile_processes *p)
{
	return p->nr_symbol_parts;
}

const struct profile_symbol_part *profile_symbol_part(const struct profile_processes *p, size_t i)
{
	return &p->symbol_parts[i];
}

int profile_symbol_text(const struct profile_session *s, const struct profile_symbol_part *part,
			profile_kallsyms_fn *kallsyms, void *arg)
{
	struct trace_reader *r = NULL;
	struct profile_faults faults;
	struct trace_frame f;
	struct err e = {0};
	const char *text;
	size_t len;
	int rc = profile_session_open_common(s, &faults, &r);

	if (rc != 1)
		return rc < 0 ? rc : 0;
	rc = trace_reader_pass_to(r, part->offset, 0) ? trace_reader_next(r, &f, &e) : 0;
	if (rc == 1 && trace_decode_kallsyms(&f, &text, &len) == 0)
		rc = kallsyms(arg, text, len);
	else
		rc = rc == -ENOMEM ? rc : 0;
	trace_reader_close(r);
	return rc;
}

size_t profile_nr_objects(const struct profile_processes *p)
{
	return p->objects.items.nr;
}

const struct profile_object *profile_object(const struct profile_processes *p, uint32_t number)
{
	return profile_objects_at(&p->objects, number);
}

size_t profile_nr_processes(const struct profile_processes *p)
{
	return p->nr_lives;
}

const struct profile_process *profile_process(const struct profile_processes *p, uint32_t number)
{
	return &p->lives[number].process;
}

size_t profile_nr_mappings(const struct profile_processes *p)
{
	return p->nr_mappings;
}

const struct profile_mapping *profile_mapping(const struct profile_processes *p, size_t i)
{
	return &p->mappings[i];
}

const struct profile_process *profile_process_of(const struct profile_processes *p,
						 const struct profile_mapping *m)
{
	const uint32_t life = profile_life_at(p, m->pid, m->from_ns);

	return life == PROFILE_NONE ? NULL : &p->lives[life].process;
}

const struct profile_process *profile_forked_from(const struct profile_processes *p,
						  const struct profile_process *process)
{
	const uint32_t parent =
	    process->number < p->nr_lives ? p->lives[process->number].parent : PROFILE_NONE;

	return parent == PROFILE_NONE ? NULL : &p->lives[parent].process;
}

size_t profile_nr_comms(const struct profile_processes *p)
{
	return p->comms.items.nr;
}

const struct profile_comm *profile_comm(const struct profile_processes *p, uint32_t number)
{
	return dict_at(&p->comms.items, number);
}

size_t profile_nr_cmdlines(const struct profile_processes *p)
{
	return p->cmdlines.nr;
}

const char *profile_cmdline(const struct profile_processes *p, uint32_t number)
{
	return dict_text(&p->cmdlines, number);
}

size_t profile_nr_ksymbols(const struct profile_processes *p)
{
	return p->nr_ksymbols;
}

const struct profile_ksymbol *profile_ksymbol(const struct profile_processes *p, size_t i)
{
	return &p->ksymbols[i];
}
