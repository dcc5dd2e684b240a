"""What a catalog becomes besides code: rules, routes, dashboards and an index of runbooks."""
