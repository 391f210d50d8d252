/*
 * A pass over the code of each function, beside the sampled addresses in it; then the targets of
 * its jumps.
 */
#include "annotate/code.h"

#include "annotate/kernel.h"
#include "annotate/slots.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "elf/file.h"
#include "symbol/symbols.h"
#include "symbol/word.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { NAME_BYTES = 512, ROWS_PER_LOOK = 256 };

static const size_t max_text_bytes = (size_t)1 << 30;

/* One function that has some of the addresses. */
struct part {
	struct annotate_code *c;
	const struct annotate_wanted *w;
	struct symbol_code code;
	bool is_known; /* code is valid */
	size_t at;     /* the next address */
	size_t first;  /* of its rows */
	uint64_t nr_rows, since_ns;
	bool has_time;
};

static bool has_place(const struct annotate_wanted *w, size_t i, struct symbol_code *out)
{
	if (i >= w->nr)
		return false;
	if (!w->kernel)
		return symbols_code(w->symbols, w->object, w->address[i], out);
	*out = (struct symbol_code){.address = w->address[i]};
	return symbols_kernel_extent(w->symbols, out->address, &out->start, &out->end);
}

/* The function at an address. NULL: none has a name. */
static const struct symbol_function *find_function(const struct part *p, uint64_t address,
						   uint64_t *start)
{
	const struct annotate_wanted *w = p->w;
	uint64_t end;

	if (!w->kernel)
		return symbols_code_function(w->symbols, &p->code, address, start);
	return symbols_kernel_extent(w->symbols, address, start, &end)
		   ? symbols_kernel(w->symbols, address, UINT64_MAX) /* of no module's time */
		   : NULL;
}

static void set_lines(const struct part *p, struct annotate_row *row)
{
	struct symbol_line line[SYMBOL_MAX_LINES];
	size_t nr = 0;

	if (p->is_known && !p->w->kernel)
		nr = symbols_code_lines(p->w->symbols, &p->code, row->address, line,
					SYMBOL_MAX_LINES);
	else if (!p->w->object)
		nr = symbols_interpreted_line(p->w->symbols, row->address, line);
	if (!nr)
		return;
	row->inlined = nr > 1 ? line[0].function->name : NULL;
	row->at = (struct annotate_line){line[0].file, line[0].line};
	row->own = (struct annotate_line){line[nr - 1].file, line[nr - 1].line};
}

/* NULL: no memory. */
static struct annotate_row *add_row(const struct part *p, uint64_t address)
{
	struct annotate_code *c = p->c;
	struct annotate_row *row = MEM_ADD(c->row, c->nr, c->room);

	if (!row)
		return NULL;
	*row = (struct annotate_row){.address = address, .sample = ANNOTATE_NO_SAMPLE};
	set_lines(p, row);
	return row;
}

/* The address in the file of the sampled address i, if it is in the function before end. */
static bool find_sampled(const struct part *p, size_t i, uint64_t end, uint64_t *address)
{
	struct symbol_code s;

	if (!has_place(p->w, i, &s) || !symbol_code_is_same(&s, &p->code) || s.address >= end)
		return false;
	*address = s.address;
	return true;
}

/* Adds rows of sampled addresses before end, at which no instruction begins. */
static int add_odd(struct part *p, uint64_t end)
{
	uint64_t address;

	while (find_sampled(p, p->at, end, &address)) {
		struct annotate_row *row = add_row(p, address);

		if (!row)
			return -ENOMEM;
		row->sample = p->w->first + (uint32_t)p->at++;
	}
	return 0;
}

/* The instruction and the name of what is in the slot that it reads. */
static const char *make_slot_text(const struct part *p, const char *text, uint64_t slot)
{
	const char *name =
	    p->code.file ? symbols_code_slot(p->w->symbols, p->w->object, slot) : NULL;

	return name ? arena_printf(&p->c->texts, "%s <%.*s@got>", text, NAME_BYTES, name)
		    : arena_strdup(&p->c->texts, text);
}

/* The instruction and the name of what it calls, or jumps to in another function. */
static const char *make_text(const struct part *p, const struct annotate_instruction *i)
{
	const struct symbol_function *fn;
	uint64_t start;
	char name[NAME_BYTES];

	if (i->has_slot)
		return make_slot_text(p, i->text, i->slot);
	if (!i->has_target ||
	    (i->flow == ANNOTATE_JUMP && i->target >= p->code.start && i->target < p->code.end))
		return arena_strdup(&p->c->texts, i->text);
	fn = find_function(p, i->target, &start);
	if (!fn)
		return arena_strdup(&p->c->texts, i->text);
	if (i->target == start)
		snprintf(name, sizeof(name), "%s", fn->name);
	else
		snprintf(name, sizeof(name), "%.*s+0x%" PRIx64, NAME_BYTES - 32, fn->name,
			 i->target - start);
	return arena_printf(&p->c->texts, "%s <%s>", i->text, name);
}

static int add_instruction(struct part *p, uint64_t address, const struct annotate_instruction *i)
{
	struct annotate_row *row = add_row(p, address);
	uint64_t sampled;

	if (!row)
		return -ENOMEM;
	row->flow = i->flow;
	row->has_target = i->has_target;
	row->target = i->target;
	row->is_inside = i->has_target && i->target >= p->code.start && i->target < p->code.end;
	row->text = make_text(p, i);
	if (find_sampled(p, p->at, address + 1, &sampled))
		row->sample = p->w->first + (uint32_t)p->at++;
	return row->text ? 0 : -ENOMEM;
}

