/*
 * sqlite_vfs.c - see sqlite_vfs.h.
 *
 * The file objects are the system's own; only the table of methods of a WAL is a copy with two entries changed.
 */
#include "sqlite_vfs.h"

#include <check.h>
#include <sqlite3.h>
#include <string.h>
#include <time.h>

static struct {
	struct vfs_faults faults;
	sqlite3_vfs vfs, *real;
	sqlite3_io_methods wal;
	const sqlite3_io_methods *real_wal;
} shim;

static int wal_write(sqlite3_file *file, const void *data, int len, sqlite3_int64 at)
{
	int rc = atomic_load(&shim.faults.write_rc);

	return rc ? rc : shim.real_wal->xWrite(file, data, len, at);
}

static int wal_sync(sqlite3_file *file, int flags)
{
	const struct timespec pause = {0, 1000000};
	int rc = shim.real_wal->xSync(file, flags), left;

	atomic_fetch_add(&shim.faults.held, 1);
	while (atomic_load(&shim.faults.hold))
		nanosleep(&pause, NULL);
	atomic_fetch_sub(&shim.faults.held, 1);
	atomic_fetch_add(&shim.faults.syncs, 1);
	left = atomic_load(&shim.faults.sync_bad);
	if (rc != SQLITE_OK || left == 0)
		return rc;
	if (left > 0)
		atomic_fetch_sub(&shim.faults.sync_bad, 1);
	return atomic_load(&shim.faults.sync_rc);
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
	int rc = shim.real->xOpen(shim.real, name, file, flags, out_flags);

	(void)vfs;
	if (rc == SQLITE_OK && (flags & SQLITE_OPEN_WAL)) {
		ck_assert(!shim.real_wal || shim.real_wal == file->pMethods);
		if (!shim.real_wal) {
			shim.wal = *file->pMethods;
			shim.wal.xWrite = wal_write;
			shim.wal.xSync = wal_sync;
			shim.real_wal = file->pMethods;
		}
		file->pMethods = &shim.wal;
	}
	return rc;
}

struct vfs_faults *vfs_faults_use(void)
{
	shim.real = sqlite3_vfs_find(NULL);
	shim.vfs = *shim.real;
	shim.vfs.zName = "faults";
	shim.vfs.pNext = NULL;
	shim.vfs.xOpen = vfs_open;
	ck_assert_int_eq(sqlite3_vfs_register(&shim.vfs, 1), SQLITE_OK);
	return &shim.faults;
}
