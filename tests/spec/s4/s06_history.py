all_cache_history = await analyzer._get_agent_cache_history(
    session_id=session_id, user_id="u1", app_name="app", agent_name=None)
print(f"Total cache events across all agents: {len(all_cache_history)}")
