"""A gateway with a plugin in a process of its own, whose provider does what a test says."""

import asyncio

from distributions import install
from quoteway.config.model import Config, PluginsConfig, QuotesConfig
from quoteway.models import Capability, SwapRequest, Token
from quoteway.networks import Network
from quoteway.testing.fakes import FakePlugin, ListedTokens, MemoryRpc

WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
USD = Token(4242, "0x1111111111111111111111111111111111111111", 6, "USD", "A dollar")
EUR = Token(4242, "0x2222222222222222222222222222222222222222", 18, "EUR", "A euro")
PATIENCE_S = 60

NAUGHTY = """
    import asyncio, logging, os, subprocess, sys, time
    from quoteway import InvalidRequest, Reason, UpstreamError, FieldError, hookimpl
    from quoteway.testing.fakes import FixedRateSwap

    leak = []

    class Naughty(FixedRateSwap):
        async def quote(self, request):
            what = await self.does(request.slippage_bps)
            return what if what is not None else await super().quote(request)

        async def does(self, code):
            context = self._context
            if code == 1: os._exit(7)
            if code == 2:
                while True: leak.append(bytearray(1 << 20))
            if code == 3:
                while True: pass
            if code == 4: time.sleep(600)
            if code == 5:
                import quoteway.guard.quotes as guard
                guard.check_quote = None
                sys.modules["quoteway.guard"].broken = True
            if code == 6: raise ValueError("the canary is hunter2")
            if code == 7: return b"x" * 50_000_000
            if code == 8:
                while True:
                    try: await asyncio.sleep(600)
                    except asyncio.CancelledError: pass
            if code == 9: raise InvalidRequest(
                "no", fields=(FieldError("amount", Reason.AMOUNT_TOO_LOW, "is too low"),), limit=1 << 200)
            if code == 10: return object()
            if code == 11: context.log.warning("a warning of %s", context.plugin)
            if code == 12: return [os.getpid(), dict(os.environ), os.getppid()]
            if code == 13: return [await context.chain(4242).head(), await context.chain(4242).head()]
            if code == 14: return await context.token(4242, "0x1111111111111111111111111111111111111111")
            if code == 15: return []
            if code == 16: return context.now()
            if code == 17: return subprocess.Popen(["sleep", "600"]).pid
            if code == 18:
                for number in range(5_000):
                    logging.getLogger(f"quoteway.plugin.naughty.n{number}").warning("flood")

    @hookimpl
    def quoteway_swap_providers(context):
        return [Naughty(context, provider_id="naughty")]
"""


def request(code=0, amount=10**30):
    return SwapRequest(4242, 4242, EUR, USD, amount, WALLET, WALLET, code)


class Honest(FakePlugin):
    def __init__(self):
        rpc = MemoryRpc({4242}, tokens=[USD, EUR])
        super().__init__([rpc, ListedTokens([USD, EUR])], networks=[Network("testnet", 4242, "Testnet")])


def starter(tmp_path, monkeypatch, make_gateway):
    """Returns what starts a gateway with an isolated plugin of a source beside honest ones."""
    monkeypatch.syspath_prepend(str(tmp_path))

    async def make(source=NAUGHTY, name="naughty", providers=None, target=None, **plugins):
        if source is not None:
            install(tmp_path, name, source, target=target)
        plugins.setdefault("isolate", (name,))
        plugins.setdefault("startup_timeout_s", 60.0)
        settings = PluginsConfig(load=(name, "honest"), **plugins)
        config = Config(
            plugins=settings, providers=providers or {}, quotes=QuotesConfig(competition_timeout_s=30.0)
        )
        return await make_gateway({"honest": Honest()}, config=config, discover=True)

    return make


def swaps(gateway):
    return gateway.registry.get(Capability.SWAP, "naughty")


def entry(gateway):
    return next(each for each in gateway.registry.plugins if each.name == "naughty")


async def until(condition):
    async with asyncio.timeout(PATIENCE_S):
        while not (found := condition()):
            await asyncio.sleep(0.02)
    return found
