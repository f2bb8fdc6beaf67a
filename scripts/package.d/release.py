"""Facts that all packages of one release share."""

import dataclasses
import pathlib

import origins


@dataclasses.dataclass(frozen=True)
class Architecture:
    name: str  # as Linux says it: x86_64
    debian: str  # amd64


ARCHITECTURES = {"x86_64": Architecture("x86_64", "amd64"), "aarch64": Architecture("aarch64", "arm64")}


@dataclasses.dataclass(frozen=True)
class Release:
    build: origins.Build
    architecture: Architecture
    version: str
    summary: str
    date: int  # seconds since 1970, of every file in every package
    distribution: str  # whose packages went in, such as debian-12
    output: pathlib.Path  # the packages come here

    @property
    def stem(self):
        return f"muster-{self.version}-linux-{self.architecture.name}"
