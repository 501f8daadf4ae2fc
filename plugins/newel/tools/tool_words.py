"""Tool words: what a search for tools leaves out of a query, and which words mean the same in the names of tools."""

from __future__ import annotations

from collections.abc import Iterable

#: Words that are in any query and say nothing of a tool.
_COMMON = """
a about all an and any anyone are as at be been by can could did do does down due each for from give given had has have
her his how i if in into is it its me my need new now of on one or our out over own please she should so some someone
something than that the their them there these they this to under up us use using want was we were what when where
which who whose why will with without would you your three two still
"""
COMMON = frozenset(_COMMON.split())
#: Each line: words that people and the names of tools use for the same.
_ALIKE = """
add create make new insert put append write compose draft open
delete remove erase trash discard drop bin clear purge
get read fetch retrieve show view see look details describe check
list all overview enumerate browse history
update edit change modify set correct adjust rename fix
find search look locate query lookup grep
send deliver dispatch notify post email mail
cancel void abort revoke withdraw
stop halt shutdown shut terminate
start run trigger launch kick execute begin
restart reboot reset
move transfer relocate
assign reassign allocate
approve accept confirm
reject decline deny
merge combine deduplicate
schedule reschedule plan book reserve
email mail message inbox
issue ticket bug task
meeting appointment event calendar
parcel package shipment delivery shipping ship
vm machine instance server compute
customer client buyer contact
prospect lead contact
employee staff worker colleague person people
salary pay raise wage compensation
invoice bill
overdue late unpaid outstanding
refund money reimburse
product item article goods
stock inventory quantity availability
store shop webshop
warehouse depot
repository repo git source code codebase
commit commits log history changes
pull request pr merge
pipeline build ci
deploy release rollout
document documentation doc page wiki
picture image photo
file document attachment
folder directory
holiday vacation leave pto absence
weather temperature forecast sunny warm rain
route directions path
address place location
altitude elevation height
distance travel time
backup snapshot dump
metric metrics usage cpu load
log logs error errors
alert alarm incident
flag feature toggle
enable activate switch
disable deactivate
permission role access rights
user account member visitor audience
attendee participant guest people person
recover restore recovery
password credential
voice voices speech audio
translate translation language
direct dm private
react reaction emoji thumbs
reply thread answer
channel room chat
balance money account funds
damage damaged broken claim
flight plane
hotel accommodation room
car rental hire rent
ack acknowledge
discount coupon voucher
share public link
""".strip().splitlines()


def _alike() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in _ALIKE:
        words = line.split()
        for word in words:
            found.setdefault(word, set()).update(words)
    return {word: frozenset(others) for word, others in found.items()}


#: A word -> those that mean the same, itself among them.
ALIKE = _alike()


def meant(words: Iterable[str]) -> tuple[list[str], list[str]]:
    """The words of a query that say something, and further words that mean the same as one of them."""
    all_words = list(words)
    said = [word for word in all_words if word not in COMMON] or all_words
    others = {other for word in said for other in ALIKE.get(word, ALIKE.get(word.removesuffix("s"), ()))}
    return said, sorted(others.difference(said))
