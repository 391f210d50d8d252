/*
 * The options of cpuperf_print, one row each. Help, completions and the man page are made from
 * them.
 */
#include "options.h"

#include "navigator/navigator.h"
#include "registry.h"
#include "selection.h"

#include <stddef.h>

#define AT(field) offsetof(struct options, field)

static int set_serve(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	struct options *o = target;

	(void)row;
	(void)e;
	o->serve = value ? value : NAVIGATOR_DEFAULT_ADDRESS;
	return 0;
}

static const struct opt_row rows[] = {
    {.name = "session",
     .arg = OPT_REQUIRED,
     .metavar = "FILE",
     .complete = OPT_COMPLETE_FILE,
     .words = "*.cpsession *.cpuperf *.data",
     .section = "Input",
     .help = "The .cpsession file to print, the folder that cpuperf made for a session, a trace "
	     "in it, the folder of a job (sessions of several hosts or ranks), or a file that perf "
	     "record wrote. The default is ./cpuperf.session, the last "
	     "one of a command here, or else the "
	     "caller's "
	     "last one, which the first line of text then names, with its age. "
	     "Its traces are looked up in the same folder, so a "
	     "copied session prints too. May be repeated: sessions of the same spec are added "
	     "up, except in summary, series and top-down, which print each session, and in "
	     "perfetto and chrome, where any sessions are beside each other; html has the counts "
	     "of those that measured other things on the same axis of time.",
     .set = opt_add_string,
     .offset = AT(sessions)},
    {.name = "perf-data",
     .arg = OPT_REQUIRED,
     .metavar = "FILE",
     .complete = OPT_COMPLETE_FILE,
     .section = "Input",
     .help = "A file written by perf record, instead of or beside sessions: any version, "
	     "either byte order, from a file, a folder (--threads, --kcore) or a pipe (- reads "
	     "standard input), compressed or not. May be repeated.",
     .set = opt_add_string,
     .offset = AT(perf_data)},
    {.name = "by-session",
     .arg = OPT_NONE,
     .section = "Input",
     .help = "Report several sessions separately instead of adding them up. flat and threads "
	     "show sessions of the same spec side by side; other reports follow one another, "
	     "in csv and ndjson as one table with a field session.",
     .set = opt_set_flag,
     .offset = AT(by_session)},
    {.name = "by-host",
     .arg = OPT_NONE,
     .section = "Input",
     .help = "Of a job: report its hosts separately instead of adding them up, the ranks of a host "
	     "together; as --by-session.",
     .set = opt_set_flag,
     .offset = AT(by_host),
     .excludes = "by-session"},
    {.name = "host",
     .arg = OPT_REQUIRED,
     .metavar = "GLOB",
     .section = "Input",
     .help = "Of a job: only the hosts whose name matches GLOB. May be repeated.",
     .set = opt_add_string,
     .offset = AT(hosts)},
    {.name = "rank",
     .arg = OPT_REQUIRED,
     .metavar = "LIST",
     .section = "Input",
     .help = "Of a job: only these ranks: 0-3,8.",
     .set = opt_set_string,
     .offset = AT(ranks)},
    {.name = "sysroot",
     .arg = OPT_REQUIRED,
     .metavar = "FOLDER",
     .complete = OPT_COMPLETE_DIR,
     .section = "Input",
     .help = "The folder that holds the recorded machine's files; prefixed to the path of "
	     "each program and library.",
     .set = opt_set_string,
     .offset = AT(sysroot)},
    {.name = "debug-dir",
     .arg = OPT_REQUIRED,
     .metavar = "FOLDER",
     .complete = OPT_COMPLETE_DIR,
     .section = "Input",
     .help = "A folder of separate debug files, laid out like /usr/lib/debug, which is "
	     "searched last; or of .dwo and .dwp files (-gsplit-dwarf). May be repeated.",
     .set = opt_add_string,
     .offset = AT(debug_dirs)},
    {.name = "source-dir",
     .arg = OPT_REQUIRED,
     .metavar = "FOLDER",
     .complete = OPT_COMPLETE_DIR,
     .section = "Input",
     .help =
	 "annotate, html: a folder of source files, searched before the path of the build: for the "
	 "whole path, then for less and less of its end. May be repeated.",
     .set = opt_add_string,
     .offset = AT(source_dirs)},
    {.name = "kallsyms",
     .arg = OPT_REQUIRED,
     .metavar = "FILE",
     .complete = OPT_COMPLETE_FILE,
     .section = "Input",
     .help = "Read the kernel's symbols from FILE (a copy of /proc/kallsyms) instead of those "
	     "recorded.",
     .set = opt_set_string,
     .offset = AT(kallsyms)},
    {.name = "debuginfod",
     .arg = OPT_NONE,
     .section = "Input",
     .help = "Download missing programs and debug files from the servers in DEBUGINFOD_URLS. "
	     "This sends the build-ids to them.",
     .set = opt_set_flag,
     .offset = AT(debuginfod)},
    {.name = "report",
     .arg = OPT_REQUIRED,
     .metavar = "NAME",
     .complete = OPT_COMPLETE_CHOICES,
     .section = "Report",
     .help = "The report to print; may be repeated. The default is summary; for sessions with "
	     "samples, summary and flat, and the regions of marked programs before flat.",
     .set = opt_add_string,
     .offset = AT(reports),
     .choice = registry_report_choice},
    {.name = "each-iteration",
     .arg = OPT_NONE,
     .section = "Report",
     .help = "summary: print each iteration too, trace by trace, with its things. Without it text "
	     "has the totals over all iterations, and the things that were most active in them; "
	     "csv, ndjson and raw always have each.",
     .set = opt_set_flag,
     .offset = AT(each_iteration)},
    {.name = "diff",
     .arg = OPT_REQUIRED,
     .metavar = "FILE",
     .complete = OPT_COMPLETE_FILE,
     .words = "*.cpsession *.cpuperf *.data",
     .section = "Report",
     .help = "Compare with FILE, the older session or perf.data, and list the significant "
	     "changes. May be repeated. FILE@LIST: its iterations of LIST alone, such as a dump of "
	     "the heap; @LIST: those of the session that is printed.",
     .set = opt_add_string,
     .offset = AT(diff)},
    {.name = "counts",
     .arg = OPT_NONE,
     .section = "Report",
     .help = "With --diff: compare amounts instead of shares. Use it for runs of the same "
	     "work: a function that got slower then does not make the others look faster.",
     .set = opt_set_flag,
     .offset = AT(counts)},
    {.name = "fail-over",
     .arg = OPT_REQUIRED,
     .metavar = "PERCENT",
     .section = "Report",
     .help = "With --diff: exit with status 3 if a row grew significantly and by more than "
	     "PERCENT of its old value. Needs several sessions per side, sessions of "
	     "cpuperf --runs, or --within.",
     .set = opt_set_string,
     .offset = AT(fail_over)},
    {.name = "no-totals",
     .arg = OPT_NONE,
     .section = "Report",
     .help = "With --diff: leave out the wall time and the totals of a command, which precede the "
	     "rows in text.",
     .set = opt_set_flag,
     .offset = AT(no_totals)},
    {.name = "within",
     .arg = OPT_NONE,
     .section = "Report",
     .help = "With --fail-over and one session per side: accept what is significant within these "
	     "two runs. Their iterations do not show what varies from run to run.",
     .set = opt_set_flag,
     .offset = AT(within)},
    {.name = "function",
     .arg = OPT_REQUIRED,
     .metavar = "GLOB",
     .section = "Report",
     .help =
	 "annotate, calls, flat, functions, values: only functions whose name matches GLOB, or has "
	 "it as a part. Their shares are of all samples. May be repeated.",
     .set = opt_add_string,
     .offset = AT(functions)},
    {.name = "source",
     .arg = OPT_NONE,
     .section = "Report",
     .help = "annotate: source lines. Without this and --asm, both are printed.",
     .set = opt_set_flag,
     .offset = AT(source)},
    {.name = "asm",
     .arg = OPT_NONE,
     .section = "Report",
     .help = "annotate: instructions.",
     .set = opt_set_flag,
     .offset = AT(assembly)},
    {.name = "sort",
     .arg = OPT_REQUIRED,
     .metavar = "LIST",
     .complete = OPT_COMPLETE_WORDS,
     .words = "function object comm cmdline pid tid thread cpu line iteration state reason region "
	      "event session host rank total",
     .section = "Report",
     .help = "flat, diff: the fields that make a row, separated by commas: function (the "
	     "default), object, comm, cmdline, pid, tid, thread, cpu, line, iteration, state, "
	     "reason (why it waits), waker, waker_function, region, event, session, host, rank. In "
	     "flat, total "
	     "orders the rows by total instead of self. waits: fields in place of the thread's. "
	     "threads: further fields. latency, functions: "
	     "iteration, session.",
     .set = opt_set_string,
     .offset = AT(sort)},
    {.name = "group-by",
     .arg = OPT_REQUIRED,
     .metavar = "WHAT",
     .complete = OPT_COMPLETE_CHOICES,
     .section = "Report",
     .help = "The outermost frame of each stack is what ran it, or the state in which it was. For "
	     "trees, stacks, flame graphs and other profiles with callers.",
     .set = opt_set_string,
     .offset = AT(group_by),
     .choice = selection_root_choice},
    {.name = "top",
     .arg = OPT_REQUIRED,
     .metavar = "N",
     .section = "Report",
     .help =
	 "Print at most N rows for each event; 0 prints all. The default is 40 in text, "
	 "all in csv and ndjson. For records: the first N; the default is all. summary: at most N "
	 "things (disks, processes, …) of each kind; the default is 10, of each iteration 40.",
     .set = opt_set_string,
     .offset = AT(top)},
    {.name = "rows",
     .arg = OPT_REQUIRED,
     .metavar = "N",
     .section = "Report",
     .help =
	 "Shorten text to N lines of the terminal (of 80 columns without one): functions become "
	 "fewer, but at least 2, and long lines shorter. What was lost is always printed. "
	 "--report=flat then has no idle loop.",
     .set = opt_set_string,
     .offset = AT(rows),
     .excludes = "top"},
    {.name = "idle",
     .arg = OPT_REQUIRED,
     .metavar = "HOW",
     .complete = OPT_COMPLETE_CHOICES,
     .section = "Report",
     .help = "What an answer does with waits for work, such as those of a server without requests; "
	     "other reports show all. cpuperf-waits(7) has the rules.",
     .set = opt_set_string,
     .offset = AT(idle),
     .choice = selection_idle_choice},
    {.name = "idle-rules",
     .arg = OPT_REQUIRED,
     .metavar = "FILE",
     .complete = OPT_COMPLETE_FILE,
     .section = "Report",
     .help = "Further rules for waits for work, one in a line: REASON:FUNCTION or "
	     "REASON:FUNCTION@OBJECT, globs; with ! in front: no wait for work. The default is the "
	     "file that the variable CPUPERF_IDLE_RULES names, also for the answer of cpuperf.",
     .set = opt_set_string,
     .offset = AT(idle_rules)},
    {.name = "min-percent",
     .arg = OPT_REQUIRED,
     .metavar = "PERCENT",
     .section = "Report",
     .help = "Hide rows below PERCENT. The default is 0.5 for trees in text, otherwise 0.",
     .set = opt_set_string,
     .offset = AT(min_percent)},
    {.name = "max-depth",
     .arg = OPT_REQUIRED,
     .metavar = "N",
     .section = "Report",
     .help = "tree, callers: print at most N levels.",
     .set = opt_set_string,
     .offset = AT(max_depth)},
    {.name = "event",
     .arg = OPT_REQUIRED,
     .metavar = "GLOB",
     .section = "Which samples",
     .help = "Only events whose name matches GLOB, such as cpu_clock or software:*. May be "
	     "repeated.",
     .set = opt_add_string,
     .offset = AT(events)},
    {.name = "pid",
     .arg = OPT_REQUIRED,
     .metavar = "LIST",
     .section = "Which samples",
     .help = "Only these processes: 17,20-29.",
     .set = opt_set_string,
     .offset = AT(pids)},
    {.name = "tid",
     .arg = OPT_REQUIRED,
     .metavar = "LIST",
     .section = "Which samples",
     .help = "Only these threads: 17,20-29.",
     .set = opt_set_string,
     .offset = AT(tids)},
    {.name = "tree-of",
     .arg = OPT_REQUIRED,
     .metavar = "LIST",
     .section = "Which samples",
     .help = "Only these processes and their descendants. A parent is the process that made "
	     "another; for those that ran before the session, their parent when it began. If a "
	     "pid was used again, each process that had it counts.",
     .set = opt_set_string,
     .offset = AT(trees)},
    {.name = "comm",
     .arg = OPT_REQUIRED,
     .metavar = "GLOB",
     .section = "Which samples",
     .help = "Only threads whose name matches GLOB. May be repeated.",
     .set = opt_add_string,
     .offset = AT(comms)},
    {.name = "region",
     .arg = OPT_REQUIRED,
     .metavar = "GLOB",
     .section = "Which samples",
     .help =
	 "Only what happened within a region that the program marked (cpuperf/mark.h; in Go also "
	 "labels, \"request=checkout\") and whose name, or whole path (\"request > parse\"), "
	 "matches GLOB (\"request > *lex\": with any between them). A wait belongs to the region "
	 "in which it began. May be repeated.",
     .set = opt_add_string,
     .offset = AT(regions)},
    {.name = "subtract-marks",
     .arg = OPT_NONE,
     .section = "Which samples",
     .help = "In --report=regions, subtract from what events counted in regions (region_counts) "
	     "what the marks themselves count, which the heading has. Not where only some regions "
	     "were counted. The first mark at each place counts more: it looks its name up.",
     .set = opt_set_flag,
     .offset = AT(subtract_marks)},
    {.name = "cmdline",
     .arg = OPT_REQUIRED,
     .metavar = "GLOB",
     .section = "Which samples",
     .help =
	 "Only processes whose command line, its arguments joined by spaces, matches GLOB as a "
	 "whole. Known are the command lines of the command and of each run, of processes that ran "
	 "before the session, of those that exec during it and then live for up to "
	 "flush_interval, until it is read, and of what these fork. Others match no GLOB. May "
	 "be repeated.",
     .set = opt_add_string,
     .offset = AT(cmdlines)},
    {.name = "cpu",
     .arg = OPT_REQUIRED,
     .metavar = "LIST",
     .section = "Which samples",
     .help = "Only these CPUs: 0-3,8.",
     .set = opt_set_string,
     .offset = AT(cpus)},
    {.name = "iteration",
     .arg = OPT_REQUIRED,
     .metavar = "LIST",
     .section = "Which samples",
     .help = "Only these iterations, counted from 0.",
     .set = opt_set_string,
     .offset = AT(iterations)},
    {.name = "from",
     .arg = OPT_REQUIRED,
     .metavar = "TIME",
     .section = "Which samples",
     .help = "Only samples at or after TIME since the session's start: 500ms, 2s.",
     .set = opt_set_string,
     .offset = AT(from)},
    {.name = "to",
     .arg = OPT_REQUIRED,
     .metavar = "TIME",
     .section = "Which samples",
     .help = "Only samples before TIME since the session's start.",
     .set = opt_set_string,
     .offset = AT(to)},
    {.name = "merge",
     .arg = OPT_REQUIRED,
     .metavar = "s/REGEX/NAME/",
     .section = "Names and stacks",
     .help = "Replace what REGEX matches in a function's name by NAME (\\1 … \\9 are its "
	     "groups); functions of an object that have the same name then, by this or from "
	     "the beginning, are merged. The first matching rule applies. May be repeated.",
     .set = opt_add_string,
     .offset = AT(merge)},
    {.name = "merge-object",
     .arg = OPT_NONE,
     .section = "Names and stacks",
     .help = "Treat each program or library as one function.",
     .set = opt_set_flag,
     .offset = AT(merge_object)},
    {.name = "split",
     .arg = OPT_REQUIRED,
     .metavar = "A>B/NAME",
     .section = "Names and stacks",
     .help = "Rename a function that matches B to NAME where a function that matches A called "
	     "it. May be repeated.",
     .set = opt_add_string,
     .offset = AT(split)},
    {.name = "hide",
     .arg = OPT_REQUIRED,
     .metavar = "REGEX",
     .section = "Names and stacks",
     .help = "Remove matching functions from the stacks and attribute their samples to their "
	     "callers. May be repeated.",
     .set = opt_add_string,
     .offset = AT(hide)},
    {.name = "only",
     .arg = OPT_REQUIRED,
     .metavar = "REGEX",
     .section = "Names and stacks",
     .help = "Only stacks that contain a matching function. May be repeated.",
     .set = opt_add_string,
     .offset = AT(only)},
    {.name = "inline",
     .arg = OPT_NONE,
     .section = "Names and stacks",
     .help = "Show inlined functions as frames, from the debug information. Slow.",
     .set = opt_set_flag,
     .offset = AT(inlined)},
    {.name = "native",
     .arg = OPT_NONE,
     .section = "Names and stacks",
     .help =
	 "Show the functions of an interpreter (Python, JavaScript, PHP, Ruby, Perl) itself. Else "
	 "what they do is in the "
	 "function that is interpreted.",
     .set = opt_set_flag,
     .offset = AT(native)},
    {.name = "wakers",
     .arg = OPT_NONE,
     .section = "Names and stacks",
     .help = "Continue the stack of a wait with --, the stack of who ended it (the innermost "
	     "function first) and its name, or timer, or interrupt. For off_cpu_time sampled with "
	     "the flag waker.",
     .set = opt_set_flag,
     .offset = AT(wakers)},
    {.name = "lines",
     .arg = OPT_NONE,
     .section = "Names and stacks",
     .help = "Show source lines; same as --sort=function,line.",
     .set = opt_set_flag,
     .offset = AT(lines)},
    {.name = "speedup",
     .arg = OPT_REQUIRED,
     .metavar = "[GLOB:]PERCENT",
     .section = "Report",
     .help =
	 "what-if: if functions whose name matches GLOB, with what they call, took so much less "
	 "time, or, as region:GLOB:PERCENT, what runs in regions that the program marked; without "
	 "GLOB each function by itself, and each region (25%). May be repeated.",
     .set = opt_add_string,
     .offset = AT(speedups)},
    {.name = "live",
     .arg = OPT_NONE,
     .section = "Output",
     .help =
	 "Replay a session without samples in the dashboard of cpuperf, forwards and "
	 "backwards by iteration; or show the functions of one with samples, while it is recorded "
	 "or afterwards, as cpuperf --top. ? lists its keys.",
     .set = opt_set_flag,
     .offset = AT(live)},
    {.name = "serve",
     .arg = OPT_OPTIONAL,
     .metavar = "ADDRESS",
     .section = "Output",
     .help = "Answer questions of the sessions in a browser, which opens the URL that is printed: "
	     "functions with their callers and callees, flame graphs, threads, source lines, "
	     "each also as ndjson. ADDRESS: PORT of 127.0.0.1, HOST:PORT with a numeric host, or "
	     "unix:PATH; without it any free port of 127.0.0.1. Whoever has no token of that URL "
	     "is refused. While nothing is asked, what further views need is read. Ctrl-C ends it.",
     .set = set_serve,
     .excludes = "report live output-format output-file push push-waiting fail-over"},
    {.name = "stdio",
     .arg = OPT_NONE,
     .section = "Output",
     .help = "With --serve: answer on standard input and output, for assistants: the Model Context "
	     "Protocol (tools: session, functions, callers, code, waits, regions, diff, report). "
	     "Nothing listens, and nothing is written or recorded.",
     .set = opt_set_flag,
     .offset = AT(stdio)},
    {.name = "output-format",
     .arg = OPT_REQUIRED,
     .metavar = "FORMAT",
     .complete = OPT_COMPLETE_CHOICES,
     .section = "Output",
     .help =
	 "The format of reports: text, csv, ndjson, json, markdown or raw; or a format of another "
	 "program, in "
	 "place of a report.",
     .set = opt_set_string,
     .offset = AT(output_format),
     .choice = registry_format_choice},
    {.name = "output-file",
     .arg = OPT_REQUIRED,
     .metavar = "PATH",
     .complete = OPT_COMPLETE_FILE,
     .section = "Output",
     .help = "Write to PATH instead of standard output. The file has mode 0600 and appears "
	     "when it is complete: until then, and after an error, an older file stays. "
	     "Symbolic links are not followed. A terminal, a FIFO, /dev/stdout and /dev/fd/N "
	     "are written to directly.",
     .set = opt_set_string,
     .offset = AT(output_file)},
    {.name = "open",
     .arg = OPT_NONE,
     .section = "Output",
     .help =
	 "Open the page of --output-format=html, which this option also means, in the browser "
	 "(xdg-open). "
	 "Without --output-file the page is cpuperf.html in the current folder. By sudo it is the "
	 "page, and the browser, of the user who called it.",
     .set = opt_set_flag,
     .offset = AT(open),
     .excludes = "report live serve push push-waiting"},
    {.name = "no-pager",
     .arg = OPT_NONE,
     .section = "Output",
     .help = "Do not page the output on a terminal. The pager is PAGER, or less.",
     .set = opt_set_flag,
     .offset = AT(no_pager)},
    {.name = "threads",
     .arg = OPT_REQUIRED,
     .metavar = "N",
     .section = "Output",
     .help = "Read with N threads; the default is the number of CPUs.",
     .set = opt_set_string,
     .offset = AT(threads)},
    PUSH_OPTION_ROWS(
	struct options, push,
	"Send each iteration of a session that samples as a profile to a receiver, and "
	"print what became of them.",
	"report diff live"),
    {.name = "push-waiting",
     .arg = OPT_NONE,
     .section = "Pushing",
     .help = "Send only what waits for the receiver of --push, of earlier sessions.",
     .set = opt_set_flag,
     .offset = AT(push_waiting),
     .has_no_variable = true,
     .excludes = "session"},
    OPT_STD_ROWS(struct options, std),
};

