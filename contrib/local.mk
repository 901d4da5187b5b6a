# Examples and everything around the daemon.
