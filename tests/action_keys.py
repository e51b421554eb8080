"""Keys that sign actions, and signers with them."""

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from quoteway.config.model import ActionKey, ActionsConfig, Config, QuotesConfig
from quoteway.engine.action_signatures import ActionSigner
from quoteway.secrets import Secret


def pem(key, encryption=None):
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption()).decode()


def signer_of(*keys):
    """The signer of a deployment with keys of ``(name, PEM)``."""
    rows = tuple(ActionKey(name, Secret(text)) for name, text in keys)
    config = Config(actions=ActionsConfig(rows), quotes=QuotesConfig(issuer="desk.example"))
    return ActionSigner.of(config)
