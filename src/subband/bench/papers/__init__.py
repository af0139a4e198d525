"""The tables of five papers on wavelets and graphics hardware, computed anew: theirs beside ours.

Each module is one paper, or one chapter of it. Their figures are those of their machines, some of them twenty years
old; ours are of the machine that is measured on.
"""
