# The command brings its completion with it: so it always knows what the command knows.
claim completion fish | source
