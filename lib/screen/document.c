#include "screen/document.h"

#include "base/buf.h"
#include "base/str.h"

void screen_document_begin(struct buf *out, const char *document, const char *program)
{
	buf_printf(out, "{\"document\":\"%s\",\"version\":%d,\"program\":", document,
		   SCREEN_DOCUMENT_VERSION);
	buf_json_string(out, program);
}

void screen_document_rows(struct buf *out, const char *lines, size_t len, bool *has_items)
{
	const char *at = lines, *line, *stop;

	while ((line = str_next_line(&at, lines + len, &stop))) {
		buf_adds(out, *has_items ? ",\n" : "\n");
		buf_add(out, line, (size_t)(stop - line));
		*has_items = true;
	}
}
