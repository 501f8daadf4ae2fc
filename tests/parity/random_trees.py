"""Random trees of agents, run on any package with the public names of `google.adk`, and compared.

  python random_trees.py run --root google.adk --types google.genai.types --seeds 0:3000 --out 2.1.0.jsonl
  NEWEL_DISTRIBUTION=adk python random_trees.py run --root newel --types newel.types --seeds 0:3000 --out mine.jsonl
  python random_trees.py compare mine.jsonl 1.24.1.jsonl 2.1.0.jsonl

A seed makes a plan of plain data (a tree, scripts, callbacks, a plugin, tools, messages), the same on every package;
the plan is run, and what `recorder.py` saw of it is one line of the output. `compare` counts the seeds whose result
is none of the releases' by what is known of that (random_known.py, random_trees.md), and prints the rest, grouped by
where they differ first.
"""
import argparse
import asyncio
import collections
import json
import logging
import os
import random
import re
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import random_known as known  # noqa: E402
from compare import diff, short, strip_soft  # noqa: E402
from ns import Namespace, NamespaceMissing  # noqa: E402
from recorder import Recorder, canonicalise  # noqa: E402

#: From this seed on the plans are graphs, which 2.1.0 has and 1.24.1 does not.
GRAPHS = 100_000
TOOLS = ('add', 'save', 'read', 'fail', 'slow', 'ask', 'quiet')


# --- plans: plain data -------------------------------------------------------


