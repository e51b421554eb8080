"""The data that the gateway and its providers exchange, as frozen, slotted dataclasses.

Amounts are ``int`` base units. Addresses are EIP-55 strings; the native coin is the zero address
(``NATIVE``). Times are Unix seconds. Only ``quoteway.web.wire`` renders them as JSON.
"""

from quoteway.models.actions import *
from quoteway.models.amounts import *
from quoteway.models.calls import *
from quoteway.models.candles import *
from quoteway.models.catalogs import *
from quoteway.models.chain import *
from quoteway.models.doctor_check import *
from quoteway.models.events import *
from quoteway.models.fills import *
from quoteway.models.history import *
from quoteway.models.index_status import *
from quoteway.models.liquidity import *
from quoteway.models.notices import *
from quoteway.models.optimality import *
from quoteway.models.permits import *
from quoteway.models.quotes import *
from quoteway.models.raw_json import *
from quoteway.models.requests import *
from quoteway.models.routing import *
from quoteway.models.screening import *
from quoteway.models.site import *
from quoteway.models.terms import *
from quoteway.models.token_rows import *
from quoteway.models.tokens import *
from quoteway.models.upstreams import *
