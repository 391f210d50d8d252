/*
 * Payloads to structures and back, by tables. Structures of the other side of a format version have
 * more or fewer fields at their end. Must not know what the numbers mean.
 */
#include "trace/fields.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/str.h"
#include "trace/format.h"
#include "trace/scopes.h"

#include <errno.h>
#include <string.h>

/* The offset of a member of that size. */
#define AT(s, m, bytes)                                                                            \
	(offsetof(struct s, m) + 0 * sizeof(char[sizeof(((struct s *)0)->m) == (bytes) ? 1 : -1]))

#define U32(s, m)                                                                                  \
	{                                                                                          \
		.type = TRACE_FIELD_U32, .at = AT(s, m, 4)                                         \
	}
#define U64(s, m)                                                                                  \
	{                                                                                          \
		.type = TRACE_FIELD_U64, .at = AT(s, m, 8)                                         \
	}
#define ZERO32                                                                                     \
	{                                                                                          \
		.type = TRACE_FIELD_ZERO32                                                         \
	}
#define TEXT16(s, m)                                                                               \
	{                                                                                          \
		.type = TRACE_FIELD_TEXT16, .at = offsetof(struct s, m), .max = UINT16_MAX         \
	}
#define CHARS16(s, m, size)                                                                        \
	{                                                                                          \
		.type = TRACE_FIELD_CHARS16, .at = AT(s, m, size), .max = (size)                   \
	}
#define BYTES32(s, m, len, most)                                                                   \
	{                                                                                          \
		.type = TRACE_FIELD_BYTES32, .at = offsetof(struct s, m), .len_at = AT(s, len, 4), \
		.max = (most)                                                                      \
	}
/* At the end of what earlier versions wrote. */
#define MORE(of_type, place, ...)                                                                  \
	{                                                                                          \
		.type = TRACE_FIELD_##of_type, .at = (place), .is_optional = true, __VA_ARGS__     \
	}
#define END                                                                                        \
	{                                                                                          \
		.type = TRACE_FIELD_NONE                                                           \
	}

static const struct trace_field info_fields[] = {
    U64(trace_info, duration_ns),
    U64(trace_info, num_iterations),
    U32(trace_info, user_hz),
    U32(trace_info, page_bytes),
    TEXT16(trace_info, tool),
    TEXT16(trace_info, kernel),
    TEXT16(trace_info, cpu_model),
    TEXT16(trace_info, config_name),
    TEXT16(trace_info, model_name),
    {.type = TRACE_FIELD_TEXT32,
     .at = offsetof(struct trace_info, spec_json),
     .max = TRACE_MAX_SPEC_BYTES},
    {.type = TRACE_FIELD_U64,
     .at = offsetof(struct trace_info, nr_cpus),
     .is_optional = true,
     .is_sparse = true},
    END,
};

const struct trace_field trace_event_fields[] = {
    U32(trace_event, id),
    U32(trace_event, kind),
    U32(trace_event, scope),
    U32(trace_event, flags),
    U64(trace_event, rate),
    U32(trace_event, state),
    U32(trace_event, perf_group),
    BYTES32(trace_event, attr, attr_bytes, TRACE_MAX_ATTR_BYTES),
    TEXT16(trace_event, group),
    TEXT16(trace_event, name),
    TEXT16(trace_event, label),
    TEXT16(trace_event, unit),
    TEXT16(trace_event, description),
    TEXT16(trace_event, source),
    TEXT16(trace_event, reason),
    {.type = TRACE_FIELD_SCALE, .at = offsetof(struct trace_event, scale), .is_optional = true},
    {.type = TRACE_FIELD_U64, .at = offsetof(struct trace_event, frequency), .is_optional = true},
    {.type = TRACE_FIELD_LINES32,
     .at = offsetof(struct trace_event, format),
     .max = TRACE_MAX_FORMAT_BYTES,
     .is_optional = true},
    {.type = TRACE_FIELD_U64,
     .at = offsetof(struct trace_event, every_ns),
     .is_optional = true,
     .is_sparse = true},
    END,
};

