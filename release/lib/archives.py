"""Archives that depend on their content and on SOURCE_DATE_EPOCH alone: order, owners, modes and times are fixed.

The bytes depend on zlib too, so two machines have to have the same Python to get the same archive.
"""
import gzip
import io
import tarfile
import time
import zipfile
from pathlib import Path

# The times that a zip can have, in seconds since 1970: the years 1980 to 2107.
TIMES = range(315_532_800, 4_354_819_200)


def content(source):
    return source.read_bytes() if isinstance(source, Path) else source


def tar_bytes(files, epoch):
    """A tar of `files`: name to (bytes or path, mode). Folders have no entries; tar makes them."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (source, mode) in sorted(files.items()):
            data = content(source)
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(data), mode, epoch
            archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


def gzipped(data):
    """Gzip without a name and without a time."""
    return gzip.compress(data, compresslevel=9, mtime=0)


def write_tar(path, files, epoch):
    """A .tar.gz, whose entries lie in a folder with its name."""
    folder = path.name.removesuffix(".tar.gz")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzipped(tar_bytes({f"{folder}/{name}": entry for name, entry in files.items()}, epoch)))


def write_zip(path, files, epoch):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, (source, mode) in sorted(files.items()):
            # A zip has local times: these are UTC.
            entry = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
            entry.create_system, entry.external_attr = 3, (0o100000 | mode) << 16
            archive.writestr(entry, content(source), zipfile.ZIP_DEFLATED, 9)


def plain(paths, mode=0o644):
    """`files` of paths, each by its own name."""
    return {path.name: (path, mode) for path in paths}
