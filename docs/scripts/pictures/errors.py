"""What a censored subject counts as: one picture per method."""

from __future__ import annotations

from typing import Any

import numpy as np

import survgauge as sg

from .style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    PREDICTED,
    PURPLE,
    RED,
    SKY,
    TEST,
    TRAIN,
    panels,
    steps,
    survival_axes,
)

C = 6.0


def _followed(ax: Any, y: Any, row: int, time: float, event: bool, faded: bool = False) -> None:
    colour = "#B5B5B5" if faded else INK
    ax.plot([0, time], [row, row], color=colour, lw=1.4, zorder=1)
    face = colour if event else "white"
    ax.plot(time, row, marker="o", ms=7, mfc=face, mec=colour, mew=1.4, zorder=3)


def _subjects(ax: Any, y: sg.Outcomes, end: float, label: str = "subject") -> None:
    ax.set(xlim=(0, end), ylim=(len(y) - 0.4, -0.9), xlabel="time (days)")
    ax.set_yticks(range(len(y)), [f"{label} {i + 1}" for i in range(len(y))])
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)


def mae_uncensored() -> Any:
    figure, ax = panels(height=2.5)
    _subjects(ax, TEST, 14.5)
    for i, (t, e, p) in enumerate(zip(TEST.time, TEST.event, PREDICTED, strict=True)):
        _followed(ax, TEST, i, t, e, faded=not e)
        ax.plot(p, i, marker="D", ms=6, color=BLUE if e else "#BBD3E2", zorder=4)
        if e:
            ax.plot([t, p], [i - 0.28, i - 0.28], color=RED, lw=3, solid_capstyle="butt")
            ax.text((t + p) / 2, i - 0.38, f"{abs(t - p):g}", color=RED, ha="center", va="bottom")
        else:
            ax.text(p + 0.5, i, "left out", color=GREY, va="center", style="italic")
    for label, style in (
        ("event", {"marker": "o", "color": INK}),
        ("censored", {"marker": "o", "mfc": "white", "mec": "#B5B5B5"}),
        ("prediction", {"marker": "D", "color": BLUE}),
    ):
        ax.plot([], [], ls="", ms=6, label=label, **style)
    ax.legend(loc="center right")
    ax.set_title("Errors of 1 and 2 days: MAE 1.5 over the two events")
    return figure


def mae_hinge() -> Any:
    figure, ax = panels(height=2.9)
    p = np.linspace(0, 14, 200)
    ax.plot(p, np.abs(p - C), color=GREY, lw=1.6, ls="--", label="event at 6: off either way")
    ax.plot(p, np.maximum(C - p, 0), color=RED, lw=2.6, label="censored at 6: late is free")
    ax.axvspan(C, 14, color=PALE, alpha=0.6, lw=0)
    ax.text(11.6, 1.0, "whatever is predicted here\ncosts nothing", ha="center", color=INK)
    ax.axvline(C, color=INK, lw=0.8, ls=":")
    ax.set(xlim=(0, 14), ylim=(-0.2, 8.5), xlabel="predicted time (days)", ylabel="loss (days)")
    ax.legend(loc="upper center")
    return figure


