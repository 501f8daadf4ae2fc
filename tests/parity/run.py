"""Run every scenario on one framework and write canonical results as JSON.

  python run.py --root google.adk --types google.genai.types --out golden.json
"""
import argparse
import asyncio
import fnmatch
import importlib.util
import json
import logging
import os
import sys
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from ns import Namespace, NamespaceMissing  # noqa: E402
from recorder import Recorder, canonicalise  # noqa: E402


def discover(base):
  """Yield (id, area, function) for every scenario in the folder, sorted by file."""
  for fn in sorted(os.listdir(base)):
    if not fn.endswith('.py') or fn.startswith('_'):
      continue
    area = fn[:-3]
    spec = importlib.util.spec_from_file_location(
        f'parity_scenarios_{area}', os.path.join(base, fn))
    mod = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = mod
    spec.loader.exec_module(mod)
    for name, fun in list(vars(mod).items()):
      if name.startswith('scenario_') and asyncio.iscoroutinefunction(fun):
        yield f'{area}/{name[9:]}', area, fun


async def run_one(fun, ns, timeout):
  rec = Recorder(ns)
  try:
    await asyncio.wait_for(fun(ns, rec), timeout)
    return await rec.result()
  except asyncio.TimeoutError:
    return {'error': {'type': 'ScenarioTimeout'}}
  except NamespaceMissing as e:
    return {'error': {'type': 'NamespaceMissing', 'name': str(e)}}
  except Exception as e:
    return canonicalise({'error': rec.error(e)})


def main():
  ap = argparse.ArgumentParser()
  ap.add_argument('--root', default='google.adk')
  ap.add_argument('--types', default='google.genai.types')
  ap.add_argument('--out')
  ap.add_argument('--only', default=None, help='glob or substring of the scenario id')
  ap.add_argument('--scenarios', default=os.path.join(HERE, 'scenarios'), help='folder of scenario files')
  ap.add_argument('--timeout', type=float, default=30)
  ap.add_argument('--repeat', type=int, default=1, help='check determinism over N runs')
  ap.add_argument('--show', action='store_true', help='print the result JSON')
  args = ap.parse_args()
  warnings.simplefilter('ignore')
  logging.disable(logging.CRITICAL)
  ns = Namespace(args.root, args.types)
  results, unstable, failed = {}, [], []
  for sid, _, fun in discover(args.scenarios):
    if args.only and not (fnmatch.fnmatch(sid, args.only) or args.only in sid):
      continue
    t = time.perf_counter()
    res = asyncio.run(run_one(fun, ns, args.timeout))
    for _ in range(args.repeat - 1):
      again = asyncio.run(run_one(fun, ns, args.timeout))
      if again != res:
        unstable.append(sid)
        break
    took = time.perf_counter() - t
    status = 'ERROR ' + json.dumps(res['error'])[:300] if 'error' in res else 'ok'
    if 'error' in res:
      failed.append(sid)
    if sid in unstable:
      status += ' UNSTABLE'
    raised = [i for i, tn in enumerate(res.get('turns', [])) if 'raised' in tn]
    if raised:
      status += ' (raises ' + ', '.join(res['turns'][i]['raised']['type'] for i in raised) + ')'
    print(f'{sid:70s} {took:6.2f}s {status}', flush=True)
    if args.show:
      print(json.dumps(res, indent=1, ensure_ascii=False))
    results[sid] = res
  if args.out:
    with open(args.out, 'w') as f:
      json.dump(results, f, indent=1, sort_keys=True, ensure_ascii=False)
      f.write('\n')
  print(f'{len(results)} scenarios, {len(failed)} errors, {len(unstable)} unstable')


if __name__ == '__main__':
  try:
    main()
  except BrokenPipeError:
    pass
