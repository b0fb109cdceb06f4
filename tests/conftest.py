"""What every test shares: reproducible property tests, and no trace of the machine it runs on."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Derandomized: the same tree gives the same verdict everywhere. The clock decides nothing, so that a busy machine
# fails no test; "ci" is the name Hypothesis picks by itself on a build server.
HOUSE = settings(
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("house", HOUSE)
settings.register_profile("ci", HOUSE)
settings.load_profile("house")


@pytest.fixture(autouse=True)
def neutral_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hide the settings and the data folder of whoever runs the tests; give the data folder used instead.

    Whether a model is installed decides nothing: a test that wants one names it.
    """
    for name in [name for name in os.environ if name.startswith("CONTEXT_PACKS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CONTEXT_PACKS_EMBEDDER", "none")
    data = tmp_path_factory.mktemp("data-home")
    monkeypatch.setenv("XDG_DATA_HOME", str(data))
    return data
