"""How things look: units, colors with one meaning, and the small nouns of a panel's frame and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tooltel.artifacts.dashboards.sdk import dashboard, units

# A suffix stands after the exact number; Grafana's own counts would round 1,230 calls to 1 K.
CALLS: Final = "suffix:calls"
CALL_RATE: Final = "suffix:calls/s"
CHARS: Final = "suffix:chars"
TIMES: Final = "suffix:x"
COUNT: Final = units.LocaleFormat  # a whole number with separators, where a heading says of what
SHARE: Final = units.PercentUnit
SECONDS: Final = units.Seconds
TEXT: Final = "string"

NONE: Final = "none"
PLAIN, GOOD, WARN, WRONG = "text", "green", "orange", "red"  # red only where somebody should act


@dataclass(frozen=True, slots=True)
class Box:
    """What a panel's frame says, and its size: `width` of 24 columns, `height` in grid rows of 38 pixels."""

    title: str
    says: str
    width: int
    height: int


class Step(NamedTuple):
    """From `value` on, the color is another one."""

    value: float
    color: str


@dataclass(frozen=True, slots=True)
class Look:
    """
    How a number is shown.

    `base` is the color below the first of the `steps`; `none` is said where there is no data; `low` and
    `high` bound an axis or a bar; `words` replace single values by a text and a color.
    """

    unit: str
    decimals: int | None = None
    base: str = PLAIN
    steps: tuple[Step, ...] = ()
    none: str = NONE
    low: float | None = None
    high: float | None = None
    words: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def thresholds(self) -> dashboard.ThresholdsConfig:
        """The colors as Grafana keeps them; the first step has no bound."""
        steps = [dashboard.Threshold(value=None, color=self.base)]
        steps += [dashboard.Threshold(value=step.value, color=step.color) for step in self.steps]
        return dashboard.ThresholdsConfig(mode=dashboard.ThresholdsMode.ABSOLUTE, steps=steps)

    def mappings(self) -> list[dashboard.ValueMapping]:
        """Words for single values, as Grafana keeps them."""
        if not self.words:
            return []
        results = {
            value: dashboard.ValueMappingResult(text=text, color=color, index=place)
            for place, (value, (text, color)) in enumerate(self.words.items())
        }
        return [dashboard.ValueMap(options=results)]

    def defaults(self, *, color: dashboard.FieldColorModeId, custom: object = None) -> dashboard.FieldConfig:
        """The look as defaults of a panel's fields."""
        return dashboard.FieldConfig(
            unit=self.unit,
            decimals=self.decimals,
            min_val=self.low,
            max_val=self.high,
            mappings=self.mappings(),
            thresholds=self.thresholds(),
            color=dashboard.FieldColor(mode=color),
            no_value=self.none,
            custom=custom,
        )


def unmeasured(look: Look) -> dashboard.ValueMapping:
    """The words of *look* where there is no number, in no color."""
    result = dashboard.ValueMappingResult(text=look.none, color=PLAIN, index=len(look.words))
    options = dashboard.DashboardSpecialValueMapOptions(match=dashboard.SpecialValueMatch.NULL, result=result)
    return dashboard.SpecialValueMap(options=options)


def plain_thresholds(look: Look) -> dict[str, Any]:
    """The colors of *look* as the value of an override."""
    steps: list[dict[str, Any]] = [{"value": None, "color": look.base}]
    steps += [{"value": step.value, "color": step.color} for step in look.steps]
    return {"mode": "absolute", "steps": steps}


def plain_mappings(look: Look) -> list[dict[str, Any]]:
    """The words of *look* as the value of an override."""
    results = {
        value: {"text": text, "color": color, "index": place}
        for place, (value, (text, color)) in enumerate(look.words.items())
    }
    return [{"type": "value", "options": results}]


def override(
    name: str, properties: Mapping[str, object], *, matcher: str = "byName"
) -> dashboard.DashboardFieldConfigSourceOverrides:
    """Other *properties* for the fields that *matcher* finds by *name*."""
    return dashboard.DashboardFieldConfigSourceOverrides(
        matcher=dashboard.MatcherConfig(id_val=matcher, options=name),
        properties=[dashboard.DynamicConfigValue(id_val=key, value=value) for key, value in properties.items()],
    )
