"""Corrections of ministack 1.5.33 toward the documented behaviour of AWS.

Each module corrects one area and says for each correction what AWS does, where that is
documented, and what the emulator does. They replace names of the emulator's modules at
run time. Where a function restates code of the emulator (MIT), this notice applies to it:
Copyright (c) 2026 MiniStack Contributors. The full text is in NOTICE beside this file.
"""
