/*
 * Trees of files as root folders: captured ones (tests/data/hosts), and those made for one test.
 */
#ifndef TEST_TREE_H
#define TEST_TREE_H

#include "base/root.h"

#include <stddef.h>

/* A captured tree of tests/data/hosts. */
struct root tree_captured(const char *name);

/* An empty tree for one test; tree_remove removes it. */
struct root tree_make(void);

/* Writes path ("/proc/stat") below the root and creates the folders on the way. data NULL: path is
 * a folder. */
void tree_put(const struct root *r, const char *path, const void *data, size_t len);

/* tree_put of a string. */
void tree_text(const struct root *r, const char *path, const char *text);

/* Removes a file, or a folder with all in it. */
void tree_drop(const struct root *r, const char *path);

void tree_rename(const struct root *r, const char *from, const char *to);

void tree_remove(const struct root *r);

#endif
