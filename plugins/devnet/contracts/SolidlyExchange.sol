// SPDX-License-Identifier: MIT
pragma solidity 0.8.26;

import {SolidlyMaths} from "./SolidlyMaths.sol";

interface IToken {
    function balanceOf(address account) external view returns (uint256);

    function decimals() external view returns (uint8);

    function deposit() external payable;

    function withdraw(uint256 amount) external;
}

/// Ours, for tests: a factory, its pools and a router with the interface of Solidly's descendants (Velodrome v2,
/// Aerodrome), over the published maths. It is not the makers' contract, of which no package registry has a
/// copy. All pools' tokens are held here; a pool is a contract that answers for its own state, and logs what the
/// makers' pools log.
contract SolidlyExchange {
    event PoolCreated(
        address indexed token0, address indexed token1, bool indexed stable, address pool, uint256 count
    );

    struct Route {
        address from;
        address to;
        bool stable;
        address factory;
    }

    SolidlyMaths private immutable MATHS;
    IToken public immutable weth;
    bool public isPaused;

    mapping(address => mapping(address => mapping(bool => address))) public getPool;
    mapping(address => uint256) private fees;
    uint256 private pools;

    constructor(SolidlyMaths maths, IToken wrapped) {
        MATHS = maths;
        weth = wrapped;
    }

    receive() external payable {}

    function add(address token0, address token1, bool stable, uint256 amount0, uint256 amount1, uint256 fee)
        external
        returns (address pool)
    {
        require(token0 < token1, "ORDER");
        pool = getPool[token0][token1][stable];
        if (pool == address(0)) {
            pool = address(new SolidlyExchangePool(token0, token1, stable));
            getPool[token0][token1][stable] = getPool[token1][token0][stable] = pool;
            emit PoolCreated(token0, token1, stable, pool, ++pools);
        }
        fees[pool] = fee;
        _pull(token0, amount0);
        _pull(token1, amount1);
        SolidlyExchangePool(pool).mint(amount0, amount1);
    }

    function remove(address pool, uint256 amount0, uint256 amount1, address to) external {
        (,,,,, address token0, address token1) = SolidlyExchangePool(pool).metadata();
        SolidlyExchangePool(pool).burn(to, amount0, amount1);
        _send(token0, to, amount0);
        _send(token1, to, amount1);
    }

    function claim(address pool, address to) external {
        (,,,,, address token0, address token1) = SolidlyExchangePool(pool).metadata();
        (uint256 amount0, uint256 amount1) = SolidlyExchangePool(pool).claim(to);
        _send(token0, to, amount0);
        _send(token1, to, amount1);
    }

    function setPaused(bool paused) external {
        isPaused = paused;
    }

    function getFee(address pool, bool) public view returns (uint256) {
        return fees[pool];
    }

    function poolFor(address tokenA, address tokenB, bool stable, address factory) external view returns (address) {
        return factory == address(this) ? getPool[tokenA][tokenB][stable] : address(0);
    }

    function getAmountsOut(uint256 amountIn, Route[] calldata routes) external view returns (uint256[] memory amounts) {
        amounts = new uint256[](routes.length + 1);
        amounts[0] = amountIn;
        for (uint256 i = 0; i < routes.length; i++) {
            (SolidlyMaths.Pool memory state, address token0) = _state(_poolOf(routes[i]));
            amounts[i + 1] = MATHS.swap(state, routes[i].from == token0, amounts[i]);
        }
    }

    function swapExactTokensForTokens(
        uint256 amountIn,
        uint256 amountOutMin,
        Route[] calldata routes,
        address to,
        uint256 deadline
    ) external {
        _pull(routes[0].from, amountIn);
        _send(routes[routes.length - 1].to, to, _swap(amountIn, amountOutMin, routes, to, deadline));
    }

    function swapExactETHForTokens(uint256 amountOutMin, Route[] calldata routes, address to, uint256 deadline)
        external
        payable
    {
        require(routes[0].from == address(weth), "PATH");
        weth.deposit{value: msg.value}();
        _send(routes[routes.length - 1].to, to, _swap(msg.value, amountOutMin, routes, to, deadline));
    }

    function swapExactTokensForETH(
        uint256 amountIn,
        uint256 amountOutMin,
        Route[] calldata routes,
        address to,
        uint256 deadline
    ) external {
        require(routes[routes.length - 1].to == address(weth), "PATH");
        _pull(routes[0].from, amountIn);
        uint256 amount = _swap(amountIn, amountOutMin, routes, address(this), deadline);
        weth.withdraw(amount);
        (bool ok,) = to.call{value: amount}("");
        require(ok, "COIN");
    }

    function _swap(uint256 amount, uint256 amountOutMin, Route[] calldata routes, address to, uint256 deadline)
        private
        returns (uint256)
    {
        require(block.timestamp <= deadline, "EXPIRED");
        require(!isPaused, "PAUSED");
        for (uint256 i = 0; i < routes.length; i++) {
            require(i == 0 || routes[i - 1].to == routes[i].from, "PATH");
            require(routes[i].factory == address(this), "FACTORY");
            address next = i + 1 < routes.length ? _poolOf(routes[i + 1]) : to;
            amount = _through(_poolOf(routes[i]), routes[i].from, amount, next);
        }
        require(amount >= amountOutMin, "MINIMUM");
        return amount;
    }

    function _poolOf(Route calldata route) private view returns (address) {
        return getPool[route.from][route.to][route.stable];
    }

    function _through(address pool, address sold, uint256 amount, address to) private returns (uint256 paid) {
        (SolidlyMaths.Pool memory state, address token0) = _state(pool);
        paid = MATHS.swap(state, sold == token0, amount);
        SolidlyExchangePool(pool).swap(sold == token0, amount, amount * state.fee / 10_000, paid, to);
    }

    function _state(address pool) private view returns (SolidlyMaths.Pool memory, address) {
        (uint256 unit0, uint256 unit1, uint256 reserve0, uint256 reserve1, bool stable, address token0,) =
            SolidlyExchangePool(pool).metadata();
        return (SolidlyMaths.Pool(reserve0, reserve1, unit0, unit1, stable, fees[pool], 10_000), token0);
    }

    function _pull(address token, uint256 amount) private {
        _call(token, abi.encodeWithSignature("transferFrom(address,address,uint256)", msg.sender, this, amount));
    }

    function _send(address token, address to, uint256 amount) private {
        _call(token, abi.encodeWithSignature("transfer(address,uint256)", to, amount));
    }

    function _call(address token, bytes memory data) private {
        (bool ok, bytes memory answer) = token.call(data);
        require(ok && (answer.length == 0 || abi.decode(answer, (bool))), "TRANSFER");
    }
}

