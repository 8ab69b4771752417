"""The add-in for Excel on Windows, macOS and the web, and the local server that it asks.

`metadata`, `manifest` and `script` make what Excel loads; `app` answers it, behind `gate`;
`serving` runs it. Calc's add-in asks the same server.
"""
