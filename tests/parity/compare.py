"""Compare two result files scenario by scenario.  Exit code is always 0.

  python compare.py golden.json other.json [--areas] [--strict] [--quiet]
"""
import argparse
import json


def strip_soft(v):
  if isinstance(v, dict):
    return {k: strip_soft(x) for k, x in v.items() if not k.startswith('_')}
  if isinstance(v, list):
    return [strip_soft(x) for x in v]
  return v


def short(v, n=110):
  s = json.dumps(v, ensure_ascii=False, sort_keys=True)
  return s if len(s) <= n else s[:n - 3] + '...'


def first_diff(a, b, path=''):
  """First difference as (path, left, right), or None."""
  if type(a) is not type(b) and not (
      isinstance(a, (int, float)) and isinstance(b, (int, float))):
    return path, a, b
  if isinstance(a, dict):
    for k in sorted(set(a) | set(b)):
      if k not in a:
        return f'{path}.{k}', '<absent>', b[k]
      if k not in b:
        return f'{path}.{k}', a[k], '<absent>'
      d = first_diff(a[k], b[k], f'{path}.{k}')
      if d:
        return d
    return None
  if isinstance(a, list):
    for i, (x, y) in enumerate(zip(a, b)):
      d = first_diff(x, y, f'{path}[{i}]')
      if d:
        return d
    if len(a) != len(b):
      i = min(len(a), len(b))
      return (f'{path}[{i}] (lengths {len(a)} vs {len(b)})',
              a[i] if i < len(a) else '<absent>', b[i] if i < len(b) else '<absent>')
    return None
  if isinstance(a, str) and a != b:
    i = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    if i > 40:
      return path, '…' + a[i - 30:], '…' + b[i - 30:]
  return None if a == b else (path, a, b)


# Order in which result sections are examined (most telling first).
_SECTIONS = ('error', 'turns', 'requests', 'notes', 'sessions')


def diff(a, b):
  for s in _SECTIONS:
    if (s in a) != (s in b):
      return f'.{s}', a.get(s, '<absent>'), b.get(s, '<absent>')
    if s in a:
      d = first_diff(a[s], b[s], f'.{s}')
      if d:
        return d
  return None


def main():
  ap = argparse.ArgumentParser()
  ap.add_argument('golden')
  ap.add_argument('other')
  ap.add_argument('--areas', action='store_true', help='summary table per area')
  ap.add_argument('--strict', action='store_true', help='also compare soft (_) keys')
  ap.add_argument('--quiet', action='store_true', help='print only differing scenarios')
  ap.add_argument('--only', default='')
  args = ap.parse_args()
  with open(args.golden) as f:
    g = json.load(f)
  with open(args.other) as f:
    o = json.load(f)
  disputed = 0
  table, counts = {}, {'same': 0, 'different': 0, 'missing': 0}
  for sid in sorted(g):
    if args.only not in sid:
      continue
    area = sid.split('/', 1)[0]
    row = table.setdefault(area, {'same': 0, 'different': 0, 'missing': 0})
    if sid not in o:
      verdict, detail = 'missing', ''
    else:
      a, b = g[sid], o[sid]
      if not args.strict:
        a, b = strip_soft(a), strip_soft(b)
      d = diff(a, b)
      verdict = 'different' if d else 'same'
      detail = f'{d[0]}\n      - {short(d[1])}\n      + {short(d[2])}' if d else ''
      if d and b.get('error', {}).get('type') == 'NamespaceMissing':
        verdict, detail = 'missing', 'no public name ' + b['error']['name']
    tags = g[sid].get('_contradicts') or []
    if tags and verdict == 'different':
      disputed += 1
      detail += '\n      (reference contradicts the specification: ' + '; '.join(tags) + ')'
    row[verdict] += 1
    counts[verdict] += 1
    if not (args.quiet and verdict == 'same'):
      print(f'{verdict:9s} {sid}' + (f'\n    {detail}' if detail else ''))
  extra = sorted(s for s in set(o) - set(g) if args.only in s)
  for sid in extra:
    print(f'extra     {sid}')
  if args.areas:
    print(f'\n{"area":24s} {"same":>5s} {"diff":>5s} {"miss":>5s}')
    for area, r in sorted(table.items()):
      print(f'{area:24s} {r["same"]:5d} {r["different"]:5d} {r["missing"]:5d}')
  total = sum(counts.values())
  print(f'\n{counts["same"]}/{total} same, {counts["different"]} different, '
        f'{counts["missing"]} missing'
        + (f' ({disputed} of the different ones are disputed by the specification)' if disputed else ''))


if __name__ == '__main__':
  main()