class Planner:
  """Makes the plan of a seed."""

  def __init__(self, seed):
    self.rng = random.Random(seed)
    self.graphs = seed >= GRAPHS
    self.names = []
    self.parallel = False

  def plan(self):
    rng = self.rng
    family = 'graph' if self.graphs else rng.choices(('tree', 'team', 'tool', 'resumable'), (4, 3, 1, 2))[0]
    if family == 'team':
      root = self.team(rng.randint(1, 2))
    elif family == 'graph':
      root = self.graph(rng.randint(0, 1))
    elif family == 'tool':
      root = self.llm(tools=True)
      root['agent_tool'] = self.llm(tools=rng.random() < 0.5)
      root['script'].insert(0, {'calls': [[root['agent_tool']['name'], {'request': 'do it'}]]})
    else:
      root = self.tree(rng.randint(0, 2), last=True)
    turns = [self.message(family) for _ in range(1 if self.parallel else rng.randint(1, 3))]
    made = {
        'family': family, 'root': root, 'turns': turns, 'parallel': self.parallel,
        'resumable': family == 'resumable' or (self.graphs and rng.random() < 0.3),
        'plugin': self.plugin() if rng.random() < 0.3 else None,
        'state': {'who': 'ada', 'n': 1} if rng.random() < 0.5 else {},
        'max_llm_calls': rng.choice((None, None, None, 2, 3)),
        'metadata': {'k': 'v'} if rng.random() < 0.1 else None,
        'sse': rng.random() < 0.15,
    }
    if self.graphs:  # what 2.1.0 leaves out for a root that is a graph
      made['metadata'] = None
      made['turns'] = [{**turn, 'delta': None} if 'text' in turn else turn for turn in turns]
      made['plugin'] = {hook: mode for hook, mode in (made['plugin'] or {}).items()
                        if hook not in ('before_run', 'after_run', 'on_user_message')} or None
    return made

  def message(self, family):
    rng = self.rng
    if rng.random() < 0.25:
      return {'answer': rng.random() < 0.6}
    if family == 'resumable' and rng.random() < 0.2:
      return {'resume': True}
    return {'text': rng.choice(('hi', 'go on', 'what is {who}?', ''))  or 'hello',
            'delta': {'d': rng.randint(0, 3)} if rng.random() < 0.15 else None}

  def name(self):
    name = f'agent_{len(self.names)}'
    self.names.append(name)
    return name

  def tree(self, depth, last):
    rng = self.rng
    kind = 'llm' if depth == 0 else rng.choices(('llm', 'seq', 'loop', 'par'), (2, 4, 3, 2 if last else 0))[0]
    if kind == 'llm':
      return self.llm(tools=True)
    node = {'kind': kind, 'name': self.name(), 'callbacks': self.callbacks(agent_only=True)}
    count = rng.randint(1, 3)
    if kind == 'par':
      self.parallel = True
      node['children'] = [self.llm(tools=False) for _ in range(count)]
    else:
      node['children'] = [self.tree(depth - 1, last and kind == 'seq' and i == count - 1) for i in range(count)]
    if kind == 'loop':
      node['max_iterations'] = rng.randint(1, 3)
    return node

  def graph(self, depth):
    """A chain of nodes, one of which may choose between two others, ask the user, or be a graph itself."""
    rng = self.rng
    weights = {'text': 5, 'state': 3, 'agent': 4, 'route': 3, 'ask': 2, 'fail': 1, 'graph': 2}
    kinds = rng.choices(list(weights), list(weights.values()), k=rng.randint(1, 4))
    nodes = []
    for kind in kinds:
      node = {'kind': kind, 'name': f'node_{len(self.names)}'}
      self.names.append(node['name'])
      if kind == 'agent':
        node = {**self.llm(tools=rng.random() < 0.6), 'output_key': None}
        node['script'] = [step for step in node['script'] if 'raises' not in step]
      elif kind == 'graph':
        node = self.graph(depth - 1) if depth else {**node, 'kind': 'text'}
      elif kind == 'route':
        node['routes'] = [f'{node["name"]}_a', f'{node["name"]}_b']
        node['goes'] = [rng.choice((0, 1, 2)) for _ in range(4)]
        node['default'] = rng.random() < 0.5
      nodes.append(node)
      if kind == 'route':
        break
    name = f'graph_{len(self.names)}'
    self.names.append(name)
    return {'kind': 'graph', 'name': name, 'nodes': nodes}

  def team(self, depth):
    node = self.llm(tools=True)
    rng = self.rng
    node['children'] = [self.team(depth - 1) if depth > 1 and rng.random() < 0.5 else self.llm(tools=True)
                        for _ in range(rng.randint(1, 2))]
    for child in node['children']:
      child['stay'] = rng.random() < 0.2
      child['no_peers'] = rng.random() < 0.2
    # Names are known once the tree is: a transfer may go to anyone, up, down or aside.
    node['script'].insert(rng.randint(0, 1), {'transfer': rng.choice(node['children'])['name']})
    return node

  def llm(self, tools):
    rng = self.rng
    own = rng.sample(TOOLS, rng.randint(0, 4)) if tools else []
    node = {
        'kind': 'llm', 'name': self.name(), 'tools': own, 'callbacks': self.callbacks(),
        'script': [self.step(own) for _ in range(rng.randint(2, 6))],
        'instruction': rng.choice(('', 'Be {who?}.', 'n is {n?} and {d?}.', 'Plain words.', 'Say {missing?} nothing.')),
        'description': rng.choice(('', 'Does things.')),
        'output_key': rng.choice((None, None, 'out', 'who')),
        'include': rng.choice(('default', 'default', 'default', 'none')),
    }
    if self.parallel and not tools:
      node['output_key'] = None
    return node

  def step(self, tools):
    rng = self.rng
    roll = rng.random()
    if tools and roll < 0.5:
      count = rng.choices((1, 2), (4, 1))[0]
      return {'calls': [[name, self.args(name)] for name in (rng.choice(tools) for _ in range(count))],
              'text': 'calling' if rng.random() < 0.2 else None}
    if roll < 0.55:
      return {'chunks': ['on', 'ce ', 'more']}
    if roll < 0.58:
      return {'failure': ['OOPS', 'it failed']}
    if roll < 0.6:
      return {'raises': 'own: model down'}
    if roll < 0.64:
      return {'thought': 'hm', 'text': 'well'}
    return {'text': f'said {rng.randint(0, 99)}'}

  def args(self, name):
    key = self.rng.choice(('who', 'n', 'temp:t', 'user:u'))
    number = self.rng.randint(0, 9)
    return {'add': {'a': number, 'b': 1}, 'save': {'key': key}, 'ask': {'path': '/x'}}.get(name, {})

  def callbacks(self, agent_only=False):
    rng = self.rng
    hooks = ['before_agent', 'after_agent']
    if not agent_only:
      hooks += ['before_model', 'after_model', 'before_tool', 'after_tool']
    return {hook: rng.choice(('note', 'state', 'answer', 'answer_second', 'raise')) if rng.random() < 0.9 else 'note'
            for hook in hooks if rng.random() < 0.12}

  def plugin(self):
    rng = self.rng
    return {hook: rng.choice(('note', 'note', 'answer', 'answer_second')) for hook in (
        'before_agent', 'after_agent', 'before_model', 'after_model', 'before_tool', 'after_tool', 'on_event',
        'on_user_message', 'before_run', 'after_run', 'on_tool_error', 'on_model_error') if rng.random() < 0.3}


