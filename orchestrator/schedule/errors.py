"""The error of a plan."""


class BadPlan(ValueError):
    """A tournament that cannot be planned: names the given value and what was expected."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        super().__init__(f"{field}: {value!r} is not possible; expected {expected}")
        self.field = field
        self.value = value
        self.expected = expected
