"""Tournaments: over gRPC, at the command line, and the arena that ``rubble up`` runs."""
