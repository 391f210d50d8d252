/*
 * What is read of a Java machine: this process has a library with its tables, and code that the
 * test puts where it wants. So what each look passes is known, and from when on.
 */
#include "kit.h"
#include "tree.h"

#include "base/clock.h"
#include "base/root.h"
#include "runtimes/hotspot.h"
#include "runtimes/runtimes.h"
#include "runtimes/vmstructs.h"
#include "trace/scopes.h"
#include "trace/trace.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The library: heaps of blocks of 64 bytes, each with a blob. Offsets are as its tables say. */
static const char source[] =
    "#include <stdint.h>\n"
    "typedef uint64_t u; typedef struct { const char *t, *n, *k; int s; u o; void *a; } F;\n"
    "typedef struct { const char *n; u s; } T;\n"
    "unsigned char heap_map[64]; u heap_count;\n"
    "u heap[5]; u *heaps[1] = {heap}; struct { int n, r; void *d; } list = {1, 1, heaps};\n"
    "void *of_list = &list, *of_objects = &heap_count; int java = 17;\n"
    "F fields[] = {\n"
    "{\"CodeCache\", \"_heaps\", \"x*\", 1, 0, &of_list}, {\"Universe\", \"_collectedHeap\", "
    "\"x*\", 1, 0, "
    "&of_objects},\n"
    "#define M(t, n, k, o) {t, n, k, 0, o, 0}\n"
    "M(\"CollectedHeap\", \"_total_collections\", \"unsigned int\", 0), M(\"GrowableArrayBase\", "
    "\"_len\", "
    "\"int\", 0),\n"
    "M(\"GrowableArray<int>\", \"_data\", \"int*\", 8), M(\"CodeHeap\", \"_memory\", "
    "\"VirtualSpace\", 0),\n"
    "M(\"CodeHeap\", \"_segmap\", \"VirtualSpace\", 16), M(\"CodeHeap\", \"_log2_segment_size\", "
    "\"int\", 32),\n"
    "M(\"VirtualSpace\", \"_low\", \"char*\", 0), M(\"VirtualSpace\", \"_high\", \"char*\", 8),\n"
    "M(\"HeapBlock::Header\", \"_length\", \"uint32_t\", 0), M(\"HeapBlock::Header\", \"_used\", "
    "\"bool\", 4),\n"
    "M(\"CodeBlob\", \"_name\", \"const char*\", 0), M(\"CodeBlob\", \"_size\", \"int\", 8),\n"
    "M(\"CodeBlob\", \"_code_offset\", \"int\", 12), M(\"CodeBlob\", \"_data_offset\", \"int\", "
    "16),\n"
    "M(\"nmethod\", \"_compile_id\", \"int\", 20), M(\"nmethod\", \"_method\", \"Method*\", 24),\n"
    "M(\"Method\", \"_constMethod\", \"x*\", 0), M(\"ConstMethod\", \"_constants\", \"x*\", 0),\n"
    "M(\"ConstMethod\", \"_name_index\", \"u2\", 8), M(\"ConstantPool\", \"_pool_holder\", \"x*\", "
    "0),\n"
    "M(\"Klass\", \"_name\", \"x*\", 0), M(\"Symbol\", \"_length\", \"u2\", 0), M(\"Symbol\", "
    "\"_body[0]\", "
    "\"u1\", 2),\n"
    /* what is inlined: most members are where something else is that has the right value */
    "{\"ClassLoaderDataGraph\", \"_head\", \"x*\", 1, 0, &of_list},\n"
    "{\"Abstract_VM_Version\", \"_vm_major_version\", \"int\", 1, 0, &java},\n"
    "M(\"ClassLoaderData\", \"_next\", \"x*\", 0), M(\"ClassLoaderData\", \"_klasses\", \"x*\", "
    "0),\n"
    "M(\"Klass\", \"_next_link\", \"x*\", 0), M(\"Klass\", \"_layout_helper\", \"int\", 0),\n"
    "M(\"InstanceKlass\", \"_init_state\", \"u1\", 0), M(\"InstanceKlass\", \"_methods\", \"x*\", "
    "0),\n"
    "M(\"InstanceKlass\", \"_constants\", \"x*\", 0), M(\"ConstantPool\", \"_length\", \"int\", "
    "0),\n"
    "M(\"ConstantPool\", \"_source_file_name_index\", \"u2\", 8), M(\"Array<int>\", \"_length\", "
    "\"int\", 0),\n"
    "M(\"Array<Method*>\", \"_data\", \"\", 8), M(\"ConstMethod\", \"_constMethod_size\", \"u2\", "
    "10),\n"
    "M(\"ConstMethod\", \"_flags\", \"u2\", 10), M(\"ConstMethod\", \"_code_size\", \"u2\", 10),\n"
    "M(\"PcDesc\", \"_pc_offset\", \"int\", 0), M(\"PcDesc\", \"_scope_decode_offset\", \"int\", "
    "4),\n"
    "M(\"nmethod\", \"_immutable_data\", \"address\", 32), M(\"nmethod\", "
    "\"_immutable_data_size\", "
    "\"int\", 8),\n"
    "M(\"nmethod\", \"_scopes_pcs_offset\", \"u1\", 7), M(\"nmethod\", \"_scopes_data_offset\", "
    "\"u1\", 12),\n"
    "M(\"CodeBlob\", \"_mutable_data\", \"address\", 32), M(\"CodeBlob\", \"_mutable_data_size\", "
    "\"int\", 8),\n"
    "M(\"CodeBlob\", \"_relocation_size\", \"u1\", 16), M(\"nmethod\", \"_metadata_offset\", "
    "\"int\", 8), {0}};\n"
    "T types[] = {{\"HeapBlock\", 8}, {\"ConstantPool\", 8}, {\"Method\", 8}, {\"ConstMethod\", "
    "16}, {\"PcDesc\", 8}, {0}};\n"
    "F *gHotSpotVMStructs = fields; T *gHotSpotVMTypes = types;\n"
    "#define V(n, v) u gHotSpotVM##n = v\n"
    "V(StructEntryArrayStride, sizeof(F)); V(StructEntryTypeNameOffset, 0);\n"
    "V(StructEntryFieldNameOffset, 8); V(StructEntryTypeStringOffset, 16);\n"
    "V(StructEntryOffsetOffset, 32); V(StructEntryAddressOffset, 40);\n"
    "V(TypeEntryArrayStride, sizeof(T)); V(TypeEntryTypeNameOffset, 0); V(TypeEntrySizeOffset, "
    "8);\n";

