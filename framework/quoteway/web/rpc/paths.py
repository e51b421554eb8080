"""The path of ``/v2/rpc``."""

from __future__ import annotations

import re
from typing import Any

from quoteway.errors import Reason
from quoteway.web.http.fields import Member
from quoteway.web.http.schema import RequestSchema, refuse


class ChainIdField(Member[int]):
    schema = {"type": "string", "pattern": r"^[1-9][0-9]{0,15}$", "example": "1"}

    def parse(self, value: Any) -> int:
        if not re.fullmatch(self.schema["pattern"], value):
            raise refuse(Reason.INVALID_FORMAT, "must be a chain id in decimal digits")
        return int(value)


class RpcPath(RequestSchema):
    chain_id = ChainIdField("The numeric chain id", required=True)
