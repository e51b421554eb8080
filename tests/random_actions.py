"""Random actions and policies from a small world, so that what one names the other often uses."""

from dataclasses import replace

from quoteway import models
from quoteway.evm import permit2
from quoteway.evm.abi import function
from quoteway.evm.address import checksum
from quoteway.networks import Network, Networks

NETWORKS = Networks([Network("one", 1, "One"), Network("two", 2, "Two")])
SLUGS = ("one", "two")
ADDRESSES = [checksum("0x" + f"{number:02x}" * 20) for number in range(0xA1, 0xA8)]
TOKENS = [models.NATIVE, *ADDRESSES[:3]]
DECIMALS = dict(zip(TOKENS, (18, 6, 18, 0), strict=True))
PROVIDERS = ("uniswap", "across", "lifi")
AMOUNTS = (0, 1, 99, 10_000, 10**6, 10**6 + 1, 10**18, 5 * 10**18, 2**160 - 1, 2**256 - 1)
_DETAILS = "((address,uint160,uint48,uint48),address,uint256)"
FUNCTIONS = {
    "approve(address,uint256)": lambda r: [r.choice(ADDRESSES), r.choice(AMOUNTS)],
    "increaseAllowance(address,uint256)": lambda r: [r.choice(ADDRESSES), r.choice(AMOUNTS)],
    "setApprovalForAll(address,bool)": lambda r: [r.choice(ADDRESSES), r.random() < 0.5],
    "transfer(address,uint256)": lambda r: [r.choice(ADDRESSES), r.choice(AMOUNTS)],
    "approve(address,address,uint160,uint48)": lambda r: [
        *(r.choice(ADDRESSES), r.choice(ADDRESSES)),
        *(r.choice(AMOUNTS[:-1]), 7),
    ],
    "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)": lambda r: [
        *(r.choice(ADDRESSES), r.choice(ADDRESSES)),
        *(r.choice(AMOUNTS), 9, 27, bytes(32), bytes(32)),
    ],
    "multicall(bytes[])": lambda r: [[b"\x01"]],
}
COMMANDS = {
    "V3_SWAP_EXACT_IN(address,uint256,uint256,bytes,bool)": lambda r: [r.choice(ADDRESSES), 1, 1, b"", True],
    "SWEEP(address,address,uint160)": lambda r: [r.choice(ADDRESSES), r.choice(ADDRESSES), 0],
    f"PERMIT2_PERMIT({_DETAILS},bytes)": lambda r: [
        ((r.choice(ADDRESSES), r.choice(AMOUNTS[:-1]), 1, 2), r.choice(ADDRESSES), 3),
        b"",
    ],
}


def decoded(r, depth=0):
    """A call, and at times others inside of it."""
    menu = FUNCTIONS if depth == 0 or r.random() < 0.4 else COMMANDS
    signature = r.choice(list(menu))
    if r.random() < 0.08:
        return models.DecodedCall("0xDEADBEEF" if depth else "0xdeadbeef", (), opaque=True)
    call = function(signature).describe(menu[signature](r))
    inner = tuple(decoded(r, depth + 1) for _ in range(r.choice((0, 0, 1, 2)) if depth < 3 else 0))
    return replace(call, inner=inner)


def step(r, index):
    call = decoded(r)
    data = bytes.fromhex("deadbeef") if call.opaque else function(call.signature).selector
    value = r.choice((0, 0, 0, 1, 10**18))
    return models.ActionStep(
        *(r.choice(ADDRESSES), data + bytes(r.choice((0, 32))), value, 1),
        kind="swap",
        decoded=call,
        description="",
        intent="",
        index=index,
        tx_id="",
        code_hash=None,
        gas_limit=None,
    )


