"""Which file of which npm package holds the init code of a contract; ``packages.json`` pins the packages."""

CONTRACT_FILES: dict[str, tuple[str, str]] = {
    "Multicall3": ("@across-protocol/contracts", "dist/evm/artifacts/Multicall3.sol/Multicall3.json"),
    "EthereumSpokePool": (
        "@across-protocol/contracts",
        "dist/evm/artifacts/Ethereum_SpokePool.sol/Ethereum_SpokePool.json",
    ),
    "ERC1967Proxy": ("@across-protocol/contracts", "dist/evm/artifacts/ERC1967Proxy.sol/ERC1967Proxy.json"),
    "WETH9": ("@uniswap/v2-periphery", "build/WETH9.json"),
    "UniswapV2Factory": ("@uniswap/v2-core", "build/UniswapV2Factory.json"),
    "UniswapV2Router02": ("@uniswap/v2-periphery", "build/UniswapV2Router02.json"),
    "UniswapV3Factory": (
        "@uniswap/v3-core",
        "artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json",
    ),
    "NFTDescriptor": (
        "@uniswap/v3-periphery",
        "artifacts/contracts/libraries/NFTDescriptor.sol/NFTDescriptor.json",
    ),
    "NonfungibleTokenPositionDescriptor": (
        "@uniswap/v3-periphery",
        "artifacts/contracts/NonfungibleTokenPositionDescriptor.sol/NonfungibleTokenPositionDescriptor.json",
    ),
    "NonfungiblePositionManager": (
        "@uniswap/v3-periphery",
        "artifacts/contracts/NonfungiblePositionManager.sol/NonfungiblePositionManager.json",
    ),
    "TickLens": ("@uniswap/v3-periphery", "artifacts/contracts/lens/TickLens.sol/TickLens.json"),
    "SwapRouter02": (
        "@uniswap/swap-router-contracts",
        "artifacts/contracts/SwapRouter02.sol/SwapRouter02.json",
    ),
    "QuoterV2": ("@uniswap/swap-router-contracts", "artifacts/contracts/lens/QuoterV2.sol/QuoterV2.json"),
    # The .test build of PoolManager exceeds the code size limit of EIP-170.
    "PoolManager": ("@uniswap/v4-periphery", "foundry-out/PoolManager.sol/PoolManager.default.json"),
    "PositionDescriptor": (
        "@uniswap/v4-periphery",
        "foundry-out/PositionDescriptor.sol/PositionDescriptor.json",
    ),
    "PositionManager": ("@uniswap/v4-periphery", "foundry-out/PositionManager.sol/PositionManager.json"),
    "StateView": ("@uniswap/v4-periphery", "foundry-out/StateView.sol/StateView.json"),
    "V4Quoter": ("@uniswap/v4-periphery", "foundry-out/V4Quoter.sol/V4Quoter.json"),
    "UniversalRouter": (
        "@uniswap/universal-router",
        "artifacts/contracts/UniversalRouter.sol/UniversalRouter.json",
    ),
}
"""Contract name -> package and artifact holding its init code."""

PUBLIC_FILES = {"UniversalRouter2.0": CONTRACT_FILES["UniversalRouter"]}
"""The same for what public networks have and the devnet has not, from other versions of the packages."""

