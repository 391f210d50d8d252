/*
 * Functions of PHP whose texts are not in the memory of the process that runs them, as those that
 * another one has put into the memory that opcache shares. The number is the one by places: what
 * was read is of the function that was asked for if it is the same before and after.
 */
#include "interpreters/language.h"

#include "proc/memory.h"

#include <stdint.h>
#include <string.h>

static bool load(const struct bpf_interpreted_far *far, void *to, size_t bytes, uint64_t at)
{
	return proc_memory_read(far->process, at, to, bytes);
}

/* One of C is shorter. */
static bool load_function(const struct bpf_interpreted_far *far, const struct bpf_php_offsets *at,
			  struct bpf_php_function *out)
{
	uint8_t object[BPF_PHP_OBJECT_BYTES] = {0};

	if (!load(far, object, at->array_bytes & (sizeof(object) - 1), far->address) &&
	    !(load(far, object, (at->function_class + 8) & (sizeof(object) - 1), far->address) &&
	      bpf_php_is_internal(object, at)))
		return false;
	*out = (struct bpf_php_function){
	    .space = far->space, .address = far->address, .process = far->process};
	bpf_php_set(object, at, out);
	return bpf_php_number(out) == far->code;
}

/* A long text keeps its end if it is a path, and else its beginning. Returns its length; -1: it
 * cannot be read. */
static int copy_text(const struct bpf_interpreted_far *far, const struct bpf_php_offsets *at,
		     uint64_t text, bool is_path, uint8_t *to)
{
	uint64_t length = 0, bytes, from = text + at->text_data;

	if (text && !load(far, &length, sizeof(length), text + at->text_length))
		return -1;
	bytes = length < BPF_INTERPRETED_NAME_BYTES ? length : BPF_INTERPRETED_NAME_BYTES - 1;
	if (is_path)
		from += length - bytes;
	return !bytes || load(far, to, bytes, from) ? (int)bytes : -1;
}

bool interpreters_php_far(const struct bpf_interpreted_far *far,
			  const struct bpf_interpreted_process *process,
			  struct bpf_interpreted_code *out)
{
	const struct bpf_php_offsets *at = &process->php.at;
	struct bpf_php_function f, now;
	int file, name, class;

	if (!load_function(far, at, &f))
		return false;
	*out = (struct bpf_interpreted_code){.language = BPF_INTERPRETED_PHP,
					     .process = far->process,
					     .code = far->code,
					     .first_line = (uint32_t)f.lines};
	if (f.text[BPF_PHP_CLASS] && !load(far, &f.text[BPF_PHP_CLASS], sizeof(f.text[0]),
					   f.text[BPF_PHP_CLASS] + at->class_name))
		return false;
	file = copy_text(far, at, f.text[BPF_PHP_FILE], true, out->file_text);
	name = copy_text(far, at, f.text[BPF_PHP_NAME], false, out->name_text);
	class = copy_text(far, at, f.text[BPF_PHP_CLASS], false, out->lines);
	if (file < 0 || name < 0 || class < 0 || !load_function(far, at, &now))
		return false;
	out->file = (struct bpf_interpreted_text){(uint32_t)file, BPF_INTERPRETED_UTF8};
	out->name = (struct bpf_interpreted_text){(uint32_t)name, BPF_INTERPRETED_UTF8};
	out->lines_bytes = (uint32_t) class;
	return true;
}
