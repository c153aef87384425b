#!/usr/bin/env python3
"""How long two queues take to share evenly after one of them was alone for a day.

Sixteen GPUs, two queues with a quota of two each and equal weight, and short jobs without end. The second queue comes
after a day. Runs the simulator with a record of past use, prints what each queue held hour by hour, and draws it.
Needs Python 3 and nothing else.

    python3 benches/past_use.py                    # a minute; draws docs/past-use.svg
    python3 benches/past_use.py --program target/debug/muster
    python3 benches/past_use.py --k-value 2 --out other.svg
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

GPUS, QUOTA = 16, 2
HOUR = 3600
DAYS, ALONE = 4, 24 * HOUR
JOB, PERIOD, BATCH = 1800, 300, 2 * HOUR
HALF_LIFE = 12 * HOUR
QUEUES = ("first", "second")
COLOURS = {"first": "#0b6e99", "second": "#c2571a"}
CARGO = ["cargo", "run", "--release", "-q", "-p", "muster", "--bin", "muster", "--"]


def queue(name):
    gpu = {"quota": QUOTA, "overQuotaWeight": 1, "limit": -1}
    free = {"quota": -1, "limit": -1}
    spec = {"resources": {"gpu": gpu, "cpu": free, "memory": free}}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def jobs(name, batch):
    """More jobs than can run until the next ones come."""
    task = {"role": "w", "replicas": 1, "requests": {"cpu": "1", "nvidia.com/gpu": "1"}}
    common = {"kind": "Gang", "queue": name, "runFor": f"{JOB}s", "tasks": [task]}
    count = GPUS * BATCH // JOB + GPUS
    return [{**common, "name": f"{name}-{batch}-{at}"} for at in range(count)]


def scenario(k_value):
    node = {"kind": "NodeSet", "name": "n", "count": 2}
    node["allocatable"] = {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": str(GPUS // 2)}
    timeline = []
    for batch, at in enumerate(range(0, DAYS * 24 * HOUR, BATCH)):
        names = [name for name in QUEUES if name == "first" or at >= ALONE]
        timeline.append({"at": f"{at}s", "apply": [job for name in names for job in jobs(name, batch)]})
    config = f"""actions: "allocate"
tiers:
- plugins: [{{name: predicates}}, {{name: proportion, arguments: {{kValue: "{k_value}"}}}}, {{name: elastic}}, {{name: nodeplacement}}]
usageDBConfig:
  clientType: record
  usageParams: {{halfLifePeriod: {HALF_LIFE}s, fetchInterval: {PERIOD}s}}
"""
    spec = {"config": config, "period": f"{PERIOD}s", "cycles": DAYS * 24 * HOUR // PERIOD, "invariants": "off"}
    spec |= {"objects": [node, *map(queue, QUEUES)], "timeline": timeline}
    head = {"apiVersion": "muster.sh/v1alpha1", "kind": "Scenario", "metadata": {"name": "past-use"}}
    return {**head, "spec": spec}


def held(program, k_value):
    """GPUs each queue held, cycle by cycle."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump(scenario(k_value), file)
        file.flush()
        words = program + ["simulate", file.name, "-o", "json"]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} failed:\n{done.stderr}")
    cycles = DAYS * 24 * HOUR // PERIOD
    gpus = {name: [0] * cycles for name in QUEUES}
    for cycle in json.loads(done.stdout)["cycles"]:
        begun = cycle["cycle"] - 1
        for decision in cycle["decisions"]:
            name = decision["pod"].split("/")[1].split("-")[0]
            for at in range(begun, min(begun + JOB // PERIOD, cycles)):
                gpus[name][at] += 1
    return gpus


def used(line):
    """The part of the cluster that was used, with what was longer ago counting less."""
    kept, sum_, there, parts = 0.5 ** (PERIOD / HALF_LIFE), 0.0, 0.0, []
    for gpus in line:
        sum_, there = sum_ * kept + gpus, there * kept + GPUS
        parts.append(sum_ / there)
    return parts


def smooth(line, steps):
    """The mean of so many steps around each."""
    spans = (line[max(0, at - steps // 2) : at + steps // 2 + 1] for at in range(len(line)))
    return [sum(span) / len(span) for span in spans]


def panel(title, lines, most, unit, top):
    left, width, height = 60, 640, 170
    steps = len(lines["first"])

    def x(at):
        return left + at / (steps - 1) * width

    def y(value):
        return top + height - value / most * height

    def text(at, words, anchor="middle", extra=""):
        return f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}" {extra}>{words}</text>'

    parts = [text((left + width / 2, top - 10), title, extra='font-weight="bold"')]
    for part in range(5):
        level = most * part / 4
        parts.append(f'<line x1="{left}" x2="{left + width}" y1="{y(level):.1f}" y2="{y(level):.1f}" stroke="#ddd"/>')
        parts.append(text((left - 6, y(level) + 4), f"{level:g}{unit}", "end"))
    for day in range(DAYS + 1):
        parts.append(text((left + day / DAYS * width, top + height + 16), f"day {day}"))
    for at, (name, line) in enumerate(lines.items()):
        path = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in enumerate(line) if step % 3 == 0)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"/>')
        parts.append(text((left + width - 8 - 70 * at, top + 14), name, "end", f'fill="{COLOURS[name]}"'))
    return parts


def draw(gpus, file, k_value):
    means = {name: smooth(line, 2 * HOUR // PERIOD) for name, line in gpus.items()}
    parts = panel(f"GPUs held, mean of two hours (kValue {k_value}, half-life {HALF_LIFE // HOUR} h)", means, GPUS, "", 40)
    past = {name: [100 * part for part in used(line)] for name, line in gpus.items()}
    parts += panel("part of the cluster used of late", past, 100, " %", 270)
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="720" height="480" font-family="sans-serif" font-size="12">'
    background = '<rect width="100%" height="100%" fill="white"/>'
    file.write_text("\n".join([head, background, *parts, "</svg>"]) + "\n", encoding="utf-8")


def table(gpus):
    """What each held as a mean of some hours after the second came, and when they were even."""
    came, steps = ALONE // PERIOD, HOUR // PERIOD
    print("| hours after the second came | first | second |\n| --- | --- | --- |")
    for begin, end in ((0, 2), (2, 6), (6, 12), (12, 24), (24, 36), (36, 48), (48, 72)):
        span = slice(came + begin * steps, came + end * steps)
        means = [sum(gpus[name][span]) / len(gpus[name][span]) for name in QUEUES]
        print(f"| {begin} to {end} | {means[0]:.1f} | {means[1]:.1f} |")
    means = smooth(gpus["second"], 2 * steps)
    even = (at for at in range(came + 2 * steps, len(means)) if abs(means[at] - GPUS / 2) <= GPUS / 16)
    first = next(even, None)
    if first is not None:
        print(f"\neven to a GPU for the first time {math.floor((first - came) / steps)} hours after the second came")


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--program", help="a `muster` that is built already")
    words.add_argument("--k-value", default="1", help="how strongly past use counts (1)")
    words.add_argument("--out", type=pathlib.Path, default=ROOT / "docs" / "past-use.svg", help="the drawing")
    said = words.parse_args()
    gpus = held([said.program] if said.program else CARGO, said.k_value)
    table(gpus)
    draw(gpus, said.out, said.k_value)


if __name__ == "__main__":
    main()