def mae_margin() -> Any:
    figure, ax = panels(height=3.1)
    km = sg.KaplanMeier.fit(TRAIN)
    t, s = steps(km, 16)
    guess = sg.surrogate_times(([C], [0]), y_train=TRAIN, method="margin").time[0]
    ax.step(t, s, where="post", color=BLUE, lw=2, label="Kaplan-Meier of the training set")
    nodes = np.array([C, 8.0, 12.0, 14.0])
    ax.fill_between(nodes, km.at(nodes), step="post", color=SKY, alpha=0.45, lw=0)
    ax.plot([C, C], [0, 0.6], color=INK, lw=1, ls=":")
    ax.plot(C, 0, marker="o", ms=8, mfc="white", mec=INK, clip_on=False, zorder=5)
    ax.annotate(
        "", (guess, 0.03), (C + 0.2, 0.03), arrowprops={"arrowstyle": "->", "color": RED, "lw": 1.8}
    )
    ax.plot(guess, 0, marker="*", ms=13, color=RED, clip_on=False, zorder=5)
    ax.text(14.15, 0.05, f"counts as\n{guess:g}", color=RED)
    ax.text(9.0, 0.2, "area 3.45", ha="center", color=INK)
    ax.text(
        C + 0.25,
        0.7,
        "S(6) = 0.6:  6 + 3.45/0.6 = 11.75,\nweight 1 - 0.6 = 0.4",
        va="bottom",
        color=INK,
    )
    ax.text(C - 0.2, 0.06, "censored at 6", ha="right", color=INK)
    survival_axes(ax, 16)
    ax.legend(loc="upper right")
    return figure


def mae_ipcw_d() -> Any:
    figure, (left, right) = panels(2, height=2.9)
    g = sg.KaplanMeier.fit_censoring(TRAIN)
    t, s = steps(g, 15)
    left.step(t, s, where="post", color=BLUE, lw=2)
    for time, event in zip(TRAIN.time, TRAIN.event, strict=True):
        if not event:
            left.plot(time, g.at(time), marker="o", mfc="white", mec=BLUE, ms=6)
    left.set(xlim=(0, 15), ylim=(0, 1.05), xlabel="time (days)", ylabel="G(t): still watched")
    left.set_title("who is still under observation")
    times = np.array([2.0, 4, 6, 8, 10, 12, 14])
    right.bar(times, 1 / g.at(times, side="left"), width=1.2, color=RED)
    for time in times:
        w = 1 / g.at(time, side="left")
        right.text(time, w + 0.04, f"{w:.1f}", ha="center", fontsize=9)
    right.set(xlim=(0, 15.5), ylim=(0, 2.1), xlabel="event at (days)", ylabel="counts as subjects")
    right.set_title("an event at t stands for 1/G(t-)")
    return figure


def mae_ipcw_t() -> Any:
    figure, ax = panels(height=2.2)
    later = TRAIN.event & (TRAIN.time > C)
    guess = TRAIN.time[later].mean()
    for time, event in zip(TRAIN.time, TRAIN.event, strict=True):
        used = event and time > C
        colour = BLUE if used else "#B5B5B5"
        ax.plot(time, 1, marker="o", ms=9, mfc=colour if event else "white", mec=colour, mew=1.4)
        if used:
            ax.annotate(
                "",
                (guess, 0.18),
                (time, 0.9),
                arrowprops={"arrowstyle": "-", "color": SKY, "lw": 1.2},
            )
    ax.plot(C, 0, marker="o", ms=9, mfc="white", mec=INK, mew=1.4)
    ax.annotate(
        "",
        (guess - 0.25, 0),
        (C + 0.3, 0),
        arrowprops={"arrowstyle": "->", "color": RED, "lw": 1.8},
    )
    ax.plot(guess, 0, marker="*", ms=13, color=RED)
    ax.text(guess, -0.45, f"(8 + 12 + 14)/3 = {guess:.2f}", color=RED, ha="center")
    ax.plot([C, C], [-0.7, 1.15], color=INK, lw=0.8, ls=":")
    ax.set(xlim=(0, 16), ylim=(-0.7, 1.6), xlabel="time (days)")
    ax.set_yticks([1, 0], ["training set", "censored at 6"])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.text(1.6, 1.28, "grey: not later than 6, or censored (open)", color=GREY)
    return figure


