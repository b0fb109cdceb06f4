"""Where an extra is missing, the command that is named works from where the product was installed."""

import json
from pathlib import Path

import pytest

from context_packs.packer.doors.forms.extras import install_extra, way_to_install

ANYWHERE = (
    "install the extra 'mcp' from the folder or wheel that context-packs came from: "
    "pip install '<folder or wheel>[mcp]'"
)


def test_a_folder_or_wheel_that_is_there_is_named(tmp_path: Path) -> None:
    """As the installer recorded it, quoted for a shell."""
    tree, wheel = tmp_path / "my tree", tmp_path / "context_packs-0.1.0-py3-none-any.whl"
    tree.mkdir()
    wheel.touch()
    recorded = json.dumps({"url": tree.as_uri(), "dir_info": {}})
    assert way_to_install("serve", recorded) == f"install the extra: pip install '{tree}[serve]'"
    recorded = json.dumps({"url": tree.as_uri(), "dir_info": {"editable": True}})
    assert way_to_install("mcp", recorded) == f"install the extra: pip install -e '{tree}[mcp]'"
    recorded = json.dumps({"url": wheel.as_uri(), "archive_info": {}})
    assert way_to_install("mcp", recorded) == f"install the extra: pip install '{wheel}[mcp]'"


@pytest.mark.parametrize(
    "recorded",
    [
        None, "", "{", "[]", "7", "{}", '{"url": 7}', '{"url": "file:///nowhere/tree", "dir_info": {}}',
        '{"url": "https://example.org/tree.git", "vcs_info": {"vcs": "git"}}', '{"url": "file:///", "dir_info": 1}',
    ],
)  # fmt: skip
def test_where_the_source_is_not_known_the_way_is_told_in_words(recorded: str | None) -> None:
    """No index is named: nothing says that one has the product."""
    assert way_to_install("mcp", recorded) == ANYWHERE


def test_the_source_of_this_installation_is_read() -> None:
    """One of both forms, for each extra."""
    for extra in ("mcp", "serve"):
        told = install_extra(extra)
        assert told.startswith("install the extra")
        assert told.count(f"[{extra}]'") == 1
        assert f"context-packs[{extra}]" not in told