/* The heap is a page of blocks, and one that cannot be read. */
enum { BLOCK_BYTES = 64, NR_BLOCKS = 64, CODE_AT = 40, CODE_END = 56, PAGE = 4096 };

/* As the tables say. */
struct block {
	uint32_t length;
	uint8_t is_used, pad[3];
	const char *name;
	uint32_t size, begin, end, id;
	const void *method;
	const void *beside; /* 0: it has no scopes */
};
struct symbol {
	uint16_t length;
	char text[30];
};
static const struct symbol class_name = {11, "java/lang/A"}, hidden = {11, "B$$L+0x0012"},
			   method_name = {3, "run"};
static const void *const of_class = &class_name, *const of_hidden = &hidden;
struct method {
	const void *constant; /* to itself: what it leads to is below */
};
static struct pool {
	const void *holder;
	const void *entry[2];
} pools[2] = {{&of_class, {NULL, &method_name}}, {&of_hidden, {NULL, &method_name}}};
static struct constant {
	const struct pool *pool;
	uint16_t index;
} constants[2] = {{&pools[0], 1}, {&pools[1], 1}};
static const void *methods[2] = {&constants[0], &constants[1]};
/* What a block has beside it: the second method is inlined into the first one, at all of the code.
 * The stream begins where code begins in a block, pointers where it ends. Of the stream: at 1 the
 * first method, at 4 the second one, which the first one calls. */
struct beside {
	struct {
		int32_t at, scope;
	} place[5];
	uint8_t stream[16];
	const void *method[2];
};
_Static_assert(offsetof(struct beside, stream) == CODE_AT &&
		   offsetof(struct beside, method) == CODE_END,
	       "as the tables say");
