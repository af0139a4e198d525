"""Duels with other codecs, and a window of a large file: every result is checked before its time counts."""

import imagecodecs
import pytest

from subband.bench import jpeg2000_peers as peers
from subband.bench.jpeg2000_peers import Case, Duel, Window
from subband.engines.measuring.judging import WrongResultError
from subband.engines.measuring.timing import Effort

SHORT = Effort(seconds=0.0, fewest=1, most=1, turn=0.0)


def test_large_images_meet_every_codec(monkeypatch):
    monkeypatch.setattr(peers, "_LARGE", 64)
    for components in (1, 3):
        found = list(peers.measure_duels([Case(64, components)], SHORT))
        tasks = {(duel.task, duel.other) for duel in found}
        verbs = ("encode", "decode")
        assert {(f"{verb} HT", f"OpenJPH, {verb}") for verb in verbs} <= tasks
        assert {(f"{verb} HT", verb) for verb in verbs} <= tasks
        assert {(verb, f"OpenJPEG, {verb}") for verb in verbs} <= tasks
        assert all(duel.ours > 0 < duel.theirs for duel in found)


def test_small_images_and_tiles_meet_openjpeg():
    found = list(peers.measure_duels([Case(40), Case(64, tile=16)], SHORT))
    assert [duel.image for duel in found] == 2 * ["40²"] + 2 * ["64² in 16² tiles"]
    assert [duel.other for duel in found] == 2 * ["OpenJPEG, encode", "OpenJPEG, decode"]


def test_a_decoder_that_does_not_agree_is_found(monkeypatch):
    right = imagecodecs.jpeg2k_decode
    monkeypatch.setattr(imagecodecs, "jpeg2k_decode", lambda *args, **options: right(*args, **options) ^ 1)
    with pytest.raises(WrongResultError, match="another image"):
        list(peers.measure_duels([Case(40)], SHORT))


def test_a_lossless_file_that_loses_is_found(monkeypatch):
    right = peers.encode
    monkeypatch.setattr(peers, "encode", lambda image, **options: right(image ^ 1, **options))
    with pytest.raises(WrongResultError, match="does not give the image back"):
        list(peers.measure_duels([Case(40)], SHORT))


def test_a_window_reads_its_tiles_alone():
    found = peers.measure_window(256, 64, 64)
    assert (found.size, found.side, found.tile) == (256, 64, 64)
    assert 0.1 < found.needed / found.length < 0.5  # four tiles of sixteen


def test_report():
    duels = [
        Duel("2048² RGB", "encode HT", "OpenJPH, encode", 0.1, 0.2, 1.0),
        Duel("32²", "decode", "OpenJPEG, decode", 0.1, 0.05, None),
        Duel("64²", "decode", "OpenJPEG, decode", 0.1, 0.05, 1.0),
    ]
    report = peers.report_peers(duels, Window(16384, 512, 512, 0.01, 1.0, 3, 100))
    assert report.sheets[0].rows[0] == ["2048² RGB", "encode HT", "100.00", "200.00", "2.00", "OpenJPH, encode"]
    assert report.sheets[1].rows == [("16384² in 512² tiles", "512²", "10.0", "1000", "1.00%", "3.00%")]
    assert [goal.is_met for goal in report.goals] == [True, False, False]
    assert peers.report_peers(duels[:2], None).summarise() == "1 of 1 targets met"
