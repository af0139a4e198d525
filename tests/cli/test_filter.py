"""``subband filter``: chains in the order of the command line, from files and into files."""

import json
from dataclasses import fields

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from subband import data
from subband.cli import app
from subband.cli.chain import build_stages
from subband.enhance import Blur, Denoise, Enhancer, PoissonGaussian, Sharpen, Shrink
from subband.enhance.models import find_model
from subband.errors import ArgumentError

PICTURE = data.photograph()[100:164, 100:180]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def show(*arguments):
    result = run("filter", *arguments, "--show-chain")
    assert result.exit_code == 0, result.output
    return Enhancer.from_toml(result.stdout)


@pytest.fixture
def picture(tmp_path):
    Image.fromarray(PICTURE).save(tmp_path / "in.png")
    return tmp_path / "in.png"


@pytest.mark.parametrize(
    ("options", "stages"),
    [
        (("--soft", 0.1), (Shrink(threshold=25.5),)),
        (("--hard", 0.2, "-w", "haar", "-l", 2), (Shrink("haar", 2, "hard", 51.0),)),
        (("--garrote=0.1",), (Shrink(mode="garrote", threshold=25.5),)),
        (("--firm", "0.1,0.2"), (Shrink(mode="firm", threshold=25.5, upper=51.0),)),
        (("--soft", 0.1, "--level-weights", "1,0.7,0.4"), (Shrink(threshold=25.5, level_weights=(1, 0.7, 0.4)),)),
        (("--gains", "1.2,1,1,1"), (Shrink(level=4, gains=[1.2, 1, 1, 1]),)),
        (("--soft", 0.2, "--gains", "1.5"), (Shrink(threshold=51.0, gains=1.5),)),
        (("--blur", 1.5), (Blur(1.5),)),
        (("--sharpen", -0.5), (Sharpen(-0.5),)),
        (
            ("--denoise", "bayes", "--strength", 0.5, "--level-weights", "1,0.5"),
            (Denoise("bayes", strength=0.5, level_weights=(1, 0.5)),),
        ),
        # the order of the command line, also where an option comes twice
        (("--blur", 1, "--sharpen", 0.3, "--blur", 2), (Blur(1.0), Sharpen(0.3), Blur(2.0))),
        (("--sharpen", 0.3, "--soft", 0.2, "--blur", 1), (Sharpen(0.3), Shrink(threshold=51.0), Blur(1.0))),
        (("--gains", "2", "--gains", "3"), (Shrink(gains=2.0), Shrink(gains=3.0))),
        (("--denoise", "visu", "--mode", "hard"), (Denoise("visu", mode="hard"),)),
        (
            ("--soft", 0.1, "--boundary", "zero", "--form", "spun"),
            (Shrink(threshold=25.5, boundary="zero", form="spun"),),
        ),
        (("--sharpen", 0.3, "--kernel", "diagonal"), (Sharpen(0.3, "diagonal"),)),
        # filters of coefficients belong to the transform before them, those of the picture stand by themselves
        (
            ("--soft", 0.1, "--blur", 1, "--at", "between", "--blur", 2, "--sharpen", 0.3, "--at", "details"),
            (Shrink(threshold=25.5, filters=(Blur(1.0, "between"), Sharpen(0.3, at="details"))), Blur(2.0)),
        ),
        (
            ("--denoise", "bayes", "--sharpen", 0.2, "--at", "details", "--levels", "1,3-4"),
            (Denoise("bayes", filters=(Sharpen(0.2, at="details", levels=(1, 3, 4)),)),),
        ),
        ((), ()),
    ],
)
def test_options_make_a_chain_in_their_order(options, stages):
    assert show(*options) == Enhancer(stages)


def test_other_settings():
    chain = show("--denoise", "wiener", "--noise", "poisson:gain=2,sigma=3", "--colour", "rgb", "--sigma", 5)
    assert chain == Enhancer(Denoise("wiener"), PoissonGaussian(2.0, 0.0, 3.0), 5.0, "rgb")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--blur", 1, "--at", "details"), "no transform stands before it"),
        (("--soft", 0.1, "--at", "details"), "--at details stands behind no --blur and no --sharpen"),
        (("--blur", 1, "--kernel", "cross"), "--kernel cross stands behind no --sharpen"),
        (("--soft", 0.1, "--mode", "hard"), "--mode hard stands behind no --denoise"),
        (("--soft", 0.1, "--boundary", "sero"), "sero"),
    ],
)
def test_options_that_do_not_go_together(options, message, picture, tmp_path):
    result = run("filter", picture, tmp_path / "out.png", *options)
    assert result.exit_code == 2
    assert message in result.output


def test_every_setting_of_a_chain_has_an_option():
    """What the studio and a program can set, the command line can too: each field is moved from its default."""
    chain = show(
        *("--denoise", "visu", "--mode", "garrote", "--strength", 2, "--level-weights", "1,0.5"),
        *("--blur", 2, "--at", "details", "--levels", 2),
        *("--firm", "0.1,0.2", "--level-weights", "1,0.5", "--gains", "2"),
        *("--sharpen", 0.25, "--kernel", "diagonal", "--at", "details", "--levels", 1),
        *("--wavelet", "db2", "--level", 4, "--boundary", "periodization", "--form", "spun"),
        *("--noise", "poisson", "--sigma", 2, "--colour", "rgb", "--precision", "float16", "--temporal"),
    )
    denoise, shrink = chain.stages
    for made in (chain, denoise, shrink, denoise.filters[0], shrink.filters[0]):
        usual = Denoise("visu") if made is denoise else type(made)()
        same = [field.name for field in fields(made) if getattr(made, field.name) == getattr(usual, field.name)]
        assert same == (["method"] if made is denoise else [])


