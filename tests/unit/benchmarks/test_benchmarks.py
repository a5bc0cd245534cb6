"""The benchmark harness: what it compares, when it fails, what it writes."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
if not (BENCHMARKS / "run.py").exists():
    pytest.skip("benchmarks/ is not part of this tree", allow_module_level=True)

_NAMES = (
    "cell", "check", "figure", "growth", "pages", "results", "run", "tables",
    "targets", "works",
)  # fmt: skip
sys.path.insert(0, str(BENCHMARKS))
try:  # they are scripts that import each other by name
    (cell, check, figure, growth, pages, results, run, tables, targets, works) = (
        import_module(name) for name in _NAMES
    )
finally:
    sys.path.remove(str(BENCHMARKS))

Cell, OURS = targets.Cell, targets.OURS


# -- older code and this one -------------------------------------------------------------------

OLD, NEW = Path("old"), Path("new")


def compared(old, new):
    """Compare a work whose turns take so many seconds, by the older code and by this one."""
    answers = {OLD: iter(old), NEW: iter(new)}
    return check.compared("po", 1000, (OLD, NEW), lambda tree, *_: (next(answers[tree]), ""))


@pytest.mark.parametrize(("fall", "failed"), [(0.29, False), (0.30, False), (0.31, True)])
def test_speed_may_fall_by_thirty_percent_and_no_more(fall, failed):
    found = compared([0.7] * 4, [0.7 / (1 - fall)] * 4)
    status, lines = check.verdict([found])
    assert status == int(failed)
    assert ("po" in "\n".join(lines)) == failed


def test_a_failure_names_the_work_and_shows_both_times():
    status, lines = check.verdict([check.Comparison(name, 0.1, 0.2) for name in ("po", "ICI")])
    assert status == 1
    assert "2 of 2" in lines[0]
    assert lines[1].strip() == "po: 100 ms before, 200 ms now, speed -50%"


def test_both_codes_are_measured_in_turns_and_the_least_counts():
    asked = []

    def seconds(tree, work, n):
        asked.append((tree, work, n))
        return {OLD: 1.0, NEW: 1.2}[tree] + (len(asked) <= 2), ""

    found = check.compared("po", 1000, (OLD, NEW), seconds)
    assert asked == [(OLD, "po", 1000), (NEW, "po", 1000)] * 2
    assert (found.old, found.new, found.failed) == (1.0, 1.2, False)


def test_a_work_that_seems_slower_gets_more_turns():
    assert not compared([1.0] * 4, [3.0, 3.0, 3.0, 1.1]).failed
    found = compared([1.0] * 4, [3.0, 2.5, 2.0, 2.2])
    assert found.failed
    assert found.new == 2.0


def test_what_cannot_be_measured_fails():
    found = check.compared("po", 1000, (OLD, NEW), lambda *_: (float("inf"), "broken"))
    assert found.failed
    assert "broken" in found.show()


def test_the_works_that_are_checked_exist():
    assert {work for work, _ in check.CHECKED} <= set(works.BY_NAME)


def test_the_code_of_a_commit_is_written_and_measured(tmp_path):
    if not (BENCHMARKS.parent / ".git").exists():
        pytest.skip("needs the git repository")
    tree = check.exported("HEAD", tmp_path)
    seconds, why_not = check.measured_seconds(tree, "Kaplan-Meier", 1000)
    assert not why_not
    assert 0 < seconds < 1
    with pytest.raises(SystemExit, match="needs the commit no-such-commit"):
        check.exported("no-such-commit", tmp_path)


# -- growth and promises -----------------------------------------------------------------------


def test_the_exponent_is_the_slope_between_the_last_two_sizes():
    assert growth.slope([(10, 5.0), (100, 1.0), (1000, 100.0)]) == pytest.approx(2)
    assert growth.slope([(10, 5.0)]) is None


def test_extrapolations_are_no_measurements():
    cells = {
        ("a", 100): Cell(seconds=2.0),
        ("a", 10): Cell(seconds=1.0),
        ("a", 1000): Cell(seconds=9.0, extrapolated=True),
        ("b", 10): Cell(why_not="no"),
    }
    assert growth.measured(cells, "a") == [(10, 1.0), (100, 2.0)]
    assert growth.measured(cells, "b") == []


@pytest.mark.parametrize(
    ("target", "kept", "missed"),
    [
        (targets.exponent(10, 100, 1.15), Cell(seconds=14.0), Cell(seconds=15.0)),
        (targets.growth(10, 100, 14), Cell(seconds=14.0), Cell(seconds=15.0)),
        (targets.seconds(2, 100), Cell(seconds=2.0), Cell(seconds=2.1)),
        (targets.memory(20, 100), Cell(megabytes=20.0), Cell(megabytes=21.0)),
        (
            targets.wall(10, 100),
            Cell(wall=9.0, seconds=18.0),
            Cell(wall=11.0, seconds=9.0),
        ),
        (
            targets.input_multiple(1.3, 100),
            Cell(megabytes=29.0, input_megabytes=100.0),
            Cell(megabytes=31.0, input_megabytes=100.0),
        ),
        (targets.faster_than("p", 3, 100), Cell(seconds=1.0), Cell(seconds=1.1)),
        (
            targets.within_yardsticks(10, "sort", 100),
            Cell(seconds=10.0, yardstick=1.0),
            Cell(seconds=11.0, yardstick=1.0),
        ),
        (targets.subjects_per_second(100, 100), Cell(seconds=1.0), Cell(seconds=1.1)),
    ],
)
def test_promises_are_kept_missed_or_unknown(target, kept, missed):
    others = {(OURS, 10): Cell(seconds=1.0), ("p", 100): Cell(seconds=3.2)}
    assert target.check({**others, (OURS, 100): kept})[1] is True
    assert target.check({**others, (OURS, 100): missed})[1] is False
    assert target.check({}) == ("not measured", None)


def test_every_metric_is_measured_and_promises_its_growth():
    from survgauge.metrics.registry import metrics_of

    found = {w.name.removeprefix("metric "): w for w in works.WORKS if w.group == "registry"}
    assert set(found) == set(metrics_of())
    assert [name for name, work in found.items() if not work.targets] == ["antolini"]


def test_names_of_works_and_peers_are_known():
    assert len(works.BY_NAME) == len(works.WORKS)
    everybody = {run.package_of(peer) for work in works.WORKS for peer in work.peers}
    assert everybody <= set(figure.COLOURS)


# -- measuring ---------------------------------------------------------------------------------


def power_distribution(exponent, unit=1e-6, fails_at=None):
    """A package whose calls take unit * n^exponent seconds."""

    def measure(work, who, n, budget, limit):
        if n == fails_at:
            return Cell(why_not="failed: MemoryError")
        return Cell(seconds=unit * n**exponent)

    return measure


def test_peers_are_extrapolated_where_they_would_take_too_long(monkeypatch):
    monkeypatch.setattr(run, "measure", power_distribution(2))
    cells = run.measure_peer(None, "p", [100, 1000, 10_000, 100_000], 1.0, 50.0)
    assert not cells["p", 1000].extrapolated
    # 100 s are too many; a third of the size, 11 s, is measured to extrapolate from.
    assert cells["p", 3333].seconds == pytest.approx(1e-6 * 3333**2)
    assert cells["p", 10_000].extrapolated
    assert cells["p", 10_000].seconds == pytest.approx(100, rel=1e-3)
    assert cells["p", 100_000].seconds == pytest.approx(10_000, rel=1e-2)


def test_no_time_is_guessed_where_memory_would_not_do(monkeypatch):
    monkeypatch.setattr(run, "most_bytes", lambda: 2**30)
    cells = {("p", 100): Cell(seconds=1.0, megabytes=20.0)}
    assert run.guess(cells, "p", 1000, 10.0) == Cell(seconds=10.0, extrapolated=True)
    found = run.guess(cells, "p", 102_400, 1000.0)
    assert found.seconds is None
    assert found.why_not == "would need about 20 GB of memory"
    assert tables.seconds_of(found) == "out of memory"


def test_a_peer_that_fails_is_not_asked_again(monkeypatch):
    monkeypatch.setattr(run, "measure", power_distribution(1, fails_at=1000))
    cells = run.measure_peer(None, "p", [100, 1000, 10_000], 1.0, 50.0)
    assert sorted(cells) == [("p", 100), ("p", 1000)]


def test_a_cell_runs_in_a_process_of_its_own():
    found = run.measure_together([works.BY_NAME["po"]], OURS, 300, 0.01, 5.0)["po"]
    assert found.why_not is None
    assert found.seconds > 0
    assert found.yardstick > 0
    assert found.value > 0


def test_a_call_that_raises_is_a_result(monkeypatch):
    found = run.measure_together([works.BY_NAME["ICI"]], "nobody", 300, 0.01, 5.0)["ICI"]
    assert found.seconds is None
    assert found.why_not.startswith("failed: KeyError")


def test_repeats_are_set_up_anew_and_in_turns():
    calls = []

    def named(name):
        return lambda data: calls.append(f"set up {name}") or (lambda: calls.append(name))

    best = cell.least_seconds([named("a"), named("b")], None, 1e-3)
    assert len(best) == 2
    assert calls[:4] == ["set up a", "a", "set up b", "b"]
    assert calls.count("a") == calls.count("b") >= cell.LEAST_REPEATS


# -- what is written ---------------------------------------------------------------------------


@pytest.fixture
def measured():
    """A run of one work with peers and two metrics of the registry."""
    ours = {(OURS, n): Cell(seconds=n / 1e7, megabytes=3.0, yardstick=1e-3) for n in tables.SIZES}
    peers = {
        ("SurvivalEVAL", 1000): Cell(seconds=0.5, megabytes=9.0),
        ("SurvivalEVAL", 100_000): Cell(seconds=30.0, megabytes=99.0),
        ("SurvivalEVAL", 1_000_000): Cell(seconds=300.0, extrapolated=True),
    }
    slow = {**ours, (OURS, 1_000_000): Cell(seconds=1.0)}
    return results.Results(
        {"cores": "2"},
        ["import: quick"],
        {
            "po": results.WorkResult({**ours, **peers}, "0.5", "abc1234"),
            "metric crps": results.WorkResult(ours, "1.5"),
            "metric ibs": results.WorkResult(slow, "1.0"),
            "IBS, 100 times": results.WorkResult(
                {**ours, ("pycox", 100_000): Cell(why_not="failed: MemoryError: 74.5 GiB")}, ""
            ),
        },
    )


def test_results_come_back_as_written(measured, tmp_path):
    measured.write(tmp_path / "r.json")
    assert results.Results.read(tmp_path / "r.json") == measured


def rows_of(lines):
    """Cells of a table, below its head."""
    plain = [line.replace(tables.SPACE, " ").strip("|") for line in lines[2:]]
    return [[cell.strip() for cell in line.split("|")] for line in plain]


def test_the_table_has_times_memory_ratio_and_growth(measured):
    rows = rows_of(tables.works_table(measured))
    assert rows[0][0] == "**po**"
    assert rows[1] == ["survgauge", "100 µs", "1 ms", "10 ms", "100 ms", "", "3", "3", "1.00"]
    assert rows[2] == ["SurvivalEVAL", "500 ms", "", "30 s", "~300 s", "3,000", "99", "", "0.89"]
    assert rows[5][:4] == ["pycox", "", "", "out of memory"]
    assert {len(row) for row in rows} == {9}


def test_the_plain_table_can_be_read_by_programs(measured):
    rows = rows_of(tables.plain_table(measured))
    assert rows[1][:3] == ["po", "SurvivalEVAL", "0.5"]
    assert {len(row) for row in rows} == {10}
    numbers = [cell for row in rows for cell in row[2:6] if cell]
    assert all(float(number.lstrip("~")) > 0 for number in numbers)


def test_the_summary_shows_the_quickest_that_was_measured(measured):
    peer = {("lifelines", 100_000): Cell(seconds=0.1, extrapolated=True)}
    measured.works["po"].cells.update(peer)
    (row,) = rows_of(tables.summary_table(measured))
    assert row == ["po", "10 ms", "SurvivalEVAL", "30 s", "3,000"]


def test_metrics_share_a_line_of_promises(measured):
    rows = tables.promises_table(measured)
    assert any("po | 1,000 times faster" in row and row.endswith("| yes |") for row in rows)
    (grown,) = (row for row in rows if "every metric" in row)
    assert "1 of 2; not ibs 2.00" in grown
    assert grown.endswith("| **no** |")


def test_growth_is_shown_beside_that_of_elementary_work(measured):
    cells = measured.works["po"].cells
    cells[OURS, 1_000_000] = Cell(seconds=1.0, yardstick=2e-2)
    assert "argsort of as many times 1.30, one pass over the curves 0.00" in (
        tables.yardstick_growth(measured)
    )
    assert tables.yardstick_growth(results.Results()) == ""


def test_gaps_are_named(measured):
    gaps = "\n".join(measured.gaps())
    assert "po, SurvivalEVAL, 1,000,000: too slow" in gaps
    assert "pycox, 100,000: failed: MemoryError" in gaps


def test_pages_hold_every_table(measured):
    page = pages.docs_page(measured)
    for part in (tables.works_table, tables.registry_table, tables.promises_table):
        assert "\n".join(part(measured)) in page
    assert "load between 0.0 and 1.5; this package at commit abc1234" in page
    assert "| crps | 100 µs |" in pages.readme_part(measured).replace(tables.SPACE, " ")


def test_only_what_lies_between_the_markers_changes():
    text = f"before\n{pages.START}\nold\n{pages.END}\nafter\n"
    once = pages.between_markers(text, "new")
    assert once == f"before\n{pages.START}\nnew\n{pages.END}\nafter\n"
    assert pages.between_markers(once, "new") == once


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(1.234e-5, "12.3 µs"), (0.0123, "12.3 ms"), (0.99996, "1 s"), (12.34, "12.3 s")],
)
def test_times_have_a_unit_that_suits(seconds, shown):
    assert tables.human(seconds).replace(tables.SPACE, " ") == shown


def test_many_seconds_have_no_exponent():
    assert tables.human(123456.0) == f"123,000{tables.SPACE}s"


def test_labels_keep_their_distance():
    placed = figure.spread([0.0, 0.1, 0.05, 3.0], 0.5, -4.0, 4.0)
    ordered = sorted(placed)
    assert min(b - a for a, b in zip(ordered, ordered[1:], strict=False)) >= 0.49
    assert placed[0] < placed[2] < placed[1] < placed[3]
    assert placed[3] == 3.0


def test_the_figure_draws_extrapolations_apart(measured, tmp_path):
    pytest.importorskip("matplotlib")
    solid, dashed = figure.points(measured.works["po"].cells, "SurvivalEVAL")
    assert [n for n, _ in solid] == [1000, 100_000]
    assert [n for n, _ in dashed] == [100_000, 1_000_000]
    figure.draw(measured, tmp_path / "speed.svg")
    assert (tmp_path / "speed.svg").stat().st_size > 10_000
