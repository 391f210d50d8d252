/*
 * Each reading is a call, or of pages that were read.
 */
#include "runtimes/jvm.h"

#include "proc/memory.h"
#include "runtimes/remote.h"

#include <stdio.h>
#include <string.h>

enum { HAS_LINES = 1 }; /* a flag */

uint64_t jvm_number(const uint8_t *p, uint32_t bytes)
{
	uint64_t v = 0;

	memcpy(&v, p, bytes < sizeof(v) ? bytes : sizeof(v));
	return v;
}

bool jvm_load(const struct jvm *m, uint64_t address, void *to, size_t bytes)
{
	return m->pages ? remote_copy(m->pages, address, to, bytes)
			: proc_memory_read(m->pid, address, to, bytes);
}

bool jvm_follow(const struct jvm *m, uint64_t structure, enum vmstructs_field f, uint64_t *out)
{
	const struct vmstructs_place *p = &m->at.field[f];
	uint8_t bytes[sizeof(uint64_t)];

	if (!structure || !p->bytes || p->bytes > sizeof(bytes) ||
	    !jvm_load(m, structure + p->at, bytes, p->bytes))
		return false;
	*out = jvm_number(bytes, p->bytes);
	return true;
}

bool jvm_symbol(const struct jvm *m, uint64_t symbol, char out[JVM_SYMBOL_BYTES])
{
	uint64_t len;

	if (!jvm_follow(m, symbol, VMSTRUCTS_SYMBOL_LENGTH, &len) || !len)
		return false;
	if (len > JVM_SYMBOL_BYTES - 1)
		len = JVM_SYMBOL_BYTES - 1;
	out[len] = '\0';
	return jvm_load(m, symbol + m->at.field[VMSTRUCTS_SYMBOL_BODY].at, out, len);
}

void jvm_spell(char *class)
{
	char *end = strstr(class, "+0x");

	if (!end)
		end = strstr(class, "/0x");
	if (end)
		*end = '\0';
	while ((class = strchr(class, '/')))
		*class = '.';
}

static bool load_entry(const struct jvm *m, uint64_t pool, uint64_t index,
		       char out[JVM_SYMBOL_BYTES])
{
	uint64_t symbol;

	return jvm_load(m, pool + m->at.pool_bytes + index * sizeof(symbol), &symbol,
			sizeof(symbol)) &&
	       jvm_symbol(m, symbol, out);
}

bool jvm_method_name(const struct jvm *m, uint64_t method, char *out, size_t size)
{
	char of_class[JVM_SYMBOL_BYTES], of_method[JVM_SYMBOL_BYTES];
	uint64_t constant, pool, index, holder, class;

	if (!jvm_follow(m, method, VMSTRUCTS_METHOD_CONST, &constant) ||
	    !jvm_follow(m, constant, VMSTRUCTS_CONST_POOL, &pool) ||
	    !jvm_follow(m, constant, VMSTRUCTS_CONST_NAME, &index) ||
	    !jvm_follow(m, pool, VMSTRUCTS_POOL_HOLDER, &holder) ||
	    !jvm_follow(m, holder, VMSTRUCTS_CLASS_NAME, &class) ||
	    !load_entry(m, pool, index, of_method) || !jvm_symbol(m, class, of_class))
		return false;
	jvm_spell(of_class);
	snprintf(out, size, "%s.%s", of_class, of_method);
	return true;
}

bool jvm_method_file(const struct jvm *m, uint64_t method, char out[JVM_SYMBOL_BYTES])
{
	uint64_t constant, pool, index;

	*out = '\0';
	return jvm_follow(m, method, VMSTRUCTS_METHOD_CONST, &constant) &&
	       jvm_follow(m, constant, VMSTRUCTS_CONST_POOL, &pool) &&
	       jvm_follow(m, pool, VMSTRUCTS_POOL_FILE, &index) &&
	       (!index || load_entry(m, pool, index, out));
}

bool jvm_method_lines(const struct jvm *m, uint64_t method, uint64_t version,
		      uint8_t out[LINES_MAX_BYTES], uint32_t *out_bytes, uint32_t *first_line)
{
	uint64_t constant, words, flags, codes_bytes, behind, end;
	uint8_t table[LINES_MAX_BYTES];
	size_t bytes;

	if (!jvm_follow(m, method, VMSTRUCTS_METHOD_CONST, &constant) ||
	    !jvm_follow(m, constant, VMSTRUCTS_CONST_SIZE, &words) || words > JVM_MAX_CONST_WORDS ||
	    !jvm_follow(m, constant, VMSTRUCTS_CONST_CODE_SIZE, &codes_bytes) ||
	    !jvm_follow(m, constant,
			vmstructs_has(&m->at, VMSTRUCTS_CONST_FLAGS) ? VMSTRUCTS_CONST_FLAGS
								     : VMSTRUCTS_CONST_WIDE_FLAGS,
			&flags) ||
	    !(flags & HAS_LINES))
		return false;
	behind = constant + m->at.const_bytes + codes_bytes;
	end = constant + words * sizeof(uint64_t);
	if (behind >= end)
		return false;
	bytes = end - behind < sizeof(table) ? end - behind : sizeof(table);
	return jvm_load(m, behind, table, bytes) &&
	       lines_convert(table, bytes, version, out, out_bytes, first_line);
}

bool jvm_collections(const struct jvm *m, uint64_t *out)
{
	uint64_t objects;

	return jvm_load(m, m->at.field[VMSTRUCTS_OBJECTS].at, &objects, sizeof(objects)) &&
	       jvm_follow(m, objects, VMSTRUCTS_COLLECTIONS, out);
}
