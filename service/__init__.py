"""The rules service: it knows the rules and remembers sessions."""

from service import engine

engine.choose()
