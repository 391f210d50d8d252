/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The walk over the frames of a thread, for programs that have included what interpreted.bpf.h has
 * before it. Included once for the running thread, and once more, with other names, for one that
 * is asleep (interpreted_asleep.bpf.h): what may sleep can be called by few programs.
 */

static bool load(const struct interpreter_walk *k, void *to, __u32 bytes, __u64 at)
{
#ifdef READ_ASLEEP
	return READ_ASLEEP(k->asleep, to, bytes, at);
#else
	return bpf_probe_read_user(to, bytes, (void *)at) == 0;
#endif
}

/* Copies a str. A long one keeps its end, which tells more of a path. */
static bool copy_text(const struct interpreter_walk *k, __u64 at, struct bpf_interpreted_text *out,
		      __u8 *to)
{
	const struct bpf_interpreted_process *p = k->p;
	__u64 length, bytes, from;
	__u32 state, width, most;

	if (!load(k, &length, sizeof(length), at + p->at.text_length) ||
	    !load(k, &state, sizeof(state), at + p->at.text_state))
		return false;
	width = bpf_interpreted_width(state);
	if (!width || length > BPF_INTERPRETED_MAX_LENGTH)
		return false;
	from = at + (bpf_interpreted_is_ascii(state) ? p->at.text_ascii : p->at.text_other);
	bytes = length * width;
	most = (BPF_INTERPRETED_NAME_BYTES - 1) & ~3u;
	if (bytes > most) {
		from += bytes - most;
		bytes = most;
	}
	bytes &= BPF_INTERPRETED_NAME_BYTES - 1;
	out->bytes = bytes;
	out->width = width;
	return load(k, to, bytes, from);
}

/* Says once what code is called. False: not all of it can be read. */
static bool define(struct interpreter_walk *k, __u64 number)
{
	const struct bpf_interpreted_process *p = k->p;
	struct bpf_interpreted_code *c = &k->w->code;
	const __u8 *object = k->w->object;
	const __u32 said = 1;
	__u64 lines = bpf_interpreted_word(object, p->at.code_lines), bytes;

	c->message = BPF_INTERPRETED_CODE;
	c->process = k->process;
	c->code = number;
	c->first_line =
	    *(const __u32 *)(object + (p->at.code_first_line & (BPF_INTERPRETED_OBJECT_BYTES - 4)));
	c->lines_bytes = c->is_cut = 0;
	c->line_table = p->at.line_table;
	if (!copy_text(k, bpf_interpreted_word(object, p->at.code_file), &c->file, c->file_text) ||
	    !copy_text(k, bpf_interpreted_word(object, p->at.code_name), &c->name, c->name_text) ||
	    !load(k, &bytes, sizeof(bytes), lines + p->at.bytes_length))
		return false;
	if (bytes > BPF_INTERPRETED_LINES_BYTES - 1) {
		bytes = BPF_INTERPRETED_LINES_BYTES - 1;
		c->is_cut = 1;
	}
	bytes &= BPF_INTERPRETED_LINES_BYTES - 1;
	if (!load(k, c->lines, bytes, lines + p->at.bytes_data))
		return false;
	c->lines_bytes = bytes;
	if (bpf_ringbuf_output(&messages, c,
			       __builtin_offsetof(struct bpf_interpreted_code, lines) + bytes,
			       0) == 0)
		bpf_map_update_elem(&seen, &number, &said, BPF_ANY);
	return true;
}

/* The number of the code at an address; 0: there is none. */
static __u64 code_number(struct interpreter_walk *k, __u64 code)
{
	const struct bpf_interpreted_process *p = k->p;
	__u8 *object = k->w->object;
	struct bpf_interpreted_place place = {
	    .space = k->space, .address = code, .process = k->process};
	__u64 number;
	__u32 *is_said;
	__u32 bytes = p->at.code_bytes & (BPF_INTERPRETED_OBJECT_BYTES - 1);

	if (!load(k, object, bytes, code) ||
	    bpf_interpreted_word(object, p->at.object_type) != p->code_type)
		return 0;
	/* not in memory: then without, and from the recorder (interpreters/far.c), which must
	 * come to the same number */
	if (!load(k, &place.hash, sizeof(place.hash),
		  bpf_interpreted_word(object, p->at.code_name) + p->at.text_hash))
		place.hash = 0;
	number = bpf_interpreted_number(&place, object, &p->at);
	is_said = bpf_map_lookup_elem(&seen, &number);
	if (!(is_said && *is_said) && !define(k, number) && !is_said)
		ask_for_code(k, number, code);
	return number;
}

/* Goes on in the call around this one. False: it cannot be read. */
static bool leave_call(struct interpreter_walk *k)
{
	const struct bpf_interpreted_offsets *at = &k->p->at;

	k->is_later = true;
	k->frame = 0;
	return at->frames_current != BPF_INTERPRETED_NOWHERE &&
	       load(k, &k->calls, sizeof(k->calls), k->calls + at->frames_previous) && k->calls &&
	       load(k, &k->frame, sizeof(k->frame), k->calls + at->frames_current);
}

/* The interpreter links a call before it says which frame is its innermost: what stands there then
 * is what was on the stack. Such a call is as if it had not begun. */
static long give_up(struct interpreter_walk *k)
{
	if (!k->is_later && leave_call(k)) {
		k->stack->nr = 0;
		return 0;
	}
	k->stack->is_partial = 1;
	return 1;
}

