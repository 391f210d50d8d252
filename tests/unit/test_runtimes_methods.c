/*
 * Which methods have names from when on, until when: the structures of a machine are the test's
 * own, in this process, and change between looks as a machine changes them.
 */
#include "kit.h"

#include "base/clock.h"
#include "runtimes/jvm.h"
#include "runtimes/methods.h"
#include "trace/trace.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { NR_METHODS = 2, SINCE = 1000, LINKED = 2, VERSION = 17 };

struct symbol {
	uint16_t length;
	char text[30];
};
struct pool {
	uint16_t file;
	int32_t length;
	const struct symbol *entry[4]; /* none, the file, methods */
};
struct constant {
	const struct pool *pool;
	uint32_t words;
	uint16_t flags, code_bytes, name;
	uint8_t behind[16]; /* bytecodes and the table of lines */
};
struct method {
	const struct constant *constant;
};
struct class
{
	int32_t layout;
	uint8_t state;
	const struct symbol *name;
	const struct list *methods;
	const struct pool *pool;
	const struct class *next;
};
struct loader {
	const struct loader *next;
	const struct class *classes;
};

/* A class with all that belongs to it. */
struct whole {
	struct class class;
	struct list {
		int32_t length;
		const struct method *method[NR_METHODS];
	} list;
	struct method method[NR_METHODS];
	struct constant constant[NR_METHODS];
	struct pool pool;
	struct symbol name, file, methods[NR_METHODS];
};

static struct whole first, second, third;
static struct loader loaders[3];
static const struct loader *head;
static uint32_t version = VERSION;
static struct {
	uint32_t count;
} heap;
static const void *of_heap = &heap;

static struct methods *methods;
static struct hotspot_shared shared;
static struct trace_compiled changes[32];
static uint8_t lines[32][16];
static size_t nr_changes;
static uint64_t before_ns, after_ns;

static struct symbol symbol_of(const char *text)
{
	struct symbol s = {.length = (uint16_t)strlen(text)};

	memcpy(s.text, text, s.length);
	return s;
}

/* Lines 10 and 12, from the second bytecode on. */
static void make(struct whole *w, const char *name, const struct class *next)
{
	static const uint8_t behind[] = {0, 0, 0, 0, 0xff, 0, 20, 1 << 3 | 2, 0};

	memset(w, 0, sizeof(*w));
	w->name = symbol_of(name);
	w->file = symbol_of("F.java");
	w->pool.file = 1;
	w->pool.length = 4;
	w->pool.entry[1] = &w->file;
	w->list.length = NR_METHODS;
	for (int i = 0; i < NR_METHODS; i++) {
		w->methods[i] = symbol_of(i ? "b" : "a");
		w->pool.entry[2 + i] = &w->methods[i];
		w->constant[i] = (struct constant){.pool = &w->pool,
						   .words = sizeof(struct constant) / 8,
						   .flags = 1,
						   .code_bytes = 4,
						   .name = (uint16_t)(2 + i)};
		memcpy(w->constant[i].behind, behind, sizeof(behind));
		w->method[i].constant = &w->constant[i];
		w->list.method[i] = &w->method[i];
	}
	w->class = (struct class){.layout = 16,
				  .state = LINKED,
				  .name = &w->name,
				  .methods = &w->list,
				  .pool = &w->pool,
				  .next = next};
}

#define PLACE(s, m)                                                                                \
	(struct vmstructs_place)                                                                   \
	{                                                                                          \
		offsetof(struct s, m), sizeof(((struct s *)0)->m)                                  \
	}
#define STATIC(v)                                                                                  \
	(struct vmstructs_place)                                                                   \
	{                                                                                          \
		(uint64_t)(uintptr_t) & (v), sizeof(v)                                             \
	}

