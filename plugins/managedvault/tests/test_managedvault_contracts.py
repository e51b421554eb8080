"""ManagedVault and its factory on a real chain: roles, deposits, strategies and attacks."""

import json
from importlib import resources

import pytest
from managed_harness import BOT, DEPLOY, MAX, OWNER, THIEF, USER, ZERO, ManagedChain, selector
from quoteway_devnet.accounts import ACCOUNTS

NOT_OWNER = selector("OwnableUnauthorizedAccount(address)")
NOT_OWNER_OR_BOT = selector("NotOwnerOrBot(address)")
PAUSED = selector("EnforcedPause()")


@pytest.fixture
def chain(fresh_devnet):
    return ManagedChain(fresh_devnet)


@pytest.fixture
def vault(chain):
    """USDC; steady first, bold second; a thousand dollars of the user, idle."""
    vault = chain.deploy()
    assert chain.send(OWNER, vault, "addStrategy(address)", chain.bold) is None
    assert chain.deposit(vault, 10**9) is None
    return vault


def test_the_devnet_has_this_factory():
    name = "ManagedVaultFactory.json"
    ours = resources.files("quoteway_managedvault") / "artifacts" / name
    borrowed = resources.files("quoteway_devnet") / "borrowed" / name
    assert json.loads(borrowed.read_text()) == json.loads(ours.read_text())


# --- the factory ------------------------------------------------------------------------------------------


def test_the_address_commits_to_every_argument(chain):
    predict = "predict(address,address,address,address,bytes32)"
    base = [chain.usdc, OWNER, BOT, chain.steady, bytes(32)]
    changed = [chain.weth, USER, ZERO, chain.bold, b"\1" * 32]
    addresses = {chain.read(chain.factory, predict, "(address)", *base)}
    for index, value in enumerate(changed):
        other = [*base[:index], value, *base[index + 1 :]]
        addresses.add(chain.read(chain.factory, predict, "(address)", *other))
    assert len(addresses) == 6


def test_the_vault_does_not_depend_on_who_deploys_it(chain):
    vault = chain.deploy()  # sent by a stranger
    assert int(chain.read(vault, "owner()", "(address)"), 16) == int(OWNER, 16)
    assert int(chain.read(vault, "bot()", "(address)"), 16) == int(BOT, 16)
    assert int(chain.read(vault, "asset()", "(address)"), 16) == int(chain.usdc, 16)
    assert chain.read(chain.factory, "isVault(address)", "(bool)", vault)
    assert not chain.read(chain.factory, "isVault(address)", "(bool)", chain.steady)
    again = (chain.usdc, OWNER, BOT, chain.steady, b"\7" * 32)
    assert chain.send(OWNER, chain.factory, DEPLOY, *again) is not None


def test_no_vault_for_the_wrong_asset_or_without_an_owner(chain):
    wrong = (chain.weth, OWNER, BOT, chain.steady, bytes(32))
    assert chain.send(OWNER, chain.factory, DEPLOY, *wrong) == selector("WrongAsset(address)")
    ownerless = (chain.usdc, ZERO, BOT, chain.steady, bytes(32))
    assert chain.send(OWNER, chain.factory, DEPLOY, *ownerless) == selector("OwnableInvalidOwner(address)")


# --- roles ------------------------------------------------------------------------------------------------

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
def test_only_the_owner(chain, vault, signature, values, caller):
    assert chain.send(caller, vault, signature, *values) == NOT_OWNER


@pytest.mark.parametrize("signature", ["pause()", "harvest()"])
@pytest.mark.parametrize("caller", [USER, THIEF])
def test_only_owner_or_bot(chain, vault, signature, caller):
    assert chain.send(caller, vault, signature) == NOT_OWNER_OR_BOT
    assert chain.rebalance(vault, vault, chain.steady, 1, sender=caller) == NOT_OWNER_OR_BOT


@pytest.mark.parametrize("caller", [OWNER, BOT])
def test_owner_and_bot_may(chain, vault, caller):
    assert chain.rebalance(vault, vault, chain.steady, 10**6, sender=caller) is None
    assert chain.send(caller, vault, "harvest()") is None
    assert chain.send(caller, vault, "pause()") is None


