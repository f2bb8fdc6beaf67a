"""Parses the output of the worker `describe_itself`."""

from collections import defaultdict


class Description:
    """The process attributes of one worker at its start."""

    def __init__(self, text):
        self._values = defaultdict(list)
        for line in text.splitlines():
            name, _, value = line.partition(" ")
            self._values[name].append(value)

    def one(self, name):
        (value,) = self._values[name]
        return value

    def number(self, name):
        return int(self.one(name))

    def numbers(self, name):
        return {int(value) for value in self._values[name]}

    @property
    def descriptors(self):
        pairs = (entry.partition(" ") for entry in self._values["fd"])
        return {int(fd): target for fd, _, target in pairs}

    @property
    def arguments(self):
        return self._values["argument"]

    @property
    def environment(self):
        pairs = (entry.partition("=") for entry in self._values["variable"])
        return {name: value for name, _, value in pairs}


def read_descriptions(folder):
    """By global rank, what the workers wrote into the folder."""
    return {int(file.name): Description(file.read_text()) for file in folder.iterdir()}
