"""Transfer taxes are measured once, and refused when no exact quote is possible."""

import pytest
from execution import Desk
from quoteway import InvalidRequest, Reason
from quoteway.evm.chain import SimulationUnsupported
from quoteway_uniswap.taxes import NO_TAX, Tax, TransferTaxes


@pytest.fixture
async def desk(fresh_devnet):
    async with Desk(fresh_devnet) as desk:
        yield desk


def taxes_of(desk, clock=lambda: 0.0):
    return TransferTaxes(desk.chain, desk.provider._deployments[desk.network.chain_id], clock)


async def test_a_tax_is_measured_once_in_one_request(desk):
    taxes = taxes_of(desk)
    block = await desk.chain.head(fresh=True)
    before = desk.chain.requests
    assert await taxes.of(desk.tokens["TAX"], block) == Tax(100, 100)
    assert await taxes.of(desk.tokens["LINK"], block) == NO_TAX
    assert desk.chain.requests == before + 2
    for symbol in ("TAX", "LINK", "ETH", "WETH", "USDC"):
        await taxes.of(desk.tokens[symbol], block)
    assert desk.chain.requests == before + 2


async def test_a_tax_is_measured_again_after_an_hour(desk):
    now = [0.0]
    taxes = taxes_of(desk, lambda: now[0])
    block = await desk.chain.head(fresh=True)
    await taxes.of(desk.tokens["TAX"], block)
    now[0] = 3601.0
    before = desk.chain.requests
    await taxes.of(desk.tokens["TAX"], block)
    assert desk.chain.requests == before + 1


async def test_a_tax_in_fractions_of_a_basis_point_is_refused(desk):
    address = desk.tokens["TAX"].address
    code = desk.rpc("eth_getCode", address, "latest")
    assert "612710" in code  # PUSH2 10000, the divisor of the fee
    desk.rpc("anvil_setCode", address, code.replace("612710", "612713"))
    desk.rpc("evm_mine")
    for sold, bought in (("TAX", "USDC"), ("USDC", "TAX")):
        with pytest.raises(InvalidRequest) as refusal:
            await desk.quote(desk.request(sold, bought, 10**7))
        assert refusal.value.reason is Reason.UNSUPPORTED_TOKEN


async def test_quotes_without_simulation_repeat_no_requests(desk, monkeypatch):
    async def unsupported(*_, **__):
        raise SimulationUnsupported

    monkeypatch.setattr(desk.chain, "simulate", unsupported)
    request = desk.request("LINK", "UNI", 10**18)
    assert await desk.quote(request) is not None
    before = desk.chain.requests
    await desk.provider.quote(request)
    assert desk.chain.requests == before


async def test_an_address_without_code_has_no_tax_to_measure(desk):
    from dataclasses import replace

    nothing = replace(desk.tokens["LINK"], address="0x2222222222222222222222222222222222222222")
    assert await taxes_of(desk).of(nothing, await desk.chain.head(fresh=True)) == NO_TAX
