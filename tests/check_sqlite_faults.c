/*
 * check_sqlite_faults.c - the SQLite store and a disk that fails: full, read-only, taken away, locked, without sync.
 *
 * Needs root, for mounts in a mount namespace of each test's own.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sqlite_case.h"
#include "sqlite_vfs.h"

static struct shop shop;

static const struct op *claim(const char *key)
{
	return shop_ask(&shop, key, ask_claim(TOKEN));
}

static void is_refused(const struct op *op)
{
	ck_assert_msg(op->result == OP_REFUSED && op->err == ERR_STORE && !op->unreadable, "result %d, word %d: %s",
		      (int)op->result, (int)op->verdict.word, op->why.text);
	ck_assert_str_ne(op->why.text, "");
}

static void must(bool done, const char *what)
{
	ck_assert_msg(done, "%s: %s (these tests need root and mounts)", what, strerror(errno));
}

/* ---- file systems ---- */

/* The folder "m", where only this process will see what it mounts. In a chroot "/" is no mount that could be made private: there
 * the folder itself becomes one. */
static void own_mounts(void)
{
	const char *m = case_path("m");

	must(mkdir(m, 0700) == 0, "a folder");
	must(unshare(CLONE_NEWNS) == 0, "a mount namespace");
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
		return;
	must(errno == EINVAL && mount(m, m, NULL, MS_BIND, NULL) == 0, "a mount of its own");
	must(mount("none", m, NULL, MS_PRIVATE, NULL) == 0, "private mounts");
}

static void tmpfs_mount(const char *options)
{
	own_mounts();
	must(mount("none", case_path("m"), "tmpfs", 0, options) == 0, "a tmpfs");
}

/* Takes all the room that there is. */
static void fill(const char *path)
{
	static char block[4096];
	int fd = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
	size_t size = sizeof(block);

	ck_assert_int_ge(fd, 0);
	while (size > 0)
		if (write(fd, block, size) <= 0)
			size /= 2;
	close(fd);
}

/* A FUSE mount that nobody serves: for other users than its owner the kernel answers statfs alone. */
START_TEST(fuse_is_refused)
{
	struct errbuf err = {""};
	char options[100];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	must(fd >= 0, "/dev/fuse");
	own_mounts();
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=65534,group_id=65534", fd);
	must(mount("none", case_path("m"), "fuse", MS_NOSUID | MS_NODEV, options) == 0, "a FUSE mount");
	ck_assert(!shop_try(&shop, case_path("m/db"), 1000, &err));
	ck_assert_msg(strstr(err.text, "FUSE") && strstr(err.text, "local disk"), "%s", err.text);
	must(umount2(case_path("m"), MNT_DETACH) == 0, "umount");
	close(fd);
}
END_TEST

START_TEST(full_disk_heals)
{
	char key[32];
	int64_t fence;
	int i;

	tmpfs_mount("size=1m");
	shop_open(&shop, case_path("m/db"));
	fence = shop_win(&shop, "settled");
	shop_ask(&shop, "settled", ask_of(ASK_COMPLETE, fence));
	fill(case_path("m/filler"));
	for (i = 0; i < 2000; i++) { /* until the room in the WAL is used up, too */
		snprintf(key, sizeof(key), "key-%d", i);
		if (claim(key)->result == OP_REFUSED)
			break;
	}
	is_refused(claim(key));
	shop_wait_up(&shop, false);
	ck_assert_msg(strstr(shop.why, "full"), "%s", shop.why);
	/* it can still be read, and what changes nothing is answered */
	ck_assert_int_eq(shop_ask(&shop, "settled", ask_of(ASK_STATUS, 0))->record.state, STATE_DONE);
	ck_assert_int_eq(claim("settled")->verdict.word, WORD_DONE);
	ck_assert_int_eq(shop_ask(&shop, key, ask_of(ASK_STATUS, 0))->verdict.word, WORD_NOTFOUND);
	must(unlink(case_path("m/filler")) == 0, "unlink");
	shop_wait_up(&shop, true); /* by itself */
	ck_assert_int_eq(claim(key)->verdict.word, WORD_WON);
	shop_close(&shop);
	shop_open(&shop, case_path("m/db"));
	ck_assert_int_eq(claim("settled")->verdict.word, WORD_DONE);
	for (; i >= 0; i--) { /* each that was won is there */
		snprintf(key, sizeof(key), "key-%d", i);
		ck_assert_int_eq(shop_ask(&shop, key, ask_claim(OTHER))->verdict.word, WORD_HELD);
	}
	shop_close(&shop);
}
END_TEST

