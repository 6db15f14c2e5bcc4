"""The text of a network file, whoever recorded it."""
import json


def network_text(network):
    """One line for each operation and tensor, so that two versions of a file can be compared."""
    return part_text(network) + "\n"


def part_text(network):
    parts = []
    for key, value in network.items():
        if key == "forms":
            parts.append('"forms": [\n' + ",\n".join(part_text(form) for form in value) + "\n]")
        elif key in ("calls", "ops", "tensors"):
            rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in value)
            parts.append(f'"{key}": [\n{rows}\n]')
        else:
            parts.append(f'"{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}"
