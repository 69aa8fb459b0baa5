from .attack import NONE as NONE
from .attack import Attack as Attack
from .registry import ATTACKS as ATTACKS
from .registry import find_attack as find_attack
