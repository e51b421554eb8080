"""Deployment, management and rebalancing over a real socket, on the devnet's contracts."""

import asyncio

import pytest
from eth_utils import keccak, to_checksum_address
from managed_harness import BOT, MAX, OWNER, THIEF, USER, ManagedChain, serve_vaults
from quoteway.evm.abi import encode
from quoteway.evm.address import create2_address
from quoteway_devnet.accounts import ACCOUNTS
from quoteway_managedvault.contracts import creation_code

NOBODY = "0x000000000000000000000000000000000000bEEF"


class ManagedVaultHarness:
    def __init__(self, devnet, api):
        self.chain, self.api = ManagedChain(devnet), api
        self.vault = to_checksum_address(self.chain.managed)

    def deployment(self, **changes):
        body = {
            "asset": to_checksum_address(self.chain.usdc),
            "network": "devnet",
            "owner": OWNER,
            "bot": BOT,
            "strategy": "steady-usdc",
        }
        return body | changes

    async def manage(self, action, caller=OWNER, vault=None, **more):
        body = {"action": action, "address": caller, **more}
        return await self.api.post(f"/v2/vaults/31337:{vault or self.vault}/manage/action", body)

    async def rebalance(self, caller=BOT, vault=None, **more):
        body = {"address": caller, **more}
        return await self.api.post(f"/v2/vaults/31337:{vault or self.vault}/rebalance/action", body)

    async def run(self, answer):
        """Sends an action's transactions as they came over the wire."""
        assert answer.status == 201, answer.body
        for transaction in answer.body["transactions"]:
            self.send_raw(answer.body["from"], transaction)
        return answer.body

    async def listed(self, expected):
        """Requests the list until its rows are as ``expected``.

        The gateway serves it from memory and reads it again in the background."""
        async with asyncio.timeout(20):
            while True:
                await self.api.gateway.runtime.chains[31337].head(fresh=True)
                answer = await self.api.get("/v2/vaults?protocol=managedvault&network=devnet")
                if expected(answer.body["data"]):
                    return
                await asyncio.sleep(0.05)

    def send_raw(self, sender, transaction):
        with self.chain.devnet.rpc() as rpc:
            rpc("anvil_impersonateAccount", sender)
            call = {"from": sender, "gas": hex(8_000_000)}
            call |= {member: transaction[member] for member in ("to", "data", "value")}
            assert rpc.send(call)["status"] == "0x1"


@pytest.fixture
async def harness(fresh_devnet):
    async with serve_vaults(fresh_devnet) as api:
        yield ManagedVaultHarness(fresh_devnet, api)


async def test_the_catalog_marks_it_as_unaudited(harness):
    rows = (await harness.api.get("/v2/vaults?protocol=managedvault&network=devnet")).body["data"]
    assert [row["address"] for row in rows] == [harness.vault]
    assert [warning["code"] for warning in rows[0]["warnings"]] == ["unaudited"]
    providers = {row["id"]: row for row in (await harness.api.get("/v2/providers")).body["data"]}
    row = providers["managedvault"]
    assert "unaudited" in row["name"]
    expected = ["addStrategy", "harvest", "pause", "removeStrategy", "setBot", "setCap", "unpause"]
    assert row["actions"]["manage"] == expected
    assert row["actions"]["vault"] == ["deposit", "mint", "redeem", "withdraw"]


async def test_strategies_that_providers_list_are_those_that_deploy_takes(harness):
    rows = (await harness.api.get("/v2/providers")).body["data"]
    offered = {row["id"]: row["strategies"] for row in rows if row["strategies"]}
    assert set(offered) == {"managedvault"}
    assert {row["network"]: row["chainId"] for row in offered["managedvault"]}["devnet"] == 31337
    here = [row["id"] for row in offered["managedvault"] if row["network"] == "devnet"]
    assert "steady-usdc" in here
    answers = [
        await harness.api.post("/v2/vaults/deploy/quote", harness.deployment(strategy=name)) for name in here
    ]
    reasons = [answer.body["error"]["details"]["reason"] for answer in answers if answer.status != 200]
    assert set(reasons) <= {"conflict"}, "another asset, but a known strategy"
    unknown = await harness.api.post("/v2/vaults/deploy/quote", harness.deployment(strategy="steady-usd"))
    unknown.refused(422, "validation_error", "out_of_range", "strategy")


