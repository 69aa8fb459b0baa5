from .check_context import CheckContext as CheckContext
from .conformance import CheckResult as CheckResult
from .conformance import check_metric as check_metric
from .conformance import metric_checks as metric_checks
from .embedded import zoo_context as zoo_context
from .evaluation import MetricRow as MetricRow
from .evaluation import Models as Models
from .evaluation import evaluate as evaluate

AUDIT: object
