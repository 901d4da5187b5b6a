dist_man_MANS += man/claim.1 man/claimd.8 man/claimd.conf.5 man/libclaim.3 man/claim-protocol.7 \
	man/claim-recipes.7

# The protocol's page is its document, set as a manual page.
EXTRA_DIST += man/protocol.awk
MAINTAINERCLEANFILES = man/claim-protocol.7
man/claim-protocol.7: proto/PROTOCOL.txt man/protocol.awk
	$(AM_V_GEN)$(MKDIR_P) man && $(AWK) -f $(srcdir)/man/protocol.awk $(srcdir)/proto/PROTOCOL.txt >$@.tmp && mv $@.tmp $@
