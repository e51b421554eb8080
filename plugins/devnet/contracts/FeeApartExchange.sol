// SPDX-License-Identifier: MIT
pragma solidity 0.8.26;

interface IPair {
    function getReserves() external view returns (uint112, uint112, uint32);

    function swap(uint256 amount0Out, uint256 amount1Out, address to, bytes calldata data) external;
}

interface IBalance {
    function balanceOf(address account) external view returns (uint256);
}

/// An exchange for tests and the tutorial: pools x * y = k whose fee is taken apart and rounded up, and swaps
/// along a path through its own pools and Uniswap v2 pairs. Not for production.
contract FeeApartExchange {
    struct Pool {
        uint112 reserve0;
        uint112 reserve1;
    }

    uint256 private constant ONE = 1_000_000;
    uint256 public constant FEE = 500;

    /// By token0 and token1, in the order of their addresses.
    mapping(address => mapping(address => Pool)) public pools;

    function add(address token0, address token1, uint256 amount0, uint256 amount1) external {
        require(token0 < token1, "ORDER");
        _pull(token0, amount0);
        _pull(token1, amount1);
        Pool storage pool = pools[token0][token1];
        pool.reserve0 = _fits(pool.reserve0 + amount0);
        pool.reserve1 = _fits(pool.reserve1 + amount1);
    }

    /// `via` has for each step of the path this contract for its own pool, or a v2 pair, whose fee is in `fees`
    /// (hundredths of a basis point). What each step brings is measured, not believed.
    function swap(
        address[] calldata path,
        address[] calldata via,
        uint24[] calldata fees,
        uint256 amountIn,
        uint256 amountOutMin,
        address to,
        uint256 deadline
    ) external returns (uint256 amount) {
        require(block.timestamp <= deadline, "EXPIRED");
        require(path.length == via.length + 1 && via.length == fees.length && via.length > 0, "LENGTHS");
        amount = amountIn;
        _pull(path[0], amount);
        for (uint256 i = 0; i < via.length; i++) {
            amount = via[i] == address(this)
                ? _swapOwn(path[i], path[i + 1], amount)
                : _swapPair(via[i], fees[i], path[i], path[i + 1], amount);
        }
        require(amount >= amountOutMin, "MINIMUM");
        _send(path[path.length - 1], to, amount);
    }

    function _swapOwn(address sold, address bought, uint256 amount) private returns (uint256 out) {
        bool zeroForOne = sold < bought;
        Pool storage pool = zeroForOne ? pools[sold][bought] : pools[bought][sold];
        (uint256 before, uint256 other) =
            zeroForOne ? (pool.reserve0, pool.reserve1) : (pool.reserve1, pool.reserve0);
        uint256 left = amount - (amount * FEE + ONE - 1) / ONE;
        out = left * other / (before + left);
        uint112 more = _fits(before + amount);
        uint112 less = uint112(other - out);
        (pool.reserve0, pool.reserve1) = zeroForOne ? (more, less) : (less, more);
    }

    function _swapPair(address pair, uint256 fee, address sold, address bought, uint256 amount)
        private
        returns (uint256)
    {
        uint256 held = IBalance(bought).balanceOf(address(this));
        bool zeroForOne = sold < bought;
        (uint256 before, uint256 other,) = IPair(pair).getReserves();
        if (!zeroForOne) (before, other) = (other, before);
        _send(sold, pair, amount);
        uint256 left = amount * (ONE - fee);
        uint256 out = left * other / (before * ONE + left);
        IPair(pair).swap(zeroForOne ? 0 : out, zeroForOne ? out : 0, address(this), "");
        return IBalance(bought).balanceOf(address(this)) - held;
    }

    function _pull(address token, uint256 amount) private {
        uint256 held = IBalance(token).balanceOf(address(this));
        _call(token, abi.encodeWithSignature("transferFrom(address,address,uint256)", msg.sender, this, amount));
        require(IBalance(token).balanceOf(address(this)) == held + amount, "TAXED");
    }

    function _send(address token, address to, uint256 amount) private {
        _call(token, abi.encodeWithSignature("transfer(address,uint256)", to, amount));
    }

    function _call(address token, bytes memory data) private {
        (bool ok, bytes memory answer) = token.call(data);
        require(ok && (answer.length == 0 || abi.decode(answer, (bool))), "TRANSFER");
    }

    function _fits(uint256 amount) private pure returns (uint112) {
        require(amount <= type(uint112).max, "OVERFLOW");
        return uint112(amount);
    }
}
