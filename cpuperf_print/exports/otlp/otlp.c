/*
 * OpenTelemetry's profiles, of the development version of the schema
 * (opentelemetry.proto.profiles.v1development): ExportProfilesServiceRequest, which has the form of
 * ProfilesData. A profile for each event; the tables are shared, and are in memory until the end.
 */
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "export/proto.h"
#include "exports/exports.h"
#include "exports/lines.h"
#include "exports/pprof/tables.h"
#include "exports/pushed.h"
#include "profile/processes.h"
#include "push/options.h"
#include "report/functions.h"
#include "samples.h"

#include <errno.h>
#include <string.h>

/* Fields of messages. */
enum { DATA_RESOURCE_PROFILES = 1, DATA_DICTIONARY };
enum { OF_RESOURCE = 1, OF_RESOURCE_SCOPES };
enum { OF_SCOPE = 1, OF_SCOPE_PROFILES };
enum { RESOURCE_ATTRIBUTES = 1, SCOPE_NAME = 1, SCOPE_VERSION };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE, ANY_VALUE_TEXT = 1 };
enum {
	PROFILE_TYPE = 1,
	PROFILE_SAMPLES,
	PROFILE_TIME,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_ID
};
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES, SAMPLE_VALUES = 4 };
enum { LINK_TRACE = 1, LINK_SPAN, TRACE_ID_BYTES = 16, SPAN_ID_BYTES = 8 };
enum { STACK_LOCATIONS = 1, ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE };
enum {
	TABLE_MAPPING = 1,
	TABLE_LOCATION,
	TABLE_FUNCTION,
	TABLE_LINK,
	TABLE_STRING,
	TABLE_ATTRIBUTE,
	TABLE_STACK
};

static const struct pprof_fields fields = {
    .string = TABLE_STRING,
    .function = TABLE_FUNCTION,
    .location = TABLE_LOCATION,
    .mapping = TABLE_MAPPING,
    .function_name = 1,
    .function_system_name = 2,
    .function_file = 3,
    .location_mapping = 1,
    .location_address = 2,
    .location_line = 3,
    .location_attributes = 4,
    .mapping_start = 1,
    .mapping_limit = 2,
    .mapping_file = 4,
    .mapping_attributes = 5,
};

enum {
	MAX_FRAMES = 2048,
	MAX_BYTES = 256 << 20, /* of a table, or the samples of an event */
	MAX_ATTRIBUTES = 3,    /* of a sample */
	ID_BYTES = 16,
};

/* A callee and the stack of its callers. */
struct node {
	uint64_t location;
	uint32_t callers; /* its number plus 1; 0: none */
	uint32_t zero;    /* the end of the key */
	uint32_t stack;   /* its index in the table; 0: no sample has it yet */
};

struct attribute {
	uint64_t key, value; /* indices of texts; the end of the key */
};

struct otlp {
	struct job *j;
	struct err *e;
	struct pprof_tables tables;
	struct dict nodes;      /* struct node */
	struct dict attributes; /* struct attribute; indices are numbers plus 1 */
	struct buf stack_table, attribute_table;
	uint32_t nr_stacks;
	struct buf *samples; /* owned; by event */
	uint32_t nr_events;
	struct profile_about about;
	struct report_stats stats;
	struct pushed_names comms;
	uint64_t ids[MAX_FRAMES];
};

static int fail(struct otlp *o, int error)
{
	if (!o->tables.error)
		o->tables.error = error;
	return 0;
}

/* --- tables -------------------------------------------------------------------------------------
 */

/* 0: after a failure. */
static uint64_t attribute_of(struct otlp *o, const char *key, const char *text)
{
	const struct attribute a = {pprof_text(&o->tables, key), pprof_text(&o->tables, text)};
	size_t before = o->attributes.nr;
	uint32_t number = dict_add(&o->attributes, &a);

	if (number == DICT_NONE)
		return (uint64_t)fail(o, -ENOMEM);
	if (o->attributes.nr == before)
		return (uint64_t)number + 1;
	PROTO_MESSAGE(&o->attribute_table, TABLE_ATTRIBUTE) {
		proto_uint(&o->attribute_table, ATTRIBUTE_KEY, a.key);
		PROTO_MESSAGE(&o->attribute_table, ATTRIBUTE_VALUE) {
			proto_text(&o->attribute_table, ANY_VALUE_TEXT, text);
		}
	}
	return (uint64_t)number + 1;
}

