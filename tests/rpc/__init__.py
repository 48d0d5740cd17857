"""Tests of the doors: codecs and services."""
