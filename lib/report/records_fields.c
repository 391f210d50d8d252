#include "report/records_fields.h"

#include "base/array.h"
#include "base/buf.h"
#include "profile/fields.h"
#include "report/records_columns.h"

#include <string.h>

/* --- fields ---------------------------------------------------------------------------------- */

static void put_end(const struct records_line *l)
{
	buf_adds(l->out, "0x");
	buf_hex(l->out, l->item->record.start + l->item->record.length);
}

/* A record whose layout is not known may have no name. */
static void put_name(const struct records_line *l)
{
	const char *name = l->item->record.name;

	if (!name)
		return;
	buf_adds(l->out, l->separator);
	buf_shown(l->out, name, strlen(name));
}

static void put_rights(const struct records_line *l)
{
	char text[5];

	records_rights(&l->item->record, text);
	buf_adds(l->out, text);
}

static void put_build_id(const struct records_line *l)
{
	buf_hex_bytes(l->out, l->item->record.build_id, l->item->record.build_id_len);
}

static void put_kind(const struct records_line *l)
{
	const char *name = trace_record_kind_name(l->item->record.kind);

	buf_u64(l->out, l->item->record.kind);
	if (name)
		buf_printf(l->out, " (%s)", name);
}

#define FIELD(member)                                                                              \
	{                                                                                          \
		.at = offsetof(struct profile_item, member),                                       \
		.bytes = sizeof(((struct profile_item *)0)->member)                                \
	}
#define TASK(member)                                                                               \
	{                                                                                          \
		.at = offsetof(struct profile_item, member), .bytes = 4, .is_task = true           \
	}

static const struct field {
	uint16_t at;   /* in struct profile_item */
	uint8_t bytes; /* 2, 4, 8; 0: put writes it, or the form */
	bool is_task;
	void (*put)(const struct records_line *l);
} fields[] = {
    ['p'] = TASK(record.pid),
    ['t'] = TASK(record.tid),
    ['P'] = TASK(record.ppid),
    ['T'] = TASK(record.ptid),
    ['s'] = FIELD(record.start),
    ['l'] = FIELD(record.length),
    ['o'] = FIELD(record.offset),
    ['e'] = {.put = put_end},
    ['n'] = {.put = put_name},
    ['m'] = {.put = put_rights},
    ['b'] = {.put = put_build_id},
    ['j'] = FIELD(record.major),
    ['J'] = FIELD(record.minor),
    ['i'] = FIELD(record.inode),
    ['f'] = FIELD(record.flags),
    ['y'] = FIELD(record.type),
    ['O'] = FIELD(record.object),
    ['L'] = FIELD(record.lost),
    ['C'] = FIELD(record.nr_callchain),
    ['k'] = {.put = put_kind},
    ['B'] = FIELD(record.len),
    /* of samples */
    ['D'] = FIELD(record.period),
    ['a'] = FIELD(record.addr),
    ['A'] = FIELD(record.phys_addr),
    ['w'] = FIELD(record.weight),
    ['v'] = FIELD(record.weight2),
    ['u'] = FIELD(record.weight3),
    ['d'] = FIELD(record.data_src),
    ['x'] = FIELD(record.transaction),
    ['g'] = FIELD(record.cgroup),
    ['q'] = FIELD(record.data_page_bytes),
    ['Q'] = FIELD(record.code_page_bytes),
    ['X'] = FIELD(record.aux_len),
    ['S'] = FIELD(record.stack_len),
    /* of readings */
    ['I'] = FIELD(reading.instance),
    ['r'] = FIELD(reading.raw),
    ['R'] = FIELD(reading.base),
    ['z'] = FIELD(reading.enabled_ns),
    ['Z'] = FIELD(reading.running_ns),
};

static uint64_t value_of(const struct profile_item *item, const struct field *f)
{
	const char *p = (const char *)item + f->at;
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	switch (f->bytes) {
	case sizeof(v16):
		memcpy(&v16, p, sizeof(v16));
		return v16;
	case sizeof(v32):
		memcpy(&v32, p, sizeof(v32));
		return v32;
	default:
		memcpy(&v64, p, sizeof(v64));
		return v64;
	}
}

static void put_field(const struct records_line *l, char letter, bool is_hex)
{
	const struct field *f = &fields[(unsigned char)letter];
	uint64_t v;

	if (!f->bytes) {
		if (f->put)
			f->put(l);
		else
			l->own(l, letter);
		return;
	}
	v = value_of(l->item, f);
	if (f->is_task && v == TRACE_UNKNOWN) {
		buf_adds(l->out, l->unknown);
	} else if (is_hex) {
		buf_adds(l->out, "0x");
		buf_hex(l->out, v);
	} else {
		buf_u64(l->out, v);
	}
}

void records_put_line(const struct records_line *l, const char *text)
{
	for (;;) {
		const char *at = strchrnul(text, '%');
		bool is_hex;

		buf_add(l->out, text, (size_t)(at - text));
		if (!*at)
			return;
		is_hex = at[1] == '#';
		put_field(l, at[1 + is_hex], is_hex);
		text = at + 2 + is_hex;
	}
}