static uint64_t attribute_of_location(void *arg, const struct report_frame *frame)
{
	const bool is_kernel = frame->function && frame->function->is_kernel;

	return attribute_of(arg, "profile.frame.type", is_kernel ? "kernel" : "native");
}

static uint64_t attribute_of_mapping(void *arg, const struct profile_object *object)
{
	BUF_AUTO(hex, 2 * PROFILE_MAX_BUILD_ID_BYTES);

	if (!object || !object->build_id_len)
		return 0;
	buf_hex_bytes(&hex, object->build_id, object->build_id_len);
	return attribute_of(arg, "process.executable.build_id.gnu", buf_str(&hex));
}

/* ids: of the locations, the innermost first. 0: after a failure. */
static uint32_t stack_of(struct otlp *o, const uint64_t *ids, size_t nr)
{
	struct node key = {.callers = 0}, *n;
	uint32_t number = DICT_NONE;

	for (size_t i = nr; i--; key.callers = number + 1) {
		key.location = ids[i];
		number = dict_add(&o->nodes, &key);
		if (number == DICT_NONE)
			return (uint32_t)fail(o, -ENOMEM);
	}
	n = dict_at(&o->nodes, number);
	if (!n || n->stack)
		return n ? n->stack : 0;
	n->stack = ++o->nr_stacks;
	PROTO_MESSAGE(&o->stack_table, TABLE_STACK) {
		proto_packed(&o->stack_table, STACK_LOCATIONS, ids, nr);
	}
	return n->stack;
}

/* Index 0 of each table is an empty message. */
static void put_first(struct otlp *o)
{
	static const uint8_t zero[TRACE_ID_BYTES];
	struct buf *out = &o->tables.out;

	proto_bytes(out, TABLE_MAPPING, "", 0);
	proto_bytes(out, TABLE_LOCATION, "", 0);
	proto_bytes(out, TABLE_FUNCTION, "", 0);
	PROTO_MESSAGE(out, TABLE_LINK) {
		proto_bytes(out, LINK_TRACE, zero, TRACE_ID_BYTES);
		proto_bytes(out, LINK_SPAN, zero, SPAN_ID_BYTES);
	}
	proto_bytes(&o->attribute_table, TABLE_ATTRIBUTE, "", 0);
	proto_bytes(&o->stack_table, TABLE_STACK, "", 0);
}

/* --- samples ------------------------------------------------------------------------------------
 */

static size_t nr_at_place(const struct report_frame *frames, size_t nr)
{
	size_t i = 0;

	while (frames[i].is_inlined && i + 1 < nr && i + 1 < PPROF_MAX_INLINED &&
	       frames[i + 1].address == frames[i].address &&
	       frames[i + 1].object == frames[i].object)
		i++;
	return i + 1;
}

static uint32_t find_stack(struct otlp *o, const struct report_entry *e)
{
	size_t nr = 0, max = e->nr_frames < MAX_FRAMES ? e->nr_frames : MAX_FRAMES;

	for (size_t i = 0, here; i < max; i += here) {
		here = nr_at_place(e->frames + i, max - i);
		o->ids[nr++] = pprof_location(&o->tables, e->frames + i, here);
	}
	return stack_of(o, o->ids, nr);
}

