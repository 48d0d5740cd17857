"""Tests of the schedule: pairing, seats, seeds, ids."""
