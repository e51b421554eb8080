"""A client that openapi-python-client made: a quote, its action, and a read of the chain."""

import json
import sys

from quoteway_client.api.rpc import call_rpc
from quoteway_client.api.swaps import create_swap_action, create_swap_quote
from quoteway_client.client import Client
from quoteway_client.models import Action, Error, RpcCall, RpcCallJsonrpc, RpcResult, SwapQuote, SwapQuoteBody

url, to_token, address = sys.argv[1:]
client = Client(base_url=url)


def body(amount: str) -> SwapQuoteBody:
    return SwapQuoteBody(
        network="devnet", from_token="native", to_token=to_token, amount=amount, address=address
    )


quote = create_swap_quote.sync(client=client, body=body("1000000000000000000"))
assert isinstance(quote, SwapQuote), quote
action = create_swap_action.sync(quote.quote_id, client=client)
assert isinstance(action, Action), action
call = RpcCall(jsonrpc=RpcCallJsonrpc.VALUE_0, id=1, method="eth_chainId")
answer = call_rpc.sync("31337", client=client, body=call)
assert isinstance(answer, RpcResult), answer
refused = create_swap_quote.sync(client=client, body=body("0"))
assert isinstance(refused, Error), refused

print(
    json.dumps(
        {
            "quoteId": quote.quote_id,
            "toAmount": quote.to_amount,
            "toAmountMin": quote.to_amount_min,
            "slippageBps": quote.request.slippage_bps,
            "transactions": [each.to_dict() for each in action.transactions],
            "intents": [step.clear_signing.intent for step in action.steps],
            "simulated": action.simulation.status,
            "chainId": answer.result,
            "refusal": [[field.path, field.reason] for field in refused.error.details.fields],
        }
    )
)
