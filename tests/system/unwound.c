/*
 * unwound SESSION: unwinds the samples of a session that has their registers and stack bytes
 * (--callgraph=dwarf) twice: as a report does, with all records, and as a recorder does while it
 * records (lib/whole). Prints what they found and whether it is the same, as JSON; each stack that
 * differs to stderr. Time is that of the recorder's thread.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/perf_abi.h"
#include "elf/file.h"
#include "elf/finder.h"
#include "elf/vdso.h"
#include "profile/boot.h"
#include "profile/processes.h"
#include "profile/records.h"
#include "profile/samples.h"
#include "report/stack.h"
#include "spec/cpsession.h"
#include "symbol/living.h"
#include "symbol/symbols.h"
#include "unwind/unwind.h"
#include "whole/record.h"
#include "whole/whole.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_BYTES = 16 << 20, WORD = 8 };
#define A_MINUTE UINT64_C(60000000000)

static struct {
	struct cpsession manifest;
	struct profile_session *session;
	struct profile_processes *processes;
	struct profile_lookup *lookup;
	struct elf_finder *finder;
	struct elf_file *vdso;
	struct symbol_living *living;
	struct symbols *symbols;
	struct unwinder *unwinder;
	struct whole *whole;
	struct trace_layout layout; /* of the samples that were unwound */
	struct buf batch, taken;
	struct report_stack as_read, as_recorded;
	uint64_t samples, unwound, differs, frames, bytes, put_bytes, whole_as_read, last_id;
} all;

static void check(int rc, const char *what)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-rc));
	exit(2);
}

static void on_problem(void *arg, bool is_loss, const struct err *problem)
{
	(void)arg;
	if (is_loss)
		fprintf(stderr, "%s\n", problem->msg);
}

static void open_session(const char *path)
{
	ERR_AUTO_LIST *errs = err_list_new();
	struct err e = {0};

	cpsession_init(&all.manifest);
	check(cpsession_load(path, &all.manifest, errs), path);
	check(profile_session_open(
		  &(struct profile_manifest){.path = path,
					     .output_path_prefix = all.manifest.output_path_prefix,
					     .num_iterations = all.manifest.num_iterations,
					     .num_traces = all.manifest.num_traces,
					     .session_id = all.manifest.session_id},
		  on_problem, NULL, &all.session, &e),
	      path);
}

static void open_reader(void)
{
	const struct profile_facts *facts = profile_session_facts(all.session);
	const struct elf_finder_config finder = {.sysroot = NULL};
	struct symbols_config symbols = {.is_same_boot = true};
	struct unwinder_config config = {.machine = facts->head.machine,
					 .find_made = report_find_made,
					 .find_method = report_find_method};

	all.vdso = elf_vdso_open();
	check(elf_finder_new(&finder, &all.finder), "files");
	check(profile_processes_load(all.session, NULL, NULL, &all.processes), "processes");
	symbols.finder = all.finder;
	symbols.processes = all.processes;
	symbols.session = all.session;
	symbols.vdso = all.vdso;
	all.living = symbol_living_new(all.finder, all.processes, true);
	check(symbols_new(&symbols, &all.symbols), "symbols");
	all.lookup = profile_lookup_new(all.processes);
	config.finder = all.finder;
	config.maps = report_stack_maps(all.lookup);
	config.vdso = all.vdso;
	config.arg = all.symbols;
	check(unwinder_new(&config, &all.unwinder), "unwinder");
}

/* What the recorder had from its rings, and from the survey. */
static void add_records(void)
{
	struct profile_records *records;
	struct profile_item item;

	check(profile_session_common(all.session, false, &records), "common file");
	while (profile_records_next(records, &item) == 1) {
		const void *part[2] = {item.record.bytes, NULL};
		const size_t len[2] = {item.record.len, 0};

		if (item.kind != PROFILE_RECORD || !item.record.len)
			continue;
		if (item.ring == TRACE_RING_MADE)
			whole_add_made(all.whole, part[0], len[0]);
		else
			whole_add_side(all.whole, part, len);
	}
	profile_records_close(records);
}

