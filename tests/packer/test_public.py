"""The public names of the library."""

import context_packs.packer as library


def test_every_public_name_is_there_and_lives_in_its_module() -> None:
    """`__all__` is complete and each of its names can be had."""
    assert sorted(library.__all__) == sorted(library._MODULE)
    for name in library.__all__:
        assert getattr(library, name).__name__ in {name, "StoreError"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A name that does not exist says so."""
    try:
        library.nothing_of_this_name  # noqa: B018
    except AttributeError as error:
        assert "nothing_of_this_name" in str(error)
    else:
        raise AssertionError("no error")
