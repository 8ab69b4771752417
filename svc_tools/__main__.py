"""`python -m svc_tools` is `svc-tools`."""

from svc_tools.cli import main

main()
