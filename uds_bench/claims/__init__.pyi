from .claim import Claim as Claim
from .claim import ControlSubject as ControlSubject
from .record import Control as Control
