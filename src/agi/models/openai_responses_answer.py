"""An answer in OpenAI's Responses format is put together from its events, and servers' odd habits forgiven.

Items that were never announced or come only with the last event, deltas that are missing or come twice, an end that
is no proper one: all of these are met in the wild. Calls are told in their place, as each is whole, because what the
model thought is handed back before the call it led to. Pure: bytes in, stream items out. May import: protocol,
models.base, models.failures, models.streaming and its own parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agi.models.base import Finished, ReasoningDelta, ReasoningSealed, StreamItem, TextDelta
from agi.models.failures import Failures
from agi.models.openai_responses_calls import Calls
from agi.models.openai_responses_events import (
    BETWEEN_THOUGHTS,
    Event,
    Item,
    Response,
    decode_event,
    decode_response,
    phase_of,
    read_usage,
    said_in,
    seal_of,
    thought_in,
)
from agi.models.streaming import read_event
from agi.protocol.messages import StopReason

_ENDINGS = frozenset(("completed", "incomplete", "failed", "cancelled"))
_FLOWING = frozenset(("response.output_text.delta", "response.refusal.delta", "response.function_call_arguments.delta"))

Items = Sequence[StreamItem]


class _Aloud:
    """What is being said in deltas, until the item it belongs to is there as a whole."""

    __slots__ = ("_pieces", "_whole", "heard", "part")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._whole = ""
        self.heard = False
        self.part: tuple[str, object] = ("", None)

    @property
    def begun(self) -> bool:
        return bool(self._pieces)

    def say(self, text: str) -> str:
        self._pieces.append(text)
        self.heard = True
        return text

    def rest(self, whole: str) -> str:
        """What of a whole item was not said in deltas; nothing if it differs from them or came before."""
        said = "".join(self._pieces)
        repeated = not said and whole == self._whole
        self._pieces, self._whole, self.heard = [], whole, True
        return "" if repeated or not whole.startswith(said) else whole[len(said) :]


class ResponsesAnswer:
    """One answer: `take` each event's data, then `finish`."""

    def __init__(self, failures: Failures) -> None:
        self._failures = failures
        self._text = _Aloud()
        self._thoughts = _Aloud()
        self._calls = Calls()
        self._phase = ""
        self._refused = False
        self._number: int | None = None
        self._counts = False
        self._seen: set[int] = set()
        self._response: Response | None = None
        self.heard = 0
        """How many events brought the answer on; that it was queued, begun or is still in progress says nothing."""
        self.flowing = False
        """Whether words or arguments are coming; between two items the model may think."""
        self.done = False
        """Whether the server said that nothing more comes."""

    @property
    def complete(self) -> bool:
        """Whether the answer is whole."""
        return self._response is not None

    @property
    def settled(self) -> bool:
        """Whether nothing is missing: the last event has the cost."""
        return self.done

    def take(self, data: bytes, kind: str = "message") -> Items:
        """Add one event and tell what it says; nothing counts after the end. Raises ModelError."""
        if self.done or not data:
            return ()
        if data.startswith(b"[DONE]"):
            return self._take_done()
        event = read_event(decode_event, data, self._failures)
        name = event.type if isinstance(event.type, str) else kind
        if event.error or name == "error":
            raise self._failures.reported(event.error or {"message": event.message, "code": event.code})
        handler = _HANDLERS.get(name)
        if self._is_repeated(event.sequence_number, data) or handler is None:
            return ()
        event.type = name
        if event.delta != "":
            self.heard += 1
            self.flowing = name in _FLOWING
        return handler(self, event)

    def take_whole(self, body: bytes) -> Items:
        """Take an answer that came in one piece. Raises ModelError."""
        response = read_event(decode_response, body, self._failures)
        if response.error:
            raise self._failures.reported(response.error)
        return self._end(response) if str(response.status) in _ENDINGS else ()

    def finish(self) -> list[StreamItem]:
        """The calls that are left, and how it ended. Raises ModelError if it was cut."""
        if self._response is None:
            raise self._failures.cut()
        calls = self._calls.end_all()
        return [*calls, Finished(stop_reason=self._stop_reason(self._response), usage=read_usage(self._response))]

    def _take_done(self) -> Items:
        """OpenAI does not say this; where it comes without a last event, it ends an answer with nothing half done."""
        self.done = True
        if not self._calls.pending and (self._calls.told or self._text.heard or self._thoughts.heard):
            self._response = Response(status="completed")
        return ()

    def _is_repeated(self, number: object, data: bytes) -> bool:
        """Where a server counts its events, the same bytes are the same event sent twice."""
        if not isinstance(number, int):
            return False
        self._counts = self._counts or (self._number is not None and number != self._number)
        self._number = number
        mark = hash(data)
        if self._counts and mark in self._seen:
            return True
        self._seen.add(mark)
        return False

    def _take_text(self, event: Event) -> Items:
        delta = event.delta
        return (TextDelta(self._text.say(delta)),) if isinstance(delta, str) and delta else ()

    def _take_refusal(self, event: Event) -> Items:
        self._refused = True
        return self._take_text(event)

    def _take_summary(self, event: Event) -> Items:
        return self._think(event.delta, ("summary", event.summary_index))

    def _take_thought(self, event: Event) -> Items:
        return self._think(event.delta, ("text", event.content_index))

    def _think(self, delta: object, part: tuple[str, object]) -> Items:
        """Thoughts or their summary, whichever of an item comes first: both would tell the same twice."""
        if not isinstance(delta, str) or not delta:
            return ()
        if self._thoughts.begun and part != self._thoughts.part:
            if part[0] != self._thoughts.part[0]:
                return ()
            delta = BETWEEN_THOUGHTS + delta
        self._thoughts.part = part
        return (ReasoningDelta(self._thoughts.say(delta)),)

    def _take_arguments(self, event: Event) -> Items:
        self._calls.write(event)
        return ()

    def _begin_item(self, event: Event) -> Items:
        item = event.item
        if item is not None and item.type == "function_call":
            self._calls.begin(event, item)
        return self._mark(item) if item is not None and item.type == "message" else ()

    def _end_item(self, event: Event) -> Items:
        item = event.item
        if item is not None and item.type == "function_call":
            return self._calls.end(event, item)
        return self._take_item(item) if item is not None else ()

    def _take_item(self, item: Item) -> list[StreamItem]:
        """A whole message or reasoning item: what was not told in deltas, and the seal."""
        items: list[StreamItem] = []
        if item.type == "message":
            text, refused = said_in(item)
            self._refused = self._refused or refused
            items += self._mark(item)
            self._phase = ""
            if rest := self._text.rest(text):
                items.append(TextDelta(rest))
        elif item.type == "reasoning":
            if rest := self._thoughts.rest(thought_in(item)):
                items.append(ReasoningDelta(rest))
            if seal := seal_of(item):
                items.append(ReasoningSealed(seal))
        return items

    def _mark(self, item: Item) -> Items:
        """Some models want to be told again which of their words were said on the way and which are the answer."""
        phase = phase_of(item)
        if not phase or phase == self._phase or self._text.begun:
            return ()
        self._phase = phase
        return (ReasoningSealed(phase),)

    def _take_end(self, event: Event) -> Items:
        response = event.response or Response()
        if str(response.status) not in _ENDINGS:
            response.status = str(event.type).removeprefix("response.")
        return self._end(response)

    def _end(self, response: Response) -> Items:
        """The last event has the whole answer once more: what did not come before is taken from there."""
        if response.status in ("failed", "cancelled"):
            raise self._failures.reported(response.error or {"message": f"the server says that it {response.status}"})
        self.done, self._response = True, response
        listed = [item for item in response.output or () if item is not None]
        if any(item.type == "function_call" for item in listed):
            self._calls.drop_pending()
        told, items = self._calls.told, list[StreamItem]()
        heard = {"message": self._text.heard, "reasoning": self._thoughts.heard}
        for item in listed:
            if item.type == "function_call":
                told -= 1
                items += self._calls.end(Event(), item) if told < 0 else ()
            elif not heard.get(str(item.type), True):
                items += self._take_item(item)
        return items

    def _stop_reason(self, response: Response) -> StopReason:
        why = response.incomplete_details.reason if response.incomplete_details else None
        if self._refused or why == "content_filter":
            return "refusal"
        if response.status == "incomplete":
            return "max_tokens"
        return "tool_calls" if self._calls.told else "end_turn"


_HANDLERS: dict[str, Callable[[ResponsesAnswer, Event], Items]] = {
    "response.output_text.delta": ResponsesAnswer._take_text,
    "response.refusal.delta": ResponsesAnswer._take_refusal,
    "response.reasoning_summary_text.delta": ResponsesAnswer._take_summary,
    "response.reasoning_text.delta": ResponsesAnswer._take_thought,
    "response.function_call_arguments.delta": ResponsesAnswer._take_arguments,
    "response.function_call_arguments.done": ResponsesAnswer._take_arguments,
    "response.output_item.added": ResponsesAnswer._begin_item,
    "response.output_item.done": ResponsesAnswer._end_item,
    "response.completed": ResponsesAnswer._take_end,
    "response.incomplete": ResponsesAnswer._take_end,
    "response.failed": ResponsesAnswer._take_end,
    "response.cancelled": ResponsesAnswer._take_end,
}
"""What each kind of event does; all others do nothing."""
