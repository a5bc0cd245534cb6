"""Submissions: Cox from the written tasks scores as our own, and what is wrong is refused."""

from __future__ import annotations

import json
import shutil
import warnings

import numpy as np
import pandas as pd
import pytest
from unit.bench.leaderboard.conftest import DATASETS

from survgauge.bench.leaderboard import Board, run, submit, tasks
from survgauge.bench.leaderboard.problems import Design, problems
from survgauge.bench.leaderboard.submission import _read_one
from survgauge.bench.models import build
from survgauge.errors import InputError

CARD = 'authors = "A"\ncode = "none"\ntraining_data = "the task"\nhardware = "a laptop"\n'
_NOT_FEATURES = ["id", "time", "event"]


@pytest.fixture(scope="module")
def written(tiny, tmp_path_factory):
    """Tasks of the tiny board, and predictions of Cox that were made from these files alone."""
    place = tmp_path_factory.mktemp("tasks")
    folder = tasks(place / "tasks", store=tiny[0])
    pred = place / "pred"
    pred.mkdir()
    (pred / "card.toml").write_text(CARD)
    for task in sorted(path for path in folder.iterdir() if path.is_dir()):
        train, test, grid = (pd.read_csv(task / f"{n}.csv") for n in ("train", "test", "grid"))
        assert set(train["id"]).isdisjoint(test["id"])
        assert not {"time", "event"} & set(test)
        X, y = train.drop(columns=_NOT_FEATURES), (train["time"], train["event"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of collinear columns, in so small a sample
            model = build("coxph").fit(X.to_numpy(), y)
        curves = model.predict_curves(test.drop(columns="id").to_numpy()).at(grid["time"])
        frame = pd.DataFrame(curves, columns=[repr(t) for t in grid["time"]])
        frame.insert(0, "id", test["id"])
        # Rows and columns may come in any order.
        frame.sample(frac=1, random_state=1).to_csv(pred / f"{task.name}.csv", index=False)
    return folder, pred


@pytest.fixture
def place(tiny, tmp_path):
    store = tmp_path / "store"
    shutil.copytree(tiny[0], store)
    return store


def test_a_submission_scores_as_the_same_model_does_here(tiny, written, place):
    board = submit("byhand", written[1], place)
    key = ["track", "dataset", "metric"]
    own, theirs = (
        board.scores[board.scores["model"] == name].set_index(key) for name in ("coxph", "byhand")
    )
    np.testing.assert_allclose(own["value"], theirs["value"], rtol=1e-5)
    np.testing.assert_allclose(own["skill_low"], theirs["skill_low"], rtol=1e-3, atol=1e-6)
    same = board.pairs[(board.pairs["model_a"] == "coxph") & (board.pairs["model_b"] == "byhand")]
    assert np.abs(same["difference"]).max() < 1e-5
    row = board.models[board.models["name"] == "byhand"].iloc[0]
    assert (row["authors"], row["settings"], row["origin"]) == ("A", "submitted", "submission")
    before = tiny[1].scores
    pd.testing.assert_frame_equal(
        board.scores[board.scores["model"] != "byhand"].reset_index(drop=True), before
    )
    assert len(Board.load(place / "board").scores) == len(board.scores)
    # Again under the same name: replaced.
    assert len(submit("byhand", written[1], place).scores) == len(board.scores)


def test_tasks_can_be_drawn_again_and_verified(written, tmp_path):
    index = json.loads((written[0] / "tasks.json").read_text())
    design = Design.read(index["design"])
    again = tasks(
        tmp_path / "again", DATASETS, truth=["colon"], max_rows=100, folds=2, format="parquet"
    )
    assert json.loads((again / "tasks.json").read_text()) == index
    made = {problem.place: problem for problem in problems(design)}
    for task in index["tasks"]:
        problem = made[task["track"], task["dataset"]]
        assert task["sha256_rows"] == problem.fold_checksum(task["repeat"], task["fold"])
        assert task["sha256_data"] == problem.checksum
    one = pd.read_csv(written[0] / "main-veteran-r0-f0" / "train.csv")
    other = pd.read_parquet(again / "main-veteran-r0-f0" / "train.parquet")
    pd.testing.assert_frame_equal(one, other, check_dtype=False)


def test_ids_tell_nothing_of_the_order_of_the_data():
    problem = next(problems(Design.of(["veteran"])))
    rank = np.argsort(np.argsort(problem.ids(0, 0)))
    assert abs(np.corrcoef(rank, problem.y.time)[0, 1]) < 0.2
    assert abs(np.corrcoef(rank, problem.rows)[0, 1]) < 0.2


def test_a_test_subject_has_another_id_where_its_outcome_is_given(written):
    for task in ("main-veteran-r0-f0", "main-colon-r0-f0", "truth-colon-r0-f0"):
        train = pd.read_csv(written[0] / f"{task[:-1]}1" / "train.csv")
        test = pd.read_csv(written[0] / task / "test.csv")
        assert not set(test["id"]) & set(train["id"])


def test_times_that_differ_by_rounding_share_a_column(tmp_path):
    """R names columns with 15 digits; breast has 71.99999999999999 and 72."""
    (problem,) = problems(Design.of(["breast"]))
    asked = [f"{time:.15g}" for time in problem.asked]
    assert len(asked) == len(set(asked)) == len(problem.grid) - 1
    labels = np.array(problem.ids(0, 0))[problem.folds[0] == 0]
    curves = np.tile(np.linspace(1.0, 0.0, len(asked)), (len(labels), 1))
    frame = pd.DataFrame(curves, columns=asked, index=pd.Index(labels, name="id"))
    frame.to_csv(tmp_path / "main-breast-r0-f0.csv")
    read = _read_one(tmp_path / "main-breast-r0-f0.csv", problem, 0, 0)["survival"]
    np.testing.assert_allclose(read[0], curves[0, problem.columns], rtol=1e-6)
    assert read.shape == (len(labels), len(problem.grid))


def _change(pred, tmp_path, change, task="main-veteran-r0-f1"):
    copy = tmp_path / "pred"
    shutil.copytree(pred, copy)
    file = copy / f"{task}.csv"
    frame = change(pd.read_csv(file, dtype={"id": str}))
    if frame is None:
        file.unlink()
    else:
        frame.to_csv(file, index=False)
    return copy


def _rising(frame):
    frame.iloc[2, 5] = 0.0
    return frame


def _too_large(frame):
    frame.iloc[0, 1] = 1.5
    return frame


def _gap(frame):
    frame.iloc[0, 1] = np.nan
    return frame


def _other_id(frame):
    frame.loc[0, "id"] = "0123456789abcdef"
    return frame


def _twice(frame):
    frame.loc[0, "id"] = frame.loc[1, "id"]
    return frame


def _one_time(frame):
    return frame[["id"]].assign(time=3.0)


def _never(frame):
    return frame[["id"]].assign(time=[3.0, np.inf, *[3.0] * (len(frame) - 2)])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda frame: None, r"no predictions of task main-veteran-r0-f1; all 6 tasks"),
        (_rising, r"curve rises in row 3"),
        (_too_large, r"leaves \[0, 1\] in row 1"),
        (_gap, "has gaps in row 1|must be numbers|no value"),
        (_other_id, "1 of .* are missing, 1 are of others"),
        (lambda frame: frame.iloc[1:], "1 of .* are missing, 0 are of others"),
        (_twice, "has id '[0-9a-f]{16}' twice"),
        (_never, "time must be finite and not negative; it is not in row 2"),
        (lambda frame: frame.drop(columns="id"), "must have a column id"),
        (lambda frame: frame.drop(columns=frame.columns[4]), "times of the task's grid file"),
        (lambda frame: frame.rename(columns={frame.columns[4]: "age"}), "one column time or risk"),
        (_one_time, "has times, other folds of the dataset have survival curves; all must have"),
    ],
)
def test_what_is_wrong_with_a_file_is_refused(written, place, tmp_path, change, says):
    with pytest.raises(InputError, match=says):
        submit("byhand", _change(written[1], tmp_path, change), place)
    assert not (place / "submissions").exists()


