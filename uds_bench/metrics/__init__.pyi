from .registry import METRICS as METRICS
from .registry import find_metric as find_metric
