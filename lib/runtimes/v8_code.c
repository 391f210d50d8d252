#include "runtimes/v8_code.h"

#include <string.h>

enum {
	POINTER_BITS = 3,
	POINTER = 1,
	MAX_CODE_BYTES = 1 << 24,
};

static bool is_pointer(uint64_t word)
{
	return (word & POINTER_BITS) == POINTER;
}

static uint64_t word_at(const uint8_t *head, size_t at)
{
	uint64_t word;

	memcpy(&word, head + at, sizeof(word));
	return word;
}

int v8_code_type(struct remote *pages, const struct bpf_javascript *at, uint64_t pointer)
{
	uint64_t map;
	uint16_t type;

	return is_pointer(pointer) && remote_copy(pages, pointer - 1, &map, sizeof(map)) &&
		       is_pointer(map) &&
		       remote_copy(pages, map + at->map_type, &type, sizeof(type))
		   ? type
		   : -1;
}

/* What else leads to it, or belongs to it. */
static bool is_beside(struct remote *pages, const struct bpf_javascript *at,
		      const struct v8_layout *l, uint64_t stream, uint64_t pointer)
{
	return l->stream_code ? pointer == stream + 1
			      : v8_code_type(pages, at, pointer) == at->beside_type;
}

static bool is_optimised(const struct v8_layout *l, const uint8_t *head)
{
	const uint64_t kind = word_at(head, l->code_flags) & V8_KINDS;

	return kind == (uint64_t)l->baseline + V8_OPTIMISED;
}

static bool read_head(struct remote *pages, const struct bpf_javascript *at,
		      const struct v8_layout *l, uint64_t code, uint8_t head[V8_CODE_BYTES],
		      struct v8_code *out)
{
	if (!l || v8_code_type(pages, at, code) != at->code_type ||
	    !remote_copy(pages, code - 1, head, V8_CODE_BYTES))
		return false;
	*out = (struct v8_code){.code = code,
				.start = l->code_start ? word_at(head, l->code_start)
						       : code - 1 + l->stream_head,
				.data = word_at(head, l->code_data),
				.positions = word_at(head, l->code_positions)};
	return true;
}

bool v8_code_read(struct remote *pages, const struct bpf_javascript *at, uint64_t stream,
		  uint64_t code, uint64_t end, struct v8_code *out)
{
	const struct v8_layout *l = interpreters_v8_layout(at);
	uint8_t head[V8_CODE_BYTES];
	uint32_t length;

	if (!read_head(pages, at, l, code, head, out) || !is_optimised(l, head) ||
	    !is_beside(pages, at, l, stream, word_at(head, l->code_beside)))
		return false;
	length = (uint32_t)word_at(head, l->code_length);
	if (out->start != stream + l->stream_head || out->start >= end || !length ||
	    length > MAX_CODE_BYTES || length > end - out->start)
		return false;
	out->end = out->start + length;
	return v8_code_type(pages, at, out->data) == at->data_type;
}

bool v8_code_is_still(struct remote *pages, const struct bpf_javascript *at,
		      const struct v8_code *code)
{
	uint8_t head[V8_CODE_BYTES];
	struct v8_code now;

	return read_head(pages, at, interpreters_v8_layout(at), code->code, head, &now) &&
	       now.start == code->start && now.data == code->data &&
	       now.positions == code->positions;
}