def test_chain_is_applied(picture, tmp_path):
    result = run("filter", "--sharpen", 0.5, picture, tmp_path / "out.png", "--soft", 0.1)
    assert result.exit_code == 0, result.output
    expected = Enhancer([Sharpen(0.5), Shrink(threshold=25.5)]).apply(PICTURE)
    np.testing.assert_allclose(np.asarray(Image.open(tmp_path / "out.png")), expected.astype(float), atol=1)


def test_saved_chain_does_the_same(picture, tmp_path):
    chain = tmp_path / "chain.toml"
    options = ("--soft", 0.05, "--sharpen", 0.3)
    assert run("filter", picture, tmp_path / "a.png", *options, "--save-chain", chain).exit_code == 0
    assert run("filter", picture, tmp_path / "b.png", "--chain", chain).exit_code == 0
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    # options come behind the file
    assert show("--chain", chain, "--blur", 2).stages == (Shrink(threshold=12.75), Sharpen(0.3), Blur(2.0))
    result = run("filter", "--save-chain", chain, "--blur", 1)
    assert result.exit_code == 2
    assert "--force" in result.stderr
    assert run("filter", "--save-chain", chain, "--blur", 1, "--force").exit_code == 0
    assert Enhancer.from_toml(chain.read_text()).stages == (Blur(1.0),)


def test_dry_run_saves_nothing(picture, tmp_path):
    result = run("filter", picture, tmp_path / "a.png", "--save-chain", tmp_path / "c.toml", "--dry-run", "--json")
    assert json.loads(result.stdout)["dry_run"] is True
    assert [path.name for path in tmp_path.iterdir()] == ["in.png"]


def test_thresholds_are_parts_of_white_at_every_depth(tmp_path):
    grey = np.ascontiguousarray(PICTURE[..., 1])
    Image.fromarray(grey).save(tmp_path / "shallow.png")
    Image.fromarray(grey.astype(np.uint16) * 257).save(tmp_path / "deep.png")
    for name in ("shallow", "deep"):
        assert run("filter", tmp_path / f"{name}.png", tmp_path / f"{name}-out.png", "--hard", 0.2).exit_code == 0
    shallow, deep = (np.asarray(Image.open(tmp_path / f"{name}-out.png")) for name in ("shallow", "deep"))
    np.testing.assert_allclose(deep / 257, shallow, atol=0.51)
    assert (shallow != grey).any()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--soft", "much"), "--soft much is not a number"),
        (("--soft", 12), "part of white"),
        (("--firm", 0.1), "needs two thresholds"),
        (("--firm", "0.2,0.1"), "smaller threshold last"),
        (("--level-weights", "1,0.5"), "behind no threshold"),
        (("--blur", 1, "--level-weights", "1,0.5"), "behind no threshold"),
        (("--strength", 2), "behind no --denoise"),
        (("--soft", 0.1, "--gains", "1,x"), "--gains 1,x"),
        (("--denoise", "magic"), "--denoise magic"),
        (("--blur", 0), "--blur 0"),
        (("--chain", "missing.toml"), "missing.toml"),
    ],
)
def test_errors(picture, tmp_path, options, words):
    result = run("filter", picture, tmp_path / "out.png", *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out.png").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not = = toml", "is not TOML"),
        (b"[[stages]]\nkind = 'blurr'", "did you mean 'blur'"),
        (b"\xff\xfe", "not a text"),
    ],
)
def test_bad_chain_names_the_file(picture, tmp_path, content, words):
    (tmp_path / "chain.toml").write_bytes(content)
    result = run("filter", picture, tmp_path / "out.png", "--chain", tmp_path / "chain.toml")
    assert result.exit_code == 2
    assert words in result.stderr
    assert "chain.toml" in result.stderr


def test_option_without_a_value(picture, tmp_path):
    assert run("filter", picture, tmp_path / "out.png", "--soft").exit_code == 2


def test_stages_by_hand():
    assert build_stages([], "cdf97", None) == ()
    with pytest.raises(ArgumentError, match="is no setting"):
        find_model("gaussian:sigma")
    with pytest.raises(ArgumentError, match="not a number"):
        find_model("gaussian:sigma=x")


@pytest.mark.parametrize("option", ["--soft=0.1", "--hard=0.1", "--garrote=0.1", "--firm=0.1,0.2"])
def test_parts_of_white_mean_nothing_to_a_volume(tmp_path, option):
    np.save(tmp_path / "in.npy", np.zeros((8, 16, 16), np.int16))
    result = run("filter", tmp_path / "in.npy", tmp_path / "out.npy", "-l", 1, "--blur", 1, option)
    assert result.exit_code == 2
    assert f"{option.replace('=', ' ')} is a part of white" in result.stderr
    assert "--chain" in result.stderr
    assert not list(tmp_path.glob("out*"))


def test_thresholds_for_volumes_come_from_a_chain(tmp_path):
    volume = np.random.default_rng(0).normal(0, 100, (8, 16, 16)).astype(np.int16)
    np.save(tmp_path / "in.npy", volume)
    (tmp_path / "chain.toml").write_text(Enhancer(Shrink(level=1, threshold=1000.0)).to_toml())
    result = run("filter", tmp_path / "in.npy", tmp_path / "out.npy", "--chain", tmp_path / "chain.toml")
    assert result.exit_code == 0, result.output
    assert np.load(tmp_path / "out.npy").std() < 0.6 * volume.std()
    # no threshold is the same in all units
    assert run("filter", tmp_path / "in.npy", tmp_path / "same.npy", "--soft", 0, "-l", 1).exit_code == 0
