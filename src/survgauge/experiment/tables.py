"""Results of a store in long format: one row per cell and metric."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from .._tools.extras import need
from ..data.tables import open_parquet
from ..errors import InputError
from .plan import Plan
from .store import Store

if TYPE_CHECKING:
    import pandas as pd

_FLOATS = ("value", "stderr", "true_value", "true_stderr", "data_tail_share")


def read_table(store: Store, plan: Plan) -> pd.DataFrame:
    """Frame of the finished cells of a plan, or of the consolidated file of a store without cells.

    Nothing is written into the store.
    """
    if not store.is_used():
        raise InputError(f"{store.root} holds no run; survgauge bench makes one")
    content = store.consolidated()
    if content is not None:
        try:
            with open_parquet(io.BytesIO(content), extra="experiment") as file:
                return file.read().to_pandas()
        except (ValueError, OSError) as error:  # errors of Arrow are among these
            raise store.damaged_results(error) from error
    frame = _frame(store, plan)
    if frame.empty:
        raise InputError(_why_empty(store, store.failures(plan)))
    return frame


def _why_empty(store: Store, failed: list[dict[str, Any]]) -> str:
    """Say why a store has no results."""
    if not failed:
        return f"no cell of the plan has run in {store.root} yet; run the plan with --resume"
    first = failed[0]
    where = " / ".join(str(name) for name in first["cell"].values())
    return (
        f"no cell of the plan has a result in {store.root}: {len(failed)} failed. The first error "
        f"({where}) is {first['error']}: {first['message']}. Tracebacks are in "
        f"{store.root / 'failures'}; fix the cause and run again with --retry-failed"
    )


def consolidate(store: Store, plan: Plan) -> None:
    """Write ``results.parquet`` of a store from its cells."""
    frame = _frame(store, plan)
    parquet = need("pyarrow.parquet", "writing Parquet", "experiment")
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    table = pa.Table.from_pandas(frame, preserve_index=False)
    parquet.write_table(table, sink, write_page_checksum=True)
    store.write_results(sink.getvalue().to_pybytes())


def _frame(store: Store, plan: Plan) -> pd.DataFrame:
    frame = need("pandas", "tables of results", "experiment").DataFrame(_rows(store, plan))
    return frame.astype({column: "float64" for column in _FLOATS if column in frame})


def _rows(store: Store, plan: Plan) -> list[dict[str, Any]]:
    """Everything about every cell, repeated for each of its metrics."""
    specs = {spec.label: spec for spec in plan.metrics}
    params = {spec.label: json.dumps(spec.params, sort_keys=True) for spec in plan.models}
    rows = []
    for record in store.records(plan):
        names, seconds = record["cell"], record["seconds"]
        head = {
            "plan": plan.name,
            "seed": plan.seed,
            **names,
            "model_params": params[names["model"]],
            **{f"data_{key}": value for key, value in record["data"].items()},
            "seconds_fit": seconds.get("fit"),
            "seconds": seconds["total"],
            "digest": record["digest"],
        }
        for row in record["metrics"]:
            spec = specs[row["metric"]]
            about = {
                "metric_settings": json.dumps(spec.settings, sort_keys=True),
                "direction": spec.direction,
            }
            rows.append({**head, "note": None, "error": None, **row, **about})
    return rows
