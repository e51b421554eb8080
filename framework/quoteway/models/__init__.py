"""What the gateway and its providers say to each other: frozen, slotted dataclasses, one noun a file.

Amounts are ``int`` base units. Addresses are EIP-55 strings; the native coin is the zero address
(``NATIVE``). Times are Unix seconds. ``quoteway.web.wire`` alone renders them.
"""

from quoteway.models.actions import (
    Action,
    ActionPart,
    ActionStep,
    AllowanceChange,
    Argument,
    Arrival,
    AssetChange,
    Build,
    DecodedCall,
    Preview,
    SignatureRequest,
    Simulation,
    Step,
)
from quoteway.models.allowances import APPROVAL_KINDS, Approval, Spend
from quoteway.models.capability import Capability
from quoteway.models.catalogs import BridgeRoute, Pool, Position, Vault
from quoteway.models.chain import (
    At,
    Call,
    CallFailed,
    Log,
    NativeBalance,
    Overrides,
    Read,
    SimulatedCall,
    SimulatedResult,
    SimulationUnsupported,
)
from quoteway.models.legs import Fee, Gas, Leg
from quoteway.models.notices import Issue, Notice
from quoteway.models.quotes import Attempt, Hop, Quote, QuotePart, RoutePath, SealedQuote
from quoteway.models.requests import DeployRequest, PoolRequest, Request, SwapRequest, VaultRequest
from quoteway.models.series import Series
from quoteway.models.terms import (
    BuildTerms,
    DeploymentTerms,
    ManagementTerms,
    PoolState,
    PoolTerms,
    QuoteTerms,
    RefundTerms,
    RequiredRole,
    TransferTerms,
    TransferTracking,
    VaultTerms,
)
from quoteway.models.tokens import MAX_UINT256, NATIVE, Address, Block, Json, Price, Token, TokenProfile
from quoteway.models.transfers import TransferRefund, TransferState, TransferStatus

__all__ = [
    "APPROVAL_KINDS",
    "MAX_UINT256",
    "NATIVE",
    "Action",
    "ActionPart",
    "ActionStep",
    "Address",
    "AllowanceChange",
    "Approval",
    "Argument",
    "Arrival",
    "AssetChange",
    "At",
    "Attempt",
    "Block",
    "BridgeRoute",
    "Build",
    "BuildTerms",
    "Call",
    "CallFailed",
    "Capability",
    "DecodedCall",
    "DeployRequest",
    "DeploymentTerms",
    "Fee",
    "Gas",
    "Hop",
    "Issue",
    "Json",
    "Leg",
    "Log",
    "ManagementTerms",
    "NativeBalance",
    "Notice",
    "Overrides",
    "Pool",
    "PoolRequest",
    "PoolState",
    "PoolTerms",
    "Position",
    "Preview",
    "Price",
    "Quote",
    "QuotePart",
    "QuoteTerms",
    "Read",
    "RefundTerms",
    "Request",
    "RequiredRole",
    "RoutePath",
    "SealedQuote",
    "Series",
    "SignatureRequest",
    "SimulatedCall",
    "SimulatedResult",
    "Simulation",
    "SimulationUnsupported",
    "Spend",
    "Step",
    "SwapRequest",
    "Token",
    "TokenProfile",
    "TransferRefund",
    "TransferState",
    "TransferStatus",
    "TransferTerms",
    "TransferTracking",
    "Vault",
    "VaultRequest",
    "VaultTerms",
]
