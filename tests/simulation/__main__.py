"""Run the simulation on demand: ``python -m tests.simulation --hours 1``."""

from __future__ import annotations

import argparse
import logging
import sys
import time

from tests.simulation.promise import described
from tests.simulation.simulation import Simulation
from tests.simulation.world import Broken

STORES = ["sqlite", "postgres", "memory"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=STORES, action="append")
    parser.add_argument("--hours", type=float, help="stop after so long")
    parser.add_argument("--steps", type=int, default=1_000_000, help="of each store (without --hours)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--each", type=int, default=50_000, help="steps of one seed")
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # that a run fails is told hundreds of times a second, and wanted
    failed = 0
    for store in options.store or STORES:
        failed += _run(store, options)
    return 1 if failed else 0


def _run(store: str, options: argparse.Namespace) -> int:
    begin, cpu, steps, seed, failed = time.monotonic(), time.process_time(), 0, options.seed, 0
    counts: dict[str, int] = {}
    while _goes_on(options, begin, steps):
        simulation = Simulation(store, seed)
        try:
            simulation.run(options.each)
        except Broken as broken:
            failed += 1
            print(f"{store}: BROKEN: {broken}", flush=True)
        for name, count in simulation.place.promise.counts.items():
            counts[name] = counts.get(name, 0) + count
        steps += simulation.world.steps
        seed += 1
    rate = steps / (time.process_time() - cpu) * 60
    print(f"{store}: {steps:,} steps of {seed - options.seed} seeds, {rate:,.0f} a minute of CPU, {failed} broken")
    print(f"  {described(counts)}", flush=True)
    return failed


def _goes_on(options: argparse.Namespace, begin: float, steps: int) -> bool:
    if options.hours:
        return bool(time.monotonic() - begin < options.hours * 3600)
    return bool(steps < options.steps)


if __name__ == "__main__":
    sys.exit(main())