def test_without_a_bot_the_zero_address_has_no_role(chain):
    vault = chain.deploy(bot=ZERO)
    assert chain.send(ZERO, vault, "pause()") == NOT_OWNER_OR_BOT
    assert chain.send(OWNER, vault, "setBot(address)", BOT) is None
    assert chain.send(BOT, vault, "pause()") is None


def test_the_bot_cannot_withdraw_assets(chain, vault):
    assert chain.rebalance(vault, vault, THIEF, 1) == selector("UnknownStrategy(address)")
    assert chain.rebalance(vault, THIEF, chain.steady, 1) is not None
    odd = chain.devnet.deploy("OddVault", "(address)", chain.usdc)
    assert chain.rebalance(vault, vault, odd, 10**6) == selector("UnknownStrategy(address)")
    for signature in ("withdraw(uint256,address,address)", "redeem(uint256,address,address)"):
        assert chain.send(BOT, vault, signature, 1, BOT, USER) is not None


# --- depositors -------------------------------------------------------------------------------------------


def test_an_inflation_attack_on_the_first_deposit_fails(chain):
    """The attack: deposit one unit, donate a large amount, and the victim's deposit rounds to no shares."""
    vault = chain.deploy()
    before = chain.balance(chain.usdc, THIEF)
    assert chain.deposit(vault, 1, user=THIEF) is None
    donation, victims = 10**12, 10**9
    assert chain.send(THIEF, chain.usdc, "transfer(address,uint256)", vault, donation) is None
    assert chain.deposit(vault, victims) is None
    shares = chain.balance(vault, USER)
    assert shares > 0
    worth = chain.read(vault, "previewRedeem(uint256)", "(uint256)", shares)
    assert worth > victims * 999 // 1000, "the victim lost more than a thousandth"
    thiefs = chain.balance(vault, THIEF)
    assert chain.send(THIEF, vault, "redeem(uint256,address,address)", thiefs, THIEF, THIEF) is None
    assert before - chain.balance(chain.usdc, THIEF) > donation // 3, "the attack must cost a fortune"


def test_withdrawals_use_strategies_when_idle_assets_are_short(chain, vault):
    assert chain.rebalance(vault, vault, chain.steady, 6 * 10**8) is None
    assert chain.rebalance(vault, vault, chain.bold, 4 * 10**8) is None
    assert chain.read(vault, "idleAssets()", "(uint256)") == 0
    before = chain.balance(chain.usdc, USER)
    assert chain.send(USER, vault, "withdraw(uint256,address,address)", 7 * 10**8, USER, USER) is None
    assert chain.balance(chain.usdc, USER) - before == 7 * 10**8
    shares = chain.balance(vault, USER)
    assert chain.read(vault, "maxRedeem(address)", "(uint256)", USER) == shares
    promised = chain.read(vault, "previewRedeem(uint256)", "(uint256)", shares)
    before = chain.balance(chain.usdc, USER)
    assert chain.send(USER, vault, "redeem(uint256,address,address)", shares, USER, USER) is None
    assert chain.balance(chain.usdc, USER) - before == promised
    assert chain.balance(vault, USER) == 0


def test_yield_of_the_strategies_is_the_depositors(chain, vault):
    assert chain.rebalance(vault, vault, chain.steady, 10**9) is None
    before = chain.total(vault)
    chain.devnet.faucet("USDC", chain.steady, 10**12)
    earned = chain.total(vault) - before
    assert earned > 0
    shares = chain.balance(vault, USER)
    paid = chain.read(vault, "previewRedeem(uint256)", "(uint256)", shares)
    assert before + earned - paid <= 2