static struct jvm jvm_of_test(void)
{
	return (struct jvm){
	    .pid = (uint32_t)getpid(),
	    .at = {.field = {[VMSTRUCTS_OBJECTS] = STATIC(of_heap),
			     [VMSTRUCTS_COLLECTIONS] = {0, 4},
			     [VMSTRUCTS_LOADERS] = STATIC(head),
			     [VMSTRUCTS_VERSION] = STATIC(version),
			     [VMSTRUCTS_LOADER_NEXT] = PLACE(loader, next),
			     [VMSTRUCTS_LOADER_CLASSES] = PLACE(loader, classes),
			     [VMSTRUCTS_CLASS_NEXT] = PLACE(class, next),
			     [VMSTRUCTS_CLASS_LAYOUT] = PLACE(class, layout),
			     [VMSTRUCTS_CLASS_STATE] = PLACE(class, state),
			     [VMSTRUCTS_CLASS_METHODS] = PLACE(class, methods),
			     [VMSTRUCTS_CLASS_POOL] = PLACE(class, pool),
			     [VMSTRUCTS_CLASS_NAME] = PLACE(class, name),
			     [VMSTRUCTS_POOL_FILE] = PLACE(pool, file),
			     [VMSTRUCTS_POOL_LENGTH] = PLACE(pool, length),
			     [VMSTRUCTS_METHODS_LENGTH] = PLACE(list, length),
			     [VMSTRUCTS_METHODS_DATA] = {offsetof(struct list, method), 1},
			     [VMSTRUCTS_METHOD_CONST] = PLACE(method, constant),
			     [VMSTRUCTS_CONST_POOL] = PLACE(constant, pool),
			     [VMSTRUCTS_CONST_NAME] = PLACE(constant, name),
			     [VMSTRUCTS_CONST_SIZE] = PLACE(constant, words),
			     [VMSTRUCTS_CONST_FLAGS] = PLACE(constant, flags),
			     [VMSTRUCTS_CONST_CODE_SIZE] = PLACE(constant, code_bytes),
			     [VMSTRUCTS_SYMBOL_LENGTH] = PLACE(symbol, length),
			     [VMSTRUCTS_SYMBOL_BODY] = {offsetof(struct symbol, text), 1}},
		   .pool_bytes = offsetof(struct pool, entry),
		   .method_bytes = sizeof(struct method),
		   .const_bytes = offsetof(struct constant, behind)}};
}

static void on_change(void *arg, const struct trace_compiled *change)
{
	(void)arg;
	assert_true(nr_changes < NR(changes));
	assert_true(change->data_bytes <= sizeof(lines[0]));
	if (change->data_bytes)
		memcpy(lines[nr_changes], change->data, change->data_bytes);
	changes[nr_changes++] = *change;
}

/* Returns whether anything has changed. */
static bool look(void)
{
	bool has_changed = false;

	nr_changes = 0;
	before_ns = clock_monotonic_ns();
	assert_int_equal(methods_look(methods, on_change, NULL, &has_changed), 0);
	after_ns = clock_monotonic_ns();
	return has_changed;
}

static const struct trace_compiled *change_of(const struct whole *w, int method, const char *name)
{
	const uint64_t at = (uint64_t)(uintptr_t)&w->method[method];

	for (size_t i = 0; i < nr_changes; i++)
		if (changes[i].start == at && strcmp(changes[i].name, name) == 0)
			return &changes[i];
	fail_msg("%s has no change", name);
	return NULL;
}

/* Both methods of a class, at a time of that range; "": they are gone. */
static void assert_changes(const struct whole *w, const char *a, const char *b, uint64_t from_ns,
			   uint64_t to_ns)
{
	const char *const names[] = {a, b};

	for (int i = 0; i < NR_METHODS; i++) {
		const struct trace_compiled *c = change_of(w, i, names[i]);

		assert_int_equal(c->pid, getpid());
		assert_int_equal(c->kind, *a ? TRACE_COMPILED_INTERPRETED : TRACE_COMPILED_UNKNOWN);
		assert_in_range(c->time_ns, from_ns, to_ns);
	}
}

HOOK(before_each)
{
	const struct jvm jvm = jvm_of_test();

	shared = (struct hotspot_shared){.once_ns = 0};
	heap.count = 0;
	make(&first, "p/A", NULL);
	make(&second, "p/B", NULL);
	make(&third, "p/C", NULL);
	loaders[0] = (struct loader){NULL, &first.class};
	loaders[1] = (struct loader){&loaders[0], &second.class};
	loaders[2] = (struct loader){&loaders[1], &third.class};
	head = &loaders[0];
	assert_true(vmstructs_has_methods(&jvm.at));
	assert_int_equal(methods_new(&jvm, &shared, SINCE, &methods), 0);
}

HOOK(after_each)
{
	methods_free(methods);
}

TEST(first_look)
{
	static const uint8_t want[] = {0, 0, 1, 2};
	const struct trace_compiled *c;

	assert_true(look());
	assert_int_equal(nr_changes, 2);
	assert_changes(&first, "p.A.a", "p.A.b", SINCE, SINCE);
	c = change_of(&first, 1, "p.A.b");
	assert_string_equal(c->file, "F.java");
	assert_int_equal(c->first_line, 10);
	assert_int_equal(c->codes, (uint64_t)(uintptr_t)first.constant[1].behind);
	assert_int_equal(c->codes_bytes, 4);
	assert_int_equal(c->data_bytes, sizeof(want));
	assert_memory_equal(lines[c - changes], want, sizeof(want));
	assert_false(look());
	assert_int_equal(nr_changes, 0);
}

