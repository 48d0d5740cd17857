"""The rules service: it applies the rules and stores sessions."""

from service import engine

engine.choose()
