"""python -m mipclass: the command line."""

from .app.cli import main

main()
