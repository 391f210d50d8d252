/*
 * The table of all keys, and its look-ups.
 */
#include "spec/keys.h"

#include "base/array.h"
#include "base/str.h"
#include "spec/cpsession.h"
#include "spec/spec.h"

#include <stddef.h>
#include <string.h>

/* In the order of enum spec_flag. */
static const char *const flag_words[] = {
    "os",         "user",    "pc",       "last_branch", "timebase", "callchain",
    "user_stack", "precise", "pinned",   "no_idle",     "guest",    "host",
    "waker",      "unsafe",  "adaptive", "optional",    NULL,
};

/* In the order of enum spec_branch. */
static const char *const branch_words[] = {
    "any",  "any_call",   "any_return", "indirect_call", "indirect_jump", "conditional",
    "call", "call_stack", NULL,
};

static const char *const compression_words[] = {
    "none",    "zstd",    "zstd:1",  "zstd:2",  "zstd:3",  "zstd:4",  "zstd:5",  "zstd:6",
    "zstd:7",  "zstd:8",  "zstd:9",  "zstd:10", "zstd:11", "zstd:12", "zstd:13", "zstd:14",
    "zstd:15", "zstd:16", "zstd:17", "zstd:18", "zstd:19", NULL,
};

static const char *const untouched_words[] = {"pages", "pattern", NULL};

static const char *const way_words[] = {"any", "kernel", "program", "count", NULL};
static const char *const manifest_words[] = {"whole", "strict", NULL};

static const char *const experiment_quantities[] = {CPSESSION_WALL, CPSESSION_THROUGHPUT,
						    CPSESSION_LATENCY, NULL};

static const char *const session_states[] = {CPSESSION_RECORDING, NULL};

#define SPEC_FIELD(f)      .level = KEY_SPEC, .offset = offsetof(struct spec, f)
#define EVENT_FIELD(f)     .level = KEY_EVENT, .offset = offsetof(struct spec_event, f)
#define SAMPLING_FIELD(f)  .level = KEY_SAMPLING, .offset = offsetof(struct spec_event, f)
#define TARGET_FIELD(f)    .level = KEY_TARGET, .offset = offsetof(struct spec_target, f)
#define FLIGHT_FIELD(f)    .level = KEY_FLIGHT, .offset = offsetof(struct spec_flight, f)
#define RETAIN_FIELD(f)    .level = KEY_RETAIN, .offset = offsetof(struct spec_retain, f)
#define REGIONS_FIELD(f)   .level = KEY_REGIONS, .offset = offsetof(struct spec_regions, f)
#define FUNCTIONS_FIELD(f) .level = KEY_FUNCTIONS, .offset = offsetof(struct spec_functions, f)
#define FUNCTIONS_POS(f)   .pos_offset = offsetof(struct spec_functions, f)
#define REMOVED_FIELD(f)   .level = KEY_REMOVED, .offset = offsetof(struct cpsession_removed, f)
#define MADE_FIELD(f)      .level = KEY_EXPERIMENTS, .offset = offsetof(struct cpsession_experiments, f)
#define TRIED_FIELD(f)     .level = KEY_EXPERIMENT, .offset = offsetof(struct cpsession_experiment, f)
#define METRIC_FIELD(f)    .level = KEY_METRIC, .offset = offsetof(struct spec_metric, f)
#define SESSION_FIELD(f)   .level = KEY_SESSION, .offset = offsetof(struct cpsession, f)
#define SPEC_POS(f)        .pos_offset = offsetof(struct spec, f)
#define EVENT_POS(f)       .pos_offset = offsetof(struct spec_event, f)
#define METRIC_POS(f)      .pos_offset = offsetof(struct spec_metric, f)

