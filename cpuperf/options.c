/*
 * The options. Scalar keys of the spec are options too; their rows are made from spec/'s table.
 */
#include "options.h"

#include "base/err.h"
#include "base/str.h"
#include "serve/serve.h"
#include "spec/keys.h"
#include "spec/spec.h"
#include "versus/comparison.h"

#include <errno.h>
#include <string.h>

/* Of a struct option_asked. */
static int set_asked(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	struct option_asked *asked = (struct option_asked *)((char *)target + row->offset);

	(void)e;
	*asked = (struct option_asked){.is = true, .value = value};
	return 0;
}

static int set_no_sync(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	struct options *o = target;

	(void)row;
	(void)value;
	(void)e;
	o->overrides[key_find(KEY_SPEC, "sync_period") - key_rows] = "0";
	return 0;
}

static int set_callgraph(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	const struct spec_callgraph *how = spec_callgraphs;
	struct options *o = target;

	while (how->name && strcmp(how->name, value ? value : "whole") != 0)
		how++;
	if (!how->name)
		return err_set(e, -EINVAL, "--%s=%s: not one of %s", row->name, value, row->words);
	o->callgraph = how;
	return 0;
}

/* As -e 'function:*@1' -g. */
static int set_trace(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	struct opt_row events = *row;
	struct options *o = target;

	if (strcmp(value, "functions") != 0)
		return err_set(e, -EINVAL, "--%s=%s: not functions", row->name, value);
	events.offset = offsetof(struct options, events);
	return (o->callgraph ? 0 : set_callgraph(row, "whole", target, e))
		   ?: opt_add_string(&events, "function:*@1", target, e);
}

#define FLAG(name_, member, section_, text)                                                        \
	{                                                                                          \
		.name = name_, .arg = OPT_NONE, .section = section_, .help = text,                 \
		.set = opt_set_flag, .offset = offsetof(struct options, member)                    \
	}

#define VERSUS(name_, member, metavar_, complete_, text)                                           \
	{                                                                                          \
		.name = name_, .arg = OPT_REQUIRED, .metavar = metavar_, .complete = complete_,    \
		.words = "wall cpu_time peak_memory page_faults", .section = VERSUS_SECTION,       \
		.help = text, .set = opt_set_string,                                               \
		.offset = offsetof(struct options, versus.member), .has_no_variable = true         \
	}

/* What concerns this machine, or would have to be one for all hosts. */
#define MEASURING_HERE                                                                             \
	"control live top output-file run-spec-command check-spec save-spec list-events "          \
	"list-functions list-specs "                                                               \
	"describe-event output-path-prefix session-result-spec-path"

/* What comparing commands cannot do. */
#define NOT_EXPERIMENTING                                                                          \
	MEASURING_HERE                                                                             \
	" comm cgroup hosts num-iterations windows delay flight-recorder "                         \
	" save-alerts push metrics-listen trace-marker"
#define NOT_COMPARING NOT_EXPERIMENTING " pid duration"

static int set_sweep(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	struct options *o = target;

	if (!o->versus.sweep)
		return opt_set_string(row, value, target, e);
	err_set(e, -EINVAL, "--sweep=%s: there is --sweep=%s", value, o->versus.sweep);
	err_hint(e, "one parameter can be swept: run it again for another one");
	return -EINVAL;
}

static int set_causal(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	struct options *o = target;

	(void)row;
	(void)e;
	o->versus.is_causal = true;
	o->versus.causal = value;
	return 0;
}

#define VERSUS_FLAG(name_, member, text)                                                           \
	{                                                                                          \
		.name = name_, .arg = OPT_NONE, .section = VERSUS_SECTION, .help = text,           \
		.set = opt_set_flag, .offset = offsetof(struct options, member),                   \
		.has_no_variable = true                                                            \
	}

/* Prints all of them. */
#define EVENT_NAMES "--list-events --quiet --output-format=" OPTIONS_FORMAT_NAMES

/* What the verbs that look around refuse. */
#define MEASURING "event frequency period callgraph strict pid comm cgroup output-file"

static int set_send(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	struct options *o = target;

	if (value && !*value)
		return err_set(e, -EINVAL, "--%s=: names no file", row->name);
	o->send = value ? value : "";
	return 0;
}

static int set_trace_marker(const struct opt_row *row, const char *value, void *target,
			    struct err *e)
{
	struct options *o = target;

	if (value && strcmp(value, "global") != 0)
		return err_set(e, -EINVAL, "--%s=%s: not global", row->name, value);
	o->has_trace_marker = true;
	o->is_trace_global = value != NULL;
	return 0;
}

static int set_metrics_listen(const struct opt_row *row, const char *value, void *target,
			      struct err *e)
{
	struct options *o = target;

	(void)row;
	(void)e;
	o->metrics_listen = value ? value : SERVE_DEFAULT_ADDRESS;
	return 0;
}