@pytest.mark.slow
async def test_the_predicted_address_is_the_deployed_one(harness):
    quote = await harness.api.post("/v2/vaults/deploy/quote", harness.deployment())
    assert quote.status == 200, quote.body
    predicted = quote.body["predictedAddress"]
    assert "unaudited" in {warning["code"] for warning in quote.body["warnings"]}
    steady, usdc = (to_checksum_address(each) for each in (harness.chain.steady, harness.chain.usdc))
    assert quote.body["params"] == {"asset": usdc, "owner": OWNER, "bot": BOT, "strategy": steady}
    # EIP-1014 with our own artifact: only salt and factory come from the answer.
    arguments = encode(["address"] * 4, [usdc, OWNER, BOT, steady])
    init_code_hash = keccak(creation_code("ManagedVault") + arguments)
    assert quote.body["initCodeHash"] == "0x" + init_code_hash.hex()
    salt = bytes.fromhex(quote.body["salt"][2:])
    assert predicted == create2_address(quote.body["factory"], salt, init_code_hash)

    body = harness.deployment(quoteId=quote.body["quoteId"])
    action = await harness.run(await harness.api.post("/v2/vaults/deploy/action", body))
    for member in ("factory", "predictedAddress", "salt", "initCodeHash", "params"):
        assert action[member] == quote.body[member]
    assert action["from"] == OWNER
    with harness.chain.devnet.rpc() as rpc:
        assert len(rpc("eth_getCode", predicted, "latest")) > 10_000
    assert harness.chain.read(harness.chain.factory, "isVault(address)", "(bool)", predicted)
    await harness.listed(lambda rows: predicted in {row["address"] for row in rows})


async def test_answers_have_the_documented_shape(harness):
    await harness.api.check(
        "createVaultDeployQuote", await harness.api.post("/v2/vaults/deploy/quote", harness.deployment())
    )
    await harness.api.check(
        "createVaultDeployAction", await harness.api.post("/v2/vaults/deploy/action", harness.deployment())
    )
    await harness.api.check("createVaultManageAction", await harness.manage("pause"))
    await harness.api.check("createVaultRebalanceAction", await harness.rebalance())
    await harness.api.check("listVaults", await harness.api.get("/v2/vaults"))
    await harness.api.check("listProviders", await harness.api.get("/v2/providers"))
    await harness.api.check("createVaultManageAction", await harness.manage("pause", THIEF))


async def test_the_same_request_gives_the_same_address_until_it_is_taken(harness):
    one, two = [
        (await harness.api.post("/v2/vaults/deploy/quote", harness.deployment())).body for _ in range(2)
    ]
    assert one["predictedAddress"] == two["predictedAddress"]
    other = (await harness.api.post("/v2/vaults/deploy/quote", harness.deployment(bot="0x" + "0" * 40))).body
    assert other["predictedAddress"] != one["predictedAddress"]
    assert other["params"]["bot"] is None
    await harness.run(await harness.api.post("/v2/vaults/deploy/action", harness.deployment()))
    three = (await harness.api.post("/v2/vaults/deploy/quote", harness.deployment())).body
    assert three["predictedAddress"] not in (one["predictedAddress"], other["predictedAddress"])
    pinned = harness.deployment(quoteId=two["quoteId"])
    error = (await harness.api.post("/v2/vaults/deploy/action", pinned)).refused(
        502, "upstream_error", "reverted"
    )
    assert "revert" in error["message"]


@pytest.mark.parametrize(
    ("change", "reason", "member"),
    [
        ({"strategy": "unheard-of"}, "out_of_range", "strategy"),
        ({"strategy": NOBODY}, "out_of_range", "strategy"),
        ({"asset": NOBODY}, "unsupported_token", "asset"),
        ({"owner": "0x" + "0" * 40}, "out_of_range", "owner"),
        ({"network": "atlantis"}, "unsupported_network", "network"),
        ({"amount": "1"}, "unknown_member", "amount"),
    ],
)
async def test_bad_deployments(harness, change, reason, member):
    for path in ("quote", "action"):
        answer = await harness.api.post(f"/v2/vaults/deploy/{path}", harness.deployment(**change))
        error = answer.refused(422, "validation_error", reason, member)
        if change == {"strategy": "unheard-of"}:
            assert "steady-usdc, bold-usdc" in error["message"]


