"""Predicted probabilities and distributions against what happened."""

from __future__ import annotations

from typing import Any

import numpy as np

import survgauge as sg

from .style import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    panels,
    survival_axes,
    weibull_curves,
    weibull_ward,
)


def _curve(t: Any) -> Any:
    return np.exp(-((t / 9.0) ** 1.6))


def brier() -> Any:
    figure, axes = panels(2, height=3.0, sharey=True)
    t = np.linspace(0, 16, 300)
    when = 8.0
    for ax, time, title in zip(
        axes,
        (5.0, 12.0),
        ("event at 5: truth at 8 is 0", "event at 12: truth at 8 is 1"),
        strict=True,
    ):
        truth = float(time > when)
        ax.plot(t, _curve(t), color=BLUE, lw=2, label="predicted S(t)")
        ax.step([0, time, 16], [1, 0, 0], where="post", color=INK, lw=1.6, label="what happened")
        ax.plot([when, when], [_curve(when), truth], color=RED, lw=4, solid_capstyle="butt")
        where = (when - 0.4, 0.93) if truth else (when + 0.4, 0.07)
        error = (truth - _curve(when)) ** 2
        ax.text(
            *where,
            f"{abs(truth - _curve(when)):.2f}² = {error:.2f}",
            color=RED,
            va="center",
            ha="right" if truth else "left",
        )
        survival_axes(ax, 16)
        ax.set_title(title)
    axes[1].set_ylabel("")
    axes[0].legend(loc="upper right", fontsize=8.5)
    return figure


def ibs() -> Any:
    figure, ax = panels(height=3.0)
    y, _, _, scale = weibull_ward(800, seed=2)
    curves = weibull_curves(scale)
    times = np.linspace(0, 22, 89)
    ours = sg.brier_score(y, curves, times)
    base = sg.brier_score(y, sg.reference_curves(y, len(y)), times)
    ax.plot(
        base.times,
        base.values,
        color=GREY,
        lw=1.8,
        ls="--",
        label=f"the Kaplan-Meier baseline, IBS {base.mean:.3f}",
    )
    ax.plot(ours.times, ours.values, color=BLUE, lw=2, label=f"model, IBS {ours.mean:.3f}")
    ax.fill_between(ours.times, ours.values, color=SKY, alpha=0.4, lw=0)
    ax.text(12, 0.06, "area / length = IBS", ha="center")
    ax.set(xlim=(0, 22), ylim=(0, 0.34), xlabel="time (days)", ylabel="Brier score")
    ax.legend(loc="upper left")
    return figure


def ibll() -> Any:
    figure, ax = panels(height=2.9)
    p = np.linspace(0.001, 1, 500)
    ax.plot(p, -np.log(p), color=RED, lw=2, label="log-loss, -ln p")
    ax.plot(p, (1 - p) ** 2, color=BLUE, lw=2, ls="--", label="squared loss, (1 - p)²")
    for q in (0.05, 0.5):
        ax.plot([q, q], [(1 - q) ** 2, -np.log(q)], ls="", marker="o", color=INK, ms=5)
        ax.text(q + 0.02, -np.log(q) + 0.1, f"{-np.log(q):.2f}", color=RED)
        ax.text(q + 0.02, (1 - q) ** 2 + 0.04, f"{(1 - q) ** 2:.2f}", color=BLUE)
    ax.set(xlim=(0, 1), ylim=(0, 5), xlabel="probability given to what happened", ylabel="loss")
    ax.annotate(
        "no bound as p goes to 0",
        (0.01, 4.6),
        (0.14, 4.4),
        arrowprops={"arrowstyle": "->", "color": GREY},
        va="center",
    )
    ax.legend(loc="center right")
    return figure


def crps() -> Any:
    figure, axes = panels(2, height=3.0, sharey=True)
    t = np.linspace(0, 20, 121)
    s = _curve(t)
    for ax, event in zip(axes, (True, False), strict=True):
        time = 6.0
        before, after = t <= time, t >= time
        ax.plot(t, s, color=BLUE, lw=2, label="predicted S(t)")
        ax.fill_between(
            t[before], 1, 1 - (1 - s[before]) ** 2, color=ORANGE, alpha=0.7, lw=0, label="(1 - S)²"
        )
        if event:
            ax.fill_between(t[after], s[after] ** 2, color=PURPLE, alpha=0.6, lw=0, label="S²")
            ax.step([0, time, 20], [1, 0, 0], where="post", color=INK, lw=1.4)
        else:
            ax.plot([0, time], [1, 1], color=INK, lw=1.4)
            ax.plot(time, 1, marker="o", mfc="white", mec=INK, ms=7)
            ax.text(7.4, 0.8, "nothing counts\nafter censoring", color=GREY)
        survival_axes(ax, 20)
        ax.set_title("event at 6" if event else "censored at 6")
    axes[1].set_ylabel("")
    axes[0].legend(loc="upper right", fontsize=8.5)
    return figure


def log_likelihood() -> Any:
    figure, (left, right) = panels(2, height=2.9)
    t = np.linspace(0, 20, 400)
    density = -np.gradient(_curve(t), t)
    left.plot(t, density, color=BLUE, lw=2)
    at = float(np.interp(6.0, t, density))
    left.plot([6, 6], [0, at], color=RED, lw=1.6)
    left.plot(6, at, marker="o", color=RED)
    left.text(6.5, at + 0.002, f"ln {at:.3f} = {np.log(at):.2f}", color=RED)
    left.set(xlim=(0, 20), ylim=(0, 0.12), xlabel="time (days)", ylabel="density f(t), per day")
    left.set_title("event at 6: log density")
    right.plot(t, _curve(t), color=BLUE, lw=2)
    s = float(_curve(6.0))
    right.plot([6, 6], [0, s], color=RED, lw=1.6)
    right.plot(6, s, marker="o", mfc="white", mec=RED, mew=1.6)
    right.text(6.6, s + 0.02, f"ln {s:.3f} = {np.log(s):.2f}", color=RED)
    survival_axes(right, 20)
    right.set_title("censored at 6: log survival")
    return figure


