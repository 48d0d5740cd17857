"""Tests of the gRPC API: codecs and services."""
