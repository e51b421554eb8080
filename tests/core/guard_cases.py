"""An honest swap and what tests of the guard make of it: quotes, builds, and what is asked of both."""

from dataclasses import replace

import pytest
from quoteway.errors import Reason
from quoteway.evm import permit2
from quoteway.evm.abi import function
from quoteway.evm.calls.registry import CallRegistry
from quoteway.guard.calldata import check_build
from quoteway.guard.findings import UnsafeAnswer
from quoteway.models import (
    NATIVE,
    AllowanceChange,
    AssetChange,
    Build,
    CallDescription,
    Capability,
    ContractDescription,
    DeployedAt,
    Leg,
    PaymentRoles,
    PoolRequest,
    Quote,
    SealedQuote,
    SignatureRequest,
    Simulation,
    Spend,
    SpendRoles,
    SwapRequest,
    VaultRequest,
)
from quoteway.networks import Network
from quoteway.testing.fakes import step_of
from sold_usdc import BLOCK, DAI, GOT, LATER, MINIMUM, NOW, ROUTER, SOLD, USDC, USER, WETH

SWAP = function(
    "swap(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline, bytes extra)"
)


SWAP_ROLES = CallDescription(
    SWAP.declaration,
    "swap",
    spends=(SpendRoles("#.path.[0]", "#.amountIn"),),
    pays=(PaymentRoles("#.path.[-1]", "#.to", "#.amountOutMin"),),
    deadline="#.deadline",
)


def registry(*calls, target=ROUTER):
    """The registry of a chain where ``calls`` describe a contract."""
    ethereum = Network("ethereum", 1, "Ethereum", wrapped_native=WETH.address)
    made = CallRegistry([ethereum, Network("optimism", 10, "Optimism", wrapped_native=FAR_WRAPPED)])
    made.add([ContractDescription("fake", calls, (DeployedAt(1, target),))])
    return made


FAR_WRAPPED = "0x4200000000000000000000000000000000000006"
CALLS = registry(SWAP_ROLES)


class Provider:
    id = "fake"

    def contracts(self, chain_id):
        return {
            ROUTER: "Router",
            WETH.address: "WETH9",
            USDC.address: "A provider may declare a token",
            permit2.ADDRESS: "Permit2",
        }

    def spenders(self, chain_id):
        return (ROUTER, permit2.ADDRESS)


REQUEST = SwapRequest(1, 1, USDC, WETH, SOLD, USER, USER, 50, permit2_signature=True)
QUOTE = Quote(
    (Leg(USDC, SOLD, USER),),
    (Leg(WETH, GOT, USER, amount_min=MINIMUM),),
    BLOCK,
    {"v": 1},
    net_output=MINIMUM - 7,
)
SEALED = SealedQuote(
    Capability.SWAP, "fake", REQUEST, QUOTE.inputs, QUOTE.outputs, 50, {"v": 1}, BLOCK, NOW, NOW + 180
)


def order(**changes):
    """The arguments of the honest swap, with changes."""
    path = [USDC.address, WETH.address]
    args = {"amount": SOLD, "minimum": MINIMUM, "path": path, "to": USER, "until": NOW + 1200}
    return [*(args | changes).values(), b"\0" * 96]


def step(args=None, call=SWAP, to=ROUTER, **more):
    return replace(step_of(call, args or order(), to=to, chain_id=1), **more)


def plain(**changes):
    build = Build((step(),), (Spend(USDC.address, SOLD, ROUTER),), SEALED.inputs, SEALED.outputs, NOW + 1200)
    return replace(build, **changes)


def built(data, value=0, **changes):
    """The honest build with other calldata."""
    build = plain(**changes)
    return replace(build, steps=(replace(build.steps[0], data=data, value=value),))


def trade_of(token_in, token_out):
    """The quote of the same amounts of other tokens, and the legs of its build."""
    legs = {
        "inputs": (Leg(token_in, SOLD, USER),),
        "outputs": (Leg(token_out, GOT, USER, amount_min=MINIMUM),),
    }
    request = replace(SEALED.request, token_in=token_in, token_out=token_out)
    return replace(SEALED, request=request, **legs), legs


PERMIT = permit2.PermitSingle(USDC.address, SOLD, NOW + 1200, 0, ROUTER, NOW + 1200)
PLACE = SWAP.encode([0, 0, [], USER, 0, b"\x01" + b"\0" * 95])
OFFSET = len(step().data) - 96


def signed(permit=PERMIT, **changes):
    spends = (Spend(USDC.address, SOLD, permit2.ADDRESS, permit2_spender=ROUTER, permit2_signed=True),)
    request = SignatureRequest("permit2", permit.typed_data(1), 0, OFFSET)
    return plain(**{"spends": spends, "signatures": (request,), **changes})


def signature(**changes):
    return (replace(signed().signatures[0], **changes),)


def typed(**changes):
    data = PERMIT.typed_data(1)
    return signature(typed_data={**data, **changes})


def message(**changes):
    return typed(message={**PERMIT.typed_data(1)["message"], **changes})


def check(build, sealed=SEALED, provider=None, calls=CALLS, **more):
    return check_build(provider or Provider(), sealed, build, calls, now=NOW, **more)


def refused(build, finding, sealed=SEALED, **more):
    with pytest.raises(UnsafeAnswer) as refusal:
        check(build, sealed, **more)
    assert finding in refusal.value.finding
    assert refusal.value.reason is Reason.UNSAFE_ANSWER
    assert refusal.value.status == 502


VAULT_REQUEST = VaultRequest("1:x", 1, "deposit", USDC.address, SOLD, USER, USER, 50)
POOL_REQUEST = PoolRequest("1:x", 1, "remove", WETH.address, MINIMUM, USER, USER, 50)
MORE = (*QUOTE.inputs, Leg(DAI, 1, USER))


def run_of(sold, paid, recipient, spender):
    """The run of a swap of USDC for WETH that takes and pays so much, at a block after the quote's."""
    deltas = ((USER, NATIVE, 0), (USER, USDC.address, -sold), (recipient, WETH.address, paid))
    left = AllowanceChange(USER, USDC.address, spender, 0, 0)
    return Simulation("success", LATER, (100_000,), tuple(AssetChange(*delta) for delta in deltas), (left,))


def with_delta(run, index, delta):
    changes = list(run.asset_changes)
    changes[index] = replace(changes[index], delta=delta)
    return replace(run, asset_changes=tuple(changes))


def leg(index, **changes):
    """What a quote changes to have another input, or output."""
    return {index: (replace(getattr(QUOTE, index)[0], **changes),)}
