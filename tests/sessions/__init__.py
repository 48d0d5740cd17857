"""The life of a session, its store and its replay."""