static const struct beside beside = {.place = {{-1, 0}, {15, 4}, {0x7fffffff, 0}},
				     .stream = {0, 0, 1, 1, 1, 2, 1},
				     .method = {&methods[0], &methods[1]}},
			   alone = {.place = {{-1, 0}, {15, 1}, {0x7fffffff, 0}},
				    .stream = {0, 0, 1, 1},
				    .method = {&methods[0], &methods[1]}};

static struct root tree;
static void *library;
static struct block *blocks; /* each of BLOCK_BYTES */
static uint8_t *map;
static uint64_t *count;
static struct hotspot *machine;
static struct hotspot_shared shared;

static struct trace_compiled changes[16];
static size_t nr_changes, nr_scopes[16]; /* of the begin of its code */

static void add_change(const struct trace_compiled *c)
{
	struct trace_scope scope[TRACE_SCOPES_MAX_DEPTH];

	nr_scopes[nr_changes] = trace_scopes_at(c->scopes, c->scopes_bytes, 3, scope);
	if (nr_scopes[nr_changes] == 2) {
		assert_string_equal(scope[0].name, "B$$L.run");
		assert_string_equal(scope[1].name, "java.lang.A.run");
	}
	changes[nr_changes++] = *c;
}

static void on_change(void *arg, const struct trace_compiled *change)
{
	(void)arg;
	assert_true(nr_changes < NR(changes));
	add_change(change);
}

static struct block *block(size_t i)
{
	return (struct block *)((char *)blocks + i * BLOCK_BYTES);
}

static uint64_t code_of(size_t i)
{
	return (uint64_t)(uintptr_t)block(i) + 8 + CODE_AT;
}

static void put(size_t i, const char *name, size_t method, uint32_t id)
{
	*block(i) = (struct block){.length = 1,
				   .is_used = 1,
				   .name = name,
				   .begin = CODE_AT,
				   .end = CODE_END,
				   .id = id,
				   .method = &methods[method]};
	map[i] = 0;
}

static void put_inlined(size_t i, uint32_t id)
{
	put(i, "nmethod", 0, id);
	block(i)->size = sizeof(beside);
	block(i)->beside = &beside;
}

static void drop(size_t i)
{
	block(i)->is_used = 0;
}

/* The times before it and after it. */
static void look(uint64_t *before, uint64_t *after)
{
	bool ignored;

	nr_changes = 0;
	*before = clock_monotonic_ns();
	assert_int_equal(hotspot_look(machine, on_change, NULL, &ignored), 0);
	*after = clock_monotonic_ns();
}

/* One change was passed, with a time of that range. */
static void assert_change(size_t i, const char *name, uint64_t from_ns, uint64_t to_ns)
{
	const struct trace_compiled *c = changes;

	while (c < changes + nr_changes && (c->start != code_of(i) || strcmp(c->name, name) != 0))
		c++;
	assert_true(c < changes + nr_changes);
	assert_int_equal(c->end, code_of(i) + CODE_END - CODE_AT);
	assert_int_equal(c->pid, getpid());
	assert_in_range(c->time_ns, from_ns, to_ns);
}

HOOK(before_all)
{
	char command[4096], path[4096];
	uint64_t *heap;

	tree = tree_make();
	tree_put(&tree, "/jvm.c", source, sizeof(source) - 1);
	snprintf(path, sizeof(path), "%s/libjvm.so", tree.dir);
	snprintf(command, sizeof(command), "cd '%s' && gcc -w -shared -fPIC -o libjvm.so jvm.c",
		 tree.dir);
	assert_int_equal(system(command), 0);
	library = dlopen(path, RTLD_NOW);
	assert_non_null(library);
	blocks = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(blocks != MAP_FAILED);
	assert_int_equal(mprotect((char *)blocks + PAGE, PAGE, PROT_NONE), 0);
	map = dlsym(library, "heap_map");
	count = dlsym(library, "heap_count");
	heap = dlsym(library, "heap");
	heap[0] = (uintptr_t)blocks;
	heap[1] = heap[0] + 2 * PAGE;
	heap[2] = (uintptr_t)map;
	heap[3] = heap[2] + NR_BLOCKS;
	heap[4] = 6;
}

