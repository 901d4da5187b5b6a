# Examples and everything around the daemon.
EXTRA_DIST += \
	contrib/examples/orders/README.md \
	contrib/examples/orders/worker contrib/examples/orders/place contrib/examples/orders/demo.sh \
	contrib/examples/orders/make-deliveries.jq contrib/examples/orders/deliveries.jsonl \
	contrib/prometheus/README.md contrib/prometheus/claimd.rules.yml contrib/prometheus/claimd.rules.test.yml
