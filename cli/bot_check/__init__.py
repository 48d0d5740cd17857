"""The conformance kit for bots: a real service, a proxy in front of it that can inject failures, and numbered checks."""
