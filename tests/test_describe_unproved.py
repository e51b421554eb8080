"""``quoteway describe``: an argument whose role a contract does not prove gets none."""

import json
import re

import pytest
from described_contracts import FUTURE, NOBODY, OTHER, SENDER, SWAP, V2, V3, Devnet, call_of
from quoteway.models import NATIVE, PaymentRoles, SpendRoles


@pytest.fixture
def here(devnet, tmp_path):
    return Devnet(devnet, tmp_path)


def test_names_count_for_nothing(here, tmp_path):
    """The same arguments under each other's names."""
    abi = json.loads(V2.read_text())
    names = ["amountOutMin", "deadline", "to", "path", "amountIn"]
    for parameter, name in zip(abi[0]["inputs"], names, strict=True):
        parameter["name"] = name
    (tmp_path / "shuffled.json").write_text(json.dumps(abi))
    found = call_of(here.swap(abi=tmp_path / "shuffled.json"))
    assert found.spends == (SpendRoles("#.to.[0]", "#.amountOutMin"),)
    assert found.pays == (PaymentRoles("#.to.[-1]", "#.path", "#.deadline"),)
    assert found.deadline == "#.amountIn"


def deaf(router, *overwritten, more=b""):
    """Returns code that calls a router with other words in place of arguments: at a place, the value."""
    code = bytes.fromhex("365f5f37") + more  # calldata to memory
    for place, value in overwritten:
        pushed = b"\x33" if value == "sender" else b"\x7f" + value.to_bytes(32)
        code += pushed + b"\x61" + (4 + 32 * place).to_bytes(2) + b"\x52"
    code += bytes.fromhex("5f5f365f73") + bytes.fromhex(router[2:]) + bytes.fromhex("5af43d5f5f3e")
    end = len(code) + 6
    return code + b"\x60" + end.to_bytes(1) + bytes.fromhex("573d5ffd5b3d5ff3")


@pytest.mark.parametrize(
    ("overwritten", "roles", "kept"),
    [
        ([(1, 0)], {"#.amountOutMin as minimum"}, {"recipient", "deadline"}),
        ([(4, FUTURE)], {"#.deadline as deadline"}, {"recipient", "minimum"}),
        ([(3, "sender")], {"#.to as recipient"}, {"deadline", "minimum"}),
        ([(0, 10**8)], {"#.amountIn as amount"}, {"recipient", "deadline", "minimum"}),
        ([(1, 0), (4, FUTURE)], {"#.amountOutMin as minimum", "#.deadline as deadline"}, {"recipient"}),
    ],
)
def test_an_argument_that_a_contract_ignores_has_no_role(fresh_devnet, here, overwritten, roles, kept):
    with fresh_devnet.rpc() as rpc:
        rpc("anvil_setCode", NOBODY, "0x" + deaf(here.v2, *overwritten).hex())
    result = here.swap(to=NOBODY)
    found = call_of(result, status=1)
    told = re.findall(r"^not proved: (\S+ as \w+): ", result.stderr, re.MULTILINE)
    assert {*told} == roles
    assert all(f"#   {role}: " in result.stdout for role in roles)
    (paid,) = found.pays
    assert ("recipient" in kept) == (paid.recipient == "#.to")
    assert ("minimum" in kept) == (paid.minimum == "#.amountOutMin")
    assert ("deadline" in kept) == (found.deadline == "#.deadline")


@pytest.mark.slow
def test_a_minimum_that_a_taxed_token_does_not_reach_is_not_proved(here):
    """The router compares what its pair sends, not what arrives."""
    result = here.swap(path=("WETH", "TAX"))
    (paid,) = call_of(result, status=1).pays
    assert paid == PaymentRoles("#.path.[-1]", "#.to")


