"""ManagedVault and its factory on a real chain: who may what, and whose money is safe from whom."""

import json
import subprocess
from importlib import resources
from pathlib import Path

import pytest
import quoteway_managedvault
from managed_desk import BOT, DEPLOY, MAX, OWNER, THIEF, USER, ZERO, Ground, selector
from quoteway_devnet.accounts import ACCOUNTS

CONTRACTS = Path(__file__).parents[1] / "contracts"
NOT_OWNER = selector("OwnableUnauthorizedAccount(address)")
NOT_OWNER_OR_BOT = selector("NotOwnerOrBot(address)")
PAUSED = selector("EnforcedPause()")


@pytest.fixture
def ground(fresh_devnet):
    return Ground(fresh_devnet)


@pytest.fixture
def vault(ground):
    """USDC; steady first, bold second; a thousand dollars of the user, idle."""
    vault = ground.deploy()
    assert ground.send(OWNER, vault, "addStrategy(address)", ground.bold) is None
    assert ground.deposit(vault, 10**9) is None
    return vault


def test_the_source_gives_what_is_committed(tmp_path):
    assert (CONTRACTS / "node_modules").is_dir(), f"run `make prepare`, or `npm ci` in {CONTRACTS}"
    output = tmp_path / "artifacts"
    output.mkdir()
    subprocess.run(["node", "compile.js", output], cwd=CONTRACTS, check=True)
    committed = Path(quoteway_managedvault.__file__).with_name("artifacts")
    assert {file.name for file in output.iterdir()} == {file.name for file in committed.iterdir()}
    for file in output.iterdir():
        assert file.read_bytes() == (committed / file.name).read_bytes(), file.name


def test_the_devnet_has_this_factory():
    name = "ManagedVaultFactory.json"
    ours = resources.files("quoteway_managedvault") / "artifacts" / name
    borrowed = resources.files("quoteway_devnet") / "borrowed" / name
    assert json.loads(borrowed.read_text()) == json.loads(ours.read_text())


# --- the factory ------------------------------------------------------------------------------------------


def test_the_address_commits_to_every_argument(ground):
    predict = "predict(address,address,address,address,bytes32)"
    base = [ground.usdc, OWNER, BOT, ground.steady, bytes(32)]
    changed = [ground.weth, USER, ZERO, ground.bold, b"\1" * 32]
    addresses = {ground.read(ground.factory, predict, "(address)", *base)}
    for index, value in enumerate(changed):
        other = [*base[:index], value, *base[index + 1 :]]
        addresses.add(ground.read(ground.factory, predict, "(address)", *other))
    assert len(addresses) == 6


def test_whoever_deploys_the_vault_is_the_one_meant(ground):
    vault = ground.deploy()  # sent by a stranger
    assert int(ground.read(vault, "owner()", "(address)"), 16) == int(OWNER, 16)
    assert int(ground.read(vault, "bot()", "(address)"), 16) == int(BOT, 16)
    assert int(ground.read(vault, "asset()", "(address)"), 16) == int(ground.usdc, 16)
    assert ground.read(ground.factory, "isVault(address)", "(bool)", vault)
    assert not ground.read(ground.factory, "isVault(address)", "(bool)", ground.steady)
    again = (ground.usdc, OWNER, BOT, ground.steady, b"\7" * 32)
    assert ground.send(OWNER, ground.factory, DEPLOY, *again) is not None


def test_no_vault_for_the_wrong_asset_or_without_an_owner(ground):
    wrong = (ground.weth, OWNER, BOT, ground.steady, bytes(32))
    assert ground.send(OWNER, ground.factory, DEPLOY, *wrong) == selector("WrongAsset(address)")
    ownerless = (ground.usdc, ZERO, BOT, ground.steady, bytes(32))
    assert ground.send(OWNER, ground.factory, DEPLOY, *ownerless) == selector("OwnableInvalidOwner(address)")


# --- who may what -----------------------------------------------------------------------------------------

OWNER_ONLY = [
    ("setBot(address)", (THIEF,)),
    ("setCap(uint256)", (1,)),
    ("addStrategy(address)", (THIEF,)),
    ("removeStrategy(address)", (THIEF,)),
    ("unpause()", ()),
    ("transferOwnership(address)", (THIEF,)),
]


@pytest.mark.parametrize(("signature", "values"), OWNER_ONLY)
@pytest.mark.parametrize("caller", [BOT, USER, THIEF])
def test_only_the_owner(ground, vault, signature, values, caller):
    assert ground.send(caller, vault, signature, *values) == NOT_OWNER


