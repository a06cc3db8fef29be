# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Plots (SVG) of latency and bandwidth by message size, and of message rates: gamma, tcp and the
raw baseline. Equal figures make equal files. Needs matplotlib (Debian: python3-matplotlib)."""

from goals import HALF, MESSAGES, MIB, STREAM
from parts_libfabric import HEADER_BYTES, OFF

try:
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot, ticker
except ImportError:
    pyplot = None

GAMMA, TCP, TCP_OFF, RAW = "#c0392b", "#2471a3", "#85c1e9", "#7f8c8d"
STYLE = {"svg.hashsalt": "gamma", "svg.fonttype": "none", "font.size": 10,
         "axes.spines.top": False, "axes.spines.right": False}
SIZE_TICKS = [8, 64, 512, 4096, 32768, 262144]


def size_label(size, _position=None):
    for unit, bytes_ in (("M", MIB), ("K", 1024)):
        if size >= bytes_:
            return f"{size / bytes_:g} {unit}iB"
    return f"{size:g}"


def latency_lines(results):
    def of(case):
        return results.sizes("latency", case, HALF)

    raw = {size - HEADER_BYTES: us for size, us in of("raw packets").items()}
    return [("gamma", GAMMA, of("gamma, tagged")),
            ("tcp", TCP, of("libfabric tcp, tagged")),
            ("tcp, offloads off", TCP_OFF, of("libfabric tcp, tagged" + OFF)),
            ("raw baseline, one frame", RAW, raw)]


def bandwidth_lines(results):
    def of(name, longest):
        points = results.sizes("stream", f"{name}, by size", STREAM)
        points.update(results.sizes("stream", longest, STREAM))
        return points

    frames = of("raw packets", "")
    # What the frames carry beside gamma's header; longer messages take full frames.
    raw = {size - HEADER_BYTES: rate * (size - HEADER_BYTES) / size
           for size, rate in frames.items()}
    if raw:
        raw[MIB] = raw[max(raw)]
    return [("gamma", GAMMA, of("gamma", "gamma, MTU 1500")),
            ("tcp", TCP, of("tcp", "tcp, MTU 1500")),
            ("tcp, offloads off", TCP_OFF, of("tcp" + OFF, "tcp, MTU 1500" + OFF)),
            ("raw baseline, full frames", RAW, raw)]


def save(figure, path):
    """Without its date and other traces of the moment; lines end in no blanks."""
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    text = path.read_text(encoding="utf-8")
    path.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n",
                    encoding="utf-8")


def draw_sizes(lines, title, y_label, path):
    """False if there is nothing to draw."""
    lines = [(name, colour, points) for name, colour, points in lines if len(points) >= 3]
    if not lines:
        return False
    figure, axes = pyplot.subplots(figsize=(7, 4.2))
    for name, colour, points in lines:
        dashed = "--" if colour == RAW else "-"
        axes.plot(list(points), list(points.values()), dashed, color=colour, marker="o",
                  markersize=3.5, label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(SIZE_TICKS)
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(size_label))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.set(title=title, xlabel="message size, bytes", ylabel=y_label)
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(frameon=False)
    save(figure, path)
    return True


def draw_rates(results, path):
    names = (("raw packets", "raw baseline,\none a frame", RAW), ("tcp" + OFF,
             "tcp,\noffloads off", TCP_OFF), ("tcp", "tcp", TCP), ("gamma", "gamma", GAMMA))
    rates = [results.median("rate", case, MESSAGES, 8) for case, _, _ in names]
    drawn = [(text, colour, rate) for (_, text, colour), rate in zip(names, rates)
             if rate is not None]
    if len(drawn) < 2:
        return False
    labels, colours, rates = zip(*drawn)
    figure, axes = pyplot.subplots(figsize=(7, 2.8))
    axes.bar_label(axes.barh(labels, rates, color=colours),
                   labels=[f"{rate:.2f}" for rate in rates], padding=4)
    axes.set(title="Messages of 8 bytes, one sender, window 64", xlabel="million messages/s")
    save(figure, path)
    return True


def draw_all(results, folder):
    """The names and titles of those that could be drawn."""
    if pyplot is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    with matplotlib.rc_context(STYLE):
        for name, title, draw in (
                ("latency", "Latency by message size: gamma, tcp, raw baseline", lambda path:
                 draw_sizes(latency_lines(results), "Latency (half round trip), MTU 1,500", "us",
                            path)),
                ("bandwidth", "Bandwidth by message size: gamma, tcp, raw baseline", lambda path:
                 draw_sizes(bandwidth_lines(results), "Bandwidth of a one-way stream, MTU 1,500",
                            "MB/s", path)),
                ("message-rate", "Messages per second: gamma, tcp, raw baseline",
                 lambda path: draw_rates(results, path))):
            if draw(folder / f"{name}.svg"):
                drawn.append((name, title))
    return drawn
