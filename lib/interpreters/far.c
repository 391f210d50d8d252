/*
 * What code is called that the kernel's program could not read.
 */
#include "interpreters/language.h"

#include "proc/memory.h"

bool interpreters_far_load(const struct bpf_interpreted_far *far, void *to, size_t bytes,
			   uint64_t at)
{
	return proc_memory_read(far->process, at, to, bytes);
}

bool interpreters_far_text(const struct bpf_interpreted_far *far, uint64_t at, uint64_t length,
			   bool is_path, struct bpf_interpreted_text *out, uint8_t *to)
{
	const uint64_t most = BPF_INTERPRETED_NAME_BYTES - 1, bytes = length < most ? length : most;

	if (is_path)
		at += length - bytes;
	*out = (struct bpf_interpreted_text){(uint32_t)bytes, BPF_INTERPRETED_UTF8};
	return !bytes || interpreters_far_load(far, to, bytes, at);
}
