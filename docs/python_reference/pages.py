"""Which page of the reference shows which modules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the reference: its modules, below ``quoteway``, in their order.

    ``given`` are classes of these modules whose objects plugins get, and which they need not import.
    """

    file: str
    title: str
    about: str
    modules: tuple[str, ...]
    given: tuple[str, ...] = ()


PAGES = (
    Page(
        "providers",
        "Providers",
        "What the hooks return: a base class for each capability, and classes with which a plugin needs less "
        "code.",
        (
            *("hookspecs", "providers", "metrics_provider", "screener", "wallet_history"),
            *(
                "kit.contract_swaps",
                "kit.share_vaults",
                "kit.list_catalog",
                "models.site",
                "models.doctor_check",
            ),
        ),
        ("providers.TransactionProvider",),
    ),
    Page(
        "context",
        "What a plugin is given",
        "The argument of the hooks and what is reached through it: networks, chains, requests to upstreams, "
        "memory and metrics.",
        (
            *("context", "networks", "caching", "polled_json", "public_addresses", "rate_limiting"),
            *("plugin_store", "plugin_metrics", "shared_answers", "shared_documents", "spans"),
            *("shared_store", "store_rest"),
            *("liquidity_reader", "deployment", "command_runner"),
        ),
        (
            *("liquidity_reader.LiquidityReader", "deployment.Deployment", "deployment.QuoteSettings"),
            *("deployment.ServerSettings", "deployment.ProviderSettings", "plugin_metrics.PluginMetrics"),
            *(
                "spans.Span",
                "plugin_metrics.PluginCounter",
                "plugin_metrics.PluginGauge",
                "plugin_metrics.PluginHistogram",
            ),
        ),
    ),
    Page(
        "settings-and-errors",
        "Settings and errors",
        "Schemas and checks for a plugin's section of the configuration, and what a plugin raises.",
        ("kit.contract_settings", "secrets", "errors"),
    ),
    Page(
        "requests-and-quotes",
        "Requests, quotes and builds",
        "What a provider is asked and what it answers, and what the calls of its contracts mean.",
        (
            *("models.requests", "models.routing", "models.quotes", "models.optimality", "models.actions"),
            *("models.amounts", "models.terms", "models.notices", "models.calls"),
            "models.screening",
        ),
    ),
    Page(
        "lists-and-series",
        "Tokens, pools, vaults and series",
        "Rows of lists, positions of wallets, prices, values over time, and the health of nodes.",
        (
            *("models.tokens", "models.catalogs", "models.candles", "models.token_rows", "models.upstreams"),
            "models.raw_json",
        ),
    ),
    Page(
        "liquidity",
        "Liquidity",
        "Pools that swaps may be routed through, and the orders of what executes the swaps.",
        ("models.liquidity",),
    ),
    Page(
        "history",
        "Events and history",
        "Which events an indexer keeps, and the past of wallets, positions and prices.",
        ("models.events", "models.history", "models.index_status"),
    ),
    Page(
        "evm",
        "The EVM",
        "Addresses, ABI, units, reads, and contracts that every chain has. Other modules of "
        "`quoteway.evm` belong to the core.",
        (
            *("evm.abi", "evm.address", "evm.units", "models.chain", "evm.erc20", "evm.permit2"),
            *("evm.answers", "evm.reverts", "evm.single_flight", "evm.token_text"),
        ),
    ),
    Page(
        "testing",
        "Testing",
        "Fixtures of pytest, conformance suites, fake providers, and faulty nodes and plugins. They need the "
        "extra `quoteway[testing]`, and the distribution `quoteway-devnet` for chains.",
        (
            *("testing.pytest_plugin", "testing.conformance", "testing.fakes", "testing.execution"),
            *("testing.faulty_node", "testing.node_faults", "testing.bad_plugins"),
        ),
    ),
)
