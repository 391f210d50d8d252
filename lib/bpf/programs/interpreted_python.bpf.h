/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The walk over the frames of CPython, from the state of the thread, which is found by the number
 * that pthread_self returns.
 */
#ifndef READ_ASLEEP
enum {
	MAX_THREADS = 4096,
	MAX_INTERPRETERS = 16,
	FRAME_BYTES = 128,
};

struct python_search {
	const struct interpreter_walk *k;
	__u64 interpreter, state, number, found;
};

static __u64 python_word_of_frame(const __u8 *frame, __u16 at)
{
	return *(const __u64 *)(frame + (at & (FRAME_BYTES - 8)));
}

/* A frame around those of one call, which stands for nothing else. */
static bool python_is_shim(const struct bpf_interpreted_process *p, const __u8 *frame)
{
	return p->python.at.frame_owner != BPF_PYTHON_NOWHERE &&
	       frame[p->python.at.frame_owner & (FRAME_BYTES - 1)] >= p->python.at.owner_shim;
}

static bool python_is_entry(const struct bpf_interpreted_process *p, const __u8 *frame)
{
	if (p->python.at.frame_entry == BPF_PYTHON_NOWHERE)
		return p->python.at.frame_owner == BPF_PYTHON_NOWHERE;
	return frame[p->python.at.frame_entry & (FRAME_BYTES - 1)];
}

static __s32 python_instruction_of(const struct bpf_interpreted_process *p, const __u8 *frame,
				   __u64 code)
{
	if (p->python.at.frame_reached != BPF_PYTHON_NOWHERE)
		return *(const __s32 *)(frame + (p->python.at.frame_reached & (FRAME_BYTES - 4))) >>
		       (p->python.at.reached_shift & 31);
	return (__s64)(python_word_of_frame(frame, p->python.at.frame_instruction) - code -
		       p->python.at.code_instructions) >>
	       1;
}
#endif

/* Copies a str. A long one keeps its end, which tells more of a path. */
static bool python_copy_text(const struct interpreter_walk *k, __u64 at,
			     struct bpf_interpreted_text *out, __u8 *to)
{
	const struct bpf_interpreted_process *p = k->p;
	__u64 length, bytes, from;
	__u32 state, width, most;

	if (!load(k, &length, sizeof(length), at + p->python.at.text_length) ||
	    !load(k, &state, sizeof(state), at + p->python.at.text_state))
		return false;
	width = bpf_python_width(state);
	if (!width || length > BPF_PYTHON_MAX_LENGTH)
		return false;
	from =
	    at + (bpf_python_is_ascii(state) ? p->python.at.text_ascii : p->python.at.text_other);
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
static bool python_define(struct interpreter_walk *k, __u64 number)
{
	const struct bpf_interpreted_process *p = k->p;
	struct bpf_interpreted_code *c = &k->w->code;
	const __u8 *object = k->w->object;
	__u64 lines = bpf_python_word(object, p->python.at.code_lines), bytes;

	c->message = BPF_INTERPRETED_CODE;
	c->process = k->process;
	c->code = number;
	c->first_line = *(
	    const __u32 *)(object + (p->python.at.code_first_line & (BPF_PYTHON_OBJECT_BYTES - 4)));
	c->lines_bytes = c->is_cut = 0;
	c->line_table = p->python.at.line_table;
	c->language = BPF_INTERPRETED_PYTHON;
	if (!python_copy_text(k, bpf_python_word(object, p->python.at.code_file), &c->file,
			      c->file_text) ||
	    !python_copy_text(k, bpf_python_word(object, p->python.at.code_name), &c->name,
			      c->name_text) ||
	    !load(k, &bytes, sizeof(bytes), lines + p->python.at.bytes_length))
		return false;
	if (bytes > BPF_INTERPRETED_LINES_BYTES - 1) {
		bytes = BPF_INTERPRETED_LINES_BYTES - 1;
		c->is_cut = 1;
	}
	bytes &= BPF_INTERPRETED_LINES_BYTES - 1;
	if (!load(k, c->lines, bytes, lines + p->python.at.bytes_data))
		return false;
	c->lines_bytes = bytes;
	send_code(c);
	return true;
}

/* The number of the code at an address; 0: there is none. */
static __u64 python_code_number(struct interpreter_walk *k, __u64 code)
{
	const struct bpf_interpreted_process *p = k->p;
	__u8 *object = k->w->object;
	struct bpf_python_place place = {.space = k->space, .address = code, .process = k->process};
	__u64 number;
	__u32 *is_said;
	__u32 bytes = p->python.at.code_bytes & (BPF_PYTHON_OBJECT_BYTES - 1);

	if (!load(k, object, bytes, code) ||
	    bpf_python_word(object, p->python.at.object_type) != p->python.code_type)
		return 0;
	/* not in memory: then without, and from the recorder (interpreters/far.c), which must
	 * come to the same number */
	if (!load(k, &place.hash, sizeof(place.hash),
		  bpf_python_word(object, p->python.at.code_name) + p->python.at.text_hash))
		place.hash = 0;
	number = bpf_python_number(&place, object, &p->python.at);
	is_said = bpf_map_lookup_elem(&seen, &number);
	if (!(is_said && *is_said) && !python_define(k, number) && !is_said)
		ask_for_code(k, number, code);
	return number;
}

/* Goes on in the call around this one. False: it cannot be read. */
static bool python_leave_call(struct interpreter_walk *k)
{
	const struct bpf_python_offsets *at = &k->p->python.at;

	k->is_later = true;
	k->frame = 0;
	return at->frames_current != BPF_PYTHON_NOWHERE &&
	       load(k, &k->calls, sizeof(k->calls), k->calls + at->frames_previous) && k->calls &&
	       load(k, &k->frame, sizeof(k->frame), k->calls + at->frames_current);
}

/* The interpreter links a call before it says which frame is its innermost: what stands there then
 * is what was on the stack. Such a call is as if it had not begun. */
static long python_give_up(struct interpreter_walk *k)
{
	if (!k->is_later && python_leave_call(k)) {
		k->stack->nr = 0;
		return 0;
	}
	k->stack->is_partial = 1;
	return 1;
}

/* Goes on with the frame that called, after that by which native code called the interpreter. */
static long python_leave_entry(struct interpreter_walk *k, __u64 previous)
{
	const bool is_later = k->is_later;

	k->frame = previous;
	if (k->p->python.at.frames_current == BPF_PYTHON_NOWHERE)
		return 0;
	if (python_leave_call(k) && k->frame == previous)
		return 0;
	if (is_later) {
		k->stack->is_partial = 1;
		return 1;
	}
	k->stack->nr = 0;
	return 0;
}

static long python_step_out(__u32 i, struct interpreter_walk *k)
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
	if (!load(k, k->w->frame, p->python.at.frame_bytes & (FRAME_BYTES - 1), k->frame))
		return python_give_up(k);
	if (python_is_shim(p, frame)) {
		if (s->nr)
			s->frame[(nr - 1) & (BPF_INTERPRETED_MAX_FRAMES - 1)].flags =
			    BPF_INTERPRETED_ENTRY;
		return python_leave_entry(k,
					  python_word_of_frame(frame, p->python.at.frame_previous));
	}
	code = python_word_of_frame(frame, p->python.at.frame_code) & ~7ull;
	s->frame[nr].code = python_code_number(k, code);
	if (!s->frame[nr].code)
		return python_give_up(k);
	s->frame[nr].instruction = python_instruction_of(p, frame, code);
	s->frame[nr].flags = python_is_entry(p, frame) ? BPF_INTERPRETED_ENTRY : 0;
	s->nr = nr + 1;
	k->frame = python_word_of_frame(frame, p->python.at.frame_previous);
	return s->frame[nr].flags ? python_leave_entry(k, k->frame) : 0;
}

