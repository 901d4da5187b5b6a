/*
 * play.c - plays scenarios: the whole daemon, in this process, on a clock that the script moves and a store that does what the
 * script says. README has the language.
 *
 *     check_scenarios [FILE...]     by default all in the folder scenarios/ of the tests
 *
 * Each file is played in a process of its own. The daemon runs as ever, in server_run; at the end of each turn of
 * its loop the player goes on in the script. A line that does something gives the daemon a few turns, until nothing
 * is left to be done; then comes the next line. Where time is to pass it goes from timer to timer. Nothing waits for
 * real time, so a scenario takes no longer than it has to, and it runs the same each time.
 *
 * Prints a line for each scenario that fails, and then "N passed, N failed".
 */
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../server/server.h"
#include "fake.h"
#include "script_client.h"
#include "script_store.h"

#define SETTLE_TURNS 8  /* after a line that did something */
#define SPIN_TURNS 1000 /* without time passing: the daemon never rests */
#define LIVES 4
#define WORDS 16
#define LIMIT_S 60 /* of real time; one takes well below a second */

struct life {
	struct server server;
	struct conf conf;
	char *argv[WORDS];
	char settings[SCRIPT_LINE];
};

static struct player {
	const char *file;
	FILE *script;
	char line[SCRIPT_LINE];
	int number;
	bool asked_looked; /* a line "store got" has been there since the last one that did something */
	char socket[128];
	struct life life[LIVES]; /* those of the past too, since nothing of them was freed */
	int lives;
	bool runs;
	bool killed;
	int turns;         /* of the loop, until the next line */
	int restless;      /* turns in which the loop would not have slept */
	int64_t target_ms; /* time goes on until then */
} player;

static char *no_variables[] = {NULL};

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...)
{
	struct errbuf err;
	va_list args;

	va_start(args, format);
	vsnprintf(err.text, sizeof err.text, format, args);
	va_end(args);
	printf("%s:%d: %s\n    %s\n", player.file, player.number, err.text, player.line);
	fflush(stdout);
	_exit(1);
}

/* ---- the daemon ---- */

static struct life *now_living(void)
{
	return &player.life[player.lives - 1];
}

static void daemon_starts(const char *settings)
{
	struct life *life = &player.life[player.lives];
	static struct faults faults;
	char *at;
	int n = 0;

	if (player.runs || player.lives == LIVES)
		fail("it runs already, or has started too often");
	life->argv[n++] = "claimd";
	life->argv[n++] = "--socket";
	life->argv[n++] = player.socket;
	life->argv[n++] = "--store";
	life->argv[n++] = "memory:";
	life->argv[n++] = "--log-level";
	life->argv[n++] = "error";
	snprintf(life->settings, sizeof life->settings, "%s", settings);
	for (char *word = strtok_r(life->settings, " ", &at); word != NULL && n < WORDS - 1;
	     word = strtok_r(NULL, " ", &at))
		life->argv[n++] = word;
	if (conf_load(&life->conf, life->argv, no_variables, &faults) != CONF_RUN || faults.count > 0) {
		faults_print(&faults, stdout);
		fail("it does not take these settings");
	}
	player.lives++;
	player.runs = true;
}

static void close_handle(uv_handle_t *handle, void *arg)
{
	int fd;

	(void)arg;
	if (uv_fileno(handle, &fd) == 0)
		close(fd);
}

/* As the kernel does it for a process that is killed. */
static void bury(struct server *server)
{
	uv_signal_stop(&server->term);
	uv_signal_stop(&server->interrupt);
	uv_walk(&server->loop, close_handle, NULL);
	close(server->listener.lock_fd);
	script_store_forget();
}

static void daemon_line(const char *what)
{
	if (strncmp(what, "starts", 6) == 0 && (what[6] == '\0' || what[6] == ' ')) {
		daemon_starts(what + 6);
		return;
	}
	if (strcmp(what, "gone") == 0) {
		if (player.runs)
			fail("it is there");
		return;
	}
	if (!player.runs)
		fail("it does not run");
	if (strcmp(what, "there") == 0)
		return;
	if (strcmp(what, "told TERM") == 0) {
		raise(SIGTERM);
	} else if (strcmp(what, "killed") == 0) {
		player.killed = true;
		uv_stop(&now_living()->server.loop);
	} else {
		fail("no such thing is done to a daemon");
	}
}

/* ---- the store ---- */

static void store_line(const char *what)
{
	static const struct {
		const char *name;
		enum manner manner;
	} manners[] = {{"answers", MANNER_ANSWERS},
		       {"holds", MANNER_HOLDS},
		       {"refuses", MANNER_REFUSES},
		       {"cuts-before", MANNER_CUTS_BEFORE},
		       {"cuts-after", MANNER_CUTS_AFTER}};
	size_t len = strcspn(what, " ");

	for (size_t i = 0; i < sizeof manners / sizeof manners[0]; i++) {
		if (strlen(manners[i].name) != len || memcmp(manners[i].name, what, len) != 0)
			continue;
		if (what[len] != '\0' && strcmp(what + len, " once") != 0)
			break;
		script_store_manner(manners[i].manner, what[len] != '\0');
		return;
	}
	fail("a store does no such thing");
}

