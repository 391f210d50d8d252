/*
 * Functions of PHP whose texts are not in the memory of the process that runs them, as those that
 * another one has put into the memory that opcache shares. The number is the one by places: what
 * was read is of the function that was asked for if it is the same before and after.
 */
#include "interpreters/language.h"

#include <stdint.h>
#include <string.h>

/* One of C is shorter. */
static bool load_function(const struct bpf_interpreted_far *far, const struct bpf_php_offsets *at,
			  struct bpf_php_function *out)
{
	uint8_t object[BPF_PHP_OBJECT_BYTES] = {0};

	if (!interpreters_far_load(far, object, at->array_bytes & (sizeof(object) - 1),
				   far->address) &&
	    !(interpreters_far_load(far, object, (at->function_class + 8) & (sizeof(object) - 1),
				    far->address) &&
	      bpf_php_is_internal(object, at)))
		return false;
	*out = (struct bpf_php_function){
	    .space = far->space, .address = far->address, .process = far->process};
	bpf_php_set(object, at, out);
	return bpf_php_number(out) == far->code;
}

/* text 0: there is none. False: it cannot be read. */
static bool copy_text(const struct bpf_interpreted_far *far, const struct bpf_php_offsets *at,
		      uint64_t text, bool is_path, struct bpf_interpreted_text *out, uint8_t *to)
{
	uint64_t length = 0;

	if (text && !interpreters_far_load(far, &length, sizeof(length), text + at->text_length))
		return false;
	return interpreters_far_text(far, text + at->text_data, length, is_path, out, to);
}

bool interpreters_php_far(const struct bpf_interpreted_far *far,
			  const struct bpf_interpreted_process *process,
			  struct bpf_interpreted_code *out)
{
	const struct bpf_php_offsets *at = &process->php.at;
	struct bpf_php_function f, now;
	struct bpf_interpreted_text class;

	if (!load_function(far, at, &f))
		return false;
	*out = (struct bpf_interpreted_code){.language = BPF_INTERPRETED_PHP,
					     .process = far->process,
					     .code = far->code,
					     .first_line = (uint32_t)f.lines};
	if (f.text[BPF_PHP_CLASS] &&
	    !interpreters_far_load(far, &f.text[BPF_PHP_CLASS], sizeof(f.text[0]),
				   f.text[BPF_PHP_CLASS] + at->class_name))
		return false;
	if (!copy_text(far, at, f.text[BPF_PHP_FILE], true, &out->file, out->file_text) ||
	    !copy_text(far, at, f.text[BPF_PHP_NAME], false, &out->name, out->name_text) ||
	    !copy_text(far, at, f.text[BPF_PHP_CLASS], false, &class, out->lines) ||
	    !load_function(far, at, &now))
		return false;
	out->lines_bytes = class.bytes;
	return true;
}
