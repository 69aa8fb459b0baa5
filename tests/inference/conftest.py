"""Every test that asks for a case runs on every decoder family."""

import pytest
from families import FAMILIES
from references.depth_cases import Case


@pytest.fixture(params=sorted(FAMILIES))
def case(request: pytest.FixtureRequest) -> Case:
    return Case(str(request.param))
