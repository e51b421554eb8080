"""The nouns of answers, each declared once: what its members are, and how they are rendered.

``view`` is the mechanism, ``text`` has the kinds of members, and every other file a group of nouns. Nothing
here asks an engine, a provider or a chain: the models hold all that an answer shows.
"""