def mae_po() -> Any:
    figure, ax = panels(height=3.3)
    joined = sg.Outcomes(np.append(TRAIN.time, C), np.append(TRAIN.event, False))
    without, with_it = sg.KaplanMeier.fit(TRAIN), sg.KaplanMeier.fit(joined)
    guess = sg.surrogate_times(([C], [0]), y_train=TRAIN, method="po").time[0]
    fine = np.append(0.0, without.times)
    ax.fill_between(
        fine,
        without.at(fine),
        with_it.at(fine),
        step="post",
        color=ORANGE,
        alpha=0.75,
        lw=0,
        label="what the subject adds",
    )
    t, s = steps(with_it, 16)
    ax.step(t, s, where="post", color=RED, lw=1.8, label="with the subject (9 people)")
    t, s = steps(without, 16)
    ax.step(t, s, where="post", color=BLUE, lw=1.8, label="training set (8 people)")
    ax.axvline(C, color=INK, lw=0.9, ls=":")
    ax.plot(C, 0, marker="o", ms=8, mfc="white", mec=INK, clip_on=False, zorder=5)
    ax.plot(guess, 0, marker="*", ms=13, color=RED, clip_on=False, zorder=5)
    mean = [sg.KaplanMeier.fit(y).mean() for y in (TRAIN, joined)]
    ax.text(
        0.25,
        0.12,
        f"mean of 9: {mean[1]:.3f}\nmean of 8: {mean[0]:.3f}\n"
        f"9 x {mean[1]:.3f} - 8 x {mean[0]:.3f} = {guess:.2f}",
        color=INK,
        va="bottom",
        fontsize=8.8,
    )
    ax.text(14.15, 0.05, f"counts as\n{guess:.2f}", color=RED)
    survival_axes(ax, 16)
    ax.legend(loc="upper right")
    return figure


def mae_pop_po() -> Any:
    figure, ax = panels(height=2.4)
    theta = sg.KaplanMeier.fit(TRAIN).mean()
    cs = [1.0, 6.0, 10.0]
    for i, c in enumerate(cs):
        ax.plot([0, c], [i, i], color=INK, lw=1.4)
        ax.plot(c, i, marker="o", ms=8, mfc="white", mec=INK, mew=1.4, zorder=4)
        ax.annotate(
            "",
            (theta, i),
            (c, i),
            arrowprops={"arrowstyle": "->", "color": RED, "lw": 1.8, "shrinkA": 5},
        )
        po = sg.surrogate_times(([c], [0]), y_train=TRAIN, method="po").time[0]
        ax.plot(po, i, marker="*", ms=11, color=BLUE)
    ax.axvline(theta, color=RED, lw=1.4, ls="--")
    ax.text(theta + 0.15, -0.75, f"mean of Kaplan-Meier {theta:.3f}", color=RED, ha="left")
    ax.text(8.75, 2.42, "back in time: it was event-free at 10", color=INK)
    ax.plot([], [], marker="*", ms=10, ls="", color=BLUE, label="po, for comparison")
    ax.legend(loc="center right", bbox_to_anchor=(1.0, 0.78))
    ax.set(xlim=(0, 16), ylim=(2.6, -1.0), xlabel="time (days)")
    ax.set_yticks(range(3), [f"censored at {c:g}" for c in cs])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    return figure


def mae_expected() -> Any:
    figure, ax = panels(height=2.9)
    km = sg.KaplanMeier.fit(TRAIN)
    atoms = np.array([8.0, 12.0, 14.0])
    weight = (km.at(atoms, side="left") - km.at(atoms)) / km.at(C)
    p = 11.0
    ax.bar(atoms, weight, width=0.5, color=BLUE)
    for a, m in zip(atoms, weight, strict=True):
        ax.text(a, m + 0.01, f"{m:.3f}", ha="center", color=BLUE)
    for a, height in zip(atoms, (0.10, 0.16, 0.22), strict=True):
        ax.annotate("", (a, height), (p, height), arrowprops={"arrowstyle": "->", "color": RED})
        ax.text((a + p) / 2, height + 0.008, f"{abs(a - p):g}", color=RED, ha="center")
    ax.axvline(p, color=INK, lw=1.2)
    ax.text(p + 0.15, 0.455, "predicted 11", color=INK)
    guess = sg.surrogate_times(([C], [0]), y_train=TRAIN, method="margin").time[0]
    ax.plot(guess, 0.005, marker="*", ms=12, color=ORANGE, zorder=5)
    ax.text(0.3, 0.40, "expected loss\n0.25 x 3 + 0.375 x 1 + 0.375 x 3 = 2.25\n\n"
            "one guess (star, 11.75): 0.75", color=INK, va="center")  # fmt: skip
    ax.plot(C, 0, marker="o", ms=8, mfc="white", mec=INK, clip_on=False, zorder=5)
    ax.set(xlim=(0, 16), ylim=(0, 0.5), xlabel="time (days)", ylabel="P(T = t given T > 6)")
    return figure


