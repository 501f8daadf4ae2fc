"""What is known to differ between newel and the releases on random trees: each rule knows one difference.

A rule sees where a result and a release's first part, and says whether that is the difference it is about. What
comes behind that place is another run, of which nothing can be said. random_trees.md has the reasons.
"""
import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Parting:
  """Where the result of a plan first differs from a release's: a turn, and a position among its events."""

  plan: dict
  turn: int
  position: int
  ours: dict
  theirs: dict
  #: What the other releases have of this turn.
  others: tuple

  @property
  def said(self):
    """What the user's side did in this turn."""
    turns = self.plan['turns']
    begun = next((i for i, turn in enumerate(turns) if 'resume' not in turn), len(turns))
    return turns[begun:][self.turn]  # before there is anything to resume, nothing is said

  @property
  def our_event(self):
    return at(self.ours['events'], self.position)

  @property
  def their_event(self):
    return at(self.theirs['events'], self.position)

  @property
  def earlier(self):
    """Our events of the session before this place: theirs are the same."""
    return [event for turn in self.before for event in turn['events']] + self.ours['events'][:self.position]

  before: tuple = ()


def at(events, position):
  return events[position] if position < len(events) else None


def parting(plan, mine, theirs, others):
  """The Parting of two results, or None where their turns are the same."""
  for turn, (ours, release) in enumerate(zip(mine['turns'], theirs['turns'], strict=True)):
    if ours == release:
      continue
    pairs = zip(ours['events'], release['events'], strict=False)
    same = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(ours['events']), len(release['events'])))
    rest = tuple(other['turns'][turn] for other in others if 'turns' in other)
    return Parting(plan, turn, same, ours, release, rest, tuple(mine['turns'][:turn]))
  return None


# --- of plans ----------------------------------------------------------------


def nodes(node):
  """Every agent and node of a plan."""
  yield node
  for child in (*node.get('children', ()), *node.get('nodes', ()), *filter(None, [node.get('agent_tool')])):
    yield from nodes(child)


def has(event, name):
  """Whether an event has parts of that kind: function_call, function_response, text."""
  parts = (event or {}).get('content', {}).get('parts', ())
  return any(name in part for part in parts)


def names(event, kind):
  parts = (event or {}).get('content', {}).get('parts', ())
  return [part[kind]['name'] for part in parts if kind in part]


def texts(event):
  return [part['text'] for part in (event or {}).get('content', {}).get('parts', ()) if 'text' in part]


def raises(turn, *types):
  return turn.get('raised', {}).get('type') in types


def open_calls(events, name=None):
  """The ids of the calls among the events that have no result, but for the framework's own."""
  calls, answered = {}, set()
  for event in events:
    for part in event.get('content', {}).get('parts', ()):
      if 'function_call' in part:
        calls[part['function_call']['id']] = part['function_call']['name']
      if 'function_response' in part:
        answered.add(part['function_response']['id'])
  return [id_ for id_, called in calls.items()
          if id_ not in answered and name in (None, called) and not called.startswith('adk_')]


# --- the rules ---------------------------------------------------------------


def another_release(p):
  """Where the releases differ, newel is as one of them."""
  upto = p.ours['events'][:p.position + 1]
  return any(p.ours == other or (p.our_event is not None and upto == other['events'][:p.position + 1])
             for other in p.others)


def no_error_event(p):
  """2.1.0 gives an error event before an exception leaves the runner."""
  error = p.their_event
  return p.our_event is None and 'raised' in p.ours and error is not None and 'error_code' in error


def one_budget(p):
  """An agent as a tool has the budget of the invocation."""
  return p.plan['max_llm_calls'] and p.plan['family'] == 'tool' and raises(p.ours, 'LlmCallsLimitExceededError')


def own_exception(p):
  """A failing branch of a ParallelAgent raises its own exception."""
  return p.plan['parallel'] and raises(p.theirs, 'ExceptionGroup', 'BaseExceptionGroup') and 'raised' in p.ours


def stays_paused(p):
  """An invocation that waits is resumed by its id alone: it goes on waiting."""
  waits = any('adk_request_confirmation' in names(e, 'function_call') or e.get('long_running_tool_ids')
              for e in p.earlier)
  return 'resume' in p.said and waits and 'raised' not in p.ours and not has(p.our_event, 'function_call')


def call_is_shown(p):
  """With include_contents='none' a release loses the call of a result that comes in a later turn."""
  none = any(node.get('include') == 'none' for node in nodes(p.plan['root']))
  return none and 'answer' in p.said and raises(p.theirs, 'ValueError') and not raises(p.ours, 'ValueError')


def one_answer(p):
  """A second answer to a long-running call is refused, and one to a request for approval told that it is late."""
  if (p.our_event or {}).get('error_code') == 'ANSWERED_BEFORE':
    return True
  answers = [turn for turn in p.plan['turns'] if 'answer' in turn]
  return 'answer' in p.said and len(answers) > 1 and raises(p.ours, 'ValueError') and not p.ours['events']


def budget_goes_on(p):
  """A resumed invocation goes on with the budget that it has used."""
  return bool({'resume', 'answer'} & p.said.keys()) and p.our_event is None and (
      raises(p.ours, 'LlmCallsLimitExceededError'))


def goes_where_it_was_asked(p):
  """An answer goes on with the invocation that asked, whatever invocation is named; 1.24.1 fails."""
  return 'answer' in p.said and p.their_event is None and raises(p.theirs, 'ValueError') and p.our_event is not None


