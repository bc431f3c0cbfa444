"""pyproject.toml, requirements.lock and environment.yml tell the same story."""

import re
import tomllib

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from eowm.paths import CHECKOUT as ROOT

CONDA_NAMES = {"pytorch": "torch"}  # conda-forge's name → PyPI's


def direct() -> dict[str, Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    texts = project["dependencies"] + [text for extra in extras for text in extra]
    return {canonicalize_name(r.name): r for r in map(Requirement, texts)}


def locked() -> dict[str, set[str]]:
    """Versions by package: one, or one per Python version where markers split it."""
    versions: dict[str, set[str]] = {}
    for line in (ROOT / "requirements.lock").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            requirement = Requirement(line)
            (pin,) = requirement.specifier
            assert pin.operator == "==", line
            versions.setdefault(canonicalize_name(requirement.name), set()).add(pin.version)
    return versions


def conda() -> dict[str, str]:
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    pairs = (entry.split("=") for entry in entries if entry != "pip")
    return {canonicalize_name(CONDA_NAMES.get(name, name)): version for name, version in pairs}


def test_every_direct_dependency_is_locked_to_a_version_it_allows() -> None:
    for name, requirement in direct().items():
        assert name in locked(), f"{name} is missing from requirements.lock: run `make lock`"
        assert all(requirement.specifier.contains(v) for v in locked()[name]), name


def test_conda_has_the_same_packages_in_the_locked_versions() -> None:
    environment = conda()
    assert environment.pop("python") == "3.11"
    assert environment.keys() == direct().keys()
    for name, version in environment.items():
        assert version in locked()[name], name


def test_the_lock_can_be_installed_anywhere() -> None:
    """No local versions such as +cpu, no addresses: pip picks torch's build by itself."""
    text = (ROOT / "requirements.lock").read_text()
    assert not re.search(r"==\S*\+", text)
    assert "://" not in text


def test_torch_and_torchvision_belong_together() -> None:
    assert (locked()["torch"], locked()["torchvision"]) == ({"2.13.0"}, {"0.28.0"})
