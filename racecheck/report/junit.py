"""Results as JUnit XML, which build servers read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from racecheck.model import Verdict
from racecheck.report.explain import explain
from racecheck.report.summary import finding_line, machine, summary
from racecheck.report.text import WIDTH, render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from racecheck.model import ScenarioResult

# What XML 1.0 has no way to say, however it is escaped.
_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NO_VERDICT: Final = (Verdict.UNKNOWN, Verdict.DIVERGED)


def junit(results: Sequence[ScenarioResult]) -> str:
    """Return results as XML: a test case a scenario.

    One that did not do what it is expected to is a failure, and one without a verdict
    is an error.
    """
    return junit_of(results, [case_of(result) for result in results])


def junit_of(results: Sequence[ScenarioResult], cases: Sequence[ET.Element]) -> str:
    """Return results as XML, given what `case_of` makes of each."""
    suites = ET.Element("testsuites", name="racecheck")
    suite = ET.SubElement(suites, "testsuite", name="racecheck")
    suite.extend(cases)
    for element in (suites, suite):
        element.set("tests", str(len(results)))
        element.set("failures", str(len(suite.findall("testcase/failure"))))
        element.set("errors", str(len(suite.findall("testcase/error"))))
        element.set("time", f"{sum(each.seconds for each in results):.3f}")
    ET.indent(suites)
    return ET.tostring(suites, "unicode", xml_declaration=True) + "\n"


def case_of(result: ScenarioResult) -> ET.Element:
    """Return a result as an element of XML."""
    group, _, name = result.name.rpartition("/")
    case = ET.Element(
        "testcase",
        classname=_allowed(group.replace("/", ".") or "racecheck"),
        name=_allowed(name),
        time=f"{result.seconds:.3f}",
    )
    properties = ET.SubElement(case, "properties")
    for key, value in (
        ("verdict", str(result.verdict)),
        ("coverage", str(result.coverage)),
        *((("engine", machine(result)),) if machine(result) else ()),
        ("executions", str(result.executions)),
        *(("token", each.token) for each in result.findings if each.token),
    ):
        ET.SubElement(properties, "property", name=key, value=_allowed(value))
    if result.verdict in _NO_VERDICT:
        _outcome(case, "error", result)
    elif not result.as_expected:
        _outcome(case, "failure", result)
    return case


def _outcome(case: ET.Element, kind: str, result: ScenarioResult) -> None:
    line = summary(result).partition(" ")[2].strip()
    outcome = ET.SubElement(
        case, kind, type=str(result.verdict), message=_allowed(line)
    )
    parts = [line]
    for finding in result.findings:
        if finding.invariant in result.expected:
            continue
        parts += [
            "",
            finding_line(finding),
            "",
            render(finding.trace),
            "",
            explain(finding.trace, finding.invariant, finding.message, width=WIDTH),
        ]
    outcome.text = _allowed("\n".join(parts))


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