def leg(r, chain_id=1):
    token, amount = r.choice(TOKENS), r.choice(AMOUNTS)
    near = [None, amount, *(amount * (10_000 - bps) // 10_000 for bps in (49, 50, 51, 100))]
    return models.Leg(
        models.Token(chain_id, token, DECIMALS[token]),
        amount,
        r.choice(ADDRESSES),
        r.choice([*near, max(amount - 1, 0)]),
        r.choice([None, None, amount, -(-amount * 10_050 // 10_000), amount * 10_100 // 10_000 + 1]),
    )


def part(r):
    kind = r.choice([models.Capability.SWAP, models.Capability.SWAP, models.Capability.BRIDGE])
    far = 2 if kind is models.Capability.BRIDGE or r.random() < 0.1 else 1
    inputs = tuple(leg(r) for _ in range(r.choice((1, 1, 2))))
    return models.ActionPart(kind, r.choice(PROVIDERS), inputs, (leg(r, far),), 0)


def signature(r):
    if r.random() < 0.3:
        return models.SignatureRequest("order", {"primaryType": "Order", "message": {}}, 0, 0)
    permit = permit2.PermitSingle(r.choice(ADDRESSES), r.choice(AMOUNTS[:-1]), 1, 2, r.choice(ADDRESSES), 3)
    return models.SignatureRequest("permit2", permit.typed_data(1), 0, 0)


def offer(r):
    permit = models.Permit(r.choice(ADDRESSES), r.choice(ADDRESSES), r.choice(AMOUNTS), 0, 9)
    return models.PermitOffer(permit, {})


def simulation(r):
    if r.random() < 0.2:
        return models.Simulation("skipped", None, skip_reason="none", assumptions=())
    assets = [
        models.AssetChange(r.choice(ADDRESSES), r.choice(TOKENS), r.choice((-1, 0, 1)) * r.choice(AMOUNTS))
        for _ in range(r.choice((0, 1, 2)))
    ]
    grants = [
        models.AllowanceChange(
            r.choice(ADDRESSES), r.choice(ADDRESSES), r.choice(ADDRESSES), 5, r.choice(AMOUNTS)
        )
        for _ in range(r.choice((0, 1)))
    ]
    assumed = r.choice(((), (), ("native_balance",), (f"balance:{ADDRESSES[0]}", "permit2_signature")))
    return models.Simulation("success", None, (), tuple(assets), tuple(grants), assumed)


def action(r):
    revocation = r.random() < 0.1
    parts = () if revocation else tuple(part(r) for _ in range(r.choice((1, 1, 2))))
    kind = parts[-1].capability if parts else None
    if len(parts) == 1 and r.random() < 0.2:
        kind = r.choice([models.Capability.POOL, models.Capability.VAULT])
        parts = (replace(parts[0], capability=kind),)
    return models.Action(
        action_id="0x00",
        capability=kind,
        provider=parts[0].provider if parts else "quoteway",
        chain_id=1,
        sender=r.choice(ADDRESSES[:3]),
        steps=tuple(step(r, index) for index in range(r.choice((1, 2, 3)))),
        signatures=tuple(signature(r) for _ in range(r.choice((0, 0, 0, 1)))),
        inputs=parts[0].inputs if parts else (),
        outputs=parts[-1].outputs if parts else (),
        parts=parts,
        simulation=simulation(r),
        created_at=0,
        expires_at=0,
        block=models.Block(0, "0x", 0),
        permit_offers=tuple(offer(r) for _ in range(r.choice((0, 0, 0, 1)))),
        payees=tuple(
            models.Payee(r.choice((1, 1, 2)), r.choice(ADDRESSES)) for _ in range(r.choice((0, 1, 2)))
        ),
        price_impact_bps=r.choice((None, 0, 50, 51, 9_999)),
    )


# --- policies -----------------------------------------------------------------------------------------------


def spelled(r, address):
    return r.choice([address, address.lower(), "0x" + address[2:].upper()])


def table(r, menu, words=()):
    """A table by network that names most of the menu."""
    return {
        slug: [spelled(r, each) for each in menu if r.random() < 0.9] + [w for w in words if r.random() < 0.8]
        for slug in SLUGS
        if r.random() < 0.95
    }


def rule(r, name):
    """A rule with some members, which allows most of what each is about."""

    def most(menu):
        return [each for each in menu if r.random() < 0.9]

    def amounts():
        limits = ("0", "1", "0.000001", "1.000001", "5", "1" + "0" * 70)
        return {slug: {spelled(r, each): r.choice(limits) for each in most(TOKENS)} for slug in most(SLUGS)}

    def limits():
        return [
            {
                "name": f"{name} {number}",
                "network": r.choice((*SLUGS, "one")),
                "token": spelled(r, token),
                "amount": r.choice(("0", "1", "5", "1.000001", "1" + "0" * 70)),
                "window_s": 60 + number,
                "per": r.choice(("sender", "rule")),
            }
            for number, token in enumerate(most(TOKENS))
        ]

    names = [each.partition("(")[0] for each in COMMANDS]
    functions = [each if r.random() < 0.5 else "0x" + function(each).selector.hex() for each in FUNCTIONS]
    tokens = [each for each in TOKENS if each != models.NATIVE]
    native = (r.choice(["native", "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", models.NATIVE]),)
    members = {
        "networks": lambda: most(SLUGS),
        "kinds": lambda: most(("swap", "bridge", "pool", "vault", "revocation")),
        "providers": lambda: most(PROVIDERS),
        "least_level": lambda: r.choice((0, 1, 2)),
        "quorum": lambda: r.choice((1, 1, 2)),
        "pay": lambda: table(r, tokens + ADDRESSES[3:], native),
        "receive": lambda: table(r, tokens, native),
        "recipients": lambda: table(r, ADDRESSES, ("sender",)),
        "spenders": lambda: table(r, ADDRESSES),
        "contracts": lambda: table(r, ADDRESSES),
        "functions": lambda: [*most([*functions, *names]), "0xdeadbeef"],
        "allow_opaque": lambda: r.random() < 0.9,
        "max_price_impact_bps": lambda: r.choice((50, 51, 9_999)),
        "max_slippage_bps": lambda: r.choice((0, 50, 100, 10_000)),
        "max_amounts": amounts,
        "amounts_per_time": limits,
        "require_simulation": lambda: r.random() < 0.5,
    }
    chosen = r.choice((0.05, 0.1, 0.3, 1.0))
    return {"name": name} | {member: make() for member, make in members.items() if r.random() < chosen}


def policy(r):
    """Rules with senders, and at times one for everybody else."""
    rules = [
        rule(r, f"rule {number}")
        | {"senders": [spelled(r, each) for each in ADDRESSES[:3] if r.random() < 0.8]}
        for number in range(r.choice((0, 1, 2)))
    ]
    return [*rules, rule(r, "others")] if r.random() < 0.6 or not rules else rules