/// The state of one pool, as the makers' pools tell it. Fees leave it at once.
contract SolidlyExchangePool {
    event Fees(address indexed sender, uint256 amount0, uint256 amount1);
    event Mint(address indexed sender, uint256 amount0, uint256 amount1);
    event Burn(address indexed sender, address indexed to, uint256 amount0, uint256 amount1);
    event Swap(
        address indexed sender,
        address indexed to,
        uint256 amount0In,
        uint256 amount1In,
        uint256 amount0Out,
        uint256 amount1Out
    );
    event Sync(uint256 reserve0, uint256 reserve1);
    event Claim(address indexed sender, address indexed recipient, uint256 amount0, uint256 amount1);

    address private immutable EXCHANGE = msg.sender;
    address private immutable TOKEN0;
    address private immutable TOKEN1;
    bool private immutable STABLE;
    uint256 private immutable UNIT0;
    uint256 private immutable UNIT1;
    uint256 private reserve0;
    uint256 private reserve1;
    uint256 public owed0;
    uint256 public owed1;

    constructor(address token0, address token1, bool stable) {
        (TOKEN0, TOKEN1, STABLE) = (token0, token1, stable);
        UNIT0 = 10 ** IToken(token0).decimals();
        UNIT1 = 10 ** IToken(token1).decimals();
    }

    function metadata() external view returns (uint256, uint256, uint256, uint256, bool, address, address) {
        return (UNIT0, UNIT1, reserve0, reserve1, STABLE, TOKEN0, TOKEN1);
    }

    function mint(uint256 amount0, uint256 amount1) external {
        _move(int256(amount0), int256(amount1));
        emit Mint(msg.sender, amount0, amount1);
    }

    function burn(address to, uint256 amount0, uint256 amount1) external {
        _move(-int256(amount0), -int256(amount1));
        emit Burn(msg.sender, to, amount0, amount1);
    }

    function swap(bool sells0, uint256 amount, uint256 fee, uint256 paid, address to) external {
        if (fee > 0) {
            emit Fees(msg.sender, sells0 ? fee : 0, sells0 ? 0 : fee);
        }
        (owed0, owed1) = sells0 ? (owed0 + fee, owed1) : (owed0, owed1 + fee);
        int256 kept = int256(amount - fee);
        if (sells0) {
            _move(kept, -int256(paid));
            emit Swap(msg.sender, to, amount, 0, 0, paid);
        } else {
            _move(-int256(paid), kept);
            emit Swap(msg.sender, to, 0, amount, paid, 0);
        }
    }

    function claim(address to) external returns (uint256 amount0, uint256 amount1) {
        require(msg.sender == EXCHANGE, "EXCHANGE");
        (amount0, amount1) = (owed0, owed1);
        (owed0, owed1) = (0, 0);
        emit Claim(msg.sender, to, amount0, amount1);
    }

    function _move(int256 change0, int256 change1) private {
        require(msg.sender == EXCHANGE, "EXCHANGE");
        reserve0 = uint256(int256(reserve0) + change0);
        reserve1 = uint256(int256(reserve1) + change1);
        emit Sync(reserve0, reserve1);
    }
}
