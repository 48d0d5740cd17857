"""A bot for whatever answers texts with texts, a language model for one: a question goes out as a prompt, the answer comes back
as a choice."""
