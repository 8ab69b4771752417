"""Places as people write them, as questions that the service can answer."""

from svc_tools.places.names import same_place
from svc_tools.places.place import Cells, Place, Question, Refusal, question
from svc_tools.places.states import STATES, Elsewhere, state_code
from svc_tools.places.zips import normal_zip, states_of

__all__ = [
    "STATES",
    "Cells",
    "Elsewhere",
    "Place",
    "Question",
    "Refusal",
    "normal_zip",
    "question",
    "same_place",
    "state_code",
    "states_of",
]