static const struct trace_field clocks_fields[] = {
    U64(clock_triple, monotonic_ns),
    U64(clock_triple, boottime_ns),
    U64(clock_triple, realtime_ns),
    END,
};

static const struct trace_field note_fields[] = {
    U64(trace_note, time_ns),
    TEXT16(trace_note, text),
    END,
};

static const struct trace_field end_fields[] = {
    U64(trace_totals, start_ns),
    U64(trace_totals, end_ns),
    U64(trace_totals, nr_frames),
    U64(trace_totals, nr_readings),
    U64(trace_totals, lost),
    U64(trace_totals, throttled),
    U64(trace_totals, bytes),
    {.type = TRACE_FIELD_BITS,
     .at = offsetof(struct trace_totals, is_cut),
     .max = 2,
     .is_optional = true},
    {.type = TRACE_FIELD_U32, .at = offsetof(struct trace_totals, cause), .is_optional = true},
    END,
};
_Static_assert(offsetof(struct trace_totals, is_short) == offsetof(struct trace_totals, is_cut) + 1,
	       "bits of the end frame");

static const struct trace_field where_fields[] = {
    U32(trace_where, package),
    U32(trace_where, node),
    CHARS16(trace_where, type, TRACE_TYPE_BYTES),
    END,
};

static const struct trace_field build_id_fields[] = {
    U32(trace_build_id, major),
    U32(trace_build_id, minor),
    U64(trace_build_id, inode),
    U64(trace_build_id, inode_generation),
    U64(trace_build_id, from_ns),
    U64(trace_build_id, to_ns),
    BYTES32(trace_build_id, id, id_len, UINT32_MAX),
    BYTES32(trace_build_id, path, path_len, UINT32_MAX),
    END,
};

static const struct trace_field cmdline_fields[] = {
    U32(trace_cmdline, pid),
    U32(trace_cmdline, flags),
    U64(trace_cmdline, from_ns),
    U64(trace_cmdline, to_ns),
    BYTES32(trace_cmdline, text, len, UINT32_MAX),
    END,
};

static const struct trace_field held_fields[] = {
    U64(trace_held, from_ns),
    U64(trace_held, to_ns),
    U64(trace_held, wanted_ns),
    U64(trace_held, paused),
    U32(trace_held, is_full),
    CHARS16(trace_held, trigger, TRACE_TRIGGER_BYTES),
    END,
};

static const struct trace_field target_fields[] = {
    U32(trace_target, flags),
    U32(trace_target, pid),
    U32(trace_target, status),
    ZERO32,
    U64(trace_target, start_ns),
    U64(trace_target, end_ns),
    U64(trace_target, user_ns),
    U64(trace_target, system_ns),
    U64(trace_target, peak_bytes),
    U64(trace_target, minor_faults),
    U64(trace_target, major_faults),
    U64(trace_target, read_blocks),
    U64(trace_target, written_blocks),
    U64(trace_target, voluntary_switches),
    U64(trace_target, involuntary_switches),
    CHARS16(trace_target, text, TRACE_TARGET_BYTES),
    {.type = TRACE_FIELD_U64,
     .at = offsetof(struct trace_target, tree_peak_bytes),
     .is_optional = true},
    {.type = TRACE_FIELD_U32,
     .at = offsetof(struct trace_target, tree_peak_processes),
     .is_optional = true},
    {.type = TRACE_FIELD_U32, .at = offsetof(struct trace_target, nr_left), .is_optional = true},
    {.type = TRACE_FIELD_CHARS16,
     .at = offsetof(struct trace_target, left),
     .max = TRACE_TARGET_BYTES,
     .is_optional = true},
    {.type = TRACE_FIELD_U32, .at = offsetof(struct trace_target, nr_hidden), .is_optional = true},
    {.type = TRACE_FIELD_CHARS16,
     .at = offsetof(struct trace_target, hidden),
     .max = TRACE_TARGET_BYTES,
     .is_optional = true},
    {.type = TRACE_FIELD_U64,
     .at = offsetof(struct trace_target, disabled_ns),
     .is_optional = true},
    END,
};

