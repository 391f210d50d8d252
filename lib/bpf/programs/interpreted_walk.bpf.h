/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The walk over the frames of a thread, for programs that have included what interpreted.bpf.h has
 * before it. Included once for the running thread, and once more, with other names, for one that
 * is asleep (interpreted_asleep.bpf.h): what may sleep can be called by few programs. A constant
 * would not do: kernels look for calls that may sleep without regard to it.
 *
 * A language is a file interpreted_NAME.bpf.h, whose functions have its name before theirs, and a
 * line in walk_out. What sleeps has each function under another name.
 */

static bool load(const struct interpreter_walk *k, void *to, __u32 bytes, __u64 at)
{
#ifdef READ_ASLEEP
	return READ_ASLEEP(k->asleep, to, bytes, at);
#else
	return bpf_probe_read_user(to, bytes, (void *)at) == 0;
#endif
}

/* Adds bytes to a number. 0: they are not in memory. */
static __u64 number_bytes(const struct interpreter_walk *k, __u64 from, __u64 bytes, __u64 h)
{
	__u8 *text = k->w->text;

	__builtin_memset(text, 0, TEXT_BYTES);
	if (!load(k, text, bytes & (TEXT_BYTES - 1), from))
		return 0;
	for (__u32 i = 0; i < TEXT_BYTES; i += 8)
		h = bpf_interpreted_mix(h, *(const __u64 *)(text + i));
	return h;
}

/* What a text says at its end and, if it is long, its beginning, as a number: names that are made
 * often end alike. Of a longer one also what a definition has of it: the first or the last
 * BPF_INTERPRETED_NAME_BYTES. 0: it is not in memory. */
static __u64 number_text_ends(const struct interpreter_walk *k, __u64 data, __u64 length)
{
	const __u64 most = TEXT_BYTES - 1, bytes = length < most ? length : most;
	__u64 h = number_bytes(k, data + length - bytes, bytes, length);

	if (h && length > bytes)
		h = number_bytes(k, data, bytes, h);
	for (__u32 i = 1; i <= 2 * TEXT_PARTS && h; i++) {
		if (length <= (i <= TEXT_PARTS ? i + 1 : TEXT_PARTS + 2) * most)
			break;
		h = number_bytes(k,
				 i <= TEXT_PARTS ? data + i * most
						 : data + length - (i - TEXT_PARTS + 1) * most,
				 most, h);
	}
	return h;
}

/* Copies a text into the definition, in which the first one is a path: of that a long one keeps its
 * end, and else its beginning. */
static bool copy_text_part(const struct interpreter_walk *k, __u32 i, __u64 data, __u64 length)
{
	__u64 bytes = length < BPF_INTERPRETED_NAME_BYTES ? length : BPF_INTERPRETED_NAME_BYTES - 1;

	if (i >= MAX_TEXTS)
		return false;
	if (!i)
		data += length - bytes;
	bytes &= BPF_INTERPRETED_NAME_BYTES - 1;
	k->w->bytes[i] = bytes;
	return load(k, k->w->code.file_text + i * BPF_INTERPRETED_NAME_BYTES, bytes, data);
}

#include "bpf/programs/interpreted_go.bpf.h"
#include "bpf/programs/interpreted_javascript.bpf.h"
#include "bpf/programs/interpreted_perl.bpf.h"
#include "bpf/programs/interpreted_php.bpf.h"
#include "bpf/programs/interpreted_python.bpf.h"
#include "bpf/programs/interpreted_ruby.bpf.h"

/* Fills k->stack. Returns the number of frames. */
static __u32 walk_out(struct interpreter_walk *k, struct task_struct___interpreted *task, __u32 tid)
{
	const __u32 language = k->p->language;
	__u32 nr;

	k->stack->language = language;
	k->stack->nr = k->stack->is_partial = k->stack->pad = 0;
	k->stack->loop_begin = k->p->loop_begin;
	k->stack->loop_end = k->p->loop_end;
	if (HAS_LANGUAGE(PYTHON) && language == BPF_INTERPRETED_PYTHON)
		python_walk_out(k, task, tid);
	else if (HAS_LANGUAGE(PHP) && language == BPF_INTERPRETED_PHP)
		php_walk_out(k, tid);
	else if (HAS_LANGUAGE(RUBY) && language == BPF_INTERPRETED_RUBY)
		ruby_walk_out(k, task);
	else if (HAS_LANGUAGE(PERL) && language == BPF_INTERPRETED_PERL)
		perl_walk_out(k, task, tid);
	else if (HAS_LANGUAGE(GO) && language == BPF_INTERPRETED_GO)
		go_walk_out(k, task);
#ifndef READ_ASLEEP
	else if (HAS_LANGUAGE(JAVASCRIPT) && language == BPF_INTERPRETED_JAVASCRIPT)
		javascript_walk_out(k, tid);
#endif
	nr = k->stack->nr;
	return nr <= BPF_INTERPRETED_MAX_FRAMES ? nr : 0;
}
