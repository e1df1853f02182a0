"""The mutation score of the protocol and of the definitions of the state machines."""
