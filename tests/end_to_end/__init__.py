"""Real server processes, a real Valkey, real gRPC: whole games, and whatever may happen to them."""
