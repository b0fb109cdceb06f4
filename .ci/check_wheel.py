"""Compare a built wheel with the tree it was built from: `check_wheel.py WHEEL`, run at the top of the tree.

Each tracked file of the four folders must be in the wheel under its import name, with the same bytes, and nothing else
may be; the licence stands among the metadata, and the README of a folder stays out. Exits with the
differences, one a line.
"""

import subprocess
import sys
import zipfile
from pathlib import Path

FOLDERS = ("packer", "profiles", "store", "templates")
ROOT = "packer/root/"  # the files of the import root itself
LICENCE = "packer/LICENSE"
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "top_level.txt", f"licenses/{LICENCE}"}
SHIPPED = {".j2", ".py", ".sql", ".toml"}


def expected() -> dict[str, Path]:
    """Name in the wheel -> file of the tree."""
    listing = subprocess.run(["git", "ls-files", "-z", *FOLDERS], capture_output=True, text=True, check=True).stdout
    names = [name for name in listing.split("\0") if name and name != LICENCE and Path(name).name != "README.md"]
    return {f"context_packs/{name.removeprefix(ROOT)}": Path(name) for name in names}


def differences(wheel: Path) -> list[str]:
    """One line for each file that is missing, added or changed; empty when the wheel is right."""
    files = expected()
    lines = []
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if not name.endswith("/")}
        metadata = {name.partition("/")[2] for name in held if name.partition("/")[0].endswith(".dist-info")}
        code = {name for name in held if not name.partition("/")[0].endswith(".dist-info")}
        lines += [f"not in the wheel: {name}" for name in files.keys() - code]
        lines += [f"not in the tree: {name}" for name in code - files.keys()]
        lines += [f"metadata not in the wheel: {name}" for name in METADATA - metadata]
        lines += [f"unknown metadata: {name}" for name in metadata - METADATA]
        for name in files.keys() & code:
            if archive.read(name) != files[name].read_bytes():
                lines.append(f"other bytes: {name}")
            if Path(name).suffix not in SHIPPED and Path(name).name != "py.typed":
                lines.append(f"a kind of file that is not shipped: {name}")
        licences = [name for name in held if name.endswith(f".dist-info/licenses/{LICENCE}")]
        if licences and archive.read(licences[0]) != Path(LICENCE).read_bytes():
            lines.append(f"other bytes: {licences[0]}")
    return sorted(lines)


if __name__ == "__main__":
    found = differences(Path(sys.argv[1]))
    print(f"{Path(sys.argv[1]).name}: {len(expected())} files compared")
    sys.exit("\n".join(found) if found else 0)
