/*
 * JSON text. Strings are escaped by base, as all JSON of ours.
 */
#include "export/json.h"

#include "base/buf.h"

void export_json_init(struct export_json *j, struct buf *out)
{
	*j = (struct export_json){.out = out};
}

void export_json_next(struct export_json *j, const char *key)
{
	if (j->has_items)
		buf_addc(j->out, ',');
	j->has_items = true;
	if (!key)
		return;
	buf_json_string(j->out, key);
	buf_addc(j->out, ':');
}

static void begin(struct export_json *j, const char *key, const char brackets[2])
{
	export_json_next(j, key);
	buf_addc(j->out, brackets[0]);
	j->closing[j->depth++] = brackets[1];
	j->has_items = false;
}

void export_json_object(struct export_json *j, const char *key)
{
	begin(j, key, "{}");
}

void export_json_array(struct export_json *j, const char *key)
{
	begin(j, key, "[]");
}

void export_json_end(struct export_json *j)
{
	buf_addc(j->out, j->closing[--j->depth]);
	j->has_items = true;
}

void export_json_text(struct export_json *j, const char *key, const char *text)
{
	if (!text)
		return;
	export_json_next(j, key);
	buf_json_string(j->out, text);
}

void export_json_u64(struct export_json *j, const char *key, uint64_t v)
{
	export_json_next(j, key);
	buf_u64(j->out, v);
}

void export_json_us(struct buf *out, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns, rest = size % 1000;
	char decimals[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
			   (char)('0' + rest % 10)};

	if (ns < 0)
		buf_addc(out, '-');
	buf_u64(out, size / 1000);
	buf_add(out, decimals, sizeof(decimals));
}
