"""Tests of the ratings."""
