"""The two chains as networks of the gateway."""

from collections.abc import Mapping
from typing import Any

from quoteway import Endpoint, Network

from quoteway_devnet.manifest import UNIVERSAL_ROUTER_VERSION, ChainManifest, chain_manifests, token_list_path

_USD_SYMBOLS = frozenset({"USDC", "USDT", "DAI"})
_NO_HOOKS = "0x0000000000000000000000000000000000000000"


def devnet_networks(ports: Mapping[str, int], bridge_api: str | None = None) -> tuple[Network, ...]:
    """Return both networks with their ``ports`` by slug; ``bridge_api`` is the URL of the relayer's API."""
    return tuple(_network(chain, ports[chain.slug], bridge_api) for chain in chain_manifests().values())


def _network(chain: ChainManifest, port: int, bridge_api: str | None) -> Network:
    return Network(
        slug=chain.slug,
        chain_id=chain.chain_id,
        name=chain.name,
        wrapped_native=chain.contracts["WETH9"],
        # anvil mines every transaction at once, so the head is polled often.
        block_time_s=1.0,
        head_poll_s=0.25,
        head_stale_s=0,
        testnet=True,
        # anvil takes WebSocket connections at the same port.
        endpoints=(Endpoint(f"http://127.0.0.1:{port}", name="anvil", ws=f"ws://127.0.0.1:{port}"),),
        deployments={
            "uniswap": (_uniswap(chain),),
            "erc4626": tuple(
                {"vault": vault.address, "protocol": "devnet", "strategy": vault.id}
                for vault in chain.vaults
                if vault.kind == "plain"
            ),
            "managedvault": (_managedvault(chain),),
            "across": (_across(chain, bridge_api),) if bridge_api else (),
        },
        token_lists=(str(token_list_path()),),
        contracts=chain.kinds,
    )


def _uniswap(chain: ChainManifest) -> Mapping[str, Any]:
    """Return the row of the uniswap plugin."""
    contracts = chain.contracts
    return {
        "protocol": "uniswap",
        "router": contracts["UniversalRouter"],
        "router_version": UNIVERSAL_ROUTER_VERSION,
        "base_tokens": chain.base_tokens,
        "usd_tokens": tuple(token.address for token in chain.tokens if token.symbol in _USD_SYMBOLS),
        "v2": {"factory": contracts["UniswapV2Factory"], "router": contracts["UniswapV2Router02"]},
        "v3": {
            "factory": contracts["UniswapV3Factory"],
            "position_manager": contracts["NonfungiblePositionManager"],
        },
        "v4": {
            "pool_manager": contracts["PoolManager"],
            "position_manager": contracts["PositionManager"],
        },
        "v4_known_pools": tuple(
            {
                "currency0": pool.token0,
                "currency1": pool.token1,
                "fee": pool.fee,
                "tick_spacing": pool.tick_spacing,
                "hooks": pool.hooks,
            }
            for pool in chain.pools
            if pool.hooks != _NO_HOOKS
        ),
    }


def _managedvault(chain: ChainManifest) -> Mapping[str, Any]:
    """Return the row of the managedvault plugin."""
    strategies = [{"id": vault.id, "vault": vault.address} for vault in chain.vaults if vault.kind == "plain"]
    return {"factory": chain.contracts["ManagedVaultFactory"], "strategies": tuple(strategies)}


def _across(chain: ChainManifest, api: str) -> Mapping[str, Any]:
    """Return the row of the across plugin."""
    return {"spoke_pool": chain.contracts["SpokePool"], "api": api}
