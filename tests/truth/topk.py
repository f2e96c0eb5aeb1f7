"""Slow, obvious twins of the projections: rational arithmetic over every possible pair of active sets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def project_topk_by_enumeration(alpha, beta, k):
    """(alpha, beta) projected onto the top-k simplex, exactly: try every partition, keep the one that satisfies KKT.

    Theorem 2 of Zhang et al. (2018) in rational numbers; O(m n^2) partitions of O(m + n) each.
    """
    a = sorted((Fraction(float(v)) for v in alpha), reverse=True)
    b = sorted((Fraction(float(v)) for v in beta), reverse=True)
    m, n = len(a), len(b)
    if k > n or k * a[0] + sum(b[:k]) <= 0:
        return np.zeros(m), np.zeros(n)
    for A in range(1, m + 1):
        for s in range(k + 1):
            for N in range(max(s, k), n + 1):
                found = _thresholds(a, b, k, A, N, s)
                if found is not None:
                    lam, mu, C = found
                    p = [float(max(Fraction(float(v)) - lam, 0)) for v in alpha]
                    q = [float(min(max(Fraction(float(v)) - mu, 0), C / k)) for v in beta]
                    return np.array(p), np.array(q)
    raise AssertionError("no partition satisfies the optimality system")


def _thresholds(a, b, k, A, N, s):
    SA, ST, SF, free = sum(a[:A]), sum(b[:s]), sum(b[s:N]), N - s
    if free == 0:
        if s != k:
            return None
        C = (k * SA / A + ST) / (Fraction(k, A) + 1)
        mu = b[k] if k < len(b) else b[k - 1] - C / k
    else:
        C = (k * SA / A + (k - s) * SF / free + ST) / (
            Fraction(k, A) + Fraction((k - s) ** 2, k * free) + Fraction(s, k)
        )
        mu = (SF - C * (k - s) / k) / free
    lam = (SA - C) / A
    ok = C > 0
    ok = ok and sum(max(v - lam, 0) for v in a) == C
    ok = ok and sum(min(max(v - mu, 0), C / k) for v in b) == C
    ok = ok and lam + mu + sum(max(v - mu - C / k, 0) for v in b) / k == 0
    return (lam, mu, C) if ok else None
