"""What subband has for xarray, under a short name: the same as `subband.integrations.xarray`."""

from subband.integrations.xarray import *  # noqa: F403 - all public names, listed once
from subband.integrations.xarray import __all__  # noqa: F401 - re-exported
