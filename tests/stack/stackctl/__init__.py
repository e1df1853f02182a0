"""The commands of tests/stack/lockstack, which install, start, use and stop the local AWS stack."""
