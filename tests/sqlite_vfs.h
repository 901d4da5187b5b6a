/*
 * sqlite_vfs.h - faults of a disk for the SQLite store: the system's own VFS, with writes and syncs of the WAL that a test can
 * make fail, hold up and count.
 */
#ifndef CLAIMD_TESTS_SQLITE_VFS_H
#define CLAIMD_TESTS_SQLITE_VFS_H

#include <stdatomic.h>

struct vfs_faults {
	atomic_int sync_rc;  /* what the next syncs of a WAL answer, after they were done; 0: as it is */
	atomic_int sync_bad; /* so many of them; -1: all */
	atomic_int write_rc; /* what all writes to a WAL answer, undone; 0: they are done */
	atomic_int hold;     /* syncs of a WAL wait until it is 0 */
	atomic_int held;     /* so many wait */
	atomic_int syncs;    /* of WALs, so far */
};

/* Becomes the VFS of every connection that is opened from now on. */
struct vfs_faults *vfs_faults_use(void);

#endif
