"""Tests of messages and bytes: nothing is lost, added or written twice."""
