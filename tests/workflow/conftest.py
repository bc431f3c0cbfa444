"""One project folder for all tests of a file."""

import pytest
from project import Project


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    return Project(tmp_path_factory.mktemp("project"))