def runs_open_calls(p):
  """A resumed invocation runs the calls again that a failure left open."""
  return bool({'resume', 'answer'} & p.said.keys()) and bool(open_calls(p.earlier)) and (
      has(p.our_event, 'function_response') or (p.our_event is None and 'raised' in p.ours))


def has_ended(p):
  """An agent has ended where an `after_agent` callback's answer follows its end."""
  ends = [e for e in p.earlier if e.get('actions', {}).get('end_of_agent')]
  return 'resume' in p.said and bool(ends) and p.ours == {'events': []}


def several_texts(p):
  """An LLM agent in a graph may give several texts, of which the first is its output; 2.1.0 fails."""
  return p.plan['family'] == 'graph' and (p.their_event or {}).get('error_code') == 'ValueError' and (
      p.their_event['error_message'] == '<framework error>' and bool(texts(p.our_event)))


def call_without_result(p):
  """In a graph an LLM agent waits for a long-running call that has no result, whatever other calls have."""
  return p.plan['family'] == 'graph' and p.our_event is None and bool(open_calls(p.earlier, 'slow'))


def approval_counts(p):
  """2.1.0 loses an approval in a graph where another turn came between, and never runs the call."""
  return p.plan['family'] == 'graph' and 'answer' in p.said and names(p.our_event, 'function_response') == ['ask']


def node_is_noted(p):
  """In an app that resumes, a node that said nothing is noted as done, and not run again."""
  return p.plan['resumable'] and 'nodes' in ((p.our_event or {}).get('actions', {}).get('agent_state') or {})


RULES = (several_texts, call_without_result, approval_counts, node_is_noted, another_release, no_error_event,
         one_budget, own_exception, stays_paused, call_is_shown, goes_where_it_was_asked, one_answer, budget_goes_on,
         runs_open_calls, has_ended)


def after_run_fires(plan, mine, theirs):
  """`after_run` is called where a run failed, too: the notes without it are the same."""
  if 'after_run' not in (plan['plugin'] or {}):
    return False
  return without(mine, 'plugin.after_run') == without(theirs, 'plugin.after_run')


def without(result, *names):
  called = [one for one in result['notes'].get('called', ()) if one not in names]
  return {**result, 'notes': {**result['notes'], 'called': called}}


def before_run_is_an_event(plan, mine, theirs):
  """What `before_run` answers passes `on_event` as every event does; 1.24.1 leaves that out."""
  hooks = plan['plugin'] or {}
  if 'on_event' not in hooks or not hooks.get('before_run', '').startswith('answer'):
    return False
  hidden = 'plugin.on_event', 'plugin.after_run'
  return without(mine, *hidden) == without(theirs, *hidden)


def other_request(mine, theirs):
  """The first two requests that differ, or None."""
  pairs = zip(mine['requests'], theirs['requests'], strict=False)
  return next(((ours, release) for ours, release in pairs if ours != release), None)


def said_in(request):
  """The texts of a request."""
  return [text for content in request['contents'] for text in texts({'content': content})]


def no_message_for_input(plan, mine, theirs):
  """An agent behind a node without output answers the user's message; 2.1.0 tells it what the node said."""
  other = other_request(mine, theirs)
  if plan['family'] != 'graph' or other is None:
    return False
  shown, told = said_in(other[0])[-1:], said_in(other[1])
  events = [event for session in mine['sessions'] for event in session['events']]
  asked = [text for event in events if event['author'] == 'user' for text in texts(event)]
  earlier = [text for event in events if event['author'] != 'user' for text in texts(event)]
  return 'For context:' in told or (shown != told[-1:] and set(shown) <= set(asked) and set(told[-1:]) <= set(earlier))


def call_is_in_the_request(plan, mine, theirs):
  """With include_contents='none' the result of a call is shown with the call."""
  other = other_request(mine, theirs)
  none = any(node.get('include') == 'none' for node in nodes(plan['root']))
  return none and other is not None and (
      len(other[0]['contents']) > len(other[1]['contents'])
      or ('called tool' in json.dumps(other[0]['contents']) and len(other[0]['contents']) == len(other[1]['contents'])))


def answer_is_for_its_asker(plan, mine, theirs):
  """What the user answers to a call of one agent is no message to another one; 2.1.0 reports it to that."""
  other = other_request(mine, theirs)
  return other is not None and len(other[1]['contents']) == len(other[0]['contents']) + 1 and any(
      text.startswith('[user] ') for text in said_in(other[1]))


#: Of results whose turns are the same.
SAME_TURNS = (after_run_fires, before_run_is_an_event, no_message_for_input, call_is_in_the_request,
              answer_is_for_its_asker)

#: Every rule there is.
KNOWN = (*RULES, *SAME_TURNS)


def explain(plan, mine, releases):
  """The names of the rules that know how `mine` differs from each of the releases, or None where one is not known."""
  if 'turns' not in mine or any('turns' not in release for release in releases):
    return None
  found = []
  for theirs in releases:
    others = [release for release in releases if release is not theirs]
    place = parting(plan, mine, theirs, others)
    if place is None:
      rule = next((rule for rule in SAME_TURNS if rule(plan, mine, theirs)), None)
    else:
      rule = next((rule for rule in RULES if rule(place)), None)
    if rule is None:
      return None
    found.append(rule.__name__)
  return found
