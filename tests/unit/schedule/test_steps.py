from hypothesis import given
from hypothesis import strategies as st

from subband.pairs import Output, PairFilter, PairStep
from subband.schedule.steps import schedule_filter, schedule_lifting

STEPS = st.lists(
    st.builds(
        PairStep,
        st.integers(0, 1),
        st.integers(-3, 3),
        st.lists(st.integers(1, 5).map(float), min_size=1, max_size=4).map(tuple),
    ),
    max_size=6,
)
OUTPUTS = st.tuples(st.integers(-2, 2), st.integers(-2, 2)).map(
    lambda shifts: (Output(0, shifts[0], 1.0), Output(1, shifts[1], 1.0))
)


def run_steps_one_by_one(pairs, steps):
    """Run each step over the whole sequence before the next; what lies outside counts as zero."""
    rows = [list(member) for member in zip(*pairs, strict=True)]
    for step in steps:
        source, target = rows[1 - step.target], rows[step.target]
        for n in range(len(pairs)):
            for j, tap in enumerate(step.taps):
                if 0 <= n + step.start + j < len(pairs):
                    target[n] += tap * source[n + step.start + j]
    return rows


def run_one_sweep(pairs, steps, outputs, schedule, n):
    """Make outputs number `n` from nothing but the pairs that the schedule names, keeping `depth` of them."""
    kept = [[0.0, 0.0] for _ in range(schedule.depth)]
    for at in range(n + schedule.first, n + schedule.last + 1):
        kept = [list(pairs[at]), *kept[:-1]]
        for step, lag in zip(steps, schedule.lags, strict=True):
            for j, tap in enumerate(step.taps):
                age = lag - step.start - j
                assert 0 <= age < schedule.depth, "a step reads a pair that is not kept"
                kept[lag][step.target] += tap * kept[age][1 - step.target]
    return [kept[schedule.last - output.shift][output.member] for output in outputs]


@given(STEPS, OUTPUTS)
def test_one_sweep_equals_step_after_step(steps, outputs):
    pairs = [(float(n % 7), float(n * n % 11)) for n in range(120)]
    schedule = schedule_lifting(steps, outputs)
    rows = run_steps_one_by_one(pairs, steps)
    for n in (55, 60):
        expected = [rows[output.member][n + output.shift] for output in outputs]
        assert run_one_sweep(pairs, steps, outputs, schedule, n) == expected


@given(st.integers(-9, 9), st.integers(1, 12))
def test_filters_need_the_pairs_under_them(first, width):
    schedule = schedule_filter(PairFilter(first, ((1.0,) * width,) * 2))
    assert 2 * schedule.first <= first < 2 * schedule.first + 2
    assert 2 * schedule.last <= first + width - 1 < 2 * schedule.last + 2
    assert schedule.depth == schedule.last - schedule.first + 1
