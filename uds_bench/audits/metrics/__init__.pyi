from .check_context import CheckContext as CheckContext
from .check_context import zoo_context as zoo_context
from .conformance import CheckResult as CheckResult
from .conformance import check_metric as check_metric
from .conformance import metric_checks as metric_checks
from .evaluation import MetricRow as MetricRow
from .evaluation import Models as Models
from .evaluation import evaluate as evaluate

AUDIT: object