static int set_metrics_things(const struct opt_row *row, const char *value, void *target,
			      struct err *e)
{
	struct options *o = target;
	uint64_t n;

	(void)row;
	if (str_parse_u64(value, &n) || !n || n > OPTIONS_MAX_METRICS_THINGS)
		return err_set(e, -EINVAL, "--metrics-things=%s: must be 1 to %d", value,
			       OPTIONS_MAX_METRICS_THINGS);
	o->metrics_things = n;
	return 0;
}

static const struct opt_row before[] = {
    {.name = "spec-file",
     .arg = OPT_REQUIRED,
     .metavar = "FILE",
     .complete = OPT_COMPLETE_FILE,
     .words = "*.cpspec",
     .printed = "--list-specs --quiet --output-format=" OPTIONS_FORMAT_NAMES,
     .section = "Measuring",
     .help = "Measure the events that FILE lists; - is standard input. A name without a slash is "
	     "looked up in the current folder, then in CPUPERF_SPEC_PATH, then among the "
	     "installed specs; if it is in none, it is looked up with .cpspec appended. A "
	     "file in the current folder that other users can write must be named with a "
	     "slash: ./FILE.",
     .set = opt_set_string,
     .offset = offsetof(struct options, spec_file)},
    {.name = "event",
     .letter = 'e',
     .arg = OPT_REQUIRED,
     .metavar = "EVENTS",
     .complete = OPT_COMPLETE_COMMAND,
     .words = EVENT_NAMES,
     .section = "Measuring",
     .help = "Count these events, separated by commas: group:name, or the name alone, which is "
	     "looked up in the groups fixed, arch, software, sched, latency, heap, resource, "
	     "misc and gpu, in this order. "
	     "EVENT@997Hz samples it 997 times per second, EVENT@10000 each 10,000 events (of a "
	     "clock: nanoseconds). EVENT@0.1s reads an event of misc or gpu ten times per second, "
	     "also between iterations. EVENT@>10ms samples each call of an event of function that "
	     "lasted longer, EVENT@size>=4KiB each that meets the condition. Without a spec, "
	     "nothing else is measured; in a spec, an event "
	     "of this name is changed, or one is added. May be repeated.",
     .set = opt_add_string,
     .offset = offsetof(struct options, events)},
    {.name = "trace",
     .arg = OPT_REQUIRED,
     .metavar = "functions",
     .complete = OPT_COMPLETE_WORDS,
     .words = "functions",
     .section = "Measuring",
     .help = "Record each call of each function of the program, with its callers: "
	     "cpuperf_print --report=tree has the call tree, with exact counts. The same as "
	     "-e 'function:*@1' -g; functions whose calls cost too much are omitted, and named. "
	     "Needs root; see cpuperf-functions(7).",
     .set = set_trace},
    {.name = "frequency",
     .letter = 'F',
     .arg = OPT_REQUIRED,
     .metavar = "HZ",
     .section = "Measuring",
     .help = "Sample the clock (or cycles, where there is a PMU) HZ times per second.",
     .set = opt_set_string,
     .offset = offsetof(struct options, frequency),
     .excludes = "period"},
    {.name = "period",
     .letter = 'c',
     .arg = OPT_REQUIRED,
     .metavar = "COUNT",
     .section = "Measuring",
     .help = "Sample the clock each COUNT nanoseconds (or cycles, where there is a PMU, each "
	     "COUNT cycles).",
     .set = opt_set_string,
     .offset = offsetof(struct options, period)},
    {.name = "callgraph",
     .letter = 'g',
     .arg = OPT_OPTIONAL,
     .metavar = "HOW",
     .complete = OPT_COMPLETE_WORDS,
     .words = "whole fp dwarf hybrid aggregate",
     .section = "Measuring",
     .help =
	 "Record the callers of each sample: whole (the default), unwound from up to 32 KiB of the "
	 "program's stack while it is recorded; fp, by frame pointers; dwarf, 16 KiB of it, "
	 "stored and unwound by reports; hybrid, by frame pointers, completed from 1 KiB; "
	 "aggregate, by frame pointers, added up in the kernel (key aggregate of cpspec(5)), which "
	 "samples of tracepoints, and waits with their waker, are not. If "
	 "nothing is sampled, sample the clock 997 times per second.",
     .set = set_callgraph},
    {.name = "pid",
     .letter = 'p',
     .arg = OPT_REQUIRED,
     .metavar = "LIST",
     .complete = OPT_COMPLETE_PIDS,
     .section = "What to measure, if not the machine",
     .help = "Measure these processes and all that they start, until they have ended or Ctrl-C is "
	     "pressed. LIST: process numbers, separated by commas. Without a spec, as for a "
	     "command.",
     .set = opt_set_string,
     .offset = offsetof(struct options, pids)},
    {.name = "comm",
     .arg = OPT_REQUIRED,
     .metavar = "GLOB",
     .complete = OPT_COMPLETE_COMMS,
     .section = "What to measure, if not the machine",
     .help = "Measure the processes that have this name at the start, as --pid does. GLOB may "
	     "contain * ? [. May be repeated.",
     .set = opt_add_string,
     .offset = offsetof(struct options, comms)},
    {.name = "cgroup",
     .arg = OPT_REQUIRED,
     .metavar = "PATH",
     .complete = OPT_COMPLETE_DIR,
     .section = "What to measure, if not the machine",
     .help = "Measure all processes in a control group and below it, whenever they come, until "
	     "the last has ended; of an empty one, what enters it. PATH: as in /proc/PID/cgroup, "
	     "or the folder. Requires the "
	     "permission to measure whole CPUs.",
     .set = opt_set_string,
     .offset = offsetof(struct options, cgroup),
     .excludes = "pid comm"},
    {.name = "run-spec-command",
     .arg = OPT_NONE,
     .section = "What to measure, if not the machine",
     .help = "Run the command of the spec's key target. The spec must belong to the caller or to "
	     "root, and its mode must not let its group or others write.",
     .set = opt_set_flag,
     .offset = offsetof(struct options, run_spec_command),
     .has_no_variable = true},
    FLAG("no-children", no_children, "What to measure, if not the machine",
	 "Measure the command or the processes themselves, with their threads, but not the "
	 "processes that they start."),
    FLAG("attach", attach, "What to measure, if not the machine",
	 "Load the agent that measures the heap and descriptors into the processes of --pid, "
	 "--comm or --cgroup that run already, for "
	 "events of the groups heap and resource: a thread of each is stopped for some "
	 "milliseconds, and calls dlopen. Those that cannot have it are named. What was allocated "
	 "before is not measured. See "
	 "cpuperf-target(7)."),
    FLAG("memory-map", memory_map, "What to measure, if not the machine",
	 "Read which memory the processes of a command, --pid, --comm or --cgroup have mapped, at "
	 "the start, at its largest and at the end, for cpuperf_print --report=memory. See the key "
	 "memory_map in cpspec(5) for what it costs."),
    FLAG("short-tasks", short_tasks, "What to measure, if not the machine",
	 "Sample the command, --pid or --comm by the clocks of the CPUs, so that tasks that are "
	 "shorter than the period are sampled as long as they run: builds, scripts, threads of a "
	 "millisecond. By root. See the key short_tasks in cpspec(5) for what it costs others."),
    FLAG("wait-children", wait_children, "What to measure, if not the machine",
	 "Measure a command until all processes that it started have ended, or Ctrl-C is pressed. "
	 "Those that outlive their parent have cpuperf as parent, in place of init."),
    FLAG("regions", regions, "What to measure, if not the machine",
	 "Receive the marks of programs (cpuperf/mark.h in their source): the samples of each of "
	 "their regions, and how often and how long it ran. Programs that run already begin to "
	 "write marks, and end it with the session; that needs the right to trace them. See "
	 "--report=regions of cpuperf_print."),
    {.name = "cpu",
     .letter = 'C',
     .arg = OPT_REQUIRED,
     .metavar = "LIST",
     .section = "What to measure, if not the machine",
     .help = "Measure only on these CPUs: 0,2-5.",
     .set = opt_set_string,
     .offset = offsetof(struct options, cpus)},
    {.name = "versus",
     .arg = OPT_REQUIRED,
     .metavar = "COMMAND",
     .section = VERSUS_SECTION,
     .help =
	 "Find out whether the command after -- is faster than this one. COMMAND: a command line "
	 "in quotes, which is split as a shell splits words, but run without one; self: the same "
	 "command, to learn what this machine can resolve. Both run in turns (old new, new old, "
	 "...), with nothing measured but what the kernel accounts to each run anyway, until the "
	 "difference is known; then further runs of each are recorded, with the "
	 "events of the other options, and compared. Standard output of the runs is discarded. "
	 "See cpuperf-versus(7).",
     .set = opt_set_string,
     .offset = offsetof(struct options, versus.old),
     .has_no_variable = true,
     .excludes = NOT_COMPARING},
    {.name = "sweep",
     .arg = OPT_REQUIRED,
     .metavar = "NAME=VALUES",
     .section = VERSUS_SECTION,
     .help =
	 "Run the command with each of these values in place of {NAME}, in turns as --versus does, "
	 "until each wall time is known: a table and bars, and where the values are numbers "
	 "speed-up, efficiency and the serial share. VALUES: separated by commas; 1..8 and "
	 "1..64*2 are ranges of whole numbers. With --versus, the verdict for each value. Nothing "
	 "is recorded.",
     .set = set_sweep,
     .offset = offsetof(struct options, versus.sweep),
     .has_no_variable = true,
     .excludes = NOT_COMPARING},
    {.name = "causal",
     .arg = OPT_OPTIONAL,
     .metavar = "FUNCTIONS",
     .section = VERSUS_SECTION,
     .help =
	 "Find out by experiments what a faster function would bring to the command's wall time. "
	 "In turns, one function is virtually sped up: while a thread runs it, all other threads "
	 "are slowed down, which is subtracted from the time of the run. FUNCTIONS: "
	 "[OBJECT:]GLOB, @SOURCE-GLOB, with ! what is excluded, separated by commas; by default "
	 "those of the program. lines, or lines:FUNCTIONS: their source lines in place of them; "
	 "regions, or regions:GLOB: the regions that the program marks, with what they call. "
	 "The 5 that run most are tried. A run is recorded beside; all is kept in a session "
	 "(--output), which "
	 "cpuperf_print --report=causal prints. See cpuperf-waits(7), EXPERIMENTS.",
     .set = set_causal,
     .has_no_variable = true,
     .excludes = NOT_EXPERIMENTING " versus sweep"},
    VERSUS("speedup", speedup, "PERCENT,...", OPT_COMPLETE_NONE,
	   "With --causal: by how much of its time each function is sped up, 1 to 100. Default: "
	   "50. random: by amounts from 5 to 100 that are drawn in each round (random:SEED)."),
    VERSUS("progress", progress, "POINT", OPT_COMPLETE_NONE,
	   "With --causal: measure how often the command passes POINT, in rounds within one run, "
	   "for what runs for ever or for long; -d says for how long at most. POINT: a region or a "
	   "mark of cpuperf/mark.h, a progress point of coz's macros, or function:[OBJECT:]GLOB. "
	   "The command has this program's standard input and error, and is ended by SIGTERM; a "
	   "process that runs already (--pid) goes on."),
    VERSUS("until", until, "PERCENT", OPT_COMPLETE_NONE,
	   "With --versus: stop when half of the interval of the difference is at most PERCENT of "
	   "the old command's measure. By default at 0.5, or at a quarter of the difference. With "
	   "--sweep: of each value's mean, by default 1; with --causal, of the wall time."),
    VERSUS("at-most", at_most, "TIME", OPT_COMPLETE_NONE,
	   "With --versus, --sweep or --causal: stop after TIME (90s, 10m), though the difference "
	   "is not known. Default: 1m, but at least 6 runs of each."),
    VERSUS(
	"by", by, "MEASURE", OPT_COMPLETE_WORDS,
	"With --versus or --sweep: what is compared, wall (the default), cpu_time, peak_memory or "
	"page_faults."),
    VERSUS("setup", setup, "COMMAND", OPT_COMPLETE_NONE,
	   "With --versus, --sweep or --causal: run this command line once before all runs."),
    VERSUS("prepare", prepare, "COMMAND", OPT_COMPLETE_NONE,
	   "With --versus, --sweep or --causal: run this command line before each run; it is not "
	   "measured. Nothing is recorded then. It may have {NAME} of --sweep."),
    VERSUS("cleanup", cleanup, "COMMAND", OPT_COMPLETE_NONE,
	   "With --versus, --sweep or --causal: run this command line once after all runs, also "
	   "after a failure."),
    VERSUS("input", input, "FILE", OPT_COMPLETE_FILE,
	   "With --versus, --sweep or --causal: the standard input of each run, from its start. "
	   "Default: /dev/null."),
    VERSUS_FLAG("ignore-status", versus.ignores_status,
		"With --versus, --sweep or --causal: compare also commands that end with another "
		"exit status than 0."),
    VERSUS_FLAG("verdict-only", versus.is_verdict_only,
		"With --versus: do not record and print where the difference is."),
    VERSUS(
	"fail-over", fail_over, "PERCENT", OPT_COMPLETE_NONE,
	"With --versus: exit with status 3 if the new command needs more by more than chance, and "
	"by more than PERCENT."),
    {.name = "hosts",
     .arg = OPT_REQUIRED,
     .metavar = "LIST",
     .section = "Many hosts",
     .help =
	 "Measure on these hosts, all from the same instant: [USER@]HOST[:PORT], separated by "
	 "commas, or @FILE with one on each line. cpuperf of the same version is run there by "
	 "ssh, which must not need to ask anything. What the command prints has the host before "
	 "each line. The sessions are in a folder each of the session's folder. See "
	 "cpuperf-hosts(7).",
     .set = opt_set_string,
     .offset = offsetof(struct options, hosts),
     .excludes = MEASURING_HERE},
    {.name = "hosts-program",
     .arg = OPT_REQUIRED,
     .metavar = "PATH",
     .section = "Many hosts",
     .help = "Run this program on the hosts, in place of the cpuperf in ssh's PATH.",
     .set = opt_set_string,
     .offset = offsetof(struct options, hosts_program)},
    {.name = "send",
     .arg = OPT_OPTIONAL,
     .metavar = "FILE",
     .complete = OPT_COMPLETE_FILE,
     .section = "Many hosts",
     .help = "To hosts that have no cpuperf of this version, send FILE, "
	     "cpuperf-MACHINE-linux.tar.gz, for the measurement: it is unpacked into a folder that "
	     "is removed at the end. Without FILE, those that are installed with this cpuperf, or "
	     "beside the folder of a static one.",
     .set = set_send,
     .offset = offsetof(struct options, send)},
    {.name = "hosts-timeout",
     .arg = OPT_REQUIRED,
     .metavar = "TIME",
     .section = "Many hosts",
     .help = "Go on without a host that has not answered for so long, at the start or later "
	     "(default 10s).",
     .set = opt_set_string,
     .offset = offsetof(struct options, hosts_timeout)},
    {.name = "output",
     .letter = 'o',
     .arg = OPT_REQUIRED,
     .metavar = "FOLDER",
     .complete = OPT_COMPLETE_DIR,
     .section = "Measuring",
     .help =
	 "Save the session in FOLDER, which is made, or replaced if it holds nothing but a "
	 "session. The default of a command, and without a spec, is ./cpuperf.session; "
	 "the session before becomes ./cpuperf.session.old, and while another session uses it, "
	 "./cpuperf.session.2 is taken. - saves nothing: the session is held in memory until "
	 "it is printed; so is that of a command or of processes where the disk has no room for "
	 "it. In its name, %h is the host, %p the process of cpuperf, %d date and time, %n the "
	 "first number from 1 of which there is no such file yet, and %% a %.",
     .set = opt_set_string,
     .offset = offsetof(struct options, output),
     .excludes = "output-path-prefix session-result-spec-path"},
    {.name = "save-spec",
     .arg = OPT_REQUIRED,
     .metavar = "FILE",
     .complete = OPT_COMPLETE_FILE,
     .section = "Measuring",
     .help = "Write the spec, with what options change, to FILE, and then measure it; with "
	     "--check-spec, only write it. An existing file is replaced only if it is a spec "
	     "of the caller's.",
     .set = opt_set_string,
     .offset = offsetof(struct options, save_spec)},
    {.name = "save-alerts",
     .arg = OPT_REQUIRED,
     .metavar = "FILE",
     .complete = OPT_COMPLETE_FILE,
     .section = "Measuring",
     .help = "Write the limits of the spec's metrics (warn_above, warn_below) to FILE as alert "
	     "rules for Prometheus, which reads the metrics by --metrics-listen, and then measure; "
	     "with --check-spec, only write them.",
     .set = opt_set_string,
     .offset = offsetof(struct options, save_alerts)},
    {.name = "check-spec",
     .arg = OPT_NONE,
     .section = "Measuring",
     .help = "Load the spec, resolve its events and print the plan without measuring. With "
	     "--strict, fail unless every event works here, on every CPU and of every process.",
     .set = opt_set_flag,
     .offset = offsetof(struct options, check_spec),
     .has_no_variable = true},
    {.name = "control",
     .arg = OPT_REQUIRED,
     .metavar = "HOW",
     .section = "Measuring",
     .help = "Obey the commands of another program, by perf's protocol: enable [EVENT], disable "
	     "[EVENT], evlist, snapshot, stop, ping. HOW: fifo:CTL[,ACK], names of FIFOs, or "
	     "fd:CTL[,ACK], inherited descriptors; ack is written to the second. With --delay=-1 "
	     "events are disabled at the start.",
     .set = opt_set_string,
     .offset = offsetof(struct options, control)},
    FLAG("strict", strict, "Measuring",
	 "Fail before measuring starts if an event cannot be measured on every CPU."),
    FLAG("live", live, "Measuring",
	 "Show a dashboard while a session counts; ? lists its keys. This is the default "
	 "on a terminal when the output format is text and there is more than one "
	 "iteration. The summary is printed when the dashboard closes. With a command, it shows "
	 "what was counted in the last second, and the answer follows; send the output of the "
	 "command elsewhere: the dashboard then uses standard error."),
    {.name = "top",
     .arg = OPT_NONE,
     .section = "Measuring",
     .help = "Show functions while a session samples, of the last seconds and since the start: "
	     "self, total, callers and callees, source and instructions; ? lists the keys. Without "
	     "a spec and events, samples the clock 997 times per second. It is measured until q, "
	     "in iterations of a second, unless --duration or --num-iterations is given. This is "
	     "the default on a terminal for samples of the machine, of processes and of a control "
	     "group, where no duration is given. With --output=FOLDER the session is saved, of "
	     "which the last "
	     "4 GiB stay unless the spec has retain; without, it leaves no files.",
     .set = opt_set_flag,
     .offset = offsetof(struct options, top),
     .excludes = "live no-live"},
    {.name = "no-live",
     .arg = OPT_NONE,
     .section = "Measuring",
     .help = "Print a table after each iteration instead of the dashboard, and show no functions.",
     .set = opt_set_flag,
     .offset = offsetof(struct options, no_live),
     .excludes = "live"},
    {.name = "no-sync",
     .arg = OPT_NONE,
     .section = "Measuring",
     .help = "Same as --sync-period=0: a power cut may lose the last half minute of data, or "
	     "the whole session.",
     .set = set_no_sync},
    {.name = "output-format",
     .arg = OPT_REQUIRED,
     .metavar = "FORMAT",
     .complete = OPT_COMPLETE_WORDS,
     .words =
	 "text csv ndjson " OPTIONS_FORMAT_JSON " " COMPARISON_FORMATS " " OPTIONS_FORMAT_NAMES,
     .section = "Measuring",
     .help =
	 "Format of the results: text (the default), csv, ndjson or json. With a command, csv and "
	 "ndjson require --output-file. json is the answer, or the verdict of --versus, as one "
	 "document. --versus and --sweep also have markdown (for pull requests), github "
	 "(annotations of its workflows) and, with --fail-over, junit (test cases); --versus also "
	 "html, a page of both. --list-events, --list-functions "
	 "and --list-specs also accept names, which "
	 "prints only those.",
     .set = opt_set_word,
     .offset = offsetof(struct options, output_format)},
    {.name = "output-file",
     .arg = OPT_REQUIRED,
     .metavar = "FILE",
     .complete = OPT_COMPLETE_FILE,
     .section = "Measuring",
     .help = "Write the results, or the answer of a command, to FILE. The file has mode 0600 and "
	     "appears when it is complete: until then, and after an error, an older file stays. "
	     "Symbolic links are not followed. A terminal, a FIFO, /dev/stdout and /dev/fd/N are "
	     "written to directly.",
     .set = opt_set_string,
     .offset = offsetof(struct options, output_file),
     .excludes = "check-spec"},
    {.name = "trace-marker",
     .arg = OPT_OPTIONAL,
     .metavar = "WHERE",
     .complete = OPT_COMPLETE_WORDS,
     .words = "global",
     .section = "Measuring",
     .help =
	 "Also write each reading and, with --regions, each region to a buffer of the kernel's "
	 "tracer while the session runs: an instance cpuperf-PID of its own, or with global the "
	 "buffer that all share. trace-cmd and Perfetto read it. Requires root.",
     .set = set_trace_marker,
     .has_no_variable = true},
    {.name = "metrics-listen",
     .arg = OPT_OPTIONAL,
     .metavar = "ADDRESS",
     .section = "Measuring",
     .help =
	 "Serve what the iterations counted, added up, to Prometheus: GET /metrics over HTTP, in "
	 "the classic text format or as OpenMetrics. ADDRESS: PORT of 127.0.0.1, HOST:PORT with a "
	 "numeric host, or unix:PATH; without it " SERVE_DEFAULT_ADDRESS
	 ". Requests name an address, localhost or this machine; at a loopback address, that "
	 "address or localhost.",
     .set = set_metrics_listen},
    {.name = "metrics-things",
     .arg = OPT_REQUIRED,
     .metavar = "N",
     .section = "Measuring",
     .help = "With --metrics-listen, the number of processes, disks or other things of each event "
	     "that have a series of their own: those that count most. All others are one series, "
	     "[other]. Default: 100.",
     .set = set_metrics_things},
    PUSH_OPTION_ROWS(struct options, push,
		     "Send each iteration, when it has ended, as a profile to a receiver: a "
		     "session that samples, with --duration and --num-iterations; a command when "
		     "it has ended. Measuring waits for nothing.",
		     "check-spec"),
    {.name = "list-events",
     .arg = OPT_OPTIONAL,
     .metavar = "PATTERN",
     .section = "Looking around",
     .help =
	 "List all events, or those whose name, group:name or description matches the "
	 "glob PATTERN (a PATTERN without wildcards matches anywhere in the text). A common word "
	 "lists the events that answer it: disk latency, syscall, lock, memory, … Without "
	 "PATTERN, text omits what takes time: events of programs in the kernel are not tried, and "
	 "libraries are not read for the probes that they have built in. With "
	 "--model-name, list the events of another CPU model.",
     .set = set_asked,
     .offset = offsetof(struct options, list_events),
     .has_no_variable = true,
     .excludes = MEASURING},
    {.name = "list-functions",
     .arg = OPT_OPTIONAL,
     .metavar = "GLOB",
     .section = "Looking around",
     .help = "List the functions of a program (-- COMMAND, --pid) that events of the group "
	     "function can measure: all of its own, or those that [OBJECT:]GLOB means "
	     "(cpuperf-functions(7)). For each, what a call would cost, whether it has times, and "
	     "its size; and "
	     "why others are omitted. Nothing is executed.",
     .set = set_asked,
     .offset = offsetof(struct options, list_functions),
     .has_no_variable = true,
     .excludes = "event frequency period callgraph strict cgroup output-file"},
    {.name = "describe-event",
     .arg = OPT_REQUIRED,
     .metavar = "GROUP:NAME",
     .complete = OPT_COMPLETE_COMMAND,
     .words = EVENT_NAMES,
     .section = "Looking around",
     .help = "Describe one event: what it counts, how it is opened, whether it works here, "
	     "and what to do if it does not.",
     .set = opt_set_string,
     .offset = offsetof(struct options, describe_event),
     .has_no_variable = true,
     .excludes = MEASURING},
    {.name = "list-specs",
     .arg = OPT_NONE,
     .section = "Looking around",
     .help = "List the specs that can be found by name, with the first comment of each.",
     .set = opt_set_flag,
     .offset = offsetof(struct options, list_specs),
     .has_no_variable = true,
     .excludes = MEASURING},
    {.name = "doctor",
     .arg = OPT_OPTIONAL,
     .metavar = "PROGRAM",
     .complete = OPT_COMPLETE_FILE,
     .section = "Looking around",
     .help = "Try what this machine lets this user measure, and print what is missing, what that "
	     "costs and how to have it; of a PROGRAM (or -- COMMAND) also whether it has symbols, "
	     "lines and frame pointers, and can load the agent. Exit status: 0, or 1 if something "
	     "is missing that costs answers; 2, it could not be tried. The text has no private "
	     "names: it is made for reports of faults. With --output-format=json one document.",
     .set = set_asked,
     .offset = offsetof(struct options, doctor),
     .has_no_variable = true,
     .excludes = MEASURING
     " list-events list-functions describe-event list-specs check-spec versus sweep causal hosts"},
    {.name = "manual",
     .arg = OPT_OPTIONAL,
     .metavar = "TOPIC",
     .section = "Looking around",
     .help = "Open the manual in the browser (xdg-open), which leads from a symptom to a command; "
	     "where there is no screen, or where its pages are not installed, show the page of "
	     "man. cpuperf help lists the topics; cpuperf help TOPIC shows the page of man alone.",
     .set = set_asked,
     .offset = offsetof(struct options, manual),
     .has_no_variable = true,
     .excludes = MEASURING},
};