void records_add_value(const struct profile_field *f, const struct profile_value *v,
		       struct buf *out)
{
	bool is_negative = f->is_signed && (int64_t)v->number < 0;

	if (v->kind == PROFILE_TEXT) {
		buf_shown(out, v->bytes, v->len);
	} else if (v->kind == PROFILE_BYTES) {
		buf_hex_bytes(out, v->bytes, v->len);
	} else {
		buf_adds(out, is_negative ? "-" : "");
		buf_u64(out, is_negative ? -v->number : v->number);
	}
}

/* PROT_… and MAP_SHARED of mmap(2). */
void records_rights(const struct trace_record *r, char *out)
{
	out[0] = r->prot & 1 ? 'r' : '-';
	out[1] = r->prot & 2 ? 'w' : '-';
	out[2] = r->prot & 4 ? 'x' : '-';
	out[3] = r->flags & 1 ? 's' : 'p';
	out[4] = '\0';
}

/* --- kinds ----------------------------------------------------------------------------------- */

#define IS(name, condition)                                                                        \
	static bool is_##name(const struct trace_record *r)                                        \
	{                                                                                          \
		return condition;                                                                  \
	}

IS(exec, r->misc &PERF_RECORD_MISC_COMM_EXEC)
IS(thread, r->pid == r->ppid)
IS(identified, r->build_id_len)
IS(gone, r->flags &PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER)
IS(loaded, r->type == PERF_BPF_EVENT_PROG_LOAD)
IS(unloaded, r->type == PERF_BPF_EVENT_PROG_UNLOAD)
IS(out, r->misc &PERF_RECORD_MISC_SWITCH_OUT)
IS(preempted, is_out(r) && r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)

#define BIT    RECORDS_BIT
#define RANGE  (BIT(START) | BIT(END))
#define PARENT (BIT(PARENT_PID) | BIT(PARENT_TID))
#define OTHER  (BIT(OTHER_PID) | BIT(OTHER_TID))

static const char raw_unknown[] = "Record: kind %k, %B bytes";
static const struct records_kind unknown = {
    0, NULL, NULL, BIT(BYTES), "record of kind %k, bytes %B", raw_unknown};

/* Of several rows of a kind the first that is so. Letters of the forms' own: E the event, V the
 * event if it is known, c counts, N namespaces, F flags of AUX, W fields of a tracepoint. */
