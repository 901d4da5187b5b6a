# Examples and everything around the daemon.
EXTRA_DIST += \
	contrib/examples/orders/README.md \
	contrib/examples/orders/worker contrib/examples/orders/place contrib/examples/orders/demo.sh \
	contrib/examples/orders/make-deliveries.jq contrib/examples/orders/deliveries.jsonl \
	contrib/examples/blocking/once.c contrib/examples/uvloop/loop.c \
	contrib/prometheus/README.md contrib/prometheus/claimd.rules.yml contrib/prometheus/claimd.rules.test.yml

# The service, the package, and cron.
EXTRA_DIST += \
	contrib/cron/README.md contrib/cron/crontab \
	contrib/systemd/README.md contrib/systemd/claimd.service contrib/systemd/claimd.socket contrib/systemd/claimd.conf \
	contrib/systemd/sysusers.d/claimd.conf \
	contrib/debian/changelog contrib/debian/claimd.install contrib/debian/claimd.postrm contrib/debian/control \
	contrib/debian/copyright contrib/debian/libclaim-dev.install contrib/debian/libclaim0.install contrib/debian/not-installed \
	contrib/debian/rules contrib/debian/source/format

# Completion: each file asks the command, so none of them is made here.
bashcompdir = $(datadir)/bash-completion/completions
zshcompdir = $(datadir)/zsh/site-functions
fishcompdir = $(datadir)/fish/vendor_completions.d
dist_bashcomp_DATA = contrib/completion/bash/claim
dist_zshcomp_DATA = contrib/completion/zsh/_claim
dist_fishcomp_DATA = contrib/completion/fish/claim.fish
