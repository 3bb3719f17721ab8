"""The page on the profiler says what is true."""

import json
import os
import re
from pathlib import Path

import warm_interpreter

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "profiler.md").read_text()


def test_the_example_prints_a_table_and_writes_a_trace_with_what_the_page_lists(tmp_path):
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    environment = os.environ | {"TORCHPLUG_DEVICE": "sim"}
    done = warm_interpreter.run(example, [], environment, 120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Self SIM" in done.stdout and "sim::relu" in done.stdout
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert trace["deviceProperties"][0]["timedBy"] == "records"
    found = {event.get("cat") for event in trace["traceEvents"]}
    found |= {event["name"] for event in trace["traceEvents"]}
    listed = {
        "cpu_op",
        "privateuse1_runtime",
        "kernel",
        "gpu_memcpy",
        "ac2g",
        "gpu_user_annotation",
    }
    assert listed | {"[memory]"} <= found
    assert all(f"`{name}`" in PAGE for name in listed)


def test_every_link_leads_to_a_file():
    links = [link for link in re.findall(r"\]\(([^)]+)\)", PAGE) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
