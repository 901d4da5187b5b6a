dist_man_MANS += man/claim.1 man/claimd.8 man/claim-protocol.7