def _from_outcomes(written, tiny, tmp_path, predict):
    """Predictions that are made from the test outcomes, which the datasets make public."""
    copy = tmp_path / "pred"
    shutil.copytree(written[1], copy)
    for problem in problems(Design.read(tiny[1].about)):
        outcomes = list(zip(problem.y.time, problem.y.event, strict=True))
        for file in copy.glob(f"{problem.track}-{problem.name}-*.csv"):
            known = dict(zip(problem.ids(0, int(file.stem[-1])), outcomes, strict=True))
            frame = pd.read_csv(file, dtype={"id": str})
            pairs = [known[label] for label in frame["id"]]
            predict(frame, problem.grid, np.array(pairs)).to_csv(file, index=False)
    return copy


def _ranks(frame, grid, outcomes):
    return frame[["id"]].assign(risk=-outcomes[:, 0])


def _drops(frame, grid, outcomes):
    """Every curve falls at the event, but all by nearly the same, in an order that says little."""
    curves = np.where(grid[None, :] < outcomes[:, :1], 0.95, 0.05)
    return pd.DataFrame(curves, columns=frame.columns[1:]).assign(id=frame["id"].to_numpy())


@pytest.mark.parametrize(("cheat", "says"), [(_ranks, r"C = 0\.9|C = 1"), (_drops, "refused")])
def test_predictions_from_the_test_outcomes_are_refused(
    written, tiny, place, tmp_path, cheat, says
):
    with pytest.raises(InputError, match=says):
        submit("cheat", _from_outcomes(written, tiny, tmp_path, cheat), place)


