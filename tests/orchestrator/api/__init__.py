"""Tournaments over gRPC and at the command line, and the arena of ``rubble up``."""
