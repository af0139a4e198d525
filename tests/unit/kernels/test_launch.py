from hypothesis import given
from hypothesis import strategies as st

from subband.kernels.launch import Launch


def cut(steps, strips, resident, most):
    """Return how many pairs of rows each group of a strip walks, from the top down."""
    chunk, chunks, rest = Launch(2, 0, most, 1, True).choose_chunks(steps, strips, resident)
    lengths = [chunk] * chunks
    left = steps - chunk * chunks
    while left > 0:
        lengths.append(min(rest, left))
        left -= rest
    return lengths


@given(st.integers(0, 10**5), st.integers(0, 10**5), st.integers(1, 5000), st.integers(1, 200))
def test_groups_walk_all_rows_and_none_more_than_asked_for(steps, strips, resident, most):
    lengths = cut(steps, strips, resident, most)
    assert all(1 <= length <= max(most, 2) for length in lengths)
    # the last one is cut off at the end of the image
    assert sum(lengths) - max(lengths, default=0) < steps <= sum(lengths) or steps == 0 == len(lengths)


@given(st.integers(1, 10**5), st.integers(1, 10**4), st.integers(1, 5000))
def test_small_images_are_cut_for_all_of_the_device(steps, strips, resident):
    lengths = cut(steps, strips, resident, 64)
    # half of the groups at least have work, unless chunks would be too short
    assert max(lengths) <= 2 or len(lengths) * strips * 2 >= resident


def test_the_last_groups_of_a_large_image_walk_less():
    lengths = cut(4096, 74, 3168, 8)
    assert lengths[0] == 8
    assert lengths[-1] <= 4
    assert 0.25 < sum(1 for length in lengths if length <= 4) * 74 / 3168 < 2
