"""What deploy/ promises: files that check, and processes that run as they say."""
