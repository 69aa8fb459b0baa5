from .check_context import CheckContext as CheckContext
from .check_context import zoo_context as zoo_context
from .conformance import CheckResult as CheckResult
from .conformance import check_metric as check_metric
from .conformance import metric_checks as metric_checks
from .metric_rows import MetricRow as MetricRow
from .metric_rows import Models as Models
from .metric_rows import evaluate as evaluate

AUDIT: object
