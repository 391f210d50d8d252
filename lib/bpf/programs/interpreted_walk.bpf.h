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

#include "bpf/programs/interpreted_javascript.bpf.h"
#include "bpf/programs/interpreted_php.bpf.h"
#include "bpf/programs/interpreted_python.bpf.h"

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
#ifndef READ_ASLEEP
	else if (HAS_LANGUAGE(JAVASCRIPT) && language == BPF_INTERPRETED_JAVASCRIPT)
		javascript_walk_out(k, tid);
#endif
	nr = k->stack->nr;
	return nr <= BPF_INTERPRETED_MAX_FRAMES ? nr : 0;
}