def test_a_strategys_loss_is_shared_by_all_at_once(chain, vault):
    assert chain.deposit(vault, 10**9, user=THIEF) is None
    assert chain.rebalance(vault, vault, chain.steady, 10**9) is None
    held = chain.read(chain.steady, "totalAssets()", "(uint256)")
    chain.lose(chain.steady, held // 2)
    worth = {
        user: chain.read(vault, "previewRedeem(uint256)", "(uint256)", chain.balance(vault, user))
        for user in (USER, THIEF)
    }
    assert abs(worth[USER] - worth[THIEF]) <= 1
    assert 1_490_000_000 < sum(worth.values()) < 1_510_000_000
    # The first user to leave takes its own part only.
    shares = chain.balance(vault, THIEF)
    assert chain.send(THIEF, vault, "redeem(uint256,address,address)", shares, THIEF, THIEF) is None
    left = chain.read(vault, "previewRedeem(uint256)", "(uint256)", chain.balance(vault, USER))
    assert abs(left - worth[USER]) <= 2


def test_limits_count_liquid_assets_only(chain, vault):
    odd = chain.devnet.deploy("OddVault", "(address)", chain.usdc)
    assert chain.send(OWNER, vault, "addStrategy(address)", odd) is None
    assert chain.rebalance(vault, vault, odd, 9 * 10**8) is None
    oddity = "become((bool,bool,bool,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256))"
    values = (False, False, False, 0, 10**8, 0, 0, 0, 0, 0, 0)
    assert chain.send(USER, odd, oddity, values) is None
    limit = chain.read(vault, "maxWithdraw(address)", "(uint256)", USER)
    assert limit == 2 * 10**8
    withdraw = "withdraw(uint256,address,address)"
    too_much = selector("ERC4626ExceededMaxWithdraw(address,uint256,uint256)")
    assert chain.send(USER, vault, withdraw, limit + 1, USER, USER) == too_much
    redeemable = chain.read(vault, "maxRedeem(address)", "(uint256)", USER)
    assert redeemable < chain.balance(vault, USER)
    assert chain.send(USER, vault, withdraw, limit, USER, USER) is None


def test_a_fee_on_transfer_token_is_refused(chain):
    tax = chain.devnet.chains["devnet"].token("TAX").address
    plain = chain.devnet.deploy("YieldVault", "(address,string,string)", tax, "T", "T")
    vault = chain.deploy(asset=tax, strategy=plain)
    assert chain.deposit(vault, 10**18, asset=tax) == selector("TaxedTransfer()")


def test_cap(chain, vault):
    assert chain.send(OWNER, vault, "setCap(uint256)", 10**9 + 10) is None
    assert chain.read(vault, "maxDeposit(address)", "(uint256)", USER) == 10
    exceeded = selector("ERC4626ExceededMaxDeposit(address,uint256,uint256)")
    assert chain.deposit(vault, 11) == exceeded
    shares = chain.read(vault, "maxMint(address)", "(uint256)", USER)
    assert chain.read(vault, "previewMint(uint256)", "(uint256)", shares) <= 10
    assert chain.deposit(vault, 10) is None
    assert chain.read(vault, "maxDeposit(address)", "(uint256)", USER) == 0
    assert chain.send(OWNER, vault, "setCap(uint256)", 5) is None
    assert chain.read(vault, "maxDeposit(address)", "(uint256)", USER) == 0


def test_a_pause_stops_deposits_and_moves_but_never_withdrawals(chain, vault):
    assert chain.rebalance(vault, vault, chain.steady, 9 * 10**8) is None
    assert chain.send(BOT, vault, "pause()") is None
    for limit in ("maxDeposit(address)", "maxMint(address)"):
        assert chain.read(vault, limit, "(uint256)", USER) == 0
    assert chain.deposit(vault, 1) == selector("ERC4626ExceededMaxDeposit(address,uint256,uint256)")
    assert chain.rebalance(vault, vault, chain.steady, 1) == PAUSED
    assert chain.send(OWNER, vault, "harvest()") == PAUSED
    shares = chain.balance(vault, USER)
    assert chain.send(USER, vault, "redeem(uint256,address,address)", shares, USER, USER) is None
    assert chain.balance(vault, USER) == 0
    assert chain.send(OWNER, vault, "unpause()") is None
    assert chain.deposit(vault, 1) is None


# --- strategies -------------------------------------------------------------------------------------------


def test_rebalance_moves_what_it_says_and_leaves_no_allowance(chain, vault):
    assert chain.rebalance(vault, vault, chain.steady, 5 * 10**8, 10**9 - 1) is None
    assert chain.read(vault, "strategyAssets(address)", "(uint256)", chain.steady) in (
        5 * 10**8 - 1,
        5 * 10**8,
    )
    assert chain.rebalance(vault, chain.steady, chain.bold, 2 * 10**8) is None
    assert chain.read(vault, "strategyAssets(address)", "(uint256)", chain.bold) in (
        2 * 10**8 - 1,
        2 * 10**8,
    )
    assert chain.rebalance(vault, chain.bold, vault, MAX) is None
    assert chain.read(vault, "strategyAssets(address)", "(uint256)", chain.bold) == 0
    for strategy in (chain.steady, chain.bold):
        assert chain.read(chain.usdc, "allowance(address,address)", "(uint256)", vault, strategy) == 0
    assert chain.rebalance(vault, vault, vault, 1) == selector("NothingToMove()")
    assert chain.rebalance(vault, vault, chain.steady, 0) == selector("NothingToMove()")
    assert 10**9 - chain.total(vault) <= 4


def test_rebalance_does_not_cost_more_than_allowed(chain, vault):
    odd = chain.devnet.deploy("OddVault", "(address)", chain.usdc)
    oddity = "become((bool,bool,bool,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256))"
    assert chain.send(OWNER, vault, "addStrategy(address)", odd) is None
    assert chain.send(USER, odd, oddity, (False, False, False, 0, 0, 100, 0, 0, 0, 0, 0)) is None
    least = 10**9 * 995 // 1000
    assert chain.rebalance(vault, vault, odd, 10**9, least) == selector("LossTooHigh(uint256,uint256)")
    assert chain.rebalance(vault, vault, odd, 4 * 10**8, least) is None


def test_adding_and_removing_strategies(chain, vault):
    add, remove = "addStrategy(address)", "removeStrategy(address)"
    assert chain.send(OWNER, vault, add, chain.bold) == selector("StrategyExists(address)")
    weth = chain.devnet.deploy("YieldVault", "(address,string,string)", chain.weth, "W", "W")
    assert chain.send(OWNER, vault, add, weth) == selector("WrongAsset(address)")
    assert chain.send(OWNER, vault, add, vault) == selector("WrongAsset(address)")
    assert chain.rebalance(vault, vault, chain.bold, 10**9) is None
    before = chain.total(vault)
    assert chain.send(OWNER, vault, remove, chain.bold) is None
    assert chain.balance(chain.bold, vault) == 0
    assert before - chain.total(vault) <= 1
    assert chain.send(OWNER, vault, remove, chain.bold) == selector("UnknownStrategy(address)")
    for _ in range(7):
        more = chain.devnet.deploy("YieldVault", "(address,string,string)", chain.usdc, "Y", "Y")
        assert chain.send(OWNER, vault, add, more) is None
    assert chain.send(OWNER, vault, add, chain.bold) == selector("TooManyStrategies()")


def test_harvest_invests_idle_money_in_the_first_strategy(chain, vault):
    assert chain.send(BOT, vault, "harvest()") is None
    assert chain.read(vault, "idleAssets()", "(uint256)") == 0
    assert 10**9 - chain.read(vault, "strategyAssets(address)", "(uint256)", chain.steady) <= 1
    assert chain.read(vault, "harvestedAssets()", "(uint256)") == chain.total(vault)
    assert chain.send(OWNER, vault, "harvest()") is None  # with nothing to invest


def test_many_users_deposit_and_redeem_without_loss(chain, vault):
    users = [account.address for account in ACCOUNTS[2:6]]
    paid = dict.fromkeys(users, 0)
    paid[USER] = 10**9
    for index, user in enumerate(users):
        assert chain.deposit(vault, 10**8 + 7 * index, user=user) is None
        paid[user] += 10**8 + 7 * index
        assert chain.rebalance(vault, vault, (chain.steady, chain.bold)[index % 2], MAX) is None
    for user in users:
        before = chain.balance(chain.usdc, user)
        shares = chain.balance(vault, user)
        assert chain.send(user, vault, "redeem(uint256,address,address)", shares, user, user) is None
        back = chain.balance(chain.usdc, user) - before
        assert paid[user] - 8 <= back <= paid[user]