static const struct trace_field window_fields[] = {
    U32(trace_window, window),        U32(trace_window, clock),
    U64(trace_window, cycle),         U64(trace_window, gap_ns),
    U64(trace_window, start_late_ns), U64(trace_window, end_late_ns),
    U64(trace_window, clock_ns),      END,
};

static const struct trace_field mark_name_fields[] = {
    U32(trace_mark_name, number),
    CHARS16(trace_mark_name, text, TRACE_MARK_NAME_BYTES),
    END,
};

static const struct trace_field code_fields[] = {
    U64(trace_code, number),
    U32(trace_code, pid),
    U32(trace_code, language),
    U32(trace_code, first_line),
    U32(trace_code, table),
    CHARS16(trace_code, name, TRACE_CODE_NAME_BYTES),
    CHARS16(trace_code, file, TRACE_CODE_FILE_BYTES),
    BYTES32(trace_code, lines, lines_bytes, TRACE_CODE_LINES_BYTES),
    U32(trace_code, owner),
    END,
};

static const struct trace_field compiled_fields[] = {
    U64(trace_compiled, time_ns),
    U64(trace_compiled, start),
    U64(trace_compiled, end),
    U32(trace_compiled, pid),
    ZERO32,
    CHARS16(trace_compiled, name, TRACE_COMPILED_NAME_BYTES),
    MORE(U32, AT(trace_compiled, kind, 4)),
    MORE(U32, AT(trace_compiled, frame_bytes, 4)),
    MORE(U32, AT(trace_compiled, frame_from, 4)),
    MORE(U32, AT(trace_compiled, codes_bytes, 4)),
    MORE(U64, AT(trace_compiled, codes, 8)),
    MORE(U32, AT(trace_compiled, first_line, 4)),
    MORE(CHARS16, AT(trace_compiled, file, TRACE_COMPILED_FILE_BYTES),
	 .max = TRACE_COMPILED_FILE_BYTES),
    MORE(BYTES32, offsetof(struct trace_compiled, data),
	 .len_at = AT(trace_compiled, data_bytes, 4), .max = TRACE_COMPILED_BYTES),
    MORE(BYTES32, offsetof(struct trace_compiled, scopes),
	 .len_at = AT(trace_compiled, scopes_bytes, 4), .max = TRACE_SCOPES_BYTES),
    END,
};

static const struct trace_field switch_fields[] = {
    U64(trace_switch, time_ns),
    U32(trace_switch, is_on),
    ZERO32,
    END,
};

static const struct trace_field symbol_range_fields[] = {U64(trace_symbol_range, first),
							 U64(trace_symbol_range, last), END};

static const struct trace_field divisor_fields[] = {U32(trace_sampling, divisor), ZERO32, END};

static const struct trace_field thing_clock_fields[] = {
    U32(trace_thing_clock, event),    U32(trace_thing_clock, instance),
    U32(trace_thing_clock, flags),    ZERO32,
    U64(trace_thing_clock, clock_ns), U64(trace_thing_clock, before_ns),
    U64(trace_thing_clock, after_ns), END,
};

static const struct trace_field iteration_fields[] = {U32(trace_part, iteration), ZERO32, END};

static const struct trace_field value_fields[] = {
    U32(trace_value, event),     U32(trace_value, field),
    U32(trace_value, type),      U32(trace_value, kind),
    U64(trace_value, address),   U64(trace_value, number),
    U64(trace_value, calls),     U64(trace_value, timed),
    U64(trace_value, wall_ns),   U64(trace_value, max_ns),
    U64(trace_value, sum),       TEXT16(trace_value, name),
    TEXT16(trace_value, object), TEXT16(trace_value, field_name),
    TEXT16(trace_value, text),   END,
};

