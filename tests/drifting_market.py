"""A swap provider whose price a test sets, in a gateway whose clock it sets too."""

from dataclasses import replace

from quoteway import NATIVE, Capability, Quote, SwapRequest, Token
from quoteway.config.model import Config, QuotesConfig
from quoteway.networks import Network
from quoteway.testing.fakes import FAKE_CALLS, FAKE_TARGET, FakePlugin, FixedRateSwap, ListedTokens, MemoryRpc

NOW = 1_800_000_000
USER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
FRIEND = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
COIN = Token(7, "0x6B175474E89094C44Da98b954EedeAC495271d0F", 18, "DAI")
ETHER = Token(7, NATIVE, 18, "ETH", listed=True)
OTHER = Token(7, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 6, "USDC")
UNIT = 10**9


class Market(FixedRateSwap):
    """Pays ``price / UNIT`` base units for one. It knows exact outputs; ``price`` 0: no route."""

    exact_out = True

    def __init__(self, context, provider_id="market", price=UNIT):
        super().__init__(context, provider_id=provider_id)
        self.price = price
        self.asked = []

    async def quote(self, request):
        self.asked.append(request)
        if not self.price:
            return None
        block = await self._context.chain(request.chain_id).head()
        spender = None if request.token_in.is_native else FAKE_TARGET
        if request.amount_out is not None:
            taken = -(-request.amount_out * UNIT // self.price)
            return Quote.exact_out(request, taken, block, spender=spender)
        return Quote.exact_in(request, request.amount_in * self.price // UNIT, block, spender=spender)

    async def build(self, sealed):
        request, (given,) = sealed.request, sealed.inputs
        taken = replace(request, amount_in=given.most)
        build = await super().build(replace(sealed, request=taken))
        return replace(build, inputs=sealed.inputs, outputs=sealed.outputs)


class Place:
    """A gateway with markets at prices that tests set. ``now`` is its time in Unix seconds."""

    def __init__(self, *markets, listed=COIN, kind=Market, head_poll_s=2.0):
        self.now = NOW
        self.rpc = MemoryRpc({7, 8}, tokens=[COIN])
        self._head_poll_s = head_poll_s
        self.markets = {}
        self._listed = ListedTokens([listed])
        self._names = markets or ("market",)
        self._kind = kind

    @property
    def price(self):
        return next(iter(self.markets.values())).price

    @price.setter
    def price(self, price):
        for market in self.markets.values():
            market.price = price

    def clock(self):
        return float(self.now)

    def plugins(self):
        def made(name):
            def make(context):
                self.markets[name] = self._kind(context, name)
                return self.markets[name]

            return make

        network = Network(
            "seven",
            7,
            "Seven",
            wrapped_native="0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
            head_poll_s=self._head_poll_s,
        )
        providers = [self.rpc, self._listed, *map(made, self._names)]
        networks = [network, Network("eight", 8, "Eight")]
        return {"fake": FakePlugin(providers, networks=networks, calls=[FAKE_CALLS])}


def request(amount=10**18, slippage_bps=50, **changes):
    """A swap of coins for DAI; with ``amount_out`` for that much of it."""
    if "amount_out" in changes:
        amount = 0
    return SwapRequest(
        7, 7, ETHER, COIN, amount, USER, changes.pop("recipient", FRIEND), slippage_bps, **changes
    )


async def open_place(make_gateway, *markets, listed=COIN, **quotes):
    """Returns a started gateway and its place."""
    place = Place(*markets, listed=listed)
    config = Config(quotes=QuotesConfig(competition_timeout_s=30.0, **quotes))
    return await make_gateway(place.plugins(), config=config, clock=place.clock), place


async def first(gateway, place, asked=None, lasts_s=3_600, **more):
    answer = await gateway.quoting.quote(
        Capability.SWAP, asked or request(), refreshable_until=place.now + lasts_s, **more
    )
    return answer.sealed


async def again(gateway, sealed, **more):
    """Refreshes the quote in a token, as the API does."""
    opened = gateway.quote_tokens.open_refreshable(sealed.token)
    return (await gateway.refreshing.refresh(opened, **more)).sealed


def minimum(sealed):
    return sealed.outputs[0].amount_min


def check(sealed, opened):
    """Fails unless a refreshed quote is the request and within the terms of the first, ``opened``."""
    one, other = opened.request, sealed.request
    assert (one.amount_in, one.amount_out) == (other.amount_in, other.amount_out)
    assert (one.token_in.unit, one.token_out.unit) == (other.token_in.unit, other.token_out.unit)
    same = "sender recipient slippage_bps permit2_signature routing fee chain_id to_chain_id refund_to"
    assert all(getattr(one, name) == getattr(other, name) for name in same.split())
    assert sealed.deadline == opened.deadline
    terms = sealed.refresh_terms
    assert terms == opened.refresh_terms
    assert sealed.expires_at <= terms.until
    assert minimum(sealed) >= minimum(opened) == terms.amount_out_min
    assert sealed.inputs[0].most <= opened.inputs[0].most == terms.amount_in_max
    assert {leg.account for leg in sealed.outputs} == {one.recipient}
    assert {leg.account for leg in sealed.inputs} == {one.sender}
