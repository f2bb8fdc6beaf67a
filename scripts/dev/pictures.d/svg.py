"""A screen as a picture of text."""

from itertools import groupby
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 8.4, 17  # of a character of 14 pixels
MARGIN = 10
BACKGROUND, FOREGROUND = "#1d1f21", "#d0d0d0"
COLOURS = {
    "black": "#5f5f5f",
    "red": "#d16d6d",
    "green": "#8fbf6f",
    "brown": "#d7af5f",
    "blue": "#6fa0d7",
    "magenta": "#bf8fd7",
    "cyan": "#5fbfbf",
    "white": "#e0e0e0",
}


def colour(name, otherwise):
    name = name.removeprefix("bright")
    if name == "default":
        return otherwise
    return COLOURS.get({"yellow": "brown"}.get(name, name), f"#{name}")


def style(cell):
    fill, behind = colour(cell.fg, FOREGROUND), colour(cell.bg, None)
    if cell.reverse:
        fill, behind = behind or BACKGROUND, fill
    return fill, behind, cell.bold


def draw_row(cells, top):
    """Runs of characters of the same style, each at its column."""
    column = 0
    for (fill, behind, bold), run in groupby(cells, key=style):
        characters = [cell.data for cell in run]  # of one that is two columns wide the second is empty
        text, columns = "".join(characters), len(characters)
        left = MARGIN + column * WIDTH
        if behind:
            yield f'<rect x="{left:g}" y="{top:g}" width="{columns * WIDTH:g}" height="{HEIGHT}" fill="{behind}"/>'
        if text.strip():
            weight = ' font-weight="bold"' if bold else ""
            length = f' textLength="{columns * WIDTH:g}"'
            yield f'<text x="{left:g}" y="{top + 13:g}" fill="{fill}"{weight}{length}>{escape(text)}</text>'
        column += columns


def draw(screen):
    rows = max(i for i, row in enumerate(screen.display) if row.strip() or i == screen.cursor.y) + 1
    width, height = 2 * MARGIN + screen.columns * WIDTH, 2 * MARGIN + rows * HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14" xml:space="preserve">',
        f'<rect width="100%" height="100%" rx="6" fill="{BACKGROUND}"/>',
    ]
    for number in range(rows):
        length = len(screen.display[number].rstrip())
        cells = [screen.buffer[number][column] for column in range(length)]
        parts.extend(draw_row(cells, MARGIN + number * HEIGHT))
    left, top = MARGIN + screen.cursor.x * WIDTH, MARGIN + screen.cursor.y * HEIGHT
    parts.append(
        f'<rect x="{left:g}" y="{top:g}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="{FOREGROUND}"/>'
    )
    return "\n".join([*parts, "</svg>"]) + "\n"
