"""After `uds-bench gate-method NAME --card CARD.json`: cards beside those that are shipped, and their page."""

import json
import sys
from pathlib import Path

from uds_bench.trials import recorded_cards

PAGE, MARK = Path("docs/explanation/methods.md"), "<!-- made by .ci/method_cards.py -->\n"
place = Path("uds_bench/trials") / recorded_cards.FILE
lines = place.read_text().splitlines() if place.is_file() else []
cards = {json.loads(line)["method"]: line for line in lines}
for path in sys.argv[1:]:
    card = json.loads(Path(path).read_text())
    cards[card["method"]] = json.dumps(card)
place.write_text("".join(f"{cards[name]}\n" for name in sorted(cards)))
head, _, tail = PAGE.read_text().split(MARK)
made = "\n".join(recorded_cards.tables(map(recorded_cards.read, (cards[name] for name in sorted(cards)))))
PAGE.write_text(f"{head}{MARK}{made}\n\n{MARK}{tail}")