START_TEST(full_disk_at_start_heals)
{
	struct errbuf err = {""};

	tmpfs_mount("size=256k");
	fill(case_path("m/filler"));
	ck_assert_msg(shop_try(&shop, case_path("m/db"), 2000, &err), "%s", err.text);
	is_refused(claim("k"));
	is_refused(shop_ask(&shop, "k", ask_of(ASK_STATUS, 0)));
	is_refused(shop_scan(&shop, OP_LIST, (struct scan){.state = -1, .limit = 10}));
	is_refused(shop_scan(&shop, OP_COUNT, (struct scan){.state = -1}));
	is_refused(shop_scan(&shop, OP_SWEEP, (struct scan){.state = -1, .limit = 10}));
	ck_assert(!shop.up);
	must(unlink(case_path("m/filler")) == 0, "unlink");
	shop_wait_heal(&shop, "k");
	ck_assert_int_eq(shop_ask(&shop, "k", ask_of(ASK_STATUS, 0))->verdict.word, WORD_STATUS);
	shop_close(&shop);
}
END_TEST

START_TEST(read_only_at_start_heals)
{
	struct errbuf err = {""};

	tmpfs_mount("size=4m");
	shop_open(&shop, case_path("m/db"));
	shop_win(&shop, "old");
	shop_close(&shop);
	must(mount("none", case_path("m"), NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0, "remount,ro");
	ck_assert_msg(shop_try(&shop, case_path("m/db"), 2000, &err), "%s", err.text);
	is_refused(claim("k"));
	must(mount("none", case_path("m"), NULL, MS_REMOUNT, NULL) == 0, "remount,rw");
	shop_wait_heal(&shop, "k");
	ck_assert_int_eq(shop_ask(&shop, "old", ask_claim(OTHER))->verdict.word, WORD_HELD);
	shop_close(&shop);
	/* and where the file is not there yet */
	must(mount("none", case_path("m"), NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0, "remount,ro");
	ck_assert_msg(shop_try(&shop, case_path("m/new/db"), 2000, &err), "%s", err.text);
	is_refused(claim("k"));
	must(mount("none", case_path("m"), NULL, MS_REMOUNT, NULL) == 0, "remount,rw");
	shop_wait_heal(&shop, "k");
	shop_close(&shop);
}
END_TEST

/* The flag of chattr +i, which stops root and files that are open already. */
static void immutable_set(const char *path, bool on)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), flags = 0;

	must(fd >= 0 && ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0, "the flags of a file");
	flags = on ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
	must(ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0, "the immutable flag");
	close(fd);
}

/* ext4 in a file, since not every file system has the flag. */
static void ext4_mount(void)
{
	char command[400];

	own_mounts();
	snprintf(command, sizeof(command), "truncate -s 16M %s && mkfs.ext4 -q -F %s && mount -o loop %s %s",
		 case_path("image"), case_path("image"), case_path("image"), case_path("m"));
	must(system(command) == 0, "ext4 on a loop device (mkfs.ext4 is in e2fsprogs)");
}

START_TEST(read_only_while_running_heals)
{
	ext4_mount();
	shop_open(&shop, case_path("m/db"));
	shop_win(&shop, "old");
	immutable_set(case_path("m/db-wal"), true);
	immutable_set(case_path("m/db"), true);
	is_refused(claim("k"));
	is_refused(claim("k"));
	shop_wait_up(&shop, false);
	immutable_set(case_path("m/db"), false);
	immutable_set(case_path("m/db-wal"), false);
	shop_wait_heal(&shop, "k");
	ck_assert_int_eq(shop_ask(&shop, "old", ask_claim(OTHER))->verdict.word, WORD_HELD);
	shop_close(&shop);
	must(umount(case_path("m")) == 0, "umount");
}
END_TEST

/* ---- taken away ---- */

