"""Bots as processes: started, limited, supervised, and ended with all their descendants."""
