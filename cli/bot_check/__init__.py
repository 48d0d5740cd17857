"""The conformance kit for bots: a real service, a proxy in front of it that can cause trouble, and numbered checks."""
