"""Letters for terminals and files that have only a few: what cannot be encoded is written plainly.

Under ``LANG=C`` a policy is drawn with ``^ v < >``, and ρ is written rho.
"""

from __future__ import annotations

import codecs
import unicodedata

ERRORS = "monmdp.plain"
"""name of the error handler, for `open` and `reconfigure`"""

# The drawings of policies need one letter for one; corners lie as they do around the S of a
# keyboard.
_ONE_FOR_ONE = ("↑↓←→↔↕↖↗↙↘•·−–—×▁▂▃▄▅▆▇█", "^v<>-|qezco*---x_.,-~=*#")
_WORDS = {
    "ρ": "rho", "γ": "gamma", "ε": "eps", "δ": "delta", "β": "beta", "κ": "kappa", "τ": "tau",
    "π": "pi", "λ": "lambda", "μ": "mu", "σ": "sigma", "Σ": "sum", "Δ": "Delta", "Ψ": "Psi",
    "ψ": "psi", "≥": ">=", "≤": "<=", "≠": "!=", "±": "+/-", "∝": "~", "√": "sqrt ", "∞": "inf",
    "⊥": "_|_", "∈": "in", "“": '"', "”": '"', "‘": "'", "’": "'", "′": "'", "⁄": "/", "⇄": "<->",
}  # fmt: skip


def plainly(text: str) -> str:
    """Return text in ASCII.

    >>> from monmdp.cli.plain import plainly
    >>> plainly("ρ ≥ 0.5 → rᵉ …"), plainly("é⊥")
    ('rho >= 0.5 > re ...', 'e_|_')
    """
    return "".join(map(_plain, text))


def _plain(letter: str) -> str:
    if letter in _TABLE:
        return _TABLE[letter]
    if 0xDC80 <= ord(letter) <= 0xDCFF:  # a byte of a file's name that is no text
        return f"\\x{ord(letter) - 0xDC00:02x}"
    apart = unicodedata.normalize("NFKD", letter)  # … is three dots, é an e with a mark
    parts = (_TABLE.get(part, part) for part in apart)
    return "".join(parts).encode("ascii", "ignore").decode() or "?"


def _handle(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return plainly(error.object[error.start : error.end]), error.end


_TABLE = dict(zip(*_ONE_FOR_ONE, strict=True)) | _WORDS
codecs.register_error(ERRORS, _handle)
