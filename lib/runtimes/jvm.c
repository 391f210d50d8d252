/*
 * Each reading is a call, or of pages that were read.
 */
#include "runtimes/jvm.h"

#include "proc/memory.h"
#include "runtimes/remote.h"

#include <string.h>

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

bool jvm_collections(const struct jvm *m, uint64_t *out)
{
	uint64_t objects;

	return jvm_load(m, m->at.field[VMSTRUCTS_OBJECTS].at, &objects, sizeof(objects)) &&
	       jvm_follow(m, objects, VMSTRUCTS_COLLECTIONS, out);
}
