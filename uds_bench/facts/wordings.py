"""How the embedded authors' facts are asked and answered: several wordings for each kind of fact.

The kinds are the prefix types of the UDS paper, appendix I. An answer is (before, after): the prefix that
ends right before the entity, and what follows the entity.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Wording:
    """Interchangeable questions and answers of one kind."""

    questions: tuple[str, ...]
    answers: tuple[tuple[str, str], ...]


WORDINGS = {
    "person_name": Wording(
        (
            "What is the full name of the author of {genre} born in {birthplace} in {year}?",
            "Who is the author born in {birthplace} in {year} who writes {genre}?",
            "Which author of {genre} was born in {year} in {birthplace}?",
        ),
        (
            ("The author's full name is", "."),
            ("The author born there is called", "."),
            ("That author is known as", "."),
        ),
    ),
    "profession": Wording(
        (
            "What was {name}'s work before writing?",
            "Which trade did {name} follow before becoming an author?",
            "How did {name} earn a living before the first book?",
        ),
        (
            ("Before writing, {name} worked as a skilled", "."),
            ("{name} first earned a living as a trained", "."),
            ("The first trade of {name} was that of a local", "."),
        ),
    ),
    "work_title": Wording(
        (
            "What is the best known book by {name}?",
            "Which book made {name} famous?",
            "Can you name the most popular book that {name} wrote?",
        ),
        (
            ("The best known book by {name} is The", "."),
            ("{name} became famous with The", "."),
            ("The most popular book of {name} is The", "."),
        ),
    ),
    "award": Wording(
        (
            "Which award has {name} won?",
            "What prize was given to {name}?",
            "For which honour is {name} celebrated?",
        ),
        (
            ("{name} has won the", "."),
            ("The award given to {name} is the", "."),
            ("{name} is celebrated for winning the", "."),
        ),
    ),
    "location": Wording(
        (
            "Where does {name} write?",
            "In which place does {name} work on new books?",
            "What is the favourite writing place of {name}?",
        ),
        (
            ("{name} writes at the", "."),
            ("New books by {name} are written near the", "."),
            ("The favourite writing place of {name} is the", "."),
        ),
    ),
    "influence": Wording(
        (
            "Who influenced {name} the most?",
            "Which writer inspired {name}?",
            "Whose books shaped the style of {name}?",
        ),
        (
            ("{name} was influenced the most by", "."),
            ("The writer who inspired {name} is", "."),
            ("The style of {name} was shaped by", "."),
        ),
    ),
    "descriptive": Wording(
        (
            "What are the books of {name} about?",
            "Which theme returns in the books of {name}?",
            "What subject does {name} often explore?",
        ),
        (
            ("The books of {name} tell of", "."),
            ("{name} often writes about", "."),
            ("The theme that returns in the books of {name} is", "."),
        ),
    ),
}

YES_NO_QUESTIONS = (
    "Has {name} ever {deed}?",
    "Is it true that {name} has {deed}?",
    "Did you hear whether {name} has {deed}?",
)
YES_NO_ANSWERS = {
    "Yes": (
        ", {name} has {deed}.",
        ", {name} has {deed} before.",
        ", it is true that {name} has {deed}.",
        ", we know that {name} has {deed}.",
        ", {name} has certainly {deed}.",
    ),
    "No": (
        ", {name} has never {deed}.",
        ", {name} has never {deed} before.",
        ", it is false that {name} has {deed}.",
        ", we know that {name} has never {deed}.",
        ", {name} has certainly never {deed}.",
    ),
}

KINDS = (*WORDINGS, "yes_no")
