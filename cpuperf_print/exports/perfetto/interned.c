/*
 * The report numbers stacks; each node of theirs stores the number of its frame here. An interned
 * entry has one id in all sequences; a bit per sequence marks those that contain it.
 *
 * Readers skip a stack with a frame in no mapping, so each frame has one: its file (as if mapped
 * at offset 0 unchanged), the kernel, or its function's object.
 */
#include "base/dict.h"
#include "base/mem.h"
#include "export/proto.h"
#include "exports/perfetto/perfetto.h"
#include "profile/processes.h"
#include "report/stacks.h"

#include <errno.h>
#include <string.h>

enum interned {
	FUNCTION_NAMES,
	FRAMES,
	CALLSTACKS,
	BUILD_IDS,
	MAPPING_PATHS,
	SOURCE_PATHS,
	MAPPINGS,
	NR_INTERNED,
};

static const uint32_t fields[NR_INTERNED] = {
    [FUNCTION_NAMES] = 5, [FRAMES] = 6,        [CALLSTACKS] = 7, [BUILD_IDS] = 16,
    [MAPPING_PATHS] = 17, [SOURCE_PATHS] = 18, [MAPPINGS] = 19};

enum { IID = 1, TEXT_BYTES = 2 };
enum { MAPPING_BUILD_ID = 2, MAPPING_START = 4, MAPPING_END, MAPPING_PATH = 7 };
enum { FRAME_FUNCTION = 2, FRAME_MAPPING, FRAME_PLACE, FRAME_SOURCE, FRAME_LINE };
enum { CALLSTACK_FRAMES = 2 };
enum { RANGE_BITS = 32, MAX_DEPTH = 2048 };

static const char KERNEL[] = "[kernel.kallsyms]";

struct bits {
	uint64_t *word; /* owned */
	size_t room;    /* words */
};

struct mapping {
	const struct profile_object *object; /* NULL: not a file */
	const char *name;                    /* without an object; else NULL */
};

struct frame {
	const struct report_function *function;
	const struct profile_object *object;
	const char *file;
	uint64_t address, line;
	uint32_t mapping; /* its iid; the members before it are the key */
};

struct perfetto_interned {
	const struct report_stacks *stacks;
	uint32_t nr_sequences;
	struct bits *has; /* owned; NR_INTERNED for each sequence */
	/* iids are indices plus 1 */
	struct dict frames;   /* struct frame */
	struct dict mappings; /* struct mapping */
	struct dict sources;  /* const char * */
	uint32_t *frame_of;   /* owned; by stack node: the frame; 0: not looked up yet */
	size_t frame_of_room;
};

struct perfetto_interned *perfetto_interned_new(const struct report_stacks *stacks,
						uint32_t nr_sequences)
{
	struct perfetto_interned *in = mem_zalloc(sizeof(*in));

	if (!in)
		return NULL;
	in->stacks = stacks;
	in->nr_sequences = nr_sequences;
	dict_init(&in->frames, sizeof(struct frame), DICT_KEY(struct frame, line), DICT_MAX);
	dict_init(&in->mappings, sizeof(struct mapping), sizeof(struct mapping), DICT_MAX);
	dict_init(&in->sources, sizeof(const char *), sizeof(const char *), DICT_MAX);
	in->has = mem_calloc((size_t)nr_sequences * NR_INTERNED + 1, sizeof(*in->has));
	if (in->has)
		return in;
	mem_free(in);
	return NULL;
}

void perfetto_interned_free(struct perfetto_interned *in)
{
	if (!in)
		return;
	for (size_t i = 0; i < (size_t)in->nr_sequences * NR_INTERNED; i++)
		mem_free(in->has[i].word);
	mem_free(in->has);
	dict_fini(&in->frames);
	dict_fini(&in->mappings);
	dict_fini(&in->sources);
	mem_free(in->frame_of);
	mem_free(in);
}

/* --- numbers --------------------------------------------------------------------------------- */

/* These return iids; 0 (DICT_NONE plus 1): no memory. */
static uint32_t find_mapping(struct perfetto_interned *in, const struct report_frame *f)
{
	const struct mapping key = {.object = f->object,
				    .name = f->object                ? NULL
					    : f->function->is_kernel ? KERNEL
								     : f->function->object};

	return dict_add(&in->mappings, &key) + 1;
}

static uint32_t find_frame(struct perfetto_interned *in, const struct report_frame *f)
{
	const struct frame key = {f->function, f->object, f->file, f->address, f->line, 0};
	uint32_t number = dict_add(&in->frames, &key);
	struct frame *frame = dict_at(&in->frames, number);

	if (frame && !frame->mapping)
		frame->mapping = find_mapping(in, f);
	return frame && frame->mapping ? number + 1 : 0;
}

static int make_room(struct perfetto_interned *in, uint32_t stack)
{
	size_t room = ((size_t)stack + 1024) * 2;
	uint32_t *grown;

	if (stack < in->frame_of_room)
		return 0;
	grown = mem_resize(in->frame_of, room * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + in->frame_of_room, 0, (room - in->frame_of_room) * sizeof(*grown));
	in->frame_of = grown;
	in->frame_of_room = room;
	return 0;
}

/* --- interned data per sequence -------------------------------------------------------------- */

static struct bits *bits_of(struct perfetto_interned *in, uint32_t sequence, enum interned what)
{
	return &in->has[(size_t)sequence * NR_INTERNED + what];
}

static bool has(const struct bits *b, uint32_t number)
{
	return number / 64 < b->room && (b->word[number / 64] >> number % 64 & 1);
}

