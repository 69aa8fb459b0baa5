"""What is refused is refused in one line."""

from collections.abc import Callable

import pytest

from uds_bench.errors import FactError


def refusal(read: Callable[..., object], *given: object, **more: object) -> str:
    """The one line with which it is refused."""
    with pytest.raises(FactError) as caught:
        read(*given, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)
