"""The section "Unreleased" of CHANGELOG.md becomes the section of a version."""

import datetime
import re

UNRELEASED = "## Unreleased\n"


def cut(text: str, version: str, day: datetime.date) -> str:
    """Returns the changelog with what was unreleased as ``version``, below an empty "Unreleased".

    A changelog that has the version already stays as it is, so that a release that failed can be begun again.
    Raises ValueError when there is nothing to release, or when there are changes after the version.
    """
    before, found, after = text.partition(UNRELEASED)
    if not found:
        raise ValueError('CHANGELOG.md has no section "## Unreleased": add it above the newest version.')
    changes, heading, older = after.partition("\n## ")
    known = re.search(rf"^## {re.escape(version)} ", text, re.M) is not None
    if known and not changes.strip():
        return text
    if known:
        raise ValueError(
            f"CHANGELOG.md has {version} already, and changes after it: raise `version` in pyproject.toml."
        )
    if not changes.strip():
        raise ValueError('"## Unreleased" of CHANGELOG.md has no changes: there is nothing to release.')
    return f"{before}{UNRELEASED}\n## {version} ({day.isoformat()})\n{changes}{heading}{older}"
