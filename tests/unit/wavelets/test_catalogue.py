from __future__ import annotations

import pytest
import pywt

from subband.errors import ArgumentError, UnknownWaveletError
from subband.wavelets import Wavelet, as_wavelet, families, wavelist
from subband.wavelets.catalogue import find_family, known_names, read_lowpass


def test_lists_are_those_of_pywavelets_and_our_own():
    for kind, own in (("all", ["cdf53", "cdf97"]), ("discrete", ["cdf53", "cdf97"]), ("continuous", [])):
        names = wavelist(kind=kind)
        assert [name for name in names if name not in own] == pywt.wavelist(kind=kind)
        assert [name for name in names if name.startswith("cdf")] == own
    for family in pywt.families():
        assert wavelist(family) == pywt.wavelist(family)
        assert wavelist(family, kind="continuous") == pywt.wavelist(family, kind="continuous")
    assert families() == [*pywt.families(), "cdf"]
    assert families(short=False) == [*pywt.families(short=False), "Cohen-Daubechies-Feauveau"]


def test_every_listed_wavelet_is_in_a_listed_family():
    assert sorted(name for family in families() for name in wavelist(family)) == sorted(wavelist())
    assert set(wavelist()) <= set(known_names())


def test_unknown_family_and_kind():
    with pytest.raises(ArgumentError, match="kind='some'"):
        wavelist(kind="some")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="did you mean 'coif'"):
        wavelist("coiff")
    with pytest.raises(ArgumentError, match="families"):
        wavelist("quux")


def test_unknown_name_suggests_neighbours():
    with pytest.raises(UnknownWaveletError, match="'cdf97'"):
        find_family("cdf9/7")
    with pytest.raises(UnknownWaveletError, match=r"wavelist\(\)"):
        find_family("?")
    with pytest.raises(ValueError, match="'db4'"):
        as_wavelet("bd4")


def test_table_holds_no_unused_line():
    from subband.wavelets.catalogue import _read_table

    names = {key.split()[0] for key in _read_table()}
    assert names == {n for n in wavelist(kind="discrete") if n != "haar" and not n.startswith(("cdf", "rbio"))}


@pytest.mark.parametrize("name", ["db7", "coif3", "dmey"])
def test_orthogonal_filters_are_one_filter_reversed(name):
    analysis, synthesis = read_lowpass(name)
    assert analysis == synthesis[::-1] == tuple(Wavelet(name).dec_lo)


def test_lists_belong_to_the_caller():
    for give in (families, wavelist, lambda: wavelist(kind="continuous"), lambda: wavelist("coif")):
        before = list(give())
        give().clear()
        assert give() == before
