"""`torchplug graph dump`: what a device's compiler is given of a model, for people.

`exported` and `text` read graphs, `sheet` is what they read, `table`, `svg` and `facts` show it.
"""