static void open_recorder(void)
{
	const struct profile_facts *facts = profile_session_facts(all.session);
	const struct whole_config config = {
	    .machine = facts->head.machine, .nr_cpus = 1, .max_bytes = 4 * BATCH_BYTES};

	check(whole_new(&config, &all.whole), "recorder");
	add_records();
	check(whole_start(all.whole), "thread");
}

/* An event that is alone in its ring has no ids, which the recorder needs. */
static struct perf_event_attr attr_of(const struct profile_sample *s)
{
	const struct trace_event *ev = &profile_session_facts(all.session)->events[s->id->event];
	struct perf_event_attr a = {.size = 0};

	memcpy(&a, ev->attr, ev->attr_bytes < sizeof(a) ? ev->attr_bytes : sizeof(a));
	a.size = sizeof(a);
	a.sample_type |= PERF_SAMPLE_IDENTIFIER;
	return a;
}

static void put_id(const struct profile_sample *s)
{
	struct perf_event_attr attr = attr_of(s), unwound;

	if (s->id->id == all.last_id && all.samples)
		return;
	all.last_id = s->id->id;
	check(whole_record_is_possible(&attr) ? 0 : -EINVAL, "event without stacks");
	check(whole_add_id(all.whole, s->id->id, &attr, false), "id");
	unwound = whole_record_attr(&attr);
	(void)trace_layout_init(&all.layout, &unwound, sizeof(unwound));
}

static void add_sample(const struct profile_sample *s)
{
	const struct trace_record *r = &s->record;
	bool has_id = s->layout->sample_type & PERF_SAMPLE_IDENTIFIER;
	uint16_t size = (uint16_t)(r->len + (has_id ? 0 : WORD));
	size_t at = all.batch.len;

	put_id(s);
	buf_add(&all.batch, r->bytes, WORD);
	memcpy(all.batch.data + at + 6, &size, sizeof(size));
	buf_add(&all.batch, &s->id->id, WORD);
	buf_add(&all.batch, r->bytes + (has_id ? 2 : 1) * WORD, r->len - (has_id ? 2 : 1) * WORD);
}

static void show(const char *name, const struct report_stack *s)
{
	fprintf(stderr, "  %s: %zu, of the kernel %zu, end %d:", name, s->nr, s->nr_kernel,
		(int)s->end);
	for (size_t i = 0; i < s->nr; i++)
		fprintf(stderr, " %llx%s", (unsigned long long)s->address[i],
			s->moved[i] ? "" : "!");
	fprintf(stderr, "\n");
}

static bool is_same(const struct report_stack *a, const struct report_stack *b)
{
	return a->nr == b->nr && a->nr_kernel == b->nr_kernel && a->end == b->end &&
	       memcmp(a->address, b->address, a->nr * sizeof(*a->address)) == 0 &&
	       memcmp(a->moved, b->moved, a->nr) == 0;
}

/* The next record that was taken, beside the sample that was put. */
static void compare(const struct profile_sample *s, size_t *at)
{
	const uint8_t *p = (const uint8_t *)all.taken.data + *at;
	struct profile_sample taken = {.layout = &all.layout, .time_ns = s->time_ns};
	struct profile_task task;
	uint32_t kind;
	size_t size = trace_record_size(p, all.taken.len - *at, &kind);

	check(size ? 0 : -ENODATA, "a record is missing");
	*at += size;
	all.samples++;
	all.put_bytes += s->record.len;
	all.bytes += size;
	profile_lookup_task(all.lookup, s->record.pid, s->record.tid, s->time_ns, &task);
	report_stack_make(all.unwinder, task.process, s, true, &all.as_read);
	all.whole_as_read += all.as_read.end == REPORT_END_WHOLE;
	if (trace_word(p + WORD, 0) != whole_record_id(s->id->id))
		return;
	check(trace_record_decode(&all.layout, p, size, &taken.record), "record");
	report_stack_make(NULL, task.process, &taken, true, &all.as_recorded);
	all.unwound++;
	all.frames += all.as_recorded.nr;
	if (is_same(&all.as_read, &all.as_recorded))
		return;
	all.differs++;
	fprintf(stderr, "pid %u at %llu:\n", s->record.pid, (unsigned long long)s->time_ns);
	show("as read", &all.as_read);
	show("as recorded", &all.as_recorded);
}

