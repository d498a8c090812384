"""A plugin of pytest: which functions of NetworkX ran on a backend, written to the file that $HIVE_COUNTS names."""

import collections
import json
import logging
import os

_RAN = collections.Counter()


class _Counts(logging.Handler):
    def emit(self, record):
        if str(record.msg).startswith("Using backend"):
            _RAN[record.args[1]] += 1


_logger = logging.getLogger("networkx.utils.backends")
_logger.setLevel(logging.DEBUG)
_logger.addHandler(_Counts())
_logger.propagate = False


def pytest_sessionfinish(session):
    with open(os.environ["HIVE_COUNTS"], "w") as file:
        json.dump(_RAN, file)
