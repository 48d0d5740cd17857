"""The gRPC API of the service."""
