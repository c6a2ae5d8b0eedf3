"""Catalog labels that a start-up log means: its model, GPU, engine version and number formats, or which option to give.

Nothing is guessed: what fits several entries, or none, is a problem that names the option and the candidates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gridplan.catalog import Catalog
from gridplan.catalog.names import find_model
from gridplan.catalog.versions import parse_version
from gridplan.errors import CatalogError, LogError, Problem, nearest
from gridplan.measured.engine_log import EngineLog
from gridplan.report.log_gpu import gpu_of

__all__ = ["LAST_V0", "Labels", "Options", "known_labels", "labels_of"]

WEIGHTS = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float32": "fp32",
    "fp8": "fp8",
    "fbgemm_fp8": "fp8",
    "w8a8_fp8": "fp8",
    "w8a8_int8": "int8",
    "awq": "int4",
    "awq_marlin": "int4",
    "gptq": "int4",
    "gptq_marlin": "int4",
    "mxfp4": "mxfp4",
    "gpt_oss_mxfp4": "mxfp4",
    "modelopt_fp4": "nvfp4",
}
"""Formats by the name that engines print: dtypes where nothing is quantised, else the method (fact:
QUANTIZATION_METHODS of vLLM and SGLang). Methods that hold several formats, such as compressed-tensors and
bitsandbytes, are left out."""

KV = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
    "fp8": "fp8",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "fp8_ds_mla": "fp8",
}
"""Formats of the KV cache by the name that engines print; `auto` is the 16-bit type of the weights."""


_MARKS = re.compile(r"fp8|fp4|awq|gptq|int4|int8|w4a16|w8a8|[48]-?bit|bnb|gguf", re.IGNORECASE)
"""Words in the name of a model that say its weights are quantised."""


FIRST_V1, LAST_V0 = "0.8", "vllm@0.7"
"""vLLM starts its V1 engine by default since 0.8; its V0 engine kept the rules of 0.7 until it went (fact: release
notes of vLLM 0.8.0)."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a person says of a log; None where the log is asked."""

    model: str | None = None
    gpu: str | None = None
    weight_dtype: str | None = None
    engine: str | None = None
    kv_dtype: str | None = None

    @property
    def any(self) -> bool:
        """Whether anything was said."""
        return any((self.model, self.gpu, self.weight_dtype, self.engine, self.kv_dtype))


@dataclass(frozen=True, slots=True)
class Labels:
    """Catalog labels of a log; `kv_dtype` None is the default of the contract."""

    model: str
    gpu: str
    weight_dtype: str
    engine: str
    kv_dtype: str | None


def labels_of(log: EngineLog, catalog: Catalog, options: Options | None = None) -> Labels:
    """The labels of a log. Raises LogError with every one that is missing, unknown or contradicts the log."""
    options = options or Options()
    found, problems = _found(log, catalog, options)
    if problems:
        raise LogError(problems)
    kv_dtype = found.get("kv_dtype")
    return Labels(found["model"], found["gpu"], found["weight_dtype"], found["engine"], kv_dtype)


def known_labels(log: EngineLog, catalog: Catalog, options: Options | None = None) -> dict[str, str]:
    """The labels of a log that are known, by input of a contract; those that are not are left out."""
    return _found(log, catalog, options or Options())[0]


def _found(log: EngineLog, catalog: Catalog, options: Options) -> tuple[dict[str, str], list[Problem]]:
    """Labels by input, and what keeps the others from being known; a cache format that is not stated is neither."""
    problems: list[Problem] = []
    found: dict[str, str] = {}
    for name, find in _FINDERS.items():
        try:
            label = find(log, catalog, options)
        except ValueError as error:
            problems.append(Problem(str(error), log.file, key=f"--{name.replace('_', '-')}"))
        except CatalogError as error:
            problems += [Problem(item.message, log.file, key=f"--{name.replace('_', '-')}") for item in error.problems]
        else:
            if label is not None:
                found[name] = label
    return found, problems