@pytest.mark.parametrize("signature", ["pause()", "harvest()"])
@pytest.mark.parametrize("caller", [USER, THIEF])
def test_only_owner_or_bot(ground, vault, signature, caller):
    assert ground.send(caller, vault, signature) == NOT_OWNER_OR_BOT
    assert ground.rebalance(vault, vault, ground.steady, 1, sender=caller) == NOT_OWNER_OR_BOT


@pytest.mark.parametrize("caller", [OWNER, BOT])
def test_owner_and_bot_may(ground, vault, caller):
    assert ground.rebalance(vault, vault, ground.steady, 10**6, sender=caller) is None
    assert ground.send(caller, vault, "harvest()") is None
    assert ground.send(caller, vault, "pause()") is None


def test_without_a_bot_the_zero_address_may_nothing(ground):
    vault = ground.deploy(bot=ZERO)
    assert ground.send(ZERO, vault, "pause()") == NOT_OWNER_OR_BOT
    assert ground.send(OWNER, vault, "setBot(address)", BOT) is None
    assert ground.send(BOT, vault, "pause()") is None


def test_the_bot_cannot_take_money_out(ground, vault):
    assert ground.rebalance(vault, vault, THIEF, 1) == selector("UnknownStrategy(address)")
    assert ground.rebalance(vault, THIEF, ground.steady, 1) is not None
    odd = ground.devnet.deploy("OddVault", "(address)", ground.usdc)
    assert ground.rebalance(vault, vault, odd, 10**6) == selector("UnknownStrategy(address)")
    for signature in ("withdraw(uint256,address,address)", "redeem(uint256,address,address)"):
        assert ground.send(BOT, vault, signature, 1, BOT, USER) is not None


# --- depositors -------------------------------------------------------------------------------------------


def test_the_first_deposit_cannot_be_inflated_away(ground):
    """The classic attack: one unit in, a large donation, and the victim's deposit rounds to no shares."""
    vault = ground.deploy()
    before = ground.balance(ground.usdc, THIEF)
    assert ground.deposit(vault, 1, user=THIEF) is None
    donation, victims = 10**12, 10**9
    assert ground.send(THIEF, ground.usdc, "transfer(address,uint256)", vault, donation) is None
    assert ground.deposit(vault, victims) is None
    shares = ground.balance(vault, USER)
    assert shares > 0
    worth = ground.read(vault, "previewRedeem(uint256)", "(uint256)", shares)
    assert worth > victims * 999 // 1000, "the victim lost more than a thousandth"
    thiefs = ground.balance(vault, THIEF)
    assert ground.send(THIEF, vault, "redeem(uint256,address,address)", thiefs, THIEF, THIEF) is None
    assert before - ground.balance(ground.usdc, THIEF) > donation // 3, "the attack must cost a fortune"


def test_withdrawals_pull_from_strategies_when_idle_money_is_short(ground, vault):
    assert ground.rebalance(vault, vault, ground.steady, 6 * 10**8) is None
    assert ground.rebalance(vault, vault, ground.bold, 4 * 10**8) is None
    assert ground.read(vault, "idleAssets()", "(uint256)") == 0
    before = ground.balance(ground.usdc, USER)
    assert ground.send(USER, vault, "withdraw(uint256,address,address)", 7 * 10**8, USER, USER) is None
    assert ground.balance(ground.usdc, USER) - before == 7 * 10**8
    shares = ground.balance(vault, USER)
    assert ground.read(vault, "maxRedeem(address)", "(uint256)", USER) == shares
    promised = ground.read(vault, "previewRedeem(uint256)", "(uint256)", shares)
    before = ground.balance(ground.usdc, USER)
    assert ground.send(USER, vault, "redeem(uint256,address,address)", shares, USER, USER) is None
    assert ground.balance(ground.usdc, USER) - before == promised
    assert ground.balance(vault, USER) == 0


def test_yield_of_the_strategies_is_the_depositors(ground, vault):
    assert ground.rebalance(vault, vault, ground.steady, 10**9) is None
    before = ground.total(vault)
    ground.devnet.faucet("USDC", ground.steady, 10**12)
    earned = ground.total(vault) - before
    assert earned > 0
    shares = ground.balance(vault, USER)
    paid = ground.read(vault, "previewRedeem(uint256)", "(uint256)", shares)
    assert before + earned - paid <= 2


