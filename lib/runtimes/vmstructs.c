/*
 * The tables are arrays of records, whose sizes and members are variables of libjvm.so beside them.
 * Its symbols are read from its memory: so its file need be neither found nor trusted.
 */
#include "runtimes/vmstructs.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/root.h"
#include "proc/maps.h"
#include "proc/memory.h"
#include "proc/proc.h"
#include "runtimes/remote.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum {
	MAX_MAPS_BYTES = 16 << 20,
	MAX_SEGMENTS = 64,
	MAX_DYNAMIC = 256,
	MAX_SYMBOLS = 1 << 16,
	MAX_RECORDS = 1 << 16,
	MAX_OFFSET = 1 << 16,
	MAX_PLACE_BYTES = 64,
	TEXT_BYTES = 128,
};

static const char library[] = "/libjvm.so", deleted[] = " (deleted)", before[] = "gHotSpotVM";

/* Its variables, without what their names begin with. */
enum variable {
	STRUCTS,
	STRUCT_STRIDE,
	STRUCT_TYPE,
	STRUCT_FIELD,
	STRUCT_KIND,
	STRUCT_OFFSET,
	STRUCT_ADDRESS,
	TYPES,
	TYPE_STRIDE,
	TYPE_NAME,
	TYPE_SIZE,
	NR_VARIABLES,
};
static const char *const variables[NR_VARIABLES] = {
    [STRUCTS] = "Structs",
    [STRUCT_STRIDE] = "StructEntryArrayStride",
    [STRUCT_TYPE] = "StructEntryTypeNameOffset",
    [STRUCT_FIELD] = "StructEntryFieldNameOffset",
    [STRUCT_KIND] = "StructEntryTypeStringOffset",
    [STRUCT_OFFSET] = "StructEntryOffsetOffset",
    [STRUCT_ADDRESS] = "StructEntryAddressOffset",
    [TYPES] = "Types",
    [TYPE_STRIDE] = "TypeEntryArrayStride",
    [TYPE_NAME] = "TypeEntryTypeNameOffset",
    [TYPE_SIZE] = "TypeEntrySizeOffset",
};

