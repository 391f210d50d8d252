/*
 * An index of functions, sorted by address, leads to their rows, which are of several widths.
 * Version 3 moved what is not searched for from the index to the rows, and has functions whose rows
 * are locations of any register ("flexible").
 */
#include "cfi/sframe.h"

#include "base/cursor.h"
#include "base/order.h"

enum {
	MAGIC = 0xdee2,
	HEADER_BYTES = 28,
	FLAG_SORTED = 1,
	FLAG_RELATIVE = 4,
	ABI_AARCH64 = 2, /* little-endian, like the next */
	ABI_X86_64 = 3,

	/* info of a function */
	WIDTH_BITS = 0xf,
	REPEATS = 0x10, /* its rows are of each of many blocks of the same code */
	SIGNAL = 0x80,
	/* info2 */
	TYPE_BITS = 0x1f,
	TYPE_PLAIN = 0,
	TYPE_FLEXIBLE = 1,

	/* info of a row */
	BY_SP = 1,
	MAX_WORDS = 15,

	/* control of a location */
	BY_REGISTER = 1,
	IN_MEMORY = 2,
	REGISTER_SHIFT = 3,

	MAX_ROWS = 1 << 16, /* of a function, that are looked at */
};

static const uint8_t entry_bytes[] = {[1] = 17, 20, 16};

struct function {
	uint64_t start, len; /* addresses */
	uint64_t rows;       /* offset in the table */
	uint64_t nr_rows;
	uint8_t info, type, block_bytes;
};

struct row {
	uint8_t info;
	size_t nr;
	int32_t word[MAX_WORDS];
};

bool cfi_sframe_init(struct cfi_sframe *s, const uint8_t *data, size_t len, uint64_t address)
{
	uint8_t version, flags, abi, extra;
	uint64_t functions, rows, nr;
	struct cursor c;
	int8_t ra_off;

	*s = (struct cfi_sframe){0};
	cursor_init(&c, data, len);
	if (cursor_le16(&c) != MAGIC)
		return false;
	version = cursor_u8(&c);
	flags = cursor_u8(&c);
	abi = cursor_u8(&c);
	cursor_skip(&c, 1); /* where frame pointers are: no machine has one place for them */
	ra_off = (int8_t)cursor_u8(&c);
	extra = cursor_u8(&c);
	nr = cursor_le32(&c);
	cursor_skip(&c, 2 * sizeof(uint32_t));
	functions = HEADER_BYTES + extra + (uint64_t)cursor_le32(&c);
	rows = HEADER_BYTES + extra + (uint64_t)cursor_le32(&c);
	if (!cursor_ok(&c) || !version || version >= sizeof(entry_bytes) ||
	    !(flags & FLAG_SORTED) || (abi != ABI_X86_64 && abi != ABI_AARCH64) ||
	    functions > len || rows > len || nr > (len - functions) / entry_bytes[version])
		return false;
	*s = (struct cfi_sframe){
	    .data = data,
	    .len = len,
	    .address = address,
	    .machine = abi == ABI_X86_64 ? &cfi_machine_x86_64 : &cfi_machine_aarch64,
	    .version = version,
	    .is_relative = flags & FLAG_RELATIVE,
	    .ra_off = ra_off,
	    .functions = functions,
	    .rows = rows,
	    .nr_functions = nr,
	};
	return true;
}

static void move_to(const struct cfi_sframe *s, uint64_t offset, struct cursor *c)
{
	cursor_init(c, s->data, s->len);
	cursor_skip(c, offset);
}

/* A function's address, the first field of its entry, which is at the offset. */
static uint64_t read_start(const struct cfi_sframe *s, uint64_t offset, struct cursor *c)
{
	move_to(s, offset, c);
	return s->address + (s->is_relative ? offset : 0) +
	       (s->version < 3 ? (uint64_t)(int32_t)cursor_le32(c) : cursor_le64(c));
}

static uint64_t start_of(const struct cfi_sframe *s, size_t i)
{
	struct cursor c;

	return read_start(s, s->functions + i * entry_bytes[s->version], &c);
}

static bool read_function(const struct cfi_sframe *s, size_t i, struct function *f)
{
	struct cursor c;

	*f = (struct function){0};
	f->start = read_start(s, s->functions + i * entry_bytes[s->version], &c);
	f->len = cursor_le32(&c);
	f->rows = s->rows + cursor_le32(&c);
	if (s->version < 3) {
		f->nr_rows = cursor_le32(&c);
		f->info = cursor_u8(&c);
		f->block_bytes = s->version < 2 ? 0 : cursor_u8(&c);
		return cursor_ok(&c);
	}
	move_to(s, f->rows, &c);
	f->nr_rows = cursor_le16(&c);
	f->info = cursor_u8(&c);
	f->type = cursor_u8(&c) & TYPE_BITS;
	f->block_bytes = cursor_u8(&c);
	f->rows = s->len - c.left;
	return cursor_ok(&c);
}

/* 1, 2 or 4 bytes, by the logarithm of the width. */
static uint32_t read_number(struct cursor *c, unsigned width)
{
	return width == 0 ? cursor_u8(c) : width == 1 ? cursor_le16(c) : cursor_le32(c);
}

