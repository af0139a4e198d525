"""Black, white and units that files name."""

import numpy as np
import pytest
import tifffile

from subband.media import open_source
from subband.media.display import describe_display, find_dicom_display

VOLUME = np.arange(3 * 8 * 10, dtype=np.float32).reshape(3, 8, 10)


def test_imagej_and_nifti_name_what_is_black_and_white(tmp_path):
    nibabel = pytest.importorskip("nibabel", reason="not installed: pip install 'subband[volumes]'")
    tifffile.imwrite(tmp_path / "stack.tif", VOLUME, imagej=True, metadata={"axes": "ZYX", "min": 10.0, "max": 200.5})
    image = nibabel.Nifti1Image(VOLUME.transpose(2, 1, 0), np.eye(4))
    image.header["cal_min"], image.header["cal_max"] = -5, 40
    nibabel.save(image, tmp_path / "head.nii")
    for name, window in (("stack.tif", (10.0, 200.5)), ("head.nii", (-5.0, 40.0))):
        with open_source(tmp_path / name) as source:
            assert source.info.metadata["window"] == window
            assert "unit" not in source.info.metadata


def test_files_that_name_nothing_have_nothing(tmp_path):
    tifffile.imwrite(tmp_path / "stack.tif", VOLUME, imagej=True, metadata={"axes": "ZYX"})
    with open_source(tmp_path / "stack.tif") as source:
        assert not {"window", "unit"} & set(source.info.metadata)


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ({"WindowCenter": "40", "WindowWidth": "400"}, {"window": (-160.0, 240.0)}),
        ({"WindowCenter": 40, "WindowWidth": 0}, {}),
        ({"WindowCenter": [], "WindowWidth": []}, {}),
        ({"WindowCenter": "wide", "WindowWidth": 3}, {}),
        ({"Modality": "CT", "RescaleIntercept": -1024}, {"unit": "HU"}),
        ({"RescaleType": "US", "Modality": "MR"}, {}),
        ({"Units": "BQML"}, {"unit": "Bq/ml"}),
    ],
)
def test_odd_headers_are_read_as_far_as_they_make_sense(head, found):
    assert find_dicom_display(head, is_inverted=False) == found


def test_a_window_of_turned_numbers_is_left_out():
    head = {"WindowCenter": 40, "WindowWidth": 400, "RescaleType": "HU"}
    assert find_dicom_display(head, is_inverted=True) == {"unit": "HU"}
    assert describe_display(np.nan, 3) == {}
