"""Real installed distributions for tests: a module and its ``dist-info`` in a folder on ``sys.path``."""

import textwrap


def install(folder, plugin, source, *, group="quoteway.v1", distribution=None, version="1.0", target=None):
    """Installs ``source`` as plugin ``plugin``; returns the module's name."""
    distribution = distribution or f"fake-{plugin}"
    module = f"fake_{distribution}_{plugin}".replace("-", "_").replace(".", "_")
    (folder / f"{module}.py").write_text(textwrap.dedent(source))
    info = folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    entry_points = info / "entry_points.txt"
    before = entry_points.read_text() if entry_points.exists() else ""
    entry_points.write_text(f"{before}[{group}]\n{plugin} = {target or module}\n")
    return module


CATALOG = """
    from quoteway import TokenCatalog, hookimpl

    class Catalog(TokenCatalog):
        id, title = "{id}", "Fake"
        async def tokens(self, chain_id): return []
        async def profile(self, token_id): return None
        async def token(self, chain_id, address): return None

    @hookimpl
    def quoteway_token_catalogs():
        return [Catalog()]
"""
"""A plugin that works."""


def works(provider_id="fake"):
    """The source of a plugin that works."""
    return CATALOG.format(id=provider_id)


UNIMPORTABLE = "import a_module_that_nobody_has"

RAISING_AT_START = (
    works("raising")
    + """
    import contextlib

    @hookimpl
    @contextlib.asynccontextmanager
    async def quoteway_lifespan(context):
        raise RuntimeError("the canary is hunter2")
        yield
"""
)

HANGING_IN_QUOTE = """
    import asyncio
    from quoteway import SwapProvider, hookimpl

    class Stubborn(SwapProvider):
        id, title = "stubborn", "Never answers, never gives up"
        def __init__(self, networks): self.networks = networks
        async def build(self, sealed): raise NotImplementedError
        async def quote(self, request):
            ends_at = asyncio.get_running_loop().time() + 5
            while asyncio.get_running_loop().time() < ends_at:
                try:
                    await asyncio.sleep(0.2)
                except asyncio.CancelledError:
                    pass

    @hookimpl
    def quoteway_swap_providers(context):
        return [Stubborn(frozenset(n.chain_id for n in context.networks))]
"""


def install_bad_four(folder):
    """Unimportable, of another API version, raising at start, hanging in ``quote`` against cancellation."""
    install(folder, "bad-import", UNIMPORTABLE)
    install(folder, "bad-version", "raise AssertionError('imported')", group="quoteway.v2")
    install(folder, "bad-start", RAISING_AT_START)
    install(folder, "bad-quote", HANGING_IN_QUOTE)
    return ("bad-import", "bad-version", "bad-start", "bad-quote")
