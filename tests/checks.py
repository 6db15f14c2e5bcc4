"""What the Python tests count: checks, and those of them that failed."""
import sys

checks = failures = 0


def check(right, what):
    global failures, checks
    checks += 1
    if not right:
        failures += 1
        print("FAILED:", what)


def end(least):
    """Leaves the program: with 1 where a check failed, or fewer than `least` were made."""
    print(f"{checks} checks, {failures} failed")
    sys.exit(failures > 0 or checks < least)
