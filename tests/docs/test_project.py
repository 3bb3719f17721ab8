"""The files around the project: its workflow, hooks and templates ask for what there is."""

import json
import os
import re
from pathlib import Path

import pytest
import warm_interpreter
import yaml

ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / ".github"
TEMPLATES = [
    GITHUB / "ISSUE_TEMPLATE" / "bug_report.yml",
    GITHUB / "ISSUE_TEMPLATE" / "plugin_bug_report.yml",
    GITHUB / "pull_request_template.md",
]


def commands_of_the_workflow():
    workflow = yaml.safe_load((GITHUB / "workflows" / "test.yml").read_text())
    assert {"push", "pull_request"} <= set(
        workflow[True]
    )  # YAML 1.1 reads the key `on` as a boolean
    (job,) = workflow["jobs"].values()
    assert any(step.get("run") == "${{ matrix.run }}" for step in job["steps"])
    return [entry["run"] for entry in job["strategy"]["matrix"]["include"]]


def test_the_workflow_makes_test_and_lint_by_targets_that_the_makefile_has():
    commands = commands_of_the_workflow()
    assert ".ci/run" in commands and "make lint" in commands
    scripts = [
        (ROOT / command).read_text() for command in commands if not command.startswith("make")
    ]
    made = set(re.findall(r"\bmake (\w+)$", "\n".join([*commands, *scripts]), re.MULTILINE))
    assert made == {"test", "lint"}
    makefile = (ROOT / "Makefile").read_text()
    assert made <= set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))


def test_every_file_the_workflow_hashes_exists():
    text = (GITHUB / "workflows" / "test.yml").read_text()
    (hashed,) = re.findall(r"hashFiles\((.*?)\)", text)
    files = re.findall(r"'(.*?)'", hashed)
    assert files and [file for file in files if not list(ROOT.glob(file))] == []


def test_the_hooks_run_tools_of_the_version_that_is_pinned():
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local"
    pinned = re.findall(r"^(\S+)==", (ROOT / "requirements-dev.txt").read_text(), re.MULTILINE)
    tools = {hook["entry"].split()[0] for hook in local["hooks"]}
    assert tools == {".venv/bin/clang-format", ".venv/bin/ruff"}
    assert {Path(tool).name for tool in tools} <= set(pinned)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_a_template_asks_for_what_doctor_finds(template):
    assert "torchplug doctor --json" in template.read_text()


def test_every_issue_template_is_a_form():
    for template in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(template.read_text())
        assert template.name == "config.yml" or {"name", "description", "body"} <= set(form)


def test_doctor_prints_the_json_that_the_templates_ask_for():
    code = "import sys; from torchplug.cli import main; sys.exit(main())"
    arguments = ["doctor", "--json"]
    done = warm_interpreter.run(code, arguments, dict(os.environ), 120, autoload=False)
    answer = json.loads(done.stdout)
    assert {"PyTorch", "torchplug"} <= {check["subject"] for check in answer["checks"]}


def test_the_readme_leads_to_them():
    further = (ROOT / "README.md").read_text().partition("## Further")[2]
    for name in ("CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md"):
        assert f"]({name})" in further


def test_the_changelog_has_the_version_of_the_package():
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert re.search(
        rf"^## {re.escape(version[1])}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