def _estimates() -> dict[str, tuple[float, float]]:
    """Estimates of an error up to a horizon and their standard errors, and the truth."""
    rng = np.random.default_rng(3)
    n, tau = 4_000, 10.0
    x = rng.normal(size=n).clip(-2, 2)
    scale, leaving = 10 * np.exp(0.5 * x), 14 * np.exp(-0.8 * x)
    time, censored = scale * rng.weibull(1.5, n), leaving * rng.exponential(size=n)
    y = sg.Outcomes(np.minimum(time, censored), time <= censored)
    predicted = 0.8 * scale * np.exp(0.3 * rng.normal(size=n))
    grid = np.linspace(0, tau, 61)
    right = sg.SurvivalCurves(grid, np.exp(-((grid / scale[:, None]) ** 1.5)))
    wrong = sg.SurvivalCurves(grid, np.exp(-grid / (3 * np.exp(-0.5 * x[:, None]))))
    g = sg.SurvivalCurves(grid, np.exp(-grid / leaving[:, None]))
    ways: dict[str, tuple[str, dict[str, Any]]] = {
        "ipcw_d: G wrong": ("ipcw_d", {}),
        "expected: distribution wrong": (
            "expected",
            {"conditional": sg.Conditional(distribution=wrong)},
        ),
        "dr: both wrong": ("dr", {"conditional": sg.Conditional(distribution=wrong)}),
        "dr: distribution wrong, G right": ("dr", {"conditional": sg.Conditional(wrong, g)}),
        "dr: distribution right, G wrong": ("dr", {"conditional": sg.Conditional(right)}),
        "dr: both right": ("dr", {"conditional": sg.Conditional(right, g)}),
    }
    found = {}
    for name, (method, options) in ways.items():
        d = sg.time_error(y, predicted, method=method, tau=tau, floor=0.02, **options)
        found[name] = d.value, d.stderr
    known = sg.mae(y, predicted, method="true", true_time=time, tau=tau)
    return {**found, "truth": (known, 0.0)}


def mae_dr() -> Any:
    figure, ax = panels(height=2.7)
    found = _estimates()
    truth, _ = found.pop("truth")
    ax.axvline(truth, color=INK, lw=1.2, ls="--")
    for row, (name, (value, error)) in enumerate(found.items()):
        colour = BLUE if name.startswith("dr") and "both wrong" not in name else RED
        ax.errorbar(value, row, xerr=1.96 * error, fmt="o", ms=7, color=colour, capsize=3)
        ax.text(value + 1.96 * error + 0.03, row, f"{value:.2f}", color=colour, va="center")
    ax.text(truth, -0.75, f" true error up to day 10: {truth:.2f}", color=INK, va="center")
    ax.set_yticks(range(len(found)), list(found))
    ax.set(ylim=(len(found) - 0.5, -1.1), xlim=(2.1, 3.75), xlabel="mean absolute error (days)")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    return figure


