"""The gateway's own signature of an action."""

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from quoteway.config.model import ActionKey, ActionsConfig
from quoteway.secrets import Secret
from quoteway_client import AsyncQuoteway, SignatureInvalid, verify_action

pytestmark = pytest.mark.slow


async def test_a_signed_action_is_verified_and_a_changed_one_is_not(chain, gateway_of):
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    with gateway_of(chain.devnet, actions=ActionsConfig((ActionKey("one", Secret(pem)),))) as url:
        async with AsyncQuoteway(url) as client:
            keys = await client.keys()
            action = await client.swaps.act(await client.swaps.quote(**chain.swap()))
    signed = verify_action(action, keys)
    assert signed.transactions == action.transactions
    with pytest.raises(SignatureInvalid, match="differs from the one"):
        verify_action(msgspec.structs.replace(action, transactions=()), keys)
    with pytest.raises(SignatureInvalid, match="does not hold"):
        verify_action(action, keys, issuer="another")
    with pytest.raises(SignatureInvalid, match="of no key of the set"):
        verify_action(action, {"keys": [{**keys["keys"][0], "kid": "two"}]})
    with pytest.raises(SignatureInvalid, match="has no signature"):
        verify_action(msgspec.structs.replace(action, jws=None), keys)
