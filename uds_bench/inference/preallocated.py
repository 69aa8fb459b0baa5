"""A key-value cache that writes new tokens into room kept ahead; the library's own copies all that it holds a token."""

from __future__ import annotations

from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

ROOM = 64
"""Tokens of room made at once: what is held is copied once in so many tokens, and no more than so many lie unused."""

Grown = tuple[torch.Tensor, torch.Tensor]


class PreallocatedLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """Keys and values [rows, heads, tokens, head width] at the front of buffers that are longer than they are."""

    _rooms: Grown | None = None

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any) -> Grown:
        """Put new keys and values behind those held, and return all of them."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        held = self.get_seq_length()
        if self._rooms is None or not self._fits(self._rooms[0], key_states, held):
            self._rooms = _room(self.keys, key_states, held), _room(self.values, value_states, held)
        until = held + key_states.shape[-2]
        for room, new in zip(self._rooms, (key_states, value_states), strict=True):
            room[:, :, held:until] = new
        self.keys, self.values = (room[:, :, :until] for room in self._rooms)
        return self.keys, self.values

    def _fits(self, room: torch.Tensor, new: torch.Tensor, held: int) -> bool:
        # Keys that are no longer the front of the buffer were replaced from outside: rows were chosen or repeated.
        own = held == 0 or (self.keys is not None and self.keys.data_ptr() == room.data_ptr())
        return own and len(room) == len(new) and held + new.shape[-2] <= room.shape[-2]


def _room(kept: torch.Tensor | None, new: torch.Tensor, held: int) -> torch.Tensor:
    rows, heads, tokens, width = new.shape
    room = new.new_empty(rows, heads, held + tokens + ROOM, width)
    if held and kept is not None:
        room[:, :, :held] = kept
    return room


def preallocated_cache(model: Any) -> DynamicCache | None:
    """An empty cache of a model's own kinds of layers (sliding ones stay as they are), the plain ones with room.

    None of a model with layers that hold something else than keys and values, such as a state: rows cannot be chosen.
    """
    cache = DynamicCache(config=model.config)
    layers: Any = cache.layers
    if not layers or not all(hasattr(layer, "batch_select_indices") for layer in layers):
        return None
    made: Any = PreallocatedLayer
    cache.layers = [made() if type(layer) is DynamicLayer else layer for layer in layers]
    return cache
