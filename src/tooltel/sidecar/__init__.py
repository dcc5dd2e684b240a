"""
The sidecar: reads an agent's logs beside it, and counts every line of every file exactly once.

`reading` and `following` know files, `judging` and `formats` know lines, `state` keeps what is known across a crash,
`engine` turns them, and `serving` shows what was committed.
"""
