"""The built-in deployment rows: Uniswap on seven public networks, by chain id.

Source (all MIT): contracts from @uniswap/sdk-core 7.19.4 and @uniswap/universal-router-sdk 5.13.0, tokens
from @uniswap/default-token-list, first v4 blocks from networks.json of the v4 subgraph. Init-code hashes and
fee tiers are the same on all seven.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ROWS: Mapping[int, tuple[Mapping[str, Any], ...]] = {
    1: (  # Ethereum
        {
            "protocol": "uniswap",
            "router": "0x66a9893cC07D91D95644AEDD05D03f95e1dBA8Af",
            "router_version": "2.0",
            "wrapped_native": "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
            "v2": {
                "factory": "0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f",
                "router": "0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D",
            },
            "v3": {
                "factory": "0x1F98431c8aD98523631AE4a59f267346ea31F984",
                "position_manager": "0xC36442b4a4522E871399CD717aBDD847Ab11FE88",
            },
            "v4": {
                "pool_manager": "0x000000000004444c5dc75cB358380D2e3dE08A90",
                "position_manager": "0xbD216513d74C8cf14cf4747E6AaA6420FF64ee9e",
                "since_block": 21688329,
            },
            "base_tokens": (
                "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",  # USDC
                "0xdAC17F958D2ee523a2206206994597C13D831ec7",  # USDT
                "0x6B175474E89094C44Da98b954EedeAC495271d0F",  # DAI
                "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599",  # WBTC
            ),
            "usd_tokens": (
                "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",  # USDC
                "0xdAC17F958D2ee523a2206206994597C13D831ec7",  # USDT
                "0x6B175474E89094C44Da98b954EedeAC495271d0F",  # DAI
            ),
        },
    ),
    10: (  # Optimism
        {
            "protocol": "uniswap",
            "router": "0x851116D9223fabED8E56C0E6b8Ad0c31d98B3507",
            "router_version": "2.0",
            "priority_fee_wei": 1_000_000,
            "wrapped_native": "0x4200000000000000000000000000000000000006",
            "v2": {
                "factory": "0x0c3c1c532F1e39EdF36BE9Fe0bE1410313E074Bf",
                "router": "0x4A7b5Da61326A6379179b40d00F57E5bbDC962c2",
            },
            "v3": {
                "factory": "0x1F98431c8aD98523631AE4a59f267346ea31F984",
                "position_manager": "0xC36442b4a4522E871399CD717aBDD847Ab11FE88",
            },
            "v4": {
                "pool_manager": "0x9a13F98Cb987694C9F086b1F5eB990EeA8264Ec3",
                "position_manager": "0x3C3Ea4B57a46241e54610e5f022E5c45859A1017",
            },
            "base_tokens": (
                "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85",  # USDC
                "0x94b008aA00579c1307B0EF2c499aD98a8ce58e58",  # USDT
                "0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1",  # DAI
                "0x68f180fcCe6836688e9084f035309E29Bf0A2095",  # WBTC
            ),
            "usd_tokens": (
                "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85",  # USDC
                "0x94b008aA00579c1307B0EF2c499aD98a8ce58e58",  # USDT
                "0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1",  # DAI
            ),
        },
    ),
    56: (  # BNB Smart Chain
        {
            "protocol": "uniswap",
            "router": "0x1906c1d672b88cD1B9aC7593301cA990F94Eae07",
            "router_version": "2.0",
            "wrapped_native": "0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c",
            "v2": {
                "factory": "0x8909Dc15e40173Ff4699343b6eB8132c65e18eC6",
                "router": "0x4752ba5DBc23f44D87826276BF6Fd6b1C372aD24",
            },
            "v3": {
                "factory": "0xdB1d10011AD0Ff90774D0C6Bb92e5C5c8b4461F7",
                "position_manager": "0x7b8A01B39D58278b5DE7e48c8449c9f4F5170613",
            },
            "v4": {
                "pool_manager": "0x28e2Ea090877bF75740558f6BFB36A5ffeE9e9dF",
                "position_manager": "0x7A4a5c919aE2541AeD11041A1AEeE68f1287f95b",
                "since_block": 45970610,
            },
            "base_tokens": (
                "0x55d398326f99059fF775485246999027B3197955",  # USDT
                "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d",  # USDC
                "0x2170Ed0880ac9A755fd29B2688956BD959F933F8",  # ETH
                "0x1AF3F329e8BE154074D8769D1FFa4eE058B1DBc3",  # DAI
            ),
            "usd_tokens": (
                "0x55d398326f99059fF775485246999027B3197955",  # USDT
                "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d",  # USDC
                "0x1AF3F329e8BE154074D8769D1FFa4eE058B1DBc3",  # DAI
            ),
        },
    ),
    130: (  # Unichain
        {
            "protocol": "uniswap",
            "router": "0xEf740bf23aCaE26f6492B10de645D6B98dC8Eaf3",
            "router_version": "2.0",
            "priority_fee_wei": 1_000_000,
            "wrapped_native": "0x4200000000000000000000000000000000000006",
            "v2": {
                "factory": "0x1F98400000000000000000000000000000000002",
                "router": "0x284F11109359a7e1306C3e447ef14D38400063FF",
            },
            "v3": {
                "factory": "0x1F98400000000000000000000000000000000003",
                "position_manager": "0x943e6e07a7E8E791dAFC44083e54041D743C46E9",
            },
            "v4": {
                "pool_manager": "0x1F98400000000000000000000000000000000004",
                "position_manager": "0x4529A01c7A0410167c5740C487A8DE60232617bf",
            },
            "base_tokens": (
                "0x078D782b760474a361dDA0AF3839290b0EF57AD6",  # USDC
                "0x9151434b16b9763660705744891fA906F660EcC5",  # USDT0
                "0x20CAb320A855b39F724131C69424240519573f81",  # DAI
                "0x927B51f251480a681271180DA4de28D44EC4AfB8",  # WBTC
            ),
            "usd_tokens": (
                "0x078D782b760474a361dDA0AF3839290b0EF57AD6",  # USDC
                "0x9151434b16b9763660705744891fA906F660EcC5",  # USDT0
                "0x20CAb320A855b39F724131C69424240519573f81",  # DAI
            ),
        },
    ),
    137: (  # Polygon
        {
            "protocol": "uniswap",
            "router": "0x1095692A6237d83C6a72F3F5eFEdb9A670C49223",
            "router_version": "2.0",
            "priority_fee_wei": 30_000_000_000,
            "wrapped_native": "0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270",
            "v2": {
                "factory": "0x9e5A52f57b3038F1B8EeE45F28b3C1967e22799C",
                "router": "0xedf6066a2b290C185783862C7F4776A2C8077AD1",
            },
            "v3": {
                "factory": "0x1F98431c8aD98523631AE4a59f267346ea31F984",
                "position_manager": "0xC36442b4a4522E871399CD717aBDD847Ab11FE88",
            },
            "v4": {
                "pool_manager": "0x67366782805870060151383F4BbFF9daB53e5cD6",
                "position_manager": "0x1Ec2eBf4F37E7363FDfe3551602425af0B3ceef9",
            },
            "base_tokens": (
                "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",  # USDC
                "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174",  # USDC.e
                "0xc2132D05D31c914a87C6611C10748AEb04B58e8F",  # USDT
                "0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619",  # WETH
                "0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063",  # DAI
                "0x1BFD67037B42Cf73acF2047067bd4F2C47D9BfD6",  # WBTC
            ),
            "usd_tokens": (
                "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",  # USDC
                "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174",  # USDC.e
                "0xc2132D05D31c914a87C6611C10748AEb04B58e8F",  # USDT
                "0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063",  # DAI
            ),
        },
    ),
    8453: (  # Base
        {
            "protocol": "uniswap",
            "router": "0x6fF5693b99212Da76ad316178A184AB56D299b43",
            "router_version": "2.0",
            "priority_fee_wei": 1_000_000,
            "wrapped_native": "0x4200000000000000000000000000000000000006",
            "v2": {
                "factory": "0x8909Dc15e40173Ff4699343b6eB8132c65e18eC6",
                "router": "0x4752ba5DBc23f44D87826276BF6Fd6b1C372aD24",
            },
            "v3": {
                "factory": "0x33128a8fC17869897dcE68Ed026d694621f6FDfD",
                "position_manager": "0x03a520b32C04BF3bEEf7BEb72E919cf822Ed34f1",
            },
            "v4": {
                "pool_manager": "0x498581fF718922c3f8e6A244956aF099B2652b2b",
                "position_manager": "0x7C5f5A4bBd8fD63184577525326123B519429bDc",
            },
            "base_tokens": (
                "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",  # USDC
                "0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf",  # cbBTC
                "0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb",  # DAI
            ),
            "usd_tokens": (
                "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",  # USDC
                "0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb",  # DAI
            ),
        },
    ),
    42161: (  # Arbitrum One
        {
            "protocol": "uniswap",
            "router": "0xA51afAFe0263b40EdaEf0Df8781eA9aa03E381a3",
            "router_version": "2.0",
            "priority_fee_wei": 0,
            "wrapped_native": "0x82aF49447D8a07e3bd95BD0d56f35241523fBab1",
            "v2": {
                "factory": "0xf1D7CC64Fb4452F05c498126312eBE29f30Fbcf9",
                "router": "0x4752ba5DBc23f44D87826276BF6Fd6b1C372aD24",
            },
            "v3": {
                "factory": "0x1F98431c8aD98523631AE4a59f267346ea31F984",
                "position_manager": "0xC36442b4a4522E871399CD717aBDD847Ab11FE88",
            },
            "v4": {
                "pool_manager": "0x360E68faCcca8cA495c1B759Fd9EEe466db9FB32",
                "position_manager": "0xd88F38F930b7952f2DB2432Cb002E7abbF3dD869",
            },
            "base_tokens": (
                "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",  # USDC
                "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9",  # USDT0
                "0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1",  # DAI
                "0x2f2a2543B76A4166549F7aaB2e75Bef0aefC5B0f",  # WBTC
            ),
            "usd_tokens": (
                "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",  # USDC
                "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9",  # USDT0
                "0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1",  # DAI
            ),
        },
    ),
}
