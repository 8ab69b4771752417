"""Build the wheel and the sdist, check both, and use the wheel in an environment of its own.

    .venv/bin/python scripts/release.py                # into dist/, then prints what is left to do
    .venv/bin/python scripts/release.py --output DIR --environment DIR

In the environment (a temporary one where none is named) only the wheel with its extras `cli` and
`service` is installed, and it looks one rate up. Needs `build`, `hatchling` and `twine`, which are
in the extra `dev`. Nothing is uploaded.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("svc_sdk", "svc_tools")
LOOKUP = ("lookup", "CA", "--zip", "94105", "--as-of", "2026-02-01", "--embedded", "--json")
RATE = "0.08625"
STEPS = """
Checked. To release {version}:

 1. `bash .ci/run` and the workflow `checks` have passed for this commit.
 2. CHANGELOG.md: "## {version} (unreleased)" gets its date; commit, and push to main.
 3. Empty {output}, and run this script again: it must not end with "A rehearsal".
 4. git tag v{version} && git push origin v{version}
 5. .venv/bin/twine upload {output}/*
    The user is `__token__`, the password an API token of an account of the package index that may
    publish svc-tax-tools. A version that was uploaded can be withdrawn, but never replaced.
 6. In a new environment: pip install "svc-tax-tools[cli,service]=={version}", then one lookup.
 7. svc_sdk/_version.py and CITATION.cff: the next version; CHANGELOG.md: its heading; commit.
"""


class ReleaseError(Exception):
    """What keeps this tree from being released."""


def main() -> None:
    """Run every step; the first that fails ends the script with its reason."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="an empty folder")
    parser.add_argument("--environment", type=Path, help="where the wheel is installed")
    given = parser.parse_args()
    try:
        version = agreed_version()
        wheel = build(given.output.resolve())
        check_content(wheel)
        with tempfile.TemporaryDirectory() as work:
            look_up(wheel, (given.environment or Path(work, "venv")).resolve())
    except ReleaseError as error:
        sys.exit(f"Not ready: {error}")
    print(STEPS.format(version=version, output=given.output))  # noqa: T201 - the result
    if (ROOT / ".git").exists() and (changed := _run("git", "status", "--porcelain").rstrip()):
        print(f"A rehearsal: not everything is committed.\n{changed}")  # noqa: T201 - the same


def agreed_version() -> str:
    """The version, where every file that names it agrees.

    Raises:
        ReleaseError: one does not.
    """
    found = {
        name: re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        for name, pattern in (
            ("svc_sdk/_version.py", r'^__version__ = "(.+)"$'),
            ("CITATION.cff", r"^version: (\S+)$"),
            ("CHANGELOG.md", r"^## (\S+)"),  # the first heading is the newest
        )
    }
    versions = {name: match and match[1] for name, match in found.items()}
    if len({*versions.values()}) > 1:
        raise ReleaseError(f"the version differs: {versions}")
    return str(versions["CITATION.cff"])


def build(output: Path) -> Path:
    """Build into an empty folder and check the metadata with twine; the path of the wheel."""
    if output.exists() and any(output.iterdir()):
        raise ReleaseError(f"{output} is not empty; remove what is in it, or name another --output")
    # the wheel is built from the sdist, which therefore has all that it needs
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", output, ROOT)
    files = sorted(output.iterdir())
    _run(sys.executable, "-m", "twine", "check", "--strict", *files)
    return next(path for path in files if path.suffix == ".whl")


def check_content(wheel: Path) -> None:
    """Check that each file of the packages is in the wheel: thresholds, templates, scripts too."""
    source = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.partition("/")[0] in PACKAGES}
    if differing := source ^ packed:
        raise ReleaseError(f"in the wheel or in the source alone: {sorted(differing)}")


def look_up(wheel: Path, environment: Path) -> None:
    """Install the wheel alone into a new environment and look one rate up."""
    venv.create(environment, with_pip=True)
    programs = environment / ("Scripts" if sys.platform == "win32" else "bin")
    constraints = ROOT / "constraints.txt"
    pip = (programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _run(*pip, "-c", constraints, f"{wheel}[cli,service]")
    found = json.loads(_run(programs / "svc-tools", *LOOKUP, folder=environment))
    if (rate := found["rate"]["combined_rate"]) != RATE:
        raise ReleaseError(f"the installed wheel found {rate}, not {RATE}")


def _run(*command: str | Path, folder: Path = ROOT) -> str:
    # neither the source nor an active environment: what is installed is what runs
    chosen = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    clean = {name: value for name, value in os.environ.items() if name not in chosen}
    done = subprocess.run(  # noqa: S603 - the project's own commands
        list(map(str, command)),
        cwd=folder,
        env=clean,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        shown = f"{done.stdout}\n{done.stderr}".strip()
        raise ReleaseError(f"{' '.join(map(str, command))}\n{shown}")
    return done.stdout


if __name__ == "__main__":
    main()
