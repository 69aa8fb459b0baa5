"""Shared by every test run of the repository; its place puts `replication` on the import path."""
