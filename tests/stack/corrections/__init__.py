"""Corrections of ministack 1.5.33 toward the documented behaviour of AWS.

Each module corrects one area. Its docstring says for each correction what AWS does, where AWS
documents it, and what the emulator (ministack) does. `apply` replaces names in the emulator's modules
at run time. This notice applies to functions that restate code of the emulator (MIT):
Copyright (c) 2026 MiniStack Contributors. The full text is in NOTICE beside this file.
"""
