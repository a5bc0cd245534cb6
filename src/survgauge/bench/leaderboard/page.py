"""The page of a board."""

from __future__ import annotations

from ...report import leaderboard_page as of_plain_data
from .content import leaderboard_content
from .results import Board


def leaderboard_page(board: Board, title: str = "Which survival model predicts best?") -> str:
    """Make the page: one self-contained HTML file that works offline.

    Parameters
    ----------
    board : Board
        Scores of at least one model besides Kaplan-Meier.
    title : str
        Heading of the page.

    Returns
    -------
    str
        HTML.
    """
    return of_plain_data(leaderboard_content(board), title=title)
