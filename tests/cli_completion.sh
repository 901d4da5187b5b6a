#!/bin/sh
# cli_completion.sh - what bash, zsh and fish complete with the scripts that `claim completion` writes, and with the files that are installed.
# shellcheck disable=SC2016 # the shells under test expand their own variables
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
srcdir=${srcdir:-.}
contrib=$srcdir/contrib/completion
mkdir "$dir/bin" "$dir/home" "$dir/files"
ln -s "$claim" "$dir/bin/claim"
ln -s "$claim" "$dir/bin/zzcommand"
: >"$dir/files/one.json"
PATH=$dir/bin:/usr/bin:/bin # not all that a machine has: zsh looks at each of them
HOME=$dir/home
XDG_CONFIG_HOME=$dir/home
TERM=xterm
PS1='ready> '
export PATH HOME XDG_CONFIG_HOME TERM PS1

# by_bash WORD...: what bash offers for the last word of `claim WORD...`, on one line.
by_bash()
{
	bash --norc --noprofile -c 'source "$0"; COMP_WORDS=(claim "$@"); COMP_CWORD=$#
		_claim; printf "%s\n" "${COMPREPLY[@]}" | sort | paste -s -d " "' "$contrib/bash/claim" "$@"
}

# by_fish TEXT: the same for `claim TEXT`.
by_fish()
{
	fish --no-config -c 'source $argv[1]; complete -C "claim $argv[2]"' "$contrib/fish/claim.fish" "$1" | cut -f1 | sort | paste -s -d ' '
}

# options VERB: those of its help and those that stand everywhere.
options()
{
	"$claim" ${1:+"$1"} --help | sed -n 's/^ *\(--[a-z][a-z-]*\).*/\1/p' | sort | paste -s -d ' '
}

everything()
{
	verbs=$("$claim" --help | sed -n '/^verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort | paste -s -d ' ')
	same 'bash: verbs' "$verbs" "$(by_bash '')"
	same 'fish: verbs' "$verbs" "$(by_fish '')"
	same 'bash: options before the verb' "$(options '')" "$(by_bash --)"
	for verb in $verbs; do
		same "bash: options of $verb" "$(options "$verb")" "$(by_bash "$verb" --)"
		same "fish: options of $verb" "$(options "$verb")" "$(by_fish "$verb --")"
	done
}

values()
{
	same 'bash: words of an option' 'done failed free' "$(by_bash resolve --as '')"
	same 'bash: behind a =' 'done' "$(by_bash resolve --as = d)"
	same 'bash: behind a = alone' 'done failed free' "$(by_bash resolve --as =)"
	same 'bash: no words for a number' '' "$(by_bash resolve --fence '')"
	same 'bash: a file' "$dir/files/one.json" "$(by_bash key --file "$dir/files/")"
	same 'bash: a text has no file' '' "$(by_bash claim --fp "$dir/files/")"
	same 'bash: an option before the verb' 'status stats' "$(by_bash --socket /s sta | tr ' ' '\n' | sort -r | paste -s -d ' ')"
	same 'bash: shells' 'bash fish zsh' "$(by_bash completion '')"
	same 'bash: verbs of help' 'release renew resolve' "$(by_bash help re)"
	same 'bash: behind a value that may be left out' --lapse "$(by_bash run --wait --lap)"
	same 'bash: a key is not guessed' '' "$(by_bash status '')"
	same 'bash: the command' zzcommand "$(by_bash run key -- zzcomm)"
	same 'bash: its files' "$dir/files/one.json" "$(by_bash run key -- cat "$dir/files/")"
	same 'bash: its options are its own' '' "$(by_bash run key -- cat --)"
	same 'fish: words of an option' 'done failed free' "$(by_fish 'resolve --as ')"
	same 'fish: a file' "$dir/files/one.json" "$(by_fish "key --file $dir/files/")"
	same 'fish: shells' 'bash fish zsh' "$(by_fish 'completion ')"
	same 'fish: an option before the verb' 'stats status' "$(by_fish '--socket /s sta')"
	same 'fish: the command' zzcommand "$(by_fish 'run key -- zzcomm')"
	same 'fish: its files' "$dir/files/one.json" "$(by_fish "run key -- cat $dir/files/")"
}

# In a terminal: the line that Tab has made is run, by a function in the command's place.
typed()
{
	timeout 100 "$bin/tests/pty" "$@" >"$dir/out" 2>"$dir/err"
	same "$1: Tab" 0 $?
	[ -s "$dir/err" ] && cat -v "$dir/out" "$dir/err"
}

tabs()
{
	typed bash --norc --noprofile -i <<-END
		expect ready>
		send source $contrib/bash/claim; claim() { echo "got:\$*"; }; echo loa''ded
		expect loaded
		type claim reso
		key I
		type --a
		key I
		type d
		key I
		key M
		expect got:resolve --as done
		send exit
		end
	END
	mkdir "$dir/zsh"
	cp "$contrib/zsh/_claim" "$dir/zsh"
	typed zsh -f -i <<-END
		expect ready>
		send fpath=($dir/zsh \$fpath); autoload -U compinit; compinit -u -D; claim() { [[ \$1 = completion ]] && command claim "\$@" || echo "got:\$*"; }; echo loa''ded
		expect loaded
		type claim reso
		key I
		type --a
		key I
		type d
		key I
		key M
		expect got:resolve --as=done
		type claim --sock
		key I
		key M
		expect got:--socket
		type claim key --file $dir/files/o
		key I
		key M
		expect got:key --file $dir/files/one.json
		type claim help wat
		key I
		key M
		expect got:help watch
		type claim run --lapse rec
		key I
		type key -- cat $dir/files/o
		key I
		key M
		expect got:run --lapse reclaim key -- cat $dir/files/one.json
		type claim run key -- zzcomm
		key I
		send x
		expect got:run key -- zzcommand x
		type claim st
		key I
		key I
		expect show one record
		key U
		send exit
		end
	END
}

exits 'another shell' 64 "$claim" completion tcsh
exits 'no shell' 64 "$claim" completion
for shell in bash zsh fish; do
	"$claim" completion $shell >"$dir/script"
	exits "$shell reads it" 0 $shell -n "$dir/script"
done
everything
values
tabs
finish
