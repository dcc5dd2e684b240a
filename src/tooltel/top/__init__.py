"""
What the tools of a fleet do now, told from one URL: the room behind `tooltel top`.

A look at a /metrics page or at a Prometheus server becomes gains (what each counter gained), gains become rows by
tool or owner, rows become cells. All of that is pure but the asking; nothing here prints.
"""