/* In the order of the schema, and of written documents. */
const struct key_row key_rows[] = {
    {
	SPEC_FIELD(config_name),
	.name = "config_name",
	.type = KEY_STRING,
	.max = 255,
	.description = "A name for the measurement, stored with the results.",
	.metavar = "NAME",
    },
    {
	SPEC_FIELD(model_name),
	SPEC_POS(model_pos),
	.name = "model_name",
	.type = KEY_STRING,
	.min = 1,
	.max = 255,
	.default_text = "default",
	.description =
	    "The CPU model whose events are used. \"default\" is the model of this machine.",
	.metavar = "NAME",
    },
    {
	SPEC_FIELD(events),
	SPEC_POS(events_pos),
	.name = "events",
	.type = KEY_EVENTS,
	.required = true,
	.min = 1,
	.max = SPEC_MAX_PERF_EVENTS + SPEC_MAX_MISC_EVENTS,
	.description =
	    "The events to measure: at most 32, and at most 256 more of misc and gpu. The "
	    "columns of the results are in this order.",
    },
    {
	SPEC_FIELD(sampling),
	.name = "sampling",
	.type = KEY_DEFAULTS,
	.modes = "sampling",
	.description =
	    "The defaults of sampled events: those with a rate, a frequency, a flag that concerns "
	    "samples, or sampled. A key of the event replaces the default of the same name; rate "
	    "and frequency replace each other.",
    },
    {
	SPEC_FIELD(target),
	SPEC_POS(target_pos),
	.name = "target",
	.type = KEY_OBJECT,
	.inner = KEY_TARGET,
	.description =
	    "What to measure, if not the whole machine: a command, processes, or a control group, "
	    "as "
	    "-- COMMAND, --pid, --comm, --cgroup, --cpu and --no-children say. A target of the "
	    "options replaces it.",
    },
    {
	SPEC_FIELD(flight),
	SPEC_POS(flight_pos),
	.name = "flight_recorder",
	.type = KEY_OBJECT,
	.inner = KEY_FLIGHT,
	.option_key = "seconds",
	.modes = "sampling",
	.description =
	    "Keep the samples of the last TIME in memory, where newer ones overwrite older ones, "
	    "and write them only at a snapshot: when cpuperf receives SIGUSR2, when a metric "
	    "comes to be beyond its warn_below or warn_above, and at the end. "
	    "Each snapshot ends an iteration. The session lasts until its target has ended or "
	    "Ctrl-C is pressed.",
	.metavar = "TIME",
	.excludes = "duration num-iterations runs windows delay",
    },
    {
	SPEC_FIELD(metrics),
	SPEC_POS(metrics_pos),
	.name = "metrics",
	.type = KEY_METRICS,
	.max = SPEC_MAX_METRICS,
	.description =
	    "Numbers computed from events, such as instructions per cycle. Their columns "
	    "follow those of the events.",
    },
    {
	SPEC_FIELD(buffer_size_in_mb),
	.name = "buffer_size_in_mb",
	.type = KEY_INTEGER,
	.min = 1,
	.max = 4096,
	.default_text = "16",
	.unit = "MiB",
	.modes = "sampling",
	.description = "The size of each CPU's sample buffer.",
	.metavar = "N",
    },
    {
	SPEC_FIELD(duration_ns),
	SPEC_POS(duration_pos),
	.name = "duration",
	.type = KEY_SECONDS,
	.max = 31536000, /* a year */
	.default_text = "10",
	.unit = "seconds",
	.description =
	    "The length of one iteration. It may have decimals: 0.5. 0 reads the counters once, "
	    "immediately. The option --duration also accepts units: 10ms, 0.5s, 2m.",
	.metavar = "TIME",
	.letter = 'd',
    },
    {
	SPEC_FIELD(num_iterations),
	SPEC_POS(iterations_pos),
	.name = "num_iterations",
	.type = KEY_INTEGER,
	.max = SPEC_MAX_ITERATIONS,
	.default_text = "1",
	.description =
	    "The number of iterations, measured back to back. 0: until the session is stopped "
	    "(Ctrl-C), or its target ends.",
	.metavar = "N",
	.letter = 'n',
    },
    {
	SPEC_FIELD(runs),
	SPEC_POS(runs_pos),
	.name = "runs",
	.type = KEY_INTEGER,
	.min = 1,
	.max = 1000000,
	.description =
	    "How often to run the command that is measured, instead of a duration and "
	    "num_iterations. Each run is an iteration; the next one starts when it has ended.",
	.metavar = "N",
	.letter = 'r',
	.excludes = "duration num-iterations",
    },
    {
	SPEC_FIELD(windows),
	SPEC_POS(windows_pos),
	.name = "windows",
	.type = KEY_STRING,
	.max = 4095,
	.description =
	    "When to measure, instead of a duration and num_iterations: "
	    "CLOCK:DELAY:CAPTURE:CYCLES, or several in a row, separated by commas. Each cycle "
	    "waits for DELAY and measures for CAPTURE; each capture is an iteration. Events are "
	    "disabled in between. CLOCK is realtime, or process_cputime: the CPU time of all "
	    "tasks of the target. realtime:10:1:5 measures the eleventh second of each of 5 "
	    "times 11 seconds.",
	.metavar = "WINDOWS",
	.excludes = "duration num-iterations runs",
    },
    {
	SPEC_FIELD(delay_ns),
	SPEC_POS(delay_pos),
	.name = "delay",
	.type = KEY_SECONDS,
	.max = 31536000,
	.unit = "seconds",
	.description =
	    "How long to wait before measuring begins, with a command after its start. Events "
	    "are disabled until then.",
	.metavar = "TIME",
	.excludes = "runs",
    },
    {
	SPEC_FIELD(sync_period_ns),
	.name = "sync_period",
	.type = KEY_SECONDS,
	.max = 86400,
	.default_text = "1",
	.unit = "seconds",
	.description =
	    "The shortest time between two syncs of the session's files to disk, where they "
	    "survive a power cut. Files are synced at the end of an iteration; files of "
	    "samples also during it. 0 leaves syncing to the kernel. A sync takes 0.5 to 1 ms of "
	    "CPU time: of a session that counts each second, most of what it uses.",
	.metavar = "TIME",
    },
    {
	SPEC_FIELD(regions),
	.name = "regions",
	.type = KEY_OBJECT,
	.inner = KEY_REGIONS,
	.is_switch = true,
	.default_text = "false",
	.description =
	    "true receives what programs say about themselves by the marks of cpuperf/mark.h: "
	    "each sample then has a region. Without a sampled event, calls and times of regions "
	    "are "
	    "received alone. A command has the variable CPUPERF_MARKS in its "
	    "environment; programs that run already are found by an ELF note in their memory, "
	    "in which one word is set, if this user may trace them. Not of a control group. An "
	    "object, with what to count in each region, is true, too.",
    },
    {
	REGIONS_FIELD(counts),
	.pos_offset = offsetof(struct spec_regions, counts_pos),
	.name = "counts",
	.type = KEY_LIST,
	.min = 1,
	.max = 8,
	.item = "event",
	.description =
	    "Events that a thread reads at the beginning and the end of each of its regions. They "
	    "are names of events of this spec that count threads, \"page_faults\" or "
	    "\"software:page_faults\", read by one read(2) of a group, or by the counters' "
	    "registers where user mode may read all of them (x86; arm64 where "
	    "/proc/sys/kernel/perf_user_access is 1). --report=regions has their sums. Those that "
	    "this machine cannot count are named, and the others counted. Regions within 64 others "
	    "have no counts, nor have those after the program closed its descriptors (that is "
	    "said). The option requires --regions, and takes the names separated by commas.",
	.metavar = "EVENTS",
	.option = "region_counts",
    },
    {
	REGIONS_FIELD(every),
	.name = "every",
	.type = KEY_INTEGER,
	.min = 1,
	.max = 1000000,
	.default_text = "1",
	.description = "Of so many regions one has counts, by chance: what it costs is that much "
		       "less, and sums are estimates with their error, which cannot cover "
		       "what no counted region had. A region of which fewer than 30 calls were "
		       "counted has n/a in place of an estimate: no interval would hold.",
	.metavar = "N",
	.option = "region_counts_every",
    },
    {
	SPEC_FIELD(retain),
	SPEC_POS(retain_pos),
	.name = "retain",
	.type = KEY_OBJECT,
	.inner = KEY_RETAIN,
	.description =
	    "How much of a long session remains on the disk. When a limit is exceeded, the oldest "
	    "traces are removed: those of whole iterations, or whole segments of a tally, each of "
	    "which is a tenth of the limits. The option takes the limits of the key, separated by "
	    "commas: iterations:1000,seconds:1h,bytes:1GiB.",
	.metavar = "LIMITS",
    },
    {
	SPEC_FIELD(flush_interval_ns),
	.name = "flush_interval",
	.type = KEY_SECONDS,
	.min_text = "0.001",
	.max = 3600,
	.default_text = "0.25",
	.unit = "seconds",
	.modes = "sampling",
	.description =
	    "The longest time that samples stay in a CPU's buffer before they are written to "
	    "the trace. They are also written when the buffer is a quarter full, or half full "
	    "where only clocks are sampled, so slowly that the other half lasts for 0.1 seconds.",
	.metavar = "TIME",
    },
    {
	SPEC_FIELD(max_own_cpu),
	.name = "max_own_cpu",
	.type = KEY_PERCENT,
	.max = 100,
	.unit = "percent",
	.description =
	    "How much of a CPU cpuperf itself may use, in percent. If three iterations in a row "
	    "used more, the rates and frequencies of all sampled events, and the paces of readings "
	    "(of the timebase and of every), are halved, down to 1/1024; when eight in a row used "
	    "less than a "
	    "third of it, they are doubled again. A halving that saves less than a tenth is taken "
	    "back, and tried again when half as much more is used, or long after. A warning says "
	    "so. Each iteration's traces have "
	    "the rates at which they were taken, so that sums and intervals are right. All events "
	    "are opened anew at such a change; what happens meanwhile is a gap that the trace "
	    "names. Rates stay as they are, and only the warning is given, where nothing is "
	    "sampled, and where processes are measured that run already, or a command without "
	    "runs. What --push uses is in it, what the kernel uses for samples is not. Events of "
	    "the "
	    "heap and of resources have the spec's rates. 0: any amount. Not in libcpuperf.",
	.metavar = "PERCENT",
    },
    {
	SPEC_FIELD(dump_file),
	.name = "dump_file",
	.type = KEY_STRING,
	.max = 4095,
	.default_text = "",
	.description =
	    "End the iteration, as SIGUSR2 does, whenever this file is closed after it was open "
	    "for "
	    "writing (touch does), or moved there: a dump of the heap. The file must belong to "
	    "the user of cpuperf or to root; a link is not followed, and the file is neither read "
	    "nor changed. Not with runs, and not in libcpuperf.",
	.metavar = "FILE",
    },
    {
	SPEC_FIELD(untouched),
	SPEC_POS(untouched_pos),
	.name = "untouched",
	.type = KEY_WORD,
	.default_text = "pages",
	.words = untouched_words,
	.form = "\"pages\" or \"pattern\"",
	.description =
	    "How heap:untouched finds what a program never wrote. pages looks at the pages that "
	    "are not in memory. pattern fills each allocation with a pattern and looks where "
	    "it still is, which also sees small allocations and memory that malloc uses "
	    "again; all of it is in memory then, so that it excludes heap:resident and "
	    "heap:peak.",
	.metavar = "HOW",
    },
    {
	SPEC_FIELD(function_way),
	.name = "function_way",
	.type = KEY_WORD,
	.default_text = "any",
	.words = way_words,
	.form = "\"any\", \"kernel\", \"program\" or \"count\"",
	.description =
	    "Who measures events of the group function. any: in the program what the compiler has "
	    "prepared (-finstrument-functions, -pg, -fpatchable-function-entry), which costs "
	    "least, and all else by programs in the kernel; where these are not permitted, in the "
	    "program, too. kernel: these alone, which time all calls, also on a CPU. program: "
	    "nothing in the kernel; functions that are not prepared are measured by replacing "
	    "their first instructions, and those of their returns, by which their calls have "
	    "times, or else are counted (x86-64), in what is loaded when the command starts. "
	    "count: as program, and no call has times, which costs least.",
	.metavar = "WHO",
    },
    {
	SPEC_FIELD(functions),
	SPEC_POS(functions_pos),
	.name = "functions",
	.type = KEY_OBJECT,
	.inner = KEY_FUNCTIONS,
	.description =
	    "Which functions events of the group function measure, of those that their names "
	    "mean: those for which each key of this object holds. cpuperf --list-functions with "
	    "the options of the same names lists them, and why the others are omitted.",
    },
    {
	FUNCTIONS_FIELD(include),
	FUNCTIONS_POS(include_pos),
	.name = "include",
	.type = KEY_LIST,
	.min = 1,
	.max = 64,
	.item = "pattern",
	.description = "Measure only functions that one of these patterns means, [OBJECT:]GLOB as "
		       "in the name of an event.",
	.metavar = "PATTERNS",
	.option = "functions_include",
    },
    {
	FUNCTIONS_FIELD(exclude),
	FUNCTIONS_POS(exclude_pos),
	.name = "exclude",
	.type = KEY_LIST,
	.min = 1,
	.max = 64,
	.item = "pattern",
	.description = "Measure no function that one of these patterns means.",
	.metavar = "PATTERNS",
	.option = "functions_exclude",
    },
    {
	FUNCTIONS_FIELD(min_instructions),
	.name = "min_instructions",
	.type = KEY_INTEGER,
	.min = 0,
	.max = 1000000,
	.default_text = "0",
	.description = "Measure only functions of at least so many instructions; one whose code is "
		       "not understood is measured.",
	.metavar = "N",
	.option = "functions_min_instructions",
    },
    {
	FUNCTIONS_FIELD(min_size),
	.name = "min_size",
	.type = KEY_INTEGER,
	.min = 0,
	.max = 1000000000,
	.default_text = "0",
	.unit = "bytes",
	.description = "Measure only functions whose code has at least so many bytes.",
	.metavar = "BYTES",
	.option = "functions_min_size",
    },
    {
	FUNCTIONS_FIELD(has_loops),
	.name = "loops",
	.type = KEY_BOOL,
	.default_text = "false",
	.description = "Measure only functions with a loop: their code jumps back within itself.",
	.option = "functions_loops",
    },
    {
	FUNCTIONS_FIELD(callers_of),
	FUNCTIONS_POS(callers_pos),
	.name = "callers_of",
	.type = KEY_LIST,
	.min = 1,
	.max = 64,
	.item = "pattern",
	.description =
	    "Measure only functions that call one which these patterns mean, by direct calls "
	    "within its file: pointers to functions, and calls of other files, are not followed.",
	.metavar = "PATTERNS",
	.option = "functions_callers_of",
    },
    {
	FUNCTIONS_FIELD(depth),
	FUNCTIONS_POS(depth_pos),
	.name = "depth",
	.type = KEY_INTEGER,
	.min = 0,
	.max = 1000,
	.default_text = "0",
	.description = "Of callers_of: over at most so many calls, 1 for those that call it "
		       "themselves. 0: over any number.",
	.metavar = "N",
	.option = "functions_depth",
    },
    {
	SPEC_FIELD(compression),
	.name = "compression",
	.type = KEY_WORD,
	.default_text = "none",
	.words = compression_words,
	.form = "\"none\", \"zstd\" or \"zstd:1\" to \"zstd:19\"",
	.modes = "sampling",
	.description =
	    "How sample records are compressed in the traces. A higher level takes less "
	    "space and more time; zstd alone is level 3. Samples that are added up by stack, as "
	    "those of the heap, are always compressed.",
	.metavar = "HOW",
    },
    {
	SPEC_FIELD(output_path_prefix),
	.name = "output_path_prefix",
	.type = KEY_STRING,
	.max = 3799, /* with the numbers of a trace it stays below PATH_MAX */
	.default_text = "/tmp/cpuperf",
	.description =
	    "The start of the traces' paths; the iteration, the trace number and .cpuperf "
	    "are appended. If empty, no traces are saved.",
	.metavar = "PREFIX",
    },
    {
	SPEC_FIELD(session_result_spec_path),
	SPEC_POS(manifest_pos),
	.name = "session_result_spec_path",
	.type = KEY_STRING,
	.max = 3799,
	.suffix = ".cpsession", /* a spec cannot overwrite a file of another kind */
	.default_text = "/tmp/cpuperf.cpsession",
	.description = "Where to write the session's manifest, which cpuperf_print reads. If "
		       "only output_path_prefix is set, and to another folder, it is "
		       "PREFIX.cpsession. If empty, no manifest is written. "
		       "cpuperf_print reads a manifest of any name.",
	.metavar = "FILE",
    },
    {
	SPEC_FIELD(manifest),
	SPEC_POS(manifest_kind_pos),
	.name = "manifest",
	.type = KEY_WORD,
	.default_text = "whole",
	.words = manifest_words,
	.form = "\"whole\" or \"strict\"",
	.description =
	    "Which keys the manifest has. strict leaves out those that Fuchsia's cpuperf has not: "
	    "model_name, session_id, state and removed, for readers that refuse other keys. Then "
	    "nothing says that a session is still recorded or was killed, and if a later "
	    "session replaces the traces, they are shown under this one's name. Not with retain, "
	    "nor with a flight recorder.",
	.metavar = "KEYS",
    },

    {
	EVENT_FIELD(group_name),
	EVENT_POS(group_pos),
	.name = "group_name",
	.type = KEY_NAME,
	.required = true,
	.min = 1,
	.max = 255,
	.description =
	    "The event's group, as cpuperf --list-events shows it: fixed, arch, software, "
	    "misc and others.",
    },
    {
	EVENT_FIELD(event_name),
	EVENT_POS(name_pos),
	.name = "event_name",
	.type = KEY_NAME,
	.required = true,
	.min = 1,
	.max = 255,
	.description = "The event's name within its group.",
    },
    {
	EVENT_FIELD(rate),
	EVENT_POS(rate_pos),
	.name = "rate",
	.type = KEY_INTEGER,
	.max = INT64_MAX,
	.default_text = "0",
	.groups = "all but misc and gpu",
	.modes = "sampling",
	.description = "The number of occurrences between two samples; for a clock, such as "
		       "software:cpu_clock, the number of nanoseconds; of heap the bytes. 0 counts "
		       "without sampling.",
    },
    {
	EVENT_FIELD(frequency),
	EVENT_POS(frequency_pos),
	.name = "frequency",
	.type = KEY_INTEGER,
	.min = 1,
	.max = 1000000000, /* a sample each ns; the kernel's limit is far lower */
	.unit = "Hz",
	.groups = "all but misc and gpu",
	.modes = "sampling",
	.description =
	    "The number of samples per second, instead of a rate. The kernel adapts the rate "
	    "to reach it, and each sample records its rate.",
    },
    {
	EVENT_FIELD(max_frequency),
	EVENT_POS(max_frequency_pos),
	.name = "max_frequency",
	.type = KEY_INTEGER,
	.min = 1,
	.max = 100000,
	.unit = "Hz",
	.groups = "sched",
	.modes = "sampling",
	.description =
	    "The most samples per second of a CPU that are written of a wait (off_cpu_time, "
	    "run_queue_time). Where more are due, some are chosen at random, long waits first of "
	    "all, and count for the others: sums are as true as before, and intervals wider. "
	    "Without this key "
	    "all are "
	    "written. Programs with hundreds of threads that wait for short times have so many. "
	    "Records of switches, for an ordinary user, are exact and not limited.",
    },
    {
	EVENT_FIELD(is_sampled),
	.name = "sampled",
	.type = KEY_BOOL,
	.groups = "all but misc and gpu",
	.modes = "sampling",
	.description = "true samples the event as the spec's key sampling says.",
    },
    {
	EVENT_FIELD(is_aggregated),
	EVENT_POS(aggregate_pos),
	.name = "aggregate",
	.type = KEY_BOOL,
	.groups = "all but misc, gpu, tracepoint, usdt and heap",
	.modes = "sampling",
	.description =
	    "true has the kernel add the samples up by thread and stack, and reads them at the "
	    "end of each iteration: a trace grows with the number of different stacks, not with "
	    "time. Needs the flag callchain, of which it "
	    "records up to 125 addresses, and the right to load programs (BPF). A sample "
	    "that finds no room in the kernel's table, of 2 MiB for each CPU and event (8,192 "
	    "stacks "
	    "at most, 2,000 to 3,000 with 60 addresses), is written as "
	    "without this key, and so are those while the table is read. Samples that are added "
	    "up have no time of their own: reports spread them evenly from the first to the last, "
	    "and they have no region, so regions cannot be combined with this key. "
	    "A wait (sched:off_cpu_time, run_queue_time) counts in its stack what its sample "
	    "weighs: with a rate of 1 each wait, with its exact length and no interval; else by "
	    "chance, as without "
	    "this key, which costs less. Its stack is read by frame pointers where the task runs "
	    "again; the flag waker cannot be combined with this key, because who ends a wait is "
	    "stored for single samples only. With the key unwind the recorder adds up what it has "
	    "unwound, in up to 8 MiB for each CPU: that needs no programs, and has all callers; "
	    "what cannot be unwound has those of the frame pointers.",
    },
    {
	EVENT_FIELD(is_unwound),
	EVENT_POS(unwind_pos),
	.name = "unwind",
	.type = KEY_BOOL,
	.groups = "all but misc, gpu and heap",
	.modes = "sampling",
	.description =
	    "true unwinds the stacks of the flag user_stack while they are recorded, by the "
	    "unwind tables of the programs: the trace has the addresses of all callers, which is "
	    "a hundredth of the bytes, and reports need not unwind. A sample whose stack cannot "
	    "be unwound to its start (code made at run time, a file that cannot be read) keeps "
	    "its bytes, unless it reaches beyond them; with "
	    "aggregate it has the callers by frame pointers. Needs the flags callchain and "
	    "user_stack.",
    },
    {
	EVENT_FIELD(flags),
	EVENT_POS(flags_pos),
	.name = "flags",
	.type = KEY_FLAGS,
	.words = flag_words,
	.item = "flag",
	.description =
	    "os counts in the kernel, user in programs; without either, both. guest counts "
	    "in virtual machines, host outside them; without either, both. no_idle omits a "
	    "clock's samples of idle CPUs. pinned keeps the event on a counter all the time, "
	    "or does not count it at all. The other flags need a rate or a frequency, of the event "
	    "or of sampling. pc "
	    "records the program counter of each sample, callchain also the callers, "
	    "user_stack the program's registers and stack, last_branch the preceding "
	    "branches; precise asks the CPU for the exact instruction. timebase, on at most "
	    "one event, reads the events without a rate at each of its samples. waker, of "
	    "sched:off_cpu_time, records the stack of who ended the wait, on the CPU on which the "
	    "wakeup happened: a task, or an interrupt. unsafe, of usdt, sets a breakpoint also "
	    "where it may change the results of the program; of function, it measures calls at any "
	    "cost. adaptive, of heap, takes each "
	    "allocation as a sample while that costs little, and then as few as that requires, "
	    "down to one per rate. optional: an event that this machine or the target does not "
	    "have, "
	    "as a function of a library that the program does not load, is listed as not "
	    "measured, and is no error.",
    },
    {
	EVENT_FIELD(stack_bytes),
	EVENT_POS(stack_pos),
	.name = "stack_bytes",
	.type = KEY_INTEGER,
	.min = 8,
	.max = 65528, /* attr.sample_stack_user: perf_copy_attr() in kernel/events/core.c */
	.step = 8,
	.unit = "bytes",
	.groups = "all but misc and gpu",
	.modes = "sampling",
	.description =
	    "The largest piece of the program's stack that a sample holds; a record has at most "
	    "65,535 bytes with all else. Where a stack reaches beyond it, the frame pointers of "
	    "the flag callchain complete it, as far as functions have them. Without this key, "
	    "it is 16384; with unwind, 32768 where a CPU's buffer then lasts for a "
	    "thirtieth of a second of a busy CPU (the kernel reserves so much of it for each "
	    "sample), or for the span of a flight recorder; less where it does not, and less than "
	    "16384 where it would not last for 5 ms. Needs the flag user_stack.",
    },
    {
	EVENT_FIELD(branch_filter),
	EVENT_POS(branch_pos),
	.name = "branch_filter",
	.type = KEY_FLAGS,
	.min = 1,
	.words = branch_words,
	.item = "branch kind",
	.groups = "all but misc and gpu",
	.modes = "sampling",
	.description = "The kinds of branches that last_branch records; without this key, all. "
		       "call_stack records the calls that have not returned yet. Needs the flag "
		       "last_branch.",
    },
    {
	EVENT_FIELD(every_ns),
	EVENT_POS(every_pos),
	.name = "every",
	.type = KEY_SECONDS,
	.min_text = "0.001",
	.max = 3600,
	.unit = "seconds",
	.groups = "misc, gpu",
	.description =
	    "The time between two readings of the event, also between the boundaries of "
	    "iterations: 0.1 reads it ten times per second. Totals, and what an iteration shows, "
	    "are of its boundaries as without this key; all readings are in the traces, and so in "
	    "--report=series and in what shows values over time. Where a timebase has a pace, "
	    "the event has this one instead. Events that are due at the same time share the "
	    "reading of their file. Readings of a tally are in memory until its iteration ends, at "
	    "most 524,288 of each trace. Not with flight_recorder. --event=NAME@0.1s is this key.",
    },
    {
	EVENT_FIELD(longer_ns),
	EVENT_POS(longer_pos),
	.name = "longer_than",
	.type = KEY_SECONDS,
	.min_text = "0.000001",
	.max = 86400,
	.unit = "seconds",
	.groups = "function",
	.modes = "sampling",
	.description =
	    "Only calls that lasted longer than this count, and become samples, when they end: "
	    "each of them, or with a rate one of so many. A sample has the function, its callers "
	    "if the flag callchain asks for them, the duration, and the arguments and the result "
	    "of a signature: cpuperf_print --report=records lists them. Of breakpoints alone, and "
	    "of functions that have times. --event=NAME@>10ms is this key.",
    },
    {
	EVENT_FIELD(when),
	EVENT_POS(when_pos),
	.name = "when",
	.type = KEY_NAME,
	.min = 1,
	.max = 255,
	.groups = "function",
	.modes = "sampling",
	.description =
	    "Only calls that meet this condition count, and become samples, when they end, as "
	    "with longer_than: \"size >= 4KiB and (return < 0 or path ~ '/etc/*')\". It compares "
	    "arguments, by their names in the event's signature, return and duration, by <, <=, "
	    ">, >=, == or !=, with a number; a duration with a time that has a unit; a text by == "
	    "and != with one in quotes of either kind or with NULL, and by ~ and !~ with what it "
	    "begins with, and a *. Up to 16 comparisons are joined by and, which binds closer, "
	    "or and parentheses. The table of functions has all calls. --event='NAME@size>=4KiB' "
	    "is this key.",
    },
    {
	EVENT_FIELD(choice),
	.name = "devices",
	.type = KEY_CHOICE,
	.min = 1,
	.max = 64,
	.item = "device",
	.groups = "misc (disk_ and net_ events), gpu",
	.description =
	    "Which disks, network interfaces or GPUs to read: names, globs, or \"all\". By "
	    "default, whole physical disks, all interfaces except loopback, and all GPUs.",
    },
    {
	EVENT_FIELD(choice),
	.name = "pids",
	.type = KEY_CHOICE,
	.has_numbers = true,
	.min = 1,
	.max = 64,
	.item = "process",
	.groups = "misc (process_ events)",
	.description = "Which processes to read: numbers (0 is cpuperf itself), \"name:GLOB\", or "
		       "\"all\". By default, those of the target, or all.",
    },
    {
	EVENT_FIELD(choice),
	.name = "cgroups",
	.type = KEY_CHOICE,
	.min = 1,
	.max = 64,
	.item = "control group",
	.groups = "misc (cgroup_ events)",
	.description =
	    "Which control groups (version 2) to read, as paths below the mount point. By "
	    "default, the root group.",
    },
    {
	EVENT_FIELD(label),
	EVENT_POS(label_pos),
	.name = "label",
	.type = KEY_NAME,
	.min = 1,
	.max = 64,
	.description =
	    "The heading of the event's column, instead of its name. Labels must be unique.",
    },

    {
	SAMPLING_FIELD(rate),
	EVENT_POS(rate_pos),
	.name = "rate",
	.type = KEY_INTEGER,
	.min = 1,
	.max = INT64_MAX,
	.description = "The rate of sampled events that have neither rate nor frequency.",
    },
    {
	SAMPLING_FIELD(frequency),
	EVENT_POS(frequency_pos),
	.name = "frequency",
	.type = KEY_INTEGER,
	.min = 1,
	.max = 1000000000,
	.unit = "Hz",
	.description = "The frequency of sampled events that have neither, instead of a rate.",
    },
    {
	SAMPLING_FIELD(max_frequency),
	EVENT_POS(max_frequency_pos),
	.name = "max_frequency",
	.type = KEY_INTEGER,
	.min = 1,
	.max = 100000,
	.unit = "Hz",
	.description = "max_frequency of sampled waits that have no such key.",
    },
    {
	SAMPLING_FIELD(is_aggregated),
	EVENT_POS(aggregate_pos),
	.name = "aggregate",
	.type = KEY_BOOL,
	.description = "aggregate of sampled events that have no such key.",
    },
    {
	SAMPLING_FIELD(is_unwound),
	EVENT_POS(unwind_pos),
	.name = "unwind",
	.type = KEY_BOOL,
	.description = "unwind of sampled events that have no such key.",
    },
    {
	SAMPLING_FIELD(flags),
	EVENT_POS(flags_pos),
	.name = "flags",
	.type = KEY_FLAGS,
	.words = flag_words,
	.item = "flag",
	.description = "The flags of sampled events that have no key flags; not timebase, which "
		       "one event has.",
    },
    {
	SAMPLING_FIELD(stack_bytes),
	EVENT_POS(stack_pos),
	.name = "stack_bytes",
	.type = KEY_INTEGER,
	.min = 8,
	.max = 65528,
	.step = 8,
	.unit = "bytes",
	.description = "stack_bytes of sampled events with the flag user_stack that have no such "
		       "key.",
    },
    {
	SAMPLING_FIELD(branch_filter),
	EVENT_POS(branch_pos),
	.name = "branch_filter",
	.type = KEY_FLAGS,
	.min = 1,
	.words = branch_words,
	.item = "branch kind",
	.description = "branch_filter of sampled events with the flag last_branch that have no "
		       "such key.",
    },

    {
	TARGET_FIELD(command),
	.name = "command",
	.type = KEY_LIST,
	.min = 1,
	.max = 1024,
	.item = "word",
	.description =
	    "A command and its arguments. It runs only with the option --run-spec-command, and if "
	    "the file belongs to the caller or root and no other user can write to it.",
    },
    {
	TARGET_FIELD(pids),
	.name = "pids",
	.type = KEY_LIST,
	.has_numbers = true,
	.min = 1,
	.max = 1024,
	.item = "process",
	.description = "Processes that run already, by their numbers.",
    },
    {
	TARGET_FIELD(comms),
	.name = "comms",
	.type = KEY_LIST,
	.min = 1,
	.max = 64,
	.item = "name",
	.description = "Processes that run already, by their names: globs.",
    },
    {
	TARGET_FIELD(cgroups),
	.name = "cgroups",
	.type = KEY_LIST,
	.min = 1,
	.max = 1,
	.item = "path",
	.description = "A control group: its path as in /proc/PID/cgroup, or its folder.",
    },
    {
	TARGET_FIELD(cpus),
	.name = "cpus",
	.type = KEY_STRING,
	.max = 4095,
	.description = "The CPUs on which to measure, a target or the machine: \"0,2-5\". Without "
		       "this key, all.",
    },
    {
	TARGET_FIELD(has_children),
	.name = "children",
	.type = KEY_BOOL,
	.default_text = "true",
	.description = "false measures the command or the processes without those that they start.",
    },
    {
	TARGET_FIELD(waits_for_children),
	.name = "wait_children",
	.type = KEY_BOOL,
	.default_text = "false",
	.description = "true measures a command until all that it started have ended.",
    },
    {
	TARGET_FIELD(attaches),
	.name = "attach",
	.type = KEY_BOOL,
	.default_text = "false",
	.description = "true loads the agent that measures the heap and descriptors into the "
		       "processes of pids, comms or cgroups that run already, for events of the "
		       "groups heap and resource. See cpuperf-target(7).",
    },
    {
	TARGET_FIELD(has_short_tasks),
	.name = "short_tasks",
	.type = KEY_BOOL,
	.default_text = "false",
	.description =
	    "true samples clocks (software:cpu_clock, task_clock) of a command or of processes by "
	    "the clocks of the CPUs, of whose samples a program in the kernel selects those of the "
	    "target (root, with BTF). So tasks that are shorter than the period are sampled as "
	    "long as they run, and the start and the end of each task are in the samples, which "
	    "the counts do not have. Without it each task has a clock of its own, which begins "
	    "anew in it, and what it ran without a sample is the row [not sampled] (see "
	    "cpuperf-waits(7)). All CPUs then have an interrupt for each period (1 to 13 us), also "
	    "those "
	    "that run others' tasks or are idle; the key cpus limits them. A command that is "
	    "measured without a spec and without events is sampled so where it can be. Not in "
	    "libcpuperf.",
    },
    {
	TARGET_FIELD(maps_memory),
	.name = "memory_map",
	.type = KEY_BOOL,
	.default_text = "false",
	.description =
	    "true reads which memory the target's processes have mapped (/proc/PID/smaps), for "
	    "cpuperf_print --report=memory: at the start, at the end of each iteration, and "
	    "between them, so that the traces have the first, the largest and the last map. "
	    "So does a target with the event heap:live, without runs, for the balance in "
	    "--report=heap. "
	    "A reading takes about 4 us for each mapping and 10 ms for each GiB of small pages. "
	    "While a few mappings are read, or one large one, calls of the process that change its "
	    "mappings (mmap, munmap, brk) wait, and before Linux 6.4 its page faults behind them. "
	    "Readings pause for 100 times the CPU time of the one before, but for those at the end "
	    "of iterations, which are waited for at most 0.5 s. What is mapped only between two "
	    "readings is not seen; of a process that has ended the last map is that of before. "
	    "Not in libcpuperf.",
    },

    {
	FLIGHT_FIELD(span_ns),
	.name = "seconds",
	.type = KEY_SECONDS,
	.required = true,
	.min_text = "0.001",
	.max = 86400,
	.unit = "seconds",
	.description = "How long before a snapshot its samples begin. Less, if mib is too small "
		       "for that: the snapshot says how much it holds.",
    },
    {
	FLIGHT_FIELD(mib),
	.name = "mib",
	.type = KEY_INTEGER,
	.min = 1,
	.max = 4096,
	.default_text = "64",
	.unit = "MiB",
	.description = "The most memory of each CPU's samples. Less is used if the rates of the "
		       "events need less.",
    },
    {
	FLIGHT_FIELD(after_ns),
	.name = "after",
	.type = KEY_SECONDS,
	.max = 86400,
	.default_text = "0",
	.unit = "seconds",
	.description =
	    "How long sampling goes on after a trigger: a metric that is beyond its warn_below or "
	    "warn_above, over the last second, or a process of the target that fails. The snapshot "
	    "holds these seconds too.",
    },
    {
	FLIGHT_FIELD(has_exits),
	.name = "exits",
	.type = KEY_BOOL,
	.default_text = "false",
	.description = "true: a process of the target that exits with a status other than 0 is a "
		       "trigger too, not only one that a signal ends.",
    },

    {
	RETAIN_FIELD(iterations),
	.name = "iterations",
	.type = KEY_INTEGER,
	.min = 1,
	.max = 1000000000,
	.description = "The most complete iterations that remain.",
    },
    {
	RETAIN_FIELD(span_ns),
	.name = "seconds",
	.type = KEY_SECONDS,
	.min_text = "0.001",
	.max = 31536000,
	.unit = "seconds",
	.description = "The longest time, up to the end of the last iteration, that remains.",
    },
    {
	RETAIN_FIELD(bytes),
	.name = "bytes",
	.type = KEY_INTEGER,
	.has_units = true,
	.min = 65536,
	.max = INT64_MAX,
	.unit = "bytes",
	.description =
	    "The most bytes of all traces; more for up to a sync_period. The option also accepts "
	    "units: 500MiB, 1GiB. The newest complete iteration or segment remains, however "
	    "large it is. The common file of a session that samples counts too; a warning "
	    "says if it has half of the limit.",
    },

    {
	METRIC_FIELD(name),
	METRIC_POS(name_pos),
	.name = "name",
	.type = KEY_NAME,
	.required = true,
	.min = 1,
	.max = 64,
	.description = "The heading of the metric's column. It must be unique.",
    },
    {
	METRIC_FIELD(expr),
	METRIC_POS(expr_pos),
	.name = "expr",
	.type = KEY_NAME,
	.required = true,
	.min = 1,
	.max = 1024,
	.description =
	    "The expression: events in braces, by group:name or column heading "
	    "({fixed:instructions_retired}), numbers, the operators + - * /, parentheses, "
	    "and duration, the measured time in seconds.",
    },
    {
	METRIC_FIELD(unit),
	.name = "unit",
	.type = KEY_NAME,
	.max = 32,
	.default_text = "",
	.description = "The metric's unit; empty for a plain number.",
    },
    {
	METRIC_FIELD(warn_below),
	METRIC_POS(below_pos),
	.name = "warn_below",
	.type = KEY_REAL,
	.max = 1,
	.description = "A value below this limit is marked, and causes one warning per session.",
    },
    {
	METRIC_FIELD(warn_above),
	.name = "warn_above",
	.type = KEY_REAL,
	.max = 1,
	.description = "A value above this limit is marked, and causes one warning per session.",
    },

    {
	SESSION_FIELD(config_name),
	.name = "config_name",
	.type = KEY_STRING,
	.max = 255,
	.description = "config_name of the spec; omitted if empty.",
    },
    {
	SESSION_FIELD(model_name),
	.name = "model_name",
	.type = KEY_STRING,
	.max = 255,
	.description = "The CPU model that was measured; omitted if empty.",
    },
    {
	SESSION_FIELD(num_iterations),
	.name = "num_iterations",
	.type = KEY_INTEGER,
	.min = 1,
	.max = SPEC_MAX_ITERATIONS,
	.description = "The number of iterations.",
    },
    {
	SESSION_FIELD(num_traces),
	.name = "num_traces",
	.type = KEY_INTEGER,
	.min = 1,
	.max = 8192,
	.description = "The number of traces in each iteration: one for each CPU measured.",
    },
    {
	SESSION_FIELD(output_path_prefix),
	.name = "output_path_prefix",
	.type = KEY_STRING,
	.max = 3799,
	.default_text = "",
	.description =
	    "The start of the traces' paths. cpuperf_print uses only the last component and "
	    "looks for the traces in the manifest's folder.",
    },
    {
	SESSION_FIELD(session_id),
	.name = "session_id",
	.type = KEY_HEX,
	.max = 32,
	.description =
	    "The id of the session, which its traces hold too. Traces of another session "
	    "with the same output_path_prefix are ignored. If missing, the id of the first "
	    "trace is used.",
    },
    {
	SESSION_FIELD(state),
	.name = "state",
	.type = KEY_WORD,
	.words = session_states,
	.form = "\"" CPSESSION_RECORDING "\"",
	.description = "\"" CPSESSION_RECORDING "\" until the session ends. It stays if the "
		       "session is killed; num_iterations may then be too small.",
    },
    {
	SESSION_FIELD(removed),
	.name = "removed",
	.type = KEY_OBJECT,
	.inner = KEY_REMOVED,
	.description = "What was removed because of the key retain of the spec: the first "
		       "iterations. num_iterations includes them. Missing if there are none.",
    },
    {
	SESSION_FIELD(experiments),
	.name = "experiments",
	.type = KEY_OBJECT,
	.inner = KEY_EXPERIMENTS,
	.description = "What cpuperf --causal found out about the command, by other runs than the "
		       "recorded one. Missing in other sessions.",
    },

    {
	REMOVED_FIELD(iterations),
	.name = "iterations",
	.type = KEY_INTEGER,
	.required = true,
	.min = 1,
	.max = 1000000000,
	.description = "How many, from iteration 0 on.",
    },
    {
	REMOVED_FIELD(begin),
	.name = "begin",
	.type = KEY_NAME,
	.max = 40,
	.default_text = "",
	.description = "When the first of them began, in UTC.",
    },
    {
	REMOVED_FIELD(end),
	.name = "end",
	.type = KEY_NAME,
	.max = 40,
	.default_text = "",
	.description = "When the last of them ended, in UTC.",
    },

    {
	MADE_FIELD(command),
	.name = "command",
	.type = KEY_NAME,
	.max = 4095,
	.description = "The command line.",
    },
    {
	MADE_FIELD(why_none),
	.name = "why_none",
	.type = KEY_NAME,
	.max = 1023,
	.description = "Why no experiment was possible; missing if some were made.",
    },
    {
	MADE_FIELD(wall_ns),
	.name = "wall",
	.type = KEY_SECONDS,
	.min_text = "0.000000001",
	.max = 1000000000,
	.unit = "seconds",
	.description = "The mean wall time of a run with the agent and without a delay.",
    },
    {
	MADE_FIELD(spent_ns),
	.name = "spent",
	.type = KEY_SECONDS,
	.min_text = "0.000000001",
	.max = 1000000000,
	.unit = "seconds",
	.description = "How long all experiments took.",
    },
    {
	MADE_FIELD(rounds),
	.name = "rounds",
	.type = KEY_INTEGER,
	.min = 1,
	.max = 1000000,
	.description = "The number of rounds, in each of which each experiment ran once.",
    },
    {
	MADE_FIELD(functions),
	.name = "functions",
	.type = KEY_INTEGER,
	.min = 1,
	.max = 1000000000,
	.description = "How many functions (lines, regions) of those that were meant ran; of them "
		       "the experiments are of those that ran most.",
    },
    {
	MADE_FIELD(until),
	.name = "until",
	.type = KEY_REAL,
	.max = 1,
	.unit = "percent",
	.description = "The half of an interval at which the experiments were to stop.",
    },
    {
	MADE_FIELD(confidence),
	.name = "confidence",
	.type = KEY_REAL,
	.max = 1,
	.unit = "percent",
	.description = "How likely all intervals together hold what they estimate.",
    },
    {
	MADE_FIELD(has_fixed_rounds),
	.name = "fixed_rounds",
	.type = KEY_BOOL,
	.default_text = "false",
	.description = "The number of rounds was chosen before (--runs).",
    },
    {
	MADE_FIELD(is_known),
	.name = "known",
	.type = KEY_BOOL,
	.default_text = "false",
	.description = "Each result is known as well as was asked for.",
    },
    {
	MADE_FIELD(is_cut),
	.name = "cut",
	.type = KEY_BOOL,
	.default_text = "false",
	.description = "A signal ended the experiments.",
    },
    {
	MADE_FIELD(queued),
	.name = "waited_for_cpu",
	.type = KEY_REAL,
	.max = 1,
	.unit = "percent",
	.description = "For how much of their time threads waited for a CPU.",
    },
    {
	MADE_FIELD(rate),
	.name = "rate",
	.type = KEY_REAL,
	.max = 1,
	.unit = "Hz",
	.description = "How often the progress point was passed without a delay. Missing where the "
		       "wall time was measured.",
    },
    {
	MADE_FIELD(latency_ns),
	.name = "latency",
	.type = KEY_SECONDS,
	.min_text = "0.000000001",
	.max = 1000000000,
	.unit = "seconds",
	.description =
	    "The mean time of the region without a delay, where the progress point is one.",
    },
    {
	MADE_FIELD(is_by_looks),
	.name = "latency_by_looks",
	.type = KEY_BOOL,
	.default_text = "false",
	.description =
	    "The latency is by how many are under way, as between COZ_BEGIN and COZ_END, "
	    "with delays taken to lie evenly within all that goes on; else each is "
	    "measured.",
    },
    {
	MADE_FIELD(unused),
	.name = "rounds_not_used",
	.type = KEY_INTEGER,
	.min = 1,
	.max = INT64_MAX,
	.description =
	    "Rounds, or runs where these were measured, in which threads waited for a CPU for too "
	    "long, or marks were lost.",
    },
    {
	MADE_FIELD(untimed),
	.name = "rounds_without_latency",
	.type = KEY_INTEGER,
	.min = 1,
	.max = INT64_MAX,
	.description =
	    "Used rounds of which the latency is not known, as the recorder had to wait for a CPU.",
    },
    {
	MADE_FIELD(unslowed),
	.name = "threads_not_slowed_down",
	.type = KEY_INTEGER,
	.min = 1,
	.max = UINT32_MAX,
	.description = "Threads that the agent could not slow down, most of a run.",
    },
    {
	MADE_FIELD(seed),
	.name = "seed",
	.type = KEY_INTEGER,
	.min = 1,
	.max = INT64_MAX,
	.description = "Of the amounts that chance chose (--speedup=random).",
    },
    {
	MADE_FIELD(row),
	.name = "rows",
	.type = KEY_OBJECTS,
	.inner = KEY_EXPERIMENT,
	.item_bytes = sizeof(struct cpsession_experiment),
	.max = CPSESSION_MAX_EXPERIMENTS,
	.item = "experiment",
	.description = "The experiments: a function, a line, or a region at a speed-up.",
    },

    {
	TRIED_FIELD(function),
	.name = "function",
	.type = KEY_NAME,
	.max = CPSESSION_MAX_NAME,
	.default_text = "",
	.description = "The function that was virtually sped up; missing: it was a region.",
    },
    {
	TRIED_FIELD(region),
	.name = "region",
	.type = KEY_NAME,
	.max = CPSESSION_MAX_NAME,
	.default_text = "",
	.description = "The region of marks (cpuperf/mark.h) that was sped up in place of a "
		       "function: what threads run while one of that name is open on them.",
    },
    {
	TRIED_FIELD(linkage_name),
	.name = "linkage_name",
	.type = KEY_NAME,
	.max = CPSESSION_MAX_NAME,
	.default_text = "",
	.description = "Its name in the file.",
    },
    {
	TRIED_FIELD(object),
	.name = "object",
	.type = KEY_NAME,
	.max = 4095,
	.default_text = "",
	.description = "The path of the file that has it.",
    },
    {
	TRIED_FIELD(source),
	.name = "source",
	.type = KEY_NAME,
	.max = 4095,
	.default_text = "",
	.description = "The source file, of a line.",
    },
    {
	TRIED_FIELD(line),
	.name = "line",
	.type = KEY_INTEGER,
	.min = 1,
	.max = UINT32_MAX,
	.description = "The line that was sped up; missing: the function.",
    },
    {
	TRIED_FIELD(quantity),
	.name = "quantity",
	.type = KEY_WORD,
	.words = experiment_quantities,
	.form = "\"wall\", \"throughput\" or \"latency\"",
	.default_text = CPSESSION_WALL,
	.description = "What changed: less wall time of the command, more throughput at a "
		       "progress point, or less latency.",
    },
    {
	TRIED_FIELD(point),
	.name = "point",
	.type = KEY_NAME,
	.max = 255,
	.default_text = "",
	.description = "The progress point.",
    },
    {
	TRIED_FIELD(speedup),
	.name = "speedup",
	.type = KEY_INTEGER,
	.required = true,
	.min = 1,
	.max = 100,
	.unit = "percent",
	.description = "Of its time, how much was virtually saved.",
    },
    {
	TRIED_FIELD(on_cpu),
	.name = "on_cpu",
	.type = KEY_REAL,
	.max = 1,
	.unit = "percent",
	.description = "Its part of all CPU time.",
    },
    {
	TRIED_FIELD(saves),
	.name = "saves",
	.type = KEY_REAL,
	.max = 1,
	.unit = "percent",
	.description = "By how much the quantity changed for the better; missing: not known.",
    },
    {
	TRIED_FIELD(low),
	.name = "saves_low",
	.type = KEY_REAL,
	.max = 1,
	.unit = "percent",
	.description = "The lower end of its interval; missing: not known.",
    },
    {
	TRIED_FIELD(high),
	.name = "saves_high",
	.type = KEY_REAL,
	.max = 1,
	.unit = "percent",
	.description = "The upper end.",
    },
    {
	TRIED_FIELD(rounds),
	.name = "rounds",
	.type = KEY_INTEGER,
	.min = 1,
	.max = 1000000,
	.description = "How many rounds it is the mean of.",
    },
};
const size_t key_nr_rows = ARRAY_NR(key_rows);

