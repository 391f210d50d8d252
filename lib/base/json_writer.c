#include "base/json_writer.h"

#include "base/buf.h"

void jsonw_init(struct json_writer *j, struct buf *out, bool is_indented)
{
	*j = (struct json_writer){.out = out, .is_indented = is_indented};
}

static void new_line(struct json_writer *j)
{
	if (!j->is_indented)
		return;
	buf_addc(j->out, '\n');
	buf_fill(j->out, ' ', (size_t)j->depth * 2);
}

void jsonw_key(struct json_writer *j, const char *key)
{
	if (j->has_items)
		buf_addc(j->out, ',');
	if (j->depth)
		new_line(j);
	j->has_items = true;
	if (!key)
		return;
	buf_json_string(j->out, key);
	buf_adds(j->out, j->is_indented ? ": " : ":");
}

static void begin(struct json_writer *j, const char *key, const char brackets[2])
{
	jsonw_key(j, key);
	buf_addc(j->out, brackets[0]);
	j->closing[j->depth++] = brackets[1];
	j->has_items = false;
}

void jsonw_object(struct json_writer *j, const char *key)
{
	begin(j, key, "{}");
}

void jsonw_array(struct json_writer *j, const char *key)
{
	begin(j, key, "[]");
}

void jsonw_end(struct json_writer *j)
{
	char bracket = j->closing[--j->depth];

	if (j->has_items)
		new_line(j);
	buf_addc(j->out, bracket);
	j->has_items = true;
}

void jsonw_text(struct json_writer *j, const char *key, const char *text)
{
	if (!text)
		return;
	jsonw_key(j, key);
	buf_json_string(j->out, text);
}

void jsonw_u64(struct json_writer *j, const char *key, uint64_t v)
{
	jsonw_key(j, key);
	buf_u64(j->out, v);
}

void jsonw_bool(struct json_writer *j, const char *key, bool v)
{
	jsonw_raw(j, key, v ? "true" : "false");
}

void jsonw_us(struct json_writer *j, const char *key, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns, rest = size % 1000;
	char decimals[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
			   (char)('0' + rest % 10)};

	jsonw_key(j, key);
	if (ns < 0)
		buf_addc(j->out, '-');
	buf_u64(j->out, size / 1000);
	buf_add(j->out, decimals, sizeof(decimals));
}

void jsonw_raw(struct json_writer *j, const char *key, const char *json)
{
	jsonw_key(j, key);
	buf_adds(j->out, json);
}
