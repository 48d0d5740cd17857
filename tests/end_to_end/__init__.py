"""Whole games on real server processes with a real Valkey and real gRPC, also while parts fail."""
