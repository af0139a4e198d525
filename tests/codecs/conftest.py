"""Programs that stand beside the tests, and import each other by being started here, are none."""

collect_ignore = ["fuzz.py", "fuzz_vc2.py", "fuzzing.py", "measure_vc2.py"]
