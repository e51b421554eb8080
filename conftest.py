"""What every suite of this repository shares."""

import re
import sys
from collections import Counter

import pytest
from hypothesis import settings

# No deadline: a busy machine is slow, not wrong. A change is judged by examples that stay the same;
# `make test-random` looks for new ones.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile("repeatable")


def pytest_addoption(parser):
    parser.addoption("--no-skips", action="store_true", help="count a skipped test as a failed one")
    parser.addoption("--core-alone", action="store_true", help="skip the modules that import a plugin")
    parser.addoption("--of-each", type=int, help="run each parametrised test with so many parameters at most")


def pytest_collection_modifyitems(config, items):
    most = config.getoption("--of-each")
    if most is None:
        return
    counted, kept, left = Counter(), [], []
    for item in items:
        name = item.nodeid.partition("[")[0]
        counted[name] += 1
        (kept if counted[name] <= most else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


@pytest.fixture(autouse=True)
def usual_depth():
    """The recursion limit of a server. Tests import libraries that set 100,000, which is more than the stack
    holds: deep input would end the process.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000)
    yield
    sys.setrecursionlimit(before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and item.config.getoption("--no-skips"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which --no-skips counts as a failure: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    if report.failed and collector.config.getoption("--core-alone"):
        needed = re.search(r"No module named '(quoteway_\w+)", str(report.longrepr))
        if needed:
            report.outcome = "skipped"
            report.longrepr = (str(collector.path), 0, f"Skipped: needs {needed[1]}")
    if report.skipped and collector.config.getoption("--no-skips"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which --no-skips counts as a failure: {report.longrepr}"
    return report
