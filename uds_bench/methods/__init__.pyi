import uds_bench.trials.check

from .alternates import Alternates as Alternates
from .alternates import sample_alternates as sample_alternates
from .data import REFUSALS as REFUSALS
from .data import Data as Data
from .data import unlearning_data as unlearning_data
from .lora import LoraSettings as LoraSettings
from .lora import with_lora as with_lora
from .method import AlphaEdit as AlphaEdit
from .method import MemFlex as MemFlex
from .method import Method as Method
from .method import MethodName as MethodName
from .method import Rmu as Rmu
from .presets import PRESETS as PRESETS
from .presets import Preset as Preset
from .presets import find_preset as find_preset
from .presets import make_method as make_method
from .registry import METHODS as METHODS
from .registry import unlearn as unlearn
from .release import UnlearnedModel as UnlearnedModel
from .release import unlearn_facts as unlearn_facts
from .traces import Course as Course
from .traces import GradientScope as GradientScope
from .traces import trace_data as trace_data

check_method = uds_bench.trials.check.check_method