static const struct wanted {
	const char *type, *field;
	bool is_optional, is_static;
} wanted[VMSTRUCTS_NR_FIELDS] = {
    [VMSTRUCTS_HEAPS] = {"CodeCache", "_heaps", .is_static = true},
    [VMSTRUCTS_OBJECTS] = {"Universe", "_collectedHeap", .is_static = true},
    [VMSTRUCTS_COLLECTIONS] = {"CollectedHeap", "_total_collections"},
    [VMSTRUCTS_LIST_LEN] = {"GrowableArrayBase", "_len"},
    [VMSTRUCTS_LIST_DATA] = {"GrowableArray<int>", "_data"},
    [VMSTRUCTS_HEAP_MEMORY] = {"CodeHeap", "_memory"},
    [VMSTRUCTS_HEAP_SEGMENTS] = {"CodeHeap", "_segmap"},
    [VMSTRUCTS_HEAP_SHIFT] = {"CodeHeap", "_log2_segment_size"},
    [VMSTRUCTS_SPACE_LOW] = {"VirtualSpace", "_low"},
    [VMSTRUCTS_SPACE_HIGH] = {"VirtualSpace", "_high"},
    [VMSTRUCTS_BLOCK_LENGTH] = {"HeapBlock::Header", "_length"},
    [VMSTRUCTS_BLOCK_USED] = {"HeapBlock::Header", "_used"},
    [VMSTRUCTS_BLOB_NAME] = {"CodeBlob", "_name"},
    [VMSTRUCTS_BLOB_SIZE] = {"CodeBlob", "_size"},
    [VMSTRUCTS_BLOB_BEGIN] = {"CodeBlob", "_code_begin", true},
    [VMSTRUCTS_BLOB_END] = {"CodeBlob", "_code_end", true},
    [VMSTRUCTS_BLOB_BEGIN_OFFSET] = {"CodeBlob", "_code_offset", true},
    [VMSTRUCTS_BLOB_END_OFFSET] = {"CodeBlob", "_data_offset", true},
    [VMSTRUCTS_COMPILED_METHOD] = {"CompiledMethod", "_method", true},
    [VMSTRUCTS_NMETHOD_METHOD] = {"nmethod", "_method", true},
    [VMSTRUCTS_NMETHOD_ID] = {"nmethod", "_compile_id"},
    [VMSTRUCTS_METHOD_CONST] = {"Method", "_constMethod"},
    [VMSTRUCTS_CONST_POOL] = {"ConstMethod", "_constants"},
    [VMSTRUCTS_CONST_NAME] = {"ConstMethod", "_name_index"},
    [VMSTRUCTS_POOL_HOLDER] = {"ConstantPool", "_pool_holder"},
    [VMSTRUCTS_CLASS_NAME] = {"Klass", "_name"},
    [VMSTRUCTS_SYMBOL_LENGTH] = {"Symbol", "_length"},
    [VMSTRUCTS_SYMBOL_BODY] = {"Symbol", "_body[0]"},
    [VMSTRUCTS_BLOB_FRAME_SIZE] = {"CodeBlob", "_frame_size", true},
    [VMSTRUCTS_BLOB_FRAME_COMPLETE] = {"CodeBlob", "_frame_complete_offset", true},
    [VMSTRUCTS_CALL_STUB_RETURN] = {"StubRoutines", "_call_stub_return_address", true, true},
    [VMSTRUCTS_LOADERS] = {"ClassLoaderDataGraph", "_head", true, true},
    [VMSTRUCTS_VERSION] = {"Abstract_VM_Version", "_vm_major_version", true, true},
    [VMSTRUCTS_LOADER_NEXT] = {"ClassLoaderData", "_next", true},
    [VMSTRUCTS_LOADER_CLASSES] = {"ClassLoaderData", "_klasses", true},
    [VMSTRUCTS_CLASS_NEXT] = {"Klass", "_next_link", true},
    [VMSTRUCTS_CLASS_LAYOUT] = {"Klass", "_layout_helper", true},
    [VMSTRUCTS_CLASS_STATE] = {"InstanceKlass", "_init_state", true},
    [VMSTRUCTS_CLASS_METHODS] = {"InstanceKlass", "_methods", true},
    [VMSTRUCTS_CLASS_POOL] = {"InstanceKlass", "_constants", true},
    [VMSTRUCTS_POOL_FILE] = {"ConstantPool", "_source_file_name_index", true},
    [VMSTRUCTS_POOL_LENGTH] = {"ConstantPool", "_length", true},
    [VMSTRUCTS_METHODS_LENGTH] = {"Array<int>", "_length", true},
    [VMSTRUCTS_METHODS_DATA] = {"Array<Method*>", "_data", true},
    [VMSTRUCTS_CONST_SIZE] = {"ConstMethod", "_constMethod_size", true},
    [VMSTRUCTS_CONST_FLAGS] = {"ConstMethod", "_flags", true},
    [VMSTRUCTS_CONST_WIDE_FLAGS] = {"ConstMethod", "_flags._flags", true},
    [VMSTRUCTS_CONST_CODE_SIZE] = {"ConstMethod", "_code_size", true},
    [VMSTRUCTS_PLACE_AT] = {"PcDesc", "_pc_offset", true},
    [VMSTRUCTS_PLACE_SCOPE] = {"PcDesc", "_scope_decode_offset", true},
    [VMSTRUCTS_NMETHOD_PLACES] = {"nmethod", "_scopes_pcs_offset", true},
    [VMSTRUCTS_NMETHOD_METADATA] = {"nmethod", "_metadata_offset", true},
    [VMSTRUCTS_COMPILED_SCOPES] = {"CompiledMethod", "_scopes_data_begin", true},
    [VMSTRUCTS_NMETHOD_DEPENDENCIES] = {"nmethod", "_dependencies_offset", true},
    [VMSTRUCTS_NMETHOD_BESIDE] = {"nmethod", "_immutable_data", true},
    [VMSTRUCTS_NMETHOD_BESIDE_BYTES] = {"nmethod", "_immutable_data_size", true},
    [VMSTRUCTS_NMETHOD_SCOPES] = {"nmethod", "_scopes_data_offset", true},
    [VMSTRUCTS_BLOB_MUTABLE] = {"CodeBlob", "_mutable_data", true},
    [VMSTRUCTS_BLOB_MUTABLE_BYTES] = {"CodeBlob", "_mutable_data_size", true},
    [VMSTRUCTS_BLOB_RELOCATION_BYTES] = {"CodeBlob", "_relocation_size", true},
};

