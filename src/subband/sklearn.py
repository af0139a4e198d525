"""What subband has for scikit-learn, under a short name: the same as `subband.integrations.sklearn`."""

from subband.integrations.sklearn import *  # noqa: F403 - all public names, listed once
from subband.integrations.sklearn import __all__  # noqa: F401 - re-exported
