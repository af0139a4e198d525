"""What `subband.edit` gives."""

import pytest

from subband import edit


def test_names_are_sorted_and_exist():
    assert edit.__all__ == sorted(set(edit.__all__))
    assert set(edit.__all__) == set(edit._MODULES)
    assert dir(edit) == edit.__all__
    for name in edit.__all__:
        assert getattr(edit, name).__name__ == name


def test_other_names_do_not():
    with pytest.raises(AttributeError, match="no attribute 'stylize'"):
        _ = edit.stylize