/* Integers of its members by the names of their types; pointers end in an asterisk. */
static const struct {
	const char *name;
	uint32_t bytes;
} types[] = {{"int", 4},
	     {"unsigned int", 4},
	     {"uint32_t", 4},
	     {"u4", 4},
	     {"size_t", 8},
	     {"address", 8},
	     {"u2", 2},
	     {"uint16_t", 2},
	     {"int16_t", 2},
	     {"u1", 1},
	     {"bool", 1},
	     {"jint", 4},
	     {"InstanceKlass::ClassState", 1}};
/* What is not read as a number: a structure within another one, and where an array begins, whose
 * kind the tables do not say. */
static const char *const structures[] = {"VirtualSpace", ""};

/* --- symbols */

struct image {
	struct remote *memory;
	uint64_t bias; /* what is added to its addresses */
	uint64_t symbols, strings;
};

static bool find_dynamic(struct image *i, uint64_t base, Elf64_Phdr *out)
{
	Elf64_Ehdr e;
	Elf64_Phdr first = {0};
	bool has_first = false, has_dynamic = false;

	if (!remote_copy(i->memory, base, &e, sizeof(e)) ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    e.e_phentsize != sizeof(*out) || e.e_phnum > MAX_SEGMENTS)
		return false;
	for (uint64_t n = 0; n < e.e_phnum; n++) {
		Elf64_Phdr p;

		if (!remote_copy(i->memory, base + e.e_phoff + n * sizeof(p), &p, sizeof(p)))
			return false;
		if (p.p_type == PT_LOAD && !has_first) {
			first = p;
			has_first = true;
		}
		if (p.p_type == PT_DYNAMIC) {
			*out = p;
			has_dynamic = true;
		}
	}
	i->bias = base - (first.p_vaddr - first.p_offset);
	return has_first && has_dynamic;
}

/* The loader has put addresses of the process into it; not all loaders do. */
static uint64_t loaded(const struct image *i, uint64_t address)
{
	return address < i->bias ? address + i->bias : address;
}

static bool open_image(struct image *i, uint64_t base)
{
	Elf64_Phdr p = {0};

	if (!find_dynamic(i, base, &p))
		return false;
	for (uint64_t n = 0; n < MAX_DYNAMIC; n++) {
		Elf64_Dyn d;

		if (!remote_copy(i->memory, i->bias + p.p_vaddr + n * sizeof(d), &d, sizeof(d)) ||
		    d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_SYMTAB)
			i->symbols = loaded(i, d.d_un.d_ptr);
		else if (d.d_tag == DT_STRTAB)
			i->strings = loaded(i, d.d_un.d_ptr);
	}
	return i->symbols && i->strings > i->symbols; /* linkers put the texts behind */
}

static void add_variable(const struct image *i, const char *name, uint64_t value,
			 uint64_t out[NR_VARIABLES])
{
	const size_t len = strlen(before);

	for (size_t v = 0; strncmp(name, before, len) == 0 && v < NR_VARIABLES; v++)
		if (strcmp(name + len, variables[v]) == 0 &&
		    !remote_copy(i->memory, i->bias + value, &out[v], sizeof(out[v])))
			out[v] = 0;
}

/* Their values. False: there are none, or none yet: the loader has not come so far. */
static bool load_variables(const struct image *i, uint64_t out[NR_VARIABLES])
{
	const uint64_t nr = (i->strings - i->symbols) / sizeof(Elf64_Sym);

	for (uint64_t n = 0; n < nr && n < MAX_SYMBOLS; n++) {
		char name[TEXT_BYTES];
		Elf64_Sym s;

		if (!remote_copy(i->memory, i->symbols + n * sizeof(s), &s, sizeof(s)))
			return false;
		if (s.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s.st_info) == STT_OBJECT &&
		    remote_text(i->memory, i->strings + s.st_name, name, sizeof(name)))
			add_variable(i, name, s.st_value, out);
	}
	for (size_t v = 0; v < NR_VARIABLES; v++)
		if (!out[v] && v != STRUCT_TYPE && v != TYPE_NAME) /* the first of their records */
			return false;
	return true;
}

