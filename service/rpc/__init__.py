"""The doors of the service: gRPC in, sessions behind."""