static void store_got(const char *expected)
{
	const char *asked = script_store_next();
	struct errbuf err;

	player.asked_looked = true;
	if (asked == NULL) {
		if (strcmp(expected, "nothing") != 0)
			fail("the store was asked for nothing");
		return;
	}
	if (!script_matches(expected, asked, SLICE_ABSENT, &err))
		fail("the store was asked for \"%s\"", asked);
}

static void record_line(const char *text)
{
	size_t len = strcspn(text, " ");
	char line[SCRIPT_LINE], expected[SCRIPT_LINE];
	struct errbuf err;
	struct writer w;

	writer_init(&w, line, sizeof line - 1);
	script_store_show((struct slice){text, len}, &w);
	line[w.len] = '\0';
	snprintf(expected, sizeof expected, "STATUS%s", text + len);
	if (!script_matches(expected, line, SLICE_ABSENT, &err))
		fail("it is \"%s\"", line);
}

/* A call through another daemon. */
static void elsewhere_line(const char *text)
{
	static const enum ask_verb verbs[VERB__COUNT] = {
	    [VERB_CLAIM] = ASK_CLAIM,     [VERB_RENEW] = ASK_RENEW,     [VERB_COMPLETE] = ASK_COMPLETE,
	    [VERB_FAIL] = ASK_FAIL,       [VERB_RELEASE] = ASK_RELEASE, [VERB_DOUBT] = ASK_DOUBT,
	    [VERB_RESOLVE] = ASK_RESOLVE,
	};
	struct ask ask = {.lease = 60000000, .ttl = TIME_NEVER, .token = slice_from("fedcba9876543210")};
	char line[SCRIPT_LINE];
	struct request req;
	struct errbuf err;

	if (!script_expand(text, line) || request_parse(&req, line, strlen(line), SLICE_ABSENT, &err) != ERR_NONE ||
	    req.key.data == NULL)
		fail("no request");
	ask.verb = verbs[req.verb];
	if (request_has(&req, OPT_FENCE))
		ask.fence = req.value[OPT_FENCE].number;
	if (request_has(&req, OPT_LEASE))
		ask.lease = req.value[OPT_LEASE].number * 1000;
	if (request_has(&req, OPT_AS))
		ask.as = req.value[OPT_AS].number == CHOICE_AS_FREE ? STATE_FREE : STATE_DONE;
	ask.force = request_has(&req, OPT_FORCE);
	if (req.verb != VERB_CLAIM)
		ask.token = SLICE_ABSENT;
	script_store_ask(req.key, &ask);
}

/* ---- lines ---- */

/* What stands behind these words and a space (or nothing); NULL: other words. */
static const char *behind(const char *line, const char *words)
{
	size_t len = strlen(words);

	if (strncmp(line, words, len) != 0 || (line[len] != ' ' && line[len] != '\0'))
		return NULL;
	return line[len] == ' ' ? line + len + 1 : line + len;
}

static int64_t time_of(const char *text)
{
	int64_t ms;

	if (!duration_parse(slice_from(text), false, &ms) || ms < fake_now_ms())
		fail("no time, or one that is over");
	return ms;
}

static bool is_client(char c)
{
	return c >= 'a' && c <= 'z';
}

/* What only looks. False: it is none of these. */
static bool look_line(const char *line)
{
	struct errbuf err;
	const char *rest;

	if (is_client(line[0]) && strncmp(line + 1, "< ", 2) == 0) {
		if (!client_hears(line[0], line + 3, &err))
			fail("%s", err.text);
	} else if ((rest = behind(line, "store got")) != NULL) {
		store_got(rest);
	} else if ((rest = behind(line, "record")) != NULL) {
		record_line(rest);
	} else {
		return false;
	}
	return true;
}

static void client_line(const char *line)
{
	bool (*act)(char name, struct errbuf *err) = NULL;
	const char *who = strchr(line, ' ');
	struct errbuf err;

	if (behind(line, "close") != NULL)
		act = client_close;
	else if (behind(line, "kill") != NULL)
		act = client_kill;
	else if (behind(line, "halfclose") != NULL)
		act = client_halfclose;
	if (act == NULL || who == NULL || !is_client(who[1]) || who[2] != '\0')
		fail("no line of the language; see README");
	if (!act(who[1], &err))
		fail("%s", err.text);
}

/* Everything that was asked of the store is named by the lines "store got", if there are any. */
static void close_asked(void)
{
	const char *more = script_store_next();

	if (player.asked_looked && more != NULL)
		fail("before this, the store was also asked for \"%s\"", more);
	player.asked_looked = false;
	script_store_clear();
}

