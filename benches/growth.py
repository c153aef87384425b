#!/usr/bin/env python3
"""How cost grows with nodes, running pods, classes and queues.

Runs `scale` over sizes that grow by one thing at a time, prints the figures as a table, and draws them.
Needs Python 3 and nothing else.

    python3 benches/growth.py                    # minutes; draws docs/growth.svg
    python3 benches/growth.py --smoke            # seconds, tiny sizes, to see that it works
    python3 benches/growth.py --keep figures.json
    python3 benches/growth.py --from figures.json
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What grows, over which sizes, what stays as it is, and which figures are drawn: (key, label, unit).
SWEEPS = [
    {
        "title": "nodes",
        "option": "--nodes",
        "sizes": [1_000, 3_000, 10_000, 30_000, 100_000],
        "fixed": {"--gangs": 10, "--members": 100, "--classes": 3},
        "lines": [("cycleMs", "1,000 pods placed", "ms"), ("delta100CycleUs", "100 pods changed", "us")],
    },
    {
        "title": "running pods",
        "option": "--running",
        "sizes": [10_000, 30_000, 100_000, 300_000, 1_000_000],
        "fixed": {"--nodes": 100_000, "--gangs": 10, "--members": 100, "--classes": 3, "--queues": 4},
        "lines": [("ingestMs", "taking all in", "ms"), ("delta100CycleUs", "100 pods changed", "us")],
    },
    {
        "title": "classes (10,000 pods, 5,000 nodes)",
        "option": "--classes",
        "sizes": [1, 10, 100, 1_000, 10_000],
        "fixed": {"--nodes": 5_000, "--gangs": 10_000, "--members": 1},
        "lines": [("cycleMs", "10,000 pods placed", "ms")],
    },
    {
        "title": "queues (10,000 pods, 5,000 nodes)",
        "option": "--queues",
        "sizes": [1, 10, 100, 1_000],
        "fixed": {"--nodes": 5_000, "--gangs": 1_000, "--members": 10, "--classes": 3},
        "lines": [("cycleMs", "10,000 pods placed", "ms"), ("delta100CycleUs", "100 pods changed", "us")],
    },
]

CARGO = ["cargo", "run", "--release", "-q", "-p", "muster-benches", "--bin", "scale", "--"]
# Everything by this much smaller, to see that it works.
SMOKE = 100
MILLIS = {"ms": 1.0, "us": 1e-3}
COLOURS = ["#0b6e99", "#c2571a"]
PANEL, MARGIN = (380, 260), (64, 40)


def scale(program, words):
    """The figures of one run of `scale`."""
    done = subprocess.run(program + words + ["-o", "json"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"scale {' '.join(words)} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def measure(sweep, shrink, program, times):
    """Some runs of `scale` for each size, of which each figure is the one in the middle."""
    runs = []
    for size in sweep["sizes"]:
        options = {**sweep["fixed"], sweep["option"]: size}
        words = [word for name, value in options.items() for word in (name, str(max(1, value // shrink)))]
        taken = [scale(program, words) for _ in range(times)]
        middle = {key: statistics.median(run[key] for run in taken) for key, _, _ in sweep["lines"]}
        runs.append({"size": max(1, size // shrink), **middle})
        print(f"{sweep['title']}: {size // shrink:,} done", file=sys.stderr)
    return runs


def table(sweep, runs):
    """The figures as Markdown."""
    print(f"\n| {sweep['title']} |" + "".join(f" {label} |" for _, label, _ in sweep["lines"]))
    print("| --- |" + " --- |" * len(sweep["lines"]))
    for run in runs:
        cells = "".join(f" {run[key] * MILLIS[unit]:,.2f} ms |" for key, _, unit in sweep["lines"])
        print(f"| {run['size']:,} |{cells}")


def short(number):
    """1000 as 1k."""
    for unit, word in ((1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:g}{word}"
    return f"{number:g}"


def panel(sweep, runs, left, top):
    """One plot, both axes logarithmic: a straight line at 45 degrees is cost in step with size."""
    width, height = PANEL[0] - MARGIN[0] - 16, PANEL[1] - 2 * MARGIN[1]
    values = [max(run[key] * MILLIS[unit], 1e-3) for key, _, unit in sweep["lines"] for run in runs]
    sizes = [run["size"] for run in runs]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 1e-9)
    first, last = math.log10(min(sizes)), math.log10(max(sizes))
    high, last = max(high, low + 1), max(last, first + 1)

    def x(size):
        return left + MARGIN[0] + (math.log10(size) - first) / (last - first) * width

    def y(value):
        part = (math.log10(max(value, 1e-3)) - low) / (high - low)
        return top + MARGIN[1] + (1 - part) * height

    def text(at, words, anchor="middle", extra=""):
        return f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}" {extra}>{words}</text>'

    parts = [text((left + PANEL[0] / 2, top + 20), sweep["title"], extra='font-weight="bold"')]
    for decade in range(low, high + 1):
        level = y(10.0**decade)
        ends = f'x1="{left + MARGIN[0]}" x2="{left + MARGIN[0] + width}" y1="{level:.1f}" y2="{level:.1f}"'
        parts.append(f'<line {ends} stroke="#ddd"/>')
        parts.append(text((left + MARGIN[0] - 6, level + 4), f"{10.0**decade:g} ms", "end"))
    for size in sizes:
        parts.append(text((x(size), top + PANEL[1] - MARGIN[1] + 16), short(size)))
    for at, (key, label, unit) in enumerate(sweep["lines"]):
        points = [(x(run["size"]), y(run[key] * MILLIS[unit])) for run in runs]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[at]}" stroke-width="2"/>')
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{COLOURS[at]}"/>' for px, py in points]
        spot = (left + MARGIN[0] + 8, top + MARGIN[1] - 4 + 15 * at)
        parts.append(text(spot, label, "start", f'fill="{COLOURS[at]}"'))
    return parts


def draw(results, file):
    """Two by two panels."""
    parts = []
    for at, (sweep, runs) in enumerate(results):
        parts += panel(sweep, runs, at % 2 * PANEL[0], at // 2 * PANEL[1])
    rows = math.ceil(len(results) / 2)
    size = f'width="{2 * PANEL[0]}" height="{rows * PANEL[1]}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    background = '<rect width="100%" height="100%" fill="white"/>'
    file.write_text("\n".join([head, background, *parts, "</svg>"]) + "\n", encoding="utf-8")


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--smoke", action="store_true", help="tiny sizes")
    words.add_argument("--runs", type=int, default=3, help="runs of each size, the middle one counts (3)")
    words.add_argument("--program", help="a `scale` that is built already")
    words.add_argument("--keep", type=pathlib.Path, help="write the figures to this file")
    words.add_argument("--from", dest="known", type=pathlib.Path, help="draw figures kept before")
    words.add_argument("--out", type=pathlib.Path, default=ROOT / "docs" / "growth.svg", help="the drawing")
    said = words.parse_args()
    if said.known:
        figures = json.loads(said.known.read_text(encoding="utf-8"))
    else:
        program = [said.program] if said.program else CARGO
        shrink = SMOKE if said.smoke else 1
        figures = [measure(sweep, shrink, program, max(1, said.runs)) for sweep in SWEEPS]
    if said.keep:
        said.keep.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    results = list(zip(SWEEPS, figures))
    for sweep, runs in results:
        table(sweep, runs)
    draw(results, said.out)


if __name__ == "__main__":
    main()