const struct trace_field *const trace_frame_fields[TRACE_NR_FRAME_KINDS] = {
    [TRACE_FRAME_INFO] = info_fields,          [TRACE_FRAME_CLOCKS] = clocks_fields,
    [TRACE_FRAME_NOTE] = note_fields,          [TRACE_FRAME_END] = end_fields,
    [TRACE_FRAME_WHERE] = where_fields,        [TRACE_FRAME_ITERATION] = iteration_fields,
    [TRACE_FRAME_BUILD_ID] = build_id_fields,  [TRACE_FRAME_TARGET] = target_fields,
    [TRACE_FRAME_CMDLINE] = cmdline_fields,    [TRACE_FRAME_HELD] = held_fields,
    [TRACE_FRAME_WINDOW] = window_fields,      [TRACE_FRAME_MARK_NAME] = mark_name_fields,
    [TRACE_FRAME_SWITCH] = switch_fields,      [TRACE_FRAME_CODE] = code_fields,
    [TRACE_FRAME_DIVISOR] = divisor_fields,    [TRACE_FRAME_THING_CLOCK] = thing_clock_fields,
    [TRACE_FRAME_RANGE] = symbol_range_fields, [TRACE_FRAME_VALUE] = value_fields,
    [TRACE_FRAME_COMPILED] = compiled_fields,
};

const struct trace_field trace_sampling_fields[] = {
    U64(trace_sampling, ring_bytes),   U64(trace_sampling, max_rate_start),
    U64(trace_sampling, max_rate_end), U64(trace_sampling, idle_ns),
    U64(trace_sampling, lost),         U64(trace_sampling, ticks),
    U64(trace_sampling, ticks_missed), END,
};

const struct trace_field trace_memory_fields[] = {
    U32(mapping_map, flags),
    U32(mapping_map, nr_processes),
    U32(mapping_map, nr_unread),
    ZERO32,
    U64(mapping_map, time_ns),
    U64(mapping_map, took_ns),
    END,
};

const struct trace_field trace_mapping_fields[] = {
    U32(mapping_row, kind),
    U32(mapping_row, nr),
    U64(mapping_row, sums.size),
    U64(mapping_row, sums.resident),
    U64(mapping_row, sums.proportional),
    U64(mapping_row, sums.dirty),
    U64(mapping_row, sums.swapped),
    U64(mapping_row, sums.huge),
    TEXT16(mapping_row, object),
    END,
};

const struct trace_field trace_histogram_fields[] = {
    U32(trace_histogram, event),
    U32(trace_histogram, bits),
    U64(trace_histogram, sum_ns),
    U64(trace_histogram, max_ns),
    CHARS16(trace_histogram, what, TRACE_HISTOGRAM_BYTES),
    CHARS16(trace_histogram, part, TRACE_HISTOGRAM_BYTES),
    END,
};

const struct trace_field trace_function_fields[] = {
    U32(trace_function, event),     U32(trace_function, flags),
    U32(trace_function, way),       U32(trace_function, bits),
    U64(trace_function, address),   U64(trace_function, calls),
    U64(trace_function, wall_ns),   U64(trace_function, self_ns),
    U64(trace_function, cpu_ns),    U64(trace_function, max_ns),
    U64(trace_function, cost_ns),   TEXT16(trace_function, name),
    TEXT16(trace_function, object), END,
};

static const struct trace_field bucket_fields[] = {
    U32(trace_bucket, number),
    ZERO32,
    U64(trace_bucket, count),
    END,
};

const struct trace_field trace_marks_fields[] = {
    U32(trace_marks, pid),    U32(trace_marks, tid),
    U32(trace_marks, object), ZERO32,
    U64(trace_marks, lost),   END,
};

const struct trace_field trace_file_parts_fields[] = {
    U32(trace_file_parts, major),
    U32(trace_file_parts, minor),
    U64(trace_file_parts, inode),
    U64(trace_file_parts, file_bytes),
    BYTES32(trace_file_parts, id, id_len, UINT32_MAX),
    BYTES32(trace_file_parts, path, path_len, UINT32_MAX),
    END,
};

static const struct trace_field range_fields[] = {
    U64(range, offset),
    U64(range, len),
    END,
};

static const struct trace_field mark_fields[] = {
    U64(trace_mark, time_ns), U64(trace_mark, value), U32(trace_mark, name),
    U32(trace_mark, kind),    U32(trace_mark, depth), END,
};

static const struct trace_field id_fields[] = {
    U64(trace_id, id),   U32(trace_id, event), U32(trace_id, instance),
    U32(trace_id, attr), U32(trace_id, group), END,
};

