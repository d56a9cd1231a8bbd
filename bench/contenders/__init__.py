"""One module per client: `connect(command)` is an async context manager that yields a Peer."""