static size_t find_attributes(struct otlp *o, const struct report_key *key,
			      uint64_t out[MAX_ATTRIBUTES])
{
	const struct report_functions *f = o->j->inputs->functions;
	const char *region = report_functions_text(f, key->region);
	const char *comm = pushed_name(&o->comms, report_functions_text(f, key->comm));
	size_t nr = 0;

	if (*comm)
		out[nr++] = attribute_of(o, "thread.name", comm);
	if (strcmp(region, "[none]") != 0)
		out[nr++] = attribute_of(o, "cpuperf.region", region);
	return nr;
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct otlp *o = arg;
	const struct trace_event *event = job_event(o->j, e->key.event);
	struct buf *out = &o->samples[e->key.event];
	uint64_t attributes[MAX_ATTRIBUTES], value;
	size_t nr_attributes;
	uint32_t stack;

	if (!export_is_sampled(event))
		return 0;
	o->j->nr_samples += e->weight.samples;
	stack = find_stack(o, e);
	nr_attributes = find_attributes(o, &e->key, attributes);
	value = export_amount(e->weight.weight, export_scale(event));
	PROTO_MESSAGE(out, PROFILE_SAMPLES) {
		proto_uint(out, SAMPLE_STACK, stack);
		proto_packed(out, SAMPLE_ATTRIBUTES, attributes, nr_attributes);
		proto_packed(out, SAMPLE_VALUES, &value, 1);
	}
	return o->tables.error ? o->tables.error : buf_error(out);
}

/* --- the message --------------------------------------------------------------------------------
 */

static void put_attribute(struct buf *b, const char *key, const char *value)
{
	if (!*value)
		return;
	PROTO_MESSAGE(b, RESOURCE_ATTRIBUTES) {
		proto_text(b, KEY_VALUE_KEY, key);
		PROTO_MESSAGE(b, KEY_VALUE_VALUE) {
			proto_text(b, ANY_VALUE_TEXT, value);
		}
	}
}

static void put_resource(const struct otlp *o, struct buf *b)
{
	const struct job_pushed *p = o->j->pushed;
	const struct input *input = job_input(o->j);

	put_attribute(b, "service.name", p ? p->service : input->config_name);
	put_attribute(b, "host.name", p ? p->host : input->facts->head.host);
	for (size_t i = 0; p && i < p->labels->nr; i++)
		put_attribute(b, p->labels->item[i].key, p->labels->item[i].value);
}

static void put_type(struct otlp *o, struct buf *b, uint32_t field, uint32_t event)
{
	char name[EXPORT_TYPE_BYTES];
	uint64_t unit = pprof_text(&o->tables, export_unit(job_event(o->j, event)));

	export_type_name(o->j, event, "", name);
	PROTO_MESSAGE(b, field) {
		proto_uint(b, TYPE_NAME, pprof_text(&o->tables, name));
		proto_uint(b, TYPE_UNIT, unit);
	}
}

static uint64_t period_of(const struct otlp *o, uint32_t event)
{
	const struct trace_event *ev = job_event(o->j, event);

	return export_amount(export_period(ev, &o->stats, event), export_scale(ev));
}

/* The session's id, and which part of it this is. */
static void put_id(const struct otlp *o, struct buf *b, uint32_t event)
{
	uint8_t id[ID_BYTES];

	memcpy(id, o->j->pushed ? o->j->pushed->id : job_input(o->j)->facts->head.session_id,
	       sizeof(id));
	for (int i = 0; i < 4; i++)
		id[i] ^= (uint8_t)(event >> (8 * i));
	proto_bytes(b, PROFILE_ID, id, sizeof(id));
}

static void put_profile(struct otlp *o, struct buf *b, uint32_t event)
{
	const struct profile_about *a = &o->about;
	uint64_t start_ns = profile_about_realtime(a, a->start_ns);

	if (!o->samples[event].len)
		return;
	PROTO_MESSAGE(b, OF_SCOPE_PROFILES) {
		put_type(o, b, PROFILE_TYPE, event);
		buf_add(b, o->samples[event].data, o->samples[event].len);
		if (start_ns)
			proto_fixed64(b, PROFILE_TIME, start_ns);
		proto_uint(b, PROFILE_DURATION, a->measured_ns);
		put_type(o, b, PROFILE_PERIOD_TYPE, event);
		proto_uint(b, PROFILE_PERIOD, period_of(o, event));
		put_id(o, b, event);
	}
}

