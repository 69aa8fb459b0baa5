"""Audits, a package each: claims, evaluator, page; beside them what an audit is, and how one is found."""