def _model(log: EngineLog, catalog: Catalog, options: Options) -> str:
    if options.model is not None:
        return catalog.model(options.model).id
    if log.model is None:
        raise ValueError("the log does not print the model; give its catalog id")
    known = find_model(catalog, log.model.value)
    if known is None:
        last = log.model.value.rstrip("/").rpartition("/")[2]
        close = nearest(last, catalog.models)
        hint = f"; nearest: {', '.join(close)}" if close else ""
        raise ValueError(f"{log.model.value} (line {log.model.line}) is not a model of the catalog; give its id{hint}")
    return known


def _gpu(log: EngineLog, catalog: Catalog, options: Options) -> str:
    return gpu_of(log, catalog, options.gpu)


def _weights(log: EngineLog, catalog: Catalog, options: Options) -> str:
    if options.weight_dtype is not None:
        return catalog.dtype("weight", options.weight_dtype).name
    formats = [name for role, name in catalog.dtypes if role == "weight"]
    give = f"give one of {', '.join(formats)}"
    printed = log.quantization or log.dtype
    if printed is None:
        raise ValueError(f"the log does not print the format of the weights; {give}")
    # SGLang prints the type it computes in, whatever the checkpoint holds.
    if log.engine == "sglang" and log.quantization is None:
        return _unquantised(log, catalog, options, give) or WEIGHTS.get(printed.value, printed.value)
    known = WEIGHTS.get(printed.value)
    if known is None or known not in formats:
        raise ValueError(f"{printed.value} (line {printed.line}) is not one format of weights; {give}")
    return known


def _unquantised(log: EngineLog, catalog: Catalog, options: Options, give: str) -> str | None:
    """The format of the model's own checkpoint; ValueError where the name says that this one is another."""
    text = options.model or (log.model.value if log.model else "")
    if marked := _MARKS.search(log.model.value if log.model else ""):
        raise ValueError(f"the log prints no quantisation, but the name of the model says {marked[0]}; {give}")
    known = find_model(catalog, text)
    return catalog.models[known].native_weight_dtype if known else None


def _engine(log: EngineLog, catalog: Catalog, options: Options) -> str:
    if options.engine is not None:
        name = options.engine.partition("@")[0]
        if name != log.engine:
            raise ValueError(f"{options.engine} did not write this log: its sentences are those of {log.engine}")
        catalog.engine(options.engine)
        return options.engine
    newest = [entry.version_from for entry in catalog.engines if entry.name == log.engine][-1]
    if log.engine_version is None:
        known = [entry for entry in catalog.engines if entry.name == log.engine]
        if len(known) == 1:  # one entry for all versions: which one it was makes no difference
            return log.engine
        raise ValueError(f"the log does not print the version of {log.engine}; give it as {log.engine}@{newest}")
    numbers = re.match(r"v?(\d+(?:\.\d+)*)", log.engine_version.value)
    if numbers is None:
        printed = f"{log.engine_version.value} (line {log.engine_version.line})"
        raise ValueError(f"{printed} is not a version; give it as {log.engine}@{newest}")
    spec = f"{log.engine}@{numbers[1]}"
    if log.generation == "V0" and parse_version(numbers[1]) >= parse_version(FIRST_V1):
        spec = LAST_V0
    catalog.engine(spec)
    return spec


def _cache(log: EngineLog, catalog: Catalog, options: Options) -> str | None:
    if options.kv_dtype is not None:
        return catalog.dtype("kv", options.kv_dtype).name
    printed = log.kv_cache_dtype
    if printed is None or printed.value == "auto":
        return None
    if printed.value not in KV:
        formats = ", ".join(name for role, name in catalog.dtypes if role == "kv")
        raise ValueError(f"KV cache format {printed.value} (line {printed.line}) is not known; give one of {formats}")
    return KV[printed.value]


_FINDERS: Mapping[str, Callable[[EngineLog, Catalog, Options], str | None]] = {
    "model": _model,
    "gpu": _gpu,
    "weight_dtype": _weights,
    "engine": _engine,
    "kv_dtype": _cache,
}
"""By label, what finds it: ValueError or CatalogError say why it cannot."""