# --- plans, run --------------------------------------------------------------


class Builder:
  """Builds what a plan says on a package, and runs it."""

  def __init__(self, ns, rec, plan):
    self.ns, self.rec, self.plan = ns, rec, plan
    rec.unordered = plan['parallel']
    rec.mention('own:')
    rec.mask_tools('slow')

  def content(self, text):
    t = self.ns.types
    return t.Content(role='model', parts=[t.Part(text=text)])

  def behave(self, label, mode, answer, write=None):
    """What a callback does: note that it was called, write to the state, answer always or the second time, raise."""
    count = [0]

    def act(context=None):
      count[0] += 1
      if not self.plan['parallel']:
        self.rec.note('called', label)
      if mode == 'state' and context is not None:
        context.state['cb'] = label
      if mode == 'raise' and count[0] == 2:
        raise ValueError('own: ' + label)
      if mode == 'answer' or (mode == 'answer_second' and count[0] == 2):
        return answer()
      return None
    return act

  def callbacks(self, node):
    rec, name = self.rec, node['name']
    made = {}
    for hook, mode in node['callbacks'].items():
      label = f'{name}.{hook}'
      if hook in ('before_agent', 'after_agent'):
        act = self.behave(label, mode, lambda label=label: self.content('from ' + label))
        made[hook + '_callback'] = lambda callback_context, act=act: act(callback_context)
      elif hook == 'before_model':
        act = self.behave(label, mode, lambda label=label: rec.text('from ' + label))
        made['before_model_callback'] = lambda callback_context, llm_request, act=act: act(callback_context)
      elif hook == 'after_model':
        act = self.behave(label, mode, lambda label=label: rec.text('from ' + label))
        made['after_model_callback'] = lambda callback_context, llm_response, act=act: act(callback_context)
      elif hook == 'before_tool':
        act = self.behave(label, mode, lambda label=label: {'from': label})
        made['before_tool_callback'] = lambda tool, args, tool_context, act=act: act(tool_context)
      else:
        act = self.behave(label, mode, lambda label=label: {'from': label})
        made['after_tool_callback'] = lambda tool, args, tool_context, tool_response, act=act: act(tool_context)
    return made

  def tools(self, names):
    ns = self.ns

    def add(a: int, b: int) -> dict:
      """Add two numbers."""
      return {'sum': a + b}

    def save(key: str, tool_context: ns.ToolContext) -> dict:
      """Save a key."""
      tool_context.state[key] = 'saved'
      return {'saved': key}

    def read(tool_context: ns.ToolContext) -> dict:
      """Read the state."""
      return {'state': sorted(tool_context.state.to_dict())}

    def fail() -> dict:
      """Fail."""
      raise ValueError('own: tool failed')

    def slow() -> None:
      """Start something that takes long."""
      return None

    def ask(path: str) -> dict:
      """Do something that needs approval."""
      return {'did': path}

    def quiet() -> None:
      """Return nothing."""
      return None

    plain = {'add': add, 'save': save, 'read': read, 'fail': fail, 'quiet': quiet}
    made = {'slow': lambda: ns.LongRunningFunctionTool(func=slow),
            'ask': lambda: ns.FunctionTool(func=ask, require_confirmation=True)}
    return [plain[name] if name in plain else made[name]() for name in names]

  def response(self, step):
    rec, t = self.rec, self.ns.types
    if 'calls' in step:
      return rec.calls(*[(name, dict(args)) for name, args in step['calls']], text=step.get('text'))
    if 'transfer' in step:
      return rec.call('transfer_to_agent', {'agent_name': step['transfer']})
    if 'chunks' in step:
      return [*(rec.partial(piece) for piece in step['chunks']), rec.text(''.join(step['chunks']))]
    if 'failure' in step:
      return rec.failure(*step['failure'])
    if 'raises' in step:
      return ValueError(step['raises'])
    if 'thought' in step:
      return rec.parts(t.Part(text=step['thought'], thought=True), t.Part(text=step['text']))
    return step['text']

  def agent(self, node):
    ns, kind = self.ns, node['kind']
    children = [self.agent(child) for child in node.get('children', ())]
    if kind != 'llm':
      made = {'seq': ns.SequentialAgent, 'par': ns.ParallelAgent, 'loop': ns.LoopAgent}[kind]
      extra = {'max_iterations': node['max_iterations']} if kind == 'loop' else {}
      return made(name=node['name'], sub_agents=children, **extra, **self.callbacks(node))
    tools = self.tools(node['tools'])
    if 'agent_tool' in node:
      tools.append(ns.AgentTool(agent=self.agent(node['agent_tool'])))
    options = {'disallow_transfer_to_parent': True} if node.get('stay') else {}
    if node.get('no_peers'):
      options['disallow_transfer_to_peers'] = True
    if node['output_key']:
      options['output_key'] = node['output_key']
    return self.rec.agent(
        node['name'], *[self.response(step) for step in node['script']], tools=tools, sub_agents=children,
        instruction=node['instruction'], description=node['description'], include_contents=node['include'],
        **options, **self.callbacks(node))

  def graph(self, plan):
    ns = self.ns
    nodes, edges = [], []
    for node in plan['nodes']:
      kind = node['kind']
      made = (self.graph(node) if kind == 'graph' else self.agent(node) if kind == 'llm'
              else self.node(node['name'], kind, node))
      nodes.append(made)
      if kind == 'route':
        ends = [self.node(name, 'text', node) for name in node['routes']]
        routes = dict(zip(('a', 'b'), ends, strict=True))
        if node['default']:
          routes[ns.DEFAULT_ROUTE] = routes.pop('b')
        nodes.append(routes)
    edges.append(('START', *nodes))
    return ns.Workflow(name=plan['name'], edges=edges)

  def node(self, name, kind, plan):
    """A function node; it notes its input."""
    rec, ns, count = self.rec, self.ns, [0]

    def text(node_input):
      rec.note('called', name)
      return f'{name}({node_input if isinstance(node_input, str) else "?"})'

    def state(ctx, node_input):
      rec.note('called', name)
      ctx.state[name] = 'written'
      return node_input

    def route(ctx, node_input):
      rec.note('called', name)
      ctx.route = ('a', 'b', 'c')[plan['goes'][count[0] % 4]]
      count[0] += 1
      return node_input

    def fail(node_input):
      rec.note('called', name)
      count[0] += 1
      if count[0] == 1:
        raise ValueError('own: ' + name)
      return node_input

    async def ask(node_input):
      rec.note('called', name)
      yield ns.RequestInput(interrupt_id='ask-' + name, message='own: which?')

    made = {'text': text, 'state': state, 'route': route, 'fail': fail, 'ask': ask}[kind]
    return ns.FunctionNode(func=made, name=name)

  def plugin(self, hooks):
    rec, ns = self.rec, self.ns
    answers = {
        'before_agent': lambda: self.content('plugin agent'), 'after_agent': lambda: self.content('plugin after'),
        'before_model': lambda: rec.text('plugin model'), 'after_model': lambda: rec.text('plugin after model'),
        'before_tool': lambda: {'plugin': 1}, 'after_tool': lambda: {'plugin': 2},
        'on_tool_error': lambda: {'plugin': 'error'}, 'on_model_error': lambda: rec.text('plugin saved it'),
        'before_run': lambda: self.content('plugin run'), 'on_user_message': lambda: rec.user('rewritten'),
    }
    methods = {}
    for hook, mode in hooks.items():
      act = self.behave('plugin.' + hook, mode, answers.get(hook, lambda: None))

      async def method(self_, act=act, **keywords):
        return act()
      methods[hook + '_callback'] = method
    return type('Watcher', (ns.BasePlugin,), methods)(name='watcher')

  async def run(self):
    ns, rec, plan = self.ns, self.rec, self.plan
    root = self.graph(plan['root']) if plan['family'] == 'graph' else self.agent(plan['root'])
    plugins = [self.plugin(plan['plugin'])] if plan['plugin'] is not None else []
    config = {}
    if plan['max_llm_calls']:
      config['max_llm_calls'] = plan['max_llm_calls']
    if plan['metadata']:
      config['custom_metadata'] = plan['metadata']
    if plan['sse']:
      config['streaming_mode'] = ns.StreamingMode.SSE
    resumability = ns.ResumabilityConfig(is_resumable=True) if plan['resumable'] else None
    app = ns.App(name='parity', root_agent=root, plugins=plugins, resumability_config=resumability)
    chat = await rec.chat(app=app, state=plan['state'], run_config=ns.RunConfig(**config) if config else None)
    for turn in plan['turns']:
      await self.say(chat, turn)

  async def say(self, chat, turn):
    """One message; an answer goes to the latest call that waits, if there is one."""
    if 'answer' in turn:
      waiting = [call for event in chat.events for call in event.get_function_calls()
                 if call.id in (event.long_running_tool_ids or ())]
      call = waiting[-1] if waiting else None
      if call is None:
        await chat.say('no question')
        return
      reply = {'confirmed': turn['answer']} if call.name == 'adk_request_confirmation' else {'result': 'ready'}
      more = {'invocation_id': chat.last_invocation()} if self.plan['resumable'] else {}
      await chat.send(self.rec.reply(call.name, reply, call.id), **more)
    elif 'resume' in turn:
      if chat.events:
        await chat.send(None, invocation_id=chat.last_invocation())
    else:
      more = {'state_delta': turn['delta']} if turn['delta'] else {}
      await chat.say(turn['text'], **more)


