"""One training loop for all networks: mini-batches, early stopping, best weights kept.

Random numbers come from generators that are handed in, drawn on the CPU whatever the device, so
torch's global generator is neither read nor moved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._tools.arrays import Bools, Floats, positive, probability, whole_number
from ..data.outcomes import Outcomes
from ..errors import InputError, MissingExtraError
from .errors import FitError

try:
    import torch
    from torch import Tensor, nn
except ImportError as missing:
    raise MissingExtraError("survgauge.models.torch_models", "torch") from missing

#: Rows of the same subjects in several tensors, by name.
Batch = dict[str, Tensor]
#: Mean loss of a batch; draws from the generator and says whether weights are being trained.
Loss = Callable[[Batch, torch.Generator, bool], Tensor]

# Rows at a time where nothing is learnt: validation and prediction.
BLOCK_ROWS = 1024
# Longer gradients are shortened to it.
LONGEST_GRADIENT = 5.0


@dataclass(eq=False, repr=False, kw_only=True)
class Training:
    """How to train.

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
    """

    optimizer: ClassVar[str] = "adam"

    epochs: int = 300
    patience: int = 20
    batch_size: int = 128
    learning_rate: float = 1e-3
    weight_decay: float = 1e-3

    def check_training(self) -> None:
        """Refuse settings with which nothing can be trained."""
        for name in ("epochs", "patience", "batch_size"):
            whole_number(getattr(self, name), name, 1)
        positive(self.learning_rate, "learning_rate")
        positive(self.weight_decay, "weight_decay", zero=True)


@dataclass(frozen=True)
class History:
    """What happened: losses by epoch, and the epoch (from 1) whose weights were kept."""

    training: tuple[float, ...]
    validation: tuple[float, ...]
    best_epoch: int


def train(
    name: str,
    net: nn.Module,
    loss: Loss,
    data: Batch,
    held_out: Bools | None,
    settings: Training,
    rng: np.random.Generator,
    report: Callable[[str], None],
) -> History:
    """Train `net` in place and leave it with the weights of its best epoch.

    Parameters
    ----------
    name : str
        Model, for error messages.
    loss : callable
        Mean loss of a batch of rows.
    data : dict of Tensor
        All rows; those of `held_out` are for validation.
    held_out : ndarray of bool or None
        None validates on the training rows themselves.
    rng : Generator
        Gives the seeds of the order of rows, of the training noise and of the validation noise.
        The last is the same in every epoch, so that epochs differ by their weights alone.
    report : callable
        Told about progress.
    """
    training, validation = _parts(data, held_out)
    shuffle, noise = generator(rng), generator(rng)
    validation_seed = int(rng.integers(2**62))
    optimizer = _optimizer(net, settings)
    losses: tuple[list[float], list[float]] = ([], [])
    best, best_epoch, kept = math.inf, 0, _weights(net)
    for epoch in range(1, settings.epochs + 1):
        losses[0].append(_epoch(net, loss, training, optimizer, settings, shuffle, noise))
        frozen = torch.Generator().manual_seed(validation_seed)
        losses[1].append(_mean_loss(loss, validation, frozen))
        if not (math.isfinite(losses[0][-1]) and math.isfinite(losses[1][-1])):
            raise FitError(
                name,
                f"the loss became {losses[0][-1]:g} (training), {losses[1][-1]:g} "
                f"(validation) in epoch {epoch}; scale the features or lower learning_rate",
            )
        if losses[1][-1] < best:
            best, best_epoch, kept = losses[1][-1], epoch, _weights(net)
        if epoch % 10 == 0:
            report(
                f"epoch {epoch}: loss {losses[0][-1]:.4f}, validation {losses[1][-1]:.4f}, "
                f"best {best:.4f} in epoch {best_epoch}"
            )
        if epoch - best_epoch >= settings.patience:
            break
    net.load_state_dict(kept)
    return History(tuple(losses[0]), tuple(losses[1]), best_epoch)


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


def _common(values: Tensor, shared: int | None) -> tuple[int, ...]:
    return tuple(1 if axis == shared else size for axis, size in enumerate(values.shape))


def _parts(data: Batch, held_out: Bools | None) -> tuple[Batch, Batch]:
    if held_out is None:
        return data, data
    device = next(iter(data.values())).device
    inside = torch.from_numpy(np.flatnonzero(~held_out)).to(device)
    outside = torch.from_numpy(np.flatnonzero(held_out)).to(device)
    return _rows(data, inside), _rows(data, outside)


def _rows(data: Batch, index: Any) -> Batch:
    return {key: values[index] for key, values in data.items()}


def _size(data: Batch) -> int:
    return int(next(iter(data.values())).shape[0])


def _weights(net: nn.Module) -> dict[str, Tensor]:
    return {key: values.detach().clone() for key, values in net.state_dict().items()}


def _optimizer(net: nn.Module, settings: Training) -> Any:
    kind = torch.optim.RMSprop if settings.optimizer == "rmsprop" else torch.optim.AdamW
    decay = settings.weight_decay
    return kind(net.parameters(), lr=settings.learning_rate, weight_decay=decay)


def _epoch(
    net: nn.Module,
    loss: Loss,
    data: Batch,
    optimizer: Any,
    settings: Training,
    shuffle: torch.Generator,
    noise: torch.Generator,
) -> float:
    """One pass over all rows in random order; the mean loss on the way."""
    n = _size(data)
    order = torch.randperm(n, generator=shuffle, device="cpu")
    total = 0.0
    for start in range(0, n, settings.batch_size):
        rows = order[start : start + settings.batch_size]
        optimizer.zero_grad(set_to_none=True)
        value = loss(_rows(data, rows.to(next(net.parameters()).device)), noise, True)
        torch.autograd.backward(value)
        nn.utils.clip_grad_norm_(net.parameters(), LONGEST_GRADIENT)
        optimizer.step()
        total += float(value.detach()) * rows.numel()
        if not math.isfinite(total):
            return total
    return total / n


def _mean_loss(loss: Loss, data: Batch, noise: torch.Generator) -> float:
    n = _size(data)
    total = 0.0
    with torch.no_grad():
        for start in range(0, n, BLOCK_ROWS):
            part = _rows(data, slice(start, start + BLOCK_ROWS))
            total += float(loss(part, noise, False)) * _size(part)
    return total / n
