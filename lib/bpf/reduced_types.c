/*
 * One pass over the kernel's types finds which have a name of the program; it reads their names'
 * first bytes, and of functions only if one is looked for. What is kept is numbered in the order in
 * which it is met, and written in that order.
 */
#include "bpf/reduced_types.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <string.h>

enum {
	EACH = 64, /* the place of each so manyth type is stored */
	MAX_BYTES = 16 << 20,
};

/* The parts of BTF. */
struct view {
	const uint8_t *types;
	uint32_t types_len;
	const char *strings; /* each with its end */
	uint32_t strings_len;
};

struct name {
	const char *text; /* not terminated; NULL: a free slot */
	uint32_t len;
	uint32_t out_at; /* among those written; 0: not yet */
	bool is_type;
};

struct reducer {
	struct view kernel;
	struct name *name;    /* by hash; owned, like all below */
	uint64_t may_be[512]; /* a bit for each hash of a name: most of the kernel's have none */
	uint32_t mask;        /* of slots */
	uint32_t *place;      /* of the types EACH, 2 * EACH …: bytes */
	size_t nr_places, places_room;
	uint32_t nr_types;    /* of the kernel */
	uint32_t *new_number; /* by number; 0: it is not kept */
	uint32_t *kept;       /* numbers, in the order of their new ones */
	size_t nr_kept, kept_room;
	struct buf types, strings;
};

static int view_init(struct view *v, const void *data, size_t len)
{
	struct btf_header h;

	if (len < sizeof(h))
		return -EINVAL;
	memcpy(&h, data, sizeof(h));
	if (h.magic != BTF_MAGIC || h.hdr_len < sizeof(h) ||
	    (uint64_t)h.hdr_len + h.type_off + h.type_len > len ||
	    (uint64_t)h.hdr_len + h.str_off + h.str_len > len)
		return -EINVAL;
	*v = (struct view){(const uint8_t *)data + h.hdr_len + h.type_off, h.type_len,
			   (const char *)data + h.hdr_len + h.str_off, h.str_len};
	return v->strings_len && !v->strings[0] && !v->strings[v->strings_len - 1] ? 0 : -EINVAL;
}

/* What follows the type: bytes, and bytes for each of its vlen parts. */
static const struct {
	bool is_known;
	uint8_t fixed, each;
} kinds[] = {
    [BTF_KIND_INT] = {true, 4, 0},
    [BTF_KIND_PTR] = {true, 0, 0},
    [BTF_KIND_ARRAY] = {true, sizeof(struct btf_array), 0},
    [BTF_KIND_STRUCT] = {true, 0, sizeof(struct btf_member)},
    [BTF_KIND_UNION] = {true, 0, sizeof(struct btf_member)},
    [BTF_KIND_ENUM] = {true, 0, sizeof(struct btf_enum)},
    [BTF_KIND_FWD] = {true, 0, 0},
    [BTF_KIND_TYPEDEF] = {true, 0, 0},
    [BTF_KIND_VOLATILE] = {true, 0, 0},
    [BTF_KIND_CONST] = {true, 0, 0},
    [BTF_KIND_RESTRICT] = {true, 0, 0},
    [BTF_KIND_FUNC] = {true, 0, 0},
    [BTF_KIND_FUNC_PROTO] = {true, 0, sizeof(struct btf_param)},
    [BTF_KIND_VAR] = {true, sizeof(struct btf_var), 0},
    [BTF_KIND_DATASEC] = {true, 0, sizeof(struct btf_var_secinfo)},
    [BTF_KIND_FLOAT] = {true, 0, 0},
    [BTF_KIND_DECL_TAG] = {true, 4, 0},
    [18 /* BTF_KIND_TYPE_TAG */] = {true, 0, 0},
    [19 /* BTF_KIND_ENUM64 */] = {true, 0, 12},
};

/* Reads the type at the byte at. Returns where the next one begins; 0: there is none. */
static uint32_t read_type(const struct view *v, uint32_t at, struct btf_type *t)
{
	uint64_t end = (uint64_t)at + sizeof(*t);
	uint32_t kind;

	if (end > v->types_len)
		return 0;
	memcpy(t, v->types + at, sizeof(*t));
	kind = BTF_INFO_KIND(t->info);
	if (kind == BTF_KIND_FUNC) /* half of all: where the next one is needs no looking up */
		return (uint32_t)end;
	if (kind >= sizeof(kinds) / sizeof(kinds[0]) || !kinds[kind].is_known)
		return 0;
	end += kinds[kind].fixed + (uint64_t)kinds[kind].each * BTF_INFO_VLEN(t->info);
	return end <= v->types_len ? (uint32_t)end : 0;
}

