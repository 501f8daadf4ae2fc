"""Offline tools: flights and hotels, the same for everybody."""

from __future__ import annotations


def find_flights(origin: str, destination: str) -> list[dict[str, str | int]]:
    """Find flights from one city to another.

    Args:
        origin: The city of departure.
        destination: The city of arrival.
    """
    route = f"{origin} - {destination}"
    return [
        {"flight": "MO 217", "route": route, "departs": "07:40", "price_euro": 89},
        {"flight": "MO 431", "route": route, "departs": "18:05", "price_euro": 124},
    ]


def find_hotels(city: str, max_price: int = 200) -> list[dict[str, str | int]]:
    """Find hotels in a city.

    Args:
        city: The city to stay in.
        max_price: The most that a night may cost, in euros.
    """
    hotels: list[dict[str, str | int]] = [
        {"hotel": f"Grand {city}", "price_euro": 180},
        {"hotel": f"{city} Central", "price_euro": 95},
    ]
    return [hotel for hotel in hotels if int(hotel["price_euro"]) <= max_price]
