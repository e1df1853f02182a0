"""Probes: each drives the running emulator as a client and fails when AWS's behaviour is not there."""
