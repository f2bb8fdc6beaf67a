"""Files of the packages, before each puts it where it wants it."""

import dataclasses
import pathlib
import subprocess
import tempfile


@dataclasses.dataclass(frozen=True)
class Parts:
    installed: dict  # path below the prefix: bytes, as the install rules of CMake have it
    bill: str
    licence: str  # muster's own
    linked: dict  # licences of what is linked in, by source package

    def licences(self):
        """All texts: {path: bytes}."""
        files = {"LICENSE": self.licence}
        files |= {f"linked-in/{name}.txt": text for name, text in self.linked.items()}
        return {path: text.encode() for path, text in sorted(files.items())}


def install(release):
    """The files that `cmake --install` would put below a prefix."""
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run(
            ["cmake", "--install", release.build.folder, "--prefix", prefix],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        top = pathlib.Path(prefix)
        return {
            str(path.relative_to(top)): path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()
        }


def mode_of(path):
    return 0o755 if path.split("/")[0] == "bin" else 0o644
