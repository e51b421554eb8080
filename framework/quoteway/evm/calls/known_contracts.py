"""The contracts of public networks that the core knows, by chain id: the address and the kind of each.

The v2 pairs of Uniswap have the same init-code hash on all of them. Sources: @uniswap/sdk-core 7.19.4,
@uniswap/universal-router-sdk 5.13.0, @balancer-labs/v2-deployments 3.2.0, @across-protocol/contracts 5.0.27,
deployments/<network>.json of lifinance/contracts, and the SDKs of SushiSwap and PancakeSwap.
"""

from __future__ import annotations

from collections.abc import Mapping

from quoteway.models import Address

ADDRESSES: Mapping[int, Mapping[Address, str]] = {
    1: {  # Ethereum
        "0x66a9893cC07D91D95644AEDD05D03f95e1dBA8Af": "uniswap.universal-router@2.0",
        "0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D": "uniswap.v2-router",
        "0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f": "uniswap.v2-factory",
        "0xd9e1cE17f2641f24aE83637ab66a2cca9C378B9F": "uniswap.v2-router",  # SushiSwap
        "0xEfF92A263d31888d860bD50809A8D171709b7b1c": "uniswap.v2-router",  # PancakeSwap
        "0x1b81D678ffb9C0263b24A97847620C99d213eB14": "uniswap.v3-router",  # PancakeSwap
        "0xC36442b4a4522E871399CD717aBDD847Ab11FE88": "uniswap.v3-positions",
        "0xbD216513d74C8cf14cf4747E6AaA6420FF64ee9e": "uniswap.v4-positions",
        "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2": "weth9",
        "0xBA12222222228d8Ba445958a75a0704d566BF2C8": "balancer.vault",
        "0x5c7BCd6E7De5423a257D81B442095A1a6ced35C5": "across.spoke-pool",
        "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE": "lifi.diamond",
    },
    10: {  # Optimism
        "0x851116D9223fabED8E56C0E6b8Ad0c31d98B3507": "uniswap.universal-router@2.0",
        "0x4A7b5Da61326A6379179b40d00F57E5bbDC962c2": "uniswap.v2-router",
        "0x0c3c1c532F1e39EdF36BE9Fe0bE1410313E074Bf": "uniswap.v2-factory",
        "0xC36442b4a4522E871399CD717aBDD847Ab11FE88": "uniswap.v3-positions",
        "0x3C3Ea4B57a46241e54610e5f022E5c45859A1017": "uniswap.v4-positions",
        "0x4200000000000000000000000000000000000006": "weth9",
        "0xBA12222222228d8Ba445958a75a0704d566BF2C8": "balancer.vault",
        "0x6f26Bf09B1C792e3228e5467807a900A503c0281": "across.spoke-pool",
        "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE": "lifi.diamond",
    },
    56: {  # BNB Smart Chain
        "0x1906c1d672b88cD1B9aC7593301cA990F94Eae07": "uniswap.universal-router@2.0",
        "0x4752ba5DBc23f44D87826276BF6Fd6b1C372aD24": "uniswap.v2-router",
        "0x8909Dc15e40173Ff4699343b6eB8132c65e18eC6": "uniswap.v2-factory",
        "0x10ED43C718714eb63d5aA57B78B54704E256024E": "uniswap.v2-router",  # PancakeSwap
        "0x1b81D678ffb9C0263b24A97847620C99d213eB14": "uniswap.v3-router",  # PancakeSwap
        "0x7b8A01B39D58278b5DE7e48c8449c9f4F5170613": "uniswap.v3-positions",
        "0x7A4a5c919aE2541AeD11041A1AEeE68f1287f95b": "uniswap.v4-positions",
        "0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c": "weth9",
        "0xBA12222222228d8Ba445958a75a0704d566BF2C8": "balancer.vault",
        "0x4e8E101924eDE233C13e2D8622DC8aED2872d505": "across.spoke-pool",
        "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE": "lifi.diamond",
    },
    130: {  # Unichain
        "0xEf740bf23aCaE26f6492B10de645D6B98dC8Eaf3": "uniswap.universal-router@2.0",
        "0x284F11109359a7e1306C3e447ef14D38400063FF": "uniswap.v2-router",
        "0x1F98400000000000000000000000000000000002": "uniswap.v2-factory",
        "0x943e6e07a7E8E791dAFC44083e54041D743C46E9": "uniswap.v3-positions",
        "0x4529A01c7A0410167c5740C487A8DE60232617bf": "uniswap.v4-positions",
        "0x4200000000000000000000000000000000000006": "weth9",
        "0x09aea4b2242abC8bb4BB78D537A67a245A7bEC64": "across.spoke-pool",
        "0x864b314D4C5a0399368609581d3E8933a63b9232": "lifi.diamond",
    },
    137: {  # Polygon
        "0x1095692A6237d83C6a72F3F5eFEdb9A670C49223": "uniswap.universal-router@2.0",
        "0xedf6066a2b290C185783862C7F4776A2C8077AD1": "uniswap.v2-router",
        "0x9e5A52f57b3038F1B8EeE45F28b3C1967e22799C": "uniswap.v2-factory",
        "0xC36442b4a4522E871399CD717aBDD847Ab11FE88": "uniswap.v3-positions",
        "0x1Ec2eBf4F37E7363FDfe3551602425af0B3ceef9": "uniswap.v4-positions",
        "0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270": "weth9",
        "0xBA12222222228d8Ba445958a75a0704d566BF2C8": "balancer.vault",
        "0x9295ee1d8C5b022Be115A2AD3c30C72E34e7F096": "across.spoke-pool",
        "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE": "lifi.diamond",
    },
    8453: {  # Base
        "0x6fF5693b99212Da76ad316178A184AB56D299b43": "uniswap.universal-router@2.0",
        "0x4752ba5DBc23f44D87826276BF6Fd6b1C372aD24": "uniswap.v2-router",
        "0x8909Dc15e40173Ff4699343b6eB8132c65e18eC6": "uniswap.v2-factory",
        "0x03a520b32C04BF3bEEf7BEb72E919cf822Ed34f1": "uniswap.v3-positions",
        "0x7C5f5A4bBd8fD63184577525326123B519429bDc": "uniswap.v4-positions",
        "0x4200000000000000000000000000000000000006": "weth9",
        "0x09aea4b2242abC8bb4BB78D537A67a245A7bEC64": "across.spoke-pool",
        "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE": "lifi.diamond",
    },
    42161: {  # Arbitrum One
        "0xA51afAFe0263b40EdaEf0Df8781eA9aa03E381a3": "uniswap.universal-router@2.0",
        "0x4752ba5DBc23f44D87826276BF6Fd6b1C372aD24": "uniswap.v2-router",
        "0xf1D7CC64Fb4452F05c498126312eBE29f30Fbcf9": "uniswap.v2-factory",
        "0xC36442b4a4522E871399CD717aBDD847Ab11FE88": "uniswap.v3-positions",
        "0xd88F38F930b7952f2DB2432Cb002E7abbF3dD869": "uniswap.v4-positions",
        "0x82aF49447D8a07e3bd95BD0d56f35241523fBab1": "weth9",
        "0xBA12222222228d8Ba445958a75a0704d566BF2C8": "balancer.vault",
        "0xe35e9842fceaCA96570B734083f4a58e8F7C5f2A": "across.spoke-pool",
        "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE": "lifi.diamond",
    },
}