static const struct records_kind kinds[] = {
    {PERF_RECORD_MMAP, NULL, "mmap", RANGE | BIT(OFFSET) | BIT(NAME), "mmap %#s-%e offset %#o%n",
     "Mmap: pid %p, tid %t, start %#s, length %#l, offset %#o%n"},
    {PERF_RECORD_MMAP2, is_identified, "mmap",
     RANGE | BIT(OFFSET) | BIT(RIGHTS) | BIT(BUILD_ID) | BIT(NAME),
     "mmap %#s-%e offset %#o %m build-id %b%n",
     "Mmap2: pid %p, tid %t, start %#s, length %#l, offset %#o, %m, build id %b%n"},
    {PERF_RECORD_MMAP2, NULL, "mmap", RANGE | BIT(OFFSET) | BIT(RIGHTS) | BIT(NAME),
     "mmap %#s-%e offset %#o %m%n",
     "Mmap2: pid %p, tid %t, start %#s, length %#l, offset %#o, %m, device %j:%J, inode %i%n"},
    {PERF_RECORD_LOST, NULL, "lost", BIT(LOST), "lost %L records", "Lost: %V%L records"},
    {PERF_RECORD_LOST_SAMPLES, NULL, "lost_samples", BIT(LOST), "lost %L samples",
     "Lost: %V%L samples"},
    {PERF_RECORD_COMM, is_exec, "exec", BIT(NAME), "exec%n", "Comm: pid %p, tid %t, exec%n"},
    {PERF_RECORD_COMM, NULL, "comm", BIT(NAME), "name%n", "Comm: pid %p, tid %t%n"},
    {PERF_RECORD_EXIT, NULL, "exit", PARENT, "exit",
     "Exit: pid %p, tid %t, parent pid %P, parent tid %T"},
    {PERF_RECORD_FORK, is_thread, "thread", PARENT, "thread of %P/%T",
     "Fork: pid %p, tid %t, parent pid %P, parent tid %T"},
    {PERF_RECORD_FORK, NULL, "fork", PARENT, "fork of %P/%T",
     "Fork: pid %p, tid %t, parent pid %P, parent tid %T"},
    {PERF_RECORD_THROTTLE, NULL, "throttle", 0, "throttle %E", "Throttle: %E"},
    {PERF_RECORD_UNTHROTTLE, NULL, "unthrottle", 0, "unthrottle %E", "Unthrottle: %E"},
    {PERF_RECORD_KSYMBOL, is_gone, "ksymbol_gone", RANGE | BIT(NAME), "kernel symbol gone %#s-%e%n",
     "Ksymbol: start %#s, length %#l, type %y, gone%n"},
    {PERF_RECORD_KSYMBOL, NULL, "ksymbol", RANGE | BIT(NAME), "kernel symbol %#s-%e%n",
     "Ksymbol: start %#s, length %#l, type %y%n"},
    {PERF_RECORD_BPF_EVENT, is_loaded, "bpf_loaded", BIT(BPF_ID), "BPF program %O loaded",
     "Bpf: program %O, loaded"},
    {PERF_RECORD_BPF_EVENT, is_unloaded, "bpf_unloaded", BIT(BPF_ID), "BPF program %O unloaded",
     "Bpf: program %O, unloaded"},
    {PERF_RECORD_BPF_EVENT, NULL, "bpf", BIT(BPF_ID), "BPF program %O", "Bpf: program %O, unknown"},
    {PERF_RECORD_READ, NULL, "read", BIT(COUNTS), "counts%c", "Read: pid %p, tid %t%c"},
    {PERF_RECORD_AUX, NULL, "aux", BIT(OFFSET) | BIT(AUX_BYTES) | BIT(FLAGS),
     "aux offset %#o bytes %l%F", "Aux: offset %#o, %l bytes, flags %#f"},
    {PERF_RECORD_ITRACE_START, NULL, "itrace_start", 0, "instruction trace begins", raw_unknown},
    {PERF_RECORD_SWITCH, is_preempted, "switch_out_preempted", 0, "switch out preempted",
     "SwitchOut: pid %p, tid %t, preempted"},
    {PERF_RECORD_SWITCH, is_out, "switch_out", 0, "switch out", "SwitchOut: pid %p, tid %t"},
    {PERF_RECORD_SWITCH, NULL, "switch_in", 0, "switch in", "SwitchIn: pid %p, tid %t"},
    {PERF_RECORD_SWITCH_CPU_WIDE, is_preempted, "switch_out_preempted", OTHER,
     "switch out preempted to %P/%T",
     "SwitchOut: pid %p, tid %t, preempted, other pid %P, other tid %T"},
    {PERF_RECORD_SWITCH_CPU_WIDE, is_out, "switch_out", OTHER, "switch out to %P/%T",
     "SwitchOut: pid %p, tid %t, other pid %P, other tid %T"},
    {PERF_RECORD_SWITCH_CPU_WIDE, NULL, "switch_in", OTHER, "switch in from %P/%T",
     "SwitchIn: pid %p, tid %t, other pid %P, other tid %T"},
    {PERF_RECORD_NAMESPACES, NULL, "namespaces", BIT(NAMESPACES), "namespaces%N",
     "Namespaces: pid %p, tid %t%N"},
    {PERF_RECORD_CGROUP, NULL, "cgroup", BIT(CGROUP_ID) | BIT(NAME), "cgroup %O%n", "Cgroup: %O%n"},
    {PERF_RECORD_TEXT_POKE, NULL, "text_poke", RANGE, "kernel code changed %#s-%e", raw_unknown},
    {PERF_ABI_RECORD_CALLCHAIN_DEFERRED, NULL, "callchain_deferred", BIT(COOKIE),
     "deferred callchain, cookie %#O",
     "DeferredCallchain: pid %p, tid %t, cookie %#O, %C addresses"},
};

const struct records_part records_parts[RECORDS_NR_PARTS] = {
    {TRACE_HAS_RAW, BIT(FIELDS), "%W", NULL},
    {TRACE_HAS_ADDR, BIT(DATA_ADDRESS), " data %#a", ", address %#a"},
    {TRACE_HAS_PHYS_ADDR, BIT(PHYSICAL_ADDRESS), NULL, ", physical %#A"},
    {TRACE_HAS_WEIGHT, BIT(WEIGHT), " weight %w", ", weight %#w"},
    {TRACE_HAS_WEIGHT_PARTS, BIT(WEIGHT_2) | BIT(WEIGHT_3), " weight 2 %v weight 3 %u",
     ", weight 2 %#v, weight 3 %#u"},
    {TRACE_HAS_DATA_SRC, BIT(DATA_SOURCE), NULL, ", source %#d"},
    {TRACE_HAS_TRANSACTION, BIT(TRANSACTION), " transaction %x", ", transaction %#x"},
    {TRACE_HAS_CGROUP, BIT(CGROUP_ID), " cgroup %g", ", cgroup %g"},
    {TRACE_HAS_DATA_PAGE, BIT(DATA_PAGE_BYTES), " data page bytes %q", ", page %#q"},
    {TRACE_HAS_CODE_PAGE, BIT(CODE_PAGE_BYTES), " code page bytes %Q", ", code page %#Q"},
    {TRACE_HAS_AUX, BIT(AUX_BYTES), " aux bytes %X", ", aux bytes %X"},
    {TRACE_HAS_USER_STACK, BIT(STACK_BYTES), " stack bytes %S", NULL},
    {TRACE_HAS_READ, BIT(COUNTS), " counts%c", NULL},
};

const struct records_kind *records_kind_of(const struct trace_record *r)
{
	const struct records_kind *found =
	    ARRAY_FIND(k, kinds, ARRAY_NR(kinds), k->kind == r->kind && (!k->is || k->is(r)));

	return found ?: &unknown;
}