/* --help: what most people need, on a screen. */
static const struct opt_brief brief[] = {
    {NULL, "What to measure"},
    {"event", "these events: page_faults, cpu_clock@997Hz"},
    {"spec-file", "those of a spec: wall, heap, system, processes"},
    {"frequency", "sample the clock so often per second"},
    {"callgraph", "with callers: whole, fp, dwarf, hybrid, aggregate"},
    {"regions", "the parts that a program marks"},
    {NULL, "Of whom, and how long"},
    {"pid", "running processes, with all they start"},
    {"comm", "those of this name"},
    {"cgroup", "a service or container"},
    {"duration", "of an iteration: 10s, 500ms"},
    {"num-iterations", "how many; 0: until Ctrl-C"},
    {"runs", "run the command N times"},
    {"flight-recorder", "keep the last seconds, write them when asked"},
    {NULL, "Where the answer goes"},
    {"output", "save the session here; -: nowhere"},
    {"output-format", "text, csv, ndjson, json"},
    {"output-file", "into a file"},
    {"top", "functions, live"},
    {"live", "counts, live"},
    {NULL, "Looking around"},
    {"list-events", "what can be measured here: --list-events=disk"},
    {"list-functions", "calls of which functions, of -- ./prog"},
    {"describe-event", "what one counts, and what it needs"},
    {"list-specs", "what can be measured by a name"},
    {"doctor", "what this machine allows, and how to have more"},
    {"manual", "the manual, in a browser"},
};

