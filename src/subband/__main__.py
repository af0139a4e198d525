"""``python -m subband`` is the command ``subband``."""

from subband.cli import main

if __name__ == "__main__":
    main()
