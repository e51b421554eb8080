"""Tokens of the present format with what they say. Run it to record them: once for each format.

A deployment that is upgraded has gateways of two versions behind one key, and tokens outlive a restart.
"""

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path

from quoteway import models
from quoteway.engine.quote_tokens import TRANSACTION_LIFETIME_S, KeyRing, Sealer, TransactionCommitment
from quoteway.engine.webhooks.registrations import Event, Progress, Registration
from quoteway.models import Block, Capability, Issue, Leg, Notice, SealedQuote, Token
from quoteway.web.resources.catalog import cursor_of
from quoteway.web.rpc.filter_ids import FilterIds

FILE = Path(__file__).with_name("recorded_tokens.json")
KEY_ID, KEY = "recorded", b"a key that is made up for tests alone"
NOW = 1_800_000_000
USER, OTHER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
USDC = Token(1, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 6, "USDC", listed=True)
WETH = Token(1, "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", 18, "WETH", listed=True)
ETHER = Token(1, models.NATIVE, 18, "ETH", listed=True)
FAR_USDC = Token(8453, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", 6, "USDC")
PAID, GOT, LEAST = 3_500_000_001, 10**18 + 12_345, 995_000_000_000_012_283
TAKEN_FEE = 1_000_000_000_012
REQUESTS = (
    models.SwapRequest,
    models.PoolRequest,
    models.VaultRequest,
    models.ManageRequest,
    models.DeployRequest,
)


def sealer():
    return Sealer(KeyRing([(KEY_ID, KEY)]), issuer="quoteway", clock=lambda: NOW)


def filter_ids():
    return FilterIds(KeyRing([(KEY_ID, KEY)]), "quoteway", clock=lambda: NOW)


def _quote(capability, provider, request, **more):
    made = {
        "inputs": (Leg(USDC, PAID, USER),),
        "outputs": (Leg(WETH, GOT, OTHER, amount_min=LEAST),),
        "slippage_bps": 50,
        "plan": {"v": 1, "route": [["0x" + "ab" * 20, 500, True], [None, "1" * 60, 2.5]]},
        "block": Block(20_000_000, "0x" + "cd" * 32, NOW - 5),
        "created_at": NOW,
        "expires_at": NOW + 180,
        "plugin": "uniswap",
        "plan_version": 3,
    }
    return SealedQuote(capability, provider, request, **made | more)


def quotes():
    """A quote of each kind, in which each member that a token has differs from its default somewhere."""
    limits = models.RoutingLimits(protocols=("uniswap-v3",), exclude_pools=("1:0x" + "12" * 20,), max_hops=2)
    fee = models.IntegratorFee(30, OTHER)
    swap = models.SwapRequest(1, 1, USDC, WETH, PAID, USER, OTHER, 50, None, limits, fee)
    exact = models.SwapRequest(1, 1, USDC, WETH, PAID, USER, USER, 50, amount_out=GOT)
    bridge = models.SwapRequest(1, 8453, USDC, FAR_USDC, PAID, USER, OTHER, 50, refund_to=USER)
    crossed = _quote(
        Capability.BRIDGE,
        "across",
        bridge,
        outputs=(Leg(FAR_USDC, PAID - 7, OTHER, amount_min=PAID - 9),),
        plugin="across",
        plan={},
        is_estimate=True,
    )
    change = Leg(USDC, PAID, USER, amount_max=PAID + 5)
    pool = models.PoolRequest("1:0x" + "34" * 20, 1, "add", USDC.address, PAID, USER, OTHER, 50, -887_220, 60)
    took = models.PoolRequest("1:0x" + "34" * 20, 1, "remove", USDC.address, None, USER, OTHER, 0)
    vault = models.VaultRequest("1:0x" + "56" * 20, 1, "deposit", USDC.address, PAID, USER, OTHER, 10)
    manage = models.ManageRequest("1:0x" + "56" * 20, 1, "setCap", USER, USDC.address, PAID, 1, "s", OTHER)
    deploy = models.DeployRequest(1, USDC.address, USER, "steady", OTHER)
    return {
        "swap": _quote(
            Capability.SWAP,
            "uniswap",
            swap,
            issues=(Issue("insufficient_balance", USDC.address, 5, PAID),),
            warnings=(Notice("unlisted_token", "The token is in no list."),),
            needs=(Notice("price_impact", "High."),),
            acknowledged=("price_impact",),
            deadline=NOW + 1_200,
            fee_amount=TAKEN_FEE,
            price_impact_bps=17,
            refresh_terms=models.RefreshTerms(NOW + 86_400, LEAST, PAID, "uniswap", True),
        ),
        "exact output": _quote(Capability.SWAP, "uniswap", exact, inputs=(change,)),
        "native": _quote(Capability.SWAP, "uniswap", exact, inputs=(Leg(ETHER, PAID, USER),)),
        "bridge": crossed,
        "joined": _quote(
            Capability.BRIDGE, "quoteway", bridge, parts=(_quote(Capability.SWAP, "a", swap), crossed)
        ),
        "pool": _quote(Capability.POOL, "uniswap", pool),
        "position": _quote(Capability.POOL, "uniswap", models.PoolRequest(*_values(took)[:10], "7", True)),
        "vault": _quote(Capability.VAULT, "erc4626", vault, slippage_bps=10, plan_version=1),
        "manage": _quote(Capability.VAULT, "managedvault", manage),
        "deploy": _quote(Capability.VAULT, "managedvault", deploy),
    }


def commitment():
    digest, paid = "0x" + "ef" * 32, ((WETH.address, OTHER, GOT),)
    ends = NOW + TRANSACTION_LIFETIME_S
    return TransactionCommitment(
        1, USER, OTHER, 5, digest, "0x" + "01" * 32, 1, ends, paid, ((4, 32), (68, 65))
    )


def webhook():
    """A registration, and how far it has been sent."""
    event = Event("msg_1", '{"type":"transfer"}', NOW + 0.5, NOW + 5.5, 2)
    return (
        Registration(
            "wh_1_2",
            "desk",
            "transfer",
            "id",
            "0x" + "5e" * 32,
            "https://example.com",
            "n",
            "k",
            NOW,
            NOW + 9,
        ),
        Progress(
            told="digest",
            sequence=3,
            delivered=1,
            dropped=1,
            last_failure="timeout",
            done_at=NOW + 1.5,
            pending=[event],
        ),
    )


def named(value):
    """A value as JSON with the names of its members, which a token does not have, without the token."""
    if is_dataclass(value):
        names = [each.name for each in fields(value) if each.name != "token"]
        members = {name: named(getattr(value, name)) for name in names}
        return {"class": type(value).__name__, **members}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {name: named(each) for name, each in value.items()}
    return [named(each) for each in value] if isinstance(value, list | tuple) else value


def _values(request):
    return [getattr(request, each.name) for each in fields(request)]


def record():
    seal = sealer()
    content = {
        "key": {"id": KEY_ID, "secret": KEY.decode()},
        "order": {each.__name__: [field.name for field in fields(each)] for each in REQUESTS},
        "quotes": {},
        "transaction": {"token": seal.seal_transaction(commitment()), "says": named(commitment())},
        "filter": {"id": filter_ids().seal(1, "logs", (20_000_000, "0x" + "cd" * 32), {"address": [USER]})},
        "cursor": {"cursor": cursor_of("usdc", 2), "says": ["usdc", 2]},
    }
    registered, progress = webhook()
    content["webhook"] = {"registration": named(registered), "progress": json.loads(progress.dumped())}
    content["filter"]["says"] = named(filter_ids().open(content["filter"]["id"], 1))
    for name, quote in quotes().items():
        sealed = seal.seal(quote)
        content["quotes"][name] = {
            "token": sealed.token,
            "says": named(seal.open(quote.capability, sealed.token)),
        }
    FILE.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    record()
