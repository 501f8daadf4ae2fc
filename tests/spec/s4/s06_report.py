report = await analyzer.analyze_agent_cache_performance(
    session_id="sess-abc",
    user_id="u1",
    app_name="my_app",
    agent_name="research_agent",
)
