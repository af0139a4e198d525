"""The boundary modes as PyWavelets numbers them."""

from __future__ import annotations

import warnings
from typing import Any

from subband.boundary import MODES, PYWAVELETS_MODES, check_mode
from subband.engines.recording import recordings
from subband.errors import ModeError, ModeTypeError

__all__ = ["Modes", "check_boundary", "mode_name"]


class _Modes:
    """Boundary modes (signal extension modes): how a signal goes on outside its samples; see `subband.boundary`.

    Wherever a mode is taken it may be given by name or by its number, which is an attribute of this object.
    PyWavelets' old short names work too, with a `DeprecationWarning`.

    Attributes
    ----------
    modes : list of str
        The names that PyWavelets has too. ``whole`` is not among them because not every wavelet can take it.

    Examples
    --------
    >>> from subband import Modes
    >>> Modes.modes[:3]
    ['zero', 'constant', 'symmetric']
    >>> Modes.periodization, Modes.from_object("symmetric")
    (5, 1)
    """

    zero = 0
    symmetric = 1
    constant = 2
    smooth = 3
    periodic = 4
    periodization = 5
    reflect = 6
    antisymmetric = 7
    antireflect = 8
    # PyWavelets refuses 9; modes of our own are numbered well out of its way.
    whole = 100

    def __init__(self) -> None:
        self.modes = list(PYWAVELETS_MODES)

    def from_object(self, mode: Any) -> int:
        """Return the number of a mode, given by name or number.

        Parameters
        ----------
        mode : str or int
            For example ``"symmetric"`` or ``1``.

        Returns
        -------
        int
            One of the numbers above.

        Raises
        ------
        ModeError
            If there is no such mode; also a TypeError if `mode` is neither text nor an integer.

        Examples
        --------
        >>> from subband import Modes
        >>> Modes.from_object("periodization")
        5
        """
        return int(getattr(self, mode_name(mode)))

    def __getattr__(self, name: str) -> int:
        if name in _OLD_NAMES:
            return self.from_object(name)
        raise AttributeError(f"Modes has no mode {name!r}; known modes: {', '.join(MODES)}")

    def __repr__(self) -> str:
        return "Modes"


_OLD_NAMES = ("zpd", "cpd", "sym", "ppd", "sp1", "per")

#: The numbers of the modes.
Modes = _Modes()

_NAMES: dict[Any, str] = {key: name for name in MODES for key in (name, getattr(Modes, name))}


def mode_name(mode: Any, argument: str = "mode") -> str:
    """Return the full name of a mode given by name, short name or number; `argument` is what errors call it.

    Raises
    ------
    ModeError
        If there is no such mode; also a TypeError if `mode` is neither text nor an integer.

    Warns
    -----
    DeprecationWarning
        If `mode` is one of PyWavelets' short names.

    Examples
    --------
    >>> mode_name("periodization"), mode_name(1), mode_name(Modes.zero)
    ('periodization', 'symmetric', 'zero')
    """
    try:
        return _NAMES[mode]
    except (KeyError, TypeError):
        pass
    if isinstance(mode, str):
        name = check_mode(mode, argument)
        if name != mode.lower():
            if recordings.current is not None:
                recordings.current.give_up()  # what warns once has to warn each time
            warnings.warn(f"{argument}={mode!r} is an old name; use {name!r}", DeprecationWarning, stacklevel=3)
        return name
    if isinstance(mode, int):
        raise ModeError(f"{argument}={mode} is not the number of a boundary mode; use a name such as 'symmetric'")
    raise ModeTypeError(f"{argument}={mode!r} is neither a name nor a number; use a name such as 'symmetric'")


def check_boundary(boundary: Any) -> None:
    """Refuse what is no boundary mode when a setting of that name is made, and not when it is used.

    Raises
    ------
    ModeError
        If there is no such mode.

    Examples
    --------
    >>> check_boundary("whole")
    >>> check_boundary("mirror")
    Traceback (most recent call last):
        ...
    subband.errors.ModeError: boundary='mirror' is not a boundary mode; known modes: zero, constant, ...
    """
    if isinstance(boundary, str):
        check_mode(boundary, "boundary")
    elif boundary is not None:
        mode_name(boundary, "boundary")
