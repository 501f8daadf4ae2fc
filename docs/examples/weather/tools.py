"""Offline tools: a few cities with made-up weather."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_CITIES = {
    "berlin": ("cloudy", 14, 1),
    "lisbon": ("sunny", 23, 0),
    "paris": ("light rain", 17, 1),
    "tokyo": ("clear", 21, 9),
}


def get_weather(city: str) -> dict[str, str | int]:
    """Get the current weather in a city.

    Args:
        city: The name of the city, such as Paris.
    """
    if (facts := _CITIES.get(city.strip().lower())) is None:
        return {"error": f"no weather is known for {city}"}
    return {"city": city, "weather": facts[0], "temperature_celsius": facts[1]}


def get_local_time(city: str) -> dict[str, str]:
    """Get the local time in a city (in winter).

    Args:
        city: The name of the city, such as Tokyo.
    """
    if (facts := _CITIES.get(city.strip().lower())) is None:
        return {"error": f"no time zone is known for {city}"}
    return {"city": city, "time": (datetime.now(UTC) + timedelta(hours=facts[2])).strftime("%H:%M")}


def list_cities() -> list[str]:
    """List the cities whose weather and time are known."""
    return [city.title() for city in sorted(_CITIES)]
