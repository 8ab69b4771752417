"""The add-in for Excel on Windows, macOS and the web, and its local server.

`pages` makes what Excel loads; `app` serves it, behind `guard`; `serving` runs the server. Calc's
add-in uses the same server.
"""
