"""The rules of 1906 San Francisco, with examples: a file per chapter, a sentence per test, the table drawn as a picture."""
