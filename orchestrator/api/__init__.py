"""TournamentService: the tournament desk over gRPC, a process of its own."""