async def run_seed(seed, ns, timeout=20):
  """What a package makes of the plan of a seed."""
  plan = Planner(seed).plan()
  rec = Recorder(ns)
  try:
    await asyncio.wait_for(Builder(ns, rec, plan).run(), timeout)
    result = await rec.result()
  except TimeoutError:
    result = {'error': {'type': 'ScenarioTimeout'}}
  except NamespaceMissing as e:
    result = {'error': {'type': 'NamespaceMissing', 'name': str(e)}}
  except Exception as e:
    result = canonicalise({'error': rec.error(e)})
  return strip_soft(result)


# --- the command line --------------------------------------------------------


def read(path):
  """Seed -> result, of a file of lines."""
  with open(path, encoding='utf-8') as file:
    return {int(seed): result for seed, result in map(json.loads, file)}


def difference(mine, releases):
  """Where a result is none of the releases': the differences to each, or None."""
  found = [diff(release, mine) for release in releases]
  return None if None in found else found


def shape(path):
  """A path without positions: what differences have in common."""
  return re.sub(r'\[\d+\]( \(lengths.*)?', lambda m: '[]' + (' length' if m.group(1) else ''), path)


def compare(args):
  mine = read(args.files[0])
  releases = [read(path) for path in args.files[1:]]
  groups, counts = collections.defaultdict(list), collections.Counter()
  for seed, result in sorted(mine.items()):
    theirs = [release[seed] for release in releases if seed in release]
    found = difference(result, theirs)
    reasons = known.explain(Planner(seed).plan(), result, theirs) if found else None
    if reasons:
      counts[' | '.join(reasons)] += 1
    elif found:
      groups[' | '.join(shape(where) for where, _, _ in found)].append((seed, found))
  for path, cases in sorted(groups.items(), key=lambda pair: -len(pair[1])):
    print(f'{len(cases):5d}  {path}')
    for seed, found in cases[:args.show]:
      for where, theirs, ours in found:
        print(f'       seed {seed} {where}\n         - {short(theirs)}\n         + {short(ours)}')
  for reasons, count in counts.most_common():
    print(f'{count:5d}  known: {reasons}')
  different = sum(map(len, groups.values()))
  same = len(mine) - different - counts.total()
  print(f'{same}/{len(mine)} seeds are as in a release, {counts.total()} differ as known, {different} as is not known')


def main():
  ask = argparse.ArgumentParser()
  commands = ask.add_subparsers(required=True, dest='command')
  run = commands.add_parser('run')
  run.add_argument('--root', default='newel')
  run.add_argument('--types', default='newel.types')
  run.add_argument('--seeds', default='0:100', help='first:end')
  run.add_argument('--out', required=True)
  run.add_argument('--plan', action='store_true', help='print the plans instead')
  both = commands.add_parser('compare')
  both.add_argument('files', nargs='+', help='newel\'s, then the releases\'')
  both.add_argument('--show', type=int, default=2)
  args = ask.parse_args()
  if args.command == 'compare':
    compare(args)
    return
  warnings.simplefilter('ignore')
  logging.disable(logging.CRITICAL)
  first, end = map(int, args.seeds.split(':'))
  ns = Namespace(args.root, args.types)
  with open(args.out, 'w', encoding='utf-8') as file:
    for seed in range(first, end):
      if args.plan:
        print(seed, json.dumps(Planner(seed).plan()))
        continue
      file.write(json.dumps([seed, asyncio.run(run_seed(seed, ns))], sort_keys=True, ensure_ascii=False) + '\n')


if __name__ == '__main__':
  main()
