# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Latency and throughput by size of message, as GAMMA's pages drew them: PNG and SVG. Called by the
main program; needs matplotlib (Debian: python3-matplotlib)."""

import statistics

try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    pyplot = None

HALF, STREAM = "half round trip", "one-way stream"


def curves(turns, parts, what):
    """Of each case with at least three sizes: name, sizes, medians."""
    found = {}
    for row in turns.rows.values():
        if row.part in parts and row.what == what:
            median = statistics.median(turns.kept(row)[0])
            found.setdefault(row.case, {})[row.size] = median
    return [(case, *zip(*sorted(points.items()))) for case, points in found.items()
            if len(points) >= 3]


def draw(lines, title, y_label, log_y, path):
    """False if there is nothing to draw."""
    if not lines:
        return False
    figure, axes = pyplot.subplots(figsize=(8, 5.5))
    for name, sizes, values in lines:
        # A logarithmic axis has no place for 0 bytes: they are drawn at half a byte.
        axes.plot([max(size, 0.5) for size in sizes], values, marker="o", markersize=3, label=name)
    axes.set_xscale("log", base=2)
    if log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set(title=title, xlabel="message size, bytes (0 drawn at 1/2)", ylabel=y_label)
    axes.grid(True, which="major", alpha=0.3)
    axes.legend()
    for kind in ("png", "svg"):
        figure.savefig(f"{path}.{kind}", bbox_inches="tight", dpi=120)
    pyplot.close(figure)
    return True


def throughput(lines):
    """End-to-end throughput T(S) = S / D(S), MB/s."""
    return [(name, sizes, [size / delay for size, delay in zip(sizes, delays)])
            for name, sizes, delays in lines]


def draw_all(turns, folder, say):
    if pyplot is None:
        say("no plots: matplotlib is missing (Debian: python3-matplotlib)")
        return
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for parts, level in ((("figures",), "libfabric"), (("mpi",), "MPI"), (("node",), "one host")):
        delays = curves(turns, parts, HALF)
        name = level.lower().replace(" ", "-")
        if draw(delays, f"Message delay, {level}", "half round trip, us", True,
                folder / f"latency-{name}"):
            drawn.append(f"latency-{name}")
        if draw(throughput(delays), f"End-to-end throughput, {level}", "MB/s", False,
                folder / f"throughput-{name}"):
            drawn.append(f"throughput-{name}")
        if draw(curves(turns, parts, STREAM), f"Transmission throughput, {level}", "MB/s", False,
                folder / f"transmission-{name}"):
            drawn.append(f"transmission-{name}")
    if drawn:
        say(f"\nplots (png, svg) in {folder}: {', '.join(drawn)}")