def test_a_contract_that_pays_somebody_else_has_no_payment(fresh_devnet, here):
    with fresh_devnet.rpc() as rpc:
        rpc("anvil_setCode", NOBODY, "0x" + deaf(here.v2, (3, int(OTHER, 16))).hex())
    result = here.swap(to=NOBODY)
    found = call_of(result, status=1)
    assert (found.spends, found.pays) == ((SpendRoles("#.path.[0]", "#.amountIn"),), ())
    told = re.findall(r"^not proved: (\S+ as \w+): ", result.stderr, re.MULTILINE)
    assert {*told} == {"#.to as recipient", "#.amountOutMin as minimum"}


def choosing(router):
    """Returns code that calls a router's swap for tokens or, by a sixth argument, for the native coin."""
    for_tokens, for_coins = 0x38ED1739, 0x18CBAFE5
    code = bytes.fromhex("60a435")  # the sixth argument
    code += b"\x63" + (for_tokens ^ for_coins).to_bytes(4) + bytes.fromhex("02")  # its choice
    code += b"\x63" + for_tokens.to_bytes(4) + bytes.fromhex("18" + "60e01b")  # at the left of a word
    code += bytes.fromhex("5f51" + "60201b60201c" + "17" + "5f52")  # in place of the selector
    return deaf(router, more=code)


@pytest.mark.slow
def test_a_flag_that_chooses_between_coin_and_token_is_found(fresh_devnet, here, tmp_path):
    abi = json.loads(V2.read_text())
    abi[0]["name"] = "swap"
    abi[0]["inputs"].append({"type": "bool", "name": "unwrap"})
    (tmp_path / "choosing.json").write_text(json.dumps(abi))
    with fresh_devnet.rpc() as rpc:
        rpc("anvil_setCode", NOBODY, "0x" + choosing(here.v2).hex())
    signature = "swap(uint256,uint256,address[],address,uint256,bool)"
    for flag, paid in ((False, (PaymentRoles("#.path.[-1]", "#.to", "#.amountOutMin"),)), (True, ())):
        values = 10**9, 1, [here["USDC"], here["WETH"]], SENDER, FUTURE, flag
        result = here.call(tmp_path / "choosing.json", NOBODY, signature, *values)
        found = call_of(result, status=int(flag))
        assert found.spends == (SpendRoles("#.path.[0]", "#.amountIn"),)
        assert found.pays == paid
    assert f"#.unwrap as token: it chooses whether {NATIVE} moves" in result.stderr


def test_tokens_in_packed_bytes_are_not_proved(here):
    path = bytes.fromhex(here["USDC"][2:]) + (500).to_bytes(3) + bytes.fromhex(here["WETH"][2:])
    signature = "exactInput((bytes,address,uint256,uint256))"
    values = path, SENDER, 10**9, 10**5
    unknown = here.call(V3, here.v3, signature, values)
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert "Name tokens that the call takes with --token" in unknown.stderr
    result = here.call(V3, here.v3, signature, values, options=["--token", here["USDC"]])
    found = call_of(result, status=1)
    assert (found.spends, found.pays) == ((), ())
    assert "#.params.[0] as token" in result.stderr


def test_an_exchange_of_one_for_one_proves_no_limit(here, tmp_path):
    abi = tmp_path / "weth.json"
    declared = {"type": "function", "name": "withdraw", "inputs": [{"type": "uint256", "name": "wad"}]}
    abi.write_text(json.dumps([declared, {"type": "function", "name": "deposit", "inputs": []}]))
    wrapped = here.call(abi, here["WETH"], "deposit()", options=["--value", str(10**18), "--action", "swap"])
    found = call_of(wrapped)
    assert found.spends == (SpendRoles(NATIVE, "@.value"),)
    assert found.pays == (PaymentRoles("@.to", "@.from"),)
    result = here.call(abi, here["WETH"], "withdraw(uint256)", 10**18, options=["--action", "swap"])
    assert call_of(result, status=1).spends == ()
    assert "#.wad as amount: 2 amounts are equal to it" in result.stderr


def test_amounts_that_are_equal_by_chance_prove_nothing(here):
    values = 900, 1, [here["USDC"], here["WETH"]], SENDER, FUTURE
    assert "only 900 base units" in here.call(V2, here.v2, SWAP, *values).stderr