/* --help: what most people need, on a screen. */
static const struct opt_brief brief[] = {
    {NULL, "Which session"},
    {"session", "the last one, if none is named"},
    {"perf-data", "a recording of perf"},
    {"diff", "compare with this older session"},
    {"counts", "amounts, not shares: for runs of the same work"},
    {"fail-over", "exit with 3 if something grew by more"},
    {NULL, "What to print"},
    {"report", "flat, tree, callers, waits, locks, annotate, ..."},
    {"function", "of annotate, calls, flat: this function"},
    {"sort", "rows by comm, pid, thread, line, state, ..."},
    {"group-by", "trees by process, thread, state, region"},
    {"top", "so many rows; 0: all"},
    {NULL, "Of which samples"},
    {"event", "of these events"},
    {"pid", "of these processes; --tid, --comm, --cpu"},
    {"from", "from this time on: 2s; --to=3s"},
    {"region", "within a region that the program marked"},
    {"only", "with such a function in the stack"},
    {NULL, "To where"},
    {"open", "a page, in the browser"},
    {"serve", "answer questions in the browser"},
    {"output-format", "csv, json, html, folded, perfetto, pprof, ..."},
    {"output-file", "into a file"},
};

const struct opt_table cpuperf_print_options = {
    .program = "cpuperf_print",
    .summary = "print a session that cpuperf recorded",
    .usage = "  cpuperf_print [SESSION...] [--report=NAME] [--output-format=FORMAT]\n"
	     "  cpuperf_print --session=NEW --diff=OLD [--fail-over=PERCENT]\n"
	     "  cpuperf_print --session=FILE --live\n"
	     "  cpuperf_print --session=FILE --serve",
    .rows = rows,
    .nr_rows = sizeof(rows) / sizeof(rows[0]),
    .brief = brief,
    .nr_brief = sizeof(brief) / sizeof(brief[0]),
    .brief_footer = "All options, reports and formats: cpuperf_print --help=all\n"
		    "What a report shows: cpuperf help reports; a format: cpuperf help formats",
    .plain = "session",
    .footer =
	"Exit status: 0 everything was printed; 1 something could not be read or written (the\n"
	"readable part is printed); 2 wrong usage; 3 a change exceeds --fail-over.\n\n"
	"Examples:\n  cpuperf_print --session=/tmp/cpuperf.cpsession\n"
	"  cpuperf_print --session=/tmp/cpuperf.cpsession --report=tree --comm=postgres\n"
	"  cpuperf_print --session=new.cpsession --diff=old.cpsession --fail-over=5\n",
};