START_TEST(folder_removed_while_running)
{
	const char *off = "m-off";

	must(mkdir(case_path("m"), 0700) == 0, "a folder");
	shop_open(&shop, case_path("m/db"));
	shop_win(&shop, "old");
	ck_assert_int_eq(shop_ask(&shop, "old", ask_of(ASK_STATUS, 0))->verdict.word, WORD_STATUS);
	must(rename(case_path("m"), case_path(off)) == 0, "rename");
	is_refused(claim("k"));
	is_refused(shop_ask(&shop, "old", ask_of(ASK_STATUS, 0)));
	shop_wait_up(&shop, false);
	ck_assert_msg(strstr(shop.why, "m/db"), "%s", shop.why);
	pause_ms(300); /* several of its own tries: none may make a new and empty one */
	is_refused(claim("old"));
	ck_assert_int_ne(access(case_path("m"), F_OK), 0);
	must(mkdir(case_path("m"), 0700) == 0, "a folder");
	is_refused(claim("old"));
	ck_assert_int_ne(access(case_path("m/db"), F_OK), 0);
	must(rmdir(case_path("m")) == 0, "rmdir");
	must(rename(case_path(off), case_path("m")) == 0, "rename");
	shop_wait_heal(&shop, "k");
	ck_assert_int_eq(shop_ask(&shop, "old", ask_claim(OTHER))->verdict.word, WORD_HELD);
	shop_close(&shop);
}
END_TEST

/* What stands there then is used, also when it is another file: a backup that was put back, a volume that was mounted again. */
START_TEST(another_store_in_its_place)
{
	char command[400];

	shop_open(&shop, case_path("m/db"));
	shop_win(&shop, "old");
	shop_close(&shop);
	snprintf(command, sizeof(command), "cp -R %s %s", case_path("m"), case_path("copy"));
	must(system(command) == 0, "cp");
	shop_open(&shop, case_path("m/db"));
	shop_win(&shop, "lost");
	must(rename(case_path("m"), case_path("off")) == 0, "rename");
	must(rename(case_path("copy"), case_path("m")) == 0, "rename");
	shop_wait_heal(&shop, "k");
	ck_assert_int_eq(shop_ask(&shop, "old", ask_claim(OTHER))->verdict.word, WORD_HELD);
	ck_assert_int_eq(shop_ask(&shop, "lost", ask_of(ASK_STATUS, 0))->verdict.word, WORD_NOTFOUND);
	shop_close(&shop);
	ck_assert_int_eq(sql_number(case_path("m/db"), "SELECT count(*) FROM record"), 2);
}
END_TEST