async def test_deposit_and_redeem(harness):
    usdc = to_checksum_address(harness.chain.usdc)
    body = {"action": "deposit", "address": USER, "amount": str(10**9), "asset": usdc}
    action = await harness.run(await harness.api.post(f"/v2/vaults/31337:{harness.vault}/action", body))
    assert action["provider"] == "managedvault"
    assert {"unaudited", "no_onchain_limit"} <= {warning["code"] for warning in action["warnings"]}
    assert str(harness.chain.balance(harness.vault, USER)) == action["outputs"][0]["amount"]
    # More than is idle: the strategies pay.
    body |= {"action": "withdraw", "amount": "max"}
    before = harness.chain.balance(usdc, USER)
    action = await harness.run(await harness.api.post(f"/v2/vaults/31337:{harness.vault}/action", body))
    assert harness.chain.balance(usdc, USER) - before == int(action["outputs"][0]["amount"])
    assert harness.chain.balance(harness.vault, USER) == 0


@pytest.mark.slow
async def test_every_management_action(harness):
    chain = harness.chain

    def read(signature, outputs="(uint256)"):
        return chain.read(harness.vault, signature, outputs)

    action = await harness.run(await harness.manage("setCap", amount="5000000000000"))
    assert read("cap()") == 5 * 10**12
    assert action["requiredRole"] == {"name": "owner", "holder": OWNER, "callerHasRole": True}
    await harness.run(await harness.manage("setCap", amount="max"))
    assert read("cap()") == MAX
    await harness.run(await harness.manage("pause", BOT))
    assert read("paused()", "(bool)") is True
    usdc = to_checksum_address(chain.usdc)
    deposit = {"action": "deposit", "address": USER, "amount": "1000", "asset": usdc}
    answer = await harness.api.post(f"/v2/vaults/31337:{harness.vault}/quote", deposit)
    answer.refused(422, "validation_error", "amount_too_high", "amount")
    await harness.listed(lambda rows: rows[0]["status"] == "paused")
    (await harness.manage("pause")).refused(422, "validation_error", "conflict", "action")
    await harness.run(await harness.manage("unpause"))
    (await harness.manage("unpause")).refused(422, "validation_error", "conflict", "action")
    assert read("idleAssets()") > 0
    action = await harness.run(await harness.manage("harvest", BOT))
    assert action["requiredRole"] == {"name": "owner or bot", "holder": BOT, "callerHasRole": True}
    assert read("idleAssets()") == 0
    await harness.run(await harness.manage("setBot", bot=THIEF))
    assert int(read("bot()", "(address)"), 16) == int(THIEF, 16)
    await harness.run(await harness.manage("setBot", bot="0x" + "0" * 40))
    assert int(read("bot()", "(address)"), 16) == 0
    await harness.run(await harness.manage("removeStrategy", strategy="bold-usdc"))
    assert len(read("strategies()", "(address[])")) == 1
    await harness.run(await harness.manage("addStrategy", strategy=to_checksum_address(chain.bold)))
    assert len(read("strategies()", "(address[])")) == 2


@pytest.mark.parametrize(
    ("action", "more"),
    [
        ("setCap", {"amount": "1"}),
        ("setBot", {"bot": THIEF}),
        ("pause", {}),
        ("unpause", {}),
        ("harvest", {}),
        ("addStrategy", {"strategy": THIEF}),
        ("removeStrategy", {"strategy": "steady-usdc"}),
    ],
)
async def test_a_caller_without_the_role_is_refused(harness, action, more):
    answer = await harness.manage(action, THIEF, **more)
    error = answer.refused(422, "validation_error", "role_required", "address")
    role = error["details"]["requiredRole"]
    assert role["callerHasRole"] is False
    assert role["holder"] == OWNER
    assert OWNER in error["message"]
    if role["name"] == "owner":
        (await harness.manage(action, BOT, **more)).refused(422, "validation_error", "role_required")


