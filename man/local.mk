dist_man_MANS += man/claim.1 man/claimd.8 man/claimd.conf.5 man/libclaim.3 man/claim-protocol.7 \
	man/claim-recipes.7

# The protocol's page is its document, set as a manual page.
EXTRA_DIST += man/protocol.awk
MAINTAINERCLEANFILES = man/claim-protocol.7
man/claim-protocol.7: proto/PROTOCOL.txt man/protocol.awk
	$(AM_V_GEN)$(MKDIR_P) man && $(AWK) -f $(srcdir)/man/protocol.awk $(srcdir)/proto/PROTOCOL.txt >$@.tmp && mv $@.tmp $@

# The page of each call of the library is libclaim.3.
man_links = sed -n 's/^	\(claim_[a-z_]*\);$$/\1.3/p' $(srcdir)/client/claim.map
install-data-hook: install-man-links
install-man-links:
	$(MKDIR_P) $(DESTDIR)$(man3dir)
	for page in `$(man_links)`; do ln -sf libclaim.3 $(DESTDIR)$(man3dir)/$$page || exit; done
uninstall-hook:
	for page in `$(man_links)`; do rm -f $(DESTDIR)$(man3dir)/$$page; done
.PHONY: install-man-links
