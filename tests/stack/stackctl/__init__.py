"""The commands behind ./lockstack: install, start, deploy to and stop the local AWS stack."""
