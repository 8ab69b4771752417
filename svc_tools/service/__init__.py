"""The embedded service: the HTTP interface of SPEC.md over a shipped rate book.

Doors: `serving.start()` runs it inside this process, `admin.serve()` runs it as a program.
Nothing is imported here, so that opening one door does not load the other.
"""