_BALANCER = "@balancer-labs/v2-deployments"
BALANCER_FILES = {
    "BalancerAuthorizer": (_BALANCER, "dist/tasks/20210418-authorizer/artifact/Authorizer.json"),
    "BalancerVault": (_BALANCER, "dist/tasks/20210418-vault/artifact/Vault.json"),
    "BalancerFeePercentages": (
        _BALANCER,
        "dist/tasks/20220725-protocol-fee-percentages-provider/artifact/ProtocolFeePercentagesProvider.json",
    ),
    "BalancerWeightedPoolFactoryV1": (
        _BALANCER,
        "dist/tasks/20210418-weighted-pool/bytecode/WeightedPoolFactory.json",
    ),
    "BalancerWeightedPoolFactoryV2": (
        _BALANCER,
        "dist/tasks/20220908-weighted-pool-v2/artifact/WeightedPoolFactory.json",
    ),
    "BalancerWeightedPoolFactoryV3": (
        _BALANCER,
        "dist/tasks/20230206-weighted-pool-v3/artifact/WeightedPoolFactory.json",
    ),
    "BalancerComposableStablePoolFactoryV2": (
        _BALANCER,
        "dist/tasks/20221122-composable-stable-pool-v2/artifact/ComposableStablePoolFactory.json",
    ),
    "BalancerComposableStablePoolFactoryV3": (
        _BALANCER,
        "dist/tasks/20230206-composable-stable-pool-v3/artifact/ComposableStablePoolFactory.json",
    ),
}
"""The same for Balancer v2, which tests of its pools deploy."""

_BEDROCK = "@eth-optimism/contracts-bedrock"
OPSTACK_FILES = {
    "L1Block": (_BEDROCK, "forge-artifacts/L1Block.sol/L1Block.json"),
    "GasPriceOracle": (_BEDROCK, "forge-artifacts/GasPriceOracle.sol/GasPriceOracle.json"),
}
"""The same for the contracts by which an OP-stack chain charges for data, which tests of that fee deploy."""

_REGISTRAR = "@ensdomains/ethregistrar"
ENS_FILES = {
    "ENSRegistry": (_REGISTRAR, "build/contracts/ENSRegistry.json"),
    "BaseRegistrarImplementation": (_REGISTRAR, "build/contracts/BaseRegistrarImplementation.json"),
    "PublicResolver": ("@ensdomains/resolver", "build/contracts/PublicResolver.json"),
}
"""The same for the Ethereum Name Service, which tests of names deploy."""

_PANCAKE, _ALGEBRA = "@pancakeswap/v3-%s", "@cryptoalgebra/integral-%s"
FORK_FILES = {
    "PancakeV3Factory": (
        _PANCAKE % "core",
        "artifacts/contracts/PancakeV3Factory.sol/PancakeV3Factory.json",
    ),
    "PancakeV3Pool": (_PANCAKE % "core", "artifacts/contracts/PancakeV3Pool.sol/PancakeV3Pool.json"),
    "PancakeSwapRouter": (_PANCAKE % "periphery", "artifacts/contracts/SwapRouter.sol/SwapRouter.json"),
    "PancakePositionManager": (
        _PANCAKE % "periphery",
        "artifacts/contracts/NonfungiblePositionManager.sol/NonfungiblePositionManager.json",
    ),
    "AlgebraFactory": (_ALGEBRA % "core", "artifacts/contracts/AlgebraFactory.sol/AlgebraFactory.json"),
    "AlgebraPoolDeployer": (
        _ALGEBRA % "core",
        "artifacts/contracts/AlgebraPoolDeployer.sol/AlgebraPoolDeployer.json",
    ),
    "AlgebraPool": (_ALGEBRA % "core", "artifacts/contracts/AlgebraPool.sol/AlgebraPool.json"),
    "AlgebraMockPlugin": (
        _ALGEBRA % "core",
        "artifacts/contracts/test/MockPoolPlugin.sol/MockPoolPlugin.json",
    ),
    "AlgebraSwapRouter": (_ALGEBRA % "periphery", "artifacts/contracts/SwapRouter.sol/SwapRouter.json"),
    "AlgebraPositionManager": (
        _ALGEBRA % "periphery",
        "artifacts/contracts/NonfungiblePositionManager.sol/NonfungiblePositionManager.json",
    ),
}
"""The same for forks with a router of their own. ``fork_sources`` compiles those of v2."""

PERMIT2_RUNTIME = ("@uniswap/v4-periphery", "lib/permit2/test/utils/DeployPermit2.sol")
