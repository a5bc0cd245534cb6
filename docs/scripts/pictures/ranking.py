"""Order: pairs, weights of pairs, crossing curves, cases and controls."""

from __future__ import annotations

from typing import Any

import numpy as np

import survgauge as sg

from .style import BLUE, GREY, INK, ORANGE, PALE, RED, SKY, panels, steps, weibull_ward

FIVE = sg.Outcomes([2, 4, 4, 6, 8], [1, 1, 0, 0, 1])
RISK = [5, 3, 4, 1, 2]


def harrell() -> Any:
    figure, (left, right) = panels(2, height=3.1, width_ratios=(1.15, 1))
    n = len(FIVE)
    for i in range(n):
        t, e = FIVE.time[i], FIVE.event[i]
        left.plot([0, t], [i, i], color=INK, lw=1.4)
        left.plot(t, i, marker="o", ms=8, mfc=INK if e else "white", mec=INK, mew=1.4)
        left.text(10.2, i, f"{RISK[i]}", ha="center", va="center", color=BLUE)
    left.text(10.2, -0.75, "risk", ha="center", color=BLUE)
    left.set(xlim=(0, 11), ylim=(4.6, -1.1), xlabel="time (days)")
    left.set_yticks(range(n), [f"{i + 1}" for i in range(n)])
    left.set_ylabel("subject")
    left.spines["left"].set_visible(False)
    left.tick_params(axis="y", length=0)
    right.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), aspect="equal")
    good = bad = 0
    for i in range(n):
        for j in range(n):
            known = FIVE.event[i] and (
                FIVE.time[i] < FIVE.time[j] or (FIVE.time[i] == FIVE.time[j] and not FIVE.event[j])
            )
            colour, text = "white" if i == j else PALE, ""
            if known:
                right_order = RISK[i] > RISK[j]
                good, bad = good + right_order, bad + (not right_order)
                colour, text = (SKY, "✓") if right_order else (ORANGE, "✗")
            right.add_patch(_cell(i, j, colour))
            right.text(j, i, text, ha="center", va="center")
    right.set_xticks(range(n), [f"{j + 1}" for j in range(n)])
    right.set_yticks(range(n), [f"{i + 1}" for i in range(n)])
    right.set(xlabel="observed longer", ylabel="event first")
    right.tick_params(length=0)
    right.spines[:].set_visible(False)
    right.set_title(
        f"{good} of {good + bad} known orders right: C = {good / (good + bad):.3f}", fontsize=9.5
    )
    return figure


def _cell(i: int, j: int, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, facecolor=colour, edgecolor="none")


def uno() -> Any:
    figure, ax = panels(height=3.0)
    y, *_ = weibull_ward(150, seed=5)
    g = sg.KaplanMeier.fit_censoring(y)
    times = np.sort(y.time[y.event])
    left = g.at(times, side="left")
    tau = 20.0
    seen = times < tau
    ax.vlines(times[seen], 0, 1 / left[seen] ** 2, color=BLUE, lw=1.4)
    ax.vlines(times[~seen], 0, 1 / left[~seen] ** 2, color="#BBBBBB", lw=1.4)
    ax.axvline(tau, color=INK, lw=0.9, ls=":")
    ax.text(tau + 0.2, 17.2, "tau: later events\nanchor no pair", va="top")
    ax.set(xlim=(0, 30), ylim=(0, 18), xlabel="time of the earlier event (days)")
    ax.set_ylabel("weight of its pairs, 1/G(t-)²", color=BLUE)
    other = ax.twinx()
    t, s = steps(g)
    other.step(t, s, where="post", color=RED, lw=1.8)
    other.set(ylim=(0, 1.05))
    other.set_ylabel("G(t): still watched", color=RED)
    other.spines["right"].set_visible(True)
    return figure


def antolini() -> Any:
    figure, ax = panels(height=3.0)
    t = np.linspace(0, 12, 300)
    a, b = np.exp(-((t / 7.5) ** 3)), np.exp(-t / 9)
    ax.plot(t, a, color=BLUE, lw=2, label="subject A")
    ax.plot(t, b, color=RED, lw=2, ls="--", label="subject B")
    for time, text, where in (
        (3.0, "an event of B at 3: B's curve\nis lower, right order", (0.3, 0.16)),
        (9.0, "an event of A at 9: A's curve\nis lower, right order", (7.6, 0.6)),
    ):
        lo, hi = np.interp(time, t, a), np.interp(time, t, b)
        ax.plot([time, time], [lo, hi], color=INK, lw=1)
        ax.plot([time, time], [lo, hi], ls="", marker="o", color=INK, ms=5)
        ax.annotate(text, (time, min(lo, hi)), where, arrowprops={"arrowstyle": "-", "color": GREY})
    ax.set(xlim=(0, 12), ylim=(0, 1.05), xlabel="time (days)", ylabel="S(t)")
    ax.legend(loc="upper right")
    return figure


def auc() -> Any:
    figure, (left, right) = panels(2, height=3.0)
    y, _, x, _ = weibull_ward(600, seed=1)
    when = 8.0
    cases, controls = y.event & (y.time <= when), y.time > when
    bins = np.linspace(-3, 3, 19)
    left.hist(x[controls], bins, color=SKY, alpha=0.9, label="event-free at 8")
    left.hist(x[cases], bins, color=RED, alpha=0.55, label="event by 8")
    left.set(xlabel="risk", ylabel="subjects")
    left.set_ylim(0, 62)
    left.legend(loc="upper left", fontsize=8.5)
    times = np.linspace(1, 24, 60)
    result = sg.cumulative_dynamic_auc(y, x, times, stderr="fixed")
    right.plot(result.times, result.values, color=BLUE, lw=2)
    low, high = (result.values + k * 1.96 * result.stderr for k in (-1, 1))
    right.fill_between(result.times, low, high, color=BLUE, alpha=0.18, lw=0)
    right.axhline(0.5, color=GREY, lw=0.9, ls="--")
    right.text(24, 0.51, "no order at all", ha="right", color=GREY)
    at = float(sg.cumulative_dynamic_auc(y, x, when).mean)
    right.plot(when, at, marker="o", color=INK)
    right.annotate(
        f"AUC(8) = {at:.2f}", (when, at), (9.5, 0.62), arrowprops={"arrowstyle": "-", "color": GREY}
    )
    right.set(ylim=(0.45, 1.0), xlim=(0, 25), xlabel="time (days)", ylabel="AUC(t)")
    return figure


def royston_d() -> Any:
    figure, axes = panels(2, height=2.9, sharey=True)
    y, _, x, _ = weibull_ward(300, seed=6)
    noise = np.random.default_rng(1).normal(size=x.size)
    named = {"a good risk": x, "a poor risk": x + 2 * noise}
    for ax, (name, risk) in zip(axes, named.items(), strict=True):
        found = sg.royston_d(y, risk)
        high = risk > np.median(risk)
        for rows, colour, word in ((~high, BLUE, "lower half"), (high, RED, "higher half")):
            t, s = steps(sg.KaplanMeier.fit(y[rows]))
            ax.step(t, s, where="post", color=colour, lw=1.8, label=word)
        ax.set_title(f"{name}: D = {found.value:.2f}, R² = {found.r_squared:.2f}")
        ax.set(xlim=(0, 25), ylim=(0, 1.02), xlabel="time (days)")
    axes[0].set_ylabel("Kaplan-Meier")
    axes[0].legend(loc="upper right")
    return figure


ALL = (harrell, uno, antolini, auc, royston_d)
