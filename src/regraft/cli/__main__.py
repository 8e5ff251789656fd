"""`python -m regraft.cli`, for an environment whose scripts are not on the PATH."""

from regraft.cli import main

main()
