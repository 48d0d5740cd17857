"""The one thing that can be wrong with a plan."""


class BadPlan(ValueError):
    """A tournament that cannot be planned as asked: names what was given and what would have been good."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        super().__init__(f"{field}: {value!r} is not possible; expected {expected}")
        self.field = field
        self.value = value
        self.expected = expected
