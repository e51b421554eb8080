"""Models that datamodel-code-generator made: a quote, its action, and a read of the chain."""

import json
import sys
import urllib.error
import urllib.request

from models import Action, Error, PoolBody, RpcAnswer, RpcCall, SwapQuote, SwapQuoteBody
from pydantic import BaseModel, ValidationError

url, to_token, address = sys.argv[1:]


def post(path: str, body: BaseModel | None = None) -> bytes:
    sent = b"" if body is None else body.model_dump_json(by_alias=True, exclude_unset=True).encode()
    request = urllib.request.Request(url + path, sent, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.read()
    except urllib.error.HTTPError as refusal:
        return refusal.read()


def body(amount: str) -> SwapQuoteBody:
    return SwapQuoteBody(
        network="devnet", fromToken="native", toToken=to_token, amount=amount, address=address
    )


quote = SwapQuote.model_validate_json(post("/v2/swaps/quote", body("1000000000000000000")))
action = Action.model_validate_json(post(f"/v2/swaps/{quote.quoteId}/action"))
call = RpcCall(jsonrpc="2.0", id=1, method="eth_chainId")
answer = RpcAnswer.model_validate_json(post("/v2/rpc/31337", call))
# The pattern of an amount refuses what the server refuses.
try:
    body("0")
    raise SystemExit("0 is no amount of a swap")
except ValidationError:
    refused = Error.model_validate_json(
        post(
            "/v2/swaps/quote",
            SwapQuoteBody.model_construct(
                network="devnet", fromToken="native", toToken=to_token, amount="0", address=address
            ),
        )
    )
collect = PoolBody.model_validate({"action": "collect", "address": address}).root
assert type(collect).__name__ == "PoolBodyCollect", collect
try:
    PoolBody.model_validate({"action": "add", "address": address})
    raise SystemExit("adding needs amount and asset")
except ValidationError:
    pass

print(
    json.dumps(
        {
            "quoteId": quote.quoteId,
            "toAmount": quote.toAmount,
            "toAmountMin": quote.toAmountMin,
            "slippageBps": quote.request.slippageBps,
            "transactions": [each.model_dump(by_alias=True) for each in action.transactions],
            "intents": [step.clearSigning.intent for step in action.steps],
            "simulated": action.simulation.status,
            "chainId": answer.root.result,
            "refusal": [[field.path, field.reason] for field in refused.error.details.fields],
        }
    )
)
