import pytest


@pytest.fixture
def portfolio(fresh_devnet):
    from portfolio_gateway import PortfolioGateway

    return PortfolioGateway(fresh_devnet)
