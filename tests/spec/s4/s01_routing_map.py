# Routing map: node A emits "yes" → B, "no" → C, DEFAULT_ROUTE → D
Workflow(edges=[
    (START, node_a, {"yes": node_b, "no": node_c, DEFAULT_ROUTE: node_d}),
])
