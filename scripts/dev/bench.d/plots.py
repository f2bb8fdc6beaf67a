"""Draws curves over a logarithmic axis as SVG, with nothing but text."""

import dataclasses
import math

WIDTH, HEIGHT = 300, 240  # of one panel
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 34, 40  # around its curves
COLOURS = ("#1f6fb4", "#d1602b", "#3b8f4e")
GRID = "#dddddd"


@dataclasses.dataclass(frozen=True)
class Panel:
    title: str
    curves: dict  # name: [(x, y)...]


def draw(panels, x_name):
    width = WIDTH * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}"'
        f' width="{width}" height="{HEIGHT}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{HEIGHT}" fill="white"/>',
    ]
    for number, panel in enumerate(panels):
        parts.append(f'<g transform="translate({number * WIDTH} 0)">')
        parts += panel_of(panel, x_name)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def panel_of(panel, x_name):
    points = [point for curve in panel.curves.values() for point in curve]
    least, most = min(x for x, _ in points), max(x for x, _ in points)
    step = nice_step(max(y for _, y in points))
    top = step * math.ceil(max(y for _, y in points) / step)

    def x_of(x):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(x / least) / math.log(most / least)

    def y_of(y):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / top

    yield text(LEFT, 16, panel.title, weight="bold")
    for i in range(round(top / step) + 1):
        yield line(LEFT, y_of(i * step), WIDTH - RIGHT, y_of(i * step))
        yield text(LEFT - 5, y_of(i * step) + 4, f"{i * step:,g}", anchor="end")
    for x in sorted({x for x, _ in points}):
        yield line(x_of(x), TOP, x_of(x), HEIGHT - BOTTOM)
        yield text(x_of(x), HEIGHT - BOTTOM + 14, short(x), anchor="middle")
    yield text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x_name, anchor="middle")
    for number, (name, curve) in enumerate(panel.curves.items()):
        colour = COLOURS[number]
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in curve)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for x, y in curve:
            yield f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="3" fill="{colour}"/>'
        yield text(WIDTH - RIGHT - 60 * (len(panel.curves) - 1 - number), 30, name, "end", colour)


def nice_step(most):
    """1, 2 or 5 times a power of ten, so that there are about five lines."""
    power = 10 ** math.floor(math.log10(most / 5))
    return next(power * times for times in (1, 2, 5, 10) if power * times * 5 >= most)


def short(number):
    return f"{number // 1000}k" if number % 1000 == 0 else str(number)


def line(x1, y1, x2, y2):
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{GRID}"/>'


def text(x, y, words, anchor="start", colour="#333333", weight="normal"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"'
        f' font-weight="{weight}">{words}</text>'
    )