HOOK(after_all)
{
	hotspot_shared_fini(&shared);
	munmap(blocks, 2 * PAGE);
	dlclose(library);
	tree_remove(&tree);
}

HOOK(before_each)
{
	memset(map, 0xff, NR_BLOCKS);
	*count = 3;
	assert_int_equal(hotspot_open(&shared, (uint32_t)getpid(), 5, &machine), 0);
}

HOOK(after_each)
{
	hotspot_close(machine);
}

/* What is there at the first look has been there; what is new, since the look before. */
TEST(names)
{
	uint64_t before[2], after[2];

	put(0, "nmethod", 0, 1);
	put(1, "Interpreter", 0, 0);
	look(&before[0], &after[0]);
	assert_int_equal(nr_changes, 2);
	assert_change(0, "java.lang.A.run", 5, 5);
	assert_change(1, "Interpreter", 5, 5);
	put(2, "native nmethod", 1, 2); /* the number of a hidden class differs by run */
	look(&before[1], &after[1]);
	assert_int_equal(nr_changes, 1);
	assert_change(2, "B$$L.run", before[0], after[0]);
	look(&before[1], &after[1]);
	assert_int_equal(nr_changes, 0);
}

/* Where something may have been before, it has its name only from the look on that found it. */
TEST(freed)
{
	uint64_t before[4], after[4];

	put(0, "nmethod", 0, 1);
	look(&before[0], &after[0]);
	put(1, "nmethod", 1, 2);
	++*count; /* garbage was collected */
	look(&before[1], &after[1]);
	assert_int_equal(nr_changes, 1);
	assert_change(1, "B$$L.run", before[1], after[1]);
	drop(0); /* since the last look that saw it */
	put(2, "nmethod", 1, 3);
	look(&before[2], &after[2]);
	assert_int_equal(nr_changes, 2);
	assert_change(0, "", before[1], after[1]);
	assert_change(2, "B$$L.run", before[2], after[2]);
	nr_changes = 0;
	hotspot_leave(machine, on_change, NULL); /* it may free more */
	assert_int_equal(nr_changes, 1);
	assert_in_range(changes[0].time_ns, before[2], after[2]);
	put(0, "nmethod", 1, 4);
	look(&before[3], &after[3]);
	assert_int_equal(nr_changes, 1);
	assert_change(0, "B$$L.run", before[2], after[2]);
}

/* The same place, and another number. */
TEST(replaced)
{
	uint64_t before[2], after[2];

	put(0, "nmethod", 0, 1);
	look(&before[0], &after[0]);
	put(0, "nmethod", 1, 2);
	look(&before[1], &after[1]);
	assert_int_equal(nr_changes, 2);
	assert_change(0, "", before[0], after[0]);
	assert_change(0, "B$$L.run", before[1], after[1]);
	assert_true(strcmp(changes[0].name, "") == 0); /* what ends is passed first */
}

/* A block that says what cannot be is none. */
TEST(invalid)
{
	uint64_t before, after;

	put(0, "nmethod", 0, 1);
	block(0)->length = 1000;
	put(1, "nmethod", 0, 2);
	block(1)->end = 64;
	put(2, "nmethod", 0, 3);
	block(2)->begin = CODE_END;
	put(3, "nmethod", 0, 4);
	block(3)->method = NULL;
	put(4, (const char *)8, 0, 5);
	look(&before, &after);
	assert_int_equal(nr_changes, 0);
}

TEST(none)
{
	struct hotspot *h;

	assert_int_equal(hotspot_open(&shared, 0x7ffffffe, 0, &h), -ENXIO);
	assert_int_equal(hotspot_open(&shared, (uint32_t)getppid(), 0, &h), -ENXIO);
}

/* A head is read as far as memory goes, and the next one, too. */
TEST(page)
{
	uint64_t before, after;

	put(62, "nmethod", 0, 1);
	put(63, "nmethod", 1, 2);
	look(&before, &after);
	assert_int_equal(nr_changes, 2);
	assert_change(62, "java.lang.A.run", 5, 5);
	assert_change(63, "B$$L.run", 5, 5);
}

