/* start_check.c - see start_check.h. */
#include "start_check.h"

#include "address.h"
#include "listener.h"
#include "sdnotify.h"
#include "stores/store.h"

static void add(const struct conf *conf, enum conf_id id, enum fit fit, struct errbuf *err, struct faults *faults)
{
	if (fit == FIT_GOOD)
		return;
	conf_blame(conf, id, err);
	faults_add(faults, fit, err);
}

static void check_socket(const struct conf *conf, enum conf_id id, const char *path, struct faults *faults)
{
	struct listener_options options = {path, conf->socket_mode, conf->socket_group};
	struct errbuf err;

	add(conf, id, listener_check(&options, &err), &err, faults);
}

void start_check(const struct conf *conf, struct faults *faults)
{
	const struct conf_origin *origin = conf->origin;
	struct address address;
	struct errbuf err;

	if (!origin[CONF_ID_store].refused)
		add(conf, CONF_ID_store, store_check(conf->store, conf_owns_store(conf), &err), &err, faults);
	/* A socket that the service manager has made is used instead. */
	if (!origin[CONF_ID_socket].refused && sdnotify_listen_fd(conf->envp, &err) == SDNOTIFY_NO_FD)
		check_socket(conf, CONF_ID_socket, conf->socket, faults);
	if (!origin[CONF_ID_admin].refused && conf->admin && address_parse(&address, conf->admin, &err) &&
	    address.len == 0)
		check_socket(conf, CONF_ID_admin, conf->admin, faults);
}
