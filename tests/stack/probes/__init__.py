"""Probes of the local stack: each calls the running emulator as a client, and fails if it does not behave like AWS."""
