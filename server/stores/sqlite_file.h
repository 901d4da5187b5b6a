/*
 * sqlite_file.h - the file of an SQLite store before SQLite sees it, and whether it is still the same one.
 */
#ifndef CLAIMD_STORE_SQLITE_FILE_H
#define CLAIMD_STORE_SQLITE_FILE_H

#include <sys/types.h>

#include "../faults.h"

/* In the head of the file: it is ours. */
#define APPLICATION_ID 0x636c6d64 /* "clmd" */

/* What may be made where it is missing. */
enum create {
	CREATE_NOTHING,
	CREATE_STORE,  /* the file, and the folder it is in: a path that is mistyped higher up is not a new store */
	CREATE_FOLDERS /* all folders above it too: the path is our own choice */
};

/* Which files these are: of the database, its WAL and the WAL's index. */
struct file_ids {
	dev_t dev[3];
	ino_t ino[3];
};

/* The absolute path of a URL "sqlite:PATH", from mem_alloc. NULL: *err says what is wrong with it. */
char *sqlite_file_path(const char *url, struct errbuf *err);

/* Sees to it that a regular file is there, on a file system that can carry it. What may be made
 * is: the file empty and 0600, folders 0700. *err is set unless FIT_GOOD. */
enum fit sqlite_file_prepare(const char *path, enum create create, struct errbuf *err);

/* Would that do, and could the file be used? Looks only, and only while no file of this path is open in this process. */
enum fit sqlite_file_look(const char *path, enum create create, struct errbuf *err);

/* The name of a file system on which locks and shared memory cannot be relied upon, by the magic number
 * of statfs; NULL: this one may be used. */
const char *sqlite_file_system_refused(unsigned long magic);

/* False: one of them is not there (errno says why). */
bool sqlite_file_ids(const char *path, struct file_ids *ids);
/* The same three files are still there under their names. */
bool sqlite_file_same(const char *path, const struct file_ids *ids);

#endif
