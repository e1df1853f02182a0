"""Probes of an AWS account: whether AWS behaves as docs/aws-assumptions.md says."""
