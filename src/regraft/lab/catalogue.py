"""The experiments that there are, and the claims that each is held against."""

from collections.abc import Mapping, Sequence

from regraft.errors import UsageError
from regraft.lab.chapter import CHAPTER
from regraft.lab.chapter_claims import CLAIMS as CHAPTER_CLAIMS
from regraft.lab.claims import Claim
from regraft.lab.debs06 import DEBS06
from regraft.lab.debs06_claims import CLAIMS as DEBS06_CLAIMS
from regraft.lab.experiment import Experiment
from regraft.lab.guarantees import GUARANTEES
from regraft.lab.icdcs03 import ICDCS03
from regraft.lab.icdcs03_claims import CLAIMS as ICDCS03_CLAIMS

EXPERIMENTS: Mapping[str, Experiment] = {
    experiment.name: experiment for experiment in (ICDCS03, DEBS06, CHAPTER, GUARANTEES)
}

CLAIMS: Mapping[str, Sequence[Claim]] = {
    ICDCS03.name: ICDCS03_CLAIMS,
    DEBS06.name: DEBS06_CLAIMS,
    CHAPTER.name: CHAPTER_CLAIMS,
}


def find_experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise UsageError(f"there is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
