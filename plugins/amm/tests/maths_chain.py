"""Our own contracts with the maths of Solidly and StableSwap pools, on an empty chain."""

from contextlib import contextmanager
from types import SimpleNamespace

from chain_state import ChainState, calldata
from quoteway_amm.solidly import SolidlyPool
from quoteway_devnet.anvil import Anvil, free_port
from quoteway_devnet.packages import prepare
from quoteway_devnet.transactions import DEPLOYER, Transactions

SOLIDLY_SWAP = "swap((uint256,uint256,uint256,uint256,bool,uint256,uint256),bool,uint256)"
STABLE_POOL = "(uint256[],uint256[],uint256,uint256,uint256,uint256,uint8,uint256,bool,bool)"
EXCHANGE = f"exchange({STABLE_POOL},uint256,uint256,uint256)"
PRODUCTS = ("each", "each_plus_one", "last")


@contextmanager
def running():
    tools = prepare()
    with Anvil.launch(tools.anvil, 31337, free_port()) as anvil, anvil.rpc() as rpc:
        transactions = Transactions(rpc, tools.bytecode)
        solidly, stable_swap = transactions.deploy("SolidlyMaths"), transactions.deploy("StableSwapMaths")
        state = ChainState(anvil.port, SimpleNamespace(contracts={}), DEPLOYER)
        yield MathsChain(state, solidly, stable_swap)


class MathsChain:
    """`quotes` answers for (pool, i, j, amount in), or (pool, zero for one, amount in) of a Solidly pool."""

    def __init__(self, state, solidly, stable_swap):
        self.state, self.solidly, self.stable_swap = state, solidly, stable_swap

    def quotes(self, cases):
        found = self.state.calls([self._call(*case) for case in cases], ["uint256"])
        return [answer and answer[0] for answer in found]

    def _call(self, pool, *swap):
        if isinstance(pool, SolidlyPool):
            state = (
                pool.reserve0, pool.reserve1, pool.unit0, pool.unit1, pool.stable, pool.fee,
                pool.fee_denominator,
            )  # fmt: skip
            return self.solidly, calldata(SOLIDLY_SWAP, state, *swap)
        formula = pool.formula
        state = (
            pool.balances, pool.rates, pool.amplification, pool.fee, pool.offpeg_fee_multiplier,
            formula.a_precision, PRODUCTS.index(formula.product), formula.rounding, formula.must_converge,
            formula.keeps_prices,
        )  # fmt: skip
        return self.stable_swap, calldata(EXCHANGE, state, *swap)