static const struct trace_field sampled_fields[] = {
    U32(trace_sampled, event),     U32(trace_sampled, instance),    U64(trace_sampled, samples),
    U64(trace_sampled, idle),      U64(trace_sampled, weight),      U64(trace_sampled, lost),
    U64(trace_sampled, throttled), U64(trace_sampled, unthrottled), END,
};

static const struct trace_field index_fields[] = {
    U32(trace_part, iteration),
    ZERO32,
    U64(trace_part, from),
    END,
};

const struct trace_list trace_id_list = {id_fields, TRACE_ID_BYTES, sizeof(struct trace_id)};
const struct trace_list trace_sampled_list = {sampled_fields, TRACE_SAMPLED_BYTES,
					      sizeof(struct trace_sampled)};
const struct trace_list trace_bucket_list = {bucket_fields, TRACE_BUCKET_BYTES,
					     sizeof(struct trace_bucket)};
const struct trace_list trace_mark_list = {mark_fields, TRACE_MARK_BYTES,
					   sizeof(struct trace_mark)};
const struct trace_list trace_range_list = {range_fields, TRACE_RANGE_BYTES, sizeof(struct range)};
const struct trace_list trace_index_list = {index_fields, TRACE_INDEX_ITEM_BYTES,
					    sizeof(struct trace_part)};

static void add_text(struct buf *b, const struct trace_field *f, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len > f->max)
		trace_buf_fail(b, -EFBIG);
	if (f->type == TRACE_FIELD_TEXT16 || f->type == TRACE_FIELD_CHARS16)
		buf_le16(b, (uint16_t)len);
	else
		buf_le32(b, (uint32_t)len);
	buf_add(b, text, len);
}

static void add_bytes(struct buf *b, const struct trace_field *f, const void *bytes, uint32_t len)
{
	if (len > f->max)
		trace_buf_fail(b, -EFBIG);
	buf_le32(b, len);
	buf_add(b, bytes, len);
}

static void encode(struct buf *b, const struct trace_field *f, const char *from)
{
	const void *member = from + f->at, *bytes;
	uint64_t v = 0;

	switch ((enum trace_field_type)f->type) {
	case TRACE_FIELD_NONE:
		break;
	case TRACE_FIELD_ZERO32:
		buf_le32(b, 0);
		break;
	case TRACE_FIELD_U32:
		buf_le32(b, *(const uint32_t *)member);
		break;
	case TRACE_FIELD_U64:
		buf_le64(b, *(const uint64_t *)member);
		break;
	case TRACE_FIELD_SCALE:
		memcpy(&v, member, sizeof(v));
		buf_le64(b, v);
		break;
	case TRACE_FIELD_BITS:
		for (uint32_t i = 0; i < f->max; i++)
			v |= (uint64_t)((const bool *)member)[i] << i;
		buf_le32(b, (uint32_t)v);
		break;
	case TRACE_FIELD_TEXT16:
	case TRACE_FIELD_TEXT32:
	case TRACE_FIELD_LINES32:
		add_text(b, f, *(const char *const *)member);
		break;
	case TRACE_FIELD_CHARS16:
		add_text(b, f, member);
		break;
	case TRACE_FIELD_BYTES32:
		memcpy(&bytes, member, sizeof(bytes));
		add_bytes(b, f, bytes, *(const uint32_t *)(const void *)(from + f->len_at));
		break;
	}
}

static bool is_left_out(const struct trace_field *f, const void *from)
{
	uint64_t v = 1;

	if (f->is_sparse)
		memcpy(&v, (const char *)from + f->at, sizeof(v));
	return !v;
}

void trace_encode(struct buf *b, const struct trace_field *f, const void *from)
{
	for (; f->type; f++)
		if (!is_left_out(f, from))
			encode(b, f, from);
}

void trace_encode_list(struct buf *b, const struct trace_list *l, const void *items, size_t nr)
{
	if (nr > TRACE_MAX_ITEMS)
		trace_buf_fail(b, -EFBIG);
	buf_le32(b, l->bytes);
	buf_le32(b, (uint32_t)nr);
	for (size_t i = 0; i < nr && !buf_error(b); i++)
		trace_encode(b, l->fields, (const char *)items + i * l->size);
}

