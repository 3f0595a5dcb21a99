"""The checks of tools/tidy, by theme.

A check of one file takes a Source and yields (line, message); a check of the whole tree takes a Tree and yields (path, line,
message). Each module begins with its rules as data.
"""