def time_losses() -> Any:
    figure, (left, right) = panels(2, height=3.0)
    p = np.linspace(0.5, 30, 300)
    left.plot(p, np.abs(p - 10), color=BLUE, lw=2, label="absolute (days)")
    left.plot(p, (p - 10) ** 2 / 10, color=RED, lw=2, ls="--", label="squared / 10 (days²)")
    left.set(ylim=(0, 33), xlabel="predicted (days), event at 10", ylabel="loss")
    left.set_title("in units of time")
    right.plot(p, np.abs(p - 10) / 10, color=GREEN, lw=2, label="relative |t-p|/t")
    right.plot(p, np.abs(np.log(p / 10)), color=PURPLE, lw=2, ls="--", label="log |ln t - ln p|")
    right.plot(p, np.abs(p - 10) / 40, color=ORANGE, lw=2, ls=":", label="normalised, scale 40")
    right.set(ylim=(0, 3.3), xlabel="predicted (days), event at 10")
    right.set_title("without a unit")
    for ax in (left, right):
        ax.axvline(10, color=INK, lw=0.8, ls=":")
        ax.legend(loc="upper center", fontsize=8.5)
    return figure


def tails() -> Any:
    figure, ax = panels(height=3.0)
    y = sg.Outcomes([2, 3, 5, 6, 8, 9, 12, 14], [1, 1, 0, 1, 1, 0, 1, 0])
    km = sg.KaplanMeier.fit(y)
    t, s = steps(km)
    end = float(s[-1])
    ax.step(t, s, where="post", color=INK, lw=2, label="Kaplan-Meier")
    grid = np.linspace(14, 30, 200)
    ax.plot(
        grid,
        np.maximum(1 - grid * (1 - end) / 14, 0),
        color=BLUE,
        lw=1.8,
        label=f"linear: mean {km.mean():.2f}",
    )
    ax.plot(
        grid,
        end ** (grid / 14),
        color=RED,
        lw=1.8,
        ls="--",
        label=f"exponential: mean {km.mean(tail='exponential'):.2f}",
    )
    ax.plot(
        [14, 30],
        [end, end],
        color=GREEN,
        lw=1.8,
        ls=":",
        label=f"hold: mean {km.mean(tail='hold'):.2f}",
    )
    ax.axvline(14, color=GREY, lw=0.8, ls=":")
    ax.text(14.3, 0.55, "nobody was\nseen past 14", color=GREY)
    survival_axes(ax, 30)
    ax.legend(loc="upper right")
    return figure


def pseudo_survival() -> Any:
    """The function whose area is the pseudo-observation, beside the one whose area is margin's."""
    figure, ax = panels(height=3.1)
    n = len(TRAIN)
    joined = sg.Outcomes(np.append(TRAIN.time, 10.0), np.append(TRAIN.event, False))
    small, large = sg.KaplanMeier.fit(TRAIN), sg.KaplanMeier.fit(joined)
    t = np.array([0.0, 2, 3, 5, 6, 8, 9, 10, 12, 14, 16])
    h = (n + 1) * large.at(t) - n * small.at(t)
    margin = np.where(t <= 10, 1.0, small.at(t) / small.at(10.0))
    ax.fill_between(t, margin, h, step="post", color=ORANGE, alpha=0.6, lw=0, label="po - margin")
    ax.step(t, h, where="post", color=RED, lw=1.8, label="h(t), its area is po = 13.40")
    ax.step(
        t,
        margin,
        where="post",
        color=BLUE,
        lw=1.8,
        ls="--",
        label="1, then S(t)/S(c): area margin = 13",
    )
    ax.axvline(10, color=INK, lw=0.8, ls=":")
    ax.text(9.85, 0.08, "censored at 10", ha="right")
    ax.set(xlim=(0, 16), ylim=(0, 1.65), xlabel="time (days)", ylabel="pseudo-survival h(t)")
    ax.legend(loc="upper left", ncols=1)
    return figure


ALL = (
    mae_uncensored,
    mae_hinge,
    mae_margin,
    mae_ipcw_d,
    mae_ipcw_t,
    mae_po,
    mae_pop_po,
    mae_expected,
    mae_dr,
    time_losses,
    tails,
    pseudo_survival,
)