/* Which of the three files is taken: what is written behind its back nobody would find. */
START_TEST(file_replaced_while_running)
{
	static const char *const names[] = {"db", "db-wal", "db-shm"};
	const char *name = names[_i];

	shop_open(&shop, case_path("db"));
	shop_win(&shop, "old");
	ck_assert_int_eq(shop_ask(&shop, "old", ask_of(ASK_STATUS, 0))->verdict.word, WORD_STATUS);
	must(rename(case_path(name), case_path("off")) == 0, "rename");
	close(open(case_path(name), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	is_refused(claim("k"));
	shop_wait_up(&shop, false);
	if (_i == 0) { /* an empty file in its place is not taken for a new store */
		pause_ms(300);
		is_refused(claim("old"));
		is_refused(shop_ask(&shop, "old", ask_of(ASK_STATUS, 0)));
		must(rename(case_path("off"), case_path(name)) == 0, "rename");
		shop_wait_heal(&shop, "k");
		ck_assert_int_eq(shop_ask(&shop, "old", ask_claim(OTHER))->verdict.word, WORD_HELD);
	}
	shop_close(&shop);
}
END_TEST

/* ---- locked ---- */

/* Another process that has the write lock until it is told to go. */
static pid_t locker_start(const char *path, int *stop)
{
	int ready[2], go[2];
	char c;
	pid_t pid;

	ck_assert_int_eq(pipe(ready), 0);
	ck_assert_int_eq(pipe(go), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		sqlite3 *conn;

		close(go[1]);
		if (sqlite3_open_v2(path, &conn, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
		    sqlite3_exec(conn, "BEGIN EXCLUSIVE", NULL, NULL, NULL) != SQLITE_OK ||
		    write(ready[1], "r", 1) != 1)
			_exit(1);
		while (read(go[0], &c, 1) < 0 && errno == EINTR)
			;
		sqlite3_close(conn);
		_exit(0);
	}
	close(ready[1]);
	close(go[0]);
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	close(ready[0]);
	*stop = go[1];
	return pid;
}

static void locker_stop(pid_t pid, int stop)
{
	int status;

	close(stop);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* Twenty batches: those behind have waited as long as the first, and 20 waits would be too long. */
#define WAITING 10300
#define PATIENCE_MS 2000

START_TEST(locked_by_another_process)
{
	static struct op ops[WAITING];
	static char keys[WAITING][16];
	struct errbuf err = {""};
	int64_t start;
	pid_t pid;
	int stop, i;

	shop_open(&shop, case_path("db"));
	shop_win(&shop, "old");
	shop_close(&shop);
	pid = locker_start(case_path("db"), &stop);
	start = mono_ms();
	ck_assert_msg(shop_try(&shop, case_path("db"), PATIENCE_MS, &err), "%s", err.text);
	for (i = 0; i < WAITING; i++) {
		snprintf(keys[i], sizeof(keys[i]), "key-%d", i);
		op_init(&ops[i], OP_RECORD, slice_from(keys[i]));
		ops[i].ask = ask_claim(TOKEN);
		shop_submit(&shop, &ops[i]);
	}
	shop_run(&shop);                                  /* in its bound, since it gives up after 30 s */
	ck_assert_int_ge(mono_ms() - start, PATIENCE_MS); /* it has waited, in case it had been short */
	for (i = 0; i < WAITING; i++) {
		is_refused(&ops[i]);
		ck_assert_msg(strstr(ops[i].why.text, "locked"), "%s", ops[i].why.text);
	}
	ck_assert_int_eq(shop_ask(&shop, "old", ask_of(ASK_STATUS, 0))->verdict.word, WORD_STATUS);
	locker_stop(pid, stop);
	shop_wait_heal(&shop, "k");
	shop_close(&shop);
}
END_TEST

START_TEST(close_does_not_wait_for_a_lock)
{
	struct op op;
	int64_t end;
	pid_t pid;
	int stop;

	shop_open(&shop, case_path("db"));
	pid = locker_start(case_path("db"), &stop);
	op_init(&op, OP_RECORD, SLICE_OF("k"));
	op.ask = ask_claim(TOKEN);
	shop_submit(&shop, &op);
	for (end = mono_ms() + 100; mono_ms() < end;)
		shop_turn(&shop); /* with the lock's waiting time of 10 s it is in the middle of it */
	end = mono_ms() + 5000;
	shop_close(&shop);
	ck_assert_int_lt(mono_ms(), end);
	is_refused(&op);
	locker_stop(pid, stop);
}
END_TEST

/* ---- sync ---- */

START_TEST(no_answer_before_the_sync)
{
	struct vfs_faults *faults = vfs_faults_use();
	struct op op[3];
	int i;

	shop_open(&shop, case_path("db"));
	atomic_store(&faults->hold, 1);
	for (i = 0; i < 3; i++) {
		op_init(&op[i], OP_RECORD, i == 0 ? SLICE_OF("a") : i == 1 ? SLICE_OF("b") : SLICE_OF("c"));
		op[i].ask = ask_claim(TOKEN);
		shop_submit(&shop, &op[i]);
	}
	while (!atomic_load(&faults->held))
		shop_turn(&shop);
	for (i = 0; i < 20; i++)
		shop_turn(&shop);
	ck_assert_uint_eq(shop.answers, 0);
	/* nor does anybody see it */
	ck_assert_int_eq(sql_number(case_path("db"), "SELECT count(*) FROM record"), 0);
	atomic_store(&faults->hold, 0);
	shop_run(&shop);
	for (i = 0; i < 3; i++)
		ck_assert_int_eq(op[i].verdict.word, WORD_WON);
	shop_close(&shop);
}
END_TEST

/* While one transaction is being synced the next gathers: two syncs for all of it. */
START_TEST(a_sync_is_shared)
{
	static struct op ops[400];
	static char keys[400][16];
	struct vfs_faults *faults = vfs_faults_use();
	int i, before;

	shop_open(&shop, case_path("db"));
	before = atomic_load(&faults->syncs);
	atomic_store(&faults->hold, 1);
	for (i = 0; i < 400; i++) {
		snprintf(keys[i], sizeof(keys[i]), "key-%d", i);
		op_init(&ops[i], OP_RECORD, slice_from(keys[i]));
		ops[i].ask = ask_claim(TOKEN);
		shop_submit(&shop, &ops[i]);
		store_flush(shop.store);
		while (i == 0 && !atomic_load(&faults->held))
			shop_turn(&shop);
	}
	atomic_store(&faults->hold, 0);
	shop_run(&shop);
	ck_assert_int_eq(atomic_load(&faults->syncs) - before, 2);
	shop_close(&shop);
}
END_TEST

/* The reader sees that a record is gone; by the time the writer comes to delete it the key has been claimed again. */
START_TEST(swept_only_what_is_still_gone)
{
	struct vfs_faults *faults = vfs_faults_use();
	struct ask brief = ask_claim(OTHER);
	struct op sweep, op;

	shop_open(&shop, case_path("db"));
	brief.lease = brief.ttl = 1 * MS;
	shop_ask(&shop, "k", brief);
	while (shop_ask(&shop, "k", ask_of(ASK_STATUS, 0))->verdict.word != WORD_NOTFOUND)
		;
	atomic_store(&faults->hold, 1);
	op_init(&op, OP_RECORD, SLICE_OF("k"));
	op.ask = ask_claim(TOKEN);
	shop_submit(&shop, &op);
	while (!atomic_load(&faults->held))
		shop_turn(&shop);
	op_init(&sweep, OP_SWEEP, SLICE_ABSENT);
	sweep.scan.limit = 10;
	shop_submit(&shop, &sweep);
	/* each is answered in a turn of the reader, so with the second at last the sweep's turn is over */
	shop_look(&shop, "k");
	shop_look(&shop, "k");
	atomic_store(&faults->hold, 0);
	shop_run(&shop);
	ck_assert_int_eq(op.verdict.word, WORD_WON);
	ck_assert_int_eq(sweep.deleted, 0);
	op_release(&op);
	ck_assert_int_eq(shop_ask(&shop, "k", ask_claim(OTHER))->verdict.word, WORD_HELD);
	shop_close(&shop);
}
END_TEST

/* ---- COMMIT fails ---- */

static struct op pair[2];

/* In one batch: a CLAIM that writes, and one that is told HELD. */
static void claim_pair(void)
{
	op_init(&pair[0], OP_RECORD, SLICE_OF("k"));
	op_init(&pair[1], OP_RECORD, SLICE_OF("old"));
	pair[0].ask = ask_claim(TOKEN);
	pair[1].ask = ask_claim(OTHER);
	shop_submit(&shop, &pair[0]);
	shop_submit(&shop, &pair[1]);
	shop_run(&shop);
}

/* Runs `part` in a process of its own, which ends without closing anything: what is in the WAL is recovered afterwards. */
static void crash_after(void (*part)(struct vfs_faults *))
{
	pid_t pid;
	int status;

	shop_open(&shop, case_path("db"));
	shop_win(&shop, "old");
	shop_close(&shop);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct vfs_faults *faults = vfs_faults_use();

		shop_open(&shop, case_path("db"));
		part(faults);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	shop_open(&shop, case_path("db"));
}

static void sync_fails_once(struct vfs_faults *faults)
{
	atomic_store(&faults->sync_rc, SQLITE_IOERR_FSYNC);
	atomic_store(&faults->sync_bad, 1);
	claim_pair();
	if (pair[0].result != OP_REFUSED || pair[1].result != OP_REFUSED)
		_exit(2);
	if (shop_ask(&shop, "k", ask_of(ASK_STATUS, 0))->verdict.word != WORD_NOTFOUND)
		_exit(3);
}

/* Refused after a COMMIT that failed is refused for good, although the transaction was in the WAL. */
START_TEST(refused_commit_does_not_come_back)
{
	crash_after(sync_fails_once);
	ck_assert_int_eq(shop_ask(&shop, "k", ask_of(ASK_STATUS, 0))->verdict.word, WORD_NOTFOUND);
	ck_assert_int_eq(shop_ask(&shop, "old", ask_of(ASK_STATUS, 0))->verdict.word, WORD_STATUS);
	shop_close(&shop);
}
END_TEST

static void sync_fails(struct vfs_faults *faults)
{
	atomic_store(&faults->sync_rc, SQLITE_IOERR_FSYNC);
	atomic_store(&faults->sync_bad, -1);
	claim_pair();
	if (pair[0].result != OP_UNCERTAIN || pair[0].err != ERR_TIMEOUT)
		_exit(2);
	if (pair[1].result != OP_REFUSED || pair[1].err != ERR_STORE) /* it wrote nothing, that is for sure */
		_exit(3);
}

START_TEST(commit_in_doubt_is_told_so)
{
	crash_after(sync_fails);
	/* the same call again, with its token, is told what came of it */
	ck_assert_int_eq(shop_ask(&shop, "k", ask_claim(TOKEN))->verdict.word, WORD_WON);
	shop_close(&shop);
}
END_TEST

START_TEST(commit_in_doubt_heals)
{
	struct vfs_faults *faults = vfs_faults_use();

	shop_open(&shop, case_path("db"));
	shop_win(&shop, "old");
	atomic_store(&faults->sync_rc, SQLITE_IOERR_FSYNC);
	atomic_store(&faults->sync_bad, -1);
	claim_pair();
	ck_assert_int_eq(pair[0].result, OP_UNCERTAIN);
	shop_wait_up(&shop, false);
	atomic_store(&faults->sync_bad, 0);
	shop_wait_up(&shop, true); /* by itself */
	ck_assert_int_eq(shop_ask(&shop, "k", ask_claim(TOKEN))->verdict.word, WORD_WON);
	ck_assert_int_eq(shop_ask(&shop, "k", ask_claim(OTHER))->verdict.word, WORD_HELD);
	shop_close(&shop);
}
END_TEST

static const int write_faults[] = {SQLITE_FULL, SQLITE_IOERR_WRITE};
static int write_fault;

static void write_fails(struct vfs_faults *faults)
{
	atomic_store(&faults->write_rc, write_fault);
	claim_pair();
	if (pair[0].result != OP_REFUSED || pair[1].result != OP_REFUSED)
		_exit(2);
}

/* What could not be written cannot come back. */
START_TEST(failed_write_is_refused)
{
	write_fault = write_faults[_i];
	crash_after(write_fails);
	ck_assert_int_eq(shop_ask(&shop, "k", ask_of(ASK_STATUS, 0))->verdict.word, WORD_NOTFOUND);
	shop_close(&shop);
}
END_TEST

int main(void)
{
	TCase *disk = tcase_create("disk"), *lock = tcase_create("lock"), *sync = tcase_create("sync");
	TCase *const cases[] = {disk, lock, sync};

	tcase_add_test(disk, fuse_is_refused);
	tcase_add_test(disk, full_disk_heals);
	tcase_add_test(disk, full_disk_at_start_heals);
	tcase_add_test(disk, read_only_at_start_heals);
	tcase_add_test(disk, read_only_while_running_heals);
	tcase_add_test(disk, folder_removed_while_running);
	tcase_add_test(disk, another_store_in_its_place);
	tcase_add_loop_test(disk, file_replaced_while_running, 0, 3);
	tcase_add_test(lock, locked_by_another_process);
	tcase_add_test(lock, close_does_not_wait_for_a_lock);
	tcase_add_test(sync, no_answer_before_the_sync);
	tcase_add_test(sync, a_sync_is_shared);
	tcase_add_test(sync, swept_only_what_is_still_gone);
	tcase_add_test(sync, refused_commit_does_not_come_back);
	tcase_add_test(sync, commit_in_doubt_is_told_so);
	tcase_add_test(sync, commit_in_doubt_heals);
	tcase_add_loop_test(sync, failed_write_is_refused, 0, 2);
	return case_run("sqlite faults", cases, 3);
}