/* Goes on with the frame that called, after that by which native code called the interpreter. */
static long leave_entry(struct interpreter_walk *k, __u64 previous)
{
	const bool is_later = k->is_later;

	k->frame = previous;
	if (k->p->at.frames_current == BPF_INTERPRETED_NOWHERE)
		return 0;
	if (leave_call(k) && k->frame == previous)
		return 0;
	if (is_later) {
		k->stack->is_partial = 1;
		return 1;
	}
	k->stack->nr = 0;
	return 0;
}

static long step_out(__u32 i, struct interpreter_walk *k)
{
	const struct bpf_interpreted_process *p = k->p;
	struct bpf_interpreted_stack *s = k->stack;
	const __u8 *frame = k->w->frame;
	__u32 nr = s->nr & (BPF_INTERPRETED_MAX_FRAMES - 1);
	__u64 code;

	if (!k->frame)
		return 1;
	if (s->nr >= BPF_INTERPRETED_MAX_FRAMES) {
		s->is_partial = 1;
		return 1;
	}
	if (!load(k, k->w->frame, p->at.frame_bytes & (FRAME_BYTES - 1), k->frame))
		return give_up(k);
	if (is_shim(p, frame)) {
		if (s->nr)
			s->frame[(nr - 1) & (BPF_INTERPRETED_MAX_FRAMES - 1)].flags =
			    BPF_INTERPRETED_ENTRY;
		return leave_entry(k, word_of_frame(frame, p->at.frame_previous));
	}
	code = word_of_frame(frame, p->at.frame_code) & ~7ull;
	s->frame[nr].code = code_number(k, code);
	if (!s->frame[nr].code)
		return give_up(k);
	s->frame[nr].instruction = instruction_of(p, frame, code);
	s->frame[nr].flags = is_entry(p, frame) ? BPF_INTERPRETED_ENTRY : 0;
	s->nr = nr + 1;
	k->frame = word_of_frame(frame, p->at.frame_previous);
	return s->frame[nr].flags ? leave_entry(k, k->frame) : 0;
}

static long search_thread(__u32 i, struct thread_search *s)
{
	__u64 number;

	if (!s->state || !load(s->k, &number, sizeof(number), s->state + s->k->p->at.thread_number))
		return 1;
	if (number == s->number) {
		s->found = s->state;
		return 1;
	}
	return !load(s->k, &s->state, sizeof(s->state), s->state + s->k->p->at.thread_next);
}

static long search_interpreter(__u32 i, struct thread_search *s)
{
	const struct bpf_interpreted_offsets *at = &s->k->p->at;

	if (!s->interpreter ||
	    !load(s->k, &s->state, sizeof(s->state), s->interpreter + at->interpreter_threads))
		return 1;
	bpf_loop(MAX_THREADS, search_thread, s, 0);
	if (s->found)
		return 1;
	return !load(s->k, &s->interpreter, sizeof(s->interpreter),
		     s->interpreter + at->interpreter_next);
}

static __u64 find_thread(const struct interpreter_walk *k, __u64 number)
{
	struct thread_search s = {.k = k, .number = number};
	const struct bpf_interpreted_process *p = k->p;

	if (load(k, &s.interpreter, sizeof(s.interpreter), p->runtime + p->at.runtime_interpreters))
		bpf_loop(MAX_INTERPRETERS, search_interpreter, &s, 0);
	return s.found;
}

/* The state of the thread, which knows itself by the number that pthread_self returns. */
static __u64 state_of(const struct interpreter_walk *k, struct task_struct___interpreted *task,
		      __u32 tid)
{
	__u64 number = BPF_CORE_READ(task, thread.fsbase), now_number = 0;
	struct thread *t = bpf_map_lookup_elem(&threads, &tid);
	struct thread fresh = {.space = k->space};

	if (t && t->space == k->space) {
		if (!t->state && bpf_ktime_get_ns() < t->until_ns)
			return 0;
		if (t->state &&
		    load(k, &now_number, sizeof(now_number), t->state + k->p->at.thread_number) &&
		    now_number == number)
			return t->state;
	}
	fresh.state = find_thread(k, number);
	fresh.until_ns = bpf_ktime_get_ns() + RETRY_NS;
	bpf_map_update_elem(&threads, &tid, &fresh, BPF_ANY);
	return fresh.state;
}

/* The innermost one. */
static bool find_frame(struct interpreter_walk *k, __u64 state)
{
	const struct bpf_interpreted_offsets *at = &k->p->at;

	if (!load(k, &k->calls, sizeof(k->calls), state + at->thread_frames))
		return false;
	k->frame = k->calls;
	return at->frames_current == BPF_INTERPRETED_NOWHERE ||
	       load(k, &k->frame, sizeof(k->frame), k->calls + at->frames_current);
}

/* Fills k->stack. Returns the number of frames. */
static __u32 walk_out(struct interpreter_walk *k, struct task_struct___interpreted *task, __u32 tid)
{
	__u64 state = state_of(k, task, tid);
	__u32 nr;

	if (!state || !find_frame(k, state))
		return 0;
	k->stack->kind = BPF_INTERPRETED_PYTHON;
	k->stack->nr = k->stack->is_partial = k->stack->pad = 0;
	k->stack->loop_begin = k->p->loop_begin;
	k->stack->loop_end = k->p->loop_end;
	bpf_loop(BPF_INTERPRETED_MAX_FRAMES, step_out, k, 0);
	nr = k->stack->nr;
	return nr <= BPF_INTERPRETED_MAX_FRAMES ? nr : 0;
}
