"""Schedules: pairings, seats and cards of all matches. Pure: standard library only, no clock, only seeded randomness."""

from orchestrator.schedule.blocks import Block, Entrant, Plan, PlanInput, PlannedMatch, Survey, plan
from orchestrator.schedule.errors import BadPlan
from orchestrator.schedule.ids import (
    DUPLICATES,
    SPEC_VERSION,
    Duplicate,
    Seeds,
    content_id,
    joined_secret,
    redealt,
    secret_of,
)
from orchestrator.schedule.layouts import FORMATS, MOST_MATCHES, Format

__all__ = [
    "DUPLICATES",
    "FORMATS",
    "MOST_MATCHES",
    "SPEC_VERSION",
    "BadPlan",
    "Block",
    "Duplicate",
    "Entrant",
    "Format",
    "Plan",
    "PlanInput",
    "PlannedMatch",
    "Seeds",
    "Survey",
    "content_id",
    "joined_secret",
    "plan",
    "redealt",
    "secret_of",
]
