"""The EVM client: addresses, ABI, units, chain reads, and the ERC-20 and Permit2 contracts."""
