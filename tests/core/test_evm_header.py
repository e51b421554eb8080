"""Headers by hash: parent and bloom, from memory where they were read before."""

from devnet_nodes import Node, block_answer

PARENT = f"0x{4:064x}"
BLOOM = "0x" + "00" * 255 + "81"


async def test_the_header_of_the_head_comes_from_memory(make_chain):
    node = Node()
    node.answers["eth_getBlockByNumber"] = block_answer(5) | {"parentHash": PARENT, "logsBloom": BLOOM}
    node.answers["eth_getBlockByHash"] = lambda params: block_answer(4) if params[0] == PARENT else None
    chain = make_chain(node)
    block = await chain.head()
    header = await chain.header(block.hash)
    assert (header.block, header.parent, header.logs_bloom) == (block, PARENT, 0x81)
    assert "eth_getBlockByHash" not in node.asked
    for _ in range(2):
        parent = await chain.header(PARENT)
        assert (parent.block.number, parent.parent, parent.logs_bloom) == (4, None, None)
    assert node.asked.count("eth_getBlockByHash") == 1
    assert await chain.header(f"0x{9:064x}") is None


async def test_a_bloom_that_has_another_size_is_not_told(make_chain):
    node = Node()
    for bloom in ("0x81", BLOOM + "00", "0x" + "zz" * 256, 7, None):
        node.answers["eth_getBlockByNumber"] = block_answer(5) | {"logsBloom": bloom}
        chain = make_chain(node)
        assert (await chain.header((await chain.head()).hash)).logs_bloom is None