static long python_search_thread(__u32 i, struct python_search *s)
{
	__u64 number;

	if (!s->state ||
	    !load(s->k, &number, sizeof(number), s->state + s->k->p->python.at.thread_number))
		return 1;
	if (number == s->number) {
		s->found = s->state;
		return 1;
	}
	return !load(s->k, &s->state, sizeof(s->state), s->state + s->k->p->python.at.thread_next);
}

static long python_search_interpreter(__u32 i, struct python_search *s)
{
	const struct bpf_python_offsets *at = &s->k->p->python.at;

	if (!s->interpreter ||
	    !load(s->k, &s->state, sizeof(s->state), s->interpreter + at->interpreter_threads))
		return 1;
	bpf_loop(MAX_THREADS, python_search_thread, s, 0);
	if (s->found)
		return 1;
	return !load(s->k, &s->interpreter, sizeof(s->interpreter),
		     s->interpreter + at->interpreter_next);
}

static __u64 python_find_thread(const struct interpreter_walk *k, __u64 number)
{
	struct python_search s = {.k = k, .number = number};
	const struct bpf_interpreted_process *p = k->p;

	if (load(k, &s.interpreter, sizeof(s.interpreter),
		 p->python.runtime + p->python.at.runtime_interpreters))
		bpf_loop(MAX_INTERPRETERS, python_search_interpreter, &s, 0);
	return s.found;
}

/* The state of the thread, which knows itself by the number that pthread_self returns. */
static __u64 python_state_of(const struct interpreter_walk *k,
			     struct task_struct___interpreted *task, __u32 tid)
{
	__u64 number = BPF_CORE_READ(task, thread.fsbase), now_number = 0;
	struct thread *t = bpf_map_lookup_elem(&threads, &tid);
	struct thread fresh = {.space = k->space};

	if (t && t->space == k->space) {
		if (!t->state && bpf_ktime_get_ns() < t->until_ns)
			return 0;
		if (t->state &&
		    load(k, &now_number, sizeof(now_number),
			 t->state + k->p->python.at.thread_number) &&
		    now_number == number)
			return t->state;
	}
	fresh.state = python_find_thread(k, number);
	fresh.until_ns = bpf_ktime_get_ns() + RETRY_NS;
	bpf_map_update_elem(&threads, &tid, &fresh, BPF_ANY);
	return fresh.state;
}

/* The innermost one. */
static bool python_find_frame(struct interpreter_walk *k, __u64 state)
{
	const struct bpf_python_offsets *at = &k->p->python.at;

	if (!load(k, &k->calls, sizeof(k->calls), state + at->thread_frames))
		return false;
	k->frame = k->calls;
	return at->frames_current == BPF_PYTHON_NOWHERE ||
	       load(k, &k->frame, sizeof(k->frame), k->calls + at->frames_current);
}

/* Fills k->stack. */
static void python_walk_out(struct interpreter_walk *k, struct task_struct___interpreted *task,
			    __u32 tid)
{
	__u64 state = python_state_of(k, task, tid);

	if (state && python_find_frame(k, state))
		bpf_loop(BPF_INTERPRETED_MAX_FRAMES, python_step_out, k, 0);
}
