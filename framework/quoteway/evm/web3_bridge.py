"""An ``AsyncWeb3`` that reads through a ``Chain``, for plugin authors who know web3.py."""

from __future__ import annotations

from typing import Any

from quoteway.context import Chain
from quoteway.errors import RpcError


def async_web3(chain: Chain) -> Any:
    """A new ``AsyncWeb3`` that sends its requests through the chain.

    Imports web3.py, which takes about a second the first time and brings signing code into the process:
    nothing of Quoteway calls this. Raises ``ImportError`` with the remedy when web3.py is not installed.
    """
    try:
        from web3 import AsyncWeb3
        from web3.providers.async_base import AsyncJSONBaseProvider
    except ImportError as error:
        raise ImportError("context.web3() needs web3.py: install quoteway[web3]") from error

    class ChainProvider(AsyncJSONBaseProvider):
        async def make_request(self, method: Any, params: Any) -> Any:
            answer: dict[str, Any] = {"jsonrpc": "2.0", "id": 1}
            try:
                answer["result"] = await chain.request(method, list(params))
            except RpcError as error:
                answer["error"] = {"code": error.rpc_code, "message": error.rpc_message, "data": error.data}
            return answer

        async def is_connected(self, show_traceback: bool = False) -> bool:
            return True

    # Without its cache web3.py reads eth_chainId around every call.
    return AsyncWeb3(ChainProvider(cache_allowed_requests=True))
