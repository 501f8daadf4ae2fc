"""The scripts of the gates of limits: each is one step of Redis, by its own clock.

A gate has eight keys. A ticket is in (`inside`, with the end of its lease, and `since`), in the line with its number
(`line`, `near` too if it is not away, and `until`, when it is expected at the latest), or overdue (`overdue`, since
when): that one keeps its number for a while, and nobody waits for it.
"""

from __future__ import annotations

from newel.limits.gates import FORGOTTEN

#: The names of a gate's keys, in the order in which the scripts take them.
KEYS = ("gate", "inside", "since", "line", "near", "until", "numbers", "overdue")
#: For how long the keys of a gate are kept that nobody comes to, in seconds: longer than any lease or wait.
_KEPT = 86_400
_HEAD = f"""
local gate, inside, since, line, near, due, numbers, overdue = unpack(KEYS)
local ticket = ARGV[1]
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local function text(number) return string.format('%.17g', number) end
local function kept() for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, {_KEPT:d}) end end
local function out_of_line(one)
  for _, key in ipairs({{line, near, due}}) do redis.call('ZREM', key, one) end
end
local function into_line(one, number, seconds, away)
  redis.call('ZREM', overdue, one)
  redis.call('ZADD', line, number, one)
  redis.call('ZADD', due, text(now + seconds), one)
  if away then redis.call('ZREM', near, one) else redis.call('ZADD', near, number, one) end
end
local function clear()
  for _, one in ipairs(redis.call('ZRANGEBYSCORE', inside, '-inf', text(now))) do
    redis.call('ZREM', inside, one)
    redis.call('HDEL', since, one)
  end
  local late = redis.call('ZRANGEBYSCORE', due, '-inf', text(now), 'WITHSCORES')
  for at = 1, #late, 2 do
    out_of_line(late[at])
    redis.call('ZADD', overdue, late[at + 1], late[at])
  end
  for _, one in ipairs(redis.call('ZRANGEBYSCORE', overdue, '-inf', text(now - {FORGOTTEN:g}))) do
    redis.call('ZREM', overdue, one)
    redis.call('HDEL', numbers, one)
  end
end
"""
#: Go in (ticket, limit, lease), or be at the gate for some seconds (grace). Returns whether it is in, and if not, how
#: many are in or before it, how many of those are not away, and in microseconds how long one is in, and for how long
#: the last one has been.
ENTER = f"""{_HEAD}
local limit, lease, grace = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
clear()
if redis.call('ZSCORE', inside, ticket) then
  redis.call('ZADD', inside, text(now + lease), ticket)
  kept()
  return {{1}}
end
local number = redis.call('HGET', numbers, ticket)
if not number then
  number = redis.call('HINCRBY', gate, 'following', 1)
  redis.call('HSET', numbers, ticket, number)
end
local inner, before = redis.call('ZCARD', inside), '(' .. number
local present = inner + redis.call('ZCOUNT', near, '-inf', before)
if present < limit then
  out_of_line(ticket)
  redis.call('ZREM', overdue, ticket)
  redis.call('HDEL', numbers, ticket)
  redis.call('ZADD', inside, text(now + lease), ticket)
  redis.call('HSET', since, ticket, text(now))
  kept()
  return {{1}}
end
if not redis.call('ZSCORE', line, ticket) then into_line(ticket, number, grace, false) end
local youngest = 0
for _, began in ipairs(redis.call('HVALS', since)) do youngest = math.max(youngest, tonumber(began)) end
if youngest > 0 then youngest = math.floor(math.max(now - youngest, 0) * 1000000) end
kept()
local average = tonumber(redis.call('HGET', gate, 'average') or 0)
return {{0, inner + redis.call('ZCOUNT', line, '-inf', before), present, average, youngest}}
"""
#: Wait (ticket) for so many seconds, away or not (1 or 0); nothing, if it has left or gone in meanwhile.
WAIT = f"""{_HEAD}
local number = redis.call('HGET', numbers, ticket)
if number then into_line(ticket, number, tonumber(ARGV[2]), ARGV[3] == '1') end
"""
#: Stay in (ticket, lease): whether it was.
RENEW = f"""{_HEAD}
clear()
if not redis.call('ZSCORE', inside, ticket) then return 0 end
redis.call('ZADD', inside, text(now + tonumber(ARGV[2])), ticket)
kept()
return 1
"""
#: Go out (ticket), in two steps, since how long one is in is reckoned in between: in microseconds how long this one
#: was, and how long the others were; nothing if it was not in.
LEAVE = f"""{_HEAD}
local began = redis.call('HGET', since, ticket)
local average = tonumber(redis.call('HGET', gate, 'average') or 0)
redis.call('ZREM', inside, ticket)
redis.call('HDEL', since, ticket)
out_of_line(ticket)
redis.call('ZREM', overdue, ticket)
redis.call('HDEL', numbers, ticket)
if not began then return {{}} end
return {{math.floor(math.max(now - tonumber(began), 0) * 1000000), average}}
"""
MEASURE = f"""{_HEAD}
redis.call('HSET', gate, 'average', ARGV[2])
kept()
"""
#: Take the next time at so many per second (rate), if it is soon enough (most): its microseconds from now.
PACE = f"""{_HEAD}
local free = math.max(tonumber(redis.call('HGET', gate, 'free') or 0), now)
if free - now > tonumber(ARGV[3]) then return -1 end
redis.call('HSET', gate, 'free', text(free + 1 / tonumber(ARGV[2])))
kept()
return math.floor((free - now) * 1000000)
"""
