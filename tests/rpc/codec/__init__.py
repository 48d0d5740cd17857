"""Messages and bytes: nothing lost, nothing added, nothing written twice."""
