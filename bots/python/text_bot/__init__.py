"""A bot for language models and other programs that map text to text: it sends a prompt and reads the answer as a choice."""
