/*
 * Command lines: each is that of the life in which it was read from start to end.
 */
#include "base/mem.h"
#include "base/str.h"
#include "profile/processes_internal.h"
#include "trace/trace.h"

#include <errno.h>
#include <string.h>

static const char cut[] = " \xe2\x80\xa6";

int profile_cmdlines_init(struct dict *texts)
{
	dict_init_texts(texts, sizeof(const char *), PROFILE_MAX_CMDLINES, PROFILE_TEXT_MAX_BYTES);
	if (dict_add(texts, "[unknown]") == 0)
		return 0;
	dict_fini(texts);
	return -ENOMEM;
}

/* The arguments joined by spaces, without the NULs at the end. */
static uint32_t add_text(struct dict *texts, const struct trace_cmdline *c)
{
	char text[TRACE_CMDLINE_BYTES + sizeof(cut)];
	size_t len = c->len;

	memcpy(text, c->text, len);
	while (len && !text[len - 1])
		len--;
	for (size_t i = 0; i < len; i++)
		if (!text[i])
			text[i] = ' ';
	str_clean(text, len);
	if (c->flags & TRACE_CMDLINE_IS_CUT) {
		memcpy(text + len, cut, sizeof(cut) - 1);
		len += sizeof(cut) - 1;
	}
	return len ? dict_add_text(texts, text, len) : 0;
}

int profile_cmdlines_add(struct dict *texts, struct profile_gathered *g,
			 const struct trace_cmdline *c)
{
	uint32_t text = add_text(texts, c);
	struct profile_cmdline_record *r;

	if (text == DICT_NONE || g->nr_cmdlines == PROFILE_MAX_CHANGES)
		return texts->nr == PROFILE_MAX_CMDLINES || text != DICT_NONE ? -EFBIG : -ENOMEM;
	r = MEM_ADD(g->cmdlines, g->nr_cmdlines, g->cmdlines_room);
	if (!r)
		return -ENOMEM;
	*r = (struct profile_cmdline_record){
	    .from_ns = c->from_ns,
	    .to_ns = c->to_ns,
	    .pid = c->pid,
	    .text = text,
	    .is_command = c->flags & TRACE_CMDLINE_IS_COMMAND,
	};
	return 0;
}

/* The first program that the pid exec'd. PROFILE_NONE: it did not exec, or this is not the first
 * call for the pid: a file with many commands of one pid must not search its lives for each. */
static uint32_t first_exec(const struct profile_processes *p, uint32_t pid)
{
	size_t i = profile_lives_until(p, pid, 0), nr = p->lives ? p->nr_lives : 0;

	if (i < nr && p->lives[i].process.pid == pid && p->lives[i].has_command)
		return PROFILE_NONE;
	for (size_t first = i; i < nr && p->lives[i].process.pid == pid; i++) {
		p->lives[first].has_command = true;
		if (p->lives[i].is_exec)
			return (uint32_t)i;
	}
	return PROFILE_NONE;
}

/* The life that the reading is of; PROFILE_NONE: not known, or of none from start to end. */
static uint32_t life_of(const struct profile_processes *p, const struct profile_cmdline_record *r)
{
	uint32_t life;

	if (r->is_command)
		return first_exec(p, r->pid);
	life = profile_life_at(p, r->pid, r->to_ns);
	return life == profile_life_at(p, r->pid, r->from_ns) ? life : PROFILE_NONE;
}

/* What was read takes precedence over the command: the program may be the interpreter of a script.
 * A fork begins after its parent, so the walk ends; no life is passed twice without an answer. */
void profile_cmdlines_assign(struct profile_processes *p, const struct profile_gathered *g)
{
	for (size_t i = 0; i < g->nr_cmdlines; i++) {
		const struct profile_cmdline_record *r = &g->cmdlines[i];
		uint32_t life = life_of(p, r);
		struct profile_process *of = life == PROFILE_NONE ? NULL : &p->lives[life].process;

		if (of && (!of->cmdline || !r->is_command))
			of->cmdline = r->text;
	}
	for (uint32_t i = 0; p->lives && i < p->nr_lives; i++) {
		uint32_t from = i, to = i;

		while (p->lives[from].is_forked && !p->lives[from].has_cmdline &&
		       !p->lives[from].process.cmdline && p->lives[from].origin != PROFILE_NONE)
			from = p->lives[from].origin;
		for (; to != from; to = p->lives[to].origin) {
			p->lives[to].process.cmdline = p->lives[from].process.cmdline;
			p->lives[to].has_cmdline = true;
		}
	}
}
