"""Index: the session of each run, in a search attribute, so that the runs of a session are found among many.

Without it, all open runs of an app are read to find them.
"""

from __future__ import annotations

import json
from hashlib import blake2b

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.service import RPCError, RPCStatusCode

from newel.engines.places import Place

NAME = "NewelSession"
_KEY = SearchAttributeKey.for_keyword(NAME)
_KEYWORD = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD


async def has_index(client: Client) -> bool:
    """Whether the namespace has the attribute. It is made if it is not there and the server allows it."""
    service, namespace = client.operator_service, client.namespace
    try:
        answer = await service.list_search_attributes(ListSearchAttributesRequest(namespace=namespace))
        found = answer.custom_attributes
        if NAME not in found:
            wanted = AddSearchAttributesRequest(namespace=namespace, search_attributes={NAME: _KEYWORD})
            await service.add_search_attributes(wanted)
    except RPCError as error:
        return error.status == RPCStatusCode.ALREADY_EXISTS
    return found.get(NAME, _KEYWORD) == _KEYWORD


def indexed(place: Place) -> TypedSearchAttributes:
    """The attribute of a run of the session."""
    return TypedSearchAttributes([SearchAttributePair(_KEY, _digest(place))])


def may_be_of(place: Place) -> str:
    """The part of a query that finds the runs of a session: these, and those from before there was an index."""
    return f"({NAME} = '{_digest(place)}' OR {NAME} IS NULL)"


def lacks_index(error: RPCError) -> bool:
    """Whether a run was refused since the server does not know the attribute: it has just been made, or is gone."""
    return error.status == RPCStatusCode.INVALID_ARGUMENT and NAME in error.message


def _digest(place: Place) -> str:
    names = [place["app_name"], place["user_id"], place["session_id"]]
    return blake2b(json.dumps(names).encode(), digest_size=16).hexdigest()
