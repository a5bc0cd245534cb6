"""What all networks share: settings, one training loop, prediction in blocks, parts of networks.

Training is by mini-batches with early stopping, and the weights of the best epoch are kept. Random
numbers come from generators that are handed in; they are drawn on the CPU whatever the device, and
torch's global generator is neither read nor moved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...._tools.arrays import Bools, Floats, positive, probability, whole_number
from ....data.outcomes import Outcomes
from ....errors import InputError, MissingExtraError

try:  # before scikit-learn, which looks for torch too
    import torch
    from torch import Tensor, nn
except ImportError as missing:
    raise MissingExtraError("survgauge.bench.models.torch_models", "torch") from missing

from ....estimators.learners import FitError
from ....estimators.learners.base import SurvivalModel

#: Rows of the same subjects in several tensors, by name.
Batch = dict[str, Tensor]
# Rows at a time where nothing is learnt: validation and prediction.
BLOCK_ROWS = 1024
# Longer gradients are shortened to it.
LONGEST_GRADIENT = 5.0


@dataclass(frozen=True)
class History:
    """What happened: losses by epoch, and the epoch (from 1) whose weights were kept."""

    training: tuple[float, ...]
    validation: tuple[float, ...]
    best_epoch: int


@dataclass(eq=False, repr=False, kw_only=True)
class TorchModel(SurvivalModel):
    """Base of the networks; a subclass says what is learnt and by which loss.

    Features are standardised inside. A share `validation_fraction` of the rows, alike in events
    and times, decides when to stop; where there are too few events for that, all rows train and
    the training loss decides (with a warning). Fitting computes on one thread, and the same seed
    gives the same predictions on the same machine; torch's global generator and thread count are
    left as they were. On a GPU (``device="cuda"`` or ``"auto"``) the random numbers are the same,
    sums may be rounded differently.

    Parameters
    ----------
    epochs : int
        Most passes over the training rows.
    patience : int
        Epochs without a better validation loss after which training stops.
    batch_size : int
        Rows a step.
    learning_rate, weight_decay : float
        Of the optimiser.

    Attributes
    ----------
    optimizer : {"adam", "rmsprop"}
        Adam with decoupled weight decay, or RMSprop.
    net_ : torch.nn.Module
        Weights of the best epoch, on the CPU.
    history_ : History
        Losses by epoch.
    """

    optimizer: ClassVar[str] = "adam"

    epochs: int = 300
    patience: int = 20
    batch_size: int = 128
    learning_rate: float = 1e-3
    weight_decay: float = 1e-3
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
        for name in ("epochs", "patience", "batch_size"):
            whole_number(getattr(self, name), name, 1)
        positive(self.learning_rate, "learning_rate")
        positive(self.weight_decay, "weight_decay", zero=True)
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
            data = {key: tensor(values, device) for key, values in columns.items()}
            parts = data, data
            if held_out is not None:
                chosen = (np.flatnonzero(rows) for rows in (~held_out, held_out))
                training, validation = (torch.from_numpy(rows).to(device) for rows in chosen)
                parts = _rows(data, training), _rows(data, validation)
            self.history_ = self._train(net, *parts)
            self.net_ = net.cpu()
        self._report(f"kept epoch {self.best_epoch_} of {len(self.history_.training)}")

    def _train(self, net: nn.Module, training: Batch, validation: Batch) -> History:
        """Train a network in place and leave it with the weights of its best epoch."""
        rng = self._stream("training")
        shuffle, noise = generator(rng), generator(rng)
        # The same in every epoch, so that epochs differ by their weights alone.
        validation_seed = int(rng.integers(2**62))
        kind = torch.optim.RMSprop if self.optimizer == "rmsprop" else torch.optim.AdamW
        optimizer = kind(net.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)
        losses: tuple[list[float], list[float]] = ([], [])
        best, best_epoch, kept = math.inf, 0, _weights(net)
        for epoch in range(1, self.epochs + 1):
            learnt = self._epoch(net, training, optimizer, shuffle, noise)
            found = self._mean_loss(net, validation, validation_seed)
            if not (math.isfinite(learnt) and math.isfinite(found)):
                raise FitError(
                    self.facts.name,
                    f"the loss became {learnt:g} (training), {found:g} (validation) in epoch "
                    f"{epoch}; scale the features or lower learning_rate",
                )
            losses[0].append(learnt)
            losses[1].append(found)
            if found < best:
                best, best_epoch, kept = found, epoch, _weights(net)
            if epoch % 10 == 0:
                self._report(
                    f"epoch {epoch}: loss {learnt:.4f}, validation {found:.4f}, "
                    f"best {best:.4f} in epoch {best_epoch}"
                )
            if epoch - best_epoch >= self.patience:
                break
        net.load_state_dict(kept)
        return History(tuple(losses[0]), tuple(losses[1]), best_epoch)

    def _epoch(
        self,
        net: nn.Module,
        data: Batch,
        optimizer: Any,
        shuffle: torch.Generator,
        noise: torch.Generator,
    ) -> float:
        """One pass over all rows in random order; the mean loss on the way."""
        n, total = data["x"].shape[0], 0.0
        order = torch.randperm(n, generator=shuffle, device="cpu")
        for start in range(0, n, self.batch_size):
            rows = order[start : start + self.batch_size]
            optimizer.zero_grad(set_to_none=True)
            value = self._loss(net, _rows(data, rows.to(data["x"].device)), noise, True)
            torch.autograd.backward(value)
            nn.utils.clip_grad_norm_(net.parameters(), LONGEST_GRADIENT)
            optimizer.step()
            total += float(value.detach()) * rows.numel()
            if not math.isfinite(total):
                return total
        return total / n

    def _mean_loss(self, net: nn.Module, data: Batch, seed: int) -> float:
        n, total, noise = data["x"].shape[0], 0.0, torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for start in range(0, n, BLOCK_ROWS):
                part = _rows(data, slice(start, start + BLOCK_ROWS))
                total += float(self._loss(net, part, noise, False)) * part["x"].shape[0]
        return total / n

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


def hold_out(y: Outcomes, fraction: float, rng: np.random.Generator) -> Bools | None:
    """Choose rows for validation, alike in events and times to the others.

    Events and censored rows are each sorted by time and cut into blocks of about 1 / `fraction`
    rows, one of which is drawn.

    Returns
    -------
    ndarray of bool or None
        None where an event cannot be both held out and kept for training.

    Examples
    --------
    >>> y = Outcomes(time=range(1, 11), event=[1, 0] * 5)
    >>> chosen = hold_out(y, 0.2, np.random.default_rng(0))
    >>> int(chosen.sum()), int(y.event[chosen].sum())
    (2, 1)
    """
    probability(fraction, "validation_fraction")
    chosen = np.zeros(len(y), dtype=bool)
    for group in (y.event, ~y.event):
        rows = np.flatnonzero(group)
        rows = rows[np.argsort(y.time[rows], kind="stable")]
        edges = np.linspace(0, rows.size, round(rows.size * fraction) + 1).round().astype(np.intp)
        width = np.diff(edges)
        chosen[rows[edges[:-1] + (rng.random(width.size) * width).astype(np.intp)]] = True
    events = int(y.event[chosen].sum())
    return chosen if 0 < events < int(y.event.sum()) else None


@contextmanager
def workshop(learning: bool) -> Iterator[None]:
    """Compute on one thread, with or without gradients, whatever the caller had set.

    On one thread sums keep their order, and small networks are faster.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode(False), torch.set_grad_enabled(learning):
            yield
    finally:
        torch.set_num_threads(before)