/* The process executes another program, at addresses of the last. */
TEST(other_program)
{
	uint8_t *base = NULL, was;
	Dl_info of;
	bool ignored;

	assert_true(dladdr(map, &of));
	base = of.dli_fbase;
	assert_int_equal(mprotect(base, PAGE, PROT_READ | PROT_WRITE), 0);
	was = base[16];
	put(0, "nmethod", 0, 1);
	base[16] ^= 1;
	nr_changes = 0;
	assert_int_equal(hotspot_look(machine, on_change, NULL, &ignored), -ESRCH);
	assert_int_equal(nr_changes, 0);
	base[16] = was;
	assert_int_equal(hotspot_look(machine, on_change, NULL, &ignored), 0);
	assert_int_equal(nr_changes, 1);
}

/* What a look has no time for is passed by a later one, with the time of the name. */
TEST(inlined)
{
	uint64_t before, after;
	size_t i = 0;

	shared.scopes_ns = 1;
	put_inlined(0, 1);
	put_inlined(1, 2);
	put_inlined(2, 3);
	look(&before, &after);
	assert_int_equal(nr_changes, 3);
	for (; i < 3; i++) {
		assert_change(i, "java.lang.A.run", 5, 5);
		assert_int_equal(nr_scopes[i], i == 0 ? 2 : 0);
	}
	for (i = 1; i < 3; i++) {
		look(&before, &after);
		assert_int_equal(nr_changes, 1);
		assert_change(i, "java.lang.A.run", 5, 5);
		assert_int_equal(nr_scopes[0], 2);
	}
	look(&before, &after);
	shared.scopes_ns = 0;
	assert_int_equal(nr_changes, 0);
}

static bool frees_beside; /* what is beside a block is read the last time */

/* What a machine keeps beside code is freed before the code: what was read may be anything. */
TEST(inlined_freed)
{
	uint64_t before, after;

	put_inlined(0, 1);
	frees_beside = true;
	look(&before, &after);
	assert_false(frees_beside);
	assert_int_equal(nr_changes, 0);
	look(&before, &after);
	assert_int_equal(nr_changes, 1);
	assert_int_equal(nr_scopes[0], 1);
}

TEST(is_left)
{
	bool ignored;

	put(0, "nmethod", 0, 1);
	nr_changes = 0;
	atomic_store(&shared.is_left, true);
	assert_int_equal(hotspot_look(machine, on_change, NULL, &ignored), -ECANCELED);
	assert_int_equal(nr_changes, 0);
	atomic_store(&shared.is_left, false);
}

/* --- the thread */

