"""Boards: written and read again, refused when damaged, averaged over repeats."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

import numpy as np
from boards import demo_board, same_tables

from survgauge.bench.leaderboard import Board
from survgauge.errors import InputError


def test_what_is_saved_is_loaded(tmp_path):
    board = demo_board()
    board.save(tmp_path / "board")
    loaded = Board.load(tmp_path / "board")
    same_tables(board, loaded)
    assert loaded.about == board.about


def test_missing_and_damaged_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="holds no leaderboard"):
        Board.load(tmp_path)
    demo_board(2).save(tmp_path)
    (tmp_path / "pairs.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"pairs\.parquet is damaged"):
        Board.load(tmp_path)


def test_repeats_are_averaged_and_their_standard_errors_not_divided():
    board = demo_board(2, repeats=2)
    whole, mean = board.scores, board.averaged().scores
    assert len(mean) == len(whole) / 2
    key = (whole.dataset == "set_1") & (whole.model == "rsf") & (whole.settings == "default")
    of_ibs = whole[key & (whole.metric == "ibs") & (whole.track == "main")]
    row = mean[(mean.dataset == "set_1") & (mean.model == "rsf") & (mean.track == "main")]
    row = row[(row.settings == "default") & (row.metric == "ibs")].iloc[0]
    assert row["value"] == pytest.approx(of_ibs["value"].mean())
    assert row["stderr"] == pytest.approx(of_ibs["stderr"].mean())
    assert np.isnan(row["truth"])
    assert len(board.averaged().pairs) == len(board.pairs) / 2