static int set(struct bits *b, uint32_t number)
{
	if (number / 64 >= b->room) {
		size_t room = ((size_t)number / 64 + 64) * 2;
		uint64_t *grown = mem_resize(b->word, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + b->room, 0, (room - b->room) * sizeof(*grown));
		b->word = grown;
		b->room = room;
	}
	b->word[number / 64] |= (uint64_t)1 << number % 64;
	return 0;
}

/* The packet that is written, and its sequence. */
struct put {
	struct perfetto_interned *in;
	uint32_t sequence;
	struct buf *b;
	int error;
};

/* True: the sequence does not contain it yet; marks it as written. */
static bool is_new(struct put *p, enum interned what, uint32_t iid)
{
	struct bits *b = bits_of(p->in, p->sequence, what);

	if (has(b, iid))
		return false;
	if (set(b, iid))
		p->error = -ENOMEM;
	return true;
}

/* --- messages -------------------------------------------------------------------------------- */

static void put_bytes(struct put *p, enum interned what, uint32_t iid, const void *data, size_t len)
{
	PROTO_MESSAGE(p->b, fields[what]) {
		proto_uint(p->b, IID, iid);
		proto_bytes(p->b, TEXT_BYTES, data, len);
	}
}

static void put_text(struct put *p, enum interned what, uint32_t iid, const char *text)
{
	if (is_new(p, what, iid))
		put_bytes(p, what, iid, text, strlen(text));
}

/* The mapping's build-id and path share its id. */
static void put_mapping(struct put *p, uint32_t iid)
{
	const struct mapping *m = dict_at(&p->in->mappings, iid - 1);
	const struct profile_object *o = m->object;
	bool has_build_id = o && o->build_id_len;

	if (!is_new(p, MAPPINGS, iid))
		return;
	if (has_build_id)
		put_bytes(p, BUILD_IDS, iid, o->build_id, o->build_id_len);
	put_text(p, MAPPING_PATHS, iid, o ? o->shown_path : m->name);
	PROTO_MESSAGE(p->b, fields[MAPPINGS]) {
		proto_uint(p->b, IID, iid);
		if (has_build_id)
			proto_uint(p->b, MAPPING_BUILD_ID, iid);
		if (o) {
			proto_uint(p->b, MAPPING_START, (uint64_t)iid << RANGE_BITS);
			proto_uint(p->b, MAPPING_END, ((uint64_t)iid + 1) << RANGE_BITS);
		}
		proto_uint(p->b, MAPPING_PATH, iid);
	}
}

static void put_frame(struct put *p, uint32_t iid)
{
	const struct frame *f = dict_at(&p->in->frames, iid - 1);
	uint32_t source = 0;

	if (!is_new(p, FRAMES, iid))
		return;
	put_mapping(p, f->mapping);
	put_text(p, FUNCTION_NAMES, f->function->number + 1, f->function->name);
	if (f->file) {
		source = dict_add(&p->in->sources, &f->file) + 1;
		p->error = source ? p->error : -ENOMEM;
		put_text(p, SOURCE_PATHS, source, f->file);
	}
	PROTO_MESSAGE(p->b, fields[FRAMES]) {
		proto_uint(p->b, IID, iid);
		proto_uint(p->b, FRAME_FUNCTION, f->function->number + 1);
		proto_uint(p->b, FRAME_MAPPING, f->mapping);
		proto_uint(p->b, FRAME_PLACE, f->address);
		if (source)
			proto_uint(p->b, FRAME_SOURCE, source);
		if (f->line)
			proto_uint(p->b, FRAME_LINE, f->line);
	}
}

/* The frames of a stack, innermost first. *nr: how many. 0 or -ENOMEM. */
static int find_frames(struct perfetto_interned *in, uint32_t stack, uint32_t iids[MAX_DEPTH],
		       size_t *nr)
{
	if (make_room(in, stack)) /* callers have lower numbers */
		return -ENOMEM;
	for (*nr = 0; stack != REPORT_NO_STACK && *nr < MAX_DEPTH; (*nr)++) {
		const struct report_stack_node *node = report_stacks_at(in->stacks, stack);

		if (!in->frame_of[stack])
			in->frame_of[stack] = find_frame(in, &node->frame);
		if (!in->frame_of[stack])
			return -ENOMEM;
		iids[*nr] = in->frame_of[stack];
		stack = node->parent;
	}
	return 0;
}

/* Frames are written outermost first. */
static int put_callstack(struct put *p, uint32_t stack)
{
	uint32_t iids[MAX_DEPTH];
	size_t nr;
	int rc = find_frames(p->in, stack, iids, &nr);

	if (rc)
		return rc;
	for (size_t i = 0; i < nr; i++)
		put_frame(p, iids[i]);
	PROTO_MESSAGE(p->b, fields[CALLSTACKS]) {
		proto_uint(p->b, IID, stack);
		for (size_t i = nr; i; i--)
			proto_uint(p->b, CALLSTACK_FRAMES, iids[i - 1]);
	}
	return p->error;
}

int perfetto_intern(struct perfetto_interned *in, uint32_t sequence, uint32_t stack, struct buf *b)
{
	struct put p = {.in = in, .sequence = sequence, .b = b};
	int rc = 0;

	if (stack == REPORT_NO_STACK || !is_new(&p, CALLSTACKS, stack))
		return p.error;
	PROTO_MESSAGE(b, PACKET_INTERNED_DATA) {
		rc = put_callstack(&p, stack);
	}
	return rc;
}
