"""`python -m context_packs.packer.doors.cli`, as installed hooks call it."""

from .commands import main

main()
