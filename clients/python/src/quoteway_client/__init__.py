"""A client of Quoteway gateways: quotes, actions that are checked before they are signed, and what became of
them.

``Quoteway`` blocks, ``AsyncQuoteway`` is for asyncio; both have the same methods.
"""

from quoteway_client import models as models
from quoteway_client.acting import AnyAction as AnyAction
from quoteway_client.acting import AnyQuote as AnyQuote
from quoteway_client.calldata import check_action as check_action
from quoteway_client.client import AsyncQuoteway as AsyncQuoteway
from quoteway_client.client import Quoteway as Quoteway
from quoteway_client.errors import ActionMismatch as ActionMismatch
from quoteway_client.errors import ApiError as ApiError
from quoteway_client.errors import ConnectionFailed as ConnectionFailed
from quoteway_client.errors import Difference as Difference
from quoteway_client.errors import InvalidRequest as InvalidRequest
from quoteway_client.errors import Mismatch as Mismatch
from quoteway_client.errors import NotConfirmed as NotConfirmed
from quoteway_client.errors import NotExecutable as NotExecutable
from quoteway_client.errors import NotFound as NotFound
from quoteway_client.errors import ProviderUnavailable as ProviderUnavailable
from quoteway_client.errors import QuoteMismatch as QuoteMismatch
from quoteway_client.errors import QuotewayError as QuotewayError
from quoteway_client.errors import RateLimited as RateLimited
from quoteway_client.errors import RpcError as RpcError
from quoteway_client.errors import SignatureInvalid as SignatureInvalid
from quoteway_client.errors import TransactionFailed as TransactionFailed
from quoteway_client.errors import Unauthorized as Unauthorized
from quoteway_client.errors import UnexpectedAnswer as UnexpectedAnswer
from quoteway_client.errors import UpstreamFailed as UpstreamFailed
from quoteway_client.errors import ValidationFailed as ValidationFailed
from quoteway_client.exchange import Retrying as Retrying
from quoteway_client.sending import Sent as Sent
from quoteway_client.sending import SentTransaction as SentTransaction
from quoteway_client.signing import Signer as Signer
from quoteway_client.signing import sign_permits as sign_permits
from quoteway_client.streaming import StreamEvent as StreamEvent
from quoteway_client.units import from_units as from_units
from quoteway_client.units import to_units as to_units
from quoteway_client.verifying import verify_action as verify_action
