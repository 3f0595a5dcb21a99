"""What contenders.py found, as tables and as drawings."""


def verdict(figure):
    base = figure.get("base")
    if not base:
        return ""
    if base["lowest"] <= 1 <= base["highest"]:
        return f"tie ({base['lowest']:.2f}–{base['highest']:.2f})"
    return f"{base['ratio']:.2f} ({base['lowest']:.2f}–{base['highest']:.2f})"


def table(results):
    if not results:
        return "Not measured: PostgreSQL, nginx or wrk is not installed."
    parts = [f"{results['rounds']} rounds of {results['seconds']} s for each contender."]
    for name, figures in results["workloads"].items():
        rows = [f"**{name[0].upper() + name[1:]}**", "",
                "| | requests/s (lowest–highest round) | CPU µs | p50 ms | p99 ms | Semel, embedded ÷ this |",
                "|---|---:|---:|---:|---:|---:|"]
        for who, one in sorted(figures.items(), key=lambda item: -item[1]["rate"]):
            cpu = f"{one['cpu_us']:.0f}" if one["cpu_us"] else ""
            rows.append(f"| {who} | {one['rate']:,.0f} ({one['rates'][0]:,.0f}–{one['rates'][1]:,.0f}) | {cpu} | "
                        f"{one['p50'] * 1e3:.2f} | {one['p99'] * 1e3:.2f} | {verdict(one)} |")
        parts.append("\n".join(rows))
    claims = results["claims"]
    said = [f"{claims[name]['ratio']:.1f} × {name} ({claims[name]['lowest']:.1f}–{claims[name]['highest']:.1f})"
            for name in ("Fastify + pg", "Express + pg", "Restate") if name in claims]
    if said:
        parts.append("Semel on PostgreSQL, first runs per second: " + ", ".join(said) + ".")
    if "p99_ms" in claims:
        parts.append(f"Replay of hot keys: p99 is that of the upstream asked directly {claims['p99_ms']:+.2f} ms.")
    return "\n\n".join(parts)


def plot(figures, title):
    """Requests per second as bars, with the lowest and the highest round."""
    rows = sorted(figures.items(), key=lambda item: -item[1]["rate"])
    most = max(one["rates"][1] for _, one in rows)
    left, width, line = 170, 460, 26
    at = lambda rate: left + width * rate / most
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 90}" height="{line * len(rows) + 40}" '
             f'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="white"/>'
             f'<text x="10" y="20" font-weight="bold">{title}: requests per second</text>']
    for number, (name, one) in enumerate(rows):
        y = 32 + line * number
        color = "#2a6f6b" if name.startswith("Semel") else "#b9b4a8"
        parts.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{name}</text>'
                     f'<rect x="{left}" y="{y}" width="{at(one["rate"]) - left:.1f}" height="{line - 8}" fill="{color}"/>'
                     f'<path d="M{at(one["rates"][0]):.1f} {y + 9}H{at(one["rates"][1]):.1f}" stroke="black"/>'
                     f'<text x="{at(one["rates"][1]) + 6:.1f}" y="{y + 14}">{one["rate"]:,.0f}</text>')
    return "".join(parts) + "</svg>\n"
