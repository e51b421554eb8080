"""Balancer v3 on the devnet, with weighted pools of the devnet's tokens."""

import contextlib
from dataclasses import replace

import balancer_venue
from balancer_v3_chain import BalancerV3Chain
from balancer_venue import ODD_RATE, PERCENT, OnDevnet, venue_on
from quoteway.evm.address import checksum
from quoteway_devnet.packages import prepare_balancer_v3

PROVIDER = "balancer-v3-routes"
WEIGHTED = "balancer-v3-weighted"


class VenueV3(OnDevnet, BalancerV3Chain):
    """The Vault and its BatchRouter on the devnet with weighted pools of two and three tokens, with rates."""

    def __init__(self, devnet, rpc):
        super().__init__(*self.of_devnet(devnet, rpc, prepare_balancer_v3()))

    def add(self, name, shares, dollars, fee, rates=None, **more):
        """Makes a pool of symbols with their shares in percent, worth so many dollars before rates."""
        tokens, symbols = self.rows(shares)
        rates = [(rates or {}).get(symbol, 0) for symbol in symbols]
        pool = self.weighted(tokens, [shares[s] * PERCENT for s in symbols], fee, rates, **more)
        balances = tuple(self.amount(s, dollars * shares[s] / 100) for s in symbols)
        pool = replace(pool, id=checksum(pool.id), balances=balances)
        self.join(pool)
        self.pools[name] = pool
        return pool

    def fill(self):
        self.add("80/20", {"MKR": 80, "WETH": 20}, 3_000_000, 3 * 10**15)
        self.add("three", {"WETH": 50, "UNI": 30, "LINK": 20}, 2_000_000, 2 * 10**15)
        self.add("50/50", {"WETH": 50, "USDC": 50}, 8_000_000, 10**15)
        self.add("dai", {"WETH": 60, "DAI": 40}, 5_000_000, 123_400_000_000_000)
        self.add("direct", {"MKR": 50, "USDC": 50}, 1_000_000, 3 * 10**15)
        self.add("rate", {"wstETH": 50, "WETH": 50}, 6_000_000, 10**14, {"wstETH": ODD_RATE})

    @property
    def contracts(self):
        """The contracts whose calls the core reads."""
        return {checksum(self.batch_router): "balancer.batch-router"}

    def row(self, **more):
        given = {
            "network": "devnet",
            "version": 3,
            "vault": checksum(self.vault),
            "batch_router": checksum(self.batch_router),
            "factories": {checksum(self.factory): "weighted"},
            "since_block": 0,
            "fee_controllers": [checksum(self.fees)],
        }
        return given | more


def v3_venue_on(devnet):
    """Returns the context of the venue on a devnet, which is restored afterwards."""
    return venue_on(devnet, make=VenueV3)


def body_of(venue, sold, bought, amount, **more):
    return balancer_venue.body_of(venue, sold, bought, amount, protocols=[PROVIDER], **more)


@contextlib.contextmanager
def reverted(venue):
    """Goes back to the state before, in a block that no gateway has seen."""
    rpc = venue.transactions.rpc
    snapshot = rpc("evm_snapshot")
    try:
        yield
    finally:
        assert rpc("evm_revert", snapshot)
        rpc("anvil_mine", "0x40")
