"""TournamentService: tournaments over gRPC, a process of its own."""
