"""No expression of a definition is without a value where AWS refuses that.

Carries out each definition that the project ships or makes on the stack's own interpreter, with drawn inputs and drawn
answers of the services, and without an emulator. It fails where an expression returns nothing, or another type than its
field has, and where an expression was never evaluated.
"""
