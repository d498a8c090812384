"""A line about a call that takes its time, where somebody looks: on a terminal or in a notebook."""

import sys

_shown = False


def _is_looked_at():
    """Whether standard error is a terminal's or a notebook's."""
    error = sys.stderr
    if error is None:
        return False
    return "ipykernel" in sys.modules or bool(getattr(error, "isatty", lambda: False)())


def tell(name, stage, seconds):
    """After a second, and again now and then; `seconds` of 0 ends it."""
    try:
        _tell(name, stage, seconds)
    except (OSError, ValueError):
        # Nobody looks any more.
        pass


def _tell(name, stage, seconds):
    global _shown
    if seconds == 0:
        if _shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
            _shown = False
    elif _is_looked_at():
        sys.stderr.write(f"\r\033[Khivegraph: {name} {stage}, {seconds:.0f} s")
        sys.stderr.flush()
        _shown = True