/* False: there are no instructions, for the reason in *e. */
static bool get_decoder(struct part *p, struct err *e)
{
	const uint16_t machine =
	    p->w->kernel ? annotate_kernel_machine(p->w->kernel) : p->code.machine;
	struct annotate_code *c = p->c;

	if (c->decoder && c->machine == machine)
		return true;
	annotate_decoder_close(c->decoder);
	c->decoder = NULL;
	c->machine = machine;
	return annotate_decoder_open(machine, &c->decoder, e) == 0;
}

/* Charges the time of the rows so far to the file. */
static bool may_go_on(struct part *p)
{
	uint64_t now_ns;

	if (p->nr_rows++ % ROWS_PER_LOOK || !p->code.file)
		return true;
	now_ns = clock_thread_cpu_ns();
	p->has_time =
	    p->has_time && elf_file_spend(p->code.file, p->since_ns ? now_ns - p->since_ns : 0);
	p->since_ns = now_ns;
	return p->has_time;
}

/* The row of the instruction at an address; NULL: none begins there. */
static struct annotate_row *find_row(const struct part *p, uint64_t address)
{
	const size_t at = p->first + ORDER_FIRST(i, p->c->nr - p->first,
						 p->c->row[p->first + i].address >= address);

	return at < p->c->nr && p->c->row[at].address == address ? &p->c->row[at] : NULL;
}

static void count_jumps(const struct part *p)
{
	for (size_t i = p->first; i < p->c->nr; i++) {
		const struct annotate_row *from = &p->c->row[i];
		struct annotate_row *to = from->flow == ANNOTATE_JUMP && from->is_inside
					      ? find_row(p, from->target)
					      : NULL;

		if (to)
			to->nr_from++;
	}
}

/* Of arm64, whose instructions have a slot's address only together. Where a jump leads, registers
 * may have come from elsewhere. */
static int name_slots(const struct part *p, const uint8_t *bytes, size_t len)
{
	struct annotate_slots slots = {.has_page = 0};

	for (size_t i = p->first; i < p->c->nr; i++) {
		struct annotate_row *row = &p->c->row[i];
		const uint64_t at = row->address - p->code.start;
		uint64_t slot;

		if (!row->text || at > len || len - at < 4)
			continue;
		if (row->nr_from)
			slots = (struct annotate_slots){.has_page = 0};
		if (annotate_slots_follow(&slots, word_32(bytes + at), row->address, &slot))
			row->text = make_slot_text(p, row->text, slot);
		if (!row->text)
			return -ENOMEM;
	}
	return 0;
}

/* Reads code that is in no file in memory: of the kernel, or of a dump. */
static size_t read_code(const struct part *p, void *to, size_t max)
{
	return p->w->kernel ? annotate_kernel_read(p->w->kernel, p->code.start, to, max)
			    : symbols_code_read(p->w->symbols, &p->code, to, max);
}

static int add_instructions(struct part *p)
{
	const uint64_t size = p->code.end - p->code.start;
	const size_t max = size < ANNOTATE_MAX_CODE_BYTES ? (size_t)size : ANNOTATE_MAX_CODE_BYTES;
	size_t len = 0;
	const uint8_t *bytes;
	MEM_AUTO uint8_t *copy = NULL;
	int rc = 0;

	if (!p->code.file) {
		bytes = copy = mem_alloc(max);
		len = copy ? read_code(p, copy, max) : 0;
	} else {
		bytes = elf_file_bytes(p->code.file, p->code.start, max, &len);
	}

	for (size_t at = 0; bytes && at < len && rc == 0 && may_go_on(p);) {
		struct annotate_instruction i;

		annotate_decode(p->c->decoder, bytes + at, len - at, p->code.start + at, &i);
		rc = add_instruction(p, p->code.start + at, &i);
		at += i.len;
		if (rc == 0)
			rc = add_odd(p, p->code.start + at);
	}
	if (rc || !bytes)
		return rc;
	count_jumps(p);
	return !p->code.file || p->c->machine != EM_AARCH64 ? 0 : name_slots(p, bytes, len);
}

/* Addresses of which no code is known, up to one in a known function. */
static int add_unknown(struct part *p)
{
	struct symbol_code next;

	do {
		struct annotate_row *row = add_row(p, p->w->address[p->at]);

		if (!row)
			return -ENOMEM;
		row->sample = p->w->first + (uint32_t)p->at++;
	} while (p->at < p->w->nr && !has_place(p->w, p->at, &next));
	return 0;
}

static int add_known(struct part *p, struct err *e)
{
	int rc = get_decoder(p, e) ? add_instructions(p) : 0;

	return rc ?: add_odd(p, UINT64_MAX);
}

int annotate_code_add(struct annotate_code *c, const struct annotate_wanted *w, struct err *e)
{
	struct part p = {.c = c, .w = w, .has_time = true};
	int rc = 0;

	c->texts.max_bytes = max_text_bytes;
	while (p.at < w->nr && rc == 0) {
		p.first = c->nr;
		p.is_known = has_place(w, p.at, &p.code);
		rc = p.is_known ? add_known(&p, e) : add_unknown(&p);
	}
	return rc;
}

void annotate_code_reset(struct annotate_code *c)
{
	c->nr = 0;
	arena_fini(&c->texts);
}

void annotate_code_fini(struct annotate_code *c)
{
	annotate_code_reset(c);
	annotate_decoder_close(c->decoder);
	mem_free(c->row);
	*c = (struct annotate_code){.nr = 0};
}
