/*
 * Code of Python whose name the kernel's program could not read, since its page was not in memory:
 * names of modules that are compiled into the interpreter. Read from outside, where reading brings
 * the page.
 *
 * The process runs meanwhile. What was read is of the code that was asked for if its number is the
 * same before and after.
 */
#include "interpreters/language.h"

#include <stdint.h>
#include <string.h>

/* The number that was asked for may be without the hash, which could not be read. */
static bool is_it(const struct bpf_interpreted_far *far, const struct bpf_python_offsets *at,
		  uint8_t object[BPF_PYTHON_OBJECT_BYTES])
{
	struct bpf_python_place place = {
	    .space = far->space, .address = far->address, .process = far->process};

	if (!interpreters_far_load(far, object, at->code_bytes & (BPF_PYTHON_OBJECT_BYTES - 1),
				   far->address))
		return false;
	if (bpf_python_number(&place, object, at) == far->code)
		return true;
	return interpreters_far_load(far, &place.hash, sizeof(place.hash),
				     bpf_python_word(object, at->code_name) + at->text_hash) &&
	       bpf_python_number(&place, object, at) == far->code;
}

static bool copy_text(const struct bpf_interpreted_far *far, const struct bpf_python_offsets *at,
		      uint64_t text, struct bpf_interpreted_text *out, uint8_t *to)
{
	const uint64_t most = (BPF_INTERPRETED_NAME_BYTES - 1) & ~3u;
	uint64_t length, bytes, from;
	uint32_t state, width;

	if (!interpreters_far_load(far, &length, sizeof(length), text + at->text_length) ||
	    !interpreters_far_load(far, &state, sizeof(state), text + at->text_state))
		return false;
	width = bpf_python_width(state);
	if (!width || length > BPF_PYTHON_MAX_LENGTH)
		return false;
	from = text + (bpf_python_is_ascii(state) ? at->text_ascii : at->text_other);
	bytes = length * width;
	if (bytes > most) {
		from += bytes - most;
		bytes = most;
	}
	*out = (struct bpf_interpreted_text){(uint32_t)bytes, width};
	return !bytes || interpreters_far_load(far, to, bytes, from);
}

bool interpreters_python_far(const struct bpf_interpreted_far *far,
			     const struct bpf_interpreted_process *process,
			     struct bpf_interpreted_code *out)
{
	const struct bpf_python_offsets *at = &process->python.at;
	uint8_t object[BPF_PYTHON_OBJECT_BYTES] = {0};
	uint64_t lines, bytes;

	if (!is_it(far, at, object))
		return false;
	lines = bpf_python_word(object, at->code_lines);
	if (!copy_text(far, at, bpf_python_word(object, at->code_file), &out->file,
		       out->file_text) ||
	    !copy_text(far, at, bpf_python_word(object, at->code_name), &out->name,
		       out->name_text) ||
	    !interpreters_far_load(far, &bytes, sizeof(bytes), lines + at->bytes_length))
		return false;
	out->is_cut = bytes > BPF_INTERPRETED_LINES_BYTES - 1;
	if (out->is_cut)
		bytes = BPF_INTERPRETED_LINES_BYTES - 1;
	if (bytes && !interpreters_far_load(far, out->lines, bytes, lines + at->bytes_data))
		return false;
	out->lines_bytes = (uint32_t)bytes;
	out->line_table = at->line_table;
	out->language = BPF_INTERPRETED_PYTHON;
	out->process = far->process;
	out->code = far->code;
	memcpy(&out->first_line, object + (at->code_first_line & (sizeof(object) - 4)),
	       sizeof(out->first_line));
	return is_it(far, at, object);
}
