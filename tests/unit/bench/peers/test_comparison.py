"""Peers take turns with ours only after their results have been found to be the same."""

import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from subband.bench.cases import select_cases
from subband.bench.peers import Contender, Peer, comparison, find_peers
from subband.bench.peers.cases import PEER_CASES, ImageCase, PeerCase
from subband.bench.peers.comparison import PEERS, compare_results, measure_peers, report
from subband.codecs.jpeg2000 import encode, imread
from subband.engines.measuring.harness import open_harness
from subband.engines.measuring.judging import WrongResultError
from subband.engines.measuring.timing import Effort

pywt = pytest.importorskip("pywt")

MOMENT = Effort(seconds=1e-3, fewest=1, most=2, turn=1e-4)
SMALL = (
    PeerCase((64,), "db4", "symmetric", 2),
    PeerCase((48, 64), "bior4.4", "symmetric", 2, inverse=True),
    PeerCase((16, 16, 16), "haar", "symmetric", 1),
    PeerCase((32, 32), "db4", "stationary", 2),
    PeerCase((32, 32), "db4", "stationary", 2, inverse=True),
)


def use(*peers):
    return [(peer, None) for peer in peers]


def test_pywavelets_and_scikit_image_are_measured():
    pytest.importorskip("skimage")
    pictures = [ImageCase((96, 96), "db2", "symmetric", task=task) for task in ("denoise", "spin", "noise")]
    found, _ = find_peers([peer for peer in PEERS if peer.name in ("PyWavelets", "scikit-image")])
    bench = open_harness("cpu")
    measured = list(measure_peers([*SMALL, *pictures], MOMENT, bench, found))
    assert [set(each.peers) for each in measured] == [{"PyWavelets"}] * 5 + [{"scikit-image"}] * 3
    assert all(each.error < 1e-5 for each in measured[:5])
    assert all("another method; PSNR" in remark for each in measured for remark in each.remarks)
    assert sum(len(each.remarks) for each in measured) == 1
    made = report(measured, bench, ["ptwt is not measured"])
    assert [sheet.title.split()[0] for sheet in made.sheets] == ["Transforms", "Pictures"]
    assert made.sheets[0].columns == ["case", "subband ms", "PyWavelets ms", "copy ms", "× PyWavelets", "× copy"]
    assert made.sheets[1].columns == ["case", "subband ms", "scikit-image ms", "× scikit-image"]
    assert len(made.figures["measurements"]) == 8
    assert made.remarks[0] == "ptwt is not measured"
    assert "scikit-image" in made.machine.versions
    assert len(made.goals) == 1
    assert set(made.drawings) == {"Transforms beside others", "Pictures beside others"}


def test_a_wrong_result_is_not_timed():
    def lie(module, case, samples):
        return Contender(lambda: [1.001 * band for band in pywt.wavedec(samples, case.wavelet, case.mode, case.level)])

    def fail(module, case, samples):
        raise OSError("no driver")

    def decline(module, case, samples):
        return None

    peers = use(Peer("liar", "", lie), Peer("wreck", "", fail), Peer("other", "", decline))
    (measured,) = measure_peers(SMALL[:1], MOMENT, open_harness("cpu"), peers)
    assert measured.peers == {}
    assert measured.ours > 0
    assert "liar is not timed at 1-D 64 db4" in measured.remarks[0]
    assert "wreck is not timed at 1-D 64 db4 symmetric 2-level forward: no driver" in measured.remarks[1]
    assert len(measured.remarks) == 2


def test_a_slow_peer_is_timed_once(monkeypatch):
    calls = []

    def prepare(module, case, samples):
        return Contender(lambda: calls.append(1) or pywt.wavedec(samples, case.wavelet, case.mode, case.level))

    monkeypatch.setattr(comparison, "_PATIENCE", 0.0)
    (measured,) = measure_peers(SMALL[:1], MOMENT, open_harness("cpu"), use(Peer("snail", "", prepare)))
    assert measured.peers["snail"] > 0
    assert len(calls) == 2
    assert "timed once" in measured.remarks[0]


def test_another_mode_is_compared_away_from_the_border():
    case = PeerCase((128, 128), "db2", "symmetric", 1)
    samples = case.make_samples(seed=3)
    bands = pywt.wavedec2(samples, "db2", "periodization", 1)
    flipped = [-bands[0], bands[1]]
    assert "away from the border" in compare_results(
        case, Contender(lambda: flipped, mode="periodization"), None, samples
    )
    bands[0][30, 30] += 1
    with pytest.raises(WrongResultError, match="away from the border it differs"):
        compare_results(case, Contender(lambda: bands, mode="periodization"), None, samples)