@pytest.mark.parametrize(
    ("action", "more", "reason", "member"),
    [
        ("setCap", {}, "missing", "amount"),
        ("setBot", {}, "missing", "bot"),
        ("addStrategy", {}, "missing", "strategy"),
        ("addStrategy", {"strategy": "nowhere"}, "invalid_format", "strategy"),
        ("addStrategy", {"strategy": "bold-usdc"}, "conflict", "strategy"),
        ("removeStrategy", {"strategy": NOBODY}, "conflict", "strategy"),
        ("setFee", {"amount": "5"}, "unsupported_action", "action"),
        ("claim", {}, "unsupported_action", "action"),
        ("burn", {}, "unsupported_action", "action"),
    ],
)
async def test_bad_management(harness, action, more, reason, member):
    error = (await harness.manage(action, **more)).refused(422, "validation_error", reason, member)
    if action in ("setFee", "claim"):
        assert "harvest, pause, unpause, setBot, setCap, addStrategy, removeStrategy" in str(error)


async def test_rebalance_moves_assets_between_strategies(harness):
    chain = harness.chain

    def held(strategy):
        return chain.read(harness.vault, "strategyAssets(address)", "(uint256)", strategy)

    idle = chain.read(harness.vault, "idleAssets()", "(uint256)")
    steady, bold = held(chain.steady), held(chain.bold)
    assert idle > 0
    action = await harness.run(await harness.rebalance())  # idle money into the first strategy
    assert [step["kind"] for step in action["steps"]] == ["rebalance"]
    assert action["requiredRole"]["callerHasRole"] is True
    assert chain.read(harness.vault, "idleAssets()", "(uint256)") == 0
    assert abs(held(chain.steady) - steady - idle) <= 2
    assert held(chain.bold) == bold

    steady = held(chain.steady)
    await harness.run(await harness.rebalance(OWNER, strategy="bold-usdc", amount="250000000"))
    assert abs(steady - held(chain.steady) - 250_000_000) <= 2
    assert abs(held(chain.bold) - bold - 250_000_000) <= 2

    total = chain.total(harness.vault)
    await harness.run(await harness.rebalance(strategy=to_checksum_address(chain.bold)))
    assert held(chain.steady) == 0
    assert 0 <= total - held(chain.bold) <= 4


async def test_bad_rebalances(harness):
    error = (await harness.rebalance(THIEF)).refused(422, "validation_error", "role_required", "address")
    assert error["details"]["requiredRole"] == {
        "name": "owner or bot",
        "holder": OWNER,
        "callerHasRole": False,
    }
    (await harness.rebalance(strategy=NOBODY)).refused(422, "validation_error", "out_of_range", "strategy")
    (await harness.rebalance(strategy="nowhere")).refused(
        422, "validation_error", "invalid_format", "strategy"
    )
    too_much = await harness.rebalance(strategy="bold-usdc", amount=str(10**15))
    too_much.refused(422, "validation_error", "amount_too_high", "amount")
    await harness.run(await harness.rebalance())
    (await harness.rebalance()).refused(
        422, "validation_error", "conflict", "strategy"
    )  # nothing is idle now


async def test_a_rebalance_that_costs_too_much_is_refused(harness):
    chain = harness.chain
    odd = chain.devnet.deploy("OddVault", "(address)", chain.usdc)
    oddity = "become((bool,bool,bool,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256))"
    assert chain.send(USER, odd, oddity, (False, False, False, 0, 0, 300, 0, 0, 0, 0, 0)) is None
    assert chain.send(OWNER, harness.vault, "addStrategy(address)", odd) is None
    dear = {"strategy": odd, "amount": "500000000000"}
    (await harness.rebalance(**dear, slippageBps=50)).refused(
        422, "validation_error", "conflict", "slippageBps"
    )
    await harness.run(await harness.rebalance(**dear, slippageBps=200))


async def test_only_vaults_of_the_factory_are_managed(harness):
    """A plain vault belongs to the other provider, which has no management actions."""
    steady = to_checksum_address(harness.chain.steady)
    (await harness.manage("pause", vault=steady)).refused(
        422, "validation_error", "unsupported_action", "action"
    )
    (await harness.rebalance(vault=steady)).refused(422, "validation_error", "unsupported_action")
    (await harness.manage("pause", vault=NOBODY)).refused(404, "not_found")
    assert ACCOUNTS[0].address == OWNER
