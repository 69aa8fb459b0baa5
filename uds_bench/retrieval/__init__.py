"""Looking rows up by text: an encoder, indexes over rows, and the retriever that reads one with deletions in it."""

from uds_bench.retrieval.retriever import Hit, Lookup, Retriever
from uds_bench.retrieval.settings import RetrieverSettings

__all__ = ["Hit", "Lookup", "Retriever", "RetrieverSettings"]