const struct key_row *key_find(enum key_level level, const char *name)
{
	return ARRAY_FIND(row, key_rows, key_nr_rows,
			  row->level == level && strcmp(row->name, name) == 0);
}

const char *key_option(const struct key_row *row)
{
	return row->option ? row->option : row->name;
}

const struct key_row *key_find_option(const char *name)
{
	return ARRAY_FIND(row, key_rows, key_nr_rows,
			  (row->level == KEY_SPEC || row->option) &&
			      strcmp(key_option(row), name) == 0);
}

bool key_ends_well(const struct key_row *row, const char *text, size_t len)
{
	size_t tail = row->suffix ? strlen(row->suffix) : 0;

	return !tail || !len || (len >= tail && memcmp(text + len - tail, row->suffix, tail) == 0);
}

bool key_has_decimals(const struct key_row *row)
{
	return row->type == KEY_SECONDS || row->type == KEY_PERCENT;
}

const char *key_word(const struct key_row *row, const char *text)
{
	for (size_t i = 0; row->words[i]; i++)
		if (strcmp(row->words[i], text) == 0)
			return row->words[i];
	return NULL;
}

bool key_fits(const struct key_row *row, uint64_t v, uint64_t unit)
{
	uint64_t min_ns = 0;

	if (row->min_text)
		str_parse_duration_ns(row->min_text, &min_ns);
	return v >= row->min * unit && v <= row->max * unit &&
	       v * (KEY_NS_PER_S / unit) >= min_ns && (!row->step || v % (row->step * unit) == 0);
}

