"""A scheduler that finds races of a known depth with a known probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from racecheck.errors import UsageError
from racecheck.model import Decision
from racecheck.scheduling.ahead import Lesson
from racecheck.scheduling.numbering import draw_below
from racecheck.scheduling.sampling import SamplingScheduler

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from racecheck.model import SchedulingPoint, Step


class PCTScheduler(SamplingScheduler):
    """Run the actor of highest priority, lowering priorities at a few random steps.

    The depth of a race is the number of order constraints between steps that together
    make it happen. An execution of at most `k` steps by `n` actors meets a race of
    depth `d` with a probability of at least `1 / (n * k**(d - 1))`. See Burckhardt,
    Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler with Probabilistic
    Guarantees of Finding Bugs", ASPLOS 2010.

    This differs from the paper in four ways:

    1. The paper takes `k` as given; here it is the longest execution before the block
       (`numbering.block_of`). The bound is only as good as that estimate, and without a
       first guess in `steps` the first execution has no change points at all. The
       estimate is also why a later execution, made alone, need not be the one of the
       exploration: its schedule repeats it, its number does not.
    2. An actor may appear late, as one that waits for another's first operation does.
       It gets its priority then; as priorities are drawn independently, their order
       is as random as if all had been drawn at the start.
    3. Change points are drawn without repetition, which makes each set of them a
       little more likely than in the paper.
    4. An actor that has taken `patience` steps in a row while others could run is put
       behind all of them. Without that, one that polls for what another has yet to do
       would poll for ever. The bound holds as long as no race needs a longer row.

    A priority belongs to an actor and not to an operation: an actor that makes many
    calls on the subject keeps it from one to the next, so that `n` counts actors.
    """

    name = "pct"

    def __init__(
        self,
        seed: int,
        *,
        depth: int = 3,
        executions: int | None = None,
        first: int = 0,
        stride: int = 1,
        steps: int = 0,
        patience: int = 1000,
    ) -> None:
        """Prepare the executions `first`, `first + stride`, ... below `executions`.

        Args:
            seed: Seed of the exploration.
            depth: Depth of the races to look for: one more than there are change
                points in an execution.
            executions: Executions in the whole exploration; None for no limit.
            first: Number of the first execution made here.
            stride: Distance between the numbers of executions made here.
            steps: First guess at the length of an execution.
            patience: Steps that an actor may take in a row while others wait.

        Raises:
            UsageError: `depth` or `patience` is less than 1.
        """
        if depth < 1:
            raise UsageError(f"the depth of PCT must be 1 or more, found {depth}")
        if patience < 1:
            raise UsageError(f"the patience of PCT must be 1 or more, found {patience}")
        super().__init__(seed, executions=executions, first=first, stride=stride)
        self._depth = depth
        self._patience = patience
        self._longest = self._seen = steps
        self._priorities: dict[str, float] = {}
        self._change_points: dict[int, int] = {}
        self._step = 0
        self._row = 0
        self._lesson = Lesson()

    @property
    def key(self) -> Hashable:
        """What tells the present execution from all others, and from a wrong guess."""
        return self.name, self._number, self._longest

    def choose(
        self, enabled: Sequence[SchedulingPoint], current: str | None
    ) -> Decision:
        """Choose the enabled actor of highest priority, once any change is made."""
        for point in enabled:
            if point.actor not in self._priorities:
                # Above every priority that a change point gives.
                self._priorities[point.actor] = self._depth + self._random.random()
        if current is not None:
            self._lower(current)
        names = [point.actor for point in enabled]
        actor = max(names, key=self._priorities.__getitem__)
        if actor != current:
            self._row = 0
        # Steps that it takes while nobody else can are no reason to stop it.
        self._row += len(enabled) > 1
        self._step += 1
        return Decision(actor)

    def finish_execution(self, steps: Sequence[Step]) -> None:
        """Remember how long executions get, for those of the next block."""
        self._lesson = Lesson(steps=len(steps))
        self.learn(self._lesson)

    def lesson(self) -> Lesson:
        """Return how long the execution was."""
        return self._lesson

    def learn(self, lesson: Lesson) -> None:
        """Remember how long the execution was, for those of the next block."""
        self._seen = max(self._seen, lesson.steps)

    def _begin_block(self) -> None:
        """Count with the longest execution so far."""
        self._longest = self._seen

    def _begin(self) -> None:
        """Have new priorities and change points."""
        self._priorities = {}
        self._change_points = self._draw_change_points()
        self._step = 0
        self._row = 0

    def _lower(self, current: str) -> None:
        """Lower the actor that took the last step, if it is time to."""
        changed = self._change_points.get(self._step)
        if changed is not None:
            self._priorities[current] = changed
        elif self._row >= self._patience:
            # Below everyone, also below those who lost their turn this way before.
            self._priorities[current] = -self._step

    def _draw_change_points(self) -> dict[int, int]:
        """Draw the steps before which priorities change, each with the new priority."""
        # Step 0 is never a change point: the random initial priorities already decide
        # who goes first. Nor is the step after the last: nothing is left to change.
        candidates = max(0, self._longest - 1)
        points: dict[int, int] = {}
        while len(points) < min(self._depth - 1, candidates):
            # The priorities count up in the order of drawing and not in that of the
            # steps, as any of two lowered actors may have to go on first.
            points.setdefault(1 + draw_below(self._random, candidates), len(points) + 1)
        return points
