"""What all networks share: settings, standardised features, training, prediction in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..._tools.arrays import Floats, positive, whole_number
from ...data.outcomes import Outcomes
from ...errors import InputError
from .._training import (
    BLOCK_ROWS,
    Batch,
    Scaling,
    Training,
    drop,
    generator,
    hold_out,
    linear,
    tensor,
    to_device,
    train,
    workshop,
)
from ..base import SurvivalModel


@dataclass(eq=False, repr=False, kw_only=True)
class TorchModel(Training, SurvivalModel):
    """Base of the networks; a subclass says what is learnt and by which loss.

    Features are standardised inside. A share `validation_fraction` of the rows, alike in events
    and times, decides when to stop; where there are too few events for that, all rows train and
    the training loss decides (with a warning). Fitting computes on one thread, and the same seed
    gives the same predictions on the same machine; torch's global generator and thread count are
    left as they were. On a GPU (``device="cuda"`` or ``"auto"``) the random numbers are the same,
    sums may be rounded differently.

    Attributes
    ----------
    net_ : torch.nn.Module
        Weights of the best epoch, on the CPU.
    history_ : History
        Losses by epoch.
    """

    validation_fraction: float = 0.2
    device: str = "cpu"
    random_state: int | None = 0
    verbose: bool = False

    # -- what a network defines ------------------------------------------------------------

    def _check(self) -> None:
        """Refuse parameters of its own."""

    def _targets(self, y: Outcomes) -> dict[str, Any]:
        """Columns that the loss needs, one row per subject; may set what the network needs."""
        raise NotImplementedError

    def _network(self, inputs: int, y: Outcomes, draw: torch.Generator) -> nn.Module:
        """Untrained network."""
        raise NotImplementedError

    def _loss(self, net: nn.Module, batch: Batch, draw: torch.Generator, learning: bool) -> Tensor:
        """Mean loss of a batch."""
        raise NotImplementedError

    # -- what is the same for all ----------------------------------------------------------

    @property
    def best_epoch_(self) -> int:
        """Epoch whose weights were kept."""
        return self.history_.best_epoch

    def _fit(self, X: Floats, y: Outcomes) -> None:
        self.check_training()
        self._check()
        device = to_device(self.device)
        held_out = hold_out(y, self.validation_fraction, self._stream("validation"))
        if held_out is None:
            self._note(
                f"{int(y.event.sum())} event(s) are too few to hold any out for validation; "
                "training stops by the training loss",
                warn=True,
            )
        self._scaling = Scaling.of(X)
        with workshop(learning=True):
            columns = {"x": self._scaling.apply(X), **self._targets(y)}
            draw = generator(self._stream("weights"))
            net = self._network(columns["x"].shape[1], y, draw).to(device)
            self.history_ = train(
                self.facts.name,
                net,
                lambda batch, draw, learning: self._loss(net, batch, draw, learning),
                {key: tensor(values, device) for key, values in columns.items()},
                held_out,
                self,
                self._stream("training"),
                self._report,
            )
            self.net_ = net.cpu()
        self._report(f"kept epoch {self.best_epoch_} of {len(self.history_.training)}")

    def _apply(
        self, X: Floats, compute: Callable[[Tensor], Tensor], rows: int = BLOCK_ROWS
    ) -> Floats:
        """Compute from standardised rows, a block at a time; on the CPU, without gradients."""
        parts = []
        with workshop(learning=False):
            for start in range(0, X.shape[0], rows):
                x = self._scaling.apply(X[start : start + rows])
                parts.append(compute(tensor(x, torch.device("cpu"))).numpy())
        return np.concatenate(parts).astype(np.float64)


def share(value: Any, name: str) -> None:
    """Refuse anything outside (0, 1]."""
    if positive(value, name) > 1:
        raise InputError(f"{name} must be at most 1; got {value!r}")


def sizes(name: str, value: Any) -> tuple[int, ...]:
    """Read the widths of hidden layers, at least one."""
    widths = tuple(np.atleast_1d(value).tolist())
    if not widths:
        raise InputError(f"{name} must name at least one layer; got {value!r}")
    for width in widths:
        whole_number(width, name, 1)
    return widths


def chain(widths: Sequence[int], draw: torch.Generator) -> list[nn.Linear]:
    """Layers that lead from each width to the next."""
    return [linear(a, b, draw) for a, b in zip(widths[:-1], widths[1:], strict=True)]


def through(
    layers: Iterable[nn.Module], x: Tensor, keep: float = 1.0, draw: torch.Generator | None = None
) -> Tensor:
    """Hidden layers one after the other, with dropout if there is a generator for it."""
    for layer in layers:
        x = torch.relu(layer(x))
        if draw is not None:
            x = drop(x, keep, draw)
    return x
