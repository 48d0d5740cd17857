"""Programs for the workshop, run by make."""
