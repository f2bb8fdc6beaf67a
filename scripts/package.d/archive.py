"""The tar archive: unpack it anywhere, or copy bin/muster out of it."""

import gzip
import io
import tarfile

import tree


def write(release, parts):
    files = dict(parts.installed)
    files |= {f"share/doc/muster/licences/{name}": text for name, text in parts.licences().items()}
    files["LICENSE"] = parts.licence.encode()
    files["share/doc/muster/muster.cdx.json"] = parts.bill.encode()
    path = release.output / f"{release.stem}.tar.gz"
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=release.date) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for name, content in sorted(files.items()):
                entry = tarfile.TarInfo(f"muster-{release.version}/{name}")
                entry.size, entry.mtime, entry.mode = len(content), release.date, tree.mode_of(name)
                entry.uname = entry.gname = "root"
                archive.addfile(entry, io.BytesIO(content))
