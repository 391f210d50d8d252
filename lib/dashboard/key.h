/*
 * User input: keys and mouse.
 */
#ifndef DASHBOARD_KEY_H
#define DASHBOARD_KEY_H

/* ASCII characters are their own codes. */
enum key_code {
	KEY_CODE_NONE = 0,
	KEY_CODE_ESCAPE = 27,
	KEY_CODE_BACKSPACE = 127,
	KEY_CODE_UP = 256,
	KEY_CODE_DOWN,
	KEY_CODE_LEFT,
	KEY_CODE_RIGHT,
	KEY_CODE_PAGE_UP,
	KEY_CODE_PAGE_DOWN,
	KEY_CODE_HOME,
	KEY_CODE_END,
	KEY_CODE_CLICK, /* at x, y */
	KEY_CODE_WHEEL_UP,
	KEY_CODE_WHEEL_DOWN,
	KEY_CODE_RESIZE,
};

struct key {
	int code;
	unsigned x, y; /* mouse position: column and line, from 0 */
};

/* By how many lines a key scrolls a text of which so many are shown; 0: it is no such key. */
static inline long key_lines(const struct key *key, unsigned nr_shown)
{
	const long page = nr_shown > 1 ? (long)nr_shown - 1 : 1;

	switch (key->code) {
	case 'k':
	case KEY_CODE_UP:
	case KEY_CODE_WHEEL_UP:
		return -1;
	case 'j':
	case KEY_CODE_DOWN:
	case KEY_CODE_WHEEL_DOWN:
		return 1;
	case KEY_CODE_PAGE_UP:
		return -page;
	case KEY_CODE_PAGE_DOWN:
		return page;
	default:
		return 0;
	}
}

#endif
