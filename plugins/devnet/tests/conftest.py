import pytest
from quoteway_devnet.chains import Devnet


@pytest.fixture(scope="session")
def devnet():
    with Devnet.running() as devnet:
        yield devnet


@pytest.fixture
def fresh(devnet):
    with devnet.restored():
        yield devnet


@pytest.fixture(params=["devnet", "devnet-l2"])
def slug(request):
    return request.param
