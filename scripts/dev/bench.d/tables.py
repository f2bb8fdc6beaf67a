"""The report: tables for a terminal and for Markdown, and which targets were met."""


class Report:
    def __init__(self, introduction):
        self.parts = [introduction]
        self.verdicts = []

    def table(self, title, header, rows):
        """Prints a table at once, and keeps it for Markdown."""
        self.parts.append(f"## {title}\n\n{markdown_table(header, rows)}")
        print(f"\n{title}\n{aligned(header, rows)}\n", flush=True)

    def note(self, text):
        self.parts.append(text)
        print(text, flush=True)

    def judge(self, what, value, limit, unit="×", at_least=False):
        """Compares a figure with its target, and returns the cell that says so."""
        is_met = value >= limit if at_least else value <= limit
        sign = "≥" if at_least else "≤"
        cell = f"{sign} {limit:g} {unit}: {'met' if is_met else 'MISSED'}"
        self.verdicts.append((what, f"{value:.3g} {unit}", cell, is_met))
        return cell

    def all_met(self):
        return all(is_met for *_, is_met in self.verdicts)

    def print_verdicts(self):
        rows = [verdict[:3] for verdict in self.verdicts]
        if rows:
            self.table("Targets", ["measure", "muster", "target"], rows)

    def markdown(self):
        return "\n\n".join(self.parts) + "\n"


def markdown_table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def aligned(header, rows):
    lines = [[str(cell) for cell in line] for line in [header, *rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join(
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
        for line in lines
    )


def milliseconds(seconds):
    value = seconds * 1000
    return f"{value:.2f} ms" if value < 100 else f"{value:,.0f} ms"