/* --- tables */

struct tables {
	struct remote *memory;
	uint64_t variable[NR_VARIABLES];
};

static bool load_word(struct tables *t, uint64_t record, enum variable member, uint64_t *out)
{
	return remote_copy(t->memory, record + t->variable[member], out, sizeof(*out));
}

static bool load_text(struct tables *t, uint64_t record, enum variable member, char out[TEXT_BYTES])
{
	uint64_t at;

	return load_word(t, record, member, &at) && at &&
	       remote_text(t->memory, at, out, TEXT_BYTES);
}

/* Of the member's type; "": it has none. */
static bool load_kind(struct tables *t, uint64_t record, char out[TEXT_BYTES])
{
	uint64_t at;

	*out = '\0';
	return load_word(t, record, STRUCT_KIND, &at) &&
	       (!at || remote_text(t->memory, at, out, TEXT_BYTES));
}

static uint32_t bytes_of(const char *type)
{
	const size_t len = strlen(type);

	if (len && type[len - 1] == '*')
		return sizeof(uint64_t);
	for (size_t i = 0; i < ARRAY_NR(types); i++)
		if (strcmp(type, types[i].name) == 0)
			return types[i].bytes;
	return ARRAY_ANY(s, structures, ARRAY_NR(structures), strcmp(type, *s) == 0) ? 1 : 0;
}

static void add_field(struct tables *t, uint64_t record, const char *type, const char *field,
		      struct vmstructs *out)
{
	char kind[TEXT_BYTES];
	uint64_t at;

	for (size_t i = 0; i < VMSTRUCTS_NR_FIELDS; i++) {
		const bool is_static = wanted[i].is_static;

		if (strcmp(type, wanted[i].type) == 0 && strcmp(field, wanted[i].field) == 0 &&
		    load_kind(t, record, kind) &&
		    load_word(t, record, is_static ? STRUCT_ADDRESS : STRUCT_OFFSET, &at) &&
		    (is_static || at < MAX_OFFSET))
			out->field[i] = (struct vmstructs_place){at, bytes_of(kind)};
	}
}

static void load_fields(struct tables *t, struct vmstructs *out)
{
	uint64_t record = t->variable[STRUCTS];

	for (size_t n = 0; n < MAX_RECORDS; n++, record += t->variable[STRUCT_STRIDE]) {
		char type[TEXT_BYTES], field[TEXT_BYTES];

		if (!load_text(t, record, STRUCT_TYPE, type) ||
		    !load_text(t, record, STRUCT_FIELD, field))
			return;
		add_field(t, record, type, field, out);
	}
}

static void load_sizes(struct tables *t, struct vmstructs *out)
{
	const struct {
		const char *name;
		uint64_t *bytes;
	} sizes[] = {{"HeapBlock", &out->block_bytes},
		     {"ConstantPool", &out->pool_bytes},
		     {"Method", &out->method_bytes},
		     {"ConstMethod", &out->const_bytes},
		     {"PcDesc", &out->place_bytes}};
	uint64_t record = t->variable[TYPES];
	char type[TEXT_BYTES];

	for (size_t n = 0; n < MAX_RECORDS && load_text(t, record, TYPE_NAME, type);
	     n++, record += t->variable[TYPE_STRIDE])
		for (size_t i = 0; i < ARRAY_NR(sizes); i++)
			if (strcmp(type, sizes[i].name) == 0)
				(void)load_word(t, record, TYPE_SIZE, sizes[i].bytes);
}

