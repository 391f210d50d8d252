/*
 * Where HotSpot has what, as libjvm.so of the process says itself.
 */
#ifndef RUNTIMES_VMSTRUCTS_H
#define RUNTIMES_VMSTRUCTS_H

#include <stdbool.h>
#include <stdint.h>

/* Members of its structures. Versions differ in some: the first of each pair is that of Java 17. */
enum vmstructs_field {
	/* addresses of pointers: to the list of code heaps; to the heap of the program's objects */
	VMSTRUCTS_HEAPS,
	VMSTRUCTS_OBJECTS,
	VMSTRUCTS_COLLECTIONS,
	VMSTRUCTS_LIST_LEN,
	VMSTRUCTS_LIST_DATA,
	VMSTRUCTS_HEAP_MEMORY,
	VMSTRUCTS_HEAP_SEGMENTS,
	VMSTRUCTS_HEAP_SHIFT,
	VMSTRUCTS_SPACE_LOW,
	VMSTRUCTS_SPACE_HIGH,
	VMSTRUCTS_BLOCK_LENGTH,
	VMSTRUCTS_BLOCK_USED,
	VMSTRUCTS_BLOB_NAME,
	VMSTRUCTS_BLOB_SIZE,
	VMSTRUCTS_BLOB_BEGIN, /* a pointer */
	VMSTRUCTS_BLOB_END,
	VMSTRUCTS_BLOB_BEGIN_OFFSET, /* or an offset from the blob */
	VMSTRUCTS_BLOB_END_OFFSET,
	VMSTRUCTS_COMPILED_METHOD,
	VMSTRUCTS_NMETHOD_METHOD,
	VMSTRUCTS_NMETHOD_ID,
	VMSTRUCTS_METHOD_CONST,
	VMSTRUCTS_CONST_POOL,
	VMSTRUCTS_CONST_NAME,
	VMSTRUCTS_POOL_HOLDER,
	VMSTRUCTS_CLASS_NAME,
	VMSTRUCTS_SYMBOL_LENGTH,
	VMSTRUCTS_SYMBOL_BODY,
	/* for callers, each may be missing: of frames, in words; where code has set up its frame;
	 * the address of a pointer: where the stub that calls Java returns to */
	VMSTRUCTS_BLOB_FRAME_SIZE,
	VMSTRUCTS_BLOB_FRAME_COMPLETE,
	VMSTRUCTS_CALL_STUB_RETURN,
	/* for methods that are interpreted, each may be missing; addresses: of a pointer to the
	 * first class loader's data, and of the version */
	VMSTRUCTS_LOADERS,
	VMSTRUCTS_VERSION,
	VMSTRUCTS_LOADER_NEXT,
	VMSTRUCTS_LOADER_CLASSES,
	VMSTRUCTS_CLASS_NEXT,
	VMSTRUCTS_CLASS_LAYOUT,
	VMSTRUCTS_CLASS_STATE,
	VMSTRUCTS_CLASS_METHODS,
	VMSTRUCTS_CLASS_POOL,
	VMSTRUCTS_POOL_FILE,
	VMSTRUCTS_POOL_LENGTH,
	VMSTRUCTS_METHODS_LENGTH,
	VMSTRUCTS_METHODS_DATA,
	VMSTRUCTS_CONST_SIZE, /* in words, with what follows it */
	VMSTRUCTS_CONST_FLAGS,
	VMSTRUCTS_CONST_WIDE_FLAGS, /* or these */
	VMSTRUCTS_CONST_CODE_SIZE,
	/* for what is inlined, each may be missing. Of PcDesc: how far from the start of the code,
	 * and where its scope is. Up to Java 22: where scopes are; offsets from the block. */
	VMSTRUCTS_PLACE_AT,
	VMSTRUCTS_PLACE_SCOPE,
	VMSTRUCTS_NMETHOD_PLACES,
	VMSTRUCTS_NMETHOD_METADATA, /* up to 24 */
	VMSTRUCTS_COMPILED_SCOPES,
	VMSTRUCTS_NMETHOD_DEPENDENCIES,
	/* from 23 on: where what does not change is, and how much; from 25 on: what does */
	VMSTRUCTS_NMETHOD_BESIDE,
	VMSTRUCTS_NMETHOD_BESIDE_BYTES,
	VMSTRUCTS_NMETHOD_SCOPES,
	VMSTRUCTS_BLOB_MUTABLE,
	VMSTRUCTS_BLOB_MUTABLE_BYTES,
	VMSTRUCTS_BLOB_RELOCATION_BYTES,
	VMSTRUCTS_NR_FIELDS,
};

struct vmstructs {
	struct vmstructs_place {
		uint64_t at;    /* offset in the structure; of what is no member the address */
		uint32_t bytes; /* 0: this version has no such member */
	} field[VMSTRUCTS_NR_FIELDS];
	uint64_t block_bytes, pool_bytes; /* sizes of the structures */
	uint64_t method_bytes, const_bytes, place_bytes;
	uint64_t base;    /* where the library begins, */
	uint8_t head[64]; /* with what */
};

static inline bool vmstructs_has(const struct vmstructs *l, enum vmstructs_field f)
{
	return l->field[f].bytes;
}

/* Whether it says all that methods are read by (runtimes/methods.h). */
bool vmstructs_has_methods(const struct vmstructs *l);
/* Whether, beside that, it says by what inlined methods are (runtimes/scopes.h). */
bool vmstructs_has_scopes(const struct vmstructs *l);

/* 0; -ENXIO: the process has no libjvm.so; -ENOENT: it is not loaded yet; -ENOTSUP: it is of a
 * version that is not known; -EPERM: it may not be read; -ENOMEM. */
int vmstructs_find(uint32_t pid, struct vmstructs *out);
/* A file that is mapped from that path is what vmstructs_find looks for. */
bool vmstructs_is_library(const char *path);

#endif
