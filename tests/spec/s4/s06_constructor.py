from newel.utils.cache_performance_analyzer import CachePerformanceAnalyzer
from newel.sessions import InMemorySessionService

analyzer = CachePerformanceAnalyzer(session_service=InMemorySessionService())