def skill() -> Any:
    figure, ax = panels(height=2.9)
    y, _, _, scale = weibull_ward(800, seed=2)
    times = np.linspace(1, 22, 80)
    for curves, colour, line, name in (
        (weibull_curves(scale), BLUE, "-", "knows the covariate"),
        (weibull_curves(scale * 1.8), RED, "--", "knows it, but is 80 % late"),
    ):
        result = sg.brier_skill(y, curves, times)
        ax.plot(result.times, 100 * result.values, color=colour, lw=2, ls=line, label=name)
    ax.axhline(0, color=INK, lw=1)
    ax.text(21.8, -1.5, "the Kaplan-Meier baseline", ha="right", va="top", color=INK)
    ax.axhspan(-40, 0, color="#F3E3DA", alpha=0.6, lw=0)
    ax.set(xlim=(0, 22), ylim=(-30, 42), xlabel="time (days)", ylabel="Brier skill (%)")
    ax.legend(loc="upper right")
    return figure


def robust_scores() -> Any:
    """Brier scores where censoring depends on what predicts the event, and the truth."""
    figure, ax = panels(height=3.0)
    rng = np.random.default_rng(4)
    x = rng.normal(size=6000)
    event, lost = rng.exponential(8 * np.exp(-x)), rng.exponential(10 * np.exp(-1.2 * x))
    y = sg.Outcomes(np.minimum(event, lost), event <= lost)
    grid = np.linspace(0.1, 20, 120)
    distribution = sg.SurvivalCurves(grid, np.exp(-grid * np.exp(x)[:, None] / 8))
    curves = sg.SurvivalCurves(grid, np.exp(-grid * np.exp(0.4 * x)[:, None] / 8))
    times = np.linspace(0.5, 12, 24)
    truth = [float(np.mean(((event > t) - curves.at(t)) ** 2)) for t in times]
    usual = sg.brier_score(y, curves, times).values
    robust = [
        sg.evaluate(
            curves, y, metrics="brier_dr", time=t, confidence=None,
            conditional=sg.Conditional(distribution),
        ).scores[0].value
        for t in times
    ]  # fmt: skip
    ax.plot(times, truth, color=INK, lw=4, alpha=0.35, label="truth, without censoring")
    ax.plot(times, usual, color=RED, lw=1.8, ls="--", label="weighted by 1/G (brier)")
    ax.plot(times, robust, color=BLUE, lw=2, label="doubly robust, distribution given x (brier_dr)")
    ax.set(xlim=(0, 12), ylim=(0, 0.3), xlabel="time (days)", ylabel="Brier score")
    ax.legend(loc="lower right")
    return figure


def ipa() -> Any:
    figure, ax = panels(height=3.0)
    y, _, _, scale = weibull_ward(1500, seed=5)
    times = np.linspace(1, 18, 35)
    for curves, colour, line, name in (
        (weibull_curves(scale), BLUE, "-", "the true curves"),
        (weibull_curves(scale * 1.5), ORANGE, "--", "curves 50 % late"),
    ):
        found = sg.brier_skill(y, curves, times)
        ax.plot(times, found.values, color=colour, ls=line, lw=2, label=name)
        low, high = found.values - 1.96 * found.stderr, found.values + 1.96 * found.stderr
        ax.fill_between(times, low, high, color=colour, alpha=0.15, lw=0)
    ax.axhline(0, color=GREY, lw=1)
    ax.text(0.2, -0.045, "the Kaplan-Meier baseline", color=GREY)
    ax.set(xlim=(0, 18), ylim=(-0.3, 0.4), xlabel="time (days)", ylabel="IPA(t)")
    ax.legend(loc="lower center")
    return figure


def _states(t: Any) -> Any:
    """Probabilities of being event-free, of relapse and of death."""
    event = 1 - np.exp(-((t / 9.0) ** 1.3))
    return np.stack((1 - event, 0.65 * event, 0.35 * event))


def multi_log_loss() -> Any:
    figure, (left, right) = panels(2, height=3.1, width_ratios=(1.5, 1))
    t, when = np.linspace(0, 20, 61), 8.0
    names, colours = ("event-free", "relapse", "death"), (SKY, ORANGE, PURPLE)
    left.stackplot(t, _states(t), colors=colours, alpha=0.8)
    left.axvline(when, color=INK, lw=1.4)
    for name, height in zip(names, (0.15, 0.62, 0.92), strict=True):
        left.text(1.0 if name == "event-free" else 13, height, name)
    left.set(xlim=(0, 20), ylim=(0, 1), xlabel="time (days)", ylabel="predicted probability")
    left.set_title("one subject")
    p = _states(np.array([when]))[:, 0]
    right.barh(names, -np.log(p), color=colours, alpha=0.8)
    for k, q in enumerate(p):
        right.text(-np.log(q) + 0.04, k, f"-ln {q:.2f} = {-np.log(q):.2f}", va="center")
    right.set(xlim=(0, 2.6), xlabel="loss at 8, by what happened")
    right.invert_yaxis()
    return figure


ALL = (
    brier, ipa, ibs, ibll, crps, log_likelihood, multi_log_loss, skill,
    robust_scores,
)  # fmt: skip
