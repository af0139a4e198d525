"""What subband has for PyTorch, under a short name: the same as `subband.integrations.torch`."""

from subband.integrations.torch import *  # noqa: F403 - all public names, listed once
from subband.integrations.torch import __all__  # noqa: F401 - re-exported
