/*
 * The layouts of payloads as tables, which the writer and the decoders share. Private to trace/.
 */
#ifndef TRACE_FIELDS_H
#define TRACE_FIELDS_H

#include "base/buf.h"
#include "base/cursor.h"
#include "trace/trace.h"

enum trace_field_type {
	TRACE_FIELD_NONE,    /* ends a table */
	TRACE_FIELD_ZERO32,  /* reserved */
	TRACE_FIELD_U32,     /* 32-bit integer */
	TRACE_FIELD_U64,     /* uint64_t */
	TRACE_FIELD_SCALE,   /* double, as IEEE 754 binary64; read back: 0 unless it is a scale */
	TRACE_FIELD_BITS,    /* bool[max], as u32: item i is bit i */
	TRACE_FIELD_TEXT16,  /* const char *, as u16 length and text; of at most max bytes */
	TRACE_FIELD_TEXT32,  /* the same with a u32 length */
	TRACE_FIELD_LINES32, /* the same; tabs and newlines are valid */
	TRACE_FIELD_CHARS16, /* char[max], as TEXT16; truncated when it is read */
	TRACE_FIELD_BYTES32, /* a pointer to max bytes or fewer, as u32 length and bytes */
};

struct trace_field {
	uint8_t type;
	bool is_optional; /* a shorter payload is valid: 0 or "" is read */
	bool is_sparse;   /* the last one, a U64: 0 is not written */
	uint16_t at;      /* offset in the structure */
	uint16_t len_at;  /* BYTES32: offset of its uint32_t length */
	uint32_t max;
};

enum { TRACE_NR_FRAME_KINDS = TRACE_FRAME_PLACES + 1 };

/* Marks in few bytes: what differs from the one before. Their number, then of each: its kind and
 * what follows (the three highest bits), the time since the one before, and its depth, value and
 * name unless they are 0. Numbers have seven bits a byte, the lowest first; a value's sign is its
 * lowest bit. *out is owned. 0, -ENOMEM or -EINVAL. */
void trace_marks_encode(struct buf *b, const struct trace_mark *mark, size_t nr);
int trace_marks_decode(struct cursor *c, struct trace_mark **out, size_t *nr);

/* Fields of frames whose payload is one structure; NULL for other kinds. */
extern const struct trace_field *const trace_frame_fields[TRACE_NR_FRAME_KINDS];
extern const struct trace_field trace_event_fields[], trace_sampling_fields[],
    trace_histogram_fields[], trace_function_fields[], trace_marks_fields[], trace_memory_fields[],
    trace_mapping_fields[], trace_file_parts_fields[];

/* Items of equal length, after a head of u32 item length and u32 number. */
struct trace_list {
	const struct trace_field *fields;
	uint32_t bytes; /* of an item as written; others may be longer */
	size_t size;    /* of the structure */
};
extern const struct trace_list trace_id_list, trace_sampled_list, trace_index_list,
    trace_bucket_list, trace_mark_list, trace_range_list;

/* Sets the error of b if it has none. */
static inline void trace_buf_fail(struct buf *b, int code)
{
	if (!b->error)
		b->error = code;
}

/* -EFBIG sticks to b if a text is longer than its maximum. */
void trace_encode(struct buf *b, const struct trace_field *f, const void *from);
/* -EFBIG sticks to b beyond TRACE_MAX_ITEMS. */
void trace_encode_list(struct buf *b, const struct trace_list *l, const void *items, size_t nr);

struct trace_decoder {
	struct cursor c;
	struct arena *store; /* of texts and copies; NULL: bytes are borrowed, there are no texts */
	bool no_memory;
};
/* to: zeroed. Errors stick to d. */
void trace_decode(struct trace_decoder *d, const struct trace_field *f, void *to);
/* Text of len bytes, in the store, safe to print; "" if it is empty. */
const char *trace_decode_text(struct trace_decoder *d, size_t len, void (*clean)(char *, size_t));
/* *items is owned by the caller. 0, -EINVAL or -ENOMEM; unchanged on failure. */
int trace_decode_list(struct cursor *c, const struct trace_list *l, void **items, size_t *nr);
/* Copies text to size bytes at to, truncated if it is longer, safe to print. */
void trace_copy_clean(char *to, size_t size, const char *text, size_t len);

#endif
