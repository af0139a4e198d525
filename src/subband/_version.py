"""The version of subband: the build, the command line and `subband.__version__` all read it here."""

#: The version, as in ``subband --version``.
__version__ = "0.1.0.dev0"
