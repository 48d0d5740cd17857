"""The orchestrator schedules and plays matches, records results and rates the bots. It uses the service only through gRPC."""
