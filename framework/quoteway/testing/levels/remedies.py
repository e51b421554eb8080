"""What an author changes when a test of a conformance suite fails, by the name of the test."""

from __future__ import annotations

from collections.abc import Mapping

REMEDIES: Mapping[str, str] = {
    # of every provider
    "test_healthy_answers_at_once": "Return from healthy() what the last request showed: ask nothing there.",
    "test_the_contracts_that_it_expects_have_code": "Return from expected_contracts() the contracts that "
    "the chain has, with those of contracts().",
    "test_the_event_loop_is_never_kept": "Move computation to a thread (asyncio.to_thread) or a process.",
    "test_cancellation_is_honoured": "Do not catch asyncio.CancelledError, or raise it again.",
    "test_nothing_secret_shows_when_nodes_fail": "Keep configured values out of log lines and errors.",
    # of quotes and builds
    "test_every_case_is_quoted_within_the_deadline": "Quote at the block of chain.head(), in one batch of "
    "reads, with the minimum of slippage_bps and exact spends to spenders().",
    "test_the_same_quote_at_the_same_block_builds_the_same_bytes": "Derive every argument, the deadline "
    "too, from the sealed quote: not from the clock or a random number.",
    "test_builds_are_what_they_say": "Build the legs, minimum and spends of the quote, in calls of "
    "contracts(), with allowances for spenders() alone.",
    "test_refreshed_quotes_are_built_within_their_terms": "Encode the minimum and the maximum of the "
    "sealed quote: after a refresh they are narrower than the slippage makes them.",
    "test_actions_pay_what_their_quotes_say": "Quote what the contract pays at the block, to the unit.",
    "test_another_recipient_is_paid": "Encode request.recipient as the receiver of every output.",
    "test_what_is_not_its_own_is_none_or_refused": "Return None, or raise InvalidRequest or NotFound.",
    # of pools and vaults
    "test_positions_are_sound": "Return positions of the wallet alone, with amounts in base units.",
    "test_the_catalog_is_sound": "List each resource once, with an id of its own and known numbers: None "
    "for what is not known.",
    "test_a_listed_vault_is_found_and_a_made_up_one_is_not": "Return from vault() what vaults() lists, and "
    "None for an id that does not exist.",
    "test_a_listed_pool_is_found_and_a_made_up_one_is_not": "Return from pool() what pools() lists, and "
    "None for an id that does not exist.",
    "test_the_liquidity_of_a_pool_is_sound_or_not_told": "Return from liquidity() the ticks around the "
    "price, ascending, or None.",
    "test_a_stranger_has_no_positions": "Read positions() of the wallet that is asked for.",
    # of bridges
    "test_every_case_is_quoted_and_says_what_arrives": "Quote one output to the recipient, with a minimum "
    "that the bridge's contract enforces.",
    "test_routes_are_between_the_ends_asked_for": "Filter routes() by the chain ids that are given.",
    "test_a_transaction_that_is_none_of_its_transfers_is_not_tracked": "Return None from track() for a "
    "transaction that is no transfer of this bridge.",
    "test_every_case_runs_and_takes_exactly_what_was_quoted": "Quote as input what the transactions take.",
    "test_the_same_token_gives_the_same_bytes": "Derive every argument from the sealed quote.",
    # of catalogs
    "test_listed_tokens_are_found_and_have_the_chains_decimals": "Read decimals from the token's contract.",
    "test_what_is_no_token_is_none": "Return None from token() for an address without an ERC-20 contract.",
    "test_profiles_are_found_by_id": "Return from profile() what tokens() lists, by its id.",
    "test_it_lists_one_network_as_it_lists_all": "Return from tokens(chain_id) the rows of tokens(None) that "
    "have a contract there.",
    # of prices and series
    "test_prices_are_positive_numbers_at_the_block": "Return finite prices above 0, of the block asked for, "
    "with a confidence from 0 to 1.",
    "test_an_unknown_token_is_left_out": "Leave out a token whose price is not known: never guess.",
    "test_a_price_does_not_depend_on_what_else_is_asked": "Price each token by itself.",
    "test_series_are_those_asked_for": "Return the id, metric, interval and span that are asked for, with "
    "the points in ascending order.",
    "test_a_shorter_span_has_the_same_values": "Compute each point from its own interval, not from the span.",
    "test_what_it_does_not_have_is_none": "Return None for an id or a metric that the provider lacks.",
    "test_price_histories_are_sound": "Return candles in order, at multiples of the interval, with "
    "low <= open, close and mean <= high.",
    "test_a_stranger_has_no_past": "Read the past of the wallet that is asked for.",
    # of RPC upstreams and relays
    "test_it_is_on_the_chain_that_it_says": "Send each call to a node of the network that is given.",
    "test_the_newest_block_is_complete": "Return the blocks of the node unchanged.",
    "test_an_error_of_the_node_is_an_rpc_error": "Raise RpcError with the error object of the node.",
    "test_reads_at_once_get_their_own_answers": "Match each answer to its request by the JSON-RPC id.",
    "test_a_transaction_is_broadcast_and_its_hash_returned": "Broadcast the payload as it is, and return the "
    "hash that the node gives.",
    "test_what_a_node_refuses_is_an_error": "Raise UpstreamError unless the node took the transaction.",
    "test_a_transaction_of_another_chain_is_refused": "Send the payload to the nodes of the chain that is "
    "given, and to no other.",
    "test_no_hash_is_returned_of_what_was_not_broadcast": "Raise UpstreamError when no node answers.",
    "test_no_log_line_has_the_transaction": "Keep signed transactions out of log lines and errors.",
}
