"""
The whole story on one machine: a support desk's shift, played through real wrappers, and checked.

`script` writes down what each session will do, `shift` plays it on the tools of `desk`, `ledger` counts what
was done, `readback` reads from /metrics what was recorded, and `summary` tells a person about it. `timeline`
turns a shift into history that a Prometheus can be filled with.
"""
