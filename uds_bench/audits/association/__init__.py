"""The association audit: which facts about a person does a model hold, and how firmly (WikiMem)?"""

from uds_bench.audits.api import Audit

AUDIT = Audit("association", __name__)
