"""Vaults that give shares of their own for an asset: EIP-4626, also with other names for its functions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from quoteway.context import Context
from quoteway.errors import FieldError, GatewayError, InvalidRequest, NotFound, Reason, UpstreamError
from quoteway.evm import erc20
from quoteway.evm.abi import function
from quoteway.evm.address import checksum
from quoteway.evm.reverts import revert_reason
from quoteway.models import (
    Address,
    Block,
    Build,
    Call,
    CallDescription,
    CallFailed,
    ContractDescription,
    DeployedAt,
    DeployRequest,
    Leg,
    ManageRequest,
    Notice,
    PaymentRoles,
    Preview,
    Quote,
    SealedQuote,
    Spend,
    SpendRoles,
    Token,
    Vault,
    VaultPosition,
    VaultRequest,
    VaultTerms,
)
from quoteway.providers import VaultProvider

READ_GAS = 10_000_000
NO_LIMIT = Notice("no_onchain_limit")


@dataclass(frozen=True, slots=True)
class _Order:
    """``enters``: a deposit of ``amount`` of the asset, else a redemption of ``amount`` shares."""

    vault: Address
    asset: Token
    share: Token
    enters: bool
    amount: int


class ShareVaults(VaultProvider):
    """Deposits into and redemptions from vaults whose address is their share token.

    A subclass has ``id``, ``title`` and ``protocol``. The functions are those of EIP-4626; set those that the
    vaults have under other names. ``deposit_call`` takes an amount of the asset and ``redeem_call`` one of
    shares; each argument of them must have the role of the amount, the recipient or the owner, else override
    ``arguments``. The previews take one amount, and return what the call pays at that block, exactly: the
    core compares every run with them, since such vaults enforce no minimum.

    Where a function is not that of EIP-4626, return ``describe()`` from the hook
    ``quoteway_call_descriptions``: the operator reads and pins it.
    """

    protocol: str
    actions = ("deposit", "redeem")
    asset_of: ClassVar[str] = "asset() returns (address)"
    total_assets: ClassVar[str] = "totalAssets() returns (uint256)"
    preview_deposit: ClassVar[str] = "previewDeposit(uint256 assets) returns (uint256)"
    preview_redeem: ClassVar[str] = "previewRedeem(uint256 shares) returns (uint256)"
    deposit_call: ClassVar[CallDescription] = CallDescription(
        "deposit(uint256 assets, address receiver)",
        "deposit",
        spends=(SpendRoles(None, "#.assets"),),
        pays=(PaymentRoles(None, "#.receiver"),),
    )
    redeem_call: ClassVar[CallDescription] = CallDescription(
        "redeem(uint256 shares, address receiver, address owner)",
        "redeem",
        spends=(SpendRoles(None, "#.shares"),),
        pays=(PaymentRoles(None, "#.receiver"),),
        owner="#.owner",
    )

    def __init__(self, context: Context, vaults: Mapping[int, Sequence[Address]]) -> None:
        self.context = context
        self.vaults_of = vaults
        self.networks = frozenset(vaults)
        self._tokens: dict[tuple[int, Address], tuple[Token, Token]] = {}

    def contracts(self, chain_id: int) -> Mapping[Address, str]:
        return dict.fromkeys(self.vaults_of.get(chain_id, ()), self.title)

    def spenders(self, chain_id: int) -> Sequence[Address]:
        return tuple(self.vaults_of.get(chain_id, ()))

    def describe(self) -> ContractDescription:
        """Returns what the vaults' calls mean, for ``quoteway_call_descriptions``."""
        places = (DeployedAt(chain_id, each) for chain_id, some in self.vaults_of.items() for each in some)
        return ContractDescription(self.title, (self.deposit_call, self.redeem_call), tuple(places))

    def arguments(self, call: CallDescription, amount: int, request: VaultRequest) -> Sequence[Any]:
        """Returns the arguments of a call, by their roles. Raises ``ValueError`` for one that has none."""
        values: dict[str | None, Any] = {
            call.spends[0].amount: amount,
            call.pays[0].recipient: request.recipient,
            call.owner: request.sender,
        }
        names = [f"#.{name}" for name in function(call.declaration).names]
        for name in names:
            if name not in values:
                raise ValueError(f"{call.declaration}: {name} has no role, override ShareVaults.arguments")
        return [values[name] for name in names]

    # --- catalog --------------------------------------------------------------------------------------------

    async def vaults(self, chain_id: int | None) -> Sequence[Vault]:
        """Returns the vaults. One that cannot be read is left out and logged."""
        served = self.networks if chain_id is None else self.networks & {chain_id}
        asked = [(each, vault) for each in sorted(served) for vault in self.vaults_of[each]]
        found = await asyncio.gather(*(self._row(*each) for each in asked), return_exceptions=True)
        for (_, vault), row in zip(asked, found, strict=True):
            if isinstance(row, GatewayError):
                self.context.log.warning("vault %s is left out: %s", vault, row.message)
            elif isinstance(row, BaseException):
                raise row
        return [row for row in found if isinstance(row, Vault)]

    async def vault(self, vault_id: str) -> Vault | None:
        key = self._key(vault_id)
        return None if key is None else await self._row(*key)

    async def positions(self, wallet: Address) -> Sequence[VaultPosition]:
        """Returns the wallet's shares of the vaults, with what their redemption pays now."""
        found = await asyncio.gather(*(self._held(chain_id, wallet) for chain_id in sorted(self.networks)))
        return [position for each in found for position in each]

    async def _row(self, chain_id: int, vault: Address) -> Vault:
        chain = self.context.chain(chain_id)
        (asset, share), block = await asyncio.gather(self._tokens_of(chain_id, vault), chain.head())
        read = Call(vault, function(self.total_assets).encode([]), READ_GAS)
        (total,) = await chain.call_many([read], block=block)
        return Vault(
            id=f"{chain_id}:{vault}",
            network=chain.network.slug,
            chain_id=chain_id,
            address=vault,
            name=share.name or share.symbol or vault,
            protocol=self.protocol,
            strategy="",
            asset=asset,
            share=share,
            actions=self.actions,
            source="chain",
            updated_at=block.timestamp,
            total_assets=erc20.word(total),
        )

    async def _held(self, chain_id: int, wallet: Address) -> list[VaultPosition]:
        chain, vaults = self.context.chain(chain_id), self.vaults_of[chain_id]
        block = await chain.head()
        reads = [
            Call(vault, data)
            for vault in vaults
            for data in (erc20.BALANCE_OF.encode([wallet]), erc20.TOTAL_SUPPLY.encode([]))
        ]
        words = [erc20.word(answer) for answer in await chain.call_many(reads, block=block)]
        found = []
        for vault, shares, supply in zip(vaults, words[::2], words[1::2], strict=True):
            if shares:
                asset, share = await self._tokens_of(chain_id, vault)
                worth = await self._preview(_Order(vault, asset, share, False, shares), chain_id, block)
                legs, part = (Leg(asset, worth, wallet),), shares / supply if supply else None
                found.append(VaultPosition(f"{chain_id}:{vault}", wallet, shares, legs, block, part))
        return found

    def _key(self, vault_id: str) -> tuple[int, Address] | None:
        """Returns chain id and address of a vault of this provider; None for another id."""
        every = ((chain_id, each) for chain_id, some in self.vaults_of.items() for each in some)
        return next((key for key in every if f"{key[0]}:{key[1]}" == vault_id), None)

    async def _tokens_of(self, chain_id: int, vault: Address) -> tuple[Token, Token]:
        """Returns asset and share, read once. Raises ``UpstreamError`` for what is no such vault."""
        known = self._tokens.get((chain_id, vault))
        if known is None:
            read = Call(vault, function(self.asset_of).encode([]), READ_GAS)
            word = erc20.word((await self.context.chain(chain_id).call_many([read]))[0]) or 0
            address = checksum(f"0x{word:040x}") if 0 < word < 1 << 160 else vault
            asset, share = [await self.context.token(chain_id, each) for each in (address, vault)]
            if asset is None or share is None or address == vault:
                text = f"The vault {vault} does not answer as vaults of {self.title} do."
                raise UpstreamError(text, reason=Reason.PROVIDER_ERROR)
            known = self._tokens[chain_id, vault] = asset, share
        return known

    # --- quotes and builds ----------------------------------------------------------------------------------

    async def quote(self, request: VaultRequest | ManageRequest | DeployRequest) -> Quote | None:
        """Quotes by the vault's own preview at the head.

        Raises ``InvalidRequest`` for another token or action than the vault has, and for too small an amount.
        """
        key = self._key(request.vault_id) if isinstance(request, VaultRequest) else None
        if key is None or not isinstance(request, VaultRequest):
            return None
        chain = self.context.chain(request.chain_id)
        (asset, share), block = await asyncio.gather(self._tokens_of(*key), chain.head())
        order = await self._order(request, key[1], asset, share, block)
        paid_out = await self._preview(order, request.chain_id, block)
        if not paid_out:
            raise _refused("amount", Reason.AMOUNT_TOO_LOW, "is too small: nothing would be paid out")
        sold, bought = (asset, share) if order.enters else (share, asset)
        least = max(paid_out * (10_000 - request.slippage_bps) // 10_000, 1)
        return Quote(
            inputs=(Leg(sold, order.amount, request.sender),),
            outputs=(Leg(bought, paid_out, request.recipient, least),),
            block=block,
            plan={"enters": order.enters},
            spends=self._spends(order),
            slippage_bps=request.slippage_bps,
            warnings=(NO_LIMIT,),
            terms=VaultTerms(vault_id=request.vault_id, asset=asset, share=share),
        )

    async def build(self, sealed: SealedQuote) -> Build:
        """Builds the call, with what it pays at the newest block.

        Raises ``UpstreamError`` with reason ``price_moved`` when that is below the quoted minimum.
        """
        request, (sold,), (bought,) = sealed.request, sealed.inputs, sealed.outputs
        key = self._key(request.vault_id) if isinstance(request, VaultRequest) else None
        if key is None or not isinstance(request, VaultRequest):
            raise NotFound("The vault of this quote is unknown.", reason=Reason.QUOTE_INVALID)
        asset, share = await self._tokens_of(*key)
        order = _Order(key[1], asset, share, bool(sealed.plan["enters"]), sold.amount)
        block = await self.context.chain(request.chain_id).head()
        paid_out = await self._preview(order, request.chain_id, block)
        if paid_out < (bought.amount_min or 0):
            text = "The vault now pays less than the quoted minimum: request a new quote."
            raise UpstreamError(text, reason=Reason.PRICE_MOVED, retryable=False)
        call = self.deposit_call if order.enters else self.redeem_call
        preview = Preview(bought.account, bought.token.address, order.vault, self._preview_data(order))
        build = Build.call(
            sealed,
            function(call.declaration),
            order.vault,
            self.arguments(call, order.amount, request),
            spends=self._spends(order),
            previews=(preview,),
            warnings=(NO_LIMIT,),
        )
        return replace(build, outputs=(replace(bought, amount=paid_out),))

    async def _order(
        self, request: VaultRequest, vault: Address, asset: Token, share: Token, block: Block
    ) -> _Order:
        """Returns what a request asks for. Raises ``InvalidRequest`` for what the vault cannot do."""
        enters = request.action == "deposit"
        leaves_all = request.action in ("withdraw", "redeem") and request.amount is None
        if not enters and not leaves_all and request.action != "redeem":
            text = "must be deposit or redeem for this vault; withdraw works with the amount max only"
            raise _refused("action", Reason.UNSUPPORTED_ACTION, text)
        unit = asset.address if enters else share.address
        if request.asset != unit and not (leaves_all and request.asset == asset.address):
            text = f"must be {unit}, in whose base units {request.action} counts"
            raise _refused("asset", Reason.UNSUPPORTED_TOKEN, text)
        if request.recipient in (vault, asset.address):
            text = "tokens sent to the vault or its token would be lost: name a wallet"
            raise _refused("recipient", Reason.CONFLICT, text)
        amount = request.amount
        if enters and amount is None:
            text = '"max" works with redeem only: give an amount'
            raise _refused("amount", Reason.INVALID_FORMAT, text)
        if amount is None:
            read = Call(vault, erc20.BALANCE_OF.encode([request.sender]))
            (held,) = await self.context.chain(request.chain_id).call_many([read], block=block)
            amount = erc20.word(held)
        if not amount:
            text = "the wallet has no shares of this vault"
            raise _refused("amount", Reason.AMOUNT_TOO_LOW, text)
        return _Order(vault, asset, share, enters, amount)

    def _spends(self, order: _Order) -> tuple[Spend, ...]:
        """Returns the asset that a deposit takes. A redemption burns the sender's own shares."""
        return (Spend(order.asset.address, order.amount, order.vault),) if order.enters else ()

    def _preview_data(self, order: _Order) -> bytes:
        declared = self.preview_deposit if order.enters else self.preview_redeem
        return function(declared).encode([order.amount])

    async def _preview(self, order: _Order, chain_id: int, block: Block) -> int:
        """Returns what the vault says that the call pays at a block."""
        read = Call(order.vault, self._preview_data(order), READ_GAS)
        (answer,) = await self.context.chain(chain_id).call_many([read], block=block)
        value = erc20.word(answer)
        if value is None:
            why = revert_reason(answer.output) if isinstance(answer, CallFailed) else "it gives no number"
            text = f"The vault cannot be used now: its preview fails ({why})."
            raise UpstreamError(text, reason=Reason.NO_ROUTE)
        return value


def _refused(member: str, reason: Reason, message: str) -> InvalidRequest:
    field = FieldError(member, reason, message)
    return InvalidRequest(field.sentence, reason=reason, fields=(field,))
