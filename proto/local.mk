# The protocol: pure functions, used by the daemon, the library, the command and the tests.
noinst_LTLIBRARIES += libproto.la
libproto_la_SOURCES = \
	proto/text.c proto/text.h \
	proto/mem.c proto/mem.h \
	proto/sha256.c proto/sha256.h \
	proto/proto.h proto/words.def \
	proto/words.c proto/value.c proto/frame.c \
	proto/parse.c proto/format.c
# For whoever writes a client: the text, and beside it what to test the client with.
dist_doc_DATA += proto/PROTOCOL.txt
vectorsdir = $(docdir)/vectors
dist_vectors_DATA = proto/vectors/README proto/vectors/values.txt proto/vectors/framing.txt proto/vectors/requests.txt \
	proto/vectors/limits.txt proto/vectors/replies.txt proto/vectors/keys.txt