def test_curves_that_fall_where_the_event_was_are_found(tiny):
    """Also where the order of the subjects is no better than that of a model."""
    from survgauge import SurvivalCurves
    from survgauge.bench.leaderboard.submission import _falls_at_events
    from survgauge.data.predictions import Prediction

    problem = next(problems(Design.read(tiny[1].about)))
    until = np.searchsorted(problem.grid, problem.y.time) - 1
    curves = np.where(np.arange(len(problem.grid)) <= until[:, None], 0.8, 0.2)
    cheat = Prediction(SurvivalCurves(problem.grid, curves), None, None)
    assert _falls_at_events(problem, cheat) > 0.8
    same = np.linspace(1, 0, len(problem.grid)) ** np.linspace(0.5, 20, len(problem.y))[:, None]
    honest = Prediction(SurvivalCurves(problem.grid, same), None, None)
    assert _falls_at_events(problem, honest) < 0.1


@pytest.mark.parametrize(
    ("name", "card", "says"),
    [
        ("coxph", CARD, "is that of a model of the board"),
        ("a b", CARD, "name must be"),
        ("mine", CARD.replace("authors", "author"), "no entry 'author'"),
        ("mine", CARD.replace('"a laptop"', '""'), "must say hardware"),
        ("mine", "authors", "is not a TOML file"),
        ("mine", None, r"card\.toml is missing"),
        ("mine", f"{CARD}title = [1, 2]\n", r"must say title, as a text; got \[1, 2\]"),
        ("mine", f'{CARD}notes = "{"x" * 3000}"\n', "notes has 3,000 characters, at most 2,000"),
        ("mine", CARD.replace('"A"', '"\xe9"').encode("latin-1"), "is not UTF-8 text"),
    ],
)
def test_names_and_cards_are_checked(written, place, tmp_path, name, card, says):
    copy = tmp_path / "pred"
    shutil.copytree(written[1], copy)
    (copy / "card.toml").unlink()
    if card is not None:
        (copy / "card.toml").write_bytes(card if isinstance(card, bytes) else card.encode())
    with pytest.raises(InputError, match=says):
        submit(name, copy, place)


def test_a_card_of_windows_begins_with_a_mark(written, place, tmp_path):
    copy = tmp_path / "pred"
    shutil.copytree(written[1], copy)
    (copy / "card.toml").write_bytes(b"\xef\xbb\xbf" + CARD.encode())
    assert "mine" in set(submit("mine", copy, place).models["name"])


def test_a_task_has_one_file_and_backups_are_not_read(written, place, tmp_path):
    copy, task = tmp_path / "pred", "main-veteran-r0-f1"
    shutil.copytree(written[1], copy)
    (copy / f"{task}.csv.bak").write_text("an old one")
    (copy / f"{task}.csv~").write_text("an older one")
    board = submit("mine", copy, place)
    assert not board.cells.query("model == 'mine' and status != 'ok'").size
    pd.read_csv(copy / f"{task}.csv").to_parquet(copy / f"{task}.parquet")
    with pytest.raises(InputError, match=r"csv and .*parquet are for one task; take one away"):
        submit("mine", copy, place)
    (copy / f"{task}.parquet").rename(copy / "main-veteran-r0-f7.parquet")
    with pytest.raises(InputError, match=r"f7\.parquet belongs to no task of the board"):
        submit("mine", copy, place)


def test_an_unfinished_run_takes_no_submission(written, place):
    """Without the best model of its board an honest submission might pass for a cheat."""
    first = next((place / "predictions").rglob("*km*.npz"))
    kept = first.read_bytes()
    first.unlink()
    with pytest.raises(InputError, match=r"a fit of the run is missing or damaged: go on with it"):
        submit("mine", written[1], place)
    first.write_bytes(kept)
    plan = json.loads((place / "plan.json").read_text())
    assert submit("mine", written[1], place)
    shutil.rmtree(place / "board")
    with pytest.raises(InputError, match=r"holds no leaderboard.* --resume"):
        submit("mine", written[1], place)
    assert json.loads((place / "plan.json").read_text()) == plan


def test_submissions_that_are_damaged_are_shown(tiny, written, place):
    how = {"store": place, "resume": True, "jobs": 1, "progress": False}
    submit("mine", written[1], place)
    file = next((place / "predictions").rglob("*mine*.npz"))
    file.write_bytes(file.read_bytes()[:100])
    cells = run(**how).cells
    (gone,) = cells[cells["status"] != "ok"].itertuples()
    assert (gone.model, gone.status) == ("mine", "failed")
    assert "submit it, again" in gone.message
    with pytest.raises(InputError, match="model 'mine' is called as a submission"):
        run({"mine": "coxph"}, **how)
    card = place / "submissions" / "mine.json"
    card.write_text(card.read_text()[:50])
    with pytest.raises(InputError, match=r"mine\.json is damaged .* submit mine again"):
        run(**how)


def test_folders_are_checked(written, place, tmp_path):
    with pytest.raises(InputError, match="new or an empty folder"):
        tasks(written[0], ["veteran"])
    with pytest.raises(InputError, match="leave the other arguments out"):
        tasks(tmp_path / "t", ["veteran"], store=place)
    with pytest.raises(InputError, match="holds no leaderboard"):
        submit("mine", written[1], tmp_path / "nothing")
    with pytest.raises(InputError, match="pred must be a folder"):
        submit("mine", tmp_path / "nothing", place)
