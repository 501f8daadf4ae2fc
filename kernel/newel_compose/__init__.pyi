"""The names of the host, for type checkers; `__init__.py` loads each when it is first used."""

from newel_compose._internal.binding import as_callbacks as as_callbacks
from newel_compose._internal.binding import bind as bind
from newel_compose._internal.composer import compose as compose
from newel_compose._internal.composer import compose_once as compose_once
from newel_compose._internal.composer import extend as extend
from newel_compose._internal.composition import Composition as Composition
from newel_compose._internal.composition import PluginRecord as PluginRecord
from newel_compose._internal.descriptors import Backend as Backend
from newel_compose._internal.descriptors import Factory as Factory
from newel_compose._internal.descriptors import Loader as Loader
from newel_compose._internal.discovery import PLUGIN_GROUP as PLUGIN_GROUP
from newel_compose._internal.discovery import load as load
from newel_compose._internal.distribution import MAX_BYTES as MAX_BYTES
from newel_compose._internal.distribution import Distribution as Distribution
from newel_compose._internal.distribution import describe as describe
from newel_compose._internal.distribution import line_of as line_of
from newel_compose._internal.distribution import load_yaml as load_yaml
from newel_compose._internal.hookspecs import HookPolicy as HookPolicy
from newel_compose._internal.ordering import Owned as Owned
from newel_compose._internal.ordering import Placed as Placed
from newel_compose._internal.registry import PluginRegistry as PluginRegistry
from newel_compose._internal.selection import LOCK_FILE as LOCK_FILE
from newel_compose._internal.selection import lock_of as lock_of
from newel_compose._internal.selection import select_distribution as select_distribution
from newel_compose._internal.selection import write_lock as write_lock
