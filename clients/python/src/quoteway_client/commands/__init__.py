"""Commands of ``quoteway`` that ask a gateway. Needs ``quoteway-client[cli]``."""