/* --- names ----------------------------------------------------------------------------------- */

enum { HEAD = 8 };

/* The first bytes, up to the end of the string. room: bytes that may be read. */
static uint64_t head_of(const char *text, size_t room)
{
	const uint64_t low = UINT64_C(0x0101010101010101);
	uint64_t head = 0, ends;

	memcpy(&head, text, room < HEAD ? room : HEAD);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	head = __builtin_bswap64(head);
#endif
	ends = (head - low) & ~head & low << 7; /* the lowest bit is that of the first 0 */
	return ends ? head & (((ends & -ends) >> 7) - 1) : head;
}

static uint32_t hash_head(uint64_t head)
{
	return (uint32_t)(head * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static uint64_t bit_of(uint32_t hash)
{
	return UINT64_C(1) << (hash >> 17 & 63);
}

/* Its slot, or the free one for it. */
static struct name *find_slot(const struct reducer *r, const char *text, uint32_t len,
			      uint32_t hash)
{
	uint32_t i = hash & r->mask;

	while (r->name[i].text &&
	       (r->name[i].len != len || memcmp(r->name[i].text, text, len) != 0))
		i = (i + 1) & r->mask;
	return &r->name[i];
}

static struct name *add_name(struct reducer *r, const char *text, uint32_t len)
{
	const uint32_t hash = hash_head(head_of(text, len));
	struct name *n = find_slot(r, text, len, hash);

	r->may_be[hash >> 17 >> 6] |= bit_of(hash);
	n->text = text;
	n->len = len;
	return n;
}

/* The name at that place of the kernel's strings. NULL: no such name was added. */
static struct name *find_name(const struct reducer *r, uint32_t at)
{
	const char *text = r->kernel.strings + at;
	struct name *n;
	uint32_t hash;

	if (at >= r->kernel.strings_len)
		return NULL;
	hash = hash_head(head_of(text, r->kernel.strings_len - at));
	if (!(r->may_be[hash >> 17 >> 6] & bit_of(hash)))
		return NULL;
	n = find_slot(r, text, (uint32_t)strlen(text), hash);
	return n->text ? n : NULL;
}

/* Of a type of the program, up to what makes it another one than the kernel's. */
static uint32_t essential_len(const char *text)
{
	const char *flavor = strstr(text, "___");

	return (uint32_t)(flavor && flavor != text ? (size_t)(flavor - text) : strlen(text));
}

/* Adds the names of a type of the program; the first time, with no table, counts them. */
static int visit_names(struct reducer *r, const struct view *program, const struct btf_type *t,
		       const uint8_t *rest, size_t *nr)
{
	const bool is_composite =
	    BTF_INFO_KIND(t->info) == BTF_KIND_STRUCT || BTF_INFO_KIND(t->info) == BTF_KIND_UNION;
	const uint32_t nr_members = is_composite ? BTF_INFO_VLEN(t->info) : 0;
	const char *text = program->strings + t->name_off;
	struct btf_member m;

	if (t->name_off >= program->strings_len)
		return -EINVAL;
	*nr += 2 + nr_members; /* also without what follows "___" */
	if (r->name && *text) {
		add_name(r, text, (uint32_t)strlen(text));
		add_name(r, text, essential_len(text))->is_type = true;
	}
	for (uint32_t i = 0; i < nr_members; i++) {
		memcpy(&m, rest + i * sizeof(m), sizeof(m));
		text = program->strings + m.name_off;
		if (m.name_off >= program->strings_len)
			return -EINVAL;
		if (r->name && *text)
			add_name(r, text, (uint32_t)strlen(text));
	}
	return 0;
}

static int visit_program(struct reducer *r, const struct view *program, size_t *nr)
{
	struct btf_type t;
	int rc = 0;

	for (uint32_t at = 0, next; at < program->types_len && rc == 0; at = next) {
		next = read_type(program, at, &t);
		rc = next ? visit_names(r, program, &t, program->types + at + sizeof(t), nr)
			  : -EINVAL;
	}
	return rc;
}

static int add_names(struct reducer *r, const struct view *program,
		     const struct reduced_types_number *number, size_t nr_numbers)
{
	size_t nr = nr_numbers, nr_slots = 64;
	int rc = visit_program(r, program, &nr);

	if (rc)
		return rc;
	while (nr_slots < 2 * nr)
		nr_slots *= 2;
	r->mask = (uint32_t)nr_slots - 1;
	r->name = mem_calloc(nr_slots, sizeof(*r->name));
	if (!r->name)
		return -ENOMEM;
	for (size_t i = 0; i < nr_numbers; i++)
		add_name(r, number[i].name, (uint32_t)strlen(number[i].name));
	return visit_program(r, program, &nr);
}

/* --- types ----------------------------------------------------------------------------------- */

/* A bit for each kind that a program names. */
static const uint32_t roots = 1u << BTF_KIND_STRUCT | 1u << BTF_KIND_UNION | 1u << BTF_KIND_ENUM |
			      1u << BTF_KIND_TYPEDEF | 1u << BTF_KIND_INT;

static int keep(struct reducer *r, uint32_t number)
{
	uint32_t *kept;

	if (!number || number > r->nr_types || r->new_number[number])
		return 0;
	kept = MEM_ADD(r->kept, r->nr_kept, r->kept_room);
	if (!kept)
		return -ENOMEM;
	*kept = number;
	r->new_number[number] = (uint32_t)r->nr_kept;
	return 0;
}

static void find_number(struct reduced_types_number *number, size_t nr, const struct name *n,
			uint32_t kind, uint32_t found)
{
	for (size_t i = 0; i < nr; i++)
		if (!number[i].number && number[i].kind == kind &&
		    strlen(number[i].name) == n->len &&
		    memcmp(number[i].name, n->text, n->len) == 0)
			number[i].number = found;
}

/* Functions follow each other, and have names anywhere. */
static void prefetch_name(const struct view *v, uint32_t at)
{
	enum { AHEAD = 12 * sizeof(struct btf_type) };
	uint32_t name;

	if (at + AHEAD + sizeof(name) > v->types_len)
		return;
	memcpy(&name, v->types + at + AHEAD, sizeof(name));
	if (name < v->strings_len)
		__builtin_prefetch(v->strings + name);
}

/* Finds what has a name of the program, and notes where types are. */
static int find_types(struct reducer *r, struct reduced_types_number *number, size_t nr_numbers)
{
	uint32_t named = roots;
	struct btf_type t;
	int rc = 0;

	for (size_t i = 0; i < nr_numbers; i++)
		named |= 1u << number[i].kind;
	for (uint32_t at = 0, next, i = 1; at < r->kernel.types_len && rc == 0; at = next, i++) {
		const struct name *n;

		next = read_type(&r->kernel, at, &t);
		if (!next)
			return -EINVAL;
		r->nr_types = i;
		if (i % EACH == 0) {
			uint32_t *place = MEM_ADD(r->place, r->nr_places, r->places_room);

			if (!place)
				return -ENOMEM;
			*place = at;
		}
		if (!t.name_off || !(named >> BTF_INFO_KIND(t.info) & 1))
			continue;
		prefetch_name(&r->kernel, at);
		n = find_name(r, t.name_off);
		if (!n)
			continue;
		find_number(number, nr_numbers, n, BTF_INFO_KIND(t.info), i);
		if (n->is_type && roots >> BTF_INFO_KIND(t.info) & 1)
			rc = keep(r, i);
	}
	return rc;
}

/* Where the type is. */
static uint32_t find_place(const struct reducer *r, uint32_t number)
{
	uint32_t at = number >= EACH ? r->place[number / EACH - 1] : 0;
	struct btf_type t;

	for (uint32_t i = number >= EACH ? number / EACH * EACH : 1; i < number; i++)
		at = read_type(&r->kernel, at, &t);
	return at;
}

static uint32_t nr_parameters(const struct reducer *r, uint32_t number)
{
	static const uint32_t way[] = {BTF_KIND_TYPEDEF, BTF_KIND_PTR, BTF_KIND_FUNC_PROTO};
	struct btf_type t = {.type = number};

	for (size_t i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		if (!t.type || t.type > r->nr_types)
			return 0;
		read_type(&r->kernel, find_place(r, t.type), &t);
		if (BTF_INFO_KIND(t.info) != way[i])
			return 0;
	}
	return BTF_INFO_VLEN(t.info);
}

/* --- writing --------------------------------------------------------------------------------- */

/* Its place in what is written; 0: it has none, or is not of the program. */
static uint32_t put_name(struct reducer *r, uint32_t at)
{
	struct name *n = at ? find_name(r, at) : NULL;

	if (n && !n->out_at) {
		n->out_at = (uint32_t)r->strings.len;
		buf_add(&r->strings, n->text, n->len);
		buf_addc(&r->strings, '\0');
	}
	return n ? n->out_at : 0;
}

/* The new number of a type, which is kept. */
static uint32_t refer(struct reducer *r, uint32_t number, int *rc)
{
	if (*rc == 0)
		*rc = keep(r, number);
	return number <= r->nr_types ? r->new_number[number] : 0;
}

static int put_members(struct reducer *r, struct btf_type *t, const uint8_t *from)
{
	const uint32_t nr = BTF_INFO_VLEN(t->info);
	size_t head = r->types.len;
	struct btf_member m;
	uint32_t nr_put = 0;
	int rc = 0;

	buf_add(&r->types, t, sizeof(*t));
	for (uint32_t i = 0; i < nr; i++) {
		memcpy(&m, from + i * sizeof(m), sizeof(m));
		if (m.name_off && !find_name(r, m.name_off))
			continue;
		m.name_off = put_name(r, m.name_off);
		m.type = refer(r, m.type, &rc);
		buf_add(&r->types, &m, sizeof(m));
		nr_put++;
	}
	t->info = (t->info & ~UINT32_C(0xffff)) | nr_put;
	if (!buf_error(&r->types))
		memcpy(r->types.data + head, t, sizeof(*t));
	return rc;
}

static int put_array(struct reducer *r, const struct btf_type *t, const uint8_t *from)
{
	struct btf_array a;
	int rc = 0;

	memcpy(&a, from, sizeof(a));
	a.type = refer(r, a.type, &rc);
	a.index_type = refer(r, a.index_type, &rc);
	buf_add(&r->types, t, sizeof(*t));
	buf_add(&r->types, &a, sizeof(a));
	return rc;
}

/* Writes a type that is kept; of what it refers to, that will be. */
static int put_type(struct reducer *r, uint32_t number)
{
	uint32_t at = find_place(r, number), kind;
	const uint8_t *rest = r->kernel.types + at + sizeof(struct btf_type);
	struct btf_type t = {.info = 0};
	int rc = 0;

	read_type(&r->kernel, at, &t);
	kind = BTF_INFO_KIND(t.info);
	t.name_off = put_name(r, t.name_off);
	switch (kind) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return put_members(r, &t, rest);
	case BTF_KIND_ARRAY:
		return put_array(r, &t, rest);
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
		t.type = refer(r, t.type, &rc);
		break;
	case BTF_KIND_INT:
	case BTF_KIND_FWD:
	case BTF_KIND_FLOAT:
		break;
	case BTF_KIND_ENUM:
		t.info &= ~UINT32_C(0xffff); /* without its values */
		break;
	default: /* pointers, and what no member is without one */
		t = (struct btf_type){.info = BTF_KIND_PTR << 24};
		kind = BTF_KIND_PTR;
		break;
	}
	buf_add(&r->types, &t, sizeof(t));
	buf_add(&r->types, rest, kinds[kind].fixed);
	return rc;
}

static int put_all(struct reducer *r, struct buf *out)
{
	struct btf_header h = {
	    .magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(struct btf_header)};
	int rc = 0;

	buf_addc(&r->strings, '\0');
	for (size_t i = 0; i < r->nr_kept && rc == 0; i++)
		rc = put_type(r, r->kept[i]);
	rc = rc ?: buf_error(&r->types) ?: buf_error(&r->strings);
	if (rc)
		return rc;
	h.type_len = h.str_off = (uint32_t)r->types.len;
	h.str_len = (uint32_t)r->strings.len;
	buf_add(out, &h, sizeof(h));
	buf_add(out, r->types.data, r->types.len);
	buf_add(out, r->strings.data, r->strings.len);
	return buf_error(out);
}

static void fini(struct reducer *r)
{
	mem_free(r->name);
	mem_free(r->place);
	mem_free(r->new_number);
	mem_free(r->kept);
	buf_fini(&r->types);
	buf_fini(&r->strings);
}

int reduced_types_make(const void *kernel, size_t kernel_len, const void *program,
		       size_t program_len, struct reduced_types_number *number, size_t nr_numbers,
		       struct buf *out)
{
	struct reducer r = {.nr_types = 0};
	struct view view = {.strings = "", .strings_len = 1};
	int rc = view_init(&r.kernel, kernel, kernel_len)
		     ?: program ? view_init(&view, program, program_len)
				: 0;

	if (rc)
		return rc;
	buf_init(&r.types, MAX_BYTES);
	buf_init(&r.strings, MAX_BYTES);
	r.new_number =
	    mem_calloc(r.kernel.types_len / sizeof(struct btf_type) + 1, sizeof(*r.new_number));
	rc = r.new_number ? add_names(&r, &view, number, nr_numbers) : -ENOMEM;
	if (rc == 0) {
		rc = find_types(&r, number, nr_numbers) ?: out ? put_all(&r, out) : 0;
	}
	for (size_t i = 0; i < nr_numbers && rc == 0; i++)
		number[i].nr_parameters = nr_parameters(&r, number[i].number);
	fini(&r);
	return rc;
}
