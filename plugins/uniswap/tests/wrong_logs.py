"""Answers to ``eth_getLogs`` that contradict the block: functions of the right answer."""

from quoteway import RpcError
from quoteway_devnet.accounts import ACCOUNTS

FOREIGN = ACCOUNTS[0].address


def of_block_before(logs):
    return [{**log, "blockHash": "0x" + "11" * 32} for log in logs]


def of_a_foreign_contract(logs):
    return [{**log, "address": FOREIGN} for log in logs]


def twice(logs):
    return logs * 2


def not_in_the_bloom(logs):
    return [{**log, "topics": ["0x" + "ab" * 32, *log["topics"][1:]]} for log in logs]


def malformed(logs):
    return [{"address": 1}]


def refused(logs):
    raise RpcError(-32000, "unknown block")
