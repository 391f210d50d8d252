/*
 * The options of cpuperf_print, one row each. Help, completion and the man page come from here.
 * Knows nothing of what the options do.
 */
#include "options.h"

#include <stddef.h>

#define AT(field) offsetof(struct options, field)

static const struct opt_row rows[] = {
    {"session", OPT_REQUIRED, "FILE", OPT_COMPLETE_FILE, NULL, "Input",
     "A .cpsession file to print. Its traces are sought in the same folder, by the last part of "
     "the recorded prefix, so that a copied session prints too. Given several times, each another "
     "session: those of the same spec are added up; summary, series and top-down are printed of "
     "each.",
     opt_add_string, AT(sessions)},
    {"perf-data", OPT_REQUIRED, "FILE", OPT_COMPLETE_FILE, NULL, "Input",
     "A file of perf record, in place of a session or beside some: of any version and byte order, "
     "of a pipe too (-: of the standard input), compressed or not; may be given several times.",
     opt_add_string, AT(perf_data)},
    {"by-session", OPT_NONE, NULL, OPT_COMPLETE_NONE, NULL, "Input",
     "Several sessions: each by itself, not added up. flat and threads: side by side if their "
     "specs "
     "are the same; else one after the other, for programs in one table with a field session.",
     opt_set_flag, AT(by_session)},
    {"sysroot", OPT_REQUIRED, "FOLDER", OPT_COMPLETE_DIR, NULL, "Input",
     "Where the files of the recorded machine are: before the path of each program and library.",
     opt_set_string, AT(sysroot)},
    {"debug-dir", OPT_REQUIRED, "FOLDER", OPT_COMPLETE_DIR, NULL, "Input",
     "Where separate debug files are, as in /usr/lib/debug, which is looked into last; may be "
     "given several times.",
     opt_add_string, AT(debug_dirs)},
    {"kallsyms", OPT_REQUIRED, "FILE", OPT_COMPLETE_FILE, NULL, "Input",
     "Take the kernel's symbols from FILE (a copy of /proc/kallsyms) in place of those that were "
     "recorded.",
     opt_set_string, AT(kallsyms)},
    {"debuginfod", OPT_NONE, NULL, OPT_COMPLETE_NONE, NULL, "Input",
     "Ask the servers of DEBUGINFOD_URLS for programs and debug files that are not here. They are "
     "told the build-ids.",
     opt_set_flag, AT(debuginfod)},
    {"report", OPT_REQUIRED, "NAME", OPT_COMPLETE_WORDS,
     "summary records flat tree callers calls stacks branches threads series top-down", "Report",
     "What to show; may be given several times. summary: the counts and what became of samples. "
     "records: every record. flat: functions. tree: callers to callees. callers: functions to "
     "their callers. calls: each function between its callers and callees. stacks: whole stacks, "
     "the most frequent first. branches: from where to where. threads: who ran. series: counts and "
     "misc over time. top-down: what the counts say of the CPUs: ipc, misses. The default is "
     "summary, with samples summary and flat.",
     opt_add_string, AT(reports)},
    {"diff", OPT_REQUIRED, "FILE", OPT_COMPLETE_FILE, NULL, "Report",
     "Compare with another session (or perf.data), the one before; may be given several times. "
     "Says what "
     "certainly changed.",
     opt_add_string, AT(diff)},
    {"counts", OPT_NONE, NULL, OPT_COMPLETE_NONE, NULL, "Report",
     "With --diff: compare how much there was, not parts of the whole. For runs of the same work: "
     "a "
     "function that became slower does not make the others look faster.",
     opt_set_flag, AT(counts)},
    {"fail-over", OPT_REQUIRED, "PERCENT", OPT_COMPLETE_NONE, NULL, "Report",
     "With --diff: exit with 3 if something certainly grew by more than PERCENT of what it was.",
     opt_set_string, AT(fail_over)},
    {"sort", OPT_REQUIRED, "LIST", OPT_COMPLETE_WORDS,
     "function object comm pid tid cpu line iteration event session", "Report",
     "flat, diff: what a row is: a list with commas of function (the default), object, comm, pid, "
     "tid, cpu, line, iteration, event, session.",
     opt_set_string, AT(sort)},
    {"top", OPT_REQUIRED, "N", OPT_COMPLETE_NONE, NULL, "Report",
     "At most N rows of each event; 0: all. The default is 40 for people, all for programs. Of "
     "records: the first N, the default is all.",
     opt_set_string, AT(top)},
    {"min-percent", OPT_REQUIRED, "PERCENT", OPT_COMPLETE_NONE, NULL, "Report",
     "Leave out what is below. The default is 0.5 in trees for people, else 0.", opt_set_string,
     AT(min_percent)},
    {"max-depth", OPT_REQUIRED, "N", OPT_COMPLETE_NONE, NULL, "Report",
     "Trees: so many levels at most.", opt_set_string, AT(max_depth)},
    {"event", OPT_REQUIRED, "GLOB", OPT_COMPLETE_NONE, NULL, "Which samples",
     "Only events of this name, as cpu_clock or software:*; may be given several times.",
     opt_add_string, AT(events)},
    {"pid", OPT_REQUIRED, "LIST", OPT_COMPLETE_NONE, NULL, "Which samples",
     "Only these processes: 17,20-29.", opt_set_string, AT(pids)},
    {"comm", OPT_REQUIRED, "GLOB", OPT_COMPLETE_NONE, NULL, "Which samples",
     "Only tasks of this name; may be given several times.", opt_add_string, AT(comms)},
    {"cpu", OPT_REQUIRED, "LIST", OPT_COMPLETE_NONE, NULL, "Which samples",
     "Only these CPUs: 0-3,8.", opt_set_string, AT(cpus)},
    {"iteration", OPT_REQUIRED, "LIST", OPT_COMPLETE_NONE, NULL, "Which samples",
     "Only these iterations, from 0.", opt_set_string, AT(iterations)},
    {"from", OPT_REQUIRED, "TIME", OPT_COMPLETE_NONE, NULL, "Which samples",
     "Only what came so long after the session's start: 500ms, 2s.", opt_set_string, AT(from)},
    {"to", OPT_REQUIRED, "TIME", OPT_COMPLETE_NONE, NULL, "Which samples",
     "Only what came before that.", opt_set_string, AT(to)},
    {"merge", OPT_REQUIRED, "s/REGEX/NAME/", OPT_COMPLETE_NONE, NULL, "Names and stacks",
     "What REGEX matches in a function's name becomes NAME (\\1 … \\9: its groups); functions of "
     "one name are one. The first rule that matches counts. May be given several times.",
     opt_add_string, AT(merge)},
    {"merge-object", OPT_NONE, NULL, OPT_COMPLETE_NONE, NULL, "Names and stacks",
     "A program or library is one function.", opt_set_flag, AT(merge_object)},
    {"split", OPT_REQUIRED, "A>B/NAME", OPT_COMPLETE_NONE, NULL, "Names and stacks",
     "A function that matches B is called NAME where one that matches A called it; may be given "
     "several times.",
     opt_add_string, AT(split)},
    {"hide", OPT_REQUIRED, "REGEX", OPT_COMPLETE_NONE, NULL, "Names and stacks",
     "Such functions are no frames: what they took is their callers'; may be given several times.",
     opt_add_string, AT(hide)},
    {"only", OPT_REQUIRED, "REGEX", OPT_COMPLETE_NONE, NULL, "Names and stacks",
     "Only stacks that have such a function; may be given several times.", opt_add_string,
     AT(only)},
    {"inline", OPT_NONE, NULL, OPT_COMPLETE_NONE, NULL, "Names and stacks",
     "Inlined functions are frames too, as the debug information tells: slow.", opt_set_flag,
     AT(inlined)},
    {"lines", OPT_NONE, NULL, OPT_COMPLETE_NONE, NULL, "Names and stacks",
     "Tell source lines: short for --sort=function,line.", opt_set_flag, AT(lines)},
    {"live", OPT_NONE, NULL, OPT_COMPLETE_NONE, NULL, "Output",
     "Show a session that only counted in the dashboard of cpuperf, forwards and backwards by "
     "iteration; ? lists its keys.",
     opt_set_flag, AT(live)},
    {"output-format", OPT_REQUIRED, "FORMAT", OPT_COMPLETE_WORDS,
     "text csv ndjson raw"
     " folded"
     " pprof"
     " speedscope"
     " perfetto"
     " chrome"
     " openmetrics"
     " sqlite"
     " html"
     " perf-data",
     "Output",
     "text (the default): for people. csv: a table with a header. ndjson: one JSON object per row. "
     "raw: the records as they are, with their offset in the file; of the summary of one session "
     "alone. For other programs, in place of a report:"
     " html: one page for any browser, which opens offline."
     " folded: stacks for flame graphs, a line each."
     " pprof: for go tool pprof and what else reads profile.proto; packed with gzip."
     " speedscope: its own format, a profile for each event and thread."
     " perfetto: a trace for ui.perfetto.dev: samples, threads, counters."
     " chrome: the same in JSON, for chrome://tracing."
     " perf-data: for perf script and perf report."
     " sqlite: a database of everything."
     " openmetrics: what was counted, for Prometheus and the like.",
     opt_set_string, AT(output_format)},
    {"output-file", OPT_REQUIRED, "PATH", OPT_COMPLETE_FILE, NULL, "Output",
     "Write to this file instead of the standard output. It is of mode 0600 and takes its name "
     "when it is whole: until then, and if something fails, an older file stays. Links are not "
     "followed. A terminal, a FIFO, /dev/stdout and /dev/fd/N are written to as they stand.",
     opt_set_string, AT(output_file)},
    {"no-pager", OPT_NONE, NULL, OPT_COMPLETE_NONE, NULL, "Output",
     "Do not show the output with a pager (PAGER, else less), as is done on a terminal.",
     opt_set_flag, AT(no_pager)},
    {"threads", OPT_REQUIRED, "N", OPT_COMPLETE_NONE, NULL, "Output",
     "Read with so many threads; the default is the number of CPUs.", opt_set_string, AT(threads)},
    OPT_STD_ROWS(struct options, std),
};

const struct opt_table cpuperf_print_options = {
    .program = "cpuperf_print",
    .summary = "prints the traces of a cpuperf session",
    .usage = "  cpuperf_print --session=FILE [--report=NAME] [--output-format=FORMAT]\n"
	     "  cpuperf_print --session=NEW --diff=OLD [--fail-over=PERCENT]\n"
	     "  cpuperf_print --session=FILE --live",
    .rows = rows,
    .nr_rows = sizeof(rows) / sizeof(rows[0]),
    .footer =
	"Exit status: 0 all was printed; 1 something failed or could not be read (what is\n"
	"readable is printed all the same); 2 wrong usage; 3 a change is beyond --fail-over.\n\n"
	"Examples:\n  cpuperf_print --session=/tmp/cpuperf.cpsession\n"
	"  cpuperf_print --session=/tmp/cpuperf.cpsession --report=tree --comm=postgres\n"
	"  cpuperf_print --session=new.cpsession --diff=old.cpsession --fail-over=5\n",
};
