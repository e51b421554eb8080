"""Vaults like those of Yearn: what EIP-4626 has, under other names."""

import quoteway
from quoteway import CallDescription, PaymentRoles, ShareVaults, SpendRoles, VaultSettings


class YearnVaults(ShareVaults):
    id = "yearn-vaults"
    title = "Yearn-like vaults"
    protocol = "yearn"
    asset_of = "token() returns (address)"
    preview_deposit = "sharesForAmount(uint256 amount) returns (uint256)"
    preview_redeem = "amountForShares(uint256 shares) returns (uint256)"
    redeem_call = CallDescription(
        "withdraw(uint256 maxShares, address recipient)",
        "redeem",
        spends=(SpendRoles(None, "#.maxShares"),),
        pays=(PaymentRoles(None, "#.recipient"),),
    )


@quoteway.hookimpl
def quoteway_settings():
    return VaultSettings


@quoteway.hookimpl
def quoteway_vault_providers(context):
    return [YearnVaults(context, quoteway.configured_vaults(context))]


@quoteway.hookimpl
def quoteway_call_descriptions(context):
    return [YearnVaults(context, quoteway.configured_vaults(context)).describe()]
