"""TournamentService: tournaments over gRPC, in a separate process."""
