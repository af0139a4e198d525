"""Files that come from pages: streamed into a folder that is removed at the end, and looked at before use."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path, PurePath
from typing import Any

import anyio

from subband.errors import FormatError, SubbandError
from subband.media.formats import split_ending
from subband.studio.admission import check_volume
from subband.studio.library import Library, describe_info
from subband.studio.parts import write_parts

__all__ = ["MOST_UPLOAD", "TooMuchError", "Uploads"]

#: Bytes of a file, unless the command line says otherwise.
MOST_UPLOAD = 256 * 2**20

#: All files together may take so many times as much as one; the oldest make room for new ones.
_TOGETHER = 4
_LONGEST_TITLE = 100

# Lists of other files or addresses, which FFmpeg would go on to open.
_LISTS = (b"#", b"ffconcat", b"v=0", b"<", b"[playlist]", b"RTSPtext", b"SMIL", b"http")


class TooMuchError(FormatError):
    """An upload is larger than is allowed."""


class Uploads:
    """The files of all pages.

    Parameters
    ----------
    library : Library
        Where they can be found then.
    most_bytes : int
        Of one file.
    """

    def __init__(self, library: Library, most_bytes: int = MOST_UPLOAD) -> None:
        self.most_bytes = most_bytes
        self._library = library
        self._folder = Path(tempfile.mkdtemp(prefix="subband-studio-"))
        self._sizes: dict[str, int] = {}
        self._coming = 0

    @property
    def folder(self) -> Path:
        """Where they are."""
        return self._folder

    async def take(
        self, name: str, chunks: AsyncIterator[bytes], length: int | None, listed: int = 0
    ) -> dict[str, Any]:
        """Write a file as it comes, or several that are one volume, and return what the page is told about it.

        Parameters
        ----------
        name : str
            What the user calls it; only its ending is used here.
        chunks : async iterator of bytes
            What is in it.
        length : int, optional
            Bytes that are announced.
        listed : int
            Bytes of a list of names and sizes, as JSON, that several files begin with; 0 for one file.

        Raises
        ------
        TooMuchError
            If it is too large; nothing of it is left then.
        FormatError
            If it holds no image and no video.
        """
        self._check_size(length or 0)
        number = secrets.token_urlsafe(16)
        title = _clean_title(name)
        folder = self._folder / number
        await anyio.to_thread.run_sync(folder.mkdir)
        path = folder / f"file{_find_ending(title)}"
        size = 0

        async def count() -> AsyncIterator[bytes]:
            nonlocal size
            async for chunk in chunks:
                size += len(chunk)
                self._coming += len(chunk)
                self._check_size(size)
                yield chunk

        try:
            if listed:
                await write_parts(path, count(), listed, title)
            else:
                async with await anyio.open_file(path, "wb") as file:
                    async for chunk in count():
                        await file.write(chunk)
            info = await anyio.to_thread.run_sync(self._look, number, title, path)
        except BaseException:
            self._library.remove_upload(number)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(lambda: shutil.rmtree(folder, ignore_errors=True))
            raise
        finally:
            self._coming -= size
        self._sizes[number] = size
        return {"id": number, "name": title, "info": info}

    def close(self) -> None:
        """Remove all files."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _check_size(self, size: int) -> None:
        if size > self.most_bytes:
            raise TooMuchError(
                f"the file has more than {self.most_bytes / 2**20:g} MiB; start the studio with --most-upload for more"
            )
        while sum(self._sizes.values()) + max(self._coming, size) > _TOGETHER * self.most_bytes:
            if not self._sizes:
                raise TooMuchError("too many files are being uploaded at the same time; wait for one of them")
            self._remove_oldest()

    def _remove_oldest(self) -> None:
        """Make room; a page that has that file open still sees it to its end."""
        number = next(iter(self._sizes))
        del self._sizes[number]
        self._library.remove_upload(number)
        shutil.rmtree(self._folder / number, ignore_errors=True)

    def _look(self, number: str, title: str, path: Path) -> dict[str, Any]:
        """Open a file once, so that what cannot be read is refused at once."""
        if path.is_file():
            with path.open("rb") as file:
                head = file.read(512)
            if not head:
                raise FormatError(f"{title!r} is empty")
            if is_text(head):
                raise FormatError(f"{title!r} is a text, and neither an image nor a video")
        check_volume(path, title, self._library.most_pixels)
        item = self._library.add_upload(number, title, path)
        try:
            with item.open() as source:
                return describe_info(source.info, item)
        except (SubbandError, OSError) as error:
            # the name that the user knows, and not the one in the folder
            raise (
                FormatError(str(error).replace(str(path), title)) if isinstance(error, FormatError) else error
            ) from None


def is_text(head: bytes) -> bool:
    """Tell whether a file begins like a text, such as a list of other files.

    Examples
    --------
    >>> is_text(b"#EXTM3U file:///etc/passwd"), is_text(bytes([137, 80, 78, 71, 13, 10, 26, 10, 0]))
    (True, False)
    """
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(_LISTS):
        return True
    try:
        head.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in head


def _clean_title(name: str) -> str:
    """Return the last part of a name, without what no name should have."""
    last = PurePath(name.replace("\\", "/")).name
    return re.sub(r"[^\w .()+-]", "_", last)[-_LONGEST_TITLE:] or "upload"


def _find_ending(title: str) -> str:
    ending = split_ending(title)[1]
    return ending if re.fullmatch(r"(?:\.[a-z0-9]{1,5}){1,2}", ending) else ""
