"""Looking rows up by text: an encoder, indexes, a retriever with deletions in it; no language model is run here."""

from uds_bench.retrieval.retriever import Hit, Lookup, Retriever
from uds_bench.retrieval.settings import RetrieverSettings

__all__ = ["Hit", "Lookup", "Retriever", "RetrieverSettings"]
