"""Transfer taxes are measured once, and refused when no exact quote is possible."""

import pytest
from execution import SwapHarness
from quoteway import InvalidRequest, Reason
from quoteway.evm.chain import SimulationUnsupported
from quoteway_uniswap.taxes import NO_TAX, Tax, TransferTaxes


@pytest.fixture
async def harness(fresh_devnet):
    async with SwapHarness(fresh_devnet) as harness:
        yield harness


def taxes_of(harness, clock=lambda: 0.0):
    return TransferTaxes(harness.chain, harness.provider._deployments[harness.network.chain_id], clock)


async def test_a_tax_is_measured_once_in_one_request(harness):
    taxes = taxes_of(harness)
    block = await harness.chain.head(fresh=True)
    before = harness.chain.requests
    assert await taxes.of(harness.tokens["TAX"], block) == Tax(100, 100)
    assert await taxes.of(harness.tokens["LINK"], block) == NO_TAX
    assert harness.chain.requests == before + 2
    for symbol in ("TAX", "LINK", "ETH", "WETH", "USDC"):
        await taxes.of(harness.tokens[symbol], block)
    assert harness.chain.requests == before + 2


async def test_a_tax_is_measured_again_after_an_hour(harness):
    now = [0.0]
    taxes = taxes_of(harness, lambda: now[0])
    block = await harness.chain.head(fresh=True)
    await taxes.of(harness.tokens["TAX"], block)
    now[0] = 3601.0
    before = harness.chain.requests
    await taxes.of(harness.tokens["TAX"], block)
    assert harness.chain.requests == before + 1


async def test_a_tax_in_fractions_of_a_basis_point_is_refused(harness):
    address = harness.tokens["TAX"].address
    code = harness.rpc("eth_getCode", address, "latest")
    assert "612710" in code  # PUSH2 10000, the divisor of the fee
    harness.rpc("anvil_setCode", address, code.replace("612710", "612713"))
    harness.rpc("evm_mine")
    for sold, bought in (("TAX", "USDC"), ("USDC", "TAX")):
        with pytest.raises(InvalidRequest) as refusal:
            await harness.quote(harness.request(sold, bought, 10**7))
        assert refusal.value.reason is Reason.UNSUPPORTED_TOKEN


async def test_quotes_without_simulation_repeat_no_requests(harness, monkeypatch):
    async def unsupported(*_, **__):
        raise SimulationUnsupported

    monkeypatch.setattr(harness.chain, "simulate", unsupported)
    request = harness.request("LINK", "UNI", 10**18)
    await harness.discover(request)
    assert await harness.quote(request) is not None
    before = harness.chain.requests
    await harness.provider.quote(request)
    assert harness.chain.requests == before


async def test_an_address_without_code_has_no_tax_to_measure(harness):
    from dataclasses import replace

    nothing = replace(harness.tokens["LINK"], address="0x2222222222222222222222222222222222222222")
    assert await taxes_of(harness).of(nothing, await harness.chain.head(fresh=True)) == NO_TAX
