/*
 * The options of cpuperf_print, one row each. Help, completions and the man page are made from
 * them.
 */
#include "options.h"

#include "registry.h"

#include <stddef.h>

#define AT(field) offsetof(struct options, field)

static const struct opt_row rows[] = {
    {"session", OPT_REQUIRED, "FILE", OPT_COMPLETE_FILE, NULL, "Input",
     "The .cpsession file to print. Its traces are looked up in the same folder, so a "
     "copied session prints too. May be repeated: sessions of the same spec are added "
     "up, except in summary, series and top-down, which print each session.",
     opt_add_string, AT(sessions)},
    {"perf-data", OPT_REQUIRED, "FILE", OPT_COMPLETE_FILE, NULL, "Input",
     "A file written by perf record, instead of or beside sessions: any version, "
     "either byte order, from a file or a pipe (- reads standard input), compressed "
     "or not. May be repeated.",
     opt_add_string, AT(perf_data)},
    {"by-session", OPT_NONE, NULL, OPT_COMPLETE_NONE, NULL, "Input",
     "Report several sessions separately instead of adding them up. flat and threads "
     "show sessions of the same spec side by side; other reports follow one another, "
     "in csv and ndjson as one table with a field session.",
     opt_set_flag, AT(by_session)},
    {"sysroot", OPT_REQUIRED, "FOLDER", OPT_COMPLETE_DIR, NULL, "Input",
     "The folder that holds the recorded machine's files; prefixed to the path of "
     "each program and library.",
     opt_set_string, AT(sysroot)},
    {"debug-dir", OPT_REQUIRED, "FOLDER", OPT_COMPLETE_DIR, NULL, "Input",
     "A folder of separate debug files, laid out like /usr/lib/debug, which is "
     "searched last. May be repeated.",
     opt_add_string, AT(debug_dirs)},
    {"kallsyms", OPT_REQUIRED, "FILE", OPT_COMPLETE_FILE, NULL, "Input",
     "Read the kernel's symbols from FILE (a copy of /proc/kallsyms) instead of those "
     "recorded.",
     opt_set_string, AT(kallsyms)},
    {"debuginfod", OPT_NONE, NULL, OPT_COMPLETE_NONE, NULL, "Input",
     "Download missing programs and debug files from the servers in DEBUGINFOD_URLS. "
     "This sends the build-ids to them.",
     opt_set_flag, AT(debuginfod)},
    {.name = "report",
     .arg = OPT_REQUIRED,
     .metavar = "NAME",
     .complete = OPT_COMPLETE_CHOICES,
     .section = "Report",
     .help = "The report to print; may be repeated. The default is summary; for sessions with "
	     "samples, summary and flat.",
     .set = opt_add_string,
     .offset = AT(reports),
     .choice = registry_report_choice},
    {"diff", OPT_REQUIRED, "FILE", OPT_COMPLETE_FILE, NULL, "Report",
     "Compare with FILE, the older session or perf.data, and list the significant "
     "changes. May be repeated.",
     opt_add_string, AT(diff)},
    {"counts", OPT_NONE, NULL, OPT_COMPLETE_NONE, NULL, "Report",
     "With --diff: compare amounts instead of shares. Use it for runs of the same "
     "work: a function that got slower then does not make the others look faster.",
     opt_set_flag, AT(counts)},
    {"fail-over", OPT_REQUIRED, "PERCENT", OPT_COMPLETE_NONE, NULL, "Report",
     "With --diff: exit with status 3 if a row grew significantly and by more than "
     "PERCENT of its old value.",
     opt_set_string, AT(fail_over)},
    {"sort", OPT_REQUIRED, "LIST", OPT_COMPLETE_WORDS,
     "function object comm pid tid cpu line iteration event session", "Report",
     "flat, diff: the fields that make a row, separated by commas: function (the "
     "default), object, comm, pid, tid, cpu, line, iteration, event, session.",
     opt_set_string, AT(sort)},
    {"top", OPT_REQUIRED, "N", OPT_COMPLETE_NONE, NULL, "Report",
     "Print at most N rows for each event; 0 prints all. The default is 40 in text, "
     "all in csv and ndjson. For records: the first N; the default is all.",
     opt_set_string, AT(top)},
    {"min-percent", OPT_REQUIRED, "PERCENT", OPT_COMPLETE_NONE, NULL, "Report",
     "Hide rows below PERCENT. The default is 0.5 for trees in text, otherwise 0.", opt_set_string,
     AT(min_percent)},
    {"max-depth", OPT_REQUIRED, "N", OPT_COMPLETE_NONE, NULL, "Report",
     "tree, callers: print at most N levels.", opt_set_string, AT(max_depth)},
    {"event", OPT_REQUIRED, "GLOB", OPT_COMPLETE_NONE, NULL, "Which samples",
     "Only events whose name matches GLOB, such as cpu_clock or software:*. May be "
     "repeated.",
     opt_add_string, AT(events)},
    {"pid", OPT_REQUIRED, "LIST", OPT_COMPLETE_NONE, NULL, "Which samples",
     "Only these processes: 17,20-29.", opt_set_string, AT(pids)},
    {"comm", OPT_REQUIRED, "GLOB", OPT_COMPLETE_NONE, NULL, "Which samples",
     "Only threads whose name matches GLOB. May be repeated.", opt_add_string, AT(comms)},
    {"cpu", OPT_REQUIRED, "LIST", OPT_COMPLETE_NONE, NULL, "Which samples",
     "Only these CPUs: 0-3,8.", opt_set_string, AT(cpus)},
    {"iteration", OPT_REQUIRED, "LIST", OPT_COMPLETE_NONE, NULL, "Which samples",
     "Only these iterations, counted from 0.", opt_set_string, AT(iterations)},
    {"from", OPT_REQUIRED, "TIME", OPT_COMPLETE_NONE, NULL, "Which samples",
     "Only samples at or after TIME since the session's start: 500ms, 2s.", opt_set_string,
     AT(from)},
    {"to", OPT_REQUIRED, "TIME", OPT_COMPLETE_NONE, NULL, "Which samples",
     "Only samples before TIME since the session's start.", opt_set_string, AT(to)},
    {"merge", OPT_REQUIRED, "s/REGEX/NAME/", OPT_COMPLETE_NONE, NULL, "Names and stacks",
     "Replace what REGEX matches in a function's name by NAME (\\1 … \\9 are its "
     "groups); functions with the same name are merged. The first matching rule "
     "applies. May be repeated.",
     opt_add_string, AT(merge)},
    {"merge-object", OPT_NONE, NULL, OPT_COMPLETE_NONE, NULL, "Names and stacks",
     "Treat each program or library as one function.", opt_set_flag, AT(merge_object)},
    {"split", OPT_REQUIRED, "A>B/NAME", OPT_COMPLETE_NONE, NULL, "Names and stacks",
     "Rename a function that matches B to NAME where a function that matches A called "
     "it. May be repeated.",
     opt_add_string, AT(split)},
    {"hide", OPT_REQUIRED, "REGEX", OPT_COMPLETE_NONE, NULL, "Names and stacks",
     "Remove matching functions from the stacks and attribute their samples to their "
     "callers. May be repeated.",
     opt_add_string, AT(hide)},
    {"only", OPT_REQUIRED, "REGEX", OPT_COMPLETE_NONE, NULL, "Names and stacks",
     "Only stacks that contain a matching function. May be repeated.", opt_add_string, AT(only)},
    {"inline", OPT_NONE, NULL, OPT_COMPLETE_NONE, NULL, "Names and stacks",
     "Show inlined functions as frames, from the debug information. Slow.", opt_set_flag,
     AT(inlined)},
    {"lines", OPT_NONE, NULL, OPT_COMPLETE_NONE, NULL, "Names and stacks",
     "Show source lines; same as --sort=function,line.", opt_set_flag, AT(lines)},
    {"live", OPT_NONE, NULL, OPT_COMPLETE_NONE, NULL, "Output",
     "Replay a session without samples in the dashboard of cpuperf, forwards and "
     "backwards by iteration; ? lists its keys.",
     opt_set_flag, AT(live)},
    {.name = "output-format",
     .arg = OPT_REQUIRED,
     .metavar = "FORMAT",
     .complete = OPT_COMPLETE_CHOICES,
     .section = "Output",
     .help = "The format of reports: text, csv, ndjson or raw; or a format of another program, in "
	     "place of a report.",
     .set = opt_set_string,
     .offset = AT(output_format),
     .choice = registry_format_choice},
    {"output-file", OPT_REQUIRED, "PATH", OPT_COMPLETE_FILE, NULL, "Output",
     "Write to PATH instead of standard output. The file has mode 0600 and appears "
     "when it is complete: until then, and after an error, an older file stays. "
     "Symbolic links are not followed. A terminal, a FIFO, /dev/stdout and /dev/fd/N "
     "are written to directly.",
     opt_set_string, AT(output_file)},
    {"no-pager", OPT_NONE, NULL, OPT_COMPLETE_NONE, NULL, "Output",
     "Do not page the output on a terminal. The pager is PAGER, or less.", opt_set_flag,
     AT(no_pager)},
    {"threads", OPT_REQUIRED, "N", OPT_COMPLETE_NONE, NULL, "Output",
     "Read with N threads; the default is the number of CPUs.", opt_set_string, AT(threads)},
    OPT_STD_ROWS(struct options, std),
};

const struct opt_table cpuperf_print_options = {
    .program = "cpuperf_print",
    .summary = "print a session that cpuperf recorded",
    .usage = "  cpuperf_print --session=FILE [--report=NAME] [--output-format=FORMAT]\n"
	     "  cpuperf_print --session=NEW --diff=OLD [--fail-over=PERCENT]\n"
	     "  cpuperf_print --session=FILE --live",
    .rows = rows,
    .nr_rows = sizeof(rows) / sizeof(rows[0]),
    .footer =
	"Exit status: 0 everything was printed; 1 something could not be read or written (the\n"
	"readable part is printed); 2 wrong usage; 3 a change exceeds --fail-over.\n\n"
	"Examples:\n  cpuperf_print --session=/tmp/cpuperf.cpsession\n"
	"  cpuperf_print --session=/tmp/cpuperf.cpsession --report=tree --comm=postgres\n"
	"  cpuperf_print --session=new.cpsession --diff=old.cpsession --fail-over=5\n",
};