static void act(const char *line)
{
	struct errbuf err;
	const char *rest;

	if ((rest = behind(line, "at")) != NULL) {
		player.target_ms = time_of(rest);
	} else if (is_client(line[0]) && strncmp(line + 1, "> ", 2) == 0) {
		if (!client_say(line[0], player.socket, line + 3, &err))
			fail("%s", err.text);
	} else if ((rest = behind(line, "store")) != NULL) {
		store_line(rest);
	} else if ((rest = behind(line, "daemon")) != NULL) {
		daemon_line(rest);
	} else if ((rest = behind(line, "elsewhere")) != NULL) {
		elsewhere_line(rest);
	} else {
		client_line(line);
	}
}

/* What does something, and how many turns it is given. */
static void act_line(const char *line)
{
	const char *counted = behind(line, "turns");
	char *rest;

	close_asked();
	player.turns = SETTLE_TURNS;
	if (counted == NULL) {
		act(line);
		return;
	}
	player.turns = (int)strtol(counted, &rest, 10);
	if (player.turns < 1 || *rest != ' ')
		fail("how many turns?");
	act(rest + 1);
	if (fake_now_ms() < player.target_ms) /* at once, not from timer to timer */
		fake_set_ms(player.target_ms);
}

/* False: the script is over. */
static bool next_line(void)
{
	do {
		if (fgets(player.line, sizeof player.line, player.script) == NULL)
			return false;
		player.number++;
		player.line[strcspn(player.line, "\n")] = '\0';
	} while (player.line[0] == '\0' || player.line[0] == '#');
	return true;
}

static void end(void)
{
	struct errbuf err;

	snprintf(player.line, sizeof player.line, "the end");
	close_asked();
	if (!clients_all_heard(&err))
		fail("%s", err.text);
	fflush(stdout);
	exit(0);
}

/* ---- turns ---- */

/* The next timer, or the time that is waited for. */
static void advance(const uv_loop_t *loop)
{
	int64_t sleep_ms = script_store_sleep_ms(loop), next_ms = player.target_ms;

	player.restless = sleep_ms == 0 ? player.restless + SETTLE_TURNS : 0;
	if (player.restless >= SPIN_TURNS)
		fail("the loop turns and turns, and time does not pass");
	if (sleep_ms >= 0 && fake_now_ms() + sleep_ms < next_ms)
		next_ms = fake_now_ms() + sleep_ms;
	fake_set_ms(next_ms);
	player.turns = SETTLE_TURNS;
}

static void on_turn(uv_loop_t *loop)
{
	if (player.turns > 1) {
		player.turns--;
		return;
	}
	if (fake_now_ms() < player.target_ms) {
		advance(loop);
		return;
	}
	player.turns = 0;
	while (player.turns == 0) {
		if (!next_line())
			end();
		if (!look_line(player.line))
			act_line(player.line);
	}
}

/* While there is no daemon. */
static void play_alone(void)
{
	while (!player.runs) {
		if (fake_now_ms() < player.target_ms)
			fake_set_ms(player.target_ms);
		if (!next_line())
			end();
		if (!look_line(player.line))
			act_line(player.line);
	}
}

__attribute__((noreturn)) static void play(const char *file)
{
	alarm(LIMIT_S);
	player.file = file;
	player.script = fopen(file, "r");
	if (player.script == NULL)
		fail("it cannot be read");
	script_store_init(on_turn);
	for (;;) {
		struct life *life;

		play_alone();
		life = now_living();
		if (server_run(&life->server, &life->conf, no_variables) != 0)
			fail("the daemon does not start");
		if (player.killed)
			bury(&life->server);
		player.runs = player.killed = false;
	}
}

/* ---- all of them ---- */

/* True: it passed. */
static bool play_apart(const char *file)
{
	char dir[] = "/tmp/scenario.XXXXXX", lock[160];
	int status = -1;
	pid_t pid;

	if (mkdtemp(dir) == NULL)
		return false;
	snprintf(player.socket, sizeof player.socket, "%s/sock", dir);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		play(file);
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (pid < 0 || !WIFEXITED(status))
		printf("%s: its player was ended by signal %d\n", file, WTERMSIG(status));
	unlink(player.socket);
	snprintf(lock, sizeof lock, "%s.lock", player.socket);
	unlink(lock);
	if (rmdir(dir) != 0)
		printf("%s: something is left in %s\n", file, dir);
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv)
{
	const char *srcdir = getenv("srcdir");
	size_t count = (size_t)argc - 1, passed = 0;
	char **files = argv + 1, pattern[512];
	static glob_t all;

	snprintf(pattern, sizeof pattern, "%s/tests/scenarios/*.txt", srcdir != NULL ? srcdir : ".");
	if (count == 0 && glob(pattern, 0, NULL, &all) == 0) {
		count = all.gl_pathc;
		files = all.gl_pathv;
	}
	for (size_t i = 0; i < count; i++)
		passed += play_apart(files[i]);
	printf("%zu passed, %zu failed\n", passed, count - passed);
	return passed > 0 && passed == count ? 0 : 1;
}
