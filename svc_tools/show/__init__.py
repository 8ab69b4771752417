"""How things look, and the table of every code.

`codes` says what a code means, what to do, and whether it requires review; `display` draws tables
of text and HTML; `meters` shows progress; `templates` are the pages.
"""
