/*
 * Code of Ruby whose texts are not in memory, as those that are in the interpreter's file. The
 * number is the one by places: what was read is of the code that was asked for if it is the same
 * before and after.
 */
#include "interpreters/language.h"

#include <stdint.h>
#include <string.h>

static bool load_code(const struct bpf_interpreted_far *far, const struct bpf_ruby_offsets *at,
		      struct bpf_ruby_code *out)
{
	uint8_t object[BPF_RUBY_OBJECT_BYTES] = {0}, body[BPF_RUBY_OBJECT_BYTES] = {0};

	if (!interpreters_far_load(far, object, BPF_RUBY_HEAD_BYTES, far->address) ||
	    !bpf_ruby_is_code(object, at) ||
	    !interpreters_far_load(far, body, at->body_bytes & (sizeof(body) - 1),
				   bpf_ruby_word(object, at->code_body)))
		return false;
	*out = (struct bpf_ruby_code){
	    .space = far->space, .address = far->address, .process = far->process};
	bpf_ruby_set(body, at, out);
	return bpf_ruby_number(out) == far->code;
}

/* False: it cannot be read. */
static bool copy_text(const struct bpf_interpreted_far *far, const struct bpf_ruby_offsets *at,
		      uint64_t address, bool is_path, struct bpf_interpreted_text *out, uint8_t *to)
{
	uint8_t object[BPF_RUBY_OBJECT_BYTES] = {0};
	struct bpf_ruby_text text;
	uint64_t path;

	if (!interpreters_far_load(far, object, BPF_RUBY_HEAD_BYTES, address))
		return false;
	path = bpf_ruby_path_of(object, at);
	if (path && !interpreters_far_load(far, object, BPF_RUBY_HEAD_BYTES, path))
		return false;
	return bpf_ruby_find_text(object, path ? path : address, at, &text) &&
	       interpreters_far_text(far, text.data, text.length, is_path, out, to);
}

bool interpreters_ruby_far(const struct bpf_interpreted_far *far,
			   const struct bpf_interpreted_process *process,
			   struct bpf_interpreted_code *out)
{
	const struct bpf_ruby_offsets *at = &process->ruby.at;
	struct bpf_ruby_code c, now;

	if (!load_code(far, at, &c))
		return false;
	*out = (struct bpf_interpreted_code){.language = BPF_INTERPRETED_RUBY,
					     .process = far->process,
					     .code = far->code,
					     .first_line = c.line};
	return copy_text(far, at, c.text[BPF_RUBY_FILE], true, &out->file, out->file_text) &&
	       copy_text(far, at, c.text[BPF_RUBY_NAME], false, &out->name, out->name_text) &&
	       load_code(far, at, &now);
}
