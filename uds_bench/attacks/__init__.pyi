from .attack import NONE as NONE
from .attack import Attack as Attack
from .registry import ATTACKS as ATTACKS
from .registry import find_attack as find_attack
from .registry import find_attacks as find_attacks
