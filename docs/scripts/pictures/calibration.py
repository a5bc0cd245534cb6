"""Do predicted probabilities happen as often as they say?"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm

import survgauge as sg

from .style import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    RED,
    SKY,
    panels,
    steps,
    survival_axes,
    weibull_curves,
    weibull_ward,
)


def d_calibration() -> Any:
    figure, axes = panels(2, height=3.0, sharey=True)
    y, _, _, scale = weibull_ward(400, seed=3)
    for ax, curves, name in zip(
        axes,
        (weibull_curves(scale), weibull_curves(scale, shape=3.5)),
        ("the true curves", "curves too steep"),
        strict=True,
    ):
        result = sg.d_calibration(y, curves)
        left = np.arange(10) / 10
        weights = result.weights()
        events = weights[y.event].sum(axis=0)
        ax.bar(left, events, width=0.092, align="edge", color=BLUE, label="events")
        ax.bar(
            left,
            result.observed - events,
            bottom=events,
            width=0.092,
            align="edge",
            color=ORANGE,
            label="censored, spread",
        )
        ax.axhline(40, color=INK, lw=1.2, ls="--")
        p = result.p_value
        ax.set_title(f"{name}: p {'< 0.001' if p < 0.001 else f'= {p:.2f}'}")
        ax.set(xlim=(0, 1), xlabel="S(t) at the subject's own time")
    axes[0].set_ylabel("subjects")
    axes[0].set_ylim(0, 140)
    axes[0].legend(loc="upper left", fontsize=8.5)
    return figure


def one_calibration() -> Any:
    figure, ax = panels(height=3.0)
    y, _, _, scale = weibull_ward(1000, seed=4)
    curves = weibull_curves(10 * (scale / 10) ** 1.6)
    result = sg.one_calibration(y, curves, 8.0)
    x = np.arange(10)
    ax.bar(x - 0.2, result.expected, width=0.38, color=BLUE, label="predicted")
    ax.bar(
        x + 0.2,
        result.observed,
        width=0.38,
        color=ORANGE,
        label="observed (Kaplan-Meier of the group)",
    )
    ax.set_xticks(x, [f"{k + 1}" for k in x])
    ax.set(
        xlabel="group of 100 subjects, from low to high predicted risk",
        ylabel="probability of the event by 8",
        ylim=(0, 1.05),
    )
    p = result.p_value
    ax.set_title(f"predictions too extreme: p {'< 0.001' if p < 0.001 else f'= {p:.3f}'}")
    ax.legend(loc="upper left")
    return figure


def km_calibration() -> Any:
    figure, ax = panels(height=3.0)
    y, _, _, scale = weibull_ward(150, seed=6)
    details = sg.km_calibration(y, weibull_curves(scale * 1.3))
    t, s = steps(sg.KaplanMeier.fit(y))
    ax.step(t, s, where="post", color=INK, lw=1.8, label="Kaplan-Meier of the test set")
    ax.plot(details.times, details.mean_survival, color=BLUE, lw=2, label="mean predicted curve")
    ax.fill_between(
        details.times,
        details.mean_survival,
        details.kaplan_meier,
        step="post",
        color=ORANGE,
        alpha=0.5,
        lw=0,
    )
    ax.text(
        15.5, 0.52, f"mean squared gap {details.value:.4f}\n(root: {np.sqrt(details.value):.3f})"
    )
    survival_axes(ax, 30)
    ax.legend(loc="upper right")
    return figure


def ici() -> Any:
    figure, ax = panels(height=3.4)
    y, _, _, scale = weibull_ward(1000, seed=4)
    result = sg.integrated_calibration_index(y, weibull_curves(10 * (scale / 10) ** 1.6), 8.0)
    ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls="--")
    ax.fill_between(
        result.curve_predicted,
        result.curve_predicted,
        result.curve_observed,
        color=ORANGE,
        alpha=0.45,
        lw=0,
    )
    ax.plot(result.curve_predicted, result.curve_observed, color=BLUE, lw=2.2)
    counts, edges = np.histogram(result.predicted, np.linspace(0, 1, 41))
    ax.bar(edges[:-1], counts / counts.max() * 0.14, width=0.023, align="edge", color="#9A9A9A")
    ax.text(
        0.03,
        0.86,
        f"ICI {result.ici:.3f}: mean gap over the subjects\n"
        f"E50 {result.e50:.3f}, E90 {result.e90:.3f}",
    )
    ax.text(0.985, 0.16, "where the predictions are", ha="right", color=GREY)
    ax.annotate(
        "on the line: calibrated",
        (0.45, 0.45),
        (0.55, 0.36),
        arrowprops={"arrowstyle": "-", "color": GREY},
    )
    ax.set(
        xlim=(0, 1),
        ylim=(0, 1.02),
        xlabel="predicted probability of the event by 8",
        ylabel="observed, smoothed",
    )
    return figure


def ici_cox() -> Any:
    figure, ax = panels(height=3.4)
    rng = np.random.default_rng(2)
    mu = 0.5 - rng.normal(size=20_000)
    event, lost = np.exp(mu + 0.6 * rng.normal(size=mu.size)), rng.exponential(2.5, mu.size)
    y, truth = sg.Outcomes(np.minimum(event, lost), event <= lost), norm.sf(-mu / 0.6)
    ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls="--")
    for index, colour, name in (
        (sg.integrated_calibration_index, BLUE, "pseudo-observations"),
        (sg.integrated_calibration_index_cox, ORANGE, "Cox model"),
    ):
        result = index(y, truth, 1.0)
        label = f"{name}: ICI {result.ici:.3f}"
        ax.plot(result.curve_predicted, result.curve_observed, color=colour, lw=2.2, label=label)
    ax.set_title("the true model of log-normal times, 20,000 subjects")
    ax.set(
        xlim=(0, 1),
        ylim=(0, 1.02),
        xlabel="predicted probability of the event by 1",
        ylabel="observed probability",
    )
    ax.legend(loc="upper left")
    return figure


def coverage() -> Any:
    figure, ax = panels(height=3.0)
    y, _, _, scale = weibull_ward(24, seed=9)
    curves = weibull_curves(scale, end=120.0)
    low, high, middle = (curves.quantile(q) for q in (0.1, 0.9, 0.5))
    order = np.argsort(middle)
    inside = (y.time >= low) & (y.time <= high)
    for row, i in enumerate(order):
        ax.plot([low[i], high[i]], [row, row], color=SKY, lw=4, solid_capstyle="butt", zorder=1)
        colour = INK if inside[i] or not y.event[i] else RED
        ax.plot(
            y.time[i],
            row,
            marker="o",
            ms=5,
            mfc=colour if y.event[i] else "white",
            mec=colour,
            zorder=3,
        )
    ax.plot([], [], color=SKY, lw=4, label="80 % prediction interval")
    for label, face, edge in (
        ("event inside", INK, INK),
        ("event outside", RED, RED),
        ("censored", "white", INK),
    ):
        ax.plot([], [], marker="o", ls="", ms=5, mfc=face, mec=edge, label=label)
    ax.set(xlim=(0, 45), xlabel="time (days)", ylabel="subjects")
    ax.set_yticks([])
    ax.legend(loc="lower right")
    ax.set_title(f"coverage {sg.coverage(y, curves, 0.8):.2f} at level 0.80")
    return figure


def calibration_slope_cox() -> Any:
    figure, axes = panels(3, height=2.6, sharey=True)
    y, _, x, _ = weibull_ward(1500, seed=7)
    true = 0.9 * x
    for ax, factor in zip(axes, (2.0, 1.0, 0.5), strict=True):
        predicted = factor * true
        slope = sg.calibration_slope_cox(y, predicted)
        grid = np.linspace(-3.5, 3.5, 50)
        ax.plot(grid, grid, color=GREY, lw=1, ls="--")
        ax.plot(grid, slope * grid, color=BLUE, lw=2)
        ax.hist(
            predicted,
            np.linspace(-4, 4, 25),
            weights=np.full(x.size, 3.0 / 300),
            bottom=-3.4,
            color="#B9CFE0",
        )
        ax.set(xlim=(-3.5, 3.5), ylim=(-3.4, 3.4), xlabel="predicted log hazard")
        word = "too extreme" if factor > 1 else "too tame" if factor < 1 else "right"
        ax.set_title(f"{word}: slope {slope:.2f}")
    axes[0].set_ylabel("observed log hazard")
    return figure


def observed_expected() -> Any:
    figure, ax = panels(height=3.0)
    y, _, _, scale = weibull_ward(600, seed=5)
    km = sg.KaplanMeier.fit(y)
    t, s = steps(km)
    ax.step(t, 1 - s, where="post", color=INK, lw=1.8, label="observed: 1 - Kaplan-Meier")
    grid = np.linspace(0, 20, 81)
    for factor, colour, line in ((1.0, BLUE, "-"), (1.5, ORANGE, "--")):
        curves = weibull_curves(scale * factor)
        found = sg.observed_expected(y, curves, 8.0)
        name = "true curves" if factor == 1 else "curves 50 % late"
        label = f"expected by {name}: O/E {found.ratio:.2f}"
        ax.plot(grid, 1 - curves.at(grid).mean(axis=0), color=colour, ls=line, lw=2, label=label)
    ax.axvline(8.0, color=GREY, lw=0.8)
    ax.set(xlim=(0, 20), ylim=(0, 1.02), xlabel="time (days)", ylabel="risk of the event")
    ax.legend(loc="lower right")
    return figure


def calibration_slope() -> Any:
    figure, axes = panels(3, height=2.7, sharey=True)
    y, _, _, scale = weibull_ward(1500, seed=7)
    true = np.log(-np.log(weibull_curves(scale).at(8.0)))
    for ax, (word, shift, factor) in zip(
        axes, (("too low", -0.7, 1.0), ("right", 0.0, 1.0), ("too extreme", 0.0, 2.0)), strict=True
    ):
        predicted = shift + factor * true
        found = sg.weak_calibration(y, np.exp(-np.exp(predicted)), 8.0)
        risk = np.linspace(0.01, 0.99, 99)
        x = np.log(-np.log1p(-risk))
        ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls="--")
        # Where the slope is not 1, the line turns about the mean prediction.
        middle = predicted.mean()
        line = found.intercept.value + middle + found.slope.value * (x - middle)
        ax.plot(risk, -np.expm1(-np.exp(line)), color=BLUE, lw=2)
        a, b = found.intercept.value, found.slope.value
        ax.set_title(f"{word}\nintercept {a:+.2f}, slope {b:.2f}", fontsize=9)
        ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="predicted risk")
    axes[0].set_ylabel("observed risk by day 8")
    return figure


def a_calibration() -> Any:
    figure, axes = panels(2, height=2.8, sharey=True)
    y, _, _, scale = weibull_ward(400, seed=3)
    for ax, factor, name in zip(axes, (1.0, 1.4), ("the true curves", "curves late"), strict=True):
        found = sg.a_calibration(y, weibull_curves(scale * factor))
        left, width = found.edges[:-1], np.diff(found.edges)
        ax.bar(left, found.observed, width * 0.94, align="edge", color=BLUE, label="events seen")
        for start, wide, level in zip(left, width, found.expected, strict=True):
            ax.plot([start, start + wide], [level, level], color=INK, lw=2)
        ax.plot([], [], color=INK, lw=2, label="events expected")
        p = found.p_value
        ax.set_title(f"{name}: p {'< 0.001' if p < 0.001 else f'= {p:.2f}'}")
        ax.set(xlim=(0, 1), xlabel="u = 1 - S(t) at the subject's own time")
    axes[0].set_ylabel("events")
    axes[0].legend(loc="upper right", fontsize=8.5)
    return figure


def residuals() -> Any:
    figure, ax = panels(height=3.1)
    y, _, _, scale = weibull_ward(400, seed=3)
    for curves, colour, line, name in (
        (weibull_curves(scale), BLUE, "-", "the true curves"),
        (weibull_curves(scale * 1.5), RED, "--", "curves 50 % late"),
    ):
        r = sg.cox_snell_residuals(y, curves)
        km = sg.KaplanMeier.fit((r, y.event))
        kept = km.survival > 0.02
        ax.step(
            km.times[kept],
            -np.log(km.survival[kept]),
            where="post",
            color=colour,
            lw=2,
            ls=line,
            label=name,
        )
    ax.plot([0, 4], [0, 4], color=GREY, lw=1)
    ax.text(3.1, 2.75, "unit exponential", color=GREY, rotation=0)
    ax.set(
        xlim=(0, 4),
        ylim=(0, 4),
        xlabel="Cox-Snell residual, -ln S(t)",
        ylabel="its cumulative hazard",
    )
    ax.legend(loc="upper left")
    return figure


ALL = (
    d_calibration,
    one_calibration,
    km_calibration,
    ici,
    ici_cox,
    coverage,
    calibration_slope_cox,
    observed_expected,
    calibration_slope,
    a_calibration,
    residuals,
)
