"""`python -m eowm` is the `eowm` command."""

from eowm.cli import main

main()
