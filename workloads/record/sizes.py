"""Sizes as formulas: several recordings of one program become one, with symbols where they differ."""
import itertools
import math


class Mismatch(Exception):
    """The recordings do not tell the same story, so no formula can."""


def points_of(sizes):
    """Where to record, sizes being {symbol: (first, second, check)}: the corners, then the check."""
    names = list(sizes)
    corners = itertools.product(*[sizes[name][:2] for name in names])
    points = [dict(zip(names, corner)) for corner in corners]
    return points + [{name: sizes[name][2] for name in names}] if names else points


def text_of(factor, names):
    """The product of a number and symbols: "12*batch*seq"."""
    if not names:
        return str(factor)
    return "*".join(([] if factor == 1 else [str(factor)]) + list(names))


class Fitter:
    """Finds the formula of a number from its values at the points."""

    def __init__(self, sizes):
        self.names = list(sizes)
        self.points = points_of(sizes)
        products = itertools.product(range(3), repeat=len(self.names))
        self.products = [[name for name, power in zip(self.names, powers) for _ in range(power)]
                         for powers in sorted(products, key=lambda powers: (sum(powers), powers))]
        self.known = {}

    def at(self, names, point):
        return math.prod(point[name] for name in names)

    def formula(self, values):
        """An integer, a text, or None where no sum of products gives these values."""
        if values not in self.known:
            if len(set(values)) == 1:
                return values[0]
            self.known[values] = self.product(values) or self.sum_of_products(values)
        return self.known[values]

    def product(self, values):
        """One product fits all points or none: with more points than unknowns this is its own check."""
        for names in self.products:
            factor, rest = divmod(values[0], self.at(names, self.points[0]))
            if rest == 0 and all(factor * self.at(names, p) == v for p, v in zip(self.points, values)):
                return text_of(factor, names)
        return None

    def sum_of_products(self, values):
        """A product of each set of symbols, from the differences between corners; the check decides."""
        terms = []
        left = list(values)
        for names in reversed([n for n in self.products if len(set(n)) == len(n)]):
            factor = self.difference(left, names)
            if factor is None:
                return None
            if factor:
                terms.insert(0, text_of(factor, names))
                left = [v - factor * self.at(names, p) for p, v in zip(self.points, left)]
        return None if any(left) else "+".join(reversed(terms))

    def difference(self, values, names):
        """The factor of the product of `names`: how the values change when all these symbols do."""
        low, high = self.points[0], self.points[-2]
        total = 0
        for point, value in zip(self.points[:-1], values):
            if any(point[name] != low[name] for name in self.names if name not in names):
                continue
            odd = sum(point[name] == low[name] for name in names) % 2
            total += -value if odd else value
        factor, rest = divmod(total, math.prod(high[name] - low[name] for name in names))
        return factor if rest == 0 else None

    def where(self, values):
        return ", ".join(f"{value} at {' '.join(f'{k} {v}' for k, v in point.items())}"
                         for point, value in zip(self.points, values))

    def merge(self, values, place):
        """One value for what the recordings have at one place."""
        first = values[0]
        if all(type(v) is type(first) and v == first for v in values):
            return first
        if all(isinstance(v, (list, tuple)) for v in values) and len({len(v) for v in values}) == 1:
            return [self.merge(column, place) for column in zip(*values)]
        if all(isinstance(v, dict) and v.keys() == first.keys() for v in values):
            return {key: self.merge(tuple(v[key] for v in values), place) for key in first}
        numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
        if numbers and all(v == int(v) for v in values):
            found = self.formula(tuple(int(v) for v in values))
            if found is not None:
                return found
            expected = "a sum of products of whole numbers and " + " and ".join(self.names)
            raise Mismatch(f"{place}: found {self.where(values)}, expected {expected}")
        raise Mismatch(f"{place}: found {self.where(values)}, expected the same value")


def merge_networks(recordings, fitter):
    """One network from the recordings at the fitter's points."""
    first = recordings[0]
    for at, rows in enumerate(itertools.zip_longest(*[r["ops"] for r in recordings])):
        names = [row["op"] if row else "the end" for row in rows]
        if len(set(names)) > 1:
            odd = next(i for i, name in enumerate(names) if name != names[0])
            point = " ".join(f"{k} {v}" for k, v in fitter.points[odd].items())
            begin = " ".join(f"{k} {v}" for k, v in fitter.points[0].items())
            raise Mismatch(f"operation {at}: found {names[odd]} at {point}, expected {names[0]} as at {begin}")
    merged = {key: first[key] for key in ("modules", "storages")}
    for key in merged:
        if any(r[key] != first[key] for r in recordings):
            raise Mismatch(f"{key}: found others at other sizes, expected the same")
    merged["calls"] = [fitter.merge(rows, f"call {at} ({rows[0]['op']})")
                       for at, rows in enumerate(zip(*[r.get("calls", []) for r in recordings]))]
    merged["ops"] = [fitter.merge(rows, f"operation {at} ({rows[0]['op']})")
                     for at, rows in enumerate(zip(*[r["ops"] for r in recordings]))]
    if "held" in first:
        merged["held"] = [row for row in first["held"] if all(row in r["held"] for r in recordings)]
    makers = {t: at for at, row in enumerate(first["ops"]) for t in row["out"] if t is not None}
    merged["tensors"] = []
    for at, rows in enumerate(zip(*[r["tensors"] for r in recordings])):
        maker = f" made by operation {makers[at]} ({first['ops'][makers[at]]['op']})" if at in makers else ""
        merged["tensors"].append(fitter.merge(rows, f"tensor {at}{maker}"))
    return merged