def _rows(data: Batch, index: Any) -> Batch:
    return {key: values[index] for key, values in data.items()}


def _weights(net: nn.Module) -> dict[str, Tensor]:
    return {key: values.detach().clone() for key, values in net.state_dict().items()}


# -- parts of networks -----------------------------------------------------------------------------


def generator(rng: np.random.Generator) -> torch.Generator:
    """Turn a stream of ours into one of torch's."""
    return torch.Generator().manual_seed(int(rng.integers(2**62)))


def linear(
    inputs: int, outputs: int, draw: torch.Generator, bias: Any = 0.0, scale: float = 1.0
) -> nn.Linear:
    """Make a layer with weights in +-scale/sqrt(inputs), drawn from `draw` and nothing else."""
    # Made without memory first: torch fills new layers from its global generator otherwise.
    layer = nn.Linear(inputs, outputs, device="meta", dtype=torch.float32).to_empty(device="cpu")
    bound = scale / math.sqrt(max(inputs, 1))
    with torch.no_grad():
        layer.weight.uniform_(-bound, bound, generator=draw)
        layer.bias.copy_(torch.as_tensor(bias, dtype=torch.float32, device="cpu"))
    return layer


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


def drop(values: Tensor, keep: float, draw: torch.Generator, shared: int | None = None) -> Tensor:
    """Dropout: keep each value with probability `keep`, scaled so that means stay.

    Along the dimension `shared` the same values are dropped.
    """
    if keep >= 1:
        return values
    shape = _common(values, shared)
    number = torch.rand(shape, generator=draw, dtype=torch.float32, device="cpu")
    return values * (number < keep).to(values.device) / keep


def add_noise(values: Tensor, draw: torch.Generator, shared: int | None = None) -> Tensor:
    """Append as many standard normal columns as there are; the same along `shared`."""
    shape = _common(values, shared)
    number = torch.randn(shape, generator=draw, dtype=torch.float32, device="cpu")
    return torch.cat([values, number.to(values.device).expand(values.shape)], dim=-1)


def _common(values: Tensor, shared: int | None) -> tuple[int, ...]:
    return tuple(1 if axis == shared else size for axis, size in enumerate(values.shape))


def to_device(device: str) -> torch.device:
    """Read the name of a device; ``auto`` is a GPU where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
        torch.empty(0, device=found)
    except (RuntimeError, TypeError, AssertionError) as error:
        raise InputError(
            f"device must be 'cpu', 'auto' or a device that torch can use here; got {device!r} "
            f"({' '.join(str(error).split())[:120]})"
        ) from error
    return found


def tensor(values: Any, device: torch.device) -> Tensor:
    """Copy an array to a device: real numbers in float32, the rest as they are."""
    array = np.asarray(values)
    kept = np.float32 if array.dtype.kind == "f" else array.dtype
    return torch.from_numpy(np.array(array, dtype=kept)).to(device)


@dataclass(frozen=True)
class Scaling:
    """Centre and spread of every feature; a constant one has spread 1."""

    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, X: Floats) -> Scaling:
        """Learn from training rows."""
        mean, deviation = X.mean(axis=0), X.std(axis=0)
        # Rounding leaves a constant column a deviation that is not quite zero.
        constant = deviation <= 1e-12 * np.abs(X).max(axis=0, initial=0.0)
        return cls(mean, np.where(constant, 1.0, deviation))

    def apply(self, X: Floats) -> Floats:
        """Standardise rows; without any column, one of zeros, so that there is a network."""
        if X.shape[1] == 0:
            return np.zeros((X.shape[0], 1))
        return (X - self.mean) / self.spread


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