/* A copy of the next len bytes in the store; NULL if there is nothing to copy. */
static char *copy_bytes(struct trace_decoder *d, size_t len)
{
	const uint8_t *p = cursor_bytes(&d->c, len);
	char *s = p && len ? arena_strndup(d->store, (const char *)p, len) : NULL;

	d->no_memory |= p && len && !s;
	return s;
}

const char *trace_decode_text(struct trace_decoder *d, size_t len, void (*clean)(char *, size_t))
{
	char *s = copy_bytes(d, len);

	if (s)
		clean(s, len);
	return s ? s : "";
}

void trace_copy_clean(char *to, size_t size, const char *text, size_t len)
{
	if (len > size - 1)
		len = size - 1;
	memcpy(to, text, len);
	to[len] = '\0';
	str_clean(to, len); /* after the cut, which may have split a character */
}

/* The length of a text or of bytes; more than the maximum is malformed. */
static size_t decode_length(struct trace_decoder *d, const struct trace_field *f)
{
	size_t len = f->type == TRACE_FIELD_TEXT16 ? cursor_le16(&d->c) : cursor_le32(&d->c);

	d->c.underflow |= len > f->max;
	return len;
}

static void decode(struct trace_decoder *d, const struct trace_field *f, char *to)
{
	void *member = to + f->at;
	const char *text;
	const void *bytes;
	uint64_t v;
	double scale;
	size_t len;

	switch ((enum trace_field_type)f->type) {
	case TRACE_FIELD_NONE:
		break;
	case TRACE_FIELD_ZERO32:
		cursor_skip(&d->c, 4);
		break;
	case TRACE_FIELD_U32:
		*(uint32_t *)member = cursor_le32(&d->c);
		break;
	case TRACE_FIELD_U64:
		*(uint64_t *)member = cursor_le64(&d->c);
		break;
	case TRACE_FIELD_SCALE:
		v = cursor_le64(&d->c);
		memcpy(&scale, &v, sizeof(scale));
		*(double *)member = scale > 0 && scale < 1e30 ? scale : 0;
		break;
	case TRACE_FIELD_BITS:
		v = cursor_le32(&d->c);
		for (uint32_t i = 0; i < f->max; i++)
			((bool *)member)[i] = v >> i & 1;
		break;
	case TRACE_FIELD_TEXT16:
	case TRACE_FIELD_TEXT32:
		*(const char **)member = trace_decode_text(d, decode_length(d, f), str_clean);
		break;
	case TRACE_FIELD_LINES32:
		*(const char **)member = trace_decode_text(d, decode_length(d, f), str_clean_lines);
		break;
	case TRACE_FIELD_CHARS16:
		text = cursor_string16(&d->c, &len);
		trace_copy_clean(member, f->max, text, len);
		break;
	case TRACE_FIELD_BYTES32:
		len = decode_length(d, f);
		bytes = d->store ? copy_bytes(d, len) : (const char *)cursor_bytes(&d->c, len);
		memcpy(member, &bytes, sizeof(bytes));
		*(uint32_t *)(void *)(to + f->len_at) = (uint32_t)len;
		break;
	}
}

void trace_decode(struct trace_decoder *d, const struct trace_field *f, void *to)
{
	for (; f->type; f++)
		if (d->c.left || !f->is_optional)
			decode(d, f, to);
		else if (f->type == TRACE_FIELD_LINES32)
			*(const char **)(void *)((char *)to + f->at) = "";
}

int trace_decode_list(struct cursor *c, const struct trace_list *l, void **items, size_t *nr)
{
	uint32_t bytes = cursor_le32(c), n = cursor_le32(c);
	char *item;

	if (!cursor_ok(c) || bytes < l->bytes || n > TRACE_MAX_ITEMS ||
	    (uint64_t)bytes * n > c->left)
		return -EINVAL;
	item = mem_calloc(n, l->size);
	if (!item)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct trace_decoder d = {0};

		cursor_init(&d.c, cursor_bytes(c, bytes), bytes);
		trace_decode(&d, l->fields, item + i * l->size);
	}
	*items = item;
	*nr = n;
	return 0;
}