uint64_t key_default(const struct key_row *row)
{
	uint64_t v = 0;

	if (row->default_text && key_has_decimals(row))
		str_parse_duration_ns(row->default_text, &v);
	else if (row->default_text)
		str_parse_u64(row->default_text, &v);
	return v;
}

static void set_default(const struct key_row *row, void *target)
{
	const char *text = row->default_text ? row->default_text : "";
	bool is_true = strcmp(text, "true") == 0;
	uint64_t v;

	switch (row->type) {
	case KEY_STRING:
	case KEY_NAME:
	case KEY_WORD:
	case KEY_HEX:
		memcpy((char *)target + row->offset, &text, sizeof(text));
		break;
	case KEY_SECONDS:
	case KEY_PERCENT:
	case KEY_INTEGER:
		v = key_default(row);
		memcpy((char *)target + row->offset, &v, sizeof(v));
		break;
	case KEY_BOOL:
		memcpy((char *)target + row->offset, &is_true, sizeof(is_true));
		break;
	case KEY_REAL:
	case KEY_FLAGS:
	case KEY_CHOICE:
	case KEY_LIST:
	case KEY_DEFAULTS:
	case KEY_OBJECT:
	case KEY_EVENTS:
	case KEY_METRICS:
	case KEY_OBJECTS:
		break; /* empty */
	}
}

void keys_set_defaults(enum key_level level, void *target)
{
	for (size_t i = 0; i < key_nr_rows; i++)
		if (key_rows[i].level == level)
			set_default(&key_rows[i], target);
}
