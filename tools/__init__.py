"""Programs for development, run by make."""
