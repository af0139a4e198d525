from hypothesis import given
from hypothesis import strategies as st

from subband.kernels.launch import Launch


@given(st.integers(0, 10**7), st.integers(0, 10**5), st.integers(1, 5000), st.integers(1, 200))
def test_chunks_are_no_longer_than_asked_for_unless_they_would_be_too_many(steps, strips, resident, most):
    chunk = Launch(2, 0, most, 1, True).choose_chunk(steps, strips, resident)
    assert 1 <= chunk <= max(most, 4, -(-steps // 65_535))
    assert -(-steps // chunk) <= 65_535


@given(st.integers(1, 10**6), st.integers(1, 10**4), st.integers(1, 5000))
def test_small_images_are_cut_for_all_of_the_device(steps, strips, resident):
    chunk = Launch(2, 0, 64, 1, True).choose_chunk(steps, strips, resident)
    groups = -(-steps // chunk) * strips
    # half of the groups at least have work, unless chunks would be too short
    assert chunk <= 4 or groups * 2 >= resident
