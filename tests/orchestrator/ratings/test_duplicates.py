"""Duplicate deals reduce luck and keep the mean."""

from bench import science


def test_one_deal_in_every_rotation_reduces_luck_and_keeps_the_mean() -> None:
    for line in science.duplicate_deals(blocks=4000):
        assert line.holds, line
