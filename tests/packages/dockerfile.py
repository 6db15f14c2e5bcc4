#!/usr/bin/env python3
"""Does what the Dockerfile says where there is no docker: dockerfile.py FOLDER (root, debootstrap, a Debian mirror).

Each stage is a fresh Debian 12 of debootstrap in FOLDER/STAGE instead of an image of a registry; COPY, WORKDIR and RUN are
done in it as they are written. At last the entry point is run as the image would run it. The build takes as long as a first
build does, unless CCACHE_DIR names a folder of ccache for the stages that have a name. What the Dockerfile uses beyond that is
an error here.
"""
import contextlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"}
CCACHE = "/var/cache/ccache"  # in a stage


def instructions(text):
    """(name, rest) of each, lines that go on joined."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in lines.replace("\\\n", " ").splitlines():
        if line.strip():
            name, rest = line.split(None, 1)
            yield name.upper(), rest.strip()


class Stage:
    def __init__(self, folder, image, cache):
        assert image.startswith("debian:bookworm"), f"only Debian 12 can be made here, not {image}"
        self.root, self.folder, self.cache = folder, "/", cache
        if not (folder / "usr").exists():
            subprocess.run(["debootstrap", "--variant=minbase", "bookworm", folder], check=True, stdout=subprocess.DEVNULL)
        if cache:
            (folder / CCACHE.lstrip("/")).mkdir(parents=True, exist_ok=True)
            self.run("apt-get -q update && apt-get -q install -y --no-install-recommends ccache", stdout=subprocess.DEVNULL)

    @contextlib.contextmanager
    def mounted(self):
        mounts = [(["-t", "proc", "proc"], self.root / "proc")]
        if self.cache:
            mounts.append((["--bind", self.cache], self.root / CCACHE.lstrip("/")))
        with contextlib.ExitStack() as stack:
            for what, where in mounts:
                subprocess.run(["mount", *what, where], check=True)
                stack.callback(subprocess.run, ["umount", where], check=True)
            yield

    def run(self, command, **options):
        environment = dict(ENVIRONMENT)
        if self.cache:  # objects of any folder of sources serve another one
            environment |= {"CCACHE_DIR": CCACHE, "CCACHE_BASEDIR": self.folder, "CCACHE_NOHASHDIR": "1"}
            environment |= {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}  # ccache counts them
        with self.mounted():
            inside = f"cd {shlex.quote(self.folder)} && {command}"
            return subprocess.run(["chroot", self.root, "/bin/sh", "-c", inside], check=True, env=environment, **options)

    def copy(self, rest, stages):
        *sources, target = rest.split()
        into = self.root / target.lstrip("/")
        into.mkdir(parents=True, exist_ok=True)
        if sources == ["."]:
            listed = ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
            with subprocess.Popen(listed, stdout=subprocess.PIPE) as files, \
                    subprocess.Popen(["tar", "-C", ROOT, "--null", "-T", "-", "-c"], stdin=files.stdout, stdout=subprocess.PIPE) as packed:
                subprocess.run(["tar", "-C", into, "-x"], stdin=packed.stdout, check=True)
            return
        origin, *patterns = sources
        assert origin.startswith("--from="), f"COPY {rest}"
        files = [f for p in patterns for f in stages[origin[len("--from="):]].root.glob(p.lstrip("/"))]
        assert files, f"COPY {rest}: no such files"
        subprocess.run(["cp", "-r", "--", *files, into], check=True)


def build(folder):
    stages, stage, start = {}, None, {"ENTRYPOINT": [], "CMD": []}
    for name, rest in instructions((ROOT / "Dockerfile").read_text()):
        print(f"{name} {rest}", flush=True)
        if name == "FROM":
            image, *as_name = rest.split()
            key = as_name[1] if as_name else f"stage{len(stages)}"
            stage = stages[key] = Stage(folder / key, image, os.environ.get("CCACHE_DIR") if as_name else None)
        elif name == "COPY":
            stage.copy(rest, stages)
        elif name == "WORKDIR":
            stage.folder = rest
        elif name == "RUN":
            stage.run(rest)
        elif name in start:
            start[name] = json.loads(rest)
        else:
            sys.exit(f"{name}: not known here")
    return stage, start


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    stage, start = build(folder)
    for arguments in (start["CMD"], ["demo"]):
        done = stage.run(shlex.join(start["ENTRYPOINT"] + arguments), stdout=subprocess.PIPE, text=True)
        assert ("usage: tandem" if arguments == start["CMD"] else "step time") in done.stdout, done.stdout
    print("the steps of the Dockerfile make a Debian in which tandem runs")


if __name__ == "__main__":
    main()
