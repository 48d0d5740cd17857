"""Scrapes and parses the metrics of a process."""

import urllib.request

from prometheus_client.parser import text_string_to_metric_families

#: Values by name and sorted labels.
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scrape_text(address: str) -> str:
    """Return the text of a scrape."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
        text: str = answer.read().decode()
        return text


def samples_of(text: str) -> Samples:
    """Return every sample of a scrape."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scrape(address: str) -> Samples:
    """Scrape an address and return every sample."""
    return samples_of(scrape_text(address))


def total(samples: Samples, name: str, **labels: str) -> float:
    """Return the sum of all samples with this name and these labels."""
    return sum(value for (sample, has), value in samples.items() if sample == name and set(labels.items()) <= set(has))
