"""Compact, human-readable view of results.  python show.py golden.json [substring] [--requests]"""
import json
import sys


def part(p):
  if 'text' in p:
    return ('~' if p.get('thought') else '') + repr(p['text'])[:160]
  if 'function_call' in p:
    c = p['function_call']
    return f"CALL {c['name']}{json.dumps(c['args'], ensure_ascii=False)[:300]}#{c.get('id', '')}"
  if 'function_response' in p:
    c = p['function_response']
    return f"RESP {c['name']}{json.dumps(c['response'], ensure_ascii=False)[:200]}#{c.get('id', '')}"
  return json.dumps(p, ensure_ascii=False)[:160]


def event(e):
  rest = {k: v for k, v in e.items() if k not in ('author', 'content', 'invocation')}
  body = ' | '.join(part(p) for p in (e.get('content') or {}).get('parts', []))
  return f"{e.get('invocation', '')} {e['author']}: {body} {json.dumps(rest, ensure_ascii=False) if rest else ''}"


def main():
  data = json.load(open(sys.argv[1]))
  only = next((a for a in sys.argv[2:] if not a.startswith('--')), '')
  for sid, r in data.items():
    if only not in sid:
      continue
    print('==', sid)
    if 'error' in r:
      print('  ERROR', r['error'])
      continue
    for i, t in enumerate(r['turns']):
      print(f'  turn {i + 1}', ('RAISED ' + json.dumps(t['raised'])[:260]) if 'raised' in t else '')
      for e in t['events']:
        print('    ', event(e))
    if '--requests' in sys.argv:
      for q in r['requests']:
        print('  REQ', q['labels'].get('adk_agent_name'), '| SI:', repr(q.get('system_instruction'))[:400],
              '| tools:', [t['name'] for t in q.get('tools', [])])
        for c in q['contents']:
          print('      ', c['role'], ' | '.join(part(p) for p in c['parts']))
    for k, v in r['notes'].items():
      print('  note', k, json.dumps(v, ensure_ascii=False)[:400])
    for s in r['sessions']:
      if s:
        print('  state', json.dumps(s['state'], ensure_ascii=False)[:200], 'events', len(s['events']))


main()
