"""JSON in which a key stands once."""

import pytest

from context_packs.store.text.strictjson import RepeatedKey, loads


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"a": 1, "a": 1}', "a"),
        ('[{"b": {"c": 1, "d": 2, "c": 3}}]', "c"),
        ('{"caf\\u00e9": 1, "café": 2}', "café"),
        ('{"": 1, "": 2}', ""),
    ],
)
def test_a_key_that_stands_twice_is_refused_by_name(text: str, key: str) -> None:
    """At any level, in whatever spelling, and with equal values too."""
    with pytest.raises(RepeatedKey, match="appears twice in one object") as caught:
        loads(text)
    assert caught.value.key == key


def test_anything_else_is_what_json_says() -> None:
    """Equal keys of different objects are no repetition."""
    assert loads('[{"a": 1}, {"a": {"a": null}}, 0.5, "a"]') == [{"a": 1}, {"a": {"a": None}}, 0.5, "a"]
