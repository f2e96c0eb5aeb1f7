"""python -m mipclass: the command line."""

from .cli import main

main()
