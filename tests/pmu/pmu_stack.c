/*
 * pmu_stack PREFIX PID NM: are the registers and stacks in the samples of a session true? Those of
 * process PID, which runs tests/system/mix.c with the functions that the file NM lists (nm -n): the
 * program counter is the sample's own, and the stack begins at the stack pointer, with the frame of
 * a function that run has called. Knows nothing of how they were taken.
 */
#include "base/err.h"
#include "profile/iterator.h"
#include "profile/records.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* enum perf_event_arm_regs */
enum { REG_SP = 31, REG_PC = 32, NR_REGS = 33 };
enum { MAX_FRAME_BYTES = 65536, MIN_SAMPLES = 150 };

struct seen {
	uint32_t pid;
	uint64_t run_start, run_end;
	size_t nr, with_pc, with_sp, with_frame;
	bool is_bad; /* something of the session could not be read */
};

static void take_problem(void *arg, bool is_loss, const struct err *problem)
{
	struct seen *s = arg;
	char text[1200];

	err_format(problem, text, sizeof(text));
	printf("FAILED: %s\n", text);
	s->is_bad |= is_loss;
}

/* "0000000000400ea4 t run": from there to what comes behind it. */
static void take_line(const char *line, struct seen *s)
{
	char *name;
	uint64_t address = strtoull(line, &name, 16);

	if (s->run_start && !s->run_end)
		s->run_end = address;
	if (strcmp(name, " t run\n") == 0)
		s->run_start = address;
}

static bool find_run(const char *path, struct seen *s)
{
	FILE *f = fopen(path, "r");
	char line[256];

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f))
		take_line(line, s);
	fclose(f);
	return s->run_end > s->run_start;
}

/* A frame record: that of the caller, which lies above, and where in it the function returns to. */
static bool is_frame_of_work(const struct seen *s, const struct trace_record *r, uint64_t sp)
{
	uint64_t caller, address;

	if (r->stack_len < 2 * sizeof(uint64_t))
		return false;
	caller = trace_word(r->stack, 0);
	address = trace_word(r->stack, 1);
	return caller > sp && caller - sp < MAX_FRAME_BYTES && address >= s->run_start &&
	       address < s->run_end;
}

static void look_at(struct seen *s, const struct trace_record *r)
{
	uint64_t sp;

	if (r->kind != PERF_RECORD_SAMPLE || r->pid != s->pid)
		return;
	s->nr++;
	if (r->nr_regs != NR_REGS)
		return;
	sp = trace_word(r->regs, REG_SP);
	s->with_pc += trace_word(r->regs, REG_PC) == r->ip;
	s->with_sp += sp != 0 && sp % 16 == 0;
	s->with_frame += is_frame_of_work(s, r, sp);
}

static void look_at_trace(struct profile_iterator *it, struct seen *s)
{
	struct profile_records *records;
	struct profile_item item;

	if (profile_iterator_records(it, &records) != 1)
		return;
	while (profile_records_next(records, &item) == 1)
		if (item.kind == PROFILE_RECORD)
			look_at(s, &item.record);
	profile_records_close(records);
}

static bool look_at_session(const char *prefix, struct seen *s)
{
	const struct profile_manifest manifest = {.path = prefix, .output_path_prefix = prefix};
	struct profile_session *session;
	struct profile_iterator *it;
	struct profile_trace trace;
	struct err e = {0};

	if (profile_session_open(&manifest, take_problem, s, &session, &e)) {
		take_problem(s, true, &e);
		return false;
	}
	it = profile_iterator_new(session);
	while (profile_iterator_next(it, &trace) == 1)
		look_at_trace(it, s);
	profile_iterator_free(it);
	profile_session_close(session);
	return !s->is_bad;
}

int main(int argc, char **argv)
{
	struct seen s = {0};

	if (argc != 4)
		return 2;
	s.pid = (uint32_t)strtoul(argv[2], NULL, 10);
	if (!find_run(argv[3], &s)) {
		printf("FAILED: no function run in %s\n", argv[3]);
		return 1;
	}
	if (!look_at_session(argv[1], &s))
		return 1;
	printf("%zu samples: in %zu the pc, in %zu a stack pointer, in %zu its frame\n", s.nr,
	       s.with_pc, s.with_sp, s.with_frame);
	return s.nr < MIN_SAMPLES || s.with_pc != s.nr || s.with_sp != s.nr ||
	       s.with_frame < s.nr * 99 / 100;
}
