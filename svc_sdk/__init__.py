"""The client library of the sales-tax rate lookup service (SPEC 4.4).

from svc_sdk import Svc

with Svc("your-key", base_url="https://rates.example") as svc:
    svc.lookup("CA", zip="94105").combined_rate_string
"""

from typing import TYPE_CHECKING

from svc_sdk._settings import DEFAULT_BASE_URL
from svc_sdk._version import __version__
from svc_sdk.aio import AsyncSvc
from svc_sdk.client import Svc
from svc_sdk.errors import (
    AuthError,
    ForbiddenError,
    NotFoundError,
    PaymentRequiredError,
    RateLimitError,
    ServiceError,
    SvcError,
    TransportError,
    ValidationError,
)
from svc_sdk.rates import rate_to_decimal, rate_to_float, rate_to_units, units_to_rate

if TYPE_CHECKING:
    from svc_sdk.models import (
        Advisory,
        Freshness,
        HealthResponse,
        Meta,
        NexusList,
        NexusRecord,
        NexusRemoval,
        Rate,
        StateFreshness,
        TaxResponse,
        ValidationDetail,
    )

__all__ = [
    "DEFAULT_BASE_URL",
    "Advisory",
    "AsyncSvc",
    "AuthError",
    "ForbiddenError",
    "Freshness",
    "HealthResponse",
    "Meta",
    "NexusList",
    "NexusRecord",
    "NexusRemoval",
    "NotFoundError",
    "PaymentRequiredError",
    "Rate",
    "RateLimitError",
    "ServiceError",
    "StateFreshness",
    "Svc",
    "SvcError",
    "TaxResponse",
    "TransportError",
    "ValidationDetail",
    "ValidationError",
    "__version__",
    "rate_to_decimal",
    "rate_to_float",
    "rate_to_units",
    "units_to_rate",
]


def __getattr__(name: str) -> object:
    """A model, loaded when it is first needed: an import stays cheap."""
    if name in __all__:
        from svc_sdk import models  # noqa: PLC0415 - as above

        return getattr(models, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, the models too."""
    return __all__
