"""Who leads, and how surely."""
