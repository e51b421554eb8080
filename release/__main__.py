"""``make release``: builds and checks everything that a release uploads, in ``dist/``.

It refuses a tree with changes that are not committed. It cuts the changelog; it commits, tags and uploads
nothing.
"""

import datetime
import shutil
import subprocess
import sys
from pathlib import Path

from release.changelog import cut
from release.distributions import ROOT, build, commit_time, version

DIST = ROOT / "dist"
TOOLS = Path(sys.executable).parent


def run(*command: str | Path) -> None:
    subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603


def bill_of_materials(target: Path) -> None:
    """What a deployment with every plugin has, by version and hash: CycloneDX JSON made from the lock."""
    run(
        *(TOOLS / "cyclonedx-py", "requirements", "locks/runtime.txt", "--pyproject", "pyproject.toml"),
        *("--output-reproducible", "--validate", "--output-format", "JSON", "--output-file", target),
    )


def main() -> int:
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, check=True, capture_output=True)  # noqa: S607
    if changed.stdout:
        print("There are changes that are not committed: commit them, or take them back, and run it again.")
        return 1
    new, changelog = version(), ROOT / "CHANGELOG.md"
    text = changelog.read_text()
    try:
        released = cut(text, new, datetime.datetime.now(datetime.UTC).date())
    except ValueError as error:
        print(error)
        return 1
    if released != text:
        changelog.write_text(released)
        print(f"CHANGELOG.md has the section {new} now. Commit it, and run this again to build that commit.")
        return 0
    shutil.rmtree(DIST, ignore_errors=True)
    built = build(DIST, commit_time())
    run(TOOLS / "twine", "check", "--strict", *built)
    bill_of_materials(DIST / f"quoteway-{new}.cdx.json")
    print(f"dist/ has {len(built)} files and a bill of materials: tag the commit v{new}, and upload.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
