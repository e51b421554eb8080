// Written by generate.js of the OpenAPI document: run `npm run generate`, do not edit.
export interface paths {
    "/v2/providers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Providers, and why one is not enabled
         * @description Made at each request: how the calls of each provider did in the worker that answers, and for one that is not enabled the reason. With an API key that is limited to some providers, of those that quote only these.
         */
        get: operations["listProviders"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/networks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Networks of this deployment
         * @description All networks that providers or the configuration name, with what is served on each and whether it works.
         */
        get: operations["listNetworks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/providers/{id}/performance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Realised against quoted amounts of a provider's swaps
         * @description By network, class of pairs and size. A swap counts when its hash was reported (`POST /v2/transactions/{txId}/submit-hash`), or when the index finds its transaction, and the transaction is the one that was built. At most the newest 1,000 of a provider.
         */
        get: operations["getProviderPerformance"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/index/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How far the index of each network is
         * @description `state` is `starting`, `indexing` (history is missing), `following` (complete, and new blocks are read), `waiting` (the last attempt failed, `problem` says why, and it goes on by itself) or `stopped` (the index process says nothing since `updatedAt`). `etaSeconds` is an estimate. `spans` of a source are the blocks that were read. 503 in a deployment without an index.
         */
        get: operations["getIndexStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tokens, the best match first
         * @description With `query`: whole symbols, names and ids first, then beginnings, then typing errors. Without: by market rank, then in the order of the catalogs.
         */
        get: operations["listTokens"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One token, by its id, {chainId}:{address} or CAIP-19 id
         * @description What the catalogs say of the token, each member from the first that has it; `sources` names the others. Decimals are those of the chain.
         */
        get: operations["getToken"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/prices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Prices of tokens in US dollars
         * @description `priceUsd` is the median of the sources that agree, which `sources` names; null where none knows a price or no majority agrees. `confidence`, between 0 and 1, is their own measure, `liquidityUsd` what can be sold near the price; each is null where no source tells it. `anchored`: it is reached from confirmed dollar tokens through pools that stood for a while, or sources of several plugins agree. `moved1hPct` is how far the market is from its price within the last hour, where that was most; from 2 % on `warnings` has `price_moved`. A price may be some blocks old: `asOfBlock`. An address that is no token is in `partial` (`no_token`).
         */
        get: operations["getPrices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/prices/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The price of a token in US dollars over time
         * @description One row for each interval, with nulls where no price is known. `mean` is weighted by time, `confidence` and `depthUsd` are the least of the interval, and `hours` of it have a price. `coverage` is the span in which prices were looked for, null where none were.
         */
        get: operations["getPriceHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/swaps/quote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Quote a swap
         * @description Asks every enabled provider that serves the request, checks the answers, and gives the best quote.
         *     `quoteId` is signed and holds the quote: exchange it for an action as often as needed until it
         *     expires. Nothing is reserved or sent.
         */
        post: operations["createSwapQuote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/swaps/quote/{quoteId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a quote back from its token
         * @description Made from the token alone, also of an expired quote: what the token does not hold is null.
         */
        get: operations["getSwapQuote"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/swaps/{quoteId}/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Quote a swap again within the terms of its first quote
         * @description Gives the best quote now for the request of a quote with `refreshTerms`, expired or not, of any provider if the request named none. Its `toAmountMin` is never below that of the first quote, and with `exactOut` its `fromAmountMax` never above; all else of the request stays as it was. Where the market does not allow that, the reason is `price_moved`, and `bestNow` says what the market gives. A refreshed quote can be refreshed too: the terms stay those of the first. The body may be empty.
         */
        post: operations["refreshSwapQuote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/swaps/{quoteId}/action": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unsigned transactions for a quote
         * @description Gives unsigned transactions, decoded again from their bytes and simulated in their order, with
         *     the approvals that the wallet needs now. The same request at the same block gives the same bytes. What
         *     simulation or checks refuse is an error, never a worse minimum. The body may be empty.
         */
        post: operations["createSwapAction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/bridges/routes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Routes between two networks
         * @description Rows are served from memory and read anew in the background: `updatedAt` says how old they are, and `partial` names providers without an answer. Ask again while there are any.
         */
        get: operations["listBridgeRoutes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/bridges/quote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Quote a transfer to another network
         * @description Asks every enabled provider that serves the request, checks the answers, and gives the best quote.
         *     `quoteId` is signed and holds the quote: exchange it for an action as often as needed until it
         *     expires. Nothing is reserved or sent.
         */
        post: operations["createBridgeQuote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/bridges/{quoteId}/action": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unsigned transactions for a bridge quote
         * @description Gives unsigned transactions, decoded again from their bytes and simulated in their order, with
         *     the approvals that the wallet needs now. The same request at the same block gives the same bytes. What
         *     simulation or checks refuse is an error, never a worse minimum. The body may be empty.
         */
        post: operations["createBridgeAction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/swaps/quotes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Quote up to 20 swaps at one block
         * @description `results` are in the order of `quotes`: each has a quote or the error that it would have alone. Each counts as one request of the rate limit. They share one deadline.
         */
        post: operations["createSwapQuotes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/swaps/price": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What a swap would pay or take, indicatively
         * @description Needs no wallet. Nothing is simulated, and there is no quoteId: request a quote to trade.
         */
        get: operations["getSwapPrice"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/swaps/depth": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What swaps of growing amounts would pay or take, indicatively
         * @description All amounts at one block. Each amount counts as one request of the rate limit.
         */
        get: operations["getSwapDepth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/pools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Pools
         * @description Rows are served from memory and read anew in the background: `updatedAt` says how old they are, and `partial` names providers without an answer. Ask again while there are any.
         */
        get: operations["listPools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/pools/{poolId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One pool, as it is listed
         * @description The row of the list, from memory; where no list has it, what its provider reads from the chain by the id. A malformed id is 404, as one that no provider knows.
         */
        get: operations["getPool"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/pools/{poolId}/quote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Quote adding, removing or collecting
         * @description Asks every enabled provider that serves the request, checks the answers, and gives the best quote.
         *     `quoteId` is signed and holds the quote: exchange it for an action as often as needed until it
         *     expires. Nothing is reserved or sent.
         */
        post: operations["createPoolQuote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/pools/{poolId}/action": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unsigned transactions for a liquidity operation
         * @description Gives unsigned transactions, decoded again from their bytes and simulated in their order, with
         *     the approvals that the wallet needs now. The same request at the same block gives the same bytes. What
         *     simulation or checks refuse is an error, never a worse minimum.
         */
        post: operations["createPoolAction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/pools/{poolId}/tvl": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * TVL of a pool over time
         * @description From an index where there is one, else from the node's state and logs: `method` says which.
         *     A value that is not known is null. A series is read in the background: before the first read has ended every
         *     value is null with the reason `provider_timeout`; ask again in some seconds.
         */
        get: operations["getPoolTvl"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/pools/{poolId}/volume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Volume of a pool over time
         * @description From an index where there is one, else from the node's state and logs: `method` says which.
         *     A value that is not known is null. A series is read in the background: before the first read has ended every
         *     value is null with the reason `provider_timeout`; ask again in some seconds.
         */
        get: operations["getPoolVolume"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/pools/{poolId}/fees": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Fees of a pool over time
         * @description From an index where there is one, else from the node's state and logs: `method` says which.
         *     A value that is not known is null. A series is read in the background: before the first read has ended every
         *     value is null with the reason `provider_timeout`; ask again in some seconds.
         */
        get: operations["getPoolFees"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/pools/{poolId}/apr": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * APR of a pool over time
         * @description From an index where there is one, else from the node's state and logs: `method` says which.
         *     A value that is not known is null. A series is read in the background: before the first read has ended every
         *     value is null with the reason `provider_timeout`; ask again in some seconds.
         */
        get: operations["getPoolApr"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/pools/{poolId}/positions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A wallet's positions in a pool
         * @description Read from the chain at one block. `partial` names a provider that could not look for all.
         */
        get: operations["listPoolPositions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/pools/{poolId}/liquidity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Liquidity of a pool around its price
         * @description Read from the chain at one block. 503 for a pool without ticks, such as one of Uniswap v2, and where no provider can tell.
         */
        get: operations["getPoolLiquidity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/vaults": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Vaults
         * @description Rows are served from memory and read anew in the background: `updatedAt` says how old they are, and `partial` names providers without an answer. Ask again while there are any.
         */
        get: operations["listVaults"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/vaults/{vaultId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One vault, as it is listed
         * @description The row of the list, from memory; where no list has it, what its provider reads from the chain by the id. A malformed id is 404, as one that no provider knows.
         */
        get: operations["getVault"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/vaults/deploy/quote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Quote deploying a managed vault
         * @description Asks every enabled provider that serves the request, checks the answers, and gives the best quote.
         *     `quoteId` is signed and holds the quote: exchange it for an action as often as needed until it
         *     expires. Nothing is reserved or sent.
         */
        post: operations["createVaultDeployQuote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/vaults/deploy/action": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unsigned transactions that deploy a managed vault
         * @description Gives unsigned transactions, decoded again from their bytes and simulated in their order, with
         *     the approvals that the wallet needs now. The same request at the same block gives the same bytes. What
         *     simulation or checks refuse is an error, never a worse minimum.
         */
        post: operations["createVaultDeployAction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/vaults/{vaultId}/quote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Quote a deposit or withdrawal
         * @description Asks every enabled provider that serves the request, checks the answers, and gives the best quote.
         *     `quoteId` is signed and holds the quote: exchange it for an action as often as needed until it
         *     expires. Nothing is reserved or sent.
         */
        post: operations["createVaultQuote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/vaults/{vaultId}/action": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unsigned transactions for a deposit or withdrawal
         * @description Gives unsigned transactions, decoded again from their bytes and simulated in their order, with
         *     the approvals that the wallet needs now. The same request at the same block gives the same bytes. What
         *     simulation or checks refuse is an error, never a worse minimum.
         */
        post: operations["createVaultAction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/vaults/{vaultId}/manage/action": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unsigned transactions for a management action
         * @description Gives unsigned transactions, decoded again from their bytes and simulated in their order, with
         *     the approvals that the wallet needs now. The same request at the same block gives the same bytes. What
         *     simulation or checks refuse is an error, never a worse minimum.
         */
        post: operations["createVaultManageAction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/vaults/{vaultId}/rebalance/action": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unsigned transactions that rebalance a managed vault
         * @description Gives unsigned transactions, decoded again from their bytes and simulated in their order, with
         *     the approvals that the wallet needs now. The same request at the same block gives the same bytes. What
         *     simulation or checks refuse is an error, never a worse minimum.
         */
        post: operations["createVaultRebalanceAction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/vaults/{vaultId}/tvl": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * TVL of a vault over time
         * @description From an index where there is one, else from the node's state and logs: `method` says which.
         *     A value that is not known is null. A series is read in the background: before the first read has ended every
         *     value is null with the reason `provider_timeout`; ask again in some seconds.
         */
        get: operations["getVaultTvl"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/vaults/{vaultId}/apy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * APY of a vault over time
         * @description From an index where there is one, else from the node's state and logs: `method` says which.
         *     A value that is not known is null. A series is read in the background: before the first read has ended every
         *     value is null with the reason `provider_timeout`; ask again in some seconds.
         */
        get: operations["getVaultApy"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/transactions/{txId}/submit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Broadcast a signed transaction, where a relay is enabled
         * @description The transaction is compared with the one that was built, and broadcast by a relay. Without an enabled relay the answer is 503 `relay_unsupported`: nothing is ever said to be sent that was not.
         */
        post: operations["submitTransaction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/transactions/{txId}/submit-hash": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Compare a broadcast transaction with the one that was built
         * @description Looks for the transaction on its network, else on the others. `realized` is what it did beside the quote.
         */
        post: operations["submitTransactionHash"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/transactions/{txId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Where a bridge transfer is
         * @description By the transaction on the network that it left: `txId` of the step, and the hash sent.
         */
        get: operations["trackTransaction"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/portfolio/balances": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A wallet's balances
         * @description All balances of a network are of one block, named in `asOf`. With `tokens`, each of them is shown, zero or not; without, those that the wallet holds and that this deployment lists, or that the wallet received as far as an index knows (`listed` false). `spam` tells that an unlisted token breaks rules, which `spamReasons` names: `link` and `promise` in its name, `look_alike` of a listed symbol, `mass_gift` to many at once, `not_transferable` in a simulation. Spam has no value; `spam` is null of unlisted tokens that `tokens` names: they are not judged. A token that cannot be read is in `partial` (`call_failed`, `short_answer`, `no_token`, `out_of_gas`), and so is a network that cannot, with `token` null; `token_limit` there tells that the network's list is longer than what one request reads, and `index_unavailable`, `index_incomplete` or `index_behind` that unlisted tokens may be missing. `totalUsd` adds up what is `counted`: the values of listed tokens whose price is `anchored`, and with `includeUnlisted` those of others; `totalComplete` is false while one of these, a listed token, or anything else is missing. `realisableUsd` is what the pools pay at least for all of it, each token sold alone. What no catalog lists, what has no anchored price, and what moved by 2 % or more within the hour (`moved1hPct`, warning `price_moved`) is worth no more.
         */
        get: operations["getPortfolioBalances"];
        put?: never;
        /**
         * The balances of up to 20 wallets
         * @description `data` has each wallet as `GET` of the same path shows it, in the order of `wallets`, all at one block of each network. A wallet that could be read on no network has its networks in `partial`. Each wallet counts as one request of the rate limit. With `tokens`, each of them is shown, zero or not; without, those that the wallet holds and that this deployment lists, or that the wallet received as far as an index knows (`listed` false). `spam` tells that an unlisted token breaks rules, which `spamReasons` names: `link` and `promise` in its name, `look_alike` of a listed symbol, `mass_gift` to many at once, `not_transferable` in a simulation. Spam has no value; `spam` is null of unlisted tokens that `tokens` names: they are not judged. A token that cannot be read is in `partial` (`call_failed`, `short_answer`, `no_token`, `out_of_gas`), and so is a network that cannot, with `token` null; `token_limit` there tells that the network's list is longer than what one request reads, and `index_unavailable`, `index_incomplete` or `index_behind` that unlisted tokens may be missing. `totalUsd` adds up what is `counted`: the values of listed tokens whose price is `anchored`, and with `includeUnlisted` those of others; `totalComplete` is false while one of these, a listed token, or anything else is missing. `realisableUsd` is what the pools pay at least for all of it, each token sold alone. What no catalog lists, what has no anchored price, and what moved by 2 % or more within the hour (`moved1hPct`, warning `price_moved`) is worth no more.
         */
        post: operations["listBalancesOfWallets"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/portfolio/positions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A wallet's positions in pools and vaults
         * @description Merged from every pool and vault provider under one deadline. A provider that fails or is late is named in `partial`. `valueUsd` is principal and uncollected fees, null unless all is priced.
         */
        get: operations["getPortfolioPositions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/portfolio/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What spenders may take of a wallet
         * @description The allowances above zero, of ERC-20 tokens and through Permit2, at one block (`asOf`). Read are: the listed tokens, or those in `tokens`, for the spenders that providers declare; and what the wallet's approvals in the last 10,000 blocks name, of any token for any spender. An older approval of an unknown spender is not found. `partial` names a token that cannot be read, and with `token` null a network: `logs_unavailable` where its node gave no logs, or too many, and `token_limit` where its list is longer than what one request reads.
         */
        get: operations["getPortfolioApprovals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/portfolio/approvals/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unsigned transactions that end approvals
         * @description An action of its own kind (`revocation`): `approve(spender, 0)` for each ERC-20 allowance, and one `lockdown` for all that Permit2 keeps. What is zero already is left out; 422 `conflict` when all is.
         */
        post: operations["createRevocation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/portfolio/activity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A wallet's transactions, newest first
         * @description The transactions in which tokens came to the wallet or went from it, as far as the index reaches (`coverage`). Which they are is from the index; what happened in them is from their receipts on the chain. `call` is what a known description reads from the calldata, `description` a sentence of the core, `events` what known protocols logged in it. `hearsay` marks what an unlisted token says that the wallet sent in a transaction of another account: any contract can say that. Native coin counts where the wallet sent it with a transaction. A transaction that cannot be read is in `partial`. 503 where no index keeps the wallet's transfers.
         */
        get: operations["getPortfolioActivity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/portfolio/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The value of a wallet's tokens over time
         * @description `valueUsd` of a point is what the wallet's listed tokens with a known price were worth; null outside of `coverage`, and where none of what it had is priced. `tokens` has the exact balances at the points, in base units. `partial` names what is not counted: the native coin (`not_indexed`), positions (`positions_not_counted`, `position_not_counted` with the token of its shares), a token whose transfers do not explain its balance (`balance_unexplained`), such as a rebasing one, and limits (`token_limit`, `transfer_limit`). 503 where no index keeps the wallet's transfers.
         */
        get: operations["getPortfolioHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/portfolio/pnl": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What a wallet's positions have gained and lost
         * @description One row for each position that `GET /v2/portfolio/positions` shows, from all that it took in and paid out since it was opened, as an index has it. A member is null where it is not known, and `reasons` says why: `not_indexed`, `flows_incomplete` (its events do not add up to its liquidity), `price_unknown`, `amount_unknown` (shares that came from another account), `fees_not_logged` (v4, after the first change), `fees_in_principal` (v2 and vaults), `one_token`. `partial` names a provider that failed, `position_limit` and `index_unavailable`. 503 where no index is kept.
         */
        get: operations["getPortfolioPnl"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Webhooks of the API key
         * @description Needs an API key with a name; 503 `capability_disabled` where the deployment sends no webhooks. docs/how-to/receive-webhooks.md has more.
         */
        get: operations["listWebhooks"];
        put?: never;
        /**
         * Send the states of a transfer or transaction to a URL
         * @description Each state is sent as a POST, signed as Standard Webhooks says, again until it is taken: until its block has `confirmations`, also that its block is gone. The same request again is answered with the same registration. Needs an API key with a name; 503 `capability_disabled` where the deployment sends no webhooks. docs/how-to/receive-webhooks.md has more.
         */
        post: operations["createWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/webhooks/{webhookId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One webhook
         * @description Needs an API key with a name; 503 `capability_disabled` where the deployment sends no webhooks. docs/how-to/receive-webhooks.md has more.
         */
        get: operations["getWebhook"];
        put?: never;
        post?: never;
        /**
         * Send no more events of a webhook
         * @description Answers what it was. An event that is being sent may still arrive. Needs an API key with a name; 503 `capability_disabled` where the deployment sends no webhooks. docs/how-to/receive-webhooks.md has more.
         */
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/rpc/{chainId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Read-only JSON-RPC 2.0
         * @description One call or a batch of up to 100, answered in its order. Each call counts against
         *     the rate limit, as 5 for eth_createAccessList, eth_getBlockReceipts, eth_getFilterLogs, eth_getLogs, eth_getProof, eth_simulateV1.
         *     What is refused of a well-formed call is an error object with the caller's id, as clients
         *     expect: -32601 for the method, -32602 for the parameters, -32000 for an unknown filter, each with
         *     `data {reason, requestId}`. A node's own error is passed on. In a batch, a call over the rate limit is
         *     -32005 and one that no node answered -32603; alone, they are 429 and 502. A call without `id` is a
         *     notification, which is not answered: 204 when there is nothing else.
         */
        post: operations["callRpc"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Notice: {
            /** @description Code for programs; more codes may be added within v2 */
            code: string;
            /** @description What the code means here, in a sentence */
            message: string;
        };
        /** @description Role that a management action of a vault requires. */
        RequiredRole: {
            /** @description Role that the contract requires, such as `owner` */
            name: string;
            /** @description Account that has the role: the caller if it has it. Null when not known */
            holder: string | null;
            /** @description Whether the `address` of the request has the role. Null when not known */
            callerHasRole: boolean | null;
        };
        Difference: {
            /** @description Member of the transaction that differs: `chainId`, `to`, `value`, `data` or `from` */
            member: string;
            /** @description Value of the transaction that was built; of `data` its keccak-256. Null for none */
            expected: string | null;
            /** @description Value of the transaction that was found; of `data` its keccak-256. Null for none */
            actual: string | null;
        };
        Violation: {
            /** @description Member of the policy file that does not allow it, such as `recipients`; more may be added within v2 */
            rule: string;
            /** @description What is not allowed, in a sentence */
            message: string;
            /** @description Address, name or selector that is not allowed. Null where the rule is about none */
            subject: string | null;
        };
        /** @description A listed token that a name may mean. */
        Candidate: {
            /** @description Address of the token */
            address: string;
            /** @description Id of the token in its catalog, as in `GET /v2/tokens` */
            id: string;
            /** @description Name of the token. Null where the catalog has none */
            name: string | null;
        };
        ErrorField: {
            /** @description Name of the refused member; empty for the request as a whole */
            path: string;
            /** @description Code of the refusal, such as `missing` or `out_of_range` */
            reason: string;
            /** @description What is wrong with the member, in a sentence */
            message: string;
            /** @description With `ambiguous_token`: the listed tokens that the name may mean, at most 8 */
            candidates?: components["schemas"]["Candidate"][];
        };
        /** @description Outcome of one provider's call. */
        Attempt: {
            /** @description Id of the provider, as in `GET /v2/providers` */
            provider: string;
            /**
             * @description Outcome of the call. `failed`: the provider failed or its quote was refused. `timeout`: it was late. `open`: not called, because its breaker is open. `not_asked`: it cannot serve this request, see `reason`
             * @enum {string}
             */
            outcome: "quoted" | "no_route" | "failed" | "timeout" | "open" | "not_asked";
            /** @description Output that it quoted. Null without a quote. Base units in decimal digits */
            amountOut: bigint | null;
            /** @description Input that it quoted; only for a quote with `exactOut`. Base units in decimal digits */
            amountIn?: bigint;
            /** @description Why it has no quote, one of `details.reason`. Null when it has one */
            reason: string | null;
        };
        /** @description Facts of an error. Each member is present where it applies. */
        ErrorDetails: {
            /** @description Code of the cause; docs/reference/errors.md lists all, and more may be added within v2 */
            reason?: string;
            /** @description With `acknowledgement_required`: what `acknowledge` must accept by its code before there is an action */
            acknowledgementNeeded?: components["schemas"]["Notice"][];
            /** @description With `amount_too_high`: the highest amount that is possible now. Base units in decimal digits */
            limit?: bigint;
            /** @description With `price_moved` of a refresh: the amount that the best quote now pays, in base units of `toToken`; with `exactOut` the amount that it takes, in base units of `fromToken`. Base units in decimal digits */
            bestNow?: bigint;
            /** @description With `role_required`: the role that the action requires */
            requiredRole?: components["schemas"]["RequiredRole"];
            /** @description With a simulation that reverted: revert reason of the contract, shortened and in printable characters. Null when it gave none */
            revertReason?: string | null;
            /** @description With a signed transaction that is not the one that was built: members that differ */
            differences?: components["schemas"]["Difference"][];
            /** @description With `policy_refused`: everything that the custody policy does not allow of the action. With `policy_undecided`: what could not be decided */
            violations?: components["schemas"]["Violation"][];
            /** @description With `/readyz`: parts of the service that are not ready */
            notReady?: string[];
            /**
             * Format: int64
             * @description With a JSON-RPC method that is not forwarded: the code -32601 (EIP-1474)
             */
            rpcCode?: number;
            /** @description Members of the request that are refused, at most 32 */
            fields?: components["schemas"]["ErrorField"][];
            /** @description Outcome of each provider that could have answered */
            attempts?: components["schemas"]["Attempt"][];
            /** @description Whether the same request may succeed later */
            retryable?: boolean;
        };
        ErrorMembers: {
            /**
             * @description Kind of the error. Each code has one HTTP status but `invalid_request`, which also has 405, 408, 413, 415 and 421, and `validation_error`, which also has 403
             * @enum {string}
             */
            code: "invalid_request" | "validation_error" | "unauthorized" | "not_found" | "rate_limit_exceeded" | "provider_unavailable" | "upstream_error";
            /** @description What is wrong and what to do, in a sentence */
            message: string;
            /** @description Id of the request, as in the header `X-Request-ID`; give it to the operator when you report a problem */
            requestId: string;
            /** @description Facts beside the message; left out when there are none */
            details?: components["schemas"]["ErrorDetails"];
        };
        Error: {
            /** @description What went wrong */
            error: components["schemas"]["ErrorMembers"];
        };
        /** @description A provider whose rows are missing, and why. */
        FailedSource: {
            /** @description Id of the provider, as in `GET /v2/providers` */
            provider: string;
            /** @description Why its rows are missing: one of `details.reason`, or a code that the operation's description names */
            reason: string;
        };
        ProviderActions: {
            /** @description Actions of liquidity that it takes, such as `add`; empty for a provider without pools */
            pool: string[];
            /** @description Actions of depositors that it takes, such as `deposit`; empty for a provider without vaults */
            vault: string[];
            /** @description Management actions that it takes for vaults, such as `setCap` */
            manage: string[];
        };
        /** @description Strategy that a new vault can have. */
        Strategy: {
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Id for `strategy` of `POST /v2/vaults/deploy/quote` */
            id: string;
        };
        Spender: {
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Contract to which the provider's approvals give an allowance */
            address: string;
        };
        MissingContract: {
            /** @description Name of the network that lacks the contract */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Address at which there is no code */
            contract: string;
            /** @description Name that the provider gives the contract */
            label: string;
        };
        ExecutorRefusal: {
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description What of the contract differs from the configuration, in a sentence */
            reason: string;
        };
        /** @description One node of a network, as this worker sees it. Its address is not shown. */
        UpstreamRow: {
            /** @description Name that the operator gives the node, or its number in the configuration */
            label: string;
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /**
             * Format: int64
             * @description Nodes of a lower tier are asked first; 0 is the lowest
             */
            tier: number;
            /**
             * @description `closed`: in use. `suspect`: its last call failed, others are asked first. `limited`: it asked for fewer requests. `open`: asked only when no other node answers. `cordoned`: never asked
             * @enum {string}
             */
            state: "closed" | "suspect" | "limited" | "open" | "cordoned";
            /** @description Why the state is not `closed`. Null when it is */
            reason: string | null;
            /** @description Median time of its answers of the last seconds, in milliseconds. Null without answers */
            p50Ms: number | null;
            /** @description 95th percentile of the time of its answers of the last seconds, in milliseconds. Null without answers */
            p95Ms: number | null;
            /** @description Part of its calls of the last seconds that failed, as a fraction: 0.05 is 5 %. Null without calls */
            errorRate: number | null;
            /**
             * Format: int64
             * @description Number of the newest block that it has shown. Null when not known
             */
            head: number | null;
            /**
             * Format: int64
             * @description Number of blocks by which it is behind the newest known block. Null when not known
             */
            lag: number | null;
        };
        ProviderScore: {
            /**
             * Format: int64
             * @description Number of its quotes that were simulated in the last 10 minutes, at most the newest 100
             */
            rehearsed: number;
            /**
             * Format: int64
             * @description Number of these simulations that failed by the provider's fault
             */
            failed: number;
        };
        Stall: {
            /**
             * Format: int64
             * @description Time for which the worker was blocked, in milliseconds
             */
            milliseconds: number;
            /** @description Function that blocked it, with its Python module */
            function: string;
        };
        /** @description The calls of one method of a provider by this worker. */
        ProviderMethod: {
            /** @description Capability that the method belongs to, such as `swap` */
            capability: string;
            /** @description Name of the method, such as `quote` */
            method: string;
            /**
             * @description `closed`: calls are made. `open`: none is made where another provider can answer. `half_open`: one call is made to try it again
             * @enum {string}
             */
            breaker: "closed" | "open" | "half_open";
            /** @description Reason of the failure that opened the breaker. Null when it is closed */
            reason: string | null;
            /** @description Number of calls since the start, by outcome: `quoted` for an answer, else the reason of the failure */
            outcomes: {
                [key: string]: number;
            };
            /** @description Median time of the newest 64 answers of each network, in milliseconds. Null without answers */
            p50Ms: number | null;
            /** @description 95th percentile of the time of the newest 64 answers of each network, in milliseconds. Null without answers */
            p95Ms: number | null;
        };
        ProviderFailure: {
            /** @description Capability that the method belongs to */
            capability: string;
            /** @description Name of the method that failed */
            method: string;
            /** @description Code of the failure, one of `details.reason` */
            reason: string;
            /**
             * Format: date-time
             * @description Time of the failure. RFC 3339 in UTC
             */
            at: string;
        };
        ProviderRow: {
            /** @description Id by which requests and answers name the provider */
            id: string;
            /** @description Title of the provider for people */
            name: string;
            /** @description Version of the plugin's distribution */
            version: string;
            /** @description Python distribution that contains the plugin */
            package: string;
            /** @description Name of the plugin that contains the provider */
            plugin: string;
            /** @description What the provider serves, such as `swap` or `vault` */
            capabilities: string[];
            /** @description Names of the networks that it serves */
            networks: string[];
            /** @description Actions that the provider takes, by resource */
            actions: components["schemas"]["ProviderActions"];
            /** @description Strategies that a new vault can have, by network; empty for other providers */
            strategies: components["schemas"]["Strategy"][];
            /** @description Protocols that the routes of its swaps can show, for `protocols` of a swap request */
            protocols: string[];
            /** @description Members of a swap request that limit the route and that it can keep, such as `maxHops` */
            limits: string[];
            /** @description Whether its transactions pay the `feeBps` of a request. If not, it is not asked for swaps with a fee */
            enforcesFees: boolean;
            /** @description Whether it quotes swaps with `exactOut` */
            exactOut: boolean;
            /** @description Whether it is asked for requests */
            enabled: boolean;
            /** @description How far the start of its plugin has come: `installed`, `loaded`, `configured`, `started` or `enabled` */
            state: string;
            /** @description Whether the provider says that it works. Null when it gave no answer in time, and when it is not enabled */
            healthy: boolean | null;
            /** @description Why it is not enabled; docs/reference/plugin-states.md lists the reasons. Null when it is */
            reason: string | null;
            /** @description Contracts to which its approvals may give an allowance, for the allow-list of a wallet */
            spenders: components["schemas"]["Spender"][];
            /**
             * Format: int64
             * @description Level, from 0 to 3, that the installed files of its plugin reached in `quoteway check`; docs/reference/levels.md says what it means. Null when they were not checked
             */
            level: number | null;
            /** @description Contracts that it needs and that had no code when they were last looked for */
            missingContracts: components["schemas"]["MissingContract"][];
            /** @description Networks on which an executor is not used, because its contract is not the configured one; empty for other providers */
            refusals: components["schemas"]["ExecutorRefusal"][];
            /** @description Nodes of a provider of JSON-RPC; empty for other providers */
            upstreams: components["schemas"]["UpstreamRow"][];
            /** @description Link to the provider's documentation. Null without one */
            docs: string | null;
            /** @description Recent simulations of its swap quotes in this worker. Null for a provider without swaps */
            score: components["schemas"]["ProviderScore"] | null;
            /** @description Longest time of the last hour for which its plugin blocked this worker. Null when it did not */
            worstStall: components["schemas"]["Stall"] | null;
            /** @description Calls of each of its methods by this worker; empty before the first call */
            methods: components["schemas"]["ProviderMethod"][];
            /** @description Newest failure of its calls in this worker. Null without one */
            lastError: components["schemas"]["ProviderFailure"] | null;
            /**
             * Format: int64
             * @description Number of tokens for which this price source is far from the others. Null for other providers
             */
            priceOutliers: number | null;
        };
        ProviderPage: {
            /** @description Providers whose rows are missing; ask again while there are any */
            partial: components["schemas"]["FailedSource"][];
            /** @description Value of `cursor` for the next page. Null on the last page */
            nextCursor: string | null;
            /**
             * Format: int64
             * @description Number of rows that the request selects, on all pages. Null when not known
             */
            total: number | null;
            /** @description Whether a provider marks a row of the page as a preview, with values that are not live */
            preview: boolean;
            /**
             * Format: date-time
             * @description Time of the newest data among the rows that the request selects. RFC 3339 in UTC
             */
            updatedAt: string;
            /** @description Providers; and plugins without a provider that are not enabled or have blocked the worker */
            data: components["schemas"]["ProviderRow"][];
        };
        NativeCurrency: {
            /** @description Ticker of the coin, such as `ETH` */
            symbol: string;
            /** @description Name of the coin */
            name: string;
            /**
             * Format: int64
             * @description Number of decimals: one whole token is 10^decimals base units
             */
            decimals: number;
        };
        CapabilityReadiness: {
            /** @description Capability that an installed plugin offers there */
            capability: string;
            /** @description `ready`, `degraded` (a part does not work, and others still answer) or `dead` */
            state: string;
            /** @description Reasons why it is not ready, such as `head_lags`; empty when it is */
            why: string[];
        };
        /** @description How well a network is served by the worker that answers, as `/readyz?verbose` tells it. */
        NetworkReadiness: {
            /** @description `ready`, `degraded` (a part does not work, and others still answer) or `dead` */
            state: string;
            /** @description Reasons why it is not ready, such as `head_lags`; empty when it is */
            why: string[];
            /** @description Of each capability that an installed plugin offers on the network */
            capabilities: components["schemas"]["CapabilityReadiness"][];
        };
        NetworkRow: {
            /** @description Name by which requests name the network */
            id: string;
            /** @description The same as `id` */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description CAIP-2 id of the network: `eip155:` and the chain id */
            caip2: string;
            /** @description Title of the network for people */
            name: string;
            /** @description Native coin, in which gas is paid */
            nativeCurrency: components["schemas"]["NativeCurrency"];
            /** @description Contract of the wrapped native coin. Null when not known */
            wrappedNative: string | null;
            /** @description Link to the network's block explorer. Null without one */
            explorerUrl: string | null;
            /** @description Typical seconds from one block to the next */
            blockTimeSeconds: number;
            /** @description Whether its coins have no value */
            testnet: boolean;
            /** @description Capabilities that enabled providers serve there, such as `swap` */
            capabilities: string[];
            /** @description What works on the network, at most some seconds old. Null while the service stops */
            readiness: components["schemas"]["NetworkReadiness"] | null;
        };
        NetworkPage: {
            /** @description Providers whose rows are missing; ask again while there are any */
            partial: components["schemas"]["FailedSource"][];
            /** @description Value of `cursor` for the next page. Null on the last page */
            nextCursor: string | null;
            /**
             * Format: int64
             * @description Number of rows that the request selects, on all pages. Null when not known
             */
            total: number | null;
            /** @description Whether a provider marks a row of the page as a preview, with values that are not live */
            preview: boolean;
            /**
             * Format: date-time
             * @description Time of the newest data among the rows that the request selects. RFC 3339 in UTC
             */
            updatedAt: string;
            /** @description Networks of this deployment */
            data: components["schemas"]["NetworkRow"][];
        };
        PerformanceRow: {
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /**
             * @description `dollars`: both tokens are within 2 % of a US dollar. `dollar`: one of them is. `other`: none is. `unknown`: a price is not known
             * @enum {string}
             */
            pairClass: "dollars" | "dollar" | "other" | "unknown";
            /**
             * @description Value sold, in US dollars: `under1k` is 100 to below 1,000, `over1M` a million or more, `unknown` without a price
             * @enum {string}
             */
            size: "under100" | "under1k" | "under10k" | "under100k" | "under1M" | "over1M" | "unknown";
            /**
             * Format: int64
             * @description Number of swaps that were mined, reverted ones included
             */
            fills: number;
            /**
             * Format: int64
             * @description Number of these swaps that reverted
             */
            reverted: number;
            /**
             * Format: int64
             * @description Median of the received output less the quoted one, in basis points of the quoted one: 0 is as quoted, negative is less. Null when no output is known
             */
            medianVsQuoteBps: number | null;
            /** @description Mean of the same, in basis points. Null when no output is known */
            meanVsQuoteBps: number | null;
            /**
             * Format: int64
             * @description Lowest of the same, in basis points. Null when no output is known
             */
            worstVsQuoteBps: number | null;
            /**
             * Format: int64
             * @description Number of swaps of known output before which no other transaction changed a pool of their route since the action was built
             */
            sameStateFills: number;
            /**
             * Format: int64
             * @description Number of these that paid exactly the quoted output
             */
            sameStateExact: number;
        };
        ProviderPerformance: {
            /** @description Id of the provider, as in `GET /v2/providers` */
            provider: string;
            /**
             * Format: date-time
             * @description Start of the count: the swaps of actions that this worker built since then. RFC 3339 in UTC
             */
            since: string;
            /** @description Whether an index is enabled that finds the swaps. If not, only those that callers report count */
            indexed: boolean;
            /**
             * Format: int64
             * @description Number of actions, of all providers, whose swap is still looked for
             */
            waiting: number;
            /** @description One row for each network, class of pairs and size with a swap */
            data: components["schemas"]["PerformanceRow"][];
        };
        BlockSpan: {
            /**
             * Format: int64
             * @description First block of the span
             */
            from: number;
            /**
             * Format: int64
             * @description Last block of the span, included
             */
            to: number;
        };
        /** @description Event source of an index, with what was read of it. */
        IndexedSource: {
            /** @description Name of the event source, as its plugin declares it */
            id: string;
            /**
             * Format: int64
             * @description Version of the declaration. A new version is read again from the first block
             */
            version: number;
            /**
             * Format: int64
             * @description First block that is read for the source
             */
            firstBlock: number;
            /** @description Spans of blocks that were read, in ascending order */
            spans: components["schemas"]["BlockSpan"][];
            /**
             * Format: int64
             * @description Number of logs left out since the index process started, because they lack the declared form
             */
            skippedLogs: number;
            /** @description What is wrong with the source, which is not read for it. Null when it is read */
            refusal: string | null;
        };
        IndexEntry: {
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description `starting`: no block was read yet. `indexing`: history is missing. `following`: complete, new blocks are read as they come. `waiting`: the last attempt failed, another one follows. `stopped`: the index process says nothing any more */
            state: string;
            /** @description Part of the blocks of all sources that was read, in percent: 100 is all */
            percent: number;
            /** @description Blocks read in a second, in the last seconds */
            blocksPerSecond: number;
            /** @description Logs read in a second, in the last seconds */
            logsPerSecond: number;
            /**
             * Format: int64
             * @description Estimated seconds until the history is complete. Null when not known
             */
            etaSeconds: number | null;
            /**
             * Format: int64
             * @description Number of the newest block that the index process knows. Null when not known
             */
            headBlock: number | null;
            /**
             * Format: int64
             * @description Number of the newest indexed block. Null when not known
             */
            indexedBlock: number | null;
            /**
             * Format: int64
             * @description Number of the newest finalized block. Null when not known
             */
            finalizedBlock: number | null;
            /**
             * Format: int64
             * @description `headBlock` less `indexedBlock`. Null when not known
             */
            lagBlocks: number | null;
            /**
             * Format: int64
             * @description Time of `headBlock` less that of `indexedBlock`, in seconds. Null when not known
             */
            lagSeconds: number | null;
            /** @description Why the last attempt failed, in a sentence. Null when it did not fail */
            problem: string | null;
            /** @description Event sources of the network */
            sources: components["schemas"]["IndexedSource"][];
            /**
             * Format: date-time
             * @description Time at which the index process reported this. RFC 3339 in UTC
             */
            updatedAt: string;
        };
        IndexStatus: {
            /** @description One row for each network that has an index */
            data: components["schemas"]["IndexEntry"][];
        };
        Contract: {
            /** @description Contract of the token on this network; the zero address stands for the native coin */
            address: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Page of the token in the network's explorer. Null where the network has none */
            explorerUrl: string | null;
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Number of decimals: one whole token is 10^decimals base units
             */
            decimals: number;
        };
        TokenEntry: {
            /** @description Id of the token in its catalog, for `GET /v2/tokens/{id}` */
            id: string;
            /** @description CoinMarketCap's id of the token. Null when not known */
            ucid: string | null;
            /** @description Name of the token */
            name: string;
            /** @description Ticker of the token. Tokens may share one */
            symbol: string;
            /** @description Link to the logo of the token. Null when not known */
            logoUri: string | null;
            /** @description Price of one whole token. US dollars. Null when not known */
            priceUsd: number | null;
            /**
             * Format: int64
             * @description Place by market capitalisation; 1 is the largest. Null when not known
             */
            rank: number | null;
            /** @description Tags that the catalog gives the token, such as `stablecoin` */
            tags: string[];
            /** @description Contracts of the token on the networks of this deployment */
            contracts: components["schemas"]["Contract"][];
            /** @description Whether the decimals of every contract were compared with the chain and are equal */
            verified: boolean;
            /** @description Id of a token that is listed before this one and whose symbol looks the same. Null without one */
            lookAlikeOf: string | null;
        };
        TokenPage: {
            /** @description Providers whose rows are missing; ask again while there are any */
            partial: components["schemas"]["FailedSource"][];
            /** @description Value of `cursor` for the next page. Null on the last page */
            nextCursor: string | null;
            /**
             * Format: int64
             * @description Number of rows that the request selects, on all pages. Null when not known
             */
            total: number | null;
            /** @description Whether a provider marks a row of the page as a preview, with values that are not live */
            preview: boolean;
            /**
             * Format: date-time
             * @description Time of the newest data among the rows that the request selects. RFC 3339 in UTC
             */
            updatedAt: string;
            /** @description Tokens, the best match first */
            data: components["schemas"]["TokenEntry"][];
        };
        Social: {
            /** @description Name of the service, such as `twitter` */
            type: string;
            /** @description Link to the token's page at the service */
            url: string;
        };
        /** @description Taxes that a token takes of trades, measured in a simulation against a pool. */
        TradeTax: {
            /** @description Token that was measured */
            token: string;
            /**
             * Format: int64
             * @description Part of a purchase that the token itself takes, in basis points. Null when not measured
             */
            buyBps: number | null;
            /**
             * Format: int64
             * @description Part of a sale that the token itself takes, in basis points. Null when not measured
             */
            sellBps: number | null;
            /** @description Whether the simulated sale succeeded. Null when no sale was simulated */
            sellable: boolean | null;
        };
        Profile: {
            /** @description Id of the token in its catalog, for `GET /v2/tokens/{id}` */
            id: string;
            /** @description CoinMarketCap's id of the token. Null when not known */
            ucid: string | null;
            /** @description Name of the token */
            name: string;
            /** @description Ticker of the token. Tokens may share one */
            symbol: string;
            /** @description Link to the logo of the token. Null when not known */
            logoUri: string | null;
            /** @description Price of one whole token. US dollars. Null when not known */
            priceUsd: number | null;
            /**
             * Format: int64
             * @description Place by market capitalisation; 1 is the largest. Null when not known
             */
            rank: number | null;
            /** @description Tags that the catalog gives the token, such as `stablecoin` */
            tags: string[];
            /** @description Contracts of the token on the networks of this deployment */
            contracts: components["schemas"]["Contract"][];
            /** @description Whether the decimals of every contract were compared with the chain and are equal */
            verified: boolean;
            /** @description Id of a token that is listed before this one and whose symbol looks the same. Null without one */
            lookAlikeOf: string | null;
            /** @description Description of the token, a text of the catalog. Null when not known */
            description: string | null;
            /** @description Issuer of the token. Null when not known */
            issuer: string | null;
            /** @description Link to the website of the project. Null when not known */
            website: string | null;
            /** @description Link to the white paper of the project. Null when not known */
            whitepaper: string | null;
            /**
             * Format: int64
             * @description Number of accounts that hold the token. Null when not known
             */
            holders: number | null;
            /** @description Change of the price in the last 24 hours, in percent: 5 is 5 %. Null when not known */
            priceChange24hPct: number | null;
            /** @description Market capitalisation: price times circulating supply. US dollars. Null when not known */
            marketCapUsd: number | null;
            /** @description Fully diluted valuation, as the catalog computes it. US dollars. Null when not known */
            fdvUsd: number | null;
            /** @description Volume of the trades of the last 24 hours on the markets that the catalog counts. US dollars. Null when not known */
            volume24hUsd: number | null;
            /** @description Circulating supply in whole tokens, as a decimal number in text. Null when not known */
            circulatingSupply: string | null;
            /** @description Total supply in whole tokens, as a decimal number in text. Null when not known */
            totalSupply: string | null;
            /** @description Maximum supply in whole tokens, as a decimal number in text. Null when not known */
            maxSupply: string | null;
            /** @description Score of a third party's security audit, as the catalog gives it. Null when not known */
            auditScore: number | null;
            /**
             * Format: date-time
             * @description Time of the catalog's data of the token. RFC 3339 in UTC
             */
            updatedAt: string;
            /** @description Pages of the token at other services */
            socials: components["schemas"]["Social"][];
            /** @description Taxes of the token, where a quote of this unlisted token measured them lately. Null without a measurement */
            tradeTax: components["schemas"]["TradeTax"] | null;
            /** @description Whether a catalog of this deployment lists the token */
            listed: boolean;
            /** @description By name of a member: id of the catalog that gave it, for members that the first catalog lacks */
            sources: {
                [key: string]: string;
            };
        };
        TokenRef: {
            /** @description Contract of the token; the zero address stands for the native coin */
            address: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /** @description Ticker of the token. Tokens may share one. Null when the contract has none */
            symbol: string | null;
            /** @description Name of the token. Null when the contract has none */
            name: string | null;
            /**
             * Format: int64
             * @description Number of decimals: one whole token is 10^decimals base units
             */
            decimals: number;
            /** @description Whether the token is the native coin of the network */
            isNative: boolean;
            /** @description Link to the logo of the token. Null when not known */
            logoUri: string | null;
            /** @description Price of one whole token. US dollars. Null when not known */
            priceUsd: number | null;
        };
        BlockRef: {
            /**
             * Format: int64
             * @description Height of the block
             */
            number: number;
            /** @description Hash of the block, 32 bytes as 0x hex */
            hash: string;
            /**
             * Format: int64
             * @description Time of the block. Unix seconds
             */
            timestamp: number;
        };
        PriceEntry: {
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Token of the price */
            token: components["schemas"]["TokenRef"];
            /** @description Price of one whole token. Null where no source knows one, or no majority agrees. US dollars */
            priceUsd: number | null;
            /** @description Confidence of the price sources in the price, from 0 to 1. Null when not known */
            confidence: number | null;
            /** @description Amount that can be sold near the price. US dollars. Null when not known */
            liquidityUsd: number | null;
            /** @description Ids of the price sources that agree on the price; empty without a price */
            sources: string[];
            /** @description Whether the price is confirmed: reached from dollar tokens through pools that stood for a while, or agreed on by sources of several plugins */
            anchored: boolean;
            /** @description Largest difference of the present price to one of the last hour, in percent: 2 is 2 %. Null when not known */
            moved1hPct: number | null;
            /** @description What to know about the price, such as `price_moved` */
            warnings: components["schemas"]["Notice"][];
            /** @description Block at which the price was read. Null when not known */
            asOfBlock: components["schemas"]["BlockRef"] | null;
        };
        /** @description What is missing from `data`: a token; with `token` null, a network or the rest of its list. */
        Partial: {
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Token that could not be read. Null for a whole network, or for the rest of its list */
            token: string | null;
            /** @description Why it is missing: one of `details.reason`, or a code that the operation's description names */
            reason: string;
        };
        /** @description Prices of tokens. `partial` names the addresses that are no tokens. */
        Prices: {
            /** @description One row for each address that is a token, in the order of the request */
            data: components["schemas"]["PriceEntry"][];
            /** @description Addresses that are no tokens (`no_token`) */
            partial: components["schemas"]["Partial"][];
        };
        Candle: {
            /**
             * Format: int64
             * @description Start of the interval. Unix seconds
             */
            timestamp: number;
            /** @description First price of the interval. US dollars. Null when not known */
            open: number | null;
            /** @description Highest price of the interval. US dollars. Null when not known */
            high: number | null;
            /** @description Lowest price of the interval. US dollars. Null when not known */
            low: number | null;
            /** @description Last price of the interval. US dollars. Null when not known */
            close: number | null;
            /** @description Mean price of the interval, weighted by time. US dollars. Null when not known */
            mean: number | null;
            /** @description Lowest depth of the interval: the amount that could be sold near the price. US dollars. Null when not known */
            depthUsd: number | null;
            /** @description Lowest confidence of the interval, from 0 to 1. Null when not known */
            confidence: number | null;
            /**
             * Format: int64
             * @description Number of hours of the interval with a known price
             */
            hours: number;
        };
        /** @description Span of time, in Unix seconds. */
        Coverage: {
            /**
             * Format: int64
             * @description Start of the span. Unix seconds
             */
            from: number;
            /**
             * Format: int64
             * @description End of the span. Unix seconds
             */
            to: number;
        };
        PriceHistory: {
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Token of the prices */
            token: components["schemas"]["TokenRef"];
            /**
             * @description Time between values: an hour, a day or a week
             * @enum {string}
             */
            interval: "1h" | "1d" | "1w";
            /**
             * Format: int64
             * @description Start of the requested time. Unix seconds
             */
            from: number;
            /**
             * Format: int64
             * @description End of the requested time. Unix seconds
             */
            to: number;
            /** @description One candle for each interval, in the order of time; its prices are null where none is known */
            candles: components["schemas"]["Candle"][];
            /** @description Span in which prices were looked for. Null when none were */
            coverage: components["schemas"]["Coverage"] | null;
            /** @description Where the prices are from, such as `index` */
            source: string;
            /** @description How the prices are computed, in sentences */
            method: string;
            /**
             * Format: date-time
             * @description End of the newest hour that was computed; before the first one, when it was read. RFC 3339 in UTC
             */
            updatedAt: string;
        };
        /** @description `network` names both ends; `fromChain` and `toChain` name them apart and must not contradict it. `atomicBatch` says whether the wallet sends several calls as one; left out, this is not known. */
        SwapQuoteBody: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /**
             * Format: int64
             * @description Time until which the transactions may be executed, in Unix seconds: 60 seconds to 24 hours from now. Left out: the setting `quotes.action_deadline_s` (seconds), counted from the action
             */
            deadline?: number;
            /** @description Account that signs the transactions and pays. Address or ENS name */
            address: string;
            /** @description Network of `fromToken` */
            fromChain?: string;
            /** @description Token to sell; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            fromToken: string;
            /** @description Account that receives the output. Left out: `address`. Address or ENS name */
            toAddress?: string;
            /** @description Network of `toToken`. Left out: `network`, else `fromChain` */
            toChain?: string;
            /** @description Token to buy; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            toToken: string;
            /** @description Account that receives the refund, on the first network, when a transfer is not filled. Left out: `address`. Only for transfers to another network. Address or ENS name */
            refundAddress?: string;
            /** @description Id of the only provider to ask. Left out: all enabled ones */
            provider?: string;
            /**
             * @description How a Permit2 allowance is given: `transactions` by a transaction, `permit2-signature` by typed data to sign. Default: `"transactions"`
             * @enum {string}
             */
            approvalMode?: "transactions" | "permit2-signature";
            /**
             * Format: int64
             * @description Most pools on a path of the route
             */
            maxHops?: number;
            /**
             * Format: int64
             * @description Most pools in the whole route
             */
            maxLegs?: number;
            /** @description Only protocols that the route may use: names as routes show them, or ids of providers */
            protocols?: string[];
            /** @description Protocols that the route may not use: names as routes show them, or ids of providers */
            excludeProtocols?: string[];
            /** @description Only pools that the route may use, all on the first network: {chainId}:{address}, or {chainId}:{32-byte id} */
            pools?: string[];
            /** @description Pools that the route may not use, all on the first network */
            excludePools?: string[];
            /**
             * Format: int64
             * @description Highest price impact that is accepted: how far the price of the trade may be below that of the pools before it, in basis points
             */
            maxPriceImpactBps?: number;
            /** @description Price of a unit of gas with which quotes are compared, in wei in decimal digits. Left out: the network's price */
            gasPriceWei?: bigint;
            /**
             * Format: int64
             * @description Fee of the integrator, in basis points of the output; `toAmount` and `toAmountMin` are net of it. With `exactOut` of what the pools take; `fromAmount` and `fromAmountMax` contain it. Needs `feeRecipient`
             */
            feeBps?: number;
            /** @description Account that receives the fee, in `toToken`; with `exactOut` in `fromToken`. Needs `feeBps`. Address or ENS name */
            feeRecipient?: string;
            /** @description Amount to sell, in base units of `fromToken`; with `exactOut` amount to buy, in base units of `toToken` */
            amount: bigint;
            /** @description Network of both tokens. Required unless `fromChain` is given */
            network?: string;
            /**
             * @description Which amount is exact: `exactIn` sells `amount` of `fromToken`; `exactOut` buys `amount` of `toToken`, for at most `fromAmountMax`. Default: `"exactIn"`
             * @enum {string}
             */
            side?: "exactIn" | "exactOut";
            /** @description How far the minimum output may be below the quoted one, in basis points; with `exactOut` how far the maximum input may be above it. `auto`, within one network: the gateway chooses 10 to 300. Default: `50` */
            slippageBps?: number | "auto";
            /**
             * @description `full`: adds to `optimality` the proof of its bound: a price for each token, and the pools with digests of their states. Where there is none, the quote has the warning `certificate_unavailable`
             * @enum {string}
             */
            certificate?: "full";
            /** @description Whether the wallet sends several calls as one (EIP-5792). `true`: two providers may share a swap within one network, if that pays more. `false`: no quote in parts is given. Left out: only swaps to another network may have parts */
            atomicBatch?: boolean;
            /**
             * Format: int64
             * @description Time until which the quote can be refreshed within its terms by `POST /v2/swaps/{quoteId}/refresh`, in Unix seconds: at most the setting `quotes.refreshable_s` (seconds) from now, and not after `deadline`. Only for swaps within one network, and not with `atomicBatch: true`. Left out: it cannot be refreshed
             */
            refreshableUntil?: number;
        };
        SwapEcho: {
            /** @description Name of the network of `fromToken` */
            fromChain: string;
            /** @description Name of the network of `toToken` */
            toChain: string;
            /** @description Token that is sold; the zero address stands for the native coin */
            fromToken: string;
            /** @description Token that is bought; the zero address stands for the native coin */
            toToken: string;
            /** @description Exact amount: of `fromToken`, with `exactOut` of `toToken`. Base units in decimal digits */
            amount: bigint;
            /**
             * @description Which amount is exact: `exactIn` the amount sold, `exactOut` the amount bought
             * @enum {string}
             */
            side: "exactIn" | "exactOut";
            /** @description Account that signs and pays */
            address: string;
            /** @description Account that receives the output */
            toAddress: string;
            /** @description Account that receives the refund when a transfer is not filled. Null within one network */
            refundAddress: string | null;
            /**
             * Format: int64
             * @description How far amounts may change to the caller's disadvantage, in basis points
             */
            slippageBps: number;
            /** @description `transactions`: allowances are set by transactions. `permit2-signature`: a Permit2 allowance by typed data to sign */
            approvalMode: string;
            /**
             * Format: int64
             * @description Most pools on a path. Null where not given
             */
            maxHops: number | null;
            /**
             * Format: int64
             * @description Most pools in the route. Null where not given
             */
            maxLegs: number | null;
            /** @description Only protocols that the route may use. Null where not given */
            protocols: string[] | null;
            /** @description Protocols that the route may not use. Null where not given */
            excludeProtocols: string[] | null;
            /** @description Only pools that the route may use. Null where not given */
            pools: string[] | null;
            /** @description Pools that the route may not use. Null where not given */
            excludePools: string[] | null;
            /**
             * Format: int64
             * @description Highest price impact that is accepted, in basis points. Null where not given
             */
            maxPriceImpactBps: number | null;
            /** @description Price of a unit of gas with which quotes are compared. Null where not given. Wei in decimal digits */
            gasPriceWei: bigint | null;
            /**
             * Format: int64
             * @description Rate of the integrator's fee, in basis points. Null without one
             */
            feeBps: number | null;
            /** @description Account that receives the integrator's fee. Null without one */
            feeRecipient: string | null;
            /** @description Members of the request that the quote token has no space for. Null when there are none */
            omitted: string[] | null;
        };
        Leg: {
            /** @description Token that is paid or received */
            token: components["schemas"]["TokenRef"];
            /** @description Amount at the state of the block that was read. Base units in decimal digits */
            amount: bigint;
            /** @description Least amount that is accepted: the transactions revert below it, or the gateway refuses the action where the contract takes no minimum. Null where there is no minimum. Base units in decimal digits */
            amountMin: bigint | null;
            /** @description Most that may be taken. Null where no more than `amount` is taken. Base units in decimal digits */
            amountMax: bigint | null;
            /** @description Value of `amount`. Null when not known, and in every action. US dollars */
            amountUsd: number | null;
            /** @description Account that pays an input or receives an output */
            account: string;
        };
        Fee: {
            /** @description Name of the kind of fee in words, such as `Protocol fee` */
            name: string;
            /**
             * @description Who takes the fee: `protocol` the protocol or service, `integrator` the `feeRecipient` of the request, `bridge` the bridge, `lp` the liquidity providers, `gas` who pays gas for the caller
             * @enum {string}
             */
            kind: "protocol" | "integrator" | "bridge" | "lp" | "gas";
            /** @description Token in which the fee is paid */
            token: components["schemas"]["TokenRef"];
            /** @description Amount of the fee. Base units in decimal digits */
            amount: bigint;
            /** @description Value of `amount`. US dollars. Null when not known */
            amountUsd: number | null;
            /** @description Rate of the fee in basis points of the amount that it is taken from. Null where it is no rate */
            bps: number | null;
            /** @description Whether `inputs` and `outputs` contain the fee already. False: it is paid beside them */
            included: boolean;
            /** @description Account that receives the fee. Null when not known */
            recipient: string | null;
        };
        Gas: {
            /** @description Estimated units of gas of the transactions, without approvals. An integer in decimal digits */
            units: string;
            /** @description Estimated gas limit for these transactions, in units of gas: `units` with a reserve. `gasLimit` of an action's steps is measured. An integer in decimal digits */
            limit: string;
            /** @description Highest fee for a unit of gas that the estimate assumes (EIP-1559). Wei in decimal digits. Null when not known */
            maxFeePerGas: bigint | null;
            /** @description Fee that a rollup charges for the data of the transactions on its parent chain. Null where it charges none, or when not known. Wei in decimal digits */
            l1Fee: bigint | null;
            /** @description Estimated cost of `units`, `l1Fee` included. Wei in decimal digits. Null when not known */
            cost: bigint | null;
            /** @description Price of a unit of gas with which `cost` was computed. Wei in decimal digits. Null when not known */
            price: bigint | null;
            /** @description Value of `cost`. US dollars. Null when not known */
            costUsd: number | null;
        };
        Approval: {
            /** @description ERC-20 token that the transactions take from the caller */
            token: string;
            /** @description Contract that needs the allowance */
            spender: string;
            /** @description Allowance that the transactions need. Base units in decimal digits */
            required: bigint;
            /** @description Allowance at the block that was read. Base units in decimal digits. Null when not known */
            current: bigint | null;
            /** @description Whether `current` is less than `required`, so that the action has an approval. Null when not known */
            needed: boolean | null;
            /** @description Whether the token refuses another allowance until the present one is set to zero. Null in a quote, where it was not tried */
            needsReset: boolean | null;
        };
        Issue: {
            /** @description What would make the transactions fail or what to check, such as `insufficient_balance`; more codes may be added within v2 */
            code: string;
            /** @description Token or contract that the issue is about. Null when it is about none */
            token: string | null;
            /** @description Present value: base units of `token`; basis points with `high_price_impact` and `transfer_tax`. Null where the issue has no value. Decimal digits */
            actual: bigint | null;
            /** @description Value at which the issue is absent, in the unit of `actual`. Null where the issue has no value. Decimal digits */
            required: bigint | null;
        };
        Hop: {
            /** @description Id of the provider, as in `GET /v2/providers` */
            provider: string;
            /** @description Protocol of the pool, such as `uniswap-v3` */
            protocol: string;
            /** @description Address of the pool; for Uniswap v4 its 32-byte id */
            pool: string;
            /** @description Token that the pool receives */
            tokenIn: string;
            /** @description Token that the pool pays */
            tokenOut: string;
            /** @description Amount of `tokenIn` that the pool receives. Base units in decimal digits */
            amountIn: bigint;
            /** @description Amount of `tokenOut` that the pool pays. Base units in decimal digits */
            amountOut: bigint;
            /** @description Fee of the pool, in basis points of `amountIn`. Null when not known */
            feeBps: number | null;
        };
        RoutePath: {
            /**
             * Format: int64
             * @description Part of the input that takes this path, in basis points
             */
            bps: number;
            /** @description Pools of the path, in the order of the trade */
            hops: components["schemas"]["Hop"][];
        };
        /** @description All that passes through one pool of a route. */
        RouteLeg: {
            /** @description Id of the provider, as in `GET /v2/providers` */
            provider: string;
            /** @description Protocol of the pool, such as `uniswap-v3` */
            protocol: string;
            /** @description Address of the pool; for Uniswap v4 its 32-byte id */
            pool: string;
            /** @description Token that the pool receives */
            tokenIn: string;
            /** @description Token that the pool pays */
            tokenOut: string;
            /** @description Amount of `tokenIn` that the pool receives. Base units in decimal digits */
            amountIn: bigint;
            /** @description Amount of `tokenOut` that the pool pays. Base units in decimal digits */
            amountOut: bigint;
            /** @description Fee of the pool, in basis points of `amountIn`. Null when not known */
            feeBps: number | null;
            /**
             * Format: int64
             * @description Part of all that the route sells of `tokenIn` that this pool receives, in basis points. The native coin and its wrapped form count as one token
             */
            shareBps: number;
        };
        /** @description The route as paths, whose amounts sum to those of its legs, and as legs, in the order of execution. */
        Route: {
            /** @description Paths through pools; their amounts sum to those of `legs` */
            paths: components["schemas"]["RoutePath"][];
            /** @description Pools of the route, each once, in the order of execution. Left out where the provider does not state them */
            legs?: components["schemas"]["RouteLeg"][];
        };
        AssetChange: {
            /** @description Account whose balance changes */
            account: string;
            /** @description Token whose balance changes; the zero address stands for the native coin */
            token: string;
            /** @description Change of the balance. Base units in decimal digits, with a minus sign for a loss */
            delta: bigint;
        };
        AllowanceChange: {
            /** @description Account that owns the tokens */
            owner: string;
            /** @description ERC-20 token of the allowance */
            token: string;
            /** @description Account that may take the tokens */
            spender: string;
            /** @description Allowance before the transactions. Base units in decimal digits */
            before: bigint;
            /** @description Allowance after the transactions. Base units in decimal digits */
            after: bigint;
        };
        Simulation: {
            /**
             * @description `success`: all transactions ran. `reverted`: one of them failed. `skipped`: none was run, and `skipReason` says why
             * @enum {string}
             */
            status: "success" | "reverted" | "skipped";
            /** @description Block on whose state the transactions were run. Null when they were not run */
            block: components["schemas"]["BlockRef"] | null;
            /** @description Units of gas that all transactions used together. Null when they were not run. An integer in decimal digits */
            gasUsed: string | null;
            /** @description Units of gas that each transaction used, in their order; empty when they were not run. An integer in decimal digits */
            gasUsedByTransaction: string[];
            /** @description Changes of the balances that were compared: the caller's of the native coin and of the tokens that it pays, those of the recipients, and that of the `feeRecipient` */
            assetChanges: components["schemas"]["AssetChange"][];
            /** @description Changes of the caller's ERC-20 allowances */
            allowanceChanges: components["schemas"]["AllowanceChange"][];
            /** @description Revert reason of the contract, shortened and in printable characters. Null when nothing reverted, and when it gave none */
            revertReason: string | null;
            /**
             * Format: int64
             * @description Index of the transaction that reverted. Null when none did
             */
            revertedStep: number | null;
            /** @description Why the transactions were not run. Null when they were run */
            skipReason: string | null;
            /** @description State that the run assumed: `native_balance`, `balance:` with the address of a token that the caller does not have enough of, or `permit2_signature` */
            assumptions: string[];
        };
        /** @description A pool whose state the bound counts. */
        CertifiedPool: {
            /** @description Address of the pool, or its 32-byte id */
            pool: string;
            /** @description Protocol of the pool, such as `uniswap-v3` */
            protocol: string;
            /** @description Tokens of the pool */
            tokens: string[];
            /** @description Integers by which the provider finds the pool and reads the same part of its state again */
            parameters: number[];
            /** @description keccak-256 of that state in the provider's encoding */
            digest: string;
        };
        /** @description What proves the bound. `quoteway verify-quote` checks it against the chain. */
        Certificate: {
            /** @description Price of a base unit of each token, by address. All are integers at one common scale; that of the wrapped native coin is the native coin's too. An integer in decimal digits */
            prices: {
                [key: string]: bigint | null;
            };
            /** @description Pools whose states the bound depends on, at most 1,000 */
            pools: components["schemas"]["CertifiedPool"][];
        };
        /** @description How near the route is to the best one through the same pools at the quote's block, gas aside. */
        Optimality: {
            /** @description Upper bound of the output, in base units of `toToken`: no trade of the input through these pools pays more, gas aside. With `exactOut` lower bound of the input, in base units of `fromToken`. Base units in decimal digits */
            bound: bigint;
            /** @description Most that the quoted output can be below `bound`, in basis points of it. With `exactOut` most that the quoted input can be above `bound`, in basis points of the input */
            gapBps: number;
            /** @description As `gapBps`, in basis points, with the cost of gas taken into account */
            netGapBps: number;
            /** @description Most that these pools pay for arbitrage alone, without any input; `bound` contains it. In base units of `toToken`, with `exactOut` of `fromToken`. Base units in decimal digits */
            arbitrage: bigint;
            /**
             * Format: int64
             * @description Number of pools that were searched
             */
            pools: number;
            /** @description Protocols of the pools that were searched */
            families: string[];
            /** @description Block at which the pools were read */
            block: components["schemas"]["BlockRef"];
            /**
             * @description How the route was found: `single_path` as one path, `split` with the amount divided
             * @enum {string}
             */
            method: "single_path" | "split";
            /** @description Proof of `bound`; only where the request asks for `certificate` */
            certificate?: components["schemas"]["Certificate"];
        };
        /** @description What others could take from the swap while it waits to be mined, and how to keep it from them. */
        Mev: {
            /** @description Quoted output less the minimum output, in base units of `toToken`: an upper bound of what a sandwich can take from the output, no estimate. With `exactOut` the input is at risk instead: `fromAmountMax` less `fromAmount`. Base units in decimal digits */
            atRisk: bigint;
            /** @description Value of `atRisk`. Null without a price. US dollars */
            atRiskUsd: number | null;
            /** @description URL of the JSON-RPC endpoint that the operator names for sending signed transactions past the public mempool. Null where it names none */
            privateSubmission: string | null;
        };
        /** @description Terms of a quote and of all that it is refreshed to: those of the first quote. */
        RefreshTerms: {
            /**
             * Format: int64
             * @description Time until which the quote can be refreshed. Unix seconds
             */
            until: number;
            /** @description Lowest `toAmountMin` of a refreshed quote. Base units in decimal digits */
            toAmountMin: bigint;
            /** @description Highest `fromAmountMax` of a refreshed quote. Base units in decimal digits */
            fromAmountMax: bigint;
        };
        /** @description One provider's part of a quote that several carry out, in order: its own legs and minimums. */
        QuotePart: {
            /**
             * @description Whether the part is a swap within a network or a transfer to another one
             * @enum {string}
             */
            kind: "swap" | "bridge";
            /** @description Id of the provider, as in `GET /v2/providers` */
            provider: string;
            /** @description What the part takes from the caller */
            inputs: components["schemas"]["Leg"][];
            /** @description What the part pays, each output with its own minimum */
            outputs: components["schemas"]["Leg"][];
        };
        SwapQuote: {
            /** @description Signed token that holds the quote, at most 4,096 characters. It can be exchanged for an action any number of times until `expiresAt` */
            quoteId: string;
            /**
             * @description Kind of the request that was quoted
             * @enum {string}
             */
            kind: "swap" | "bridge" | "pool" | "vault";
            /**
             * @description `active` until `expiresAt`. An `expired` quote can be read, but not exchanged for an action
             * @enum {string}
             */
            status: "active" | "expired";
            /** @description Id of the provider, as in `GET /v2/providers` */
            provider: string;
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /**
             * Format: date-time
             * @description Time at which the quote was made. RFC 3339 in UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Time until which the quote can be exchanged for an action. RFC 3339 in UTC
             */
            expiresAt: string;
            /**
             * Format: int64
             * @description Seconds until `expiresAt`; 0 when the quote has expired
             */
            expiresIn: number;
            /** @description The request as it was understood */
            request: components["schemas"]["SwapEcho"];
            /** @description Tokens and amounts that the caller pays */
            inputs: components["schemas"]["Leg"][];
            /** @description Tokens and amounts that the recipient receives, each with its minimum */
            outputs: components["schemas"]["Leg"][];
            /**
             * Format: int64
             * @description Slippage with which the minimum outputs, or with `exactOut` the maximum input, were computed, in basis points
             */
            slippageBps: number;
            /**
             * Format: int64
             * @description Time until which the transactions can be executed: the one of the request, else the one that an action built now gets. The action's own `deadline` is null where no contract enforces it. Null in a quote that is read back. Unix seconds
             */
            deadline: number | null;
            /**
             * Format: int64
             * @description How far the price of the trade is below that of the pools before it, in basis points. Null when not known, and in a quote that is read back
             */
            priceImpactBps: number | null;
            /** @description Fees of the quote. Null in a quote that is read back */
            fees: components["schemas"]["Fee"][] | null;
            /** @description Estimated gas of the transactions, without approvals. Null when not known, and in a quote that is read back */
            gas: components["schemas"]["Gas"] | null;
            /** @description Allowances that the transactions need, with the present ones. Null in a quote that is read back */
            approvals: components["schemas"]["Approval"][] | null;
            /** @description What would make the transactions fail now, or what to check. Null in a quote that is read back */
            issues: components["schemas"]["Issue"][] | null;
            /** @description Pools of the swap. Null where the provider does not state them, and in a quote that is read back */
            route: components["schemas"]["Route"] | null;
            /** @description Block whose state was quoted */
            block: components["schemas"]["BlockRef"];
            /** @description Simulation of the transactions at `block`. Null where none was made, and in a quote that is read back */
            simulation: components["schemas"]["Simulation"] | null;
            /** @description What the caller must know before it accepts the quote. Null in a quote that is read back */
            warnings: components["schemas"]["Notice"][] | null;
            /** @description What the caller must accept by its code in `acknowledge` before it gets an action; empty when nothing is left to accept */
            acknowledgementNeeded: components["schemas"]["Notice"][];
            /** @description Codes that the quote's request accepted in `acknowledge` */
            acknowledged: string[];
            /** @description Outcome of each provider that was asked. Null in a quote that is read back */
            attempts: components["schemas"]["Attempt"][] | null;
            /** @description Taxes of the unlisted tokens of the request, where they could be measured. Null in a quote that is read back */
            taxes: components["schemas"]["TradeTax"][] | null;
            /** @description Token that is sold */
            fromToken: components["schemas"]["TokenRef"];
            /** @description Token that is bought */
            toToken: components["schemas"]["TokenRef"];
            /**
             * @description Which amount is exact: `exactIn` the amount sold, `exactOut` the amount bought
             * @enum {string}
             */
            side: "exactIn" | "exactOut";
            /** @description Amount that is sold, at the quote's block. Base units in decimal digits */
            fromAmount: bigint;
            /** @description Most that is taken. Equals `fromAmount` with `exactIn`; with `exactOut` it is higher by the slippage. Base units in decimal digits */
            fromAmountMax: bigint;
            /** @description Amount that is bought, at the quote's block. Base units in decimal digits */
            toAmount: bigint;
            /** @description Least that the recipient receives, else the transactions revert. The warning `opaque_calldata` says that the gateway cannot prove this. Base units in decimal digits. Null when not known */
            toAmountMin: bigint | null;
            /** @description Value of `fromAmount`. Null when not known, and in a quote that is read back. US dollars */
            fromAmountUsd: number | null;
            /** @description Value of `toAmount`. Null when not known, and in a quote that is read back. US dollars */
            toAmountUsd: number | null;
            /** @description Whole tokens bought for a whole token sold, as a decimal number in text with up to 18 significant digits. Null when nothing is sold */
            executionPrice: string | null;
            /** @description How near the route is to the best one. Null where the provider does not compute it, and in a quote that is read back */
            optimality: components["schemas"]["Optimality"] | null;
            /** @description What others can take from the swap while it waits in the mempool, and a private endpoint against it */
            mev: components["schemas"]["Mev"];
            /** @description Terms within which the quote can be refreshed. Null where it cannot be */
            refreshTerms: components["schemas"]["RefreshTerms"] | null;
            /** @description Parts of a quote that several providers carry out, in order. Null where one provider carries out all */
            parts: components["schemas"]["QuotePart"][] | null;
        };
        /** @description What every body of a quote or an action may have. */
        AcknowledgingBody: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
        };
        /** @description The body of the action of a quote. */
        ConsentBody: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /** @description Whether the action has `permitOffers`: for each ERC-20 approval that a signature can take the place of (EIP-2612), the data to sign. Default: `false` */
            offerPermits?: boolean;
            /** @description Signed permits, each in the place of an approval. An item is `permit` of `permitOffers` with its `signature` added. Default: `[]` */
            permits?: {
                /** @description Token of the permit */
                token: string;
                /** @description Account that may take the token */
                spender: string;
                /** @description Allowance, in base units of `token` */
                value: bigint;
                /** @description Nonce of the permit. Decimal digits */
                nonce: bigint;
                /**
                 * Format: int64
                 * @description Unix time until which the token accepts it
                 */
                deadline: number;
                /** @description Signature by the account that pays: r, s and v, as 0x hex */
                signature: string;
            }[];
        };
        /** @description Exactly four members: more, or a decimal value, breaks wallets (docs: why a transaction has four members). */
        Transaction: {
            /** @description Contract that is called, or account that is paid */
            to: string;
            /** @description Calldata; `0x` when there is none. 0x hex */
            data: string;
            /** @description Wei of the native coin that are sent with the call. 0x hex without leading zeros */
            value: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
        };
        Argument: {
            /** @description Name of the parameter; empty where the ABI has none */
            name: string;
            /** @description Solidity type of the parameter */
            type: string;
            /** @description Value of the parameter: integers as decimal strings, bytes as 0x hex, arrays as arrays, structs as arrays of arguments. Null when not known */
            value: unknown;
        };
        Decoded: {
            /** @description Signature of the called function, such as `approve(address,uint256)`; the four bytes of the selector as 0x hex where the calldata is `opaque` */
            signature: string;
            /** @description Arguments in the order of the signature; the bytes after the selector where the calldata is `opaque` */
            args: components["schemas"]["Argument"][];
            /** @description Calls inside the calldata, such as those of a multicall; left out when there are none */
            inner?: components["schemas"]["Decoded"][];
            /** @description True where the gateway cannot decode the calldata; left out otherwise */
            opaque?: boolean;
        };
        Target: {
            /** @description Name of the contract in the gateway's registry of call descriptions; never one that a provider gives. Null for a contract that the registry does not have */
            label: string | null;
            /** @description Whether the registry of call descriptions has the contract */
            known: boolean;
            /** @description keccak-256 of the contract's code, 32 bytes as 0x hex. Null when the code was not read */
            codeHash: string | null;
        };
        ClearSigning: {
            /** @description What the signature does, in one sentence made from the calldata, for a wallet to show */
            intent: string;
            /** @description ERC-7730 descriptor of the called function, as JSON in text. Null where the gateway has none */
            descriptor: string | null;
        };
        Step: {
            /**
             * Format: int64
             * @description Index of the transaction in `transactions`
             */
            index: number;
            /** @description Signed commitment to this transaction, valid for 7 days, for `/v2/transactions/{txId}` */
            txId: string;
            /** @description What the transaction does, such as `approval`, `approval_reset`, `permit`, `permit2_approval` or `swap` */
            kind: string;
            /** @description What the transaction does, in a sentence */
            description: string;
            /** @description Gas limit to set: the units that the simulation used, with a reserve. Null when not simulated. 0x hex without leading zeros */
            gasLimit: string | null;
            /** @description Calldata as the gateway decodes it; encoding it again gives the same bytes */
            decoded: components["schemas"]["Decoded"];
            /** @description Allowance that the transaction sets. Null when it sets none */
            approval: components["schemas"]["Approval"] | null;
            /** @description Contract that the transaction calls */
            target: components["schemas"]["Target"];
            /** @description What a wallet can show before signing */
            clearSigning: components["schemas"]["ClearSigning"];
        };
        AppliesTo: {
            /**
             * Format: int64
             * @description Index of the transaction in `transactions`
             */
            transaction: number;
            /**
             * Format: int64
             * @description Offset in that transaction's `data` at which the signature is inserted, in bytes
             */
            offset: number;
            /**
             * Format: int64
             * @description Number of bytes of `data` that the signature replaces; 65 for r, s and v
             */
            length: number;
        };
        Signature: {
            /** @description What is signed, such as `permit2` */
            kind: string;
            /** @description EIP-712 message to sign, as `eth_signTypedData_v4` takes it */
            typedData: {
                [key: string]: unknown;
            };
            /** @description Where the signature is inserted in the transactions */
            appliesTo: components["schemas"]["AppliesTo"];
        };
        Permit: {
            /** @description Token of the allowance */
            token: string;
            /** @description Account that may take the token */
            spender: string;
            /** @description Allowance that the token sets, exactly that of the approval. Base units in decimal digits */
            value: bigint;
            /** @description Nonce that the token expects. An integer in decimal digits */
            nonce: string;
            /**
             * Format: int64
             * @description Time until which the token accepts the signature: that of `expiresAt`. Unix seconds
             */
            deadline: number;
        };
        PermitOffer: {
            /** @description Values that are signed. With `signature`, an item of `permits` */
            permit: components["schemas"]["Permit"];
            /** @description EIP-712 message to sign, as `eth_signTypedData_v4` takes it */
            typedData: {
                [key: string]: unknown;
            };
        };
        SendCall: {
            /** @description Contract that is called, or account that is paid */
            to: string;
            /** @description Calldata; `0x` when there is none. 0x hex */
            data: string;
            /** @description Wei of the native coin that are sent with the call. 0x hex without leading zeros */
            value: string;
        };
        /** @description The `wallet_sendCalls` parameter of EIP-5792, version 2.0.0. */
        WalletSendCalls: {
            /** @description Version of the parameter of EIP-5792 */
            version: string;
            /** @description Account that signs */
            from: string;
            /** @description Chain id of the calls, as a quantity. 0x hex without leading zeros */
            chainId: string;
            /** @description Whether the wallet must execute all calls or none: true where several providers carry out the action */
            atomicRequired: boolean;
            /** @description Calls in the order of execution */
            calls: components["schemas"]["SendCall"][];
        };
        Recipient: {
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Account that gets something on the network */
            account: string;
        };
        Policy: {
            /** @description `sha256:` and the SHA-256 of the policy file, in hex */
            digest: string;
        };
        ActionPart: {
            /**
             * @description Whether the part is a swap within a network or a transfer to another one
             * @enum {string}
             */
            kind: "swap" | "bridge";
            /** @description Id of the provider, as in `GET /v2/providers` */
            provider: string;
            /** @description What the part takes from the caller */
            inputs: components["schemas"]["Leg"][];
            /** @description What the part pays, each output with its own minimum */
            outputs: components["schemas"]["Leg"][];
            /** @description Indices in `steps` of the part's transactions, approvals included */
            steps: number[];
        };
        Action: {
            /** @description keccak-256 of chain id, sender and all transactions in order, as 0x hex */
            actionId: string;
            /** @description Quote that the action was built from. Null for an action without one */
            quoteId: string | null;
            /** @description Kind of the action: `swap`, `bridge`, `pool`, `vault` or `revocation` */
            kind: string;
            /** @description Id of the provider, as in `GET /v2/providers`; `quoteway` for a revocation, which the gateway builds itself */
            provider: string;
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Account that signs all transactions */
            from: string;
            /**
             * Format: date-time
             * @description When the action was built. RFC 3339 in UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Time until which the quote behind the action is valid: sign and send the transactions before it. RFC 3339 in UTC
             */
            expiresAt: string;
            /**
             * Format: int64
             * @description Time after which the contracts refuse the transactions. Null where none of them takes a deadline. Unix seconds
             */
            deadline: number | null;
            /** @description Unsigned transactions in the order of sending. The signer adds nonce and gas price */
            transactions: components["schemas"]["Transaction"][];
            /** @description Facts of each transaction, in the same order */
            steps: components["schemas"]["Step"][];
            /** @description Messages to sign and insert before the transactions are sent; empty for most actions */
            signatures: components["schemas"]["Signature"][];
            /** @description EIP-2612 permits that can take the place of approvals, where `offerPermits` asks for them. The action can be sent as it is; with a signature in `permits`, request it again */
            permitOffers: components["schemas"]["PermitOffer"][];
            /** @description Parameter of `wallet_sendCalls` (EIP-5792). Null when there are signatures to insert first */
            walletSendCalls: components["schemas"]["WalletSendCalls"] | null;
            /** @description Tokens and amounts that the caller pays */
            inputs: components["schemas"]["Leg"][];
            /** @description Tokens and amounts that the recipient receives, each with its minimum */
            outputs: components["schemas"]["Leg"][];
            /** @description All accounts that get something: payments, refunds, the fee of the request, or a role in a vault; the caller too */
            recipients: components["schemas"]["Recipient"][];
            /**
             * Format: int64
             * @description How far the price of the trade is below that of the pools before it, in basis points, as quoted. Null where the quote has none
             */
            priceImpactBps: number | null;
            /** @description Custody policy of the deployment, which allows the action. Null where it has none */
            policy: components["schemas"]["Policy"] | null;
            /** @description Parts of an action that several providers carry out, in order. Null where one provider carries out all */
            parts: components["schemas"]["ActionPart"][] | null;
            /** @description Simulation of all transactions in their order */
            simulation: components["schemas"]["Simulation"];
            /** @description Fee that a rollup charges for the data of all transactions on its parent chain. Null where it charges none, or when not known. Wei in decimal digits */
            l1Fee: bigint | null;
            /** @description What would make the transactions fail now, or what to check before signing */
            issues: components["schemas"]["Issue"][];
            /** @description What the signer must know before signing */
            warnings: components["schemas"]["Notice"][];
            /** @description Signature of the gateway: a compact JWS (EdDSA) over a JWT whose claim `action` is this object without `jws`. Its key is at `/.well-known/jwks.json`. Null where the deployment signs none */
            jws: string | null;
        };
        BridgeRouteEntry: {
            /** @description Name of the network that the transfer leaves */
            fromChain: string;
            /** @description Name of the network on which it arrives */
            toChain: string;
            /** @description Token that is sent */
            fromToken: components["schemas"]["TokenRef"];
            /** @description Token that is received */
            toToken: components["schemas"]["TokenRef"];
            /** @description Id of the provider of the transfer */
            bridge: string;
            /** @description Least amount of `fromToken` that the bridge takes. Base units in decimal digits. Null when not known */
            minAmount: bigint | null;
            /** @description Most that the bridge takes of `fromToken`. Null when not known, which does not mean unlimited. Base units in decimal digits */
            maxAmount: bigint | null;
            /**
             * Format: int64
             * @description Estimated seconds from the deposit to the payment on the other network. Null when not known
             */
            estimatedSeconds: number | null;
            /** @description Whether the route can be quoted now */
            enabled: boolean;
        };
        RoutePage: {
            /** @description Providers whose rows are missing; ask again while there are any */
            partial: components["schemas"]["FailedSource"][];
            /** @description Value of `cursor` for the next page. Null on the last page */
            nextCursor: string | null;
            /**
             * Format: int64
             * @description Number of rows that the request selects, on all pages. Null when not known
             */
            total: number | null;
            /** @description Whether a provider marks a row of the page as a preview, with values that are not live */
            preview: boolean;
            /**
             * Format: date-time
             * @description Time of the newest data among the rows that the request selects. RFC 3339 in UTC
             */
            updatedAt: string;
            /** @description Routes that the request selects */
            data: components["schemas"]["BridgeRouteEntry"][];
        };
        BridgeQuoteBody: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /**
             * Format: int64
             * @description Time until which the transactions may be executed, in Unix seconds: 60 seconds to 24 hours from now. Left out: the setting `quotes.action_deadline_s` (seconds), counted from the action
             */
            deadline?: number;
            /** @description Account that signs the transactions and pays. Address or ENS name */
            address: string;
            /** @description Network of `fromToken` */
            fromChain: string;
            /** @description Token to sell; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            fromToken: string;
            /** @description Account that receives the output. Left out: `address`. Address or ENS name */
            toAddress?: string;
            /** @description Network of `toToken`; another one than `fromChain` */
            toChain: string;
            /** @description Token to buy; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            toToken: string;
            /** @description Account that receives the refund, on the first network, when a transfer is not filled. Left out: `address`. Only for transfers to another network. Address or ENS name */
            refundAddress?: string;
            /** @description Id of the only provider to ask. Left out: all enabled ones */
            provider?: string;
            /**
             * @description How a Permit2 allowance is given: `transactions` by a transaction, `permit2-signature` by typed data to sign. Default: `"transactions"`
             * @enum {string}
             */
            approvalMode?: "transactions" | "permit2-signature";
            /** @description Amount to send, in base units of `fromToken` */
            amount: bigint;
            /**
             * Format: int64
             * @description How far the minimum output may be below the quoted one, in basis points. Default: `50`
             */
            slippageBps?: number;
        };
        Refund: {
            /**
             * Format: int64
             * @description Chain id of the network on which the refund is paid
             */
            chainId: number;
            /** @description Token of the refund */
            token: string;
            /** @description Account that receives the refund */
            address: string;
            /** @description How and when the refund is paid when the transfer is not filled, in a sentence. Null when not known */
            onExpiry: string | null;
        };
        /** @description Quote of a transfer to another network. */
        BridgeQuote: {
            /** @description Signed token that holds the quote, at most 4,096 characters. It can be exchanged for an action any number of times until `expiresAt` */
            quoteId: string;
            /**
             * @description Kind of the request that was quoted
             * @enum {string}
             */
            kind: "swap" | "bridge" | "pool" | "vault";
            /**
             * @description `active` until `expiresAt`. An `expired` quote can be read, but not exchanged for an action
             * @enum {string}
             */
            status: "active" | "expired";
            /** @description Id of the provider, as in `GET /v2/providers` */
            provider: string;
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /**
             * Format: date-time
             * @description Time at which the quote was made. RFC 3339 in UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Time until which the quote can be exchanged for an action. RFC 3339 in UTC
             */
            expiresAt: string;
            /**
             * Format: int64
             * @description Seconds until `expiresAt`; 0 when the quote has expired
             */
            expiresIn: number;
            /** @description The request as it was understood */
            request: components["schemas"]["SwapEcho"];
            /** @description Tokens and amounts that the caller pays */
            inputs: components["schemas"]["Leg"][];
            /** @description Tokens and amounts that the recipient receives, each with its minimum */
            outputs: components["schemas"]["Leg"][];
            /**
             * Format: int64
             * @description Slippage with which the minimum outputs, or with `exactOut` the maximum input, were computed, in basis points
             */
            slippageBps: number;
            /**
             * Format: int64
             * @description Time until which the transactions can be executed: the one of the request, else the one that an action built now gets. The action's own `deadline` is null where no contract enforces it. Null in a quote that is read back. Unix seconds
             */
            deadline: number | null;
            /**
             * Format: int64
             * @description How far the price of the trade is below that of the pools before it, in basis points. Null when not known, and in a quote that is read back
             */
            priceImpactBps: number | null;
            /** @description Fees of the quote. Null in a quote that is read back */
            fees: components["schemas"]["Fee"][] | null;
            /** @description Estimated gas of the transactions, without approvals. Null when not known, and in a quote that is read back */
            gas: components["schemas"]["Gas"] | null;
            /** @description Allowances that the transactions need, with the present ones. Null in a quote that is read back */
            approvals: components["schemas"]["Approval"][] | null;
            /** @description What would make the transactions fail now, or what to check. Null in a quote that is read back */
            issues: components["schemas"]["Issue"][] | null;
            /** @description Pools of the swap. Null where the provider does not state them, and in a quote that is read back */
            route: components["schemas"]["Route"] | null;
            /** @description Block whose state was quoted */
            block: components["schemas"]["BlockRef"];
            /** @description Simulation of the transactions at `block`. Null where none was made, and in a quote that is read back */
            simulation: components["schemas"]["Simulation"] | null;
            /** @description What the caller must know before it accepts the quote. Null in a quote that is read back */
            warnings: components["schemas"]["Notice"][] | null;
            /** @description What the caller must accept by its code in `acknowledge` before it gets an action; empty when nothing is left to accept */
            acknowledgementNeeded: components["schemas"]["Notice"][];
            /** @description Codes that the quote's request accepted in `acknowledge` */
            acknowledged: string[];
            /** @description Outcome of each provider that was asked. Null in a quote that is read back */
            attempts: components["schemas"]["Attempt"][] | null;
            /** @description Taxes of the unlisted tokens of the request, where they could be measured. Null in a quote that is read back */
            taxes: components["schemas"]["TradeTax"][] | null;
            /**
             * Format: int64
             * @description Estimated seconds from the deposit to the payment on the other network. Null when not known
             */
            estimatedSeconds?: number | null;
            /**
             * Format: int64
             * @description Time until which the transfer can be filled; after it the deposit is refunded. Unix seconds. Null when not known
             */
            fillDeadline?: number | null;
            /** @description Refund when the transfer is not filled. Null when the provider does not declare one */
            refund?: components["schemas"]["Refund"] | null;
        };
        Tracking: {
            /** @description Id of the provider of the transfer */
            bridge: string;
            /**
             * Format: int64
             * @description Chain id of the network on which the deposit is made
             */
            originChainId: number;
            /**
             * Format: int64
             * @description Chain id of the network on which the transfer is paid
             */
            destinationChainId: number;
            /**
             * Format: int64
             * @description Estimated seconds from the deposit to the payment on the other network. Null when not known
             */
            expectedSeconds: number | null;
            /** @description Account that receives the refund when the transfer is not filled. Null when the provider does not declare one */
            refundAddress: string | null;
        };
        /** @description Action of a transfer to another network. */
        BridgeAction: {
            /** @description keccak-256 of chain id, sender and all transactions in order, as 0x hex */
            actionId: string;
            /** @description Quote that the action was built from. Null for an action without one */
            quoteId: string | null;
            /** @description Kind of the action: `swap`, `bridge`, `pool`, `vault` or `revocation` */
            kind: string;
            /** @description Id of the provider, as in `GET /v2/providers`; `quoteway` for a revocation, which the gateway builds itself */
            provider: string;
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Account that signs all transactions */
            from: string;
            /**
             * Format: date-time
             * @description When the action was built. RFC 3339 in UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Time until which the quote behind the action is valid: sign and send the transactions before it. RFC 3339 in UTC
             */
            expiresAt: string;
            /**
             * Format: int64
             * @description Time after which the contracts refuse the transactions. Null where none of them takes a deadline. Unix seconds
             */
            deadline: number | null;
            /** @description Unsigned transactions in the order of sending. The signer adds nonce and gas price */
            transactions: components["schemas"]["Transaction"][];
            /** @description Facts of each transaction, in the same order */
            steps: components["schemas"]["Step"][];
            /** @description Messages to sign and insert before the transactions are sent; empty for most actions */
            signatures: components["schemas"]["Signature"][];
            /** @description EIP-2612 permits that can take the place of approvals, where `offerPermits` asks for them. The action can be sent as it is; with a signature in `permits`, request it again */
            permitOffers: components["schemas"]["PermitOffer"][];
            /** @description Parameter of `wallet_sendCalls` (EIP-5792). Null when there are signatures to insert first */
            walletSendCalls: components["schemas"]["WalletSendCalls"] | null;
            /** @description Tokens and amounts that the caller pays */
            inputs: components["schemas"]["Leg"][];
            /** @description Tokens and amounts that the recipient receives, each with its minimum */
            outputs: components["schemas"]["Leg"][];
            /** @description All accounts that get something: payments, refunds, the fee of the request, or a role in a vault; the caller too */
            recipients: components["schemas"]["Recipient"][];
            /**
             * Format: int64
             * @description How far the price of the trade is below that of the pools before it, in basis points, as quoted. Null where the quote has none
             */
            priceImpactBps: number | null;
            /** @description Custody policy of the deployment, which allows the action. Null where it has none */
            policy: components["schemas"]["Policy"] | null;
            /** @description Parts of an action that several providers carry out, in order. Null where one provider carries out all */
            parts: components["schemas"]["ActionPart"][] | null;
            /** @description Simulation of all transactions in their order */
            simulation: components["schemas"]["Simulation"];
            /** @description Fee that a rollup charges for the data of all transactions on its parent chain. Null where it charges none, or when not known. Wei in decimal digits */
            l1Fee: bigint | null;
            /** @description What would make the transactions fail now, or what to check before signing */
            issues: components["schemas"]["Issue"][];
            /** @description What the signer must know before signing */
            warnings: components["schemas"]["Notice"][];
            /** @description Signature of the gateway: a compact JWS (EdDSA) over a JWT whose claim `action` is this object without `jws`. Its key is at `/.well-known/jwks.json`. Null where the deployment signs none */
            jws: string | null;
            /** @description Facts to follow the transfer with `GET /v2/transactions/{txId}` */
            tracking?: components["schemas"]["Tracking"];
        };
        SwapQuotesBody: {
            /** @description Requests, each a body of `POST /v2/swaps/quote` */
            quotes: components["schemas"]["SwapQuoteBody"][];
        };
        /** @description A quote, or the error that its request would have had alone. */
        QuoteResult: {
            /** @description Quote of the request; left out where there is an error */
            quote?: components["schemas"]["SwapQuote"];
            /** @description Error that the request alone would have had; left out where there is a quote */
            error?: components["schemas"]["ErrorMembers"];
        };
        SwapQuotes: {
            /** @description One result for each request, in the order of the requests */
            results: components["schemas"]["QuoteResult"][];
        };
        /** @description What a swap would pay at `block`. */
        SwapPrice: {
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Block whose state was quoted */
            block: components["schemas"]["BlockRef"];
            /** @description Always true: not simulated, and not exchangeable for an action */
            indicative: boolean;
            /** @description Id of the provider, as in `GET /v2/providers` */
            provider: string;
            /** @description Token that is sold */
            fromToken: components["schemas"]["TokenRef"];
            /** @description Token that is bought */
            toToken: components["schemas"]["TokenRef"];
            /**
             * @description Which amount is exact: `exactIn` the amount sold, `exactOut` the amount bought
             * @enum {string}
             */
            side: "exactIn" | "exactOut";
            /** @description Amount that is sold. Base units in decimal digits */
            fromAmount: bigint;
            /** @description Amount that is bought. Base units in decimal digits */
            toAmount: bigint;
            /** @description Whole tokens bought for a whole token sold, as a decimal number in text with up to 18 significant digits. Null when nothing is sold */
            executionPrice: string | null;
            /**
             * Format: int64
             * @description How far the price of the trade is below that of the pools before it, in basis points. Null when not known
             */
            priceImpactBps: number | null;
            /** @description Fees of the swap */
            fees: components["schemas"]["Fee"][];
            /** @description Estimated gas of the transaction, without approvals. Null when not known */
            gas: components["schemas"]["Gas"] | null;
            /** @description Pools of the swap. Null where the provider does not state them */
            route: components["schemas"]["Route"] | null;
            /** @description How near the route is to the best one. Null where the provider does not compute it */
            optimality: components["schemas"]["Optimality"] | null;
            /** @description Outcome of each provider that was asked */
            attempts: components["schemas"]["Attempt"][];
        };
        /** @description What an amount of a ladder would pay or take. */
        RungPrice: {
            /** @description Id of the provider, as in `GET /v2/providers` */
            provider: string;
            /** @description Amount that is sold. Base units in decimal digits */
            fromAmount: bigint;
            /** @description Amount that is bought. Base units in decimal digits */
            toAmount: bigint;
            /** @description Whole tokens bought for a whole token sold, as a decimal number in text with up to 18 significant digits. Null when nothing is sold */
            executionPrice: string | null;
            /**
             * Format: int64
             * @description How far the price of the trade is below that of the pools before it, in basis points. Null when not known
             */
            priceImpactBps: number | null;
        };
        /** @description An amount with its price, or the reason why there is none. */
        DepthRung: {
            /** @description Exact amount of the rung: of `fromToken`, with `exactOut` of `toToken`. Base units in decimal digits */
            amount: bigint;
            /** @description Amount that is sold. Null with `exactOut` where no provider quotes the amount. Base units in decimal digits */
            fromAmount: bigint | null;
            /** @description Best price of the amount. Null without one */
            price: components["schemas"]["RungPrice"] | null;
            /** @description Why there is no price, one of `details.reason`. Null where there is one, or when not known */
            reason: string | null;
        };
        /** @description What swaps of growing amounts would pay or take at one block. */
        SwapDepth: {
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Block whose state was quoted, for all amounts */
            block: components["schemas"]["BlockRef"];
            /** @description Always true: not simulated, and not exchangeable for an action */
            indicative: boolean;
            /** @description Token that is sold */
            fromToken: components["schemas"]["TokenRef"];
            /** @description Token that is bought */
            toToken: components["schemas"]["TokenRef"];
            /**
             * @description Which amount is exact: `exactIn` the amount sold, `exactOut` the amount bought
             * @enum {string}
             */
            side: "exactIn" | "exactOut";
            /** @description Amounts in ascending order, each ten times the one before */
            rungs: components["schemas"]["DepthRung"][];
        };
        PoolEntry: {
            /** @description Id of the pool: chain id, colon, address or 32-byte id */
            id: string;
            /** @description Name of the network */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Protocol of the pool, such as `uniswap-v3` */
            protocol: string;
            /** @description Family of the pool's contract, such as `v2`, `v3` or `v4` */
            kind: string;
            /** @description Address of the pool; for Uniswap v4 its 32-byte id */
            address: string;
            /** @description Symbols of the tokens, separated by a slash; the address of a token without a symbol */
            pair: string;
            /** @description Tokens of the pool, in the order of its contract */
            tokens: components["schemas"]["TokenRef"][];
            /** @description Fee of a swap, in basis points of the amount sold. Null when not known */
            feeBps: number | null;
            /** @description Value of the tokens in the pool. US dollars. Null when not known */
            tvlUsd: number | null;
            /** @description Yearly rate that fees pay for liquidity, not compounded, as a fraction: 0.05 is 5 %. Null when not known */
            apr: number | null;
            /** @description Volume of the swaps of the last 24 hours. US dollars. Null when not known */
            volume24hUsd: number | null;
            /** @description Fees of the swaps of the last 24 hours. US dollars. Null when not known */
            fees24hUsd: number | null;
            /** @description Contract of the hooks of a Uniswap v4 pool. Null without one */
            hooks: string | null;
            /** @description Actions that `POST /v2/pools/{poolId}/quote` takes for it, such as `add` */
            actions: string[];
            /** @description Whether the provider marks the row as a preview, with values that are not live */
            preview: boolean;
            /** @description Where the provider has the row from, such as `chain` */
            source: string;
            /**
             * Format: date-time
             * @description Time of the row's data. RFC 3339 in UTC
             */
            updatedAt: string;
        };
        PoolPage: {
            /** @description Providers whose rows are missing; ask again while there are any */
            partial: components["schemas"]["FailedSource"][];
            /** @description Value of `cursor` for the next page. Null on the last page */
            nextCursor: string | null;
            /**
             * Format: int64
             * @description Number of rows that the request selects, on all pages. Null when not known
             */
            total: number | null;
            /** @description Whether a provider marks a row of the page as a preview, with values that are not live */
            preview: boolean;
            /**
             * Format: date-time
             * @description Time of the newest data among the rows that the request selects. RFC 3339 in UTC
             */
            updatedAt: string;
            /** @description Pools that the request selects */
            data: components["schemas"]["PoolEntry"][];
        };
        /** @description `amount` is base units of `asset`; `collect` needs neither. `useNative` gives and takes the native coin where the pool holds its wrapped form; an `asset` that is the native coin says so too. */
        PoolBody: components["schemas"]["PoolBodyAdd"] | components["schemas"]["PoolBodyRemove"] | components["schemas"]["PoolBodyCollect"];
        PoolEcho: {
            /** @description Id of the pool: chain id, colon, address or 32-byte id */
            poolId: string;
            /** @description Action of the request: `add`, `remove` or `collect` */
            action: string;
            /** @description Token that `amount` counts; the zero address stands for the native coin, and for no token with `collect` */
            asset: string;
            /** @description Amount in base units of `asset`, or `max` for everything and where not given */
            amount: string;
            /** @description Account that signs and pays */
            address: string;
            /** @description Account that receives the outputs, or owns the new position */
            recipient: string;
            /**
             * Format: int64
             * @description How far amounts may change to the caller's disadvantage, in basis points
             */
            slippageBps: number;
            /**
             * Format: int64
             * @description Lower tick of the position. Null where neither the request nor the quote sets one
             */
            tickLower: number | null;
            /**
             * Format: int64
             * @description Upper tick of the position. Null where neither the request nor the quote sets one
             */
            tickUpper: number | null;
            /** @description Id of the position. Null where not given */
            positionId: string | null;
            /** @description Whether the native coin is paid and received in place of its wrapped form */
            useNative: boolean;
        };
        PoolState: {
            /** @description Family of the pool's contract, such as `v2`, `v3` or `v4` */
            kind: string;
            /** @description Fee of a swap in this pool, in basis points of the amount sold. Null when not known */
            feeBps?: number | null;
            /** @description Reserves of the pool, in base units, in the order of its tokens. Null for a pool without reserves, such as v3 and v4. An integer in decimal digits */
            reserves?: string[] | null;
            /** @description Square root of the price of token 0 in token 1, in base units, times 2^96. Null for a pool without ticks. An integer in decimal digits */
            sqrtPriceX96?: string | null;
            /**
             * Format: int64
             * @description Tick of the present price. Null for a pool without ticks
             */
            tick?: number | null;
            /** @description Liquidity of the pool: for v3 and v4 that in range at the present price, for v2 the total supply of its shares. Null where the pool has no such number. An integer in decimal digits */
            liquidity?: string | null;
        };
        Range: {
            /**
             * Format: int64
             * @description Lower tick of the position, included in its range
             */
            tickLower: number;
            /**
             * Format: int64
             * @description Upper tick of the position, excluded from its range
             */
            tickUpper: number;
        };
        /** @description Quote of adding or removing liquidity, or of collecting fees. */
        PoolQuote: {
            /** @description Signed token that holds the quote, at most 4,096 characters. It can be exchanged for an action any number of times until `expiresAt` */
            quoteId: string;
            /**
             * @description Kind of the request that was quoted
             * @enum {string}
             */
            kind: "swap" | "bridge" | "pool" | "vault";
            /**
             * @description `active` until `expiresAt`. An `expired` quote can be read, but not exchanged for an action
             * @enum {string}
             */
            status: "active" | "expired";
            /** @description Id of the provider, as in `GET /v2/providers` */
            provider: string;
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /**
             * Format: date-time
             * @description Time at which the quote was made. RFC 3339 in UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Time until which the quote can be exchanged for an action. RFC 3339 in UTC
             */
            expiresAt: string;
            /**
             * Format: int64
             * @description Seconds until `expiresAt`; 0 when the quote has expired
             */
            expiresIn: number;
            /** @description The request as it was understood */
            request: components["schemas"]["PoolEcho"];
            /** @description Tokens and amounts that the caller pays */
            inputs: components["schemas"]["Leg"][];
            /** @description Tokens and amounts that the recipient receives, each with its minimum */
            outputs: components["schemas"]["Leg"][];
            /**
             * Format: int64
             * @description Slippage with which the minimum outputs, or with `exactOut` the maximum input, were computed, in basis points
             */
            slippageBps: number;
            /**
             * Format: int64
             * @description Time until which the transactions can be executed: the one of the request, else the one that an action built now gets. The action's own `deadline` is null where no contract enforces it. Null in a quote that is read back. Unix seconds
             */
            deadline: number | null;
            /**
             * Format: int64
             * @description How far the price of the trade is below that of the pools before it, in basis points. Null when not known, and in a quote that is read back
             */
            priceImpactBps: number | null;
            /** @description Fees of the quote. Null in a quote that is read back */
            fees: components["schemas"]["Fee"][] | null;
            /** @description Estimated gas of the transactions, without approvals. Null when not known, and in a quote that is read back */
            gas: components["schemas"]["Gas"] | null;
            /** @description Allowances that the transactions need, with the present ones. Null in a quote that is read back */
            approvals: components["schemas"]["Approval"][] | null;
            /** @description What would make the transactions fail now, or what to check. Null in a quote that is read back */
            issues: components["schemas"]["Issue"][] | null;
            /** @description Pools of the swap. Null where the provider does not state them, and in a quote that is read back */
            route: components["schemas"]["Route"] | null;
            /** @description Block whose state was quoted */
            block: components["schemas"]["BlockRef"];
            /** @description Simulation of the transactions at `block`. Null where none was made, and in a quote that is read back */
            simulation: components["schemas"]["Simulation"] | null;
            /** @description What the caller must know before it accepts the quote. Null in a quote that is read back */
            warnings: components["schemas"]["Notice"][] | null;
            /** @description What the caller must accept by its code in `acknowledge` before it gets an action; empty when nothing is left to accept */
            acknowledgementNeeded: components["schemas"]["Notice"][];
            /** @description Codes that the quote's request accepted in `acknowledge` */
            acknowledged: string[];
            /** @description Outcome of each provider that was asked. Null in a quote that is read back */
            attempts: components["schemas"]["Attempt"][] | null;
            /** @description Taxes of the unlisted tokens of the request, where they could be measured. Null in a quote that is read back */
            taxes: components["schemas"]["TradeTax"][] | null;
            /** @description State of the pool at the quote's block. Null when not known */
            poolState?: components["schemas"]["PoolState"] | null;
            /** @description Input or output of the token that is not `asset`, computed from `amount`. Null where nothing is computed from an amount, as when everything is removed */
            dependent?: components["schemas"]["Leg"] | null;
            /** @description Change of the position's liquidity or shares, in the unit of `poolState.liquidity`; negative when it is reduced. An integer in decimal digits. Null when not known */
            liquidityDelta?: string | null;
            /** @description Ticks of the position. Null for a position without a range */
            range?: components["schemas"]["Range"] | null;
            /** @description `liquidityDelta` as a fraction of the pool's liquidity, with what is added: 0.05 is 5 %. Null out of range, and when not known */
            shareOfPool?: number | null;
        };
        /** @description `quoteId` keeps the minimums of an earlier quote for the same request. */
        PoolActionBody: components["schemas"]["PoolActionBodyAdd"] | components["schemas"]["PoolActionBodyRemove"] | components["schemas"]["PoolActionBodyCollect"];
        Point: {
            /**
             * Format: int64
             * @description Start of the interval, or the moment of a value read from the chain: `method` says which. Unix seconds
             */
            timestamp: number;
            /** @description Value in the `unit` of the series. Null when not known */
            value: number | null;
        };
        SharePrice: {
            /**
             * Format: int64
             * @description Number of the block at which the price was read
             */
            block: number;
            /**
             * Format: int64
             * @description Time of that block. Unix seconds
             */
            timestamp: number;
            /** @description Whole assets that a whole share was worth, as an exact decimal number in text */
            price: string;
        };
        /** @description The two share prices that the yield of a window is computed from. */
        GrowthWindow: {
            /** @description Name of the window: `1d`, `7d` or `30d` */
            window: string;
            /** @description Share price at the start of the window. Null when not known */
            from: components["schemas"]["SharePrice"] | null;
            /** @description Share price at the end of the window. Null when not known */
            to: components["schemas"]["SharePrice"] | null;
        };
        Series: {
            /** @description Id of the pool or vault */
            id: string;
            /** @description What the values measure: `tvl`, `volume`, `fees`, `apr` or `apy` */
            metric: string;
            /** @description Unit of the values: `usd`, `fraction` (0.05 is 5 %), or the symbol of a token for whole tokens; `unknown` before the first read */
            unit: string;
            /**
             * @description Time between values: an hour, a day or a week
             * @enum {string}
             */
            interval: "1h" | "1d" | "1w";
            /**
             * Format: int64
             * @description Start of the requested time. Unix seconds
             */
            from: number;
            /**
             * Format: int64
             * @description End of the requested time. Unix seconds
             */
            to: number;
            /** @description One value for each interval, in the order of time */
            points: components["schemas"]["Point"][];
            /** @description Newest value, in the `unit` of the series. Null when not known */
            current: number | null;
            /** @description Where the values are from: `index`, `chain`, or another name of the provider; `none` before the first read */
            source: string;
            /** @description How the values are computed, in sentences */
            method: string;
            /** @description Block at which the newest value was read. Null when not known */
            asOfBlock: components["schemas"]["BlockRef"] | null;
            /**
             * Format: date-time
             * @description Time of the newest data. RFC 3339 in UTC
             */
            updatedAt: string;
            /** @description Whether the provider marks the values as a preview, which are not live */
            preview: boolean;
            /** @description Spans without values, each as start and end in Unix seconds */
            gaps: number[][];
            /** @description Parts of the value by name, such as `base` and `reward` of a rate or `usd` and `assets` of a vault's TVL; `method` gives their units. A part is null when not known, and so is the member */
            components?: {
                [key: string]: number | null;
            } | null;
            /** @description Yearly rate over the last `1d`, `7d` and `30d`, as a fraction: 0.05 is 5 %. A rate is null when not known, and so is the member */
            windows?: {
                [key: string]: number | null;
            } | null;
            /** @description Exact amounts behind `components`, by name, each of one token of the pool or vault: sums over all points, and for TVL the amounts at the end. Base units in decimal digits */
            amounts?: {
                [key: string]: bigint | null;
            };
            /** @description Share prices at the ends of each window, from which the yields are computed */
            endpoints?: components["schemas"]["GrowthWindow"][];
            /** @description Span in which values are known. Null when none is */
            coverage: components["schemas"]["Coverage"] | null;
            /** @description Why values are missing or old, one of `details.reason`. Null when they are neither */
            reason: string | null;
        };
        PositionEntry: {
            /** @description Id of the position, for `positionId` in requests; of an NFT its token id */
            positionId: string;
            /** @description Id of the pool that holds the position */
            poolId: string;
            /** @description Account that owns the position */
            owner: string;
            /**
             * @description `fungible`: shares of a pool or vault. `nft`: a token of its own
             * @enum {string}
             */
            kind: "fungible" | "nft";
            /** @description Size of the position: base units of the shares, or units of liquidity for v3 and v4. Decimal digits */
            liquidity: bigint;
            /** @description Fraction of the pool's liquidity or of all shares: 0.05 is 5 %. Null out of range, and when not known */
            share: number | null;
            /** @description Amounts that a withdrawal of the whole position pays now, without fees; empty when not known */
            amounts: components["schemas"]["Leg"][];
            /** @description Fees that can be collected now */
            uncollectedFees: components["schemas"]["Leg"][];
            /** @description Ticks of the position. Null for a position without a range */
            range: components["schemas"]["Range"] | null;
            /** @description Whether the pool's price is in the range. Null for a position without a range */
            inRange: boolean | null;
            /** @description Value of `amounts` and `uncollectedFees`. Null unless all of them have a price. US dollars */
            valueUsd: number | null;
            /** @description Block at which the position was read */
            asOfBlock: components["schemas"]["BlockRef"];
        };
        PositionPage: {
            /** @description Providers whose rows are missing; ask again while there are any */
            partial: components["schemas"]["FailedSource"][];
            /** @description Value of `cursor` for the next page. Null on the last page */
            nextCursor: string | null;
            /**
             * Format: int64
             * @description Number of rows that the request selects, on all pages. Null when not known
             */
            total: number | null;
            /** @description Whether a provider marks a row of the page as a preview, with values that are not live */
            preview: boolean;
            /**
             * Format: date-time
             * @description Time of the newest data among the rows that the request selects. RFC 3339 in UTC
             */
            updatedAt: string;
            /** @description Positions that the wallet has in the pool */
            data: components["schemas"]["PositionEntry"][];
        };
        Tick: {
            /**
             * Format: int64
             * @description Initialised tick, a multiple of `tickSpacing`
             */
            tick: number;
            /** @description Change of the liquidity in range where the price rises over the tick; negative where positions end. An integer in decimal digits */
            liquidityNet: string;
        };
        /** @description Ticks, both ends included. */
        TickSpan: {
            /**
             * Format: int64
             * @description Lowest tick
             */
            from: number;
            /**
             * Format: int64
             * @description Highest tick
             */
            to: number;
        };
        PoolLiquidity: {
            /** @description Id of the pool: chain id, colon, address or 32-byte id */
            poolId: string;
            /**
             * Format: int64
             * @description Ticks of a position are multiples of this number
             */
            tickSpacing: number;
            /** @description Square root of the price of token 0 in token 1, in base units, times 2^96. An integer in decimal digits */
            sqrtPriceX96: string;
            /**
             * Format: int64
             * @description Tick of the present price
             */
            tick: number;
            /** @description Liquidity in range at the present price. An integer in decimal digits */
            liquidity: string;
            /** @description Initialised ticks of the span `known`, ascending */
            ticks: components["schemas"]["Tick"][];
            /** @description Ticks that were read, around the present price; others may be initialised too */
            known: components["schemas"]["TickSpan"];
            /** @description Block at which the pool was read */
            block: components["schemas"]["BlockRef"];
        };
        VaultFees: {
            /**
             * Format: int64
             * @description Fee on the yield, in basis points of it. Null when not known
             */
            performanceBps: number | null;
            /**
             * Format: int64
             * @description Fee on the assets, in basis points a year. Null when not known
             */
            managementBps: number | null;
            /**
             * Format: int64
             * @description Fee on a deposit, in basis points. Null when not known
             */
            entryBps: number | null;
            /**
             * Format: int64
             * @description Fee on a withdrawal, in basis points. Null when not known
             */
            exitBps: number | null;
        };
        VaultEntry: {
            /** @description Id of the vault: chain id, colon, address */
            id: string;
            /** @description Name of the network */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Contract of the vault */
            address: string;
            /** @description Name of the vault */
            name: string;
            /** @description Protocol of the vault, such as `erc4626` */
            protocol: string;
            /** @description Strategy of the vault, as its provider names it; empty where it names none */
            strategy: string;
            /** @description Token that the vault takes in (the underlying) */
            asset: components["schemas"]["TokenRef"];
            /** @description Token of the vault's shares */
            share: components["schemas"]["TokenRef"];
            /** @description Yearly yield with compounding, as a fraction: 0.05 is 5 %. Null when not known */
            apy: number | null;
            /** @description Assets that the vault holds, by its `totalAssets()`. Base units in decimal digits. Null when not known */
            totalAssets: bigint | null;
            /** @description Value of `totalAssets`. US dollars. Null when not known */
            tvlUsd: number | null;
            /** @description Risk score from 0 to 100; lower is safer. Null when not known */
            riskScore: number | null;
            /** @description Fees of the vault */
            fees: components["schemas"]["VaultFees"];
            /** @description Limits of the vault by name, such as `maxDeposit`, in base units of its asset. Null when there is no limit or it is not known. Base units in decimal digits */
            caps: {
                [key: string]: bigint | null;
            } | null;
            /**
             * @description `active`: takes deposits. `paused`: takes none now. `retired`: takes none any more
             * @enum {string}
             */
            status: "active" | "paused" | "retired";
            /** @description Actions that `POST /v2/vaults/{vaultId}/quote` takes for it, such as `deposit` */
            actions: string[];
            /** @description Whether quotes and actions can be requested for the vault */
            isTransactional: boolean;
            /** @description What a depositor must know */
            warnings: components["schemas"]["Notice"][];
            /** @description Whether the provider marks the row as a preview, with values that are not live */
            preview: boolean;
            /** @description Where the provider has the row from, such as `chain` */
            source: string;
            /**
             * Format: date-time
             * @description Time of the row's data. RFC 3339 in UTC
             */
            updatedAt: string;
        };
        VaultPage: {
            /** @description Providers whose rows are missing; ask again while there are any */
            partial: components["schemas"]["FailedSource"][];
            /** @description Value of `cursor` for the next page. Null on the last page */
            nextCursor: string | null;
            /**
             * Format: int64
             * @description Number of rows that the request selects, on all pages. Null when not known
             */
            total: number | null;
            /** @description Whether a provider marks a row of the page as a preview, with values that are not live */
            preview: boolean;
            /**
             * Format: date-time
             * @description Time of the newest data among the rows that the request selects. RFC 3339 in UTC
             */
            updatedAt: string;
            /** @description Vaults that the request selects */
            data: components["schemas"]["VaultEntry"][];
        };
        DeployBody: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /** @description Token that the vault takes in (the underlying); by address, by the symbol or id of a listed token, or a CAIP-19 id */
            asset: string;
            /** @description Account that may rebalance beside the owner. Left out or the zero address: none. Address or ENS name */
            bot?: string;
            /** @description Network of the new vault */
            network: string;
            /** @description Account that signs, and that will own the vault. Address or ENS name */
            owner: string;
            /** @description Id of one of the provider's strategies */
            strategy: string;
        };
        DeployEcho: {
            /** @description Name of the network of the new vault */
            network: string;
            /** @description Token that the vault takes in (the underlying) */
            asset: string;
            /** @description Account that signs, and that will own the vault */
            owner: string;
            /** @description Id of the strategy that the vault gets */
            strategy: string;
            /** @description Account that may rebalance beside the owner. Null for none */
            bot: string | null;
        };
        DeploymentParams: {
            /** @description Token that the vault takes in (the underlying) */
            asset: string;
            /** @description Account that will own the vault */
            owner: string;
            /** @description Account that may rebalance beside the owner. Null for none */
            bot: string | null;
            /** @description Address of the strategy that the vault gets */
            strategy: string;
        };
        /** @description Quote of deploying a vault. */
        DeployQuote: {
            /** @description Signed token that holds the quote, at most 4,096 characters. It can be exchanged for an action any number of times until `expiresAt` */
            quoteId: string;
            /**
             * @description Kind of the request that was quoted
             * @enum {string}
             */
            kind: "swap" | "bridge" | "pool" | "vault";
            /**
             * @description `active` until `expiresAt`. An `expired` quote can be read, but not exchanged for an action
             * @enum {string}
             */
            status: "active" | "expired";
            /** @description Id of the provider, as in `GET /v2/providers` */
            provider: string;
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /**
             * Format: date-time
             * @description Time at which the quote was made. RFC 3339 in UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Time until which the quote can be exchanged for an action. RFC 3339 in UTC
             */
            expiresAt: string;
            /**
             * Format: int64
             * @description Seconds until `expiresAt`; 0 when the quote has expired
             */
            expiresIn: number;
            /** @description The request as it was understood */
            request: components["schemas"]["DeployEcho"];
            /** @description Tokens and amounts that the caller pays */
            inputs: components["schemas"]["Leg"][];
            /** @description Tokens and amounts that the recipient receives, each with its minimum */
            outputs: components["schemas"]["Leg"][];
            /**
             * Format: int64
             * @description Slippage with which the minimum outputs, or with `exactOut` the maximum input, were computed, in basis points
             */
            slippageBps: number;
            /**
             * Format: int64
             * @description Time until which the transactions can be executed: the one of the request, else the one that an action built now gets. The action's own `deadline` is null where no contract enforces it. Null in a quote that is read back. Unix seconds
             */
            deadline: number | null;
            /**
             * Format: int64
             * @description How far the price of the trade is below that of the pools before it, in basis points. Null when not known, and in a quote that is read back
             */
            priceImpactBps: number | null;
            /** @description Fees of the quote. Null in a quote that is read back */
            fees: components["schemas"]["Fee"][] | null;
            /** @description Estimated gas of the transactions, without approvals. Null when not known, and in a quote that is read back */
            gas: components["schemas"]["Gas"] | null;
            /** @description Allowances that the transactions need, with the present ones. Null in a quote that is read back */
            approvals: components["schemas"]["Approval"][] | null;
            /** @description What would make the transactions fail now, or what to check. Null in a quote that is read back */
            issues: components["schemas"]["Issue"][] | null;
            /** @description Pools of the swap. Null where the provider does not state them, and in a quote that is read back */
            route: components["schemas"]["Route"] | null;
            /** @description Block whose state was quoted */
            block: components["schemas"]["BlockRef"];
            /** @description Simulation of the transactions at `block`. Null where none was made, and in a quote that is read back */
            simulation: components["schemas"]["Simulation"] | null;
            /** @description What the caller must know before it accepts the quote. Null in a quote that is read back */
            warnings: components["schemas"]["Notice"][] | null;
            /** @description What the caller must accept by its code in `acknowledge` before it gets an action; empty when nothing is left to accept */
            acknowledgementNeeded: components["schemas"]["Notice"][];
            /** @description Codes that the quote's request accepted in `acknowledge` */
            acknowledged: string[];
            /** @description Outcome of each provider that was asked. Null in a quote that is read back */
            attempts: components["schemas"]["Attempt"][] | null;
            /** @description Taxes of the unlisted tokens of the request, where they could be measured. Null in a quote that is read back */
            taxes: components["schemas"]["TradeTax"][] | null;
            /** @description Address of the factory that deploys the vault */
            factory?: string;
            /** @description Address of the new vault (CREATE2, EIP-1014) */
            predictedAddress?: string;
            /** @description Salt of CREATE2, 32 bytes as 0x hex */
            salt?: string;
            /** @description keccak-256 of the vault's init code for CREATE2, 32 bytes as 0x hex */
            initCodeHash?: string;
            /** @description Arguments with which the vault is deployed */
            params?: components["schemas"]["DeploymentParams"];
        };
        DeployActionBody: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /** @description Token that the vault takes in (the underlying); by address, by the symbol or id of a listed token, or a CAIP-19 id */
            asset: string;
            /** @description Account that may rebalance beside the owner. Left out or the zero address: none. Address or ENS name */
            bot?: string;
            /** @description Network of the new vault */
            network: string;
            /** @description Account that signs, and that will own the vault. Address or ENS name */
            owner: string;
            /** @description Id of one of the provider's strategies */
            strategy: string;
            /** @description Quote of the same request, whose terms the action keeps */
            quoteId?: string;
        };
        /** @description Action of deploying a vault. */
        DeployAction: {
            /** @description keccak-256 of chain id, sender and all transactions in order, as 0x hex */
            actionId: string;
            /** @description Quote that the action was built from. Null for an action without one */
            quoteId: string | null;
            /** @description Kind of the action: `swap`, `bridge`, `pool`, `vault` or `revocation` */
            kind: string;
            /** @description Id of the provider, as in `GET /v2/providers`; `quoteway` for a revocation, which the gateway builds itself */
            provider: string;
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Account that signs all transactions */
            from: string;
            /**
             * Format: date-time
             * @description When the action was built. RFC 3339 in UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Time until which the quote behind the action is valid: sign and send the transactions before it. RFC 3339 in UTC
             */
            expiresAt: string;
            /**
             * Format: int64
             * @description Time after which the contracts refuse the transactions. Null where none of them takes a deadline. Unix seconds
             */
            deadline: number | null;
            /** @description Unsigned transactions in the order of sending. The signer adds nonce and gas price */
            transactions: components["schemas"]["Transaction"][];
            /** @description Facts of each transaction, in the same order */
            steps: components["schemas"]["Step"][];
            /** @description Messages to sign and insert before the transactions are sent; empty for most actions */
            signatures: components["schemas"]["Signature"][];
            /** @description EIP-2612 permits that can take the place of approvals, where `offerPermits` asks for them. The action can be sent as it is; with a signature in `permits`, request it again */
            permitOffers: components["schemas"]["PermitOffer"][];
            /** @description Parameter of `wallet_sendCalls` (EIP-5792). Null when there are signatures to insert first */
            walletSendCalls: components["schemas"]["WalletSendCalls"] | null;
            /** @description Tokens and amounts that the caller pays */
            inputs: components["schemas"]["Leg"][];
            /** @description Tokens and amounts that the recipient receives, each with its minimum */
            outputs: components["schemas"]["Leg"][];
            /** @description All accounts that get something: payments, refunds, the fee of the request, or a role in a vault; the caller too */
            recipients: components["schemas"]["Recipient"][];
            /**
             * Format: int64
             * @description How far the price of the trade is below that of the pools before it, in basis points, as quoted. Null where the quote has none
             */
            priceImpactBps: number | null;
            /** @description Custody policy of the deployment, which allows the action. Null where it has none */
            policy: components["schemas"]["Policy"] | null;
            /** @description Parts of an action that several providers carry out, in order. Null where one provider carries out all */
            parts: components["schemas"]["ActionPart"][] | null;
            /** @description Simulation of all transactions in their order */
            simulation: components["schemas"]["Simulation"];
            /** @description Fee that a rollup charges for the data of all transactions on its parent chain. Null where it charges none, or when not known. Wei in decimal digits */
            l1Fee: bigint | null;
            /** @description What would make the transactions fail now, or what to check before signing */
            issues: components["schemas"]["Issue"][];
            /** @description What the signer must know before signing */
            warnings: components["schemas"]["Notice"][];
            /** @description Signature of the gateway: a compact JWS (EdDSA) over a JWT whose claim `action` is this object without `jws`. Its key is at `/.well-known/jwks.json`. Null where the deployment signs none */
            jws: string | null;
            /** @description Address of the factory that deploys the vault */
            factory?: string;
            /** @description Address of the new vault (CREATE2, EIP-1014) */
            predictedAddress?: string;
            /** @description Salt of CREATE2, 32 bytes as 0x hex */
            salt?: string;
            /** @description keccak-256 of the vault's init code for CREATE2, 32 bytes as 0x hex */
            initCodeHash?: string;
            /** @description Arguments with which the vault is deployed */
            params?: components["schemas"]["DeploymentParams"];
        };
        /** @description `amount` is base units of `asset`: the underlying means assets, the share token means shares. */
        VaultBody: components["schemas"]["VaultBodyEntry"] | components["schemas"]["VaultBodyExit"];
        VaultEcho: {
            /** @description Id of the vault: chain id, colon, address */
            vaultId: string;
            /** @description Action of the request, such as `deposit` */
            action: string;
            /** @description Token that `amount` counts. Null where not given */
            asset: string | null;
            /** @description Amount of `asset`. Null for `max`, and where not given. Base units in decimal digits */
            amount: bigint | null;
            /** @description Account that signs */
            address: string;
            /** @description Account that receives the outputs */
            recipient: string;
            /**
             * Format: int64
             * @description How far amounts may change to the caller's disadvantage, in basis points
             */
            slippageBps: number;
            /** @description Strategy of the request. Null where not given */
            strategy: string | null;
            /** @description Account of the request's `bot`. Null where not given */
            bot: string | null;
        };
        QuotedVault: {
            /** @description Id of the vault: chain id, colon, address */
            id: string;
            /** @description Token that the vault takes in (the underlying) */
            asset: components["schemas"]["TokenRef"];
            /** @description Token of the vault's shares */
            share: components["schemas"]["TokenRef"];
            /** @description Whole assets that a whole share is worth, as a decimal number in text. Null when not known */
            sharePrice: string | null;
        };
        QuotedVaultFees: {
            /**
             * Format: int64
             * @description Fee on a deposit, in basis points. Null when not known
             */
            entry: number | null;
            /**
             * Format: int64
             * @description Fee on a withdrawal, in basis points. Null when not known
             */
            exit: number | null;
        };
        /** @description Quote of a deposit or withdrawal. */
        VaultQuote: {
            /** @description Signed token that holds the quote, at most 4,096 characters. It can be exchanged for an action any number of times until `expiresAt` */
            quoteId: string;
            /**
             * @description Kind of the request that was quoted
             * @enum {string}
             */
            kind: "swap" | "bridge" | "pool" | "vault";
            /**
             * @description `active` until `expiresAt`. An `expired` quote can be read, but not exchanged for an action
             * @enum {string}
             */
            status: "active" | "expired";
            /** @description Id of the provider, as in `GET /v2/providers` */
            provider: string;
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /**
             * Format: date-time
             * @description Time at which the quote was made. RFC 3339 in UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Time until which the quote can be exchanged for an action. RFC 3339 in UTC
             */
            expiresAt: string;
            /**
             * Format: int64
             * @description Seconds until `expiresAt`; 0 when the quote has expired
             */
            expiresIn: number;
            /** @description The request as it was understood */
            request: components["schemas"]["VaultEcho"];
            /** @description Tokens and amounts that the caller pays */
            inputs: components["schemas"]["Leg"][];
            /** @description Tokens and amounts that the recipient receives, each with its minimum */
            outputs: components["schemas"]["Leg"][];
            /**
             * Format: int64
             * @description Slippage with which the minimum outputs, or with `exactOut` the maximum input, were computed, in basis points
             */
            slippageBps: number;
            /**
             * Format: int64
             * @description Time until which the transactions can be executed: the one of the request, else the one that an action built now gets. The action's own `deadline` is null where no contract enforces it. Null in a quote that is read back. Unix seconds
             */
            deadline: number | null;
            /**
             * Format: int64
             * @description How far the price of the trade is below that of the pools before it, in basis points. Null when not known, and in a quote that is read back
             */
            priceImpactBps: number | null;
            /** @description Fees of the quote. Null in a quote that is read back */
            fees: components["schemas"]["Fee"][] | null;
            /** @description Estimated gas of the transactions, without approvals. Null when not known, and in a quote that is read back */
            gas: components["schemas"]["Gas"] | null;
            /** @description Allowances that the transactions need, with the present ones. Null in a quote that is read back */
            approvals: components["schemas"]["Approval"][] | null;
            /** @description What would make the transactions fail now, or what to check. Null in a quote that is read back */
            issues: components["schemas"]["Issue"][] | null;
            /** @description Pools of the swap. Null where the provider does not state them, and in a quote that is read back */
            route: components["schemas"]["Route"] | null;
            /** @description Block whose state was quoted */
            block: components["schemas"]["BlockRef"];
            /** @description Simulation of the transactions at `block`. Null where none was made, and in a quote that is read back */
            simulation: components["schemas"]["Simulation"] | null;
            /** @description What the caller must know before it accepts the quote. Null in a quote that is read back */
            warnings: components["schemas"]["Notice"][] | null;
            /** @description What the caller must accept by its code in `acknowledge` before it gets an action; empty when nothing is left to accept */
            acknowledgementNeeded: components["schemas"]["Notice"][];
            /** @description Codes that the quote's request accepted in `acknowledge` */
            acknowledged: string[];
            /** @description Outcome of each provider that was asked. Null in a quote that is read back */
            attempts: components["schemas"]["Attempt"][] | null;
            /** @description Taxes of the unlisted tokens of the request, where they could be measured. Null in a quote that is read back */
            taxes: components["schemas"]["TradeTax"][] | null;
            /** @description The vault, its tokens and the price of its shares */
            vault?: components["schemas"]["QuotedVault"];
            /** @description Most that the vault accepts or pays now, in base units of the `asset` of the request, or of the share where `amount` is `max`. Null when there is no limit or it is not known. An integer in decimal digits */
            limit?: string | null;
            /**
             * Format: int64
             * @description Seconds for which a deposit cannot be withdrawn. Null when not known
             */
            lockSeconds?: number | null;
            /** @description Fees of the vault on deposits and withdrawals */
            feesBps?: components["schemas"]["QuotedVaultFees"];
        };
        /** @description `quoteId` keeps the minimums of an earlier quote for the same request. */
        VaultActionBody: components["schemas"]["VaultActionBodyEntry"] | components["schemas"]["VaultActionBodyExit"];
        /**
         * @description Which of the actions a vault takes is the provider's to say (`actions.manage` in `/v2/providers`).
         *
         *     `amount` is the value of `setCap` and `setFee` ("max": no cap); `bot` the account of `setBot` and `setOperator` (the zero address: none); `strategy` what is added or removed.
         */
        ManageBody: components["schemas"]["ManageBodyPlain"] | components["schemas"]["ManageBodyAmount"] | components["schemas"]["ManageBodyBot"] | components["schemas"]["ManageBodyStrategy"];
        /** @description Action of managing a vault. */
        ManageAction: {
            /** @description keccak-256 of chain id, sender and all transactions in order, as 0x hex */
            actionId: string;
            /** @description Quote that the action was built from. Null for an action without one */
            quoteId: string | null;
            /** @description Kind of the action: `swap`, `bridge`, `pool`, `vault` or `revocation` */
            kind: string;
            /** @description Id of the provider, as in `GET /v2/providers`; `quoteway` for a revocation, which the gateway builds itself */
            provider: string;
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Account that signs all transactions */
            from: string;
            /**
             * Format: date-time
             * @description When the action was built. RFC 3339 in UTC
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Time until which the quote behind the action is valid: sign and send the transactions before it. RFC 3339 in UTC
             */
            expiresAt: string;
            /**
             * Format: int64
             * @description Time after which the contracts refuse the transactions. Null where none of them takes a deadline. Unix seconds
             */
            deadline: number | null;
            /** @description Unsigned transactions in the order of sending. The signer adds nonce and gas price */
            transactions: components["schemas"]["Transaction"][];
            /** @description Facts of each transaction, in the same order */
            steps: components["schemas"]["Step"][];
            /** @description Messages to sign and insert before the transactions are sent; empty for most actions */
            signatures: components["schemas"]["Signature"][];
            /** @description EIP-2612 permits that can take the place of approvals, where `offerPermits` asks for them. The action can be sent as it is; with a signature in `permits`, request it again */
            permitOffers: components["schemas"]["PermitOffer"][];
            /** @description Parameter of `wallet_sendCalls` (EIP-5792). Null when there are signatures to insert first */
            walletSendCalls: components["schemas"]["WalletSendCalls"] | null;
            /** @description Tokens and amounts that the caller pays */
            inputs: components["schemas"]["Leg"][];
            /** @description Tokens and amounts that the recipient receives, each with its minimum */
            outputs: components["schemas"]["Leg"][];
            /** @description All accounts that get something: payments, refunds, the fee of the request, or a role in a vault; the caller too */
            recipients: components["schemas"]["Recipient"][];
            /**
             * Format: int64
             * @description How far the price of the trade is below that of the pools before it, in basis points, as quoted. Null where the quote has none
             */
            priceImpactBps: number | null;
            /** @description Custody policy of the deployment, which allows the action. Null where it has none */
            policy: components["schemas"]["Policy"] | null;
            /** @description Parts of an action that several providers carry out, in order. Null where one provider carries out all */
            parts: components["schemas"]["ActionPart"][] | null;
            /** @description Simulation of all transactions in their order */
            simulation: components["schemas"]["Simulation"];
            /** @description Fee that a rollup charges for the data of all transactions on its parent chain. Null where it charges none, or when not known. Wei in decimal digits */
            l1Fee: bigint | null;
            /** @description What would make the transactions fail now, or what to check before signing */
            issues: components["schemas"]["Issue"][];
            /** @description What the signer must know before signing */
            warnings: components["schemas"]["Notice"][];
            /** @description Signature of the gateway: a compact JWS (EdDSA) over a JWT whose claim `action` is this object without `jws`. Its key is at `/.well-known/jwks.json`. Null where the deployment signs none */
            jws: string | null;
            /** @description Role that the management action requires. Null when not known */
            requiredRole?: components["schemas"]["RequiredRole"] | null;
        };
        /**
         * @description Moves `amount` base units of the underlying into `strategy`; without `amount` all that can be moved.
         *
         *     Without `strategy` the vault's idle money goes into its first one. `slippageBps` bounds what the move may cost of the vault's total assets.
         */
        RebalanceBody: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /** @description Account that signs; it must have the role that the vault requires. Address or ENS name */
            address: string;
            /** @description Amount to move, in base units of the underlying. Left out or `max`: all that can be moved */
            amount?: bigint | "max";
            /** @description Id or address of the strategy to move into. Left out: the vault's first one */
            strategy?: string;
            /**
             * Format: int64
             * @description Most that the move may cost, in basis points of the vault's total assets. Default: `50`
             */
            slippageBps?: number;
        };
        SubmitBody: {
            /** @description Signed transaction as it is broadcast, as 0x hex */
            signedPayload: string;
        };
        Submitted: {
            /** @description `txId` of the path */
            txId: string;
            /** @description Hash of the transaction */
            hash: string;
            /** @description Always true: a relay has broadcast the transaction */
            broadcast: boolean;
            /** @description Always true: the transaction is the one that was built */
            verified: boolean;
        };
        HashBody: {
            /** @description Hash of the broadcast transaction, 32 bytes as 0x hex */
            hash: string;
        };
        Realized: {
            /** @description Changes of the balances of the sender and of the quoted recipients, without the gas */
            assetChanges: components["schemas"]["AssetChange"][];
            /** @description Whether `assetChanges` has movements of the native coin, which emit no logs */
            nativeKnown: boolean;
            /** @description Units of gas that the transaction used. An integer in decimal digits */
            gasUsed: string;
            /**
             * Format: int64
             * @description Received output less the quoted one, in basis points of the quoted one: 0 is as quoted, negative is less. The lowest of several outputs. Null for a transaction with no quoted output, when it reverted, is not the one that was built, or the output is not known
             */
            vsQuoteBps: number | null;
        };
        HashReport: {
            /** @description `txId` of the path */
            txId: string;
            /** @description Hash of the transaction */
            hash: string;
            /**
             * Format: int64
             * @description Chain id of the network for which the transaction was built
             */
            chainId: number;
            /**
             * @description `match`: the transaction is the one that was built. `mismatch`: `differences` says what differs. `not_found`: no network of this deployment has it now
             * @enum {string}
             */
            match: "match" | "mismatch" | "not_found";
            /** @description Members that differ from the transaction that was built; empty unless `match` is `mismatch` */
            differences: components["schemas"]["Difference"][];
            /**
             * @description `pending`: not in a block yet. `confirmed` or `reverted`: in a block. `unknown`: the nodes do not have the transaction now, which does not mean that it failed
             * @enum {string}
             */
            status: "pending" | "confirmed" | "reverted" | "unknown";
            /**
             * Format: int64
             * @description Number of the block with the transaction. Null when it is in none
             */
            blockNumber: number | null;
            /** @description Hash of that block. Null when it is in none */
            blockHash: string | null;
            /**
             * Format: int64
             * @description Number of blocks from that block to the newest one, both included. Null when it is in none
             */
            confirmations: number | null;
            /** @description What the transaction did. Null when it is in no block */
            realized: components["schemas"]["Realized"] | null;
        };
        TrackedRefund: {
            /**
             * Format: int64
             * @description Chain id of the network on which the refund is paid
             */
            chainId: number;
            /** @description Token of the refund */
            token: string;
            /** @description Account that receives the refund */
            address: string;
            /** @description Amount of the refund. Base units in decimal digits */
            amount: bigint;
        };
        Tracked: {
            /** @description `txId` of the path */
            txId: string;
            /** @description Hash of the transaction */
            hash: string;
            /**
             * @description `origin_*`: the deposit is sent or mined. `fill_pending` and `filled`: the payment on the other network. `refund_*`: the refund. `action_required`: see `reason`. `unknown`: the nodes do not have the transaction now, which does not mean that it failed
             * @enum {string}
             */
            status: "origin_pending" | "origin_confirmed" | "fill_pending" | "filled" | "refund_pending" | "refunded" | "action_required" | "unknown";
            /**
             * Format: int64
             * @description Chain id of the network on which the deposit was made. Null when not known
             */
            originChainId: number | null;
            /**
             * Format: int64
             * @description Chain id of the network on which the transfer is paid. Null when not known
             */
            destinationChainId: number | null;
            /** @description Number of the deposit at the bridge, as decimal text. Null when not known */
            depositId: string | null;
            /**
             * Format: int64
             * @description Time until which the transfer can be filled; after it the deposit is refunded. Unix seconds. Null when not known
             */
            fillDeadline: number | null;
            /** @description Hash of the transaction that paid the recipient. Null before that */
            fillHash: string | null;
            /** @description Hash of the transaction that paid the refund. Null without one */
            refundHash: string | null;
            /** @description Refund of the transfer. Null without one */
            refund: components["schemas"]["TrackedRefund"] | null;
            /** @description Code of what the caller must do. Null unless `status` is `action_required` */
            reason: string | null;
        };
        Balance: {
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Token of the balance */
            token: components["schemas"]["TokenRef"];
            /** @description Balance of the wallet. Base units in decimal digits */
            amount: bigint;
            /** @description Balance of the wallet in whole tokens, as a decimal number in text */
            amountFormatted: string;
            /** @description Value of the balance. Of a token that no catalog lists, or whose price is not anchored or has moved, no more than can be sold. Null when not known, and for spam. US dollars */
            valueUsd: number | null;
            /** @description Least that pools pay for the whole balance, sold alone. US dollars. Null when not known */
            realisableUsd: number | null;
            /** @description Confidence of the price sources in the price, from 0 to 1. Null when not known */
            confidence: number | null;
            /** @description Amount that can be sold near the price. US dollars. Null when not known */
            liquidityUsd: number | null;
            /** @description Ids of the price sources that agree on the price; empty without a price */
            sources: string[];
            /** @description Whether the price is confirmed: reached from dollar tokens through pools that stood for a while, or agreed on by sources of several plugins */
            anchored: boolean;
            /** @description Largest difference of the present price to one of the last hour, in percent: 2 is 2 %. Null when not known */
            moved1hPct: number | null;
            /** @description What to know about the price, such as `price_moved` */
            warnings: components["schemas"]["Notice"][];
            /** @description Whether `valueUsd` is part of `totalUsd` */
            counted: boolean;
            /** @description Whether a catalog of this deployment lists the token */
            listed: boolean;
            /** @description Whether the token breaks a rule of spam. Null when it was not judged */
            spam: boolean | null;
            /** @description Rules that the token breaks, such as `link` or `mass_gift` */
            spamReasons: string[];
        };
        AsOf: {
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /**
             * Format: int64
             * @description Number of the block that was read
             */
            block: number;
        };
        Balances: {
            /** @description Wallet of the request */
            wallet: string;
            /** @description Balances of the wallet, one for each token and network */
            data: components["schemas"]["Balance"][];
            /** @description Sum of `valueUsd` of the balances that are `counted`. Null when none is. US dollars */
            totalUsd: number | null;
            /** @description Whether nothing that should count is missing from `totalUsd` */
            totalComplete: boolean;
            /** @description Block of each network at which the balances were read */
            asOf: components["schemas"]["AsOf"][];
            /** @description What could not be read; empty when nothing is missing */
            partial: components["schemas"]["Partial"][];
        };
        BalancesBody: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Accounts whose balances are read */
            wallets: string[];
            /** @description Network to read. Left out: all */
            network?: string;
            /** @description Tokens, at most 1000 over all networks, by address, `native` or the zero address for the native coin, and with `network` by the symbol or id of a listed token, or a CAIP-19 id. Left out: the tokens listed by this deployment, of which only those held are shown. */
            tokens?: string[];
            /** @description Whether the balance of the native coin is read too. Default: `true` */
            includeNative?: boolean;
            /** @description Whether `totalUsd` counts tokens that no catalog lists, and those whose price is not anchored, at what they can be sold for. Default: `false` */
            includeUnlisted?: boolean;
        };
        BalancesOfWallets: {
            /** @description Balances of each wallet, in the order of `wallets` */
            data: components["schemas"]["Balances"][];
            /** @description Sum of the known totals of the wallets. Null when none is known. US dollars */
            totalUsd: number | null;
            /** @description Whether the totals of all wallets are complete */
            totalComplete: boolean;
        };
        /** @description `poolId` of a position in a vault is null, and `vaultId` of one in a pool. */
        PortfolioPosition: {
            /** @description Id of the position, for `positionId` in requests; of an NFT its token id */
            positionId: string;
            /** @description Pool of the position. Null for a vault */
            poolId: string | null;
            /** @description Account that owns the position */
            owner: string;
            /**
             * @description `fungible`: shares of a pool or vault. `nft`: a token of its own
             * @enum {string}
             */
            kind: "fungible" | "nft";
            /** @description Size of the position: base units of the shares, or units of liquidity for v3 and v4. Decimal digits */
            liquidity: bigint;
            /** @description Fraction of the pool's liquidity or of all shares: 0.05 is 5 %. Null out of range, and when not known */
            share: number | null;
            /** @description Amounts that a withdrawal of the whole position pays now, without fees; empty when not known */
            amounts: components["schemas"]["Leg"][];
            /** @description Fees that can be collected now */
            uncollectedFees: components["schemas"]["Leg"][];
            /** @description Ticks of the position. Null for a position without a range */
            range: components["schemas"]["Range"] | null;
            /** @description Whether the pool's price is in the range. Null for a position without a range */
            inRange: boolean | null;
            /** @description Value of `amounts` and `uncollectedFees`. Null unless all of them have a price. US dollars */
            valueUsd: number | null;
            /** @description Block at which the position was read */
            asOfBlock: components["schemas"]["BlockRef"];
            /** @description Vault of the position. Null for a pool */
            vaultId: string | null;
            /** @description Id of the provider, as in `GET /v2/providers` */
            provider: string;
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
        };
        Positions: {
            /** @description Providers whose rows are missing; ask again while there are any */
            partial: components["schemas"]["FailedSource"][];
            /** @description Value of `cursor` for the next page. Null on the last page */
            nextCursor: string | null;
            /**
             * Format: int64
             * @description Number of rows that the request selects, on all pages. Null when not known
             */
            total: number | null;
            /** @description Whether a provider marks a row of the page as a preview, with values that are not live */
            preview: boolean;
            /**
             * Format: date-time
             * @description Time of the newest data among the rows that the request selects. RFC 3339 in UTC
             */
            updatedAt: string;
            /** @description Positions that the wallet has in pools and vaults */
            data: components["schemas"]["PortfolioPosition"][];
            /** @description Block of each network at which the positions were read: the oldest `asOfBlock` among its positions on all pages, else the newest block before they were looked for. A network whose block is not known is left out */
            asOf: components["schemas"]["AsOf"][];
        };
        AllowanceEntry: {
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /**
             * @description `erc20`: the token keeps the allowance. `permit2`: the contract Permit2 keeps it, and the spender takes the token through it
             * @enum {string}
             */
            kind: "erc20" | "permit2";
            /** @description Token of the allowance */
            token: components["schemas"]["TokenRef"];
            /** @description Whether a catalog of this deployment lists the token */
            listed: boolean;
            /** @description Account that may take the token from the wallet */
            spender: string;
            /** @description Name of the spender, as a provider declares it. Null where none does */
            label: string | null;
            /** @description Amount that the spender may still take. Base units in decimal digits */
            amount: bigint;
            /** @description Whether the amount is one that stands for no limit, such as 2^256 - 1 */
            unlimited: boolean;
            /**
             * Format: int64
             * @description Time at which a `permit2` allowance ends. Null for `erc20`, which does not end. Unix seconds
             */
            expiration: number | null;
        };
        Allowances: {
            /** @description Wallet of the request */
            wallet: string;
            /** @description Allowances above zero that have not expired */
            data: components["schemas"]["AllowanceEntry"][];
            /** @description Block of each network at which the allowances were read */
            asOf: components["schemas"]["AsOf"][];
            /** @description What could not be read; empty when nothing is missing */
            partial: components["schemas"]["Partial"][];
        };
        RevokeBody: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Account that signs, and whose approvals end. Address or ENS name */
            address: string;
            /** @description Network of the approvals */
            network: string;
            /** @description Approvals to revoke, as `GET /v2/portfolio/approvals` shows them */
            approvals: {
                /** @description Token of the approval; by address, by the symbol or id of a listed token, or a CAIP-19 id */
                token: string;
                /** @description Account that may take the token now */
                spender: string;
                /**
                 * @description Which contract keeps the allowance: `erc20` the token, `permit2` Permit2. Default: `"erc20"`
                 * @enum {string}
                 */
                kind?: "erc20" | "permit2";
            }[];
        };
        DoneCall: {
            /** @description What the called function does, such as `swap` */
            action: string;
            /** @description Signature of the called function */
            function: string;
            /** @description Name of the called contract in the gateway's registry of call descriptions. Null when not known */
            target: string | null;
        };
        MovementEntry: {
            /** @description Contract of the token; the zero address stands for the native coin */
            tokenAddress: string;
            /** @description Facts of the token. Null where the address is no ERC-20 token */
            token: components["schemas"]["TokenRef"] | null;
            /** @description Whether a catalog of this deployment lists the token */
            listed: boolean;
            /**
             * @description `in`: received by the wallet. `out`: sent by it. `self`: from it to itself
             * @enum {string}
             */
            direction: "in" | "out" | "self";
            /** @description Amount that moved. Base units in decimal digits */
            amount: bigint;
            /** @description Amount that moved, in whole tokens, as a decimal number in text. Null when `token` is */
            amountFormatted: string | null;
            /** @description Account at the other end of the movement */
            counterparty: string;
            /** @description True where an unlisted token logs that the wallet sent it, in a transaction of another account: any contract can log that */
            hearsay: boolean;
        };
        KnownEvent: {
            /** @description Kind of the event, such as `swap` */
            kind: string;
            /** @description Id of the event source of the index */
            source: string;
            /** @description Pool or vault that the event is about, by its address or 32-byte id; of a transfer the name of the bridge */
            subject: string;
        };
        ActivityEntry: {
            /** @description Hash of the transaction */
            hash: string;
            /**
             * Format: int64
             * @description Number of the block of the transaction
             */
            block: number;
            /**
             * Format: int64
             * @description Time of the block. Unix seconds
             */
            timestamp: number;
            /**
             * @description Whether the transaction succeeded
             * @enum {string}
             */
            status: "success" | "reverted";
            /** @description Account that sent the transaction */
            from: string;
            /** @description Account that the transaction calls. Null for a deployment */
            to: string | null;
            /** @description Called function, where a description of it is known. Null otherwise */
            call: components["schemas"]["DoneCall"] | null;
            /** @description What the transaction did, in a sentence of the gateway */
            description: string;
            /** @description Tokens and coins that the wallet received or sent, at most 100 */
            transfers: components["schemas"]["MovementEntry"][];
            /**
             * Format: int64
             * @description Number of further transfers that `transfers` leaves out
             */
            transfersLeftOut: number;
            /** @description Events of known protocols in the transaction */
            events: components["schemas"]["KnownEvent"][];
            /** @description Fee that the wallet paid for the transaction. Null where another account sent it. Wei in decimal digits */
            feeWei: bigint | null;
        };
        /** @description Blocks of which the index has everything. */
        IndexCoverage: {
            /**
             * Format: int64
             * @description First block of the span that is indexed without a gap
             */
            fromBlock: number;
            /**
             * Format: int64
             * @description Last block of that span
             */
            toBlock: number;
            /** @description Whether the index has everything before the first block too */
            complete: boolean;
        };
        /** @description A transaction that could not be read, and why. */
        Unread: {
            /** @description Hash of the transaction */
            hash: string;
            /** @description Why it could not be read: one of `details.reason`, or `transaction_not_found` */
            reason: string;
        };
        Activity: {
            /** @description Wallet of the request */
            wallet: string;
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Transactions, newest first */
            data: components["schemas"]["ActivityEntry"][];
            /** @description Value of `cursor` for the next page. Null on the last page */
            nextCursor: string | null;
            /** @description Span of blocks whose transactions are indexed */
            coverage: components["schemas"]["IndexCoverage"];
            /** @description Transactions of the page that could not be read */
            partial: components["schemas"]["Unread"][];
        };
        ValuePoint: {
            /**
             * Format: int64
             * @description Moment of the value. Unix seconds
             */
            timestamp: number;
            /** @description Value of the tokens with a price. Null outside of `coverage`, and where none of the held tokens has a price. US dollars */
            valueUsd: number | null;
            /** @description Tokens that the wallet held then and that have no price */
            unpriced: string[];
        };
        HeldThen: {
            /** @description Token that the wallet held */
            token: components["schemas"]["TokenRef"];
            /** @description Balance at each point, in base units; null where it is not known */
            amounts: (bigint | null)[];
        };
        WalletHistory: {
            /** @description Wallet of the request */
            wallet: string;
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /**
             * @description Time between values: an hour, a day or a week
             * @enum {string}
             */
            interval: "1h" | "1d" | "1w";
            /**
             * Format: int64
             * @description Start of the requested time. Unix seconds
             */
            from: number;
            /**
             * Format: int64
             * @description End of the requested time. Unix seconds
             */
            to: number;
            /** @description Value of the wallet's tokens at each moment, in the order of time */
            points: components["schemas"]["ValuePoint"][];
            /** @description Tokens that count, with the balance at each point */
            tokens: components["schemas"]["HeldThen"][];
            /** @description Span in which the balances are known */
            coverage: components["schemas"]["Coverage"];
            /** @description Block whose balances are the newest, from which those of the past are computed */
            asOfBlock: components["schemas"]["BlockRef"];
            /** @description How the values are computed, in sentences */
            method: string;
            /** @description What the values do not count, with the reason */
            partial: components["schemas"]["Partial"][];
        };
        TokenAmount: {
            /** @description Token of the amount */
            token: components["schemas"]["TokenRef"];
            /** @description Amount of the token. Base units in decimal digits */
            amount: bigint;
        };
        GainEntry: {
            /** @description Id of the position; for a vault the id of the vault */
            positionId: string;
            /** @description Id of the provider, as in `GET /v2/providers` */
            provider: string;
            /** @description Pool of the position. Null for a vault */
            poolId: string | null;
            /** @description Vault of the position. Null for a pool */
            vaultId: string | null;
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /**
             * Format: int64
             * @description Time of the first event of the position. Unix seconds. Null when not known
             */
            openedAt: number | null;
            /** @description Sum of what was deposited, for each token. Null when not known */
            deposited: components["schemas"]["TokenAmount"][] | null;
            /** @description Sum of what was withdrawn, for each token, without fees. Null when not known */
            withdrawn: components["schemas"]["TokenAmount"][] | null;
            /** @description Sum of the fees that were paid out, for each token. Null when not known */
            collectedFees: components["schemas"]["TokenAmount"][] | null;
            /** @description Fees that can be collected now, for each token. Null when not known */
            uncollectedFees: components["schemas"]["TokenAmount"][] | null;
            /** @description Cost of what is in the position now: deposits at the prices of their hours, less the share of each withdrawal (average cost). US dollars. Null when not known */
            costUsd: number | null;
            /** @description Value of the principal now, without fees. US dollars. Null when not known */
            valueUsd: number | null;
            /** @description Withdrawals at the prices of their hours less their share of the cost; negative is a loss. US dollars. Null when not known */
            realisedUsd: number | null;
            /** @description `valueUsd` less `costUsd`; negative is a loss. US dollars. Null when not known */
            unrealisedUsd: number | null;
            /** @description Value of all fees: collected ones at the prices of their hours, others at those of now. US dollars. Null when not known */
            feesUsd: number | null;
            /** @description `valueUsd` less the present value of the deposits that are still in the position; negative is a loss. US dollars. Null when not known */
            impermanentLossUsd: number | null;
            /** @description Codes of why members are null; the operation's description explains them */
            reasons: string[];
        };
        Gains: {
            /** @description Wallet of the request */
            wallet: string;
            /** @description One row for each position */
            data: components["schemas"]["GainEntry"][];
            /** @description How the members are computed, in sentences */
            method: string;
            /** @description Providers whose positions or events are missing */
            partial: components["schemas"]["FailedSource"][];
        };
        /** @description Newest block of a network. */
        Head: {
            /** @description Name of the network; `eip155:` and the chain id where this deployment has no name for it */
            network: string;
            /**
             * Format: int64
             * @description Chain id of the network (EIP-155)
             */
            chainId: number;
            /** @description Newest block */
            block: components["schemas"]["BlockRef"];
        };
        /** @description What has become of a quote that is followed. `quote` is the best quote now for the same request, or the expired one itself; `error` says why there is none. */
        QuoteChange: {
            /** @description Quote of the request; left out where there is an error */
            quote?: components["schemas"]["SwapQuote"];
            /** @description Error that the request alone would have had; left out where there is a quote */
            error?: components["schemas"]["ErrorMembers"];
            /** @description Id of the quote that is followed */
            quoteId: string;
            /** @description `unchanged`, `improved` or `worsened`: what `quote` pays, or with `exactOut` takes, beside the quote that is followed. `below_minimum`: its minimum, or maximum, can no longer be had. `unavailable`: there is no quote now, see `error`. `expired`: it can no longer be used; the last event of the topic. More may be added within v2 */
            change: string;
        };
        /** @description Why the state of a topic is not known at the moment. The next event of the topic ends it. */
        TopicFailure: {
            /** @description Member of the query, such as `heads` */
            topic: string;
            /** @description Item of the member, such as `ethereum` */
            item: string;
            /** @description Error that a request for the state would have */
            error: components["schemas"]["ErrorMembers"];
        };
        /** @description Events were missed that are not kept. The present state of every topic follows. */
        StreamLost: {
            /** @description `unknown_id`: `Last-Event-ID` is of another process, or no id. `too_old`: newer events are no longer kept. More may be added within v2 */
            reason: string;
        };
        /** @description Last event of a stream. */
        StreamEnd: {
            /** @description `complete`: every topic has had its last event. `lifetime`: the stream has lasted as long as the deployment allows. `draining`: the process stops. More may be added within v2 */
            reason: string;
            /** @description Whether to connect again, with the last id as `Last-Event-ID` */
            reconnect: boolean;
        };
        /** @description Data of one event, by its name: `head`, `quote`, `transaction`, `transfer`, `index`, `failure`, `lost` and `end`, in the order of the schemas. */
        StreamEvent: components["schemas"]["Head"] | components["schemas"]["QuoteChange"] | components["schemas"]["HashReport"] | components["schemas"]["Tracked"] | components["schemas"]["IndexStatus"] | components["schemas"]["TopicFailure"] | components["schemas"]["StreamLost"] | components["schemas"]["StreamEnd"];
        WebhookBody: {
            /** @description URL of the receiver */
            url: string;
            /**
             * @description What is followed until it is final: a `transfer` to its arrival or refund, or a `transaction`
             * @enum {string}
             */
            kind: "transfer" | "transaction";
            /** @description `txId` of the step that the transaction carries out */
            txId: string;
            /** @description Hash of the broadcast transaction, 32 bytes as 0x hex */
            hash: string;
            /**
             * Format: int64
             * @description Blocks, that of the transaction included, after which it is followed no more; the deployment's without it
             */
            confirmations?: number;
        };
        /** @description A registration as it is answered when it is made, with its secret. */
        RegisteredWebhook: {
            /** @description Id of the registration */
            webhookId: string;
            /**
             * @description What is followed: a `transfer` to another network, or a `transaction`
             * @enum {string}
             */
            kind: "transfer" | "transaction";
            /** @description `txId` of the step that the transaction carries out */
            txId: string;
            /** @description Hash of the transaction */
            hash: string;
            /** @description URL of the receiver */
            url: string;
            /**
             * @description `done`: the last event was taken, or dropped. More may be added within v2
             * @enum {string}
             */
            state: "active" | "done";
            /**
             * Format: int64
             * @description Number of events that the receiver has taken
             */
            delivered: number;
            /**
             * Format: int64
             * @description Number of events that wait to be taken
             */
            pending: number;
            /**
             * Format: int64
             * @description Number of events that are sent no more: not taken for too long, or too many waited
             */
            dropped: number;
            /** @description Why the newest attempt failed: `timeout`, `connection`, `tls`, `redirect`, `not_allowed`, or `status` and a number. Null when it succeeded, and before the first */
            lastFailure: string | null;
            /**
             * Format: int64
             * @description Blocks, that of the transaction included, after which it is followed no more
             */
            confirmations: number;
            /**
             * Format: int64
             * @description Time of the registration. Unix seconds
             */
            createdAt: number;
            /**
             * Format: int64
             * @description Time after which no new state is sent: when `txId` expires. Unix seconds
             */
            expiresAt: number;
            /** @description Secret of the signatures, as Standard Webhooks has it: `whsec_` and base64. No other answer has it */
            secret: string;
        };
        /** @description A registration: the states of a transfer or transaction are sent to `url`. */
        Webhook: {
            /** @description Id of the registration */
            webhookId: string;
            /**
             * @description What is followed: a `transfer` to another network, or a `transaction`
             * @enum {string}
             */
            kind: "transfer" | "transaction";
            /** @description `txId` of the step that the transaction carries out */
            txId: string;
            /** @description Hash of the transaction */
            hash: string;
            /** @description URL of the receiver */
            url: string;
            /**
             * @description `done`: the last event was taken, or dropped. More may be added within v2
             * @enum {string}
             */
            state: "active" | "done";
            /**
             * Format: int64
             * @description Number of events that the receiver has taken
             */
            delivered: number;
            /**
             * Format: int64
             * @description Number of events that wait to be taken
             */
            pending: number;
            /**
             * Format: int64
             * @description Number of events that are sent no more: not taken for too long, or too many waited
             */
            dropped: number;
            /** @description Why the newest attempt failed: `timeout`, `connection`, `tls`, `redirect`, `not_allowed`, or `status` and a number. Null when it succeeded, and before the first */
            lastFailure: string | null;
            /**
             * Format: int64
             * @description Blocks, that of the transaction included, after which it is followed no more
             */
            confirmations: number;
            /**
             * Format: int64
             * @description Time of the registration. Unix seconds
             */
            createdAt: number;
            /**
             * Format: int64
             * @description Time after which no new state is sent: when `txId` expires. Unix seconds
             */
            expiresAt: number;
        };
        Webhooks: {
            /** @description Registrations of the API key, the newest first */
            data: components["schemas"]["Webhook"][];
        };
        /** @description Call of JSON-RPC 2.0 */
        RpcCall: {
            /**
             * @description Version of JSON-RPC
             * @enum {string}
             */
            jsonrpc: "2.0";
            /** @description Id of the call, which its answer repeats. A call without it is a notification, which is not answered */
            id?: number | string | null;
            /** @description Name of a method that only reads, such as `eth_call`; another one is refused with -32601 */
            method: string;
            /** @description Parameters of the method in their order. Null or left out: none */
            params?: unknown[] | null;
        };
        /** @description Calls that are answered in one answer */
        RpcBatch: components["schemas"]["RpcCall"][];
        /** @description One call, or a batch */
        RpcRequest: components["schemas"]["RpcCall"] | components["schemas"]["RpcBatch"];
        /** @description The answer to a call that succeeded. */
        RpcResult: {
            /**
             * @description Version of JSON-RPC
             * @enum {string}
             */
            jsonrpc: "2.0";
            /** @description `id` of the call. Null where the call has none that can be read */
            id: number | string | null;
            /** @description Result of the method. Null for what does not exist, such as an unknown transaction */
            result: unknown;
        };
        /** @description Error of a call: the gateway's, or a node's without credentials and addresses. */
        RpcErrorObject: {
            /**
             * Format: int64
             * @description Error code of JSON-RPC 2.0, of EIP-1474 or of the node
             */
            code: number;
            /** @description What is wrong, in a sentence of the gateway or of the node */
            message: string;
            /** @description Further facts of the node, such as revert data, which may be null; `{reason, requestId}` where the gateway refuses the call */
            data?: unknown;
        };
        /** @description The answer to a call that failed. */
        RpcFailure: {
            /**
             * @description Version of JSON-RPC
             * @enum {string}
             */
            jsonrpc: "2.0";
            /** @description `id` of the call. Null where the call has none that can be read */
            id: number | string | null;
            /** @description Why the call failed */
            error: components["schemas"]["RpcErrorObject"];
        };
        /** @description The answer to one call */
        RpcAnswer: components["schemas"]["RpcResult"] | components["schemas"]["RpcFailure"];
        /** @description The answers to a batch, in the order of its calls */
        RpcAnswers: components["schemas"]["RpcAnswer"][];
        /** @description The answer to one call, or those to a batch */
        RpcResponse: components["schemas"]["RpcAnswer"] | components["schemas"]["RpcAnswers"];
        /**
         * @description Which of the actions a vault takes is the provider's to say (`actions.manage` in `/v2/providers`).
         *
         *     `amount` is the value of `setCap` and `setFee` ("max": no cap); `bot` the account of `setBot` and `setOperator` (the zero address: none); `strategy` what is added or removed. Needs no value.
         */
        ManageBodyPlain: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /**
             * @description Management action; the provider's `actions.manage` lists those that it takes (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            action: "harvest" | "claim" | "pause" | "unpause";
            /** @description Account that signs; it must have the role that the vault requires. Address or ENS name */
            address: string;
            /** @description New cap in base units of the underlying with `setCap`, `max` for none; new fee in the vault's own unit with `setFee` */
            amount?: bigint | "max";
            /** @description Underlying of the vault, which is not needed; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            asset?: string;
            /** @description Account that `setBot` or `setOperator` names; the zero address for none. Address or ENS name */
            bot?: string;
            /** @description Id or address of the strategy that `addStrategy` or `removeStrategy` names */
            strategy?: string;
        };
        /**
         * @description Which of the actions a vault takes is the provider's to say (`actions.manage` in `/v2/providers`).
         *
         *     `amount` is the value of `setCap` and `setFee` ("max": no cap); `bot` the account of `setBot` and `setOperator` (the zero address: none); `strategy` what is added or removed. Needs `amount`.
         */
        ManageBodyAmount: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /**
             * @description Management action; the provider's `actions.manage` lists those that it takes (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            action: "setFee" | "setCap";
            /** @description Account that signs; it must have the role that the vault requires. Address or ENS name */
            address: string;
            /** @description New cap in base units of the underlying with `setCap`, `max` for none; new fee in the vault's own unit with `setFee` */
            amount: bigint | "max";
            /** @description Underlying of the vault, which is not needed; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            asset?: string;
            /** @description Account that `setBot` or `setOperator` names; the zero address for none. Address or ENS name */
            bot?: string;
            /** @description Id or address of the strategy that `addStrategy` or `removeStrategy` names */
            strategy?: string;
        };
        /**
         * @description Which of the actions a vault takes is the provider's to say (`actions.manage` in `/v2/providers`).
         *
         *     `amount` is the value of `setCap` and `setFee` ("max": no cap); `bot` the account of `setBot` and `setOperator` (the zero address: none); `strategy` what is added or removed. Needs `bot`.
         */
        ManageBodyBot: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /**
             * @description Management action; the provider's `actions.manage` lists those that it takes (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            action: "setOperator" | "setBot";
            /** @description Account that signs; it must have the role that the vault requires. Address or ENS name */
            address: string;
            /** @description New cap in base units of the underlying with `setCap`, `max` for none; new fee in the vault's own unit with `setFee` */
            amount?: bigint | "max";
            /** @description Underlying of the vault, which is not needed; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            asset?: string;
            /** @description Account that `setBot` or `setOperator` names; the zero address for none. Address or ENS name */
            bot: string;
            /** @description Id or address of the strategy that `addStrategy` or `removeStrategy` names */
            strategy?: string;
        };
        /**
         * @description Which of the actions a vault takes is the provider's to say (`actions.manage` in `/v2/providers`).
         *
         *     `amount` is the value of `setCap` and `setFee` ("max": no cap); `bot` the account of `setBot` and `setOperator` (the zero address: none); `strategy` what is added or removed. Needs `strategy`.
         */
        ManageBodyStrategy: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /**
             * @description Management action; the provider's `actions.manage` lists those that it takes (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            action: "addStrategy" | "removeStrategy";
            /** @description Account that signs; it must have the role that the vault requires. Address or ENS name */
            address: string;
            /** @description New cap in base units of the underlying with `setCap`, `max` for none; new fee in the vault's own unit with `setFee` */
            amount?: bigint | "max";
            /** @description Underlying of the vault, which is not needed; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            asset?: string;
            /** @description Account that `setBot` or `setOperator` names; the zero address for none. Address or ENS name */
            bot?: string;
            /** @description Id or address of the strategy that `addStrategy` or `removeStrategy` names */
            strategy: string;
        };
        /** @description `quoteId` keeps the minimums of an earlier quote for the same request. Adds liquidity: `amount` is exact, of one of the pool's tokens. */
        PoolActionBodyAdd: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /**
             * Format: int64
             * @description Time until which the transactions may be executed, in Unix seconds: 60 seconds to 24 hours from now. Left out: the setting `quotes.action_deadline_s` (seconds), counted from the action
             */
            deadline?: number;
            /**
             * @description Whether to add or remove liquidity, or to collect fees (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            action: "add";
            /** @description Account that signs the transactions, pays, and owns the position. Address or ENS name */
            address: string;
            /** @description Amount in base units of `asset`; `max` removes the whole position */
            amount: bigint;
            /** @description Token that `amount` counts, one of the pool's tokens or the token of its shares; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            asset: string;
            /**
             * Format: int64
             * @description How far the amounts may change to the caller's disadvantage, in basis points. Default: `50`
             */
            slippageBps?: number;
            /** @description Account that receives the outputs, or owns a new position. Left out: `address`. Address or ENS name */
            recipient?: string;
            /**
             * Format: int64
             * @description Lower tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the lowest
             */
            tickLower?: number;
            /**
             * Format: int64
             * @description Upper tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the highest
             */
            tickUpper?: number;
            /** @description Id of the position to add to, remove from or collect. Left out: a new position for `add`, else the only one of the wallet in the pool */
            positionId?: string;
            /** @description Whether to pay and receive the native coin where the pool holds its wrapped form. Default: `false` */
            useNative?: boolean;
            /** @description Whether the action has `permitOffers`: for each ERC-20 approval that a signature can take the place of (EIP-2612), the data to sign. Default: `false` */
            offerPermits?: boolean;
            /** @description Signed permits, each in the place of an approval. An item is `permit` of `permitOffers` with its `signature` added. Default: `[]` */
            permits?: {
                /** @description Token of the permit */
                token: string;
                /** @description Account that may take the token */
                spender: string;
                /** @description Allowance, in base units of `token` */
                value: bigint;
                /** @description Nonce of the permit. Decimal digits */
                nonce: bigint;
                /**
                 * Format: int64
                 * @description Unix time until which the token accepts it
                 */
                deadline: number;
                /** @description Signature by the account that pays: r, s and v, as 0x hex */
                signature: string;
            }[];
            /** @description Quote of the same request, whose minimums the action keeps */
            quoteId?: string;
        };
        /** @description `quoteId` keeps the minimums of an earlier quote for the same request. Removes liquidity. */
        PoolActionBodyRemove: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /**
             * Format: int64
             * @description Time until which the transactions may be executed, in Unix seconds: 60 seconds to 24 hours from now. Left out: the setting `quotes.action_deadline_s` (seconds), counted from the action
             */
            deadline?: number;
            /**
             * @description Whether to add or remove liquidity, or to collect fees (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            action: "remove";
            /** @description Account that signs the transactions, pays, and owns the position. Address or ENS name */
            address: string;
            /** @description Amount in base units of `asset`; `max` removes the whole position */
            amount: bigint | "max";
            /** @description Token that `amount` counts, one of the pool's tokens or the token of its shares; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            asset: string;
            /**
             * Format: int64
             * @description How far the amounts may change to the caller's disadvantage, in basis points. Default: `50`
             */
            slippageBps?: number;
            /** @description Account that receives the outputs, or owns a new position. Left out: `address`. Address or ENS name */
            recipient?: string;
            /**
             * Format: int64
             * @description Lower tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the lowest
             */
            tickLower?: number;
            /**
             * Format: int64
             * @description Upper tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the highest
             */
            tickUpper?: number;
            /** @description Id of the position to add to, remove from or collect. Left out: a new position for `add`, else the only one of the wallet in the pool */
            positionId?: string;
            /** @description Whether to pay and receive the native coin where the pool holds its wrapped form. Default: `false` */
            useNative?: boolean;
            /** @description Whether the action has `permitOffers`: for each ERC-20 approval that a signature can take the place of (EIP-2612), the data to sign. Default: `false` */
            offerPermits?: boolean;
            /** @description Signed permits, each in the place of an approval. An item is `permit` of `permitOffers` with its `signature` added. Default: `[]` */
            permits?: {
                /** @description Token of the permit */
                token: string;
                /** @description Account that may take the token */
                spender: string;
                /** @description Allowance, in base units of `token` */
                value: bigint;
                /** @description Nonce of the permit. Decimal digits */
                nonce: bigint;
                /**
                 * Format: int64
                 * @description Unix time until which the token accepts it
                 */
                deadline: number;
                /** @description Signature by the account that pays: r, s and v, as 0x hex */
                signature: string;
            }[];
            /** @description Quote of the same request, whose minimums the action keeps */
            quoteId?: string;
        };
        /** @description `quoteId` keeps the minimums of an earlier quote for the same request. Collects fees; needs neither `amount` nor `asset`. */
        PoolActionBodyCollect: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /**
             * Format: int64
             * @description Time until which the transactions may be executed, in Unix seconds: 60 seconds to 24 hours from now. Left out: the setting `quotes.action_deadline_s` (seconds), counted from the action
             */
            deadline?: number;
            /**
             * @description Whether to add or remove liquidity, or to collect fees (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            action: "collect";
            /** @description Account that signs the transactions, pays, and owns the position. Address or ENS name */
            address: string;
            /** @description Amount in base units of `asset`; `max` removes the whole position */
            amount?: bigint | "max";
            /** @description Token that `amount` counts, one of the pool's tokens or the token of its shares; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            asset?: string;
            /**
             * Format: int64
             * @description How far the amounts may change to the caller's disadvantage, in basis points. Default: `50`
             */
            slippageBps?: number;
            /** @description Account that receives the outputs, or owns a new position. Left out: `address`. Address or ENS name */
            recipient?: string;
            /**
             * Format: int64
             * @description Lower tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the lowest
             */
            tickLower?: number;
            /**
             * Format: int64
             * @description Upper tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the highest
             */
            tickUpper?: number;
            /** @description Id of the position to add to, remove from or collect. Left out: a new position for `add`, else the only one of the wallet in the pool */
            positionId?: string;
            /** @description Whether to pay and receive the native coin where the pool holds its wrapped form. Default: `false` */
            useNative?: boolean;
            /** @description Whether the action has `permitOffers`: for each ERC-20 approval that a signature can take the place of (EIP-2612), the data to sign. Default: `false` */
            offerPermits?: boolean;
            /** @description Signed permits, each in the place of an approval. An item is `permit` of `permitOffers` with its `signature` added. Default: `[]` */
            permits?: {
                /** @description Token of the permit */
                token: string;
                /** @description Account that may take the token */
                spender: string;
                /** @description Allowance, in base units of `token` */
                value: bigint;
                /** @description Nonce of the permit. Decimal digits */
                nonce: bigint;
                /**
                 * Format: int64
                 * @description Unix time until which the token accepts it
                 */
                deadline: number;
                /** @description Signature by the account that pays: r, s and v, as 0x hex */
                signature: string;
            }[];
            /** @description Quote of the same request, whose minimums the action keeps */
            quoteId?: string;
        };
        /** @description `amount` is base units of `asset`; `collect` needs neither. `useNative` gives and takes the native coin where the pool holds its wrapped form; an `asset` that is the native coin says so too. Adds liquidity: `amount` is exact, of one of the pool's tokens. */
        PoolBodyAdd: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /**
             * Format: int64
             * @description Time until which the transactions may be executed, in Unix seconds: 60 seconds to 24 hours from now. Left out: the setting `quotes.action_deadline_s` (seconds), counted from the action
             */
            deadline?: number;
            /**
             * @description Whether to add or remove liquidity, or to collect fees (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            action: "add";
            /** @description Account that signs the transactions, pays, and owns the position. Address or ENS name */
            address: string;
            /** @description Amount in base units of `asset`; `max` removes the whole position */
            amount: bigint;
            /** @description Token that `amount` counts, one of the pool's tokens or the token of its shares; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            asset: string;
            /**
             * Format: int64
             * @description How far the amounts may change to the caller's disadvantage, in basis points. Default: `50`
             */
            slippageBps?: number;
            /** @description Account that receives the outputs, or owns a new position. Left out: `address`. Address or ENS name */
            recipient?: string;
            /**
             * Format: int64
             * @description Lower tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the lowest
             */
            tickLower?: number;
            /**
             * Format: int64
             * @description Upper tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the highest
             */
            tickUpper?: number;
            /** @description Id of the position to add to, remove from or collect. Left out: a new position for `add`, else the only one of the wallet in the pool */
            positionId?: string;
            /** @description Whether to pay and receive the native coin where the pool holds its wrapped form. Default: `false` */
            useNative?: boolean;
        };
        /** @description `amount` is base units of `asset`; `collect` needs neither. `useNative` gives and takes the native coin where the pool holds its wrapped form; an `asset` that is the native coin says so too. Removes liquidity. */
        PoolBodyRemove: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /**
             * Format: int64
             * @description Time until which the transactions may be executed, in Unix seconds: 60 seconds to 24 hours from now. Left out: the setting `quotes.action_deadline_s` (seconds), counted from the action
             */
            deadline?: number;
            /**
             * @description Whether to add or remove liquidity, or to collect fees (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            action: "remove";
            /** @description Account that signs the transactions, pays, and owns the position. Address or ENS name */
            address: string;
            /** @description Amount in base units of `asset`; `max` removes the whole position */
            amount: bigint | "max";
            /** @description Token that `amount` counts, one of the pool's tokens or the token of its shares; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            asset: string;
            /**
             * Format: int64
             * @description How far the amounts may change to the caller's disadvantage, in basis points. Default: `50`
             */
            slippageBps?: number;
            /** @description Account that receives the outputs, or owns a new position. Left out: `address`. Address or ENS name */
            recipient?: string;
            /**
             * Format: int64
             * @description Lower tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the lowest
             */
            tickLower?: number;
            /**
             * Format: int64
             * @description Upper tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the highest
             */
            tickUpper?: number;
            /** @description Id of the position to add to, remove from or collect. Left out: a new position for `add`, else the only one of the wallet in the pool */
            positionId?: string;
            /** @description Whether to pay and receive the native coin where the pool holds its wrapped form. Default: `false` */
            useNative?: boolean;
        };
        /** @description `amount` is base units of `asset`; `collect` needs neither. `useNative` gives and takes the native coin where the pool holds its wrapped form; an `asset` that is the native coin says so too. Collects fees; needs neither `amount` nor `asset`. */
        PoolBodyCollect: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /**
             * Format: int64
             * @description Time until which the transactions may be executed, in Unix seconds: 60 seconds to 24 hours from now. Left out: the setting `quotes.action_deadline_s` (seconds), counted from the action
             */
            deadline?: number;
            /**
             * @description Whether to add or remove liquidity, or to collect fees (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            action: "collect";
            /** @description Account that signs the transactions, pays, and owns the position. Address or ENS name */
            address: string;
            /** @description Amount in base units of `asset`; `max` removes the whole position */
            amount?: bigint | "max";
            /** @description Token that `amount` counts, one of the pool's tokens or the token of its shares; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            asset?: string;
            /**
             * Format: int64
             * @description How far the amounts may change to the caller's disadvantage, in basis points. Default: `50`
             */
            slippageBps?: number;
            /** @description Account that receives the outputs, or owns a new position. Left out: `address`. Address or ENS name */
            recipient?: string;
            /**
             * Format: int64
             * @description Lower tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the lowest
             */
            tickLower?: number;
            /**
             * Format: int64
             * @description Upper tick of a new v3 or v4 position, a multiple of the pool's tick spacing. Left out: the highest
             */
            tickUpper?: number;
            /** @description Id of the position to add to, remove from or collect. Left out: a new position for `add`, else the only one of the wallet in the pool */
            positionId?: string;
            /** @description Whether to pay and receive the native coin where the pool holds its wrapped form. Default: `false` */
            useNative?: boolean;
        };
        /** @description `quoteId` keeps the minimums of an earlier quote for the same request. Puts assets in: `amount` is exact. */
        VaultActionBodyEntry: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /**
             * @description Whether to deposit or withdraw; `mint` and `redeem` do the same for an amount of shares (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            action: "deposit" | "mint";
            /** @description Account that signs the transactions and pays. Address or ENS name */
            address: string;
            /** @description Amount in base units of `asset`; `max` redeems all shares */
            amount: bigint;
            /** @description Token that `amount` counts, the underlying or the share token of the vault; with `mint` and `redeem` the share token; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            asset: string;
            /**
             * Format: int64
             * @description How far the amount that is not given may change to the caller's disadvantage, in basis points. Default: `50`
             */
            slippageBps?: number;
            /** @description Account that receives the shares or assets. Left out: `address`. Address or ENS name */
            recipient?: string;
            /** @description Whether the action has `permitOffers`: for each ERC-20 approval that a signature can take the place of (EIP-2612), the data to sign. Default: `false` */
            offerPermits?: boolean;
            /** @description Signed permits, each in the place of an approval. An item is `permit` of `permitOffers` with its `signature` added. Default: `[]` */
            permits?: {
                /** @description Token of the permit */
                token: string;
                /** @description Account that may take the token */
                spender: string;
                /** @description Allowance, in base units of `token` */
                value: bigint;
                /** @description Nonce of the permit. Decimal digits */
                nonce: bigint;
                /**
                 * Format: int64
                 * @description Unix time until which the token accepts it
                 */
                deadline: number;
                /** @description Signature by the account that pays: r, s and v, as 0x hex */
                signature: string;
            }[];
            /** @description Quote of the same request, whose minimums the action keeps */
            quoteId?: string;
        };
        /** @description `quoteId` keeps the minimums of an earlier quote for the same request. Takes assets out: `max` redeems all shares. */
        VaultActionBodyExit: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /**
             * @description Whether to deposit or withdraw; `mint` and `redeem` do the same for an amount of shares (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            action: "withdraw" | "redeem";
            /** @description Account that signs the transactions and pays. Address or ENS name */
            address: string;
            /** @description Amount in base units of `asset`; `max` redeems all shares */
            amount: bigint | "max";
            /** @description Token that `amount` counts, the underlying or the share token of the vault; with `mint` and `redeem` the share token; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            asset: string;
            /**
             * Format: int64
             * @description How far the amount that is not given may change to the caller's disadvantage, in basis points. Default: `50`
             */
            slippageBps?: number;
            /** @description Account that receives the shares or assets. Left out: `address`. Address or ENS name */
            recipient?: string;
            /** @description Whether the action has `permitOffers`: for each ERC-20 approval that a signature can take the place of (EIP-2612), the data to sign. Default: `false` */
            offerPermits?: boolean;
            /** @description Signed permits, each in the place of an approval. An item is `permit` of `permitOffers` with its `signature` added. Default: `[]` */
            permits?: {
                /** @description Token of the permit */
                token: string;
                /** @description Account that may take the token */
                spender: string;
                /** @description Allowance, in base units of `token` */
                value: bigint;
                /** @description Nonce of the permit. Decimal digits */
                nonce: bigint;
                /**
                 * Format: int64
                 * @description Unix time until which the token accepts it
                 */
                deadline: number;
                /** @description Signature by the account that pays: r, s and v, as 0x hex */
                signature: string;
            }[];
            /** @description Quote of the same request, whose minimums the action keeps */
            quoteId?: string;
        };
        /** @description `amount` is base units of `asset`: the underlying means assets, the share token means shares. Puts assets in: `amount` is exact. */
        VaultBodyEntry: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /**
             * @description Whether to deposit or withdraw; `mint` and `redeem` do the same for an amount of shares (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            action: "deposit" | "mint";
            /** @description Account that signs the transactions and pays. Address or ENS name */
            address: string;
            /** @description Amount in base units of `asset`; `max` redeems all shares */
            amount: bigint;
            /** @description Token that `amount` counts, the underlying or the share token of the vault; with `mint` and `redeem` the share token; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            asset: string;
            /**
             * Format: int64
             * @description How far the amount that is not given may change to the caller's disadvantage, in basis points. Default: `50`
             */
            slippageBps?: number;
            /** @description Account that receives the shares or assets. Left out: `address`. Address or ENS name */
            recipient?: string;
        };
        /** @description `amount` is base units of `asset`: the underlying means assets, the share token means shares. Takes assets out: `max` redeems all shares. */
        VaultBodyExit: {
            /**
             * Format: int64
             * @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one
             */
            minBlock?: number;
            /** @description Hash of a transaction: the answer is of its block or a later one */
            afterTransaction?: string;
            /** @description Codes of `acknowledgementNeeded` that the caller accepts. Default: `[]` */
            acknowledge?: ("high_price_impact" | "opaque_calldata")[];
            /**
             * @description Whether to deposit or withdraw; `mint` and `redeem` do the same for an amount of shares (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            action: "withdraw" | "redeem";
            /** @description Account that signs the transactions and pays. Address or ENS name */
            address: string;
            /** @description Amount in base units of `asset`; `max` redeems all shares */
            amount: bigint | "max";
            /** @description Token that `amount` counts, the underlying or the share token of the vault; with `mint` and `redeem` the share token; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
            asset: string;
            /**
             * Format: int64
             * @description How far the amount that is not given may change to the caller's disadvantage, in basis points. Default: `50`
             */
            slippageBps?: number;
            /** @description Account that receives the shares or assets. Left out: `address`. Address or ENS name */
            recipient?: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listProviders: {
        parameters: {
            query?: {
                /** @description Number of rows on a page */
                limit?: number;
                /** @description Value of `nextCursor` of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Providers, and why one is not enabled. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderPage"];
                };
            };
        };
    };
    listNetworks: {
        parameters: {
            query?: {
                /** @description Number of rows on a page */
                limit?: number;
                /** @description Value of `nextCursor` of the page before */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Networks of this deployment. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NetworkPage"];
                };
            };
        };
    };
    getProviderPerformance: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a swap provider */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Realised against quoted amounts of a provider's swaps. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderPerformance"];
                };
            };
        };
    };
    getIndexStatus: {
        parameters: {
            query?: {
                /** @description Only this network */
                network?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How far the index of each network is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IndexStatus"];
                };
            };
        };
    };
    listTokens: {
        parameters: {
            query?: {
                /** @description Number of rows on a page */
                limit?: number;
                /** @description Value of `nextCursor` of the page before */
                cursor?: string;
                /** @description Only tokens of this network */
                network?: string;
                /** @description Id, symbol, name or address to look for, or a part of one; typing errors are forgiven */
                query?: string;
                /** @description Member to sort by, ascending; with `-` before it descending. Rows without it come last */
                sort?: "rank" | "-rank" | "symbol" | "-symbol" | "priceUsd" | "-priceUsd";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Tokens, the best match first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenPage"];
                };
            };
        };
    };
    getToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the token in its catalog, or {chainId}:{address} */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One token, by its id, {chainId}:{address} or CAIP-19 id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Profile"];
                };
            };
        };
    };
    getPrices: {
        parameters: {
            query: {
                /** @description Network of the tokens */
                network: string;
                /** @description Tokens separated by commas, at most 100; by address, `native` or the zero address for the native coin, and with `network` by the symbol or id of a listed token, or a CAIP-19 id */
                tokens: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Prices of tokens in US dollars. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Prices"];
                };
            };
        };
    };
    getPriceHistory: {
        parameters: {
            query: {
                /** @description Start of the series, in Unix seconds. Left out: 30 days before `to` */
                from?: number;
                /** @description End of the series, in Unix seconds. Left out: now */
                to?: number;
                /** @description Time between points: an hour, a day or a week */
                interval?: "1h" | "1d" | "1w";
                /** @description Network of the token */
                network: string;
                /** @description Token whose prices are shown; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
                token: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The price of a token in US dollars over time. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PriceHistory"];
                };
            };
        };
    };
    createSwapQuote: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["SwapQuoteBody"];
            };
        };
        responses: {
            /** @description Quote a swap. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SwapQuote"];
                };
            };
        };
    };
    getSwapQuote: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Signed token of a quote, its `quoteId` */
                quoteId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read a quote back from its token. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SwapQuote"];
                };
            };
        };
    };
    refreshSwapQuote: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Signed token of a quote, its `quoteId` */
                quoteId: string;
            };
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["AcknowledgingBody"];
            };
        };
        responses: {
            /** @description Quote a swap again within the terms of its first quote. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SwapQuote"];
                };
            };
        };
    };
    createSwapAction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Signed token of a quote, its `quoteId` */
                quoteId: string;
            };
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ConsentBody"];
            };
        };
        responses: {
            /** @description Unsigned transactions for a quote. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Action"];
                };
            };
        };
    };
    listBridgeRoutes: {
        parameters: {
            query?: {
                /** @description Number of rows on a page */
                limit?: number;
                /** @description Value of `nextCursor` of the page before */
                cursor?: string;
                /** @description Only routes that leave this network */
                fromChain?: string;
                /** @description Only routes that arrive on this network */
                toChain?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Routes between two networks. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoutePage"];
                };
            };
        };
    };
    createBridgeQuote: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["BridgeQuoteBody"];
            };
        };
        responses: {
            /** @description Quote a transfer to another network. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BridgeQuote"];
                };
            };
        };
    };
    createBridgeAction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Signed token of a quote, its `quoteId` */
                quoteId: string;
            };
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ConsentBody"];
            };
        };
        responses: {
            /** @description Unsigned transactions for a bridge quote. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BridgeAction"];
                };
            };
        };
    };
    createSwapQuotes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["SwapQuotesBody"];
            };
        };
        responses: {
            /** @description Quote up to 20 swaps at one block. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SwapQuotes"];
                };
            };
        };
    };
    getSwapPrice: {
        parameters: {
            query: {
                /** @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one */
                minBlock?: number;
                /** @description Hash of a transaction: the answer is of its block or a later one */
                afterTransaction?: string;
                /** @description Fee of the integrator, in basis points of the output; `toAmount` and `toAmountMin` are net of it. With `exactOut` of what the pools take; `fromAmount` and `fromAmountMax` contain it. Needs `feeRecipient` */
                feeBps?: number;
                /** @description Account that receives the fee, in `toToken`; with `exactOut` in `fromToken`. Needs `feeBps`. Address or ENS name */
                feeRecipient?: string;
                /** @description Network of both tokens */
                network: string;
                /** @description Token to sell; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
                fromToken: string;
                /** @description Token to buy; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
                toToken: string;
                /** @description Amount to sell, in base units of `fromToken`; with `exactOut` amount to buy, in base units of `toToken` */
                amount: bigint;
                /** @description Which amount is exact: `exactIn` sells `amount` of `fromToken`; `exactOut` buys `amount` of `toToken`, for at most `fromAmountMax` */
                side?: "exactIn" | "exactOut";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What a swap would pay or take, indicatively. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SwapPrice"];
                };
            };
        };
    };
    getSwapDepth: {
        parameters: {
            query: {
                /** @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one */
                minBlock?: number;
                /** @description Hash of a transaction: the answer is of its block or a later one */
                afterTransaction?: string;
                /** @description Fee of the integrator, in basis points of the output; `toAmount` and `toAmountMin` are net of it. With `exactOut` of what the pools take; `fromAmount` and `fromAmountMax` contain it. Needs `feeRecipient` */
                feeBps?: number;
                /** @description Account that receives the fee, in `toToken`; with `exactOut` in `fromToken`. Needs `feeBps`. Address or ENS name */
                feeRecipient?: string;
                /** @description Network of both tokens */
                network: string;
                /** @description Token to sell; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
                fromToken: string;
                /** @description Token to buy; by address, `native` or the zero address for the native coin, by the symbol or id of a listed token, or a CAIP-19 id */
                toToken: string;
                /** @description Amount to sell, in base units of `fromToken`; with `exactOut` amount to buy, in base units of `toToken` */
                amount: bigint;
                /** @description Which amount is exact: `exactIn` sells `amount` of `fromToken`; `exactOut` buys `amount` of `toToken`, for at most `fromAmountMax` */
                side?: "exactIn" | "exactOut";
                /** @description Number of amounts */
                rungs?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What swaps of growing amounts would pay or take, indicatively. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SwapDepth"];
                };
            };
        };
    };
    listPools: {
        parameters: {
            query?: {
                /** @description Number of rows on a page */
                limit?: number;
                /** @description Value of `nextCursor` of the page before */
                cursor?: string;
                /** @description Only pools of this network */
                network?: string;
                /** @description Only pools of this protocol */
                protocol?: string;
                /** @description Only pools of this token, by symbol, address, `native` or CAIP-19 id */
                token?: string;
                /** @description Only pools with this text in the id, the protocol or the symbols */
                query?: string;
                /** @description Only pools with at least this `tvlUsd`, in US dollars */
                minTvlUsd?: number;
                /** @description Member to sort by, ascending; with `-` before it descending. Rows without it come last */
                sort?: "tvlUsd" | "-tvlUsd" | "apr" | "-apr" | "volume24hUsd" | "-volume24hUsd" | "fees24hUsd" | "-fees24hUsd";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Pools. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PoolPage"];
                };
            };
        };
    };
    getPool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4 */
                poolId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One pool, as it is listed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PoolEntry"];
                };
            };
        };
    };
    createPoolQuote: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4 */
                poolId: string;
            };
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["PoolBody"];
            };
        };
        responses: {
            /** @description Quote adding, removing or collecting. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PoolQuote"];
                };
            };
        };
    };
    createPoolAction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4 */
                poolId: string;
            };
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["PoolActionBody"];
            };
        };
        responses: {
            /** @description Unsigned transactions for a liquidity operation. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Action"];
                };
            };
        };
    };
    getPoolTvl: {
        parameters: {
            query?: {
                /** @description Start of the series, in Unix seconds. Left out: 30 days before `to` */
                from?: number;
                /** @description End of the series, in Unix seconds. Left out: now */
                to?: number;
                /** @description Time between points: an hour, a day or a week */
                interval?: "1h" | "1d" | "1w";
            };
            header?: never;
            path: {
                /** @description Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4 */
                poolId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description TVL of a pool over time. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Series"];
                };
            };
        };
    };
    getPoolVolume: {
        parameters: {
            query?: {
                /** @description Start of the series, in Unix seconds. Left out: 30 days before `to` */
                from?: number;
                /** @description End of the series, in Unix seconds. Left out: now */
                to?: number;
                /** @description Time between points: an hour, a day or a week */
                interval?: "1h" | "1d" | "1w";
            };
            header?: never;
            path: {
                /** @description Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4 */
                poolId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Volume of a pool over time. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Series"];
                };
            };
        };
    };
    getPoolFees: {
        parameters: {
            query?: {
                /** @description Start of the series, in Unix seconds. Left out: 30 days before `to` */
                from?: number;
                /** @description End of the series, in Unix seconds. Left out: now */
                to?: number;
                /** @description Time between points: an hour, a day or a week */
                interval?: "1h" | "1d" | "1w";
            };
            header?: never;
            path: {
                /** @description Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4 */
                poolId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Fees of a pool over time. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Series"];
                };
            };
        };
    };
    getPoolApr: {
        parameters: {
            query?: {
                /** @description Start of the series, in Unix seconds. Left out: 30 days before `to` */
                from?: number;
                /** @description End of the series, in Unix seconds. Left out: now */
                to?: number;
                /** @description Time between points: an hour, a day or a week */
                interval?: "1h" | "1d" | "1w";
            };
            header?: never;
            path: {
                /** @description Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4 */
                poolId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description APR of a pool over time. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Series"];
                };
            };
        };
    };
    listPoolPositions: {
        parameters: {
            query: {
                /** @description Number of rows on a page */
                limit?: number;
                /** @description Value of `nextCursor` of the page before */
                cursor?: string;
                /** @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one */
                minBlock?: number;
                /** @description Hash of a transaction: the answer is of its block or a later one */
                afterTransaction?: string;
                /** @description Account whose positions are listed. Address or ENS name */
                wallet: string;
            };
            header?: never;
            path: {
                /** @description Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4 */
                poolId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A wallet's positions in a pool. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PositionPage"];
                };
            };
        };
    };
    getPoolLiquidity: {
        parameters: {
            query?: {
                /** @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one */
                minBlock?: number;
                /** @description Hash of a transaction: the answer is of its block or a later one */
                afterTransaction?: string;
            };
            header?: never;
            path: {
                /** @description Id of the pool: {chainId}:{address}, or {chainId}:{32-byte id} for Uniswap v4 */
                poolId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Liquidity of a pool around its price. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PoolLiquidity"];
                };
            };
        };
    };
    listVaults: {
        parameters: {
            query?: {
                /** @description Number of rows on a page */
                limit?: number;
                /** @description Value of `nextCursor` of the page before */
                cursor?: string;
                /** @description Only vaults of this network */
                network?: string;
                /** @description Only vaults of this protocol */
                protocol?: string;
                /** @description Only vaults of this underlying, by symbol, address, `native` or CAIP-19 id */
                asset?: string;
                /** @description Only vaults of this strategy */
                strategy?: string;
                /** @description Only vaults with this text in the id, the name or the protocol */
                query?: string;
                /** @description Member to sort by, ascending; with `-` before it descending. Rows without it come last */
                sort?: "tvlUsd" | "-tvlUsd" | "apy" | "-apy" | "riskScore" | "-riskScore";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Vaults. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VaultPage"];
                };
            };
        };
    };
    getVault: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the vault: {chainId}:{address} */
                vaultId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One vault, as it is listed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VaultEntry"];
                };
            };
        };
    };
    createVaultDeployQuote: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeployBody"];
            };
        };
        responses: {
            /** @description Quote deploying a managed vault. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeployQuote"];
                };
            };
        };
    };
    createVaultDeployAction: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeployActionBody"];
            };
        };
        responses: {
            /** @description Unsigned transactions that deploy a managed vault. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeployAction"];
                };
            };
        };
    };
    createVaultQuote: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the vault: {chainId}:{address} */
                vaultId: string;
            };
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["VaultBody"];
            };
        };
        responses: {
            /** @description Quote a deposit or withdrawal. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VaultQuote"];
                };
            };
        };
    };
    createVaultAction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the vault: {chainId}:{address} */
                vaultId: string;
            };
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["VaultActionBody"];
            };
        };
        responses: {
            /** @description Unsigned transactions for a deposit or withdrawal. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Action"];
                };
            };
        };
    };
    createVaultManageAction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the vault: {chainId}:{address} */
                vaultId: string;
            };
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ManageBody"];
            };
        };
        responses: {
            /** @description Unsigned transactions for a management action. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ManageAction"];
                };
            };
        };
    };
    createVaultRebalanceAction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the vault: {chainId}:{address} */
                vaultId: string;
            };
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["RebalanceBody"];
            };
        };
        responses: {
            /** @description Unsigned transactions that rebalance a managed vault. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ManageAction"];
                };
            };
        };
    };
    getVaultTvl: {
        parameters: {
            query?: {
                /** @description Start of the series, in Unix seconds. Left out: 30 days before `to` */
                from?: number;
                /** @description End of the series, in Unix seconds. Left out: now */
                to?: number;
                /** @description Time between points: an hour, a day or a week */
                interval?: "1h" | "1d" | "1w";
            };
            header?: never;
            path: {
                /** @description Id of the vault: {chainId}:{address} */
                vaultId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description TVL of a vault over time. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Series"];
                };
            };
        };
    };
    getVaultApy: {
        parameters: {
            query?: {
                /** @description Start of the series, in Unix seconds. Left out: 30 days before `to` */
                from?: number;
                /** @description End of the series, in Unix seconds. Left out: now */
                to?: number;
                /** @description Time between points: an hour, a day or a week */
                interval?: "1h" | "1d" | "1w";
            };
            header?: never;
            path: {
                /** @description Id of the vault: {chainId}:{address} */
                vaultId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description APY of a vault over time. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Series"];
                };
            };
        };
    };
    submitTransaction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Signed commitment to a transaction, the `txId` of a step of an action */
                txId: string;
            };
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["SubmitBody"];
            };
        };
        responses: {
            /** @description Broadcast a signed transaction, where a relay is enabled. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Submitted"];
                };
            };
        };
    };
    submitTransactionHash: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Signed commitment to a transaction, the `txId` of a step of an action */
                txId: string;
            };
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["HashBody"];
            };
        };
        responses: {
            /** @description Compare a broadcast transaction with the one that was built. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HashReport"];
                };
            };
        };
    };
    trackTransaction: {
        parameters: {
            query: {
                /** @description Hash of the broadcast transaction, 32 bytes as 0x hex */
                hash: string;
            };
            header?: never;
            path: {
                /** @description Signed commitment to a transaction, the `txId` of a step of an action */
                txId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Where a bridge transfer is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tracked"];
                };
            };
        };
    };
    getPortfolioBalances: {
        parameters: {
            query: {
                /** @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one */
                minBlock?: number;
                /** @description Hash of a transaction: the answer is of its block or a later one */
                afterTransaction?: string;
                /** @description Account whose balances are read. Address or ENS name */
                wallet: string;
                /** @description Network to read. Left out: all */
                network?: string;
                /** @description Tokens separated by commas, at most 1000 over all networks. The request line is limited too (`server.max_line_bytes`, 8,190: some 180 addresses). Left out: the tokens listed by this deployment, of which only those held are shown; by address, `native` or the zero address for the native coin, and with `network` by the symbol or id of a listed token, or a CAIP-19 id */
                tokens?: string;
                /** @description Whether the balance of the native coin is read too */
                includeNative?: boolean;
                /** @description Whether `totalUsd` counts tokens that no catalog lists, and those whose price is not anchored, at what they can be sold for */
                includeUnlisted?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A wallet's balances. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Balances"];
                };
            };
        };
    };
    listBalancesOfWallets: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["BalancesBody"];
            };
        };
        responses: {
            /** @description The balances of up to 20 wallets. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BalancesOfWallets"];
                };
            };
        };
    };
    getPortfolioPositions: {
        parameters: {
            query: {
                /** @description Number of rows on a page */
                limit?: number;
                /** @description Value of `nextCursor` of the page before */
                cursor?: string;
                /** @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one */
                minBlock?: number;
                /** @description Hash of a transaction: the answer is of its block or a later one */
                afterTransaction?: string;
                /** @description Account whose positions are listed. Address or ENS name */
                wallet: string;
                /** @description Network to read. Left out: all */
                network?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A wallet's positions in pools and vaults. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Positions"];
                };
            };
        };
    };
    getPortfolioApprovals: {
        parameters: {
            query: {
                /** @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one */
                minBlock?: number;
                /** @description Hash of a transaction: the answer is of its block or a later one */
                afterTransaction?: string;
                /** @description Account whose approvals are listed. Address or ENS name */
                wallet: string;
                /** @description Network to read. Left out: all */
                network?: string;
                /** @description Tokens separated by commas, at most 1000 over all networks. The request line is limited too (`server.max_line_bytes`, 8,190: some 180 addresses). Left out: the tokens listed by this deployment, of which only those held are shown; by address, `native` or the zero address for the native coin, and with `network` by the symbol or id of a listed token, or a CAIP-19 id */
                tokens?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What spenders may take of a wallet. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Allowances"];
                };
            };
        };
    };
    createRevocation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["RevokeBody"];
            };
        };
        responses: {
            /** @description Unsigned transactions that end approvals. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Action"];
                };
            };
        };
    };
    getPortfolioActivity: {
        parameters: {
            query: {
                /** @description Account whose transactions are listed. Address or ENS name */
                wallet: string;
                /** @description Network to read */
                network: string;
                /** @description Value of `nextCursor` of the page before */
                cursor?: string;
                /** @description Number of transactions on a page */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A wallet's transactions, newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Activity"];
                };
            };
        };
    };
    getPortfolioHistory: {
        parameters: {
            query: {
                /** @description Start of the series, in Unix seconds. Left out: 30 days before `to` */
                from?: number;
                /** @description End of the series, in Unix seconds. Left out: now */
                to?: number;
                /** @description Time between points: an hour, a day or a week */
                interval?: "1h" | "1d" | "1w";
                /** @description Account whose tokens are valued. Address or ENS name */
                wallet: string;
                /** @description Network to read */
                network: string;
                /** @description Whether tokens that no catalog lists count too */
                includeUnlisted?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The value of a wallet's tokens over time. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WalletHistory"];
                };
            };
        };
    };
    getPortfolioPnl: {
        parameters: {
            query: {
                /** @description Number of rows on a page */
                limit?: number;
                /** @description Value of `nextCursor` of the page before */
                cursor?: string;
                /** @description Number of a block, such as the newest of the caller's own node: the answer is of this block or a later one */
                minBlock?: number;
                /** @description Hash of a transaction: the answer is of its block or a later one */
                afterTransaction?: string;
                /** @description Account whose positions are listed. Address or ENS name */
                wallet: string;
                /** @description Network to read. Left out: all */
                network?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What a wallet's positions have gained and lost. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Gains"];
                };
            };
        };
    };
    listWebhooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Webhooks of the API key. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhooks"];
                };
            };
        };
    };
    createWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description JSON in UTF-8. Members that the schema does not have are refused. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookBody"];
            };
        };
        responses: {
            /** @description Send the states of a transfer or transaction to a URL. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegisteredWebhook"];
                };
            };
        };
    };
    getWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the registration */
                webhookId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One webhook. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    deleteWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the registration */
                webhookId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Send no more events of a webhook. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    callRpc: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The numeric chain id */
                chainId: string;
            };
            cookie?: never;
        };
        /** @description JSON in UTF-8. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["RpcRequest"];
            };
        };
        responses: {
            /** @description Read-only JSON-RPC 2.0. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RpcResponse"];
                };
            };
            /** @description Every call was a notification: there is nothing to answer. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