enum { NOWHERE = 8 };
/* Of the library's. */
struct field {
	const char *type, *name, *kind;
	int is_static;
	uint64_t offset;
	void *address;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static size_t nr_reads; /* of where nothing is */

/* Beside the library's, which it is called instead of. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nr,
			 const struct iovec *remote, unsigned long nr_remote, unsigned long flags)
{
	if ((uintptr_t)remote->iov_base == NOWHERE) {
		pthread_mutex_lock(&lock);
		nr_reads++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	if (frees_beside && remote->iov_base == beside.stream) {
		frees_beside = false;
		block(0)->beside = &alone;
	}
	return syscall(SYS_process_vm_readv, pid, local, nr, remote, nr_remote, flags);
}

static void on_thread_change(void *arg, const struct trace_compiled *change)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	if (nr_changes < NR(changes))
		add_change(change);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static struct runtimes *start(uint64_t max_process_bytes)
{
	const pid_t ids[] = {getpid()};
	struct runtimes *out;

	nr_changes = nr_reads = 0;
	assert_int_equal(
	    runtimes_start(&out,
			   &(struct runtimes_of){.root = &root_live,
						 .ids = ids,
						 .nr_ids = 1,
						 .max_process_bytes = max_process_bytes},
			   on_thread_change, NULL),
	    0);
	return out;
}

static void wait_until(const size_t *number, size_t is)
{
	pthread_mutex_lock(&lock);
	while (*number < is)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/* What can be asked, and not be looked at, is asked after ever longer pauses: of 10, 20 and 40 ms
 * at least. */
TEST(no_heaps)
{
	struct field *field = dlsym(library, "fields");
	void *const was = field->address;
	const uint64_t began_ns = clock_monotonic_ns();
	uint64_t took_ns;
	struct runtimes *r;

	field->address = (void *)(uintptr_t)NOWHERE;
	r = start(0);
	wait_until(&nr_reads, 4);
	took_ns = clock_monotonic_ns() - began_ns;
	assert_int_equal(runtimes_stop(r), 0);
	field->address = was;
	assert_true(took_ns >= 70000000);
	assert_int_equal(nr_changes, 0); /* nothing was named */
}

/* A look that does not end is left, which is said, and passes nothing. */
TEST(left)
{
	const pid_t ids[] = {getpid()};
	const struct runtimes_of of = {
	    .root = &root_live, .ids = ids, .nr_ids = 1, .last_ns = 10000000};
	struct field *field = dlsym(library, "fields");
	void *const was = field->address;
	struct runtimes *r;
	int rc;

	put(0, "nmethod", 0, 1);
	nr_changes = nr_reads = 0;
	field->address = (void *)(uintptr_t)NOWHERE;
	assert_int_equal(runtimes_start(&r, &of, on_thread_change, NULL), 0);
	pthread_mutex_lock(&lock); /* at its next reading there, the thread waits for this */
	rc = runtimes_stop(r);
	pthread_mutex_unlock(&lock);
	wait_until(&nr_reads, 1);
	field->address = was;
	assert_int_equal(rc, -ETIMEDOUT);
	assert_int_equal(nr_changes, 0);
}

/* Of a machine only processes are asked that were there at first, and those of which it is told
 * that they have mapped a library; where that is not known, all that are there then. */
TEST(told)
{
	char path[64];
	struct root none = tree_make();

	assert_true(vmstructs_is_library("/usr/lib/server/libjvm.so"));
	assert_false(vmstructs_is_library("/usr/lib/server/libjvm.so.debug"));
	put(0, "nmethod", 0, 1);
	for (size_t i = 0; i < 2; i++) {
		struct runtimes *r;

		nr_changes = 0;
		assert_int_equal(
		    runtimes_start(&r, &(struct runtimes_of){.root = &none, .is_told = true},
				   on_thread_change, NULL),
		    0);
		runtimes_see(r, (uint32_t)getpid(), "/usr/lib/libjvm.so.debug");
		assert_int_equal(nr_changes, 0);
		if (i == 0) {
			runtimes_see(r, (uint32_t)getpid(), "/usr/lib/server/libjvm.so");
		} else {
			snprintf(path, sizeof(path), "/proc/%d/stat", getpid());
			tree_text(&none, path, "");
			runtimes_lose(r);
		}
		wait_until(&nr_changes, 1);
		assert_string_equal(changes[0].name, "java.lang.A.run");
		runtimes_stop(r);
	}
	tree_remove(&none);
}

/* Beyond the limit of a process no name of it applies. */
TEST(too_many)
{
	struct runtimes *r;

	put(0, "nmethod", 0, 1);
	put(1, "nmethod", 1, 2);
	r = start(1);
	wait_until(&nr_changes, 1);
	put(2, "nmethod", 0, 3);
	runtimes_stop(r);
	assert_int_equal(nr_changes, 3);
	assert_string_equal(changes[0].name, "java.lang.A.run");
	for (size_t i = 1; i < 3; i++) {
		assert_string_equal(changes[i].name, "");
		assert_int_equal(changes[i].start, 0);
		assert_int_equal(changes[i].end, UINT64_MAX);
	}
	assert_int_equal(changes[1].time_ns, changes[0].time_ns);
	assert_true(changes[2].time_ns > changes[1].time_ns);
}

/* What is inlined takes no room of names. */
TEST(too_many_inlined)
{
	struct runtimes *r;

	put_inlined(0, 1);
	put_inlined(1, 2);
	r = start(300);
	wait_until(&nr_changes, 2);
	runtimes_stop(r);
	assert_int_equal(nr_scopes[0], 2);
	assert_string_equal(changes[1].name, "java.lang.A.run");
	assert_int_equal(nr_scopes[1], 0);
}