static const struct opt_row after[] = {OPT_STD_ROWS(struct options, std)};

#define WHOLE_MACHINE                                                                              \
	"without a command, --pid, --comm and --cgroup the whole machine is measured: cpuperf -e " \
	"EVENTS -d 1, or cpuperf --top"

/* Of other profilers. */
static const struct opt_choice foreign[] = {
    {"stat",
     "to count: cpuperf -e page_faults,context_switches -- COMMAND; -r 5 runs it five times"},
    {"record", "cpuperf -- COMMAND records, prints, and saves the session for cpuperf_print"},
    {"report", "cpuperf_print prints the last session; --report=tree, callers, threads, ..."},
    {"top", "cpuperf --top shows functions while they run"},
    {"annotate", "cpuperf_print --report=annotate --function=NAME"},
    {"script", "cpuperf_print --report=records"},
    {"list", "cpuperf --list-events"},
    {"diff",
     "cpuperf_print --session=NEW --diff=OLD, or cpuperf --versus='OLD COMMAND' -- NEW COMMAND"},
    {"-a", WHOLE_MACHINE},
    {"--all-cpus", WHOLE_MACHINE},
};

enum {
	NR_BEFORE = sizeof(before) / sizeof(before[0]),
	NR_AFTER = sizeof(after) / sizeof(after[0]),
	MAX_NAME = 40,
};

