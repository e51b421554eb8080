"""Logs calls of providers that failed, or that took longer than a second."""

import logging

import quoteway

SLOW_S = 1.0
log = logging.getLogger(__name__)


@quoteway.hookimpl
def quoteway_observe(event):
    failed = event["outcome"] in ("failed", "timeout")
    if failed or event["duration_s"] > SLOW_S:
        log.warning(
            "%s of %s: %s after %.2f s, reason %s",
            *(event["method"], event["provider"], event["outcome"], event["duration_s"], event["reason"]),
        )