static int32_t read_signed(struct cursor *c, unsigned width)
{
	const uint32_t v = read_number(c, width);

	return width == 0 ? (int8_t)v : width == 1 ? (int16_t)v : (int32_t)v;
}

static bool read_row(struct cursor *c, struct row *out)
{
	unsigned width;

	out->info = cursor_u8(c);
	out->nr = out->info >> 1 & 0xf;
	width = out->info >> 5 & 3;
	for (size_t i = 0; i < out->nr && width < 3; i++)
		out->word[i] = read_signed(c, width);
	return cursor_ok(c) && width < 3;
}

/* The last row that begins at or before the address. */
static bool find_row(const struct cfi_sframe *s, const struct function *f, uint64_t address,
		     struct row *out)
{
	const unsigned width = f->info & WIDTH_BITS;
	uint64_t at = address - f->start;
	bool is_found = false;
	struct row row;
	struct cursor c;

	if (width > 2 || (f->info & REPEATS && !f->block_bytes))
		return false;
	if (f->info & REPEATS)
		at %= f->block_bytes;
	move_to(s, f->rows, &c);
	for (uint64_t i = 0; i < f->nr_rows && i < MAX_ROWS; i++) {
		if (read_number(&c, width) > at || !read_row(&c, &row))
			break;
		*out = row;
		is_found = true;
	}
	return is_found && cursor_ok(&c);
}

static struct cfi_rule saved(int64_t off)
{
	return (struct cfi_rule){.kind = CFI_RULE_SAVED, .off = off};
}

/* The words: the CFA, the return address if the table's head does not say where it is, the frame
 * pointer if it is saved. */
static bool set_plain(const struct cfi_sframe *s, const struct row *r, struct cfi_rules *out)
{
	const struct cfi_machine *m = s->machine;
	size_t i = 1;

	out->cfa = (struct cfi_rule){
	    .kind = CFI_RULE_REG, .off = r->info & BY_SP ? m->sp : m->fp, .plus = r->word[0]};
	if (!s->ra_off && i < r->nr)
		out->reg[m->ra] = saved(r->word[i++]);
	if (i < r->nr)
		out->reg[m->fp] = saved(r->word[i++]);
	return i == r->nr;
}

/* A location: two words, or a 0, which says nothing. False: it is of no known form. */
static bool set_location(const struct row *r, size_t *i, bool is_cfa, struct cfi_rule *out)
{
	const uint32_t control = *i < r->nr ? (uint32_t)r->word[(*i)++] : 0;
	int32_t off;

	if (!control)
		return !is_cfa;
	if (*i == r->nr || (is_cfa && !(control & BY_REGISTER)))
		return false;
	off = r->word[(*i)++];
	if (control & BY_REGISTER)
		*out =
		    (struct cfi_rule){.kind = control & IN_MEMORY ? CFI_RULE_LOADED : CFI_RULE_REG,
				      .off = control >> REGISTER_SHIFT,
				      .plus = off};
	else
		*out = (struct cfi_rule){
		    .kind = control & IN_MEMORY ? CFI_RULE_SAVED : CFI_RULE_CFA, .off = off};
	return true;
}

static bool set_flexible(const struct cfi_sframe *s, const struct row *r, struct cfi_rules *out)
{
	size_t i = 0;

	return set_location(r, &i, true, &out->cfa) &&
	       set_location(r, &i, false, &out->reg[s->machine->ra]) &&
	       set_location(r, &i, false, &out->reg[s->machine->fp]) && i == r->nr;
}

static bool set_rules(const struct cfi_sframe *s, const struct function *f, const struct row *r,
		      struct cfi_rules *out)
{
	const struct cfi_machine *m = s->machine;

	*out = (struct cfi_rules){.ra = m->ra, .is_signal = f->info & SIGNAL};
	for (unsigned reg = 0; reg < m->nr_regs; reg++)
		if (reg != m->sp)
			out->reg[reg].kind = CFI_RULE_LOST;
	if (!r->nr) { /* nobody has called it */
		out->cfa = (struct cfi_rule){.kind = CFI_RULE_REG, .off = m->sp};
		return true;
	}
	out->reg[m->fp].kind = CFI_RULE_SAME;
	out->reg[m->ra].kind = CFI_RULE_SAME;
	if (s->ra_off)
		out->reg[m->ra] = saved(s->ra_off);
	if (f->type == TYPE_FLEXIBLE)
		return set_flexible(s, r, out);
	return f->type == TYPE_PLAIN && set_plain(s, r, out);
}

bool cfi_sframe_rules(const struct cfi_sframe *s, const struct cfi_machine *m, uint64_t address,
		      struct cfi_rules *out)
{
	struct function f;
	struct row r;
	size_t next;

	if (!s->data || s->machine != m)
		return false;
	next = ORDER_FIRST(i, s->nr_functions, start_of(s, i) > address);
	return next && read_function(s, next - 1, &f) && address - f.start < f.len &&
	       find_row(s, &f, address, &r) && set_rules(s, &f, &r, out);
}