def test_what_denoises_must_make_pictures_better():
    case = ImageCase((96, 96), "cdf97", "whole", task="smooth", dtype="uint8")
    noisy = case.make_samples()
    assert noisy.dtype == np.uint8
    ours = case.bind(None, noisy)()
    assert "another method" in compare_results(case, Contender(lambda: ours), ours, noisy)
    with pytest.raises(WrongResultError, match="PSNR falls"):
        compare_results(case, Contender(lambda: 255 - noisy), ours, noisy)


def test_files_of_others_must_give_the_picture_back():
    case = ImageCase((64, 64, 3), task="encode", axes=(0, 1))
    picture = case.make_samples()
    file = case.bind(None, picture)()
    said = compare_results(case, Contender(lambda: file), file, picture)
    assert said == f"a file of {len(file):,} bytes, ours {len(file):,}"
    other = case.bind(None, 255 - picture)()
    with pytest.raises(WrongResultError, match="does not give the image back"):
        compare_results(case, Contender(lambda: other), file, picture)


def make_opencv(*, has_writer=True):
    """Stand in for OpenCV, where blue comes first."""
    return SimpleNamespace(
        IMREAD_UNCHANGED=-1,
        IMWRITE_JPEG2000_COMPRESSION_X1000=272,
        haveImageWriter=lambda name: has_writer,
        imencode=lambda ending, picture, settings: (True, np.frombuffer(encode(picture[..., ::-1]), np.uint8)),
        imdecode=lambda file, flags: imread(io.BytesIO(file.tobytes()))[..., ::-1],
    )


def test_opencv(monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", make_opencv())
    found, remarks = find_peers([peer for peer in PEERS if peer.name == "OpenCV"])
    assert remarks == []
    cases = [ImageCase((64, 64, 3), task=task, axes=(0, 1)) for task in ("encode", "decode")]
    for measured in measure_peers(cases, MOMENT, open_harness("cpu"), found):
        assert set(measured.peers) == {"OpenCV"}, measured.remarks
    without = [(found[0][0], make_opencv(has_writer=False))]
    (measured,) = measure_peers(cases[:1], MOMENT, open_harness("cpu"), without)
    assert "built without JPEG 2000" in measured.remarks[0]


def test_cases_cover_what_libraries_are_known_for():
    names = " | ".join(case.name for case in PEER_CASES)
    for words in ("1-D 262144", "2-D 512x512", "2-D 1080x1920", "3-D 128x128x128", "haar", "db4", "bior4.4"):
        assert words in names
    for words in ("stationary 3-level inverse", "estimate noise", "BayesShrink", "JPEG 2000 decode"):
        assert words in names
    assert len({case.name for case in PEER_CASES}) == len(PEER_CASES)
    quick = select_cases(PEER_CASES, is_quick=True)
    assert 0 < len(quick) < len(PEER_CASES)
    assert {type(case) for case in quick} == {PeerCase, ImageCase}


@pytest.mark.parametrize("library", ["ptwt", "pytorch_wavelets", "jaxwt", "cv2"])
def test_the_real_one(library):
    pytest.importorskip(library, exc_type=ImportError)
    found, _ = find_peers([peer for peer in PEERS if peer.module == library])
    cases = [PeerCase((32, 48), "db2", "symmetric", 2, inverse=inverse) for inverse in (False, True)]
    if library == "cv2":
        cases = [ImageCase((64, 64, 3), task="decode", axes=(0, 1))]
    for measured in measure_peers(cases, MOMENT, open_harness("cpu"), found):
        assert measured.remarks == ()
        assert set(measured.peers) == {found[0][0].name}


@pytest.mark.parametrize("task", ["denoise", "noise", "encode", "decode"])
def test_a_wrong_picture_of_our_own_is_not_timed(task, monkeypatch):
    shape = (512, 512, 3) if task in ("encode", "decode") else (512, 512)
    case = ImageCase(shape, "db2", task=task)
    wrong = {"noise": np.zeros(1), "encode": encode(np.zeros(shape, np.uint8))}.get(task, np.zeros(shape, np.uint8))
    monkeypatch.setattr(ImageCase, "bind", lambda *_: lambda: wrong)
    with pytest.raises(WrongResultError, match="our own result"):
        list(measure_peers([case], Effort(0.01, 1, 1), open_harness("cpu"), []))