/* Passes the batch through the recorder. */
static void run_batch(void)
{
	const void *part[2] = {all.batch.data, NULL};
	const size_t len[2] = {all.batch.len, 0};
	BUF_AUTO(piece, 1 << 20);

	check(whole_put(all.whole, 0, part, len) == len[0] ? 0 : -ENOSPC, "queue");
	whole_settle(all.whole, clock_monotonic_ns() + A_MINUTE);
	buf_reset(&all.taken);
	while (whole_take(all.whole, 0, &piece)) {
		buf_add(&all.taken, piece.data, piece.len);
		buf_reset(&piece);
	}
	buf_reset(&all.batch);
}

/* Samples with a stack, in the order of the file. Of one with few bytes a report takes the chain by
 * frame pointers first. */
static bool next_sample(struct profile_samples *from, struct profile_sample *s)
{
	while (profile_samples_next(from, s) == 1)
		if (s->record.stack_len > REPORT_PIECE_BYTES && !s->is_rest && s->samples == 1)
			return true;
	return false;
}

/* Reads a file twice: once to put samples, and once beside what is taken. */
static void compare_file(size_t i)
{
	struct profile_samples *first, *second;
	struct profile_sample s;
	bool is_over = false;

	if (profile_samples_open(all.session, i, on_problem, NULL, &first) != 1)
		return;
	check(profile_samples_open(all.session, i, on_problem, NULL, &second) - 1, "file");
	while (!is_over) {
		size_t nr = 0, at = 0;

		while (all.batch.len < BATCH_BYTES && !(is_over = !next_sample(first, &s))) {
			add_sample(&s);
			nr++;
		}
		run_batch();
		for (size_t k = 0; k < nr && next_sample(second, &s); k++)
			compare(&s, &at);
	}
	profile_samples_close(first);
	profile_samples_close(second);
}

int main(int argc, char **argv)
{
	struct whole_counts counts;

	if (argc != 2)
		return 2;
	buf_init(&all.batch, 2 * BATCH_BYTES);
	buf_init(&all.taken, 2 * BATCH_BYTES);
	open_session(argv[1]);
	open_reader();
	open_recorder();
	for (size_t i = 0; i < profile_session_nr_files(all.session); i++)
		compare_file(i);
	counts = whole_counts(all.whole);
	printf("{\"samples\": %llu, \"whole_as_read\": %llu, \"unwound\": %llu, \"differs\": %llu, "
	       "\"frames\": %llu, \"bytes\": %llu, \"put_bytes\": %llu, \"ns\": %llu}\n",
	       (unsigned long long)all.samples, (unsigned long long)all.whole_as_read,
	       (unsigned long long)all.unwound, (unsigned long long)all.differs,
	       (unsigned long long)all.frames, (unsigned long long)all.bytes,
	       (unsigned long long)all.put_bytes, (unsigned long long)counts.unwind_ns);
	whole_free(all.whole);
	unwinder_free(all.unwinder);
	profile_lookup_free(all.lookup);
	symbols_free(all.symbols);
	symbol_living_free(all.living);
	elf_finder_free(all.finder);
	elf_file_close(all.vdso);
	profile_processes_free(all.processes);
	profile_session_close(all.session);
	cpsession_fini(&all.manifest);
	buf_fini(&all.batch);
	buf_fini(&all.taken);
	return 0;
}
