"""Checks that every expression of every definition returns a value where AWS requires one.

Runs each definition that the project ships or makes on the local stack's own interpreter, without an emulator. Inputs and answers
of the services are random. Fails if an expression returns nothing or another type than its field has, and if an expression was
never evaluated.
"""