/* All that is needed: of members of which each version has one, that one. */
static bool is_whole(const struct vmstructs *l)
{
	for (size_t i = 0; i < VMSTRUCTS_NR_FIELDS; i++)
		if (!wanted[i].is_optional && !vmstructs_has(l, i))
			return false;
	return ((vmstructs_has(l, VMSTRUCTS_BLOB_BEGIN) && vmstructs_has(l, VMSTRUCTS_BLOB_END)) ||
		(vmstructs_has(l, VMSTRUCTS_BLOB_BEGIN_OFFSET) &&
		 vmstructs_has(l, VMSTRUCTS_BLOB_END_OFFSET))) &&
	       (vmstructs_has(l, VMSTRUCTS_COMPILED_METHOD) ||
		vmstructs_has(l, VMSTRUCTS_NMETHOD_METHOD)) &&
	       l->block_bytes && l->block_bytes < MAX_OFFSET && l->pool_bytes &&
	       l->pool_bytes < MAX_OFFSET;
}

bool vmstructs_has_methods(const struct vmstructs *l)
{
	for (size_t i = VMSTRUCTS_LOADERS; i <= VMSTRUCTS_CONST_CODE_SIZE; i++)
		if (i != VMSTRUCTS_CONST_FLAGS && i != VMSTRUCTS_CONST_WIDE_FLAGS &&
		    !vmstructs_has(l, i))
			return false;
	return (vmstructs_has(l, VMSTRUCTS_CONST_FLAGS) ||
		vmstructs_has(l, VMSTRUCTS_CONST_WIDE_FLAGS)) &&
	       l->method_bytes && l->method_bytes < MAX_OFFSET && l->const_bytes &&
	       l->const_bytes < MAX_OFFSET;
}

static bool fits(const struct vmstructs *l, enum vmstructs_field f)
{
	return vmstructs_has(l, f) && l->field[f].at + l->field[f].bytes <= l->place_bytes;
}

bool vmstructs_has_scopes(const struct vmstructs *l)
{
	return vmstructs_has_methods(l) && l->place_bytes <= MAX_PLACE_BYTES &&
	       fits(l, VMSTRUCTS_PLACE_AT) && fits(l, VMSTRUCTS_PLACE_SCOPE);
}

/* --- the process */

static bool ends_with(const char *name, size_t *len, const char *end)
{
	const size_t n = strlen(end);

	if (*len < n || memcmp(name + *len - n, end, n) != 0)
		return false;
	*len -= n;
	return true;
}

/* A package may be renewed while it runs: its memory has all that is needed. */
static bool is_library(const struct proc_mapping *m)
{
	size_t len = m->name_len;

	(void)ends_with(m->name, &len, deleted);
	return !m->offset && ends_with(m->name, &len, library) && len;
}

bool vmstructs_is_library(const char *path)
{
	size_t len = strlen(path);

	return ends_with(path, &len, library) && len;
}

/* Where the library begins. 0; -ENXIO: there is none; -EPERM. */
static int find_library(uint32_t pid, uint64_t *base)
{
	BUF_AUTO(maps, MAX_MAPS_BYTES);
	struct proc_mapping m;
	const char *at;
	int rc = proc_load(PROC(&root_live, pid), "maps", &maps) ?: buf_error(&maps);

	if (rc)
		return rc == -EACCES || rc == -EPERM ? -EPERM : -ENXIO;
	at = buf_str(&maps);
	while (proc_maps_next(&at, maps.data + maps.len, &m))
		if (is_library(&m)) {
			*base = m.start;
			return 0;
		}
	return -ENXIO;
}

int vmstructs_find(uint32_t pid, struct vmstructs *out)
{
	struct vmstructs found = {.block_bytes = 0};
	struct remote *memory;
	struct image image;
	struct tables tables;
	int rc = find_library(pid, &found.base);

	if (rc)
		return rc;
	if (!proc_memory_read(pid, found.base, found.head, sizeof(found.head)))
		return errno == EPERM ? -EPERM : -ENOENT;
	memory = mem_zalloc(sizeof(*memory));
	if (!memory)
		return -ENOMEM;
	memory->pid = pid;
	image = (struct image){.memory = memory};
	tables = (struct tables){.memory = memory};
	rc =
	    open_image(&image, found.base) && load_variables(&image, tables.variable) ? 0 : -ENOENT;
	if (rc == 0) {
		load_fields(&tables, &found);
		load_sizes(&tables, &found);
		rc = is_whole(&found) ? 0 : -ENOTSUP;
	}
	mem_free(memory);
	if (rc == 0)
		*out = found;
	return rc;
}
