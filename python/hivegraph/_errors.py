"""Exceptions. Their words are those of the program `hive`."""


class HivegraphError(Exception):
    """What all exceptions of this package are."""


class InputError(HivegraphError, ValueError):
    """The input cannot be used: a graph, an option, an id, a weight."""


class MachineError(HivegraphError, RuntimeError):
    """The machine lacks something that was asked for: a device, a library, memory."""


class FaultError(HivegraphError, RuntimeError):
    """A replica failed, stalled or disagreed with the others. The next call opens the devices anew."""


class VerificationError(HivegraphError):
    """An answer did not pass its independent check (``verify=True``)."""
