"""The orchestrator: who meets whom, what came of it, and who leads. It reaches the service through gRPC alone."""
