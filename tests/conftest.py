"""What all tests share.

Tests marked `jvm` run on one worker, one after the other (`--dist loadgroup`): a second Java virtual machine would cost
more start-up time and memory than two cores can win back.
"""

import pytest


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("jvm"):
            item.add_marker(pytest.mark.xdist_group("jvm"))