static void put_scope(struct otlp *o, struct buf *b)
{
	PROTO_MESSAGE(b, OF_RESOURCE_SCOPES) {
		PROTO_MESSAGE(b, OF_SCOPE) {
			proto_text(b, SCOPE_NAME, "cpuperf");
			proto_text(b, SCOPE_VERSION, CPUPERF_VERSION);
		}
		for (uint32_t i = 0; i < o->nr_events; i++)
			put_profile(o, b, i);
	}
}

static int put_all(struct otlp *o)
{
	const struct buf *const tables[] = {&o->tables.out, &o->attribute_table, &o->stack_table};
	struct buf *b = &o->j->output->text;

	PROTO_MESSAGE(b, DATA_RESOURCE_PROFILES) {
		PROTO_MESSAGE(b, OF_RESOURCE) {
			put_resource(o, b);
		}
		put_scope(o, b);
	}
	pprof_put_mappings(&o->tables, false, true);
	PROTO_MESSAGE(b, DATA_DICTIONARY) {
		for (size_t i = 0; i < ARRAY_NR(tables); i++)
			buf_add(b, buf_str(tables[i]), tables[i]->len);
	}
	for (size_t i = 0; i < ARRAY_NR(tables); i++)
		if (buf_error(tables[i]))
			return buf_error(tables[i]);
	return o->tables.error ?: buf_error(b) ?: output_flush(o->j->output, o->e);
}

static int prepare(struct otlp *o)
{
	o->nr_events = (uint32_t)job_input(o->j)->facts->nr_events;
	pprof_tables_init(&o->tables, &fields);
	o->tables.attributes = (struct pprof_attributes){
	    .location = attribute_of_location, .mapping = attribute_of_mapping, .arg = o};
	pushed_names_init(&o->comms);
	dict_init(&o->nodes, sizeof(struct node), DICT_KEY(struct node, zero), DICT_MAX);
	dict_init(&o->attributes, sizeof(struct attribute), sizeof(struct attribute), DICT_MAX);
	buf_init(&o->stack_table, MAX_BYTES);
	buf_init(&o->attribute_table, MAX_BYTES);
	o->samples = mem_calloc(o->nr_events + 1, sizeof(*o->samples));
	if (!o->samples)
		return -ENOMEM;
	for (uint32_t i = 0; i < o->nr_events; i++)
		buf_init(&o->samples[i], MAX_BYTES);
	put_first(o);
	return export_about_job(o->j, 0, &o->about, o->e);
}

static int read_all(struct otlp *o)
{
	struct report_sink sink = {.parts = REPORT_BY_STACK | REPORT_BY_ADDRESS | REPORT_BY_COMM |
					    REPORT_BY_REGION,
				   .entry = add_entry,
				   .arg = o};

	if (o->j->selection->with_lines)
		sink.parts |= REPORT_BY_LINE;
	return samples_read(o->j, o->j->first, 1, &sink, &o->stats, o->e);
}

static void fini(struct otlp *o)
{
	for (uint32_t i = 0; o->samples && i < o->nr_events; i++)
		buf_fini(&o->samples[i]);
	mem_free(o->samples);
	buf_fini(&o->stack_table);
	buf_fini(&o->attribute_table);
	dict_fini(&o->nodes);
	dict_fini(&o->attributes);
	pushed_names_fini(&o->comms);
	profile_about_fini(&o->about);
	report_stats_fini(&o->stats);
	pprof_tables_fini(&o->tables);
	mem_free(o);
}

int export_otlp(struct job *j, struct err *e)
{
	struct otlp *o = mem_zalloc(sizeof(*o));
	int rc;

	if (!o)
		return err_set(e, -ENOMEM, "out of memory");
	o->j = j;
	o->e = e;
	rc = prepare(o) ?: read_all(o) ?: put_all(o);
	fini(o);
	return rc ? err_set(e, rc, "the profile cannot be written: %s", strerror(-rc)) : 0;
}
