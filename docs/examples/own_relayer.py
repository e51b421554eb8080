"""Transfers through the SpokePools of Across at a fixed fee, for an operator who runs a relayer.

[plugin.own-relayer]
fee_bps = 5
[plugin.own-relayer.contracts]
ethereum = "0x5c7BCd6E7De5423a257D81B442095A1a6ced35C5"
base = "0x09aea4b2242abC8bb4BB78D537A67a245A7bEC64"
[[plugin.own-relayer.tokens]]
ethereum = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
base = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
"""

from dataclasses import replace
from itertools import permutations

import quoteway
from marshmallow import fields, validate
from quoteway import (
    NATIVE,
    BridgeProvider,
    BridgeRoute,
    Build,
    ConfigError,
    ContractSettings,
    Quote,
    RefundTerms,
    TransferTerms,
    TransferTracking,
)
from quoteway.evm.abi import function
from quoteway.evm.address import parse_address

FILL_S = 3_600  # a deposit that is not filled by then is refunded
DEPOSIT = function(
    "depositV3(address depositor, address recipient, address inputToken, address outputToken, "
    "uint256 inputAmount, uint256 outputAmount, uint256 destinationChainId, address exclusiveRelayer, "
    "uint32 quoteTimestamp, uint32 fillDeadline, uint32 exclusivityParameter, bytes message)"
)


class Settings(ContractSettings):
    tokens = fields.List(fields.Dict(fields.String(), fields.String()), required=True)  # each by network
    fee_bps = fields.Integer(strict=True, load_default=5, validate=validate.Range(0, 1_000))


class OwnRelayer(BridgeProvider):
    id = "own-relayer"
    title = "Own relayer"

    def __init__(self, context):
        self.context = context
        self.spoke_pools = quoteway.configured_contracts(context)
        self.networks = frozenset(self.spoke_pools)
        find = context.networks.configured
        try:
            self.tokens = [
                {find(slug, "tokens").chain_id: parse_address(each) for slug, each in row.items()}
                for row in context.settings["tokens"]
            ]
        except ValueError as error:
            raise ConfigError(f"plugin.own-relayer.tokens: {error}") from None

    def contracts(self, chain_id):
        return {self.spoke_pools[chain_id]: "SpokePool"} if chain_id in self.networks else {}

    def spenders(self, chain_id):
        return tuple(self.contracts(chain_id))

    async def routes(self, from_chain_id, to_chain_id):
        token = self.context.token
        return [
            BridgeRoute(one, other, await token(one, row[one]), await token(other, row[other]), self.id, True)
            for row in self.tokens
            for one, other in permutations(row, 2)
            if from_chain_id in (None, one) and to_chain_id in (None, other)
        ]

    async def quote(self, request):
        paid, got, origin = request.token_in, request.token_out, request.chain_id
        ends = {origin: paid.address, request.to_chain_id: got.address}
        amount_out = request.amount_in * (10_000 - self.context.settings["fee_bps"]) // 10_000
        served = request.is_cross_chain and any(ends.items() <= row.items() for row in self.tokens)
        if not served or paid.decimals != got.decimals or amount_out == 0:
            return None
        firm = replace(request, slippage_bps=0)  # the deposit names what the relayer pays
        block = await self.context.chain(origin).head()
        refund = RefundTerms(origin, paid.address, request.refund_account)
        terms = TransferTerms(fill_deadline=block.timestamp + FILL_S, refund=refund)
        return Quote.exact_in(firm, amount_out, block, spender=self.spoke_pools[origin], terms=terms)

    async def build(self, sealed):
        request, (paid,), (got,) = sealed.request, sealed.inputs, sealed.outputs
        quoted_at, any_relayer, no_message = sealed.block.timestamp, NATIVE, b""
        args = [
            *(request.refund_account, got.account, paid.token.address, got.token.address),
            *(paid.amount, got.amount_min, request.to_chain_id, any_relayer),
            *(quoted_at, quoted_at + FILL_S, 0, no_message),
        ]
        terms = TransferTracking(self.id, request.chain_id, request.to_chain_id)
        return Build.call(sealed, DEPOSIT, self.spoke_pools[request.chain_id], args, terms=terms)


@quoteway.hookimpl
def quoteway_settings():
    return Settings


@quoteway.hookimpl
def quoteway_bridge_providers(context):
    return [OwnRelayer(context)]
