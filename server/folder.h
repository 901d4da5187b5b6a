/*
 * folder.h - the folder that a file of ours is to be in: of the socket (listener.c) and of an SQLite store (sqlite_file.c).
 */
#ifndef CLAIMD_SERVER_FOLDER_H
#define CLAIMD_SERVER_FOLDER_H

#include "faults.h"

#define FOLDER_MAX 512        /* no path that is handed to this is longer, with its NUL */
#define FOLDER_SHOWN "%.120s" /* as much of a path as leaves room for what is wrong with it */

/* The folder that the last part of a path is in: "." for a name alone, "/" for what is in the root. Both may be the same memory. */
void folder_of(const char *path, char folder[FOLDER_MAX]);

/* Only the last folder of a path is made where it is missing: one that is mistyped higher up is no new place. FIT_NEVER when
 * another is missing too, with the command that makes it. */
enum fit folder_above(const char *folder, struct errbuf *err);

/* Can a file be made in this folder, the folder itself with it where it is missing? Looks, makes nothing. nearest: the one that is
 * there, on the way to it; or where looking ended. */
enum fit folder_look(const char *folder, char nearest[FOLDER_MAX], struct errbuf *err);

/* What errno says of a path, with what to do about it, and whether that can heal. */
enum fit folder_fault(const char *path, struct errbuf *err);
const char *folder_advice(int error);

#endif