def test_a_strategys_loss_is_shared_by_all_at_once(ground, vault):
    assert ground.deposit(vault, 10**9, user=THIEF) is None
    assert ground.rebalance(vault, vault, ground.steady, 10**9) is None
    held = ground.read(ground.steady, "totalAssets()", "(uint256)")
    ground.lose(ground.steady, held // 2)
    worth = {
        user: ground.read(vault, "previewRedeem(uint256)", "(uint256)", ground.balance(vault, user))
        for user in (USER, THIEF)
    }
    assert abs(worth[USER] - worth[THIEF]) <= 1
    assert 1_490_000_000 < sum(worth.values()) < 1_510_000_000
    # Who leaves first takes its own part and no more.
    shares = ground.balance(vault, THIEF)
    assert ground.send(THIEF, vault, "redeem(uint256,address,address)", shares, THIEF, THIEF) is None
    left = ground.read(vault, "previewRedeem(uint256)", "(uint256)", ground.balance(vault, USER))
    assert abs(left - worth[USER]) <= 2


def test_what_is_not_liquid_is_not_promised(ground, vault):
    odd = ground.devnet.deploy("OddVault", "(address)", ground.usdc)
    assert ground.send(OWNER, vault, "addStrategy(address)", odd) is None
    assert ground.rebalance(vault, vault, odd, 9 * 10**8) is None
    oddity = "become((bool,bool,bool,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256))"
    values = (False, False, False, 0, 10**8, 0, 0, 0, 0, 0, 0)
    assert ground.send(USER, odd, oddity, values) is None
    limit = ground.read(vault, "maxWithdraw(address)", "(uint256)", USER)
    assert limit == 2 * 10**8
    withdraw = "withdraw(uint256,address,address)"
    too_much = selector("ERC4626ExceededMaxWithdraw(address,uint256,uint256)")
    assert ground.send(USER, vault, withdraw, limit + 1, USER, USER) == too_much
    redeemable = ground.read(vault, "maxRedeem(address)", "(uint256)", USER)
    assert redeemable < ground.balance(vault, USER)
    assert ground.send(USER, vault, withdraw, limit, USER, USER) is None


def test_a_token_that_keeps_part_of_transfers_is_refused(ground):
    tax = ground.devnet.chains["devnet"].token("TAX").address
    plain = ground.devnet.deploy("YieldVault", "(address,string,string)", tax, "T", "T")
    vault = ground.deploy(asset=tax, strategy=plain)
    assert ground.deposit(vault, 10**18, asset=tax) == selector("TaxedTransfer()")


def test_cap(ground, vault):
    assert ground.send(OWNER, vault, "setCap(uint256)", 10**9 + 10) is None
    assert ground.read(vault, "maxDeposit(address)", "(uint256)", USER) == 10
    exceeded = selector("ERC4626ExceededMaxDeposit(address,uint256,uint256)")
    assert ground.deposit(vault, 11) == exceeded
    shares = ground.read(vault, "maxMint(address)", "(uint256)", USER)
    assert ground.read(vault, "previewMint(uint256)", "(uint256)", shares) <= 10
    assert ground.deposit(vault, 10) is None
    assert ground.read(vault, "maxDeposit(address)", "(uint256)", USER) == 0
    assert ground.send(OWNER, vault, "setCap(uint256)", 5) is None
    assert ground.read(vault, "maxDeposit(address)", "(uint256)", USER) == 0


def test_a_pause_stops_deposits_and_moves_but_never_withdrawals(ground, vault):
    assert ground.rebalance(vault, vault, ground.steady, 9 * 10**8) is None
    assert ground.send(BOT, vault, "pause()") is None
    for limit in ("maxDeposit(address)", "maxMint(address)"):
        assert ground.read(vault, limit, "(uint256)", USER) == 0
    assert ground.deposit(vault, 1) == selector("ERC4626ExceededMaxDeposit(address,uint256,uint256)")
    assert ground.rebalance(vault, vault, ground.steady, 1) == PAUSED
    assert ground.send(OWNER, vault, "harvest()") == PAUSED
    shares = ground.balance(vault, USER)
    assert ground.send(USER, vault, "redeem(uint256,address,address)", shares, USER, USER) is None
    assert ground.balance(vault, USER) == 0
    assert ground.send(OWNER, vault, "unpause()") is None
    assert ground.deposit(vault, 1) is None


# --- strategies -------------------------------------------------------------------------------------------


def test_rebalance_moves_what_it_says_and_leaves_no_allowance(ground, vault):
    assert ground.rebalance(vault, vault, ground.steady, 5 * 10**8, 10**9 - 1) is None
    assert ground.read(vault, "strategyAssets(address)", "(uint256)", ground.steady) in (
        5 * 10**8 - 1,
        5 * 10**8,
    )
    assert ground.rebalance(vault, ground.steady, ground.bold, 2 * 10**8) is None
    assert ground.read(vault, "strategyAssets(address)", "(uint256)", ground.bold) in (
        2 * 10**8 - 1,
        2 * 10**8,
    )
    assert ground.rebalance(vault, ground.bold, vault, MAX) is None
    assert ground.read(vault, "strategyAssets(address)", "(uint256)", ground.bold) == 0
    for strategy in (ground.steady, ground.bold):
        assert ground.read(ground.usdc, "allowance(address,address)", "(uint256)", vault, strategy) == 0
    assert ground.rebalance(vault, vault, vault, 1) == selector("NothingToMove()")
    assert ground.rebalance(vault, vault, ground.steady, 0) == selector("NothingToMove()")
    assert 10**9 - ground.total(vault) <= 4


def test_rebalance_does_not_cost_more_than_allowed(ground, vault):
    odd = ground.devnet.deploy("OddVault", "(address)", ground.usdc)
    oddity = "become((bool,bool,bool,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256))"
    assert ground.send(OWNER, vault, "addStrategy(address)", odd) is None
    assert ground.send(USER, odd, oddity, (False, False, False, 0, 0, 100, 0, 0, 0, 0, 0)) is None
    least = 10**9 * 995 // 1000
    assert ground.rebalance(vault, vault, odd, 10**9, least) == selector("LossTooHigh(uint256,uint256)")
    assert ground.rebalance(vault, vault, odd, 4 * 10**8, least) is None


def test_adding_and_removing_strategies(ground, vault):
    add, remove = "addStrategy(address)", "removeStrategy(address)"
    assert ground.send(OWNER, vault, add, ground.bold) == selector("StrategyExists(address)")
    weth = ground.devnet.deploy("YieldVault", "(address,string,string)", ground.weth, "W", "W")
    assert ground.send(OWNER, vault, add, weth) == selector("WrongAsset(address)")
    assert ground.send(OWNER, vault, add, vault) == selector("WrongAsset(address)")
    assert ground.rebalance(vault, vault, ground.bold, 10**9) is None
    before = ground.total(vault)
    assert ground.send(OWNER, vault, remove, ground.bold) is None
    assert ground.balance(ground.bold, vault) == 0
    assert before - ground.total(vault) <= 1
    assert ground.send(OWNER, vault, remove, ground.bold) == selector("UnknownStrategy(address)")
    for _ in range(7):
        more = ground.devnet.deploy("YieldVault", "(address,string,string)", ground.usdc, "Y", "Y")
        assert ground.send(OWNER, vault, add, more) is None
    assert ground.send(OWNER, vault, add, ground.bold) == selector("TooManyStrategies()")


def test_harvest_invests_idle_money_in_the_first_strategy(ground, vault):
    assert ground.send(BOT, vault, "harvest()") is None
    assert ground.read(vault, "idleAssets()", "(uint256)") == 0
    assert 10**9 - ground.read(vault, "strategyAssets(address)", "(uint256)", ground.steady) <= 1
    assert ground.read(vault, "harvestedAssets()", "(uint256)") == ground.total(vault)
    assert ground.send(OWNER, vault, "harvest()") is None  # with nothing to invest


def test_many_users_come_and_go_without_loss(ground, vault):
    users = [account.address for account in ACCOUNTS[2:6]]
    paid = dict.fromkeys(users, 0)
    paid[USER] = 10**9
    for index, user in enumerate(users):
        assert ground.deposit(vault, 10**8 + 7 * index, user=user) is None
        paid[user] += 10**8 + 7 * index
        assert ground.rebalance(vault, vault, (ground.steady, ground.bold)[index % 2], MAX) is None
    for user in users:
        before = ground.balance(ground.usdc, user)
        shares = ground.balance(vault, user)
        assert ground.send(user, vault, "redeem(uint256,address,address)", shares, user, user) is None
        back = ground.balance(ground.usdc, user) - before
        assert paid[user] - 8 <= back <= paid[user]