static int set_override(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	struct options *o = target;

	(void)e;
	o->overrides[row->offset] = row->arg == OPT_NONE ? "true" : value;
	return 0;
}

/* One that is true or false has no argument: the option is true. */
static bool is_option(const struct key_row *row)
{
	return key_find_option(key_option(row)) == row &&
	       (row->metavar || (row->type == KEY_BOOL && row->option));
}

/* Key "buffer_size_in_mb" becomes option "buffer-size-in-mb". */
static void make_override(size_t key, char name[MAX_NAME], struct opt_row *out)
{
	const char *from = key_option(&key_rows[key]);
	size_t len = strlen(from);

	for (size_t i = 0; i < len && i + 1 < MAX_NAME; i++)
		name[i] = from[i] == '_' ? '-' : from[i];
	*out = (struct opt_row){.name = name,
				.letter = key_rows[key].letter,
				.arg = key_rows[key].metavar ? OPT_REQUIRED : OPT_NONE,
				.metavar = key_rows[key].metavar,
				.section = "Overrides of the spec's keys",
				.help = key_rows[key].description,
				.excludes = key_rows[key].excludes,
				.set = set_override,
				.offset = key};
}

const struct opt_table *cpuperf_options(void)
{
	static struct opt_row rows[NR_BEFORE + OPTIONS_MAX_OVERRIDES + NR_AFTER];
	static char names[OPTIONS_MAX_OVERRIDES][MAX_NAME];
	static struct opt_table table = {
	    .program = "cpuperf",
	    .summary = "count and sample performance events of Linux as a .cpspec specifies",
	    .usage =
		"  cpuperf [options] [--] COMMAND [ARGUMENT...]\n"
		"  cpuperf --versus='OLD COMMAND' [options] -- NEW COMMAND\n"
		"  cpuperf --sweep=NAME=VALUES [options] -- COMMAND {NAME}\n"
		"  cpuperf --causal[=FUNCTIONS] [options] -- COMMAND\n"
		"  cpuperf --causal[=FUNCTIONS] --progress=POINT [options] --pid=PID\n"
		"  cpuperf [options] --pid=LIST | --comm=GLOB | --cgroup=PATH\n"
		"  cpuperf --spec-file=FILE [options]\n"
		"  cpuperf --hosts=LIST [options] [[--] COMMAND [ARGUMENT...]]\n"
		"  cpuperf --event=EVENTS [options]\n"
		"  cpuperf --list-events[=PATTERN] | --describe-event=GROUP:NAME | --list-specs\n"
		"  cpuperf --list-functions[=[OBJECT:]GLOB] -- COMMAND\n"
		"  cpuperf --doctor[=PROGRAM]",
	    .footer = "Exit status: 0 done, 1 failed, 2 wrong usage. With a command: its own, or\n"
		      "128+N if signal N ended it; 125 cpuperf failed; 126 the command cannot be\n"
		      "executed; 127 it was not found.\n"
		      "Try: cpuperf -- gcc --version\n"
		      "     cpuperf -e page_faults,context_switches -d 1\n"
		      "     cpuperf --spec-file=basic.cpspec --num-iterations=3",
	    .brief = brief,
	    .nr_brief = sizeof(brief) / sizeof(brief[0]),
	    .brief_footer = "All options: cpuperf --help=all\n"
			    "By topic (waits, heap, rights, ...): cpuperf help",
	    .variables = "CPUPERF_",
	    .plain_hint =
		"it is no program here; -- comes before any command: cpuperf [options] -- COMMAND",
	    .foreign = foreign,
	    .nr_foreign = sizeof(foreign) / sizeof(foreign[0]),
	    .rows = rows,
	};
	size_t nr = NR_BEFORE;

	if (table.nr_rows)
		return &table;
	memcpy(rows, before, sizeof(before));
	for (size_t key = 0; key < key_nr_rows && key < OPTIONS_MAX_OVERRIDES; key++)
		if (is_option(&key_rows[key]))
			make_override(key, names[key], &rows[nr++]);
	memcpy(rows + nr, after, sizeof(after));
	table.nr_rows = nr + NR_AFTER;
	return &table;
}

const char *options_override(const struct options *o, const char *key)
{
	return o->overrides[key_find(KEY_SPEC, key) - key_rows];
}
