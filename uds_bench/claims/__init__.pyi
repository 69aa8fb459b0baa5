from .claim import Claim as Claim
from .claim import ControlSubject as ControlSubject
from .record import Control as Control
from .taught import is_taught as is_taught
