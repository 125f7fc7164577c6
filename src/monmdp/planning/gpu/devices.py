"""Where the planner runs: names of devices, whether they are there, and what fits into them."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from monmdp.errors import MonMDPError, nearest
from monmdp.memory import in_bytes, room

CPU, GPU, JAX_CPU = "cpu", "gpu", "jax-cpu"
DEVICES = (CPU, GPU, JAX_CPU)
"""the CPU's planner; the sweeps on a graphics card; the same sweeps on the CPU, to test them"""
INSTALL = "pip install 'jax[cuda13]' (or 'jax[cuda12]', by the card's driver)"


def checked_device(device: str) -> str:
    """Return the name of a device, or say which was meant."""
    if device not in DEVICES:
        meant = GPU if str(device).lower() in ("cuda", "nvidia") else str(device)
        raise MonMDPError(f"unknown device {device!r}{nearest(meant, DEVICES)}")
    return device


def lacking(device: str) -> str | None:
    """Return why a device cannot be used, and what to do about it; None if it can."""
    if checked_device(device) == CPU:
        return None
    try:
        jax = importlib.import_module("jax")
    except ImportError:
        install = INSTALL if device == GPU else "pip install jax"
        return f"device {device!r} needs the package jax: {install}; the CPU is used instead"
    try:
        jax.devices(_platform(device))
    except RuntimeError:
        return (
            "JAX finds no GPU here; on a machine that has one, its build for GPUs may be missing: "
            f"{INSTALL}; the CPU is used instead"
        )
    return None


def usable(device: str) -> str:
    """Return the device, or the CPU with a warning if it cannot be used."""
    reason = lacking(device)
    if reason is None:
        return device
    warnings.warn(reason, stacklevel=3)
    return CPU


def jax_device(device: str) -> Any:
    """Return the device as JAX knows it; several cards: the first."""
    return importlib.import_module("jax").devices(_platform(device))[0]


def demand_device_room(needed: int, device: str, what: str) -> None:
    """Refuse what would not fit into the device's memory."""
    stats = jax_device(device).memory_stats()
    free = room()  # where a device does not tell, its memory is the machine's
    if stats and "bytes_limit" in stats:
        free = int(stats["bytes_limit"]) - int(stats.get("bytes_in_use", 0))
    if needed > free:
        raise MonMDPError(
            f"{what} would take about {in_bytes(needed)} of memory on device {device!r}; there is "
            f"room for {in_bytes(free)}; device='cpu' has room for {in_bytes(room())}"
        )


def _platform(device: str) -> str:
    return CPU if device == JAX_CPU else device
