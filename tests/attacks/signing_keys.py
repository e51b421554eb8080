"""Signing keys of deployments, known to the tests."""

from quoteway.config.model import QuotesConfig, SigningKey
from quoteway.secrets import Secret

SECRETS = {
    "old": "NqVwYS81VP7Hb1DX8pPd5khxE3pyIgKpaUnArl63XykWZeiNNCiia3anXn9k3ksu",
    "new": "9mI4ROnl89Sm995ytbxAk7jqevt0MLaMRTvetw0tESulEETldq8b8Vw2zbJYAxyL",
    "other": "1aCcTlN99mhWp708DwGw5HqXDgLVXZx3scB8fnvGNx6jvr7SIftRutlZfOjUStEk",
}


def signing(*key_ids):
    """Settings for quotes that live long on a busy machine: the first key signs, all verify."""
    keys = tuple(SigningKey(key_id, Secret(SECRETS[key_id])) for key_id in key_ids)
    return QuotesConfig(competition_timeout_s=30.0, lifetime_s=900, keys=keys)