/* Until a class is linked, its parts are not all there. New ones are at the front, and have their
 * names from the look before on. */
TEST(new_class)
{
	uint64_t last_ns;

	look();
	last_ns = after_ns;
	second.class.next = &first.class;
	second.class.state = LINKED - 1;
	loaders[0].classes = &second.class;
	assert_false(look());
	second.class.state = LINKED;
	assert_true(look());
	assert_int_equal(nr_changes, 2);
	assert_changes(&second, "p.B.a", "p.B.b", SINCE, after_ns);
	assert_true(change_of(&second, 0, "p.B.a")->time_ns <= last_ns);
	assert_true(change_of(&second, 0, "p.B.a")->time_ns > SINCE);
}

/* What was freed meanwhile may have been where it is. */
TEST(new_after_collection)
{
	look();
	heap.count++;
	head = &loaders[1];
	look();
	assert_int_equal(nr_changes, 2);
	assert_changes(&second, "p.B.a", "p.B.b", before_ns, after_ns);
}

TEST(gone)
{
	uint64_t last_ns;

	head = &loaders[1];
	look();
	assert_int_equal(nr_changes, 4);
	look();
	last_ns = before_ns;
	head = &loaders[0];
	assert_true(look());
	assert_int_equal(nr_changes, 2);
	assert_changes(&second, "", "", last_ns, before_ns);
	/* one that comes now may be where it was */
	head = &loaders[1];
	look();
	assert_changes(&second, "p.B.a", "p.B.b", before_ns, after_ns);
}

/* Another loader, and another class, are where others were. */
TEST(replaced)
{
	uint64_t last_ns;

	head = &loaders[1];
	look();
	look();
	last_ns = before_ns;
	make(&second, "p/Z", NULL);
	assert_true(look());
	assert_int_equal(nr_changes, 2);
	assert_changes(&second, "", "", last_ns, before_ns);
	look();
	assert_int_equal(nr_changes, 2);
	assert_changes(&second, "p.Z.a", "p.Z.b", before_ns, after_ns);
}

/* Behind the first class of a loader, after a collection. */
TEST(replaced_behind)
{
	second.class.next = &third.class;
	head = &loaders[1];
	look();
	assert_int_equal(nr_changes, 6);
	heap.count++;
	make(&third, "p/Z", NULL);
	look();
	assert_int_equal(nr_changes, 4);
	assert_changes(&second, "", "", 0, before_ns);
	assert_changes(&third, "", "", 0, before_ns);
}

/* The machine has ended, and may have freed since the last look what can be freed: not what was
 * there already when others were. */
TEST(leave)
{
	uint64_t last_ns;

	head = &loaders[1];
	look();
	nr_changes = 0;
	methods_leave(methods, on_change, NULL);
	assert_int_equal(nr_changes, 0);
	loaders[2].next = &loaders[0];
	head = &loaders[2];
	look();
	assert_changes(&second, "", "", 0, before_ns);
	look();
	last_ns = before_ns;
	nr_changes = 0;
	methods_leave(methods, on_change, NULL);
	assert_int_equal(nr_changes, 2);
	assert_changes(&third, "", "", last_ns, after_ns);
}

/* What is not as a class should be has no names, and what leads back has an end. */
TEST(hostile)
{
	for (int i = 0; i < 12; i++) {
		make(&second, "p/B", NULL);
		loaders[1] = (struct loader){&loaders[0], &second.class};
		head = &loaders[1];
		if (i == 0)
			second.class.layout = 0;
		else if (i == 1)
			second.class.name = NULL;
		else if (i == 2)
			second.list.length = -1;
		else if (i == 3)
			second.list.method[1] = (const struct method *)8;
		else if (i == 4)
			second.constant[1].pool = &first.pool;
		else if (i == 5)
			second.constant[1].name = 4;
		else if (i == 6)
			second.pool.file = 9;
		else if (i == 7)
			second.name.length = 0;
		else if (i == 8)
			second.constant[0].words = UINT32_MAX;
		else if (i == 9)
			second.class.methods = NULL;
		else if (i == 10)
			second.class.layout = -1; /* an array; it stays one */
		look();
		for (size_t k = 0; k < nr_changes; k++)
			assert_true(strncmp(changes[k].name, "p.B", 3) != 0);
	}
	second.class.next = &second.class;
	look();
	loaders[0].next = &loaders[1];
	look();
	head = (const struct loader *)8;
	look();
	assert_int_equal(nr_changes, 0);
}
