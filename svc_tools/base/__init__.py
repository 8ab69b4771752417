"""The ground, on which every room stands: optional packages, files, processes, ports, memory.

Also the protocol of progress, and short forms in names that are read (`short_forms`).
"""
