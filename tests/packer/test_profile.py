"""Profiles are data: complete, described, and checked when they are read."""

import pytest

from context_packs.packer.packing.layout import layout
from context_packs.packer.packing.profile import Defaults, list_profiles, load_profile, parse_profile, with_defaults
from context_packs.packer.packing.request import parse_request
from context_packs.store.errors import InvalidField

GOOD = 'description = "One."\ntemplate = "public"\nanswer = "text"\nfields = ["id"]\n'


@pytest.mark.parametrize("name", list_profiles())
def test_each_profile_loads_describes_itself_and_has_its_template(name: str) -> None:
    """Every file in the folder is a valid profile with one sentence about it and an existing layout."""
    profile = load_profile(name)
    assert profile.name == name
    assert profile.description.endswith(".") and "\n" not in profile.description
    assert layout(profile.template).name == profile.template


@pytest.mark.parametrize(
    "name", ["", "Public", "../public", "public.toml", "a/b", "no_such", "public\n", "__init__", "é"]
)
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    """Nothing but the name of a shipped profile opens a file."""
    with pytest.raises(InvalidField, match="known: internal, kernel, public, session_start") as caught:
        load_profile(name)
    assert caught.value.field == "profile"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour = 1\n" + GOOD, "profile: mine: colour: Extra inputs are not permitted"),
        (GOOD + "[defaults]\nmax_tokens = 20000\n", "max_tokens"),
        (GOOD + "[defaults]\nmax_words = 2\n", "profile: mine: defaults.max_words"),
        (GOOD.replace('"id"', '"id", "secret"'), "unknown item fields: secret"),
        (GOOD.replace('"text"', '"html"'), "profile: mine: answer"),
        (GOOD.replace("One.", ""), "profile: mine: description"),
        ("= 3", "profile: mine is not TOML"),
    ],
)
def test_a_faulty_profile_names_its_fault(text: str, message: str) -> None:
    """Unknown keys, values out of range and broken TOML are refused by name."""
    with pytest.raises(InvalidField, match=message):
        parse_profile("mine", text)


def test_the_public_profile_hides_what_is_not_public() -> None:
    """No provenance, score, agent or metadata leaves by the public profile; the internal one shows every number."""
    assert load_profile("public").fields == ("id", "type", "path")
    assert load_profile("public").answer == load_profile("session_start").answer == "text"
    assert {"score", "spans", "source", "tokens", "total_tokens"} <= set(load_profile("internal").fields)


def test_defaults_of_a_profile_fill_only_what_the_caller_left_open() -> None:
    """A session start has the hosts' ceilings; a limit that the caller gives stays, the usual one too."""
    profile = load_profile("session_start")
    assert profile.defaults == Defaults(max_items=20, max_tokens=2000, max_chars=9500, fill="relevant")
    filled = with_defaults(parse_request(), profile)
    assert (filled.max_items, filled.max_tokens, filled.max_chars) == (20, 2000, 9500)
    given = with_defaults(parse_request(max_items=8, max_tokens=1500), profile)
    assert (given.max_items, given.max_tokens, given.max_chars) == (8, 1500, 9500)
    assert with_defaults(filled, profile) == filled
    assert with_defaults(parse_request(), load_profile("public")) == parse_request(fill="relevant")
