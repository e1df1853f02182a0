"""Probes of an AWS account: whether AWS behaves as tests/aws/assumptions.toml says."""
