# protocol.awk - makes claim-protocol.7 from proto/PROTOCOL.txt.
#
#     awk -f man/protocol.awk proto/PROTOCOL.txt >claim-protocol.7
#
# What it knows of that file: the first line is the title. A line with "===" below it is a heading. Lines that are indented
# by four after an empty line are shown as they stand. A line with such lines directly below it is a term and its
# meaning. "1. " starts an item of a numbered list, "   " goes on with it. All else is text.

{ line[NR] = $0 }

# Text, each sentence on a line of its own as the language of manuals wants it.
function escaped(text)
{
	gsub(/\\/, "\\e", text)
	gsub(/[.] +/, ".\n", text)
	gsub(/[?] +/, "?\n", text)
	if (text ~ /^[.']/)
		text = "\\&" text
	return text
}

# As it stands: ASCII must stay ASCII, so that it can be pasted.
function literal(text)
{
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	gsub(/'/, "\\(aq", text)
	gsub(/`/, "\\(ga", text)
	gsub(/\^/, "\\(ha", text)
	gsub(/~/, "\\(ti", text)
	if (text ~ /^[.]/)
		text = "\\&" text
	return text
}

function mode_set(next_mode)
{
	if (mode == next_mode)
		return
	if (mode == "literal")
		print ".Ed"
	if (mode == "terms" || mode == "numbers")
		print ".El"
	if (next_mode == "literal")
		print ".Bd -literal -offset indent"
	if (next_mode == "terms")
		print ".Bl -tag -width Ds"
	if (next_mode == "numbers")
		print ".Bl -enum"
	mode = next_mode
}

END {
	print ".\\\" Made from PROTOCOL.txt by protocol.awk: change that instead."
	print ".Dd December 1, 2026"
	print ".Dt CLAIM-PROTOCOL 7"
	print ".Os"
	print ".Sh NAME"
	print ".Nm claim-protocol"
	print ".Nd the protocol of claimd, version 1"
	print ".Sh DESCRIPTION"
	mode = "head"
	fresh = 1 # behind an empty line
	for (i = 2; i <= NR; i++) {
		text = line[i]
		if (text == "") {
			fresh = 1
			continue
		}
		if (line[i + 1] ~ /^===+$/) {
			mode_set("head")
			print ".Sh " escaped(text)
			i++
		} else if (text ~ /^    / && (fresh || mode == "literal")) {
			if (fresh && mode == "literal")
				print ""
			mode_set("literal")
			print literal(substr(text, 5))
		} else if (text ~ /^    / && mode == "terms") {
			print escaped(substr(text, 5))
		} else if (line[i + 1] ~ /^    / && text !~ /^ /) {
			mode_set("terms")
			print ".It Cm " escaped(text)
		} else if (text ~ /^[0-9]+[.] /) {
			mode_set("numbers")
			print ".It"
			sub(/^[0-9]+[.] /, "", text)
			print escaped(text)
		} else if (text ~ /^   / && mode == "numbers") {
			print escaped(substr(text, 4))
		} else {
			was = mode
			mode_set("text")
			if (fresh && was != "head")
				print ".Pp"
			print escaped(text)
		}
		fresh = 0
	}
	mode_set("head")
	print ".Sh SEE ALSO"
	print ".Xr claim 1 ,"
	print ".Xr libclaim 3 ,"
	print ".Xr claim-recipes 7 ,"
	print ".Xr claimd 8"
}
